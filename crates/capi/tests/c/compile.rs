// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compiling and running C and C++ programs against the installed copy.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::commands::{output, run};
use crate::install::{pkg_config, prefix};
use crate::systems::IS_MACOS;

const C: [&str; 6] = ["cc", "-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror"];
const CXX: [&str; 6] = ["c++", "-std=c++11", "-Wall", "-Wextra", "-pedantic", "-Werror"];

/// Which library a program is linked with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Library {
    Shared,
    Static,
}

/// A compiler for `source`, by its extension, that treats every warning as an error.
pub fn compiler(source: &Path) -> Command {
    let [name, flags @ ..] = if source.extension().is_some_and(|extension| extension == "c") { C } else { CXX };
    let mut command = Command::new(name);
    command.args(flags);
    command
}

/// Compiles `source` into `directory` the way a user would: with what pkg-config says.
pub fn program(source: &Path, directory: &Path, library: Library, more: &[&str]) -> PathBuf {
    let target = directory.join(format!("{}-{library:?}", source.file_stem().unwrap().display()));
    let libraries = match library {
        Library::Shared => pkg_config(&["--libs"]),
        Library::Static => static_libraries(&static_library()),
    };
    compile(source, &target, more, &libraries)
}

/// Compiles a program with this static library. Returns where it is.
pub fn program_with(source: &Path, directory: &Path, library: &str, more: &[&str]) -> PathBuf {
    let target = directory.join(source.file_stem().unwrap());
    compile(source, &target, more, &static_libraries(library))
}

fn compile(source: &Path, target: &Path, more: &[&str], libraries: &[String]) -> PathBuf {
    let mut compile = compiler(source);
    compile.args(more).arg(source).arg("-o").arg(target).args(pkg_config(&["--cflags"])).args(libraries);
    output(&mut compile);
    target.to_owned()
}

/// What a program is linked with, if this stands for the static library.
fn static_libraries(library: &str) -> Vec<String> {
    let word = |word: String| if word == "-lntux" { library.to_owned() } else { word };
    pkg_config(&["--static", "--libs"]).into_iter().map(word).collect()
}

/// How the linker is asked for the static library where there is a shared one, too.
fn static_library() -> String {
    match IS_MACOS {
        true => prefix().join("lib/libntux.a").display().to_string(),
        false => "-l:libntux.a".to_owned(),
    }
}

/// A compiled program, ready to run. After a minute it is killed with all its children, which fails the test.
pub fn launch(program: &Path, library: Library) -> Command {
    let mut command = watched("60", program);
    if library == Library::Shared {
        command.env("LD_LIBRARY_PATH", prefix().join("lib"));
    }
    command
}

/// macOS has no such command, but a timer outlives `exec`. (It ends the program alone.)
fn watched(seconds: &str, program: &Path) -> Command {
    if IS_MACOS {
        let seconds = seconds.parse::<f64>().expect("a number").ceil() as u32;
        let mut command = Command::new(program);
        // SAFETY: a call that a forked child may make.
        unsafe {
            command.pre_exec(move || {
                libc::alarm(seconds);
                Ok(())
            })
        };
        return command;
    }
    let mut command = Command::new("timeout");
    command.args(["--signal=KILL", seconds]).arg(program);
    command
}

#[test]
fn the_watchdog_kills_a_program_that_hangs() {
    let (result, text) = run(watched("0.2", Path::new("sleep")).arg("600"));
    assert!(!result.status.success(), "{text}");
}
