// SPDX-License-Identifier: MIT OR Apache-2.0
//! The header compiles by itself in every dialect that it promises, and so does the program in its manual.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::commands::{output, run};
use crate::compile::{Library, compiler, launch, program};
use crate::install::{crate_dir, prefix, scratch};

const STRICT: [&str; 8] =
    ["-Wall", "-Wextra", "-pedantic", "-Werror", "-Wconversion", "-Wundef", "-fsyntax-only", "-x"];

#[test]
fn it_compiles_alone_as_c_and_as_cxx() {
    let header = prefix().join("include/ntux.h");
    for dialect in ["c99", "c11", "c17"] {
        compiles(Command::new("cc").args(STRICT).args(["c", "-Wstrict-prototypes"]), dialect, &header);
    }
    for dialect in ["c++11", "c++17", "c++20"] {
        compiles(Command::new("c++").args(STRICT).arg("c++"), dialect, &header);
    }
}

fn compiles(compiler: &mut Command, dialect: &str, header: &Path) {
    output(compiler.arg(format!("-std={dialect}")).arg(header));
}

#[test]
fn the_strict_compiler_finds_a_planted_slip() {
    let directory = scratch("slip");
    let header = fs::read_to_string(crate_dir().join("include/ntux.h")).unwrap();
    let slip = directory.join("slip.c");
    fs::write(&slip, header.replace("#include <stdint.h>", "")).unwrap();
    let (result, text) = run(compiler(&slip).args(["-fsyntax-only"]).arg(&slip));
    assert!(!result.status.success() && text.contains("uint64_t"), "{text}");
}

#[test]
fn the_program_of_the_manual_runs() {
    let header = fs::read_to_string(crate_dir().join("include/ntux.h")).unwrap();
    let lines: Vec<&str> = header.lines().filter_map(|line| line.strip_prefix(" *     ")).collect();
    let end = lines.iter().position(|line| *line == "}").expect("the end of main");
    let source = scratch("manual").join("bell.c");
    fs::write(&source, lines[..=end].join("\n") + "\n").unwrap();
    let program = program(&source, source.parent().unwrap(), Library::Shared, &[]);
    assert_eq!(output(&mut launch(&program, Library::Shared)), "object 1\n");
}
