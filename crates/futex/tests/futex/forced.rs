// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every case again, in processes where other mechanisms are forced, by a variable or by a kernel that refuses a call.
#![cfg(all(target_os = "linux", not(ntux_simulated_macos)))]

use std::process::Command;

use crate::rule::{Rule, under};

const SYS_FUTEX_WAKE: libc::c_long = 454;
const SYS_FUTEX_WAIT: libc::c_long = 455;
const SYS_FUTEX_REQUEUE: libc::c_long = 456;

fn every_case(variables: &[(&str, &str)]) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("the running test"));
    // What is left out here for want of a mechanism is so on purpose.
    command.args(["--skip", "forced::", "--test-threads", "2"]).env_remove("NTUX_TEST_SKIPS");
    // Rubbish is written into a domain, which uses none of the mechanisms that are forced upon other futexes.
    if !variables.iter().any(|&(name, _)| name == "NTUX_TEST_DOMAIN") {
        command.args(["--skip", "rubbish::"]);
    }
    command.envs(variables.iter().copied());
    command
}

fn every_case_with(variables: &[(&str, &str)]) {
    passes(&mut every_case(variables), &format!("{variables:?}"));
}

/// Every case under these rules.
fn every_case_under<const N: usize>(rules: [Rule; N], variables: &[(&str, &str)]) {
    let mut command = every_case(variables);
    under(&mut command, rules);
    passes(&mut command, &format!("{rules:?}"));
}

fn passes(command: &mut Command, variables: &str) {
    crate::sleepers::watchdog();
    let ended = command.output().expect("it starts");
    let text = String::from_utf8_lossy(&ended.stdout);
    assert!(ended.status.success(), "{variables}: {}\n{text}", ended.status);
    assert!(!text.contains(" 0 passed"), "nothing ran:\n{text}");
}

#[test]
fn kernels_that_refuse_a_call() {
    const WAITV: libc::c_long = libc::SYS_futex_waitv;
    let native = [("NTUX_FUTEX_PRIVATE", "native")];
    every_case_under([Rule::errno(WAITV, libc::ENOSYS)], &[]);
    every_case_under([Rule::errno(WAITV, libc::EPERM)], &native);
    every_case_under([Rule::kill(WAITV)], &native);
    // For memory nodes: a missing call, a filter, and Linux 6.7, which has the calls but not the flag.
    for rule in [
        Rule::errno(SYS_FUTEX_WAKE, libc::ENOSYS),
        Rule::errno(SYS_FUTEX_WAIT, libc::EPERM),
        Rule::errno(SYS_FUTEX_REQUEUE, libc::ENOSYS),
        Rule::errno(SYS_FUTEX_WAKE, libc::EINVAL),
        Rule::kill(SYS_FUTEX_WAKE),
        Rule::kill(SYS_FUTEX_WAIT),
        Rule::kill(SYS_FUTEX_REQUEUE),
    ] {
        let mut command = every_case(&[]);
        passes(under(command.arg("numa::"), [rule]), &format!("{rule:?}"));
    }
    let domain = [("NTUX_TEST_DOMAIN", "1")];
    let calls = [libc::SYS_get_robust_list, WAITV];
    every_case_under(calls.map(|call| Rule::errno(call, libc::EPERM)), &domain);
    every_case_under(calls.map(Rule::kill), &domain);
}

#[test]
fn a_kernel_that_does_not_gather_who_is_woken_together() {
    // The operation that moves private sleepers; every other one of the same call is made.
    const MOVES: i32 = libc::FUTEX_CMP_REQUEUE | libc::FUTEX_PRIVATE_FLAG;
    for errno in [libc::ENOSYS, libc::EPERM] {
        let rule = Rule::errno(libc::SYS_futex, errno).with_argument(MOVES);
        let mut command = every_case(&[]);
        passes(under(command.args(["crowds::", "histories::", "waits::"]), [rule]), &format!("{rule:?}"));
    }
}

#[test]
fn native_private_futexes() {
    every_case_with(&[("NTUX_FUTEX_PRIVATE", "native")]);
}

#[test]
fn a_kernel_without_vectors() {
    every_case_with(&[("NTUX_WITHOUT", "futex_waitv")]);
    every_case_with(&[("NTUX_WITHOUT", "futex_waitv"), ("NTUX_FUTEX_PRIVATE", "native")]);
}

#[test]
fn a_kernel_without_nodes() {
    every_case_with(&[("NTUX_WITHOUT", "futex_numa")]);
}

#[test]
fn a_kernel_that_cannot_wipe() {
    every_case_with(&[("NTUX_WITHOUT", "wipe_on_fork")]);
}

#[test]
fn a_domain() {
    every_case_with(&[("NTUX_TEST_DOMAIN", "1")]);
    every_case_with(&[("NTUX_TEST_DOMAIN", "1"), ("NTUX_WITHOUT", "robust_list,futex_waitv,wipe_on_fork")]);
}
