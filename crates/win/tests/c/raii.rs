// SPDX-License-Identifier: MIT OR Apache-2.0
//! The header for C++: a program over it, in each dialect, with plain names and without warnings.

use std::process::Command;

use crate::commands::output;
use crate::install::{crate_dir, pkg_config, run_for, scratch};

fn passes(dialect: &str, more: &[&str]) -> (bool, String) {
    let program = scratch(&format!("raii-{dialect}{}", more.concat())).join("program");
    let mut compile = Command::new("c++");
    compile.arg(format!("-std={dialect}")).args(["-Wall", "-Wextra", "-pedantic", "-Werror", "-Wno-unused-function"]);
    compile.arg("-pthread").args(more).args(pkg_config(&["--cflags"]));
    compile.arg(crate_dir().join("tests/c/raii.cc")).arg("-o").arg(&program).args(pkg_config(&["--libs"]));
    output(&mut compile);
    let (result, text) = run_for(&program, 330);
    (result.status.success() && text.ends_with(" checks, 0 failures\n"), text)
}

#[test]
fn what_is_owned_is_given_back() {
    for dialect in ["c++11", "c++14", "c++17", "c++20"] {
        let (passed, text) = passes(dialect, &[]);
        assert!(passed, "{dialect}: {text}");
    }
    let (passed, text) = passes("c++17", &["-DPLANTED"]);
    assert!(!passed && text.ends_with(", 1 failures\n"), "{text}");
}
