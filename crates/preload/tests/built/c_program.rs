// SPDX-License-Identifier: MIT OR Apache-2.0
//! The C programs that a library is tried on.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiles `tests/SOURCE` of the crate whose test this is, with every warning an error.
pub fn compile(source: &str, flags: &[&str]) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(source);
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(source.file_stem().expect("a file"));
    // Put in place whole: another run of these tests may be executing the one before.
    let fresh = program.with_extension(std::process::id().to_string());
    let output = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()))
        .args(["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-pthread"])
        .args(flags)
        .arg("-o")
        .arg(&fresh)
        .arg(source)
        .arg("-ldl")
        .output()
        .expect("a C compiler is needed for these tests");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::rename(fresh, &program).expect("the program is put in place");
    program
}
