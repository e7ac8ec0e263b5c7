// SPDX-License-Identifier: MIT OR Apache-2.0
//! The libraries of the product, for tests of the command with real ones.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Builds what these packages make, where plain Cargo commands put it, and so do the tests of other crates: all compile it once. Returns
/// the directory with the files.
pub fn built(packages: &[&str]) -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("TARGET/tmp");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--offline", "--locked", "--target-dir"]).arg(target);
    for package in packages {
        cargo.args(["-p", package]);
    }
    let status = cargo.current_dir(workspace()).status();
    assert!(status.expect("cargo starts").success(), "{packages:?}");
    target.join("debug")
}

pub fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
