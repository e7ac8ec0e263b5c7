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

/// Every case where these system calls answer with an error.
fn every_case_without(calls: &[libc::c_long], errno: i32, variables: &[(&str, &str)]) {
    let mut command = every_case();
    without(command.envs(variables.iter().copied()), calls, errno);
    passes(&mut command, &format!("calls {calls:?} answer {errno}"));
}

/// The program runs where these system calls answer with an error.
fn without(command: &mut Command, calls: &[libc::c_long], errno: i32) {
    behind(command, filter(calls, errno));
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

/// A program for seccomp: these calls answer with an error, all others are made.
fn filter(calls: &[libc::c_long], errno: i32) -> Vec<libc::sock_filter> {
    let mut program = vec![step(LOAD, 0, CALL)];
    for &call in calls {
        program.push(step(JUMP_IF_EQUAL, 1, call as u32));
        program.push(step(RETURN, 0, libc::SECCOMP_RET_ERRNO | errno as u32));
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
        step(RETURN, 0, libc::SECCOMP_RET_ERRNO | errno as u32),
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
    every_case_without(&waitv, libc::ENOSYS, &[]);
    every_case_without(&waitv, libc::EPERM, &[("NTUX_FUTEX_PRIVATE", "native")]);
    // For memory nodes: a missing call, a filter, and Linux 6.7, which has the calls but not the flag.
    for (call, errno) in [
        (SYS_FUTEX_WAKE, libc::ENOSYS),
        (SYS_FUTEX_WAIT, libc::EPERM),
        (SYS_FUTEX_REQUEUE, libc::ENOSYS),
        (SYS_FUTEX_WAKE, libc::EINVAL),
    ] {
        let mut command = every_case();
        command.arg("numa::");
        without(&mut command, &[call], errno);
        passes(&mut command, &format!("call {call} answers {errno}"));
    }
    every_case_without(&[libc::SYS_get_robust_list, waitv[0]], libc::EPERM, &[("NTUX_TEST_DOMAIN", "1")]);
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
