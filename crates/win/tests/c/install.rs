// SPDX-License-Identifier: MIT OR Apache-2.0
//! The installed copy that the tests use, and how programs are compiled with it and run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use crate::commands::{output, run};

/// The directory of this crate.
pub fn crate_dir() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A fresh directory for one test.
pub fn scratch(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("win").join(name);
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir_all(&dir).unwrap();
    dir
}

/// The prefix of an installation that all tests share.
pub fn prefix() -> &'static Path {
    static PREFIX: OnceLock<PathBuf> = OnceLock::new();
    PREFIX.get_or_init(|| {
        let prefix = scratch("prefix");
        make(&["win", "install-win"], &[format!("PREFIX={}", prefix.display())]);
        prefix
    })
}

fn make(targets: &[&str], variables: &[String]) {
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
    output(make.args(targets).args(variables));
}

/// The words that pkg-config prints for the installed copy.
pub fn pkg_config(arguments: &[&str]) -> Vec<String> {
    let mut command = Command::new("pkg-config");
    command.env("PKG_CONFIG_PATH", prefix().join("lib/pkgconfig")).args(arguments).arg("ntux-win");
    output(&mut command).split_whitespace().map(str::to_owned).collect()
}

/// What a program is compiled as, and linked with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum As {
    /// C90, with the shared library.
    C,
    /// C++98, with the static library.
    Cxx,
}

/// Programs cannot tell a simulated macOS from Linux.
const SYSTEM: &[&str] = if cfg!(ntux_simulated_macos) { &["-DSIMULATED_MACOS"] } else { &[] };

/// Compiles one of the programs beside this file, and runs it.
pub fn build_and_run(file: &str, language: As, more: &[&str]) -> (Output, String) {
    run_for(&build(file, language, more), 330)
}

/// Runs a program; after so many seconds it is killed with all its children, which is a failure.
pub fn run_for(program: &Path, seconds: u32) -> (Output, String) {
    let limit = seconds.to_string();
    run(Command::new("timeout")
        .args(["--signal=KILL", &limit])
        .arg(program)
        .env("LD_LIBRARY_PATH", prefix().join("lib")))
}

/// Compiles one of the programs beside this file as a user would, with every warning an error.
pub fn build(file: &str, language: As, more: &[&str]) -> PathBuf {
    let program = scratch(&format!("{file}-{language:?}{}", more.concat())).join("program");
    let (mut compile, library) = match language {
        As::C => (Command::new("cc"), "-lntux-win"),
        As::Cxx => (Command::new("c++"), "-l:libntux-win.a"),
    };
    match language {
        As::C => compile.args(["-std=c90", "-x", "c"]),
        As::Cxx => compile.args(["-std=c++98", "-x", "c++"]),
    };
    compile
        .args(["-Wall", "-Wextra", "-pedantic", "-Werror", "-Wno-unused-function", "-pthread"])
        .args(SYSTEM)
        .args(more);
    compile
        .args(pkg_config(&["--cflags"]))
        .arg(crate_dir().join("tests/c").join(file))
        .args(["-x", "none", "-o"])
        .arg(&program);
    let word = |word: String| if word == "-lntux-win" { library.to_owned() } else { word };
    compile.args(pkg_config(&["--static", "--libs"]).into_iter().map(word));
    output(&mut compile);
    program
}

#[test]
fn every_file_is_where_programs_look() {
    let lib = prefix().join("lib");
    for file in ["libntux-win.a", "libntux-win.so", "libntux-win.so.0", "pkgconfig/ntux-win.pc"] {
        assert!(lib.join(file).exists(), "{file}");
    }
    let dynamic = output(Command::new("readelf").arg("-dW").arg(lib.join("libntux-win.so")));
    assert!(dynamic.contains("Library soname: [libntux-win.so.0]"), "{dynamic}");
    assert!(dynamic.contains("NODELETE"), "threads end through code in it, after a dlclose, too: {dynamic}");
    for entry in fs::read_dir(crate_dir().join("include/ntux/win")).unwrap() {
        let name = entry.unwrap().file_name();
        assert!(prefix().join("include/ntux/win").join(&name).exists(), "{name:?}");
    }
}

#[test]
fn pkg_config_header_and_crate_agree_on_the_version() {
    assert_eq!(pkg_config(&["--modversion"]), [env!("CARGO_PKG_VERSION")]);
}

#[test]
fn what_was_installed_can_be_removed() {
    let root = scratch("removed");
    let variables = [format!("DESTDIR={}", root.display()), "PREFIX=/opt/ntux".to_owned()];
    prefix();
    make(&["install-win"], &variables);
    assert!(root.join("opt/ntux/include/ntux/win/synchapi.h").exists());
    let pc = fs::read_to_string(root.join("opt/ntux/lib/pkgconfig/ntux-win.pc")).unwrap();
    assert!(pc.contains("prefix=/opt/ntux\n") && !pc.contains('@'), "{pc}");
    make(&["uninstall-win"], &variables);
    let left = output(Command::new("find").arg(&root).args(["-type", "f"]));
    assert_eq!(left, "");
}
