// SPDX-License-Identifier: MIT OR Apache-2.0
//! The library that is tested. (Cargo does not build a library that nothing can link to before it runs tests.)

use std::path::{Path, PathBuf};
use std::process::Command;

/// Builds the crate whose test this is, in a directory of that name, with more arguments for Cargo; the library's path.
pub fn build(directory: &str, arguments: &[&str]) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(directory);
    let output = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--offline", "--manifest-path", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")])
        .args(arguments)
        .arg("--target-dir")
        .arg(&directory)
        .output()
        .expect("cargo starts");
    assert!(output.status.success(), "{}\n{}", output.status, String::from_utf8_lossy(&output.stderr));
    // Cargo itself reads the variable, and then puts what it builds one directory deeper.
    let built = directory.join(std::env::var_os("CARGO_BUILD_TARGET").unwrap_or_default()).join("debug");
    built.join(format!("lib{}.so", env!("CARGO_PKG_NAME").replace('-', "_")))
}
