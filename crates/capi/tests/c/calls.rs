//! Each function called rightly (`outcomes.c`) and wrongly (`refusals.c`) by a C program, with either library.

use std::process::Output;

use crate::compile::{Library, launch, program, run};
use crate::install::{crate_dir, scratch};

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
fn a_planted_wrong_expectation_is_noticed() {
    for file in ["outcomes.c", "refusals.c"] {
        let (result, text) = build_and_run(file, Library::Shared, &["-DPLANTED"]);
        assert_eq!(result.status.code(), Some(1), "{text}");
        assert!(text.contains(", 1 failures"), "{text}");
    }
}

fn passes(file: &str, library: Library) {
    let (result, text) = build_and_run(file, library, &[]);
    assert!(result.status.success() && text.ends_with(" checks, 0 failures\n"), "{text}{}", result.status);
}

fn build_and_run(file: &str, library: Library, more: &[&str]) -> (Output, String) {
    let directory = scratch(&format!("{file}-{library:?}{}", more.concat()));
    let program = program(&crate_dir().join("tests/c").join(file), &directory, library, more);
    run(&mut launch(&program, library))
}
