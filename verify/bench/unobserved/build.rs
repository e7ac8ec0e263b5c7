//! Turns off what the core does for onlookers and tracers, in this copy of it alone.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cfg=ntux_unobserved");
}
