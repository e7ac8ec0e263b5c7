// SPDX-License-Identifier: MIT OR Apache-2.0
//! What runs in the sandboxes: the `ntux` command and its library as they are installed, the program that would judge the
//! driver, and the C programs of the library's own tests.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

#[path = "../../../preload/tests/built/c_program.rs"]
mod c_program;

/// Lays the libraries out as they are installed.
const LIBRARY_TREE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../.ci/library-tree");

/// Everything, built once.
pub static BUILT: LazyLock<Built> = LazyLock::new(Built::new);

pub struct Built {
    /// It is filled as by `make install`.
    pub prefix: PathBuf,
    pub ntux: PathBuf,
    /// The directory that holds the library of this word size.
    pub directory: PathBuf,
    pub library: PathBuf,
    pub conformance: PathBuf,
    pub processes: PathBuf,
    pub signals: PathBuf,
    pub leaving: PathBuf,
}

impl Built {
    fn new() -> Built {
        let profile = Path::new(env!("CARGO_BIN_EXE_ntux")).parent().expect("target/PROFILE/ntux");
        build_libraries(profile);
        let prefix = Path::new(env!("CARGO_TARGET_TMPDIR")).join("prefix");
        let tree = prefix.join("lib/ntux");
        std::fs::create_dir_all(prefix.join("bin")).expect("our own directory");
        let (ntux, directory) = (prefix.join("bin/ntux"), tree.join("x86_64"));
        // In place of one that another run of these tests may be executing.
        let fresh = prefix.join(format!("bin/ntux.{}", std::process::id()));
        std::fs::copy(env!("CARGO_BIN_EXE_ntux"), &fresh).expect("a copy");
        std::fs::rename(&fresh, &ntux).expect("a copy");
        let status = Command::new(LIBRARY_TREE).arg(profile).arg(&tree).status();
        assert!(status.expect("bash starts").success(), "the libraries are put in place");
        let library = directory.join("libntux_preload.so");
        Built {
            ntux,
            directory,
            library,
            prefix,
            conformance: build_conformance(),
            processes: compile("processes"),
            signals: compile("signals"),
            leaving: compile("leaving"),
        }
    }
}

/// Cargo has built the command for these tests, but not the libraries.
fn build_libraries(profile: &Path) {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--offline", "--target-dir"]).arg(profile.parent().expect("target/PROFILE"));
    cargo.args(["-p", "ntux-preload", "-p", "ntux-preload-watch"]);
    if profile.ends_with("release") {
        cargo.arg("--release");
    }
    assert!(cargo.status().expect("cargo starts").success(), "the libraries do not build");
}

/// The program that would judge the driver, from the workspace of the proofs, where `make test` builds it too.
fn build_conformance() -> PathBuf {
    let verify = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../verify");
    let given = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let target = given.unwrap_or_else(|| verify.join("target"));
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--offline", "-p", "ntux-conformance", "--manifest-path"]);
    cargo.arg(verify.join("Cargo.toml")).arg("--target-dir").arg(&target);
    assert!(cargo.status().expect("cargo starts").success(), "the list of cases does not build");
    // Cargo itself reads the variable, and then puts what it builds one directory deeper.
    let built = target.join(std::env::var_os("CARGO_BUILD_TARGET").unwrap_or_default());
    built.join("debug/ntsync-conformance").canonicalize().expect("built just now")
}

fn compile(name: &str) -> PathBuf {
    c_program::compile(&format!("../../preload/tests/c/{name}.c"), &[])
}
