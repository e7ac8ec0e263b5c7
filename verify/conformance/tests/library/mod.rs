// SPDX-License-Identifier: MIT OR Apache-2.0
//! The device program, and the library that serves it.

#[path = "../../../testkit/tests/products/products.rs"]
mod products;

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Knows nothing of ntux: it opens `/dev/ntsync` and issues ioctls.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_ntsync-conformance");

/// The library that `NTUX_PRELOAD_LIBRARY` names, or one that is built here, in the profile of the program.
pub fn build() -> PathBuf {
    if let Some(given) = env::var_os("NTUX_PRELOAD_LIBRARY") {
        return given.into();
    }
    let profile = Path::new(PROGRAM).parent().expect("target/PROFILE/PROGRAM");
    let mut cargo = Command::new(env::var_os("CARGO").expect("Cargo runs the tests"));
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../../crates/preload/Cargo.toml");
    let target = products::products(profile.parent().expect("target/PROFILE"));
    cargo.args(["build", "--quiet", "--manifest-path", manifest, "--target-dir"]).arg(&target);
    if profile.ends_with("release") {
        cargo.arg("--release");
    }
    assert!(cargo.status().expect("cargo runs").success(), "the preloaded library does not build");
    target.join(profile.file_name().expect("target/PROFILE")).join("libntux_preload.so")
}
