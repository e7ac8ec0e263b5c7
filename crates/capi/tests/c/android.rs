// SPDX-License-Identifier: MIT OR Apache-2.0
//! The same programs in a sandbox that refuses as Android's does: a refused call raises SIGSYS, of which a program dies.
#![cfg(all(target_os = "linux", not(ntux_simulated_macos)))]

use std::os::unix::process::ExitStatusExt;

use crate::commands::run;
use crate::compile::{Library, launch, program};
use crate::install::{crate_dir, scratch};
use crate::rule::{Rule, under};

const TRAP: u32 = libc::SECCOMP_RET_TRAP;
/// futex_wake, futex_wait, futex_requeue; the C library has no names for them yet.
const FUTEX2: [libc::c_long; 3] = [454, 455, 456];

/// What bionic does not call is not on the list of what Android lets applications call. Of that, what ntux knows, and its neighbours.
/// (Some versions of Android permit `userfaultfd` or `pidfd_getfd`.)
fn refusals() -> Vec<Rule> {
    let trapped = [
        libc::SYS_get_robust_list,
        libc::SYS_futex_waitv,
        libc::SYS_userfaultfd,
        libc::SYS_pidfd_getfd,
        libc::SYS_kcmp,
        libc::SYS_get_mempolicy,
        libc::SYS_set_mempolicy,
        libc::SYS_mbind,
        libc::SYS_move_pages,
        libc::SYS_perf_event_open,
        libc::SYS_memfd_secret,
        libc::SYS_process_mrelease,
        libc::SYS_io_uring_setup,
        libc::SYS_shmget,
        libc::SYS_semget,
        libc::SYS_msgget,
        libc::SYS_name_to_handle_at,
        libc::SYS_openat2,
        libc::SYS_close_range,
    ];
    // What the C library here tries in each new thread, with signals blocked, which bionic's does not: without them, but alive.
    let missing = [libc::SYS_set_robust_list, libc::SYS_rseq, libc::SYS_clone3];
    let trapped = trapped.into_iter().chain(FUTEX2).map(|call| Rule::new(call, TRAP));
    trapped.chain(missing.map(|call| Rule::errno(call, libc::ENOSYS))).collect()
}

/// The signal that ended it, or its code, and what it said.
fn in_sandbox(file: &str, rules: Vec<Rule>) -> (Result<Option<i32>, i32>, String) {
    let directory = scratch(&format!("{file}-sandbox{}", rules.len()));
    let program = program(&crate_dir().join("tests/c").join(file), &directory, Library::Shared, &["-pthread"]);
    let (result, text) = run(under(&mut launch(&program, Library::Shared), rules));
    (result.status.signal().map_or(Ok(result.status.code()), Err), text)
}

/// (`futexes.c` expects waits for several shared words, which need `futex_waitv`: docs/futexes/guide.md. Domains do not.)
#[test]
fn no_program_dies_of_a_call_that_android_refuses() {
    for file in ["outcomes.c", "refusals.c", "waiters.c", "domains.c", "watches.c"] {
        let (ended, text) = in_sandbox(file, refusals());
        assert_eq!(ended, Ok(Some(0)), "{file}: {text}");
        assert!(text.contains(" checks, 0 failures\n"), "{file}: {text}");
    }
}

/// The sandbox is able to kill: nothing protects a call without which nothing goes.
#[test]
fn a_call_that_is_not_tried_out_first_is_noticed() {
    let (ended, _) = in_sandbox("waiters.c", vec![Rule::new(libc::SYS_futex, TRAP)]);
    assert_eq!(ended, Err(libc::SIGSYS));
}
