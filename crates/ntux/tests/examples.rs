// SPDX-License-Identifier: MIT OR Apache-2.0
//! The examples are programs that do what they say.

use std::path::PathBuf;
use std::process::Command;

/// What an example prints.
fn output(name: &str) -> String {
    let tests: PathBuf = std::env::current_exe().unwrap();
    let program = tests.ancestors().nth(2).unwrap().join("examples").join(name);
    let ended = Command::new(&program).output().unwrap_or_else(|error| panic!("{}: {error}", program.display()));
    assert!(ended.status.success(), "{name}: {}{}", ended.status, String::from_utf8_lossy(&ended.stderr));
    String::from_utf8(ended.stdout).unwrap()
}

#[test]
fn two_programs_share_objects() {
    assert_eq!(output("two-processes"), "parent: 5 jobs are done\nparent: the child has ended with 0\n");
}

#[test]
fn threads_work_off_a_queue() {
    assert_eq!(output("worker-pool"), "the sum is 500500\n");
}

#[test]
fn one_thread_serves_thousands_of_sessions() {
    assert_eq!(output("wait-set"), "20000 requests were served\n");
}

#[test]
fn a_server_waits_for_connections_and_another_process() {
    assert_eq!(output("async-server"), "200 meals were served, 10 guests waited for a late one in vain\n");
}
