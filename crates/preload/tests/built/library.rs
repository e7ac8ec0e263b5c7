// SPDX-License-Identifier: MIT OR Apache-2.0
//! The library that is tested. (Cargo does not build a library that nothing can link to before it runs tests.)

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The library as it is built without more; its path. It lies where plain Cargo commands put it: so do the tests of the command and the
/// proofs, and all of them compile it once.
#[allow(dead_code, reason = "some tests need a variant alone")]
pub fn plain() -> PathBuf {
    built(Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("TARGET/tmp"), &[])
}

/// A copy of the library that is built with more arguments for Cargo, by this name; its path.
#[allow(dead_code, reason = "some tests need the plain one alone")]
pub fn variant(name: &str, arguments: &[&str]) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("variants");
    fs::create_dir_all(&directory).expect("our own directory");
    // All variants share what they depend on, and lie at one place until they are copied.
    let turn = File::create(directory.join("turn")).expect("our own file");
    // SAFETY: an open file of ours.
    assert_eq!(unsafe { libc::flock(turn.as_raw_fd(), libc::LOCK_EX) }, 0, "{}", std::io::Error::last_os_error());
    let library = built(&directory, arguments);
    let copy = directory.join(name).join(library.file_name().expect("a name"));
    fs::create_dir_all(copy.parent().expect("a directory")).expect("our own directory");
    fs::copy(&library, copy.with_extension("new")).expect("there is room");
    // In place of one that a program of another run may have loaded.
    fs::rename(copy.with_extension("new"), &copy).expect("our own file");
    copy
}

fn built(directory: &Path, arguments: &[&str]) -> PathBuf {
    let output = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--offline", "--manifest-path", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")])
        .args(arguments)
        .arg("--target-dir")
        .arg(directory)
        .output()
        .expect("cargo starts");
    assert!(output.status.success(), "{}\n{}", output.status, String::from_utf8_lossy(&output.stderr));
    // Cargo itself reads the variable, and then puts what it builds one directory deeper.
    let built = directory.join(std::env::var_os("CARGO_BUILD_TARGET").unwrap_or_default()).join("debug");
    built.join(format!("lib{}.so", env!("CARGO_PKG_NAME").replace('-', "_")))
}
