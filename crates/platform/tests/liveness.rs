// SPDX-License-Identifier: MIT OR Apache-2.0
//! Liveness where the answer is hard: in a child that was forked in the middle, and in a namespace without a /proc.
//!
//! Everything happens in children: this process itself never asks for its number.
#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "a test is no part of the model")]

#[path = "skips/skips.rs"]
mod skips;

use std::sync::atomic::{AtomicBool, Ordering};

use ntux_platform::liveness::{self, Process};
use skips::skip;

/// Runs `body` in a child process, which has ten seconds; its exit status, or 128 and the signal that ended it.
fn in_child(body: impl FnOnce() -> i32) -> i32 {
    let mut status = 0;
    // SAFETY: the child leaves by `_exit`, or by the alarm.
    unsafe {
        let child = libc::fork();
        assert!(child >= 0);
        if child == 0 {
            libc::alarm(10);
            let code = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body)).unwrap_or(1);
            libc::_exit(code);
        }
        assert_eq!(libc::waitpid(child, &mut status, 0), child);
    }
    if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { 128 + libc::WTERMSIG(status) }
}

/// The first call of a process takes some microseconds; each time the fork comes at another moment.
#[test]
fn a_child_that_was_forked_during_the_first_call_of_another_thread_learns_its_number() {
    for moment in 0..400 {
        let code = in_child(|| {
            static CALLS: AtomicBool = AtomicBool::new(false);
            let caller = std::thread::spawn(|| {
                CALLS.store(true, Ordering::SeqCst);
                liveness::process_id()
            });
            while !CALLS.load(Ordering::SeqCst) {
                std::hint::spin_loop();
            }
            for _ in 0..moment % 40 * 8 {
                std::hint::spin_loop();
            }
            let code = in_child(|| i32::from(liveness::process_id() != std::process::id()));
            let own = caller.join().unwrap();
            if own == std::process::id() { code } else { 3 }
        });
        assert_eq!(code, 0, "moment {moment}");
    }
}

const NOT_ALLOWED: i32 = 77;

/// Makes a namespace of processes, and in it a child, whose /proc is still that of the namespace above.
fn in_namespace_without_proc(body: impl FnOnce() -> i32) -> i32 {
    // SAFETY: a call without memory.
    let made = unsafe {
        libc::unshare(libc::CLONE_NEWPID) == 0 || libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWPID) == 0
    };
    if made { in_child(body) } else { NOT_ALLOWED }
}

/// A child by a bare clone, with these flags, which no handler of the C library sees.
fn in_bare_child(flags: libc::c_int, body: impl FnOnce() -> i32) -> i32 {
    let mut status = 0;
    // SAFETY: a fork: the child leaves by `_exit`, or by the alarm.
    unsafe {
        let child = libc::syscall(libc::SYS_clone, libc::SIGCHLD | flags, 0, 0, 0, 0) as libc::pid_t;
        if child < 0 {
            return NOT_ALLOWED;
        }
        if child == 0 {
            libc::alarm(10);
            libc::_exit(std::panic::catch_unwind(std::panic::AssertUnwindSafe(body)).unwrap_or(1));
        }
        assert_eq!(libc::waitpid(child, &mut status, 0), child);
    }
    if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { 128 + libc::WTERMSIG(status) }
}

/// Each is the first process of a namespace, and a child of the one before.
#[test]
fn children_with_the_number_of_their_parents_are_not_these() {
    let code = in_child(|| {
        in_namespace_without_proc(|| {
            let (parent, lineage) = (liveness::this_process(), liveness::lineage());
            assert_eq!((lineage, liveness::lineage() as u32), (liveness::lineage(), 1));
            let again = liveness::this_process();
            assert_eq!(again, parent, "it stays the same");
            in_bare_child(libc::CLONE_NEWPID, || {
                let (me, own) = (liveness::this_process(), liveness::lineage());
                assert_eq!((me.pid, own as u32, parent.pid), (1, 1, 1));
                assert!(own != lineage && me.incarnation != parent.incarnation && me.namespace != parent.namespace);
                assert!(liveness::differs_in_numbers(parent, me) && !liveness::is_process_dead(parent, me));
                in_bare_child(libc::CLONE_NEWPID, || i32::from([lineage, own].contains(&liveness::lineage())))
            })
        })
    });
    match code {
        NOT_ALLOWED => skip("namespaces", "this process may not make namespaces of processes"),
        code => assert_eq!(code, 0),
    }
}

#[test]
fn the_living_are_not_taken_for_the_dead_where_proc_is_of_another_namespace() {
    let code = in_child(|| {
        in_namespace_without_proc(|| {
            assert_eq!(std::process::id(), 1);
            let me = liveness::this_process();
            assert!(me.namespace != 0 && me.start == 0, "{me:?}: /proc/1 is another process");
            // SAFETY: the child waits for a signal that ends it.
            let living = unsafe { libc::fork() };
            if living == 0 {
                // SAFETY: as above.
                unsafe { libc::pause() };
            }
            // Somebody with a /proc of this namespace has noted when it started.
            let process = |pid: i32| Process { pid: pid as u32, start: 1, namespace: me.namespace, incarnation: 7 };
            assert!(!liveness::is_process_dead(process(living), me), "it lives");
            assert!(!liveness::is_process_dead(process(1), me), "this one lives");
            let mut status = 0;
            // SAFETY: a child of this process.
            unsafe {
                libc::kill(living, libc::SIGKILL);
                libc::waitpid(living, &mut status, 0);
            }
            assert!(liveness::is_process_dead(process(living), me), "it is gone, and its number free");
            0
        })
    });
    match code {
        NOT_ALLOWED => skip("namespaces", "this process may not make namespaces of processes"),
        code => assert_eq!(code, 0),
    }
}

#[test]
fn a_process_with_a_number_that_was_used_again_is_dead() {
    let code = in_child(|| {
        let me = liveness::this_process();
        assert!(me.start != 0 && !liveness::is_process_dead(me, me));
        assert!(liveness::is_process_dead(Process { start: me.start + 1, ..me }, me));
        0
    });
    assert_eq!(code, 0);
}
