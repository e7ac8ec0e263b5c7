// SPDX-License-Identifier: MIT OR Apache-2.0
//! How much stack the functions take that make soft-dirty bits: the program of the device's test (`crates/preload/tests/stack.rs`),
//! which makes each call on a stack that ends at the bound, with a page below that is not there.
#![cfg(target_os = "linux")]

#[path = "../../preload/tests/built/c_program.rs"]
mod c_program;
#[path = "../../preload/tests/built/library.rs"]
mod library;

use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::LazyLock;

use c_program::compile;
use object::Object;

static STACK: LazyLock<PathBuf> =
    LazyLock::new(|| compile("../../preload/tests/c/stack.c", &["-Wl,-z,now", "-Wl,--no-as-needed", "-lrt", "-lutil"]));

/// One that is built for debugging takes more.
static LIBRARY: LazyLock<PathBuf> =
    LazyLock::new(|| library::variant("optimized", &["--config", "profile.dev.opt-level=2"]));

/// What reading a page map or clearing may take beyond the bound of the program's list.
const WATCHED: usize = 6 << 10;

fn succeeds(command: &mut Command) -> String {
    let output = command.output().expect("the program starts");
    assert!(output.status.success(), "{}", complaints(&output));
    String::from_utf8(output.stdout).expect("text")
}

fn complaints(output: &Output) -> String {
    format!("{}\n{}", output.status, String::from_utf8_lossy(&output.stderr))
}

fn exports() -> Vec<String> {
    let data = std::fs::read(&*LIBRARY).expect("the library");
    let names = object::File::parse(&*data).expect("an ELF file").exports().expect("symbols");
    names.iter().map(|export| String::from_utf8_lossy(export.name()).into_owned()).collect()
}

fn within(call: &str, size: usize, state: &str) -> Output {
    let mut command = Command::new(&*STACK);
    command.args(["within", call, &size.to_string(), state]).env("LD_PRELOAD", &*LIBRARY).env("NTUX_SOFT_DIRTY", "1");
    command.output().expect("the program starts")
}

#[test]
fn each_function_takes_no_more_than_is_said() {
    let list = succeeds(Command::new(&*STACK).arg("list"));
    let mut over = String::new();
    for function in exports() {
        let is_of_it = |line: &&str| line.split(' ').nth(1) == Some(&function);
        let calls: Vec<&str> = list.lines().filter(is_of_it).filter_map(|line| line.split(' ').next()).collect();
        assert!(!calls.is_empty(), "{function} has no call in stack.c");
        for call in calls {
            let native: usize = succeeds(Command::new(&*STACK).args(["used", call])).trim().parse().expect("a number");
            for (state, more) in [("plain", 0), ("watched", WATCHED)] {
                let output = within(call, native + more, state);
                if !output.status.success() {
                    over += &format!("{call}, {state}: {}", complaints(&output));
                }
            }
        }
    }
    assert!(over.is_empty(), "{over}");
}

/// The harness is able to fail.
#[test]
fn a_call_that_takes_too_much_is_caught() {
    let output = within("takes_too_much", 0, "watched");
    assert!(complaints(&output).contains("takes_too_much: ended with status 0xb"), "{}", complaints(&output));
}
