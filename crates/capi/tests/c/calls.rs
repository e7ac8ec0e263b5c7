//! Each function called rightly (`outcomes.c`) and wrongly (`refusals.c`) by a C program, with either library; write
//! watches with every mechanism (`watches.c`), futexes (`futexes.c`) and their domains (`domains.c`), explicit waiters
//! (`waiters.c`); and the shared library as a plug-in (`plugin.c`).

use std::process::Output;

use crate::compile::{Library, launch, program, run};
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

#[test]
fn a_planted_wrong_expectation_is_noticed() {
    for file in ["outcomes.c", "refusals.c", "watches.c", "futexes.c", "domains.c", "waiters.c"] {
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

fn build_and_run(file: &str, library: Library, more: &[&str]) -> (Output, String) {
    let directory = scratch(&format!("{file}-{library:?}{}", more.concat()));
    let flags = [&["-pthread"], more, SYSTEM].concat();
    let program = program(&crate_dir().join("tests/c").join(file), &directory, library, &flags);
    run(&mut launch(&program, library))
}
