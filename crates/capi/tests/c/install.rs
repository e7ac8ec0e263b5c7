// SPDX-License-Identifier: MIT OR Apache-2.0
//! The installed copy that the other tests use, and what an installation consists of.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::commands::output;
use crate::systems::IS_MACOS;

/// The directory of this crate.
pub fn crate_dir() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A fresh directory for one test.
pub fn scratch(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("capi").join(name);
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir_all(&dir).unwrap();
    dir
}

/// What the shared library is called: by its whole version, by the part that programs need (0), or by none.
pub fn shared_library(version: Option<&str>) -> String {
    match (IS_MACOS, version) {
        (_, None) => format!("libntux{}", std::env::consts::DLL_SUFFIX),
        (true, Some(version)) => format!("libntux.{version}.dylib"),
        (false, Some(version)) => format!("libntux.so.{version}"),
    }
}

/// The prefix of an installation that all tests share.
pub fn prefix() -> &'static Path {
    static PREFIX: OnceLock<PathBuf> = OnceLock::new();
    PREFIX.get_or_init(|| {
        let prefix = scratch("prefix");
        install(&[format!("PREFIX={}", prefix.display())]);
        prefix
    })
}

fn install(variables: &[String]) {
    output(make().args(["capi", "install-capi"]).args(variables));
}

/// `make` with the makefile of this crate.
pub fn make() -> Command {
    let mut make = Command::new("make");
    // What the user passed to a make that runs these tests is not meant for this one.
    make.env_remove("MAKEFLAGS")
        // Where Cargo builds these tests: what it builds there has the same flags.
        .env("CARGO_TARGET_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap())
        .arg("-f")
        .arg(crate_dir().join("install.mk"));
    if cfg!(ntux_simulated_macos) {
        // Nobody installs that: so the optimized library is not compiled for these tests alone.
        make.arg("CAPI_PROFILE=dev");
    }
    make
}

/// The words that pkg-config prints for the installed copy.
pub fn pkg_config(arguments: &[&str]) -> Vec<String> {
    let mut command = Command::new("pkg-config");
    command.env("PKG_CONFIG_PATH", prefix().join("lib/pkgconfig")).args(arguments).arg("ntux");
    output(&mut command).split_whitespace().map(str::to_owned).collect()
}

#[test]
fn the_shared_library_is_found_by_its_soname() {
    let lib = prefix().join("lib");
    let real = lib.join(shared_library(Some(env!("CARGO_PKG_VERSION")))).canonicalize().unwrap();
    assert_eq!(lib.join(shared_library(None)).canonicalize().unwrap(), real);
    assert_eq!(lib.join(shared_library(Some("0"))).canonicalize().unwrap(), real);
    if IS_MACOS {
        let name = output(Command::new("otool").arg("-D").arg(real));
        assert!(name.trim_end().ends_with("lib/libntux.0.dylib"), "{name}");
    } else {
        let dynamic = output(Command::new("readelf").arg("-dW").arg(real));
        assert!(dynamic.contains("Library soname: [libntux.so.0]"), "{dynamic}");
        assert!(dynamic.contains("NODELETE"), "threads end through code in it, after a dlclose, too: {dynamic}");
    }
}

#[test]
fn pkg_config_header_and_crate_agree_on_the_version() {
    assert_eq!(pkg_config(&["--modversion"]), [env!("CARGO_PKG_VERSION")]);
    let header = fs::read_to_string(prefix().join("include/ntux.h")).unwrap();
    assert!(header.contains(concat!("#define NTUX_VERSION \"", env!("CARGO_PKG_VERSION"), "\"")));
}

#[test]
fn a_package_is_staged_below_destdir_and_does_not_mention_it() {
    let stage = scratch("stage");
    install(&[format!("DESTDIR={}", stage.display()), "PREFIX=/opt/ntux".to_owned()]);
    let shared = format!("lib/{}", shared_library(Some("0")));
    for file in ["include/ntux.h", "lib/libntux.a", &shared, "lib/pkgconfig/ntux.pc"] {
        assert!(stage.join("opt/ntux").join(file).exists(), "{file}");
    }
    let pc = fs::read_to_string(stage.join("opt/ntux/lib/pkgconfig/ntux.pc")).unwrap();
    assert!(pc.contains("prefix=/opt/ntux\n"), "{pc}");
    assert!(!pc.contains(stage.to_str().unwrap()) && !pc.contains('@'), "{pc}");
}

#[test]
fn what_was_not_built_is_not_installed() {
    let nowhere = format!("CAPI_OUT={}", scratch("nothing").display());
    let result = make().args(["install-capi", &nowhere]).output().unwrap();
    assert!(!result.status.success());
    assert!(String::from_utf8_lossy(&result.stderr).contains("make build"));
}
