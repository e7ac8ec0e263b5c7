// SPDX-License-Identifier: MIT OR Apache-2.0
//! Each function called rightly (`outcomes.c`) and wrongly (`refusals.c`) by a C program, with either library; write
//! watches with every mechanism (`watches.c`), futexes (`futexes.c`) and their domains (`domains.c`), an arena without a
//! descriptor (`private.c`), explicit waiters (`waiters.c`), owners that end (`owners.c`), handlers of signals at their doors (`door.c`); and the shared library as a plug-in (`plugin.c`).

use std::process::{Command, Output};

use crate::commands::{output, run};
use crate::compile::{Library, launch, program, program_with};
use crate::install::{crate_dir, prefix, scratch, shared_library};

#[test]
fn right_calls_give_the_documented_results() {
    for library in [Library::Shared, Library::Static] {
        passes("outcomes.c", library);
    }
}

#[test]
fn wrong_calls_give_the_documented_errors() {
    for library in [Library::Shared, Library::Static] {
        passes("refusals.c", library);
    }
}

#[test]
fn write_watches_mean_the_same_with_every_mechanism() {
    for library in [Library::Shared, Library::Static] {
        passes("watches.c", library);
    }
}

#[test]
fn futexes_give_the_documented_results_and_errors() {
    for library in [Library::Shared, Library::Static] {
        passes("futexes.c", library);
    }
}

#[test]
fn an_arena_without_a_descriptor_survives_the_closing_of_all() {
    for library in [Library::Shared, Library::Static] {
        passes("private.c", library);
    }
}

#[test]
fn the_end_of_an_owner_is_noticed() {
    for library in [Library::Shared, Library::Static] {
        passes("owners.c", library);
    }
}

#[test]
fn domains_serve_words_of_all_sizes_between_processes() {
    for library in [Library::Shared, Library::Static] {
        passes("domains.c", library);
    }
}

#[test]
fn handlers_and_the_dead_are_out_of_all_queues() {
    for library in [Library::Shared, Library::Static] {
        passes("waiters.c", library);
    }
    // Where the kernel does nothing for the dead, all depends on their burial.
    let directory = scratch("waiters.c-without");
    let flags = [&["-pthread"], SYSTEM].concat();
    let program = program(&crate_dir().join("tests/c/waiters.c"), &directory, Library::Shared, &flags);
    let (result, text) = run(launch(&program, Library::Shared).env("NTUX_WITHOUT", "robust_list"));
    assert!(result.status.success() && text.contains(" checks, 0 failures\n"), "{text}{}", result.status);
}

/// The cases that the device's library must pass, too (`crates/preload/tests`).
#[test]
fn handlers_of_signals_run_at_the_door() {
    for library in [Library::Shared, Library::Static] {
        passes("door.c", library);
    }
}

/// The harness is able to fail: a library whose handlers run on top of a wait that is still queued must not pass.
#[test]
fn a_door_that_is_left_open_is_noticed() {
    let directory = scratch("door.c-planted");
    let target = directory.join("target");
    let mut build = Command::new(env!("CARGO"));
    // What is run twice is not worth optimizing.
    for cheaper in ["debug='none'", "package.ntux-sync.opt-level=0", "package.ntux-futex.opt-level=0"] {
        build.args(["--config", &format!("profile.dev.{cheaper}")]);
    }
    build.args(["rustc", "--quiet", "--offline", "--lib", "--crate-type", "staticlib", "--features", "planted"]);
    build.arg("--manifest-path").arg(crate_dir().join("Cargo.toml")).arg("--target-dir").arg(&target);
    output(&mut build);
    // Cargo itself reads the variable, and then puts what it builds one directory deeper.
    let built = target.join(std::env::var_os("CARGO_BUILD_TARGET").unwrap_or_default()).join("debug/libntux_capi.a");
    let built = built.display().to_string();
    let flags = [&["-pthread"], SYSTEM].concat();
    let program = program_with(&crate_dir().join("tests/c/door.c"), &directory, &built, &flags);
    for case in ["out_of_all_queues", "handlers_wait"] {
        let (result, text) = run(launch(&program, Library::Static).arg(case));
        assert!(result.status.code() == Some(1) && text.contains("failed: "), "{case}: {text}{}", result.status);
    }
}

#[test]
fn a_planted_wrong_expectation_is_noticed() {
    for file in
        ["outcomes.c", "refusals.c", "watches.c", "futexes.c", "private.c", "domains.c", "waiters.c", "owners.c"]
    {
        let (result, text) = build_and_run(file, Library::Shared, &["-DPLANTED"]);
        assert_eq!(result.status.code(), Some(1), "{text}");
        assert!(text.contains(", 1 failures"), "{text}");
    }
}

#[test]
fn a_thread_may_end_after_the_library_was_closed() {
    let directory = scratch("plugin");
    let program = program(&crate_dir().join("tests/c/plugin.c"), &directory, Library::Shared, &["-pthread"]);
    let (result, text) =
        run(launch(&program, Library::Shared).arg(prefix().join("lib").join(shared_library(Some("0")))));
    assert!(result.status.success(), "{text}{}", result.status);
}

fn passes(file: &str, library: Library) {
    let (result, text) = build_and_run(file, library, &[]);
    assert!(result.status.success() && text.contains(" checks, 0 failures\n"), "{text}{}", result.status);
}

/// Programs cannot tell a simulated macOS from Linux.
const SYSTEM: &[&str] = if cfg!(ntux_simulated_macos) { &["-DSIMULATED_MACOS"] } else { &[] };

pub fn build_and_run(file: &str, library: Library, more: &[&str]) -> (Output, String) {
    let directory = scratch(&format!("{file}-{library:?}{}", more.concat()));
    let flags = [&["-pthread"], more, SYSTEM].concat();
    let program = program(&crate_dir().join("tests/c").join(file), &directory, library, &flags);
    run(&mut launch(&program, library))
}
