//! The examples, linked with the shared and with the static library, do what they say.

use crate::compile::{Library, launch, output, program};
use crate::install::{crate_dir, scratch};

const FORK: &str = "\
counted to 40000
the child is dead and still owns the mutex: yes
inherited, and told so: yes
";

const PASS_FD: &str = "\
second: 5 jobs, then told to stop
first: the second has finished
";

#[test]
fn fork_with_the_shared_library() {
    example("fork.c", Library::Shared, FORK);
}

#[test]
fn fork_with_the_static_library() {
    example("fork.c", Library::Static, FORK);
}

#[test]
fn pass_fd_with_the_shared_library() {
    example("pass_fd.cpp", Library::Shared, PASS_FD);
}

#[test]
fn pass_fd_with_the_static_library() {
    example("pass_fd.cpp", Library::Static, PASS_FD);
}

fn example(file: &str, library: Library, expected: &str) {
    let directory = scratch(&format!("{file}-{library:?}"));
    let program = program(&crate_dir().join("examples").join(file), &directory, library, &[]);
    assert_eq!(output(&mut launch(&program, library)), expected);
}
