//! Every case again, in processes where other mechanisms are forced, by a variable or by a kernel that refuses a call.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

const SYS_FUTEX_WAKE: libc::c_long = 454;
const SYS_FUTEX_WAIT: libc::c_long = 455;
const SYS_FUTEX_REQUEUE: libc::c_long = 456;

fn every_case() -> Command {
    let mut command = Command::new(std::env::current_exe().expect("the running test"));
    command.args(["--skip", "forced::", "--test-threads", "2"]);
    command
}

fn every_case_with(variables: &[(&str, &str)]) {
    passes(every_case().envs(variables.iter().copied()), &format!("{variables:?}"));
}

/// What a filter does to a call.
const KILL: u32 = libc::SECCOMP_RET_KILL_PROCESS;

const fn error(number: i32) -> u32 {
    libc::SECCOMP_RET_ERRNO | number as u32
}

/// Every case where a filter does this to these system calls.
fn every_case_without(calls: &[libc::c_long], action: u32, variables: &[(&str, &str)]) {
    let mut command = every_case();
    without(command.envs(variables.iter().copied()), calls, action);
    passes(&mut command, &format!("calls {calls:?}: {action:#x}"));
}

/// The program runs where a filter does this to these system calls.
fn without(command: &mut Command, calls: &[libc::c_long], action: u32) {
    behind(command, filter(calls, action));
}

/// The program runs behind a filter.
fn behind(command: &mut Command, filter: Vec<libc::sock_filter>) {
    // SAFETY: the child only makes two system calls before it becomes the test program.
    unsafe { command.pre_exec(move || install(&filter)) };
}

fn passes(command: &mut Command, variables: &str) {
    crate::sleepers::watchdog();
    let ended = command.output().expect("it starts");
    let text = String::from_utf8_lossy(&ended.stdout);
    assert!(ended.status.success(), "{variables}: {}\n{text}", ended.status);
    assert!(!text.contains(" 0 passed"), "nothing ran:\n{text}");
}

const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
const JUMP_IF_EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
/// Where `struct seccomp_data` has the call, and the lower half of its second argument.
const CALL: u32 = 0;
const SECOND: u32 = if cfg!(target_endian = "little") { 24 } else { 28 };

fn step(code: u16, jf: u8, k: u32) -> libc::sock_filter {
    libc::sock_filter { code, jt: 0, jf, k }
}

/// A program for seccomp: this is done to these calls, all others are made.
fn filter(calls: &[libc::c_long], action: u32) -> Vec<libc::sock_filter> {
    let mut program = vec![step(LOAD, 0, CALL)];
    for &call in calls {
        program.push(step(JUMP_IF_EQUAL, 1, call as u32));
        program.push(step(RETURN, 0, action));
    }
    program.push(step(RETURN, 0, libc::SECCOMP_RET_ALLOW));
    program
}

/// The same, where only the operation of the futex call that moves private sleepers does.
fn moves_nobody(errno: i32) -> Vec<libc::sock_filter> {
    vec![
        step(LOAD, 0, CALL),
        step(JUMP_IF_EQUAL, 3, libc::SYS_futex as u32),
        step(LOAD, 0, SECOND),
        step(JUMP_IF_EQUAL, 1, (libc::FUTEX_CMP_REQUEUE | libc::FUTEX_PRIVATE_FLAG) as u32),
        step(RETURN, 0, error(errno)),
        step(RETURN, 0, libc::SECCOMP_RET_ALLOW),
    ]
}

fn install(filter: &[libc::sock_filter]) -> io::Result<()> {
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_ptr().cast_mut() };
    // SAFETY: plain numbers, and a program that outlives the call, which copies it.
    let installed = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &program) == 0
    };
    if installed { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[test]
fn kernels_that_refuse_a_call() {
    let waitv = [libc::SYS_futex_waitv];
    every_case_without(&waitv, error(libc::ENOSYS), &[]);
    every_case_without(&waitv, error(libc::EPERM), &[("NTUX_FUTEX_PRIVATE", "native")]);
    every_case_without(&waitv, KILL, &[("NTUX_FUTEX_PRIVATE", "native")]);
    // For memory nodes: a missing call, a filter, and Linux 6.7, which has the calls but not the flag.
    for (call, action) in [
        (SYS_FUTEX_WAKE, error(libc::ENOSYS)),
        (SYS_FUTEX_WAIT, error(libc::EPERM)),
        (SYS_FUTEX_REQUEUE, error(libc::ENOSYS)),
        (SYS_FUTEX_WAKE, error(libc::EINVAL)),
        (SYS_FUTEX_WAKE, KILL),
        (SYS_FUTEX_WAIT, KILL),
        (SYS_FUTEX_REQUEUE, KILL),
    ] {
        let mut command = every_case();
        command.arg("numa::");
        without(&mut command, &[call], action);
        passes(&mut command, &format!("call {call}: {action:#x}"));
    }
    let domain = [("NTUX_TEST_DOMAIN", "1")];
    every_case_without(&[libc::SYS_get_robust_list, waitv[0]], error(libc::EPERM), &domain);
    every_case_without(&[libc::SYS_get_robust_list, waitv[0]], KILL, &domain);
}

#[test]
fn a_kernel_that_does_not_gather_who_is_woken_together() {
    for errno in [libc::ENOSYS, libc::EPERM] {
        let mut command = every_case();
        command.args(["crowds::", "histories::", "waits::"]);
        behind(&mut command, moves_nobody(errno));
        passes(&mut command, &format!("FUTEX_CMP_REQUEUE answers {errno}"));
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
