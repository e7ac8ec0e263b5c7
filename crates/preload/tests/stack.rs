// SPDX-License-Identifier: MIT OR Apache-2.0
//! How much stack the device's functions take beyond the C library's own: `c/stack.c` makes each call on a stack that ends at the
//! bound, with a page below that is not there.
#![cfg(target_os = "linux")]

#[path = "built/c_program.rs"]
mod c_program;
#[path = "built/preloaded.rs"]
mod preloaded;
#[path = "../../platform/tests/seccomp/rule.rs"]
mod rule;

use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::LazyLock;

use c_program::compile;
use preloaded::{command, complaints, succeeds, tested_optimized};
use rule::{Rule, under};

// Nothing is bound at the first use, so a call takes the same stack each time.
static STACK: LazyLock<PathBuf> =
    LazyLock::new(|| compile("c/stack.c", &["-Wl,-z,now", "-Wl,--no-as-needed", "-lrt", "-lutil"]));

/// One that is built for debugging takes more.
static LIBRARY: LazyLock<PathBuf> = LazyLock::new(tested_optimized);

/// The place from which a call is made (`stack.c`).
const STATES: [&str; 4] = ["plain", "used", "fresh", "forked"];

/// How much a call takes without the library.
fn used(call: &str) -> String {
    let output = succeeds(Command::new(&*STACK).args(["used", call]));
    String::from_utf8(output.stdout).expect("a number").trim().to_owned()
}

fn within(call: &str, native: &str, state: &str) -> Output {
    command(&STACK, &LIBRARY).args(["within", call, native, state]).output().expect("the program starts")
}

#[test]
fn each_call_takes_no_more_than_is_said() {
    let list = succeeds(Command::new(&*STACK).arg("list"));
    let calls = String::from_utf8(list.stdout).expect("names");
    assert!(calls.lines().count() > 40, "{calls}");
    let mut over = String::new();
    for name in calls.lines().map(|line| line.split(' ').next().expect("a name")) {
        let native = used(name);
        for state in STATES {
            let output = within(name, &native, state);
            if !output.status.success() {
                over += &format!("{name}, {state}: {}", complaints(&output));
            }
        }
    }
    assert!(over.is_empty(), "{over}");
}

/// The harness is able to fail.
#[test]
fn a_call_that_takes_too_much_is_caught() {
    let output = within("takes_too_much", &used("takes_too_much"), "plain");
    assert!(complaints(&output).contains("takes_too_much: ended with status 0xb"), "{}", complaints(&output));
}

macro_rules! programs {
    ($($name:ident,)*) => {
        $(
            #[test]
            fn $name() {
                succeeds(command(&STACK, &LIBRARY).arg(stringify!($name)));
            }
        )*
    };
}

programs! {
    crash_is_reported,
    crash_of_a_user_is_reported,
    spawned_by_a_small_thread,
    nothing_stays_in_borrowed_memory,
    many_variables,
    bad_pointers_are_told,
}

/// Then what a child of vfork needed is used again when the child has ended.
#[test]
fn nothing_stays_without_a_robust_list() {
    succeeds(command(&STACK, &LIBRARY).arg("nothing_stays_in_borrowed_memory").env("NTUX_WITHOUT", "robust_list"));
}

/// Without memory for a stack of its own, the library takes the program's.
#[test]
fn there_may_be_no_memory_for_a_stack() {
    /// As long as `own_stack.rs` maps them.
    const LENGTH: i32 = 192 << 10;
    let limited = |arguments: &[&str]| {
        let mut command = command(&STACK, &LIBRARY);
        under(command.args(arguments), [Rule::errno(libc::SYS_mmap, libc::ENOMEM).with_argument(LENGTH)]);
        command.output().expect("the program starts")
    };
    assert!(limited(&["many_variables"]).status.success());
    let output = limited(&["within", "execve_cleaned", &used("execve_cleaned"), "used"]);
    assert!(!output.status.success(), "the filter has no effect");
}
