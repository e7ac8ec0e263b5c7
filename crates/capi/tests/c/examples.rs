// SPDX-License-Identifier: MIT OR Apache-2.0
//! The examples, linked with the shared and with the static library, do what they say.

use crate::commands::output;
use crate::compile::{Library, launch, program};
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

const TUTORIAL: &str = "\
the child is dead and still owns the mutex: yes
inherited, and told so: yes
";

const RECIPES: &str = "\
the queue gave 500500 in all
3 saw the condition, 3 were told to stop
its name leads to one mutex: yes
the tick came until it was enough: yes
";

const EVENT_LOOP: &str = "\
2000 letters from 1000 mailboxes, 0 left
3 jobs, and the ticks came: yes
";

const DESCRIPTORS: &str = "\
200 jobs, 100 bells, 300 bytes, and the end
the socket
the bell
";

const RUNTIME: &str = "\
two pages were written: yes; none since: yes
counted to 40000 under a lock of one byte
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

#[test]
fn the_tutorial() {
    example("tutorial.c", Library::Shared, TUTORIAL);
}

#[test]
fn the_recipes() {
    example("recipes.c", Library::Shared, RECIPES);
}

#[test]
fn an_event_loop_with_the_shared_library() {
    example("event_loop.c", Library::Shared, EVENT_LOOP);
}

#[test]
fn an_event_loop_with_the_static_library() {
    example("event_loop.c", Library::Static, EVENT_LOOP);
}

#[test]
fn descriptors_with_the_shared_library() {
    example("descriptors.c", Library::Shared, DESCRIPTORS);
}

#[test]
fn descriptors_with_the_static_library() {
    example("descriptors.c", Library::Static, DESCRIPTORS);
}

#[test]
fn what_a_runtime_asks_for() {
    example("runtime.c", Library::Shared, RUNTIME);
}

/// What the pages show is what is compiled and run here: each block of C stands in an example, line by line.
#[test]
fn the_pages_show_these_examples() {
    let root = crate_dir().join("../..");
    let read =
        |path: std::path::PathBuf| std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    let examples = ["tutorial.c", "recipes.c", "event_loop.c", "descriptors.c", "fork.c", "runtime.c"]
        .map(|name| read(crate_dir().join("examples").join(name)));
    let blocks: Vec<_> = [
        "c/tutorial.md",
        "c/recipes.md",
        "c/event-loop.md",
        "c/descriptors.md",
        "c/porting.md",
        "watches/guide.md",
        "futexes/guide.md",
    ]
    .into_iter()
    .flat_map(|page| {
        let text = read(root.join("docs").join(page));
        let blocks = text.split("```c\n").skip(1).map(|rest| rest.split("```").next().unwrap().to_owned());
        blocks.map(|block| (page, block)).collect::<Vec<_>>()
    })
    .collect();
    assert!(blocks.len() > 10, "{} blocks", blocks.len());
    let absent = |block: &str| !examples.iter().any(|example| example.contains(block));
    assert!(absent("static int planted;\n"));
    for (page, block) in blocks {
        assert!(!absent(&block), "docs/{page} shows what no example has:\n{block}");
    }
}

fn example(file: &str, library: Library, expected: &str) {
    let directory = scratch(&format!("{file}-{library:?}"));
    // Atomics of C came with C11.
    let more: &[&str] = if file == "runtime.c" { &["-std=c11"] } else { &[] };
    let program = program(&crate_dir().join("examples").join(file), &directory, library, more);
    assert_eq!(output(&mut launch(&program, library)), expected);
}
