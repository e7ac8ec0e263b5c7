// SPDX-License-Identifier: MIT OR Apache-2.0
//! How the library is linked.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux") {
        // What the library calls itself, and also stands in front of, the loader would otherwise search for at each start of a
        // program: 19 functions, a few hundred instructions each. (`-Bsymbolic-functions` would do; Zig's linker does not know it.)
        println!("cargo::rustc-cdylib-link-arg=-Wl,-Bsymbolic");
        // The compiler's own first and last functions register nothing here. They would cost each start four failing searches, and
        // each end of a process two page faults.
        println!("cargo::rustc-cdylib-link-arg=-nostartfiles");
    }
}
