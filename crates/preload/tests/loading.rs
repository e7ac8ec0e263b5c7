// SPDX-License-Identifier: MIT OR Apache-2.0
//! Libraries that a program loads, by each way to do it: what `dlopen` finds is what it finds without ntux; and a library that does not
//! find ntux, because it was loaded past it, is named once.
#![cfg(all(target_os = "linux", target_env = "gnu"))]

#[path = "built/c_program.rs"]
mod c_program;
#[path = "built/preloaded.rs"]
mod preloaded;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use c_program::compile;
use preloaded::{command, succeeds, tested};

static LIBRARY: LazyLock<PathBuf> = LazyLock::new(tested);
static PROGRAM: LazyLock<PathBuf> = LazyLock::new(|| compile("c/loading.c", &[]));

/// A directory with the libraries; that which calls is in one of its own, and has the directory for its RUNPATH.
static LIBRARIES: LazyLock<PathBuf> = LazyLock::new(|| {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("loaded-libraries");
    fs::create_dir_all(directory.join("elsewhere")).unwrap();
    let path = format!("-Wl,--enable-new-dtags,-rpath,{}", directory.display());
    let libraries: [(&str, &[&str]); 4] = [
        ("libopens.so", &["-DOPENS", "-DASKS"]),
        ("libasks.so", &["-DASKS"]),
        ("libnothing.so", &[]),
        ("elsewhere/libcalls.so", &["-DCALLS", &path]),
    ];
    for (name, flags) in libraries {
        let made = compile("c/loaded.c", &[&["-shared", "-fPIC"], flags].concat());
        fs::rename(made, directory.join(name)).unwrap();
    }
    directory
});

fn library(name: &str) -> String {
    LIBRARIES.join(name).to_str().expect("a plain path").to_owned()
}

/// What the program says, and what ntux says.
fn run_with(way: &str, arguments: &[&str], set: &[(&str, &str)]) -> (String, String) {
    let output = succeeds(command(&PROGRAM, &LIBRARY).arg(way).args(arguments).envs(set.iter().copied()));
    let [told, said] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    (told, said)
}

fn run(way: &str, arguments: &[&str]) -> (String, String) {
    run_with(way, arguments, &[])
}

fn nothing_is_said(way: &str, arguments: &[&str], expected: &str) {
    assert_eq!(run(way, arguments), (expected.to_owned(), String::new()), "{way} {arguments:?}");
}

fn one_line_is_said(way: &str, arguments: &[&str], expected: &str, words: &[&str]) {
    let (told, said) = run(way, arguments);
    assert_eq!(told, expected, "{way} {arguments:?}: {said}");
    let whole = said.starts_with("ntux: process ") && said.ends_with("use the device outside of it\n");
    assert!(whole && said.lines().count() == 1 && words.iter().all(|word| said.contains(word)), "{said}");
}

#[test]
fn a_library_that_is_loaded_plainly_is_served_and_nothing_is_said() {
    nothing_is_said("plain", &[&library("libopens.so")], "served\n");
    nothing_is_said("plain first", &[&library("libopens.so")], "served\nserved\n");
    nothing_is_said("plain later", &[&library("libasks.so")], "served\n");
    nothing_is_said("plain", &["/nowhere/lib.so"], "not loaded\n");
}

#[test]
fn a_library_that_prefers_its_own_is_named_if_it_could_use_the_device() {
    let (opens, asks, nothing) = (&*library("libopens.so"), &*library("libasks.so"), &*library("libnothing.so"));
    let words = ["(loading) loads '", "' with RTLD_DEEPBIND"];
    one_line_is_said("deep", &[opens], "ENOENT\n", &words);
    one_line_is_said("deep twice", &[opens], "ENOENT\n", &words);
    one_line_is_said("deep first", &[opens], "ENOENT\nENOTTY\n", &words);
    one_line_is_said("deep first", &[asks], "ENOTTY\n", &words);
    one_line_is_said("deep later", &[asks], "ENOTTY\n", &words);
    nothing_is_said("deep", &[asks], "");
    nothing_is_said("deep first", &[nothing], "");
    nothing_is_said("deep", &["/nowhere/lib.so"], "not loaded\n");
    nothing_is_said("deep noload", &[opens], "not loaded\n");
    // It was loaded before without the flag, which has no effect then.
    nothing_is_said("before deep first", &[opens], "served\nserved\n");
    let (told, said) = run_with("deep", &[opens], &[("NTUX_DEVICE", "kernel")]);
    assert!(said.is_empty() && !told.is_empty(), "{said}");
}

#[test]
fn a_library_in_a_namespace_of_its_own_is_named() {
    let words = ["libopens.so' into a namespace of its own (dlmopen)"];
    one_line_is_said("apart", &[&library("libopens.so")], "ENOENT\n", &words);
    one_line_is_said("before apart first", &[&library("libopens.so")], "ENOENT\nENOTTY\n", &words);
    nothing_is_said("apart", &[&library("libnothing.so")], "");
}

#[test]
fn the_callers_directories_are_searched() {
    let caller = &*library("elsewhere/libcalls.so");
    nothing_is_said("plain", &["libopens.so", caller], "served\n");
    one_line_is_said("deep", &["libopens.so", caller], "ENOENT\n", &["'libopens.so' with RTLD_DEEPBIND"]);
    nothing_is_said("plain", &["$ORIGIN/../libopens.so", caller], "served\n");
    nothing_is_said("deep", &["$ORIGIN/../libasks.so", caller], "");
    // The test is able to fail: these are not the program's directories.
    nothing_is_said("plain", &["libopens.so"], "not loaded\n");
    nothing_is_said("deep", &["libopens.so"], "not loaded\n");
    nothing_is_said("plain", &["$ORIGIN/../libopens.so"], "not loaded\n");
}

#[test]
fn the_log_has_the_line_too() {
    let log = LIBRARIES.join("log");
    let _ = fs::remove_file(&log);
    let (_, said) = run_with("deep", &[&library("libopens.so")], &[("NTUX_LOG", log.to_str().expect("a plain path"))]);
    assert_eq!(fs::read_to_string(&log).expect("it was written"), said);
    assert!(said.contains("RTLD_DEEPBIND"));
}

/// Another library stands in front of `dlsym`, before this one and behind it.
#[test]
fn the_real_function_is_found_past_others() {
    let version = if cfg!(target_arch = "x86_64") { "2.2.5" } else { "2.17" };
    let shim = compile("c/dlsym_shim.c", &["-shared", "-fPIC", &format!("-DFIRST_VERSION=\"GLIBC_{version}\"")]);
    let caller = &*library("elsewhere/libcalls.so");
    for order in [[&shim, &*LIBRARY], [&LIBRARY, &shim]] {
        let both = std::env::join_paths(order).expect("paths without colons");
        let set = [("LD_PRELOAD", both.to_str().expect("plain paths"))];
        let (told, said) = run_with("deep", &["libopens.so", caller], &set);
        assert!(told == "ENOENT\n" && said.contains("the shim was asked") && said.contains("RTLD_DEEPBIND"), "{said}");
        let (told, said) = run_with("plain", &["libopens.so", caller], &set);
        assert!(told == "served\n" && !said.contains("ntux: "), "{said}");
    }
}
