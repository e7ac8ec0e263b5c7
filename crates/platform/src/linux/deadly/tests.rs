// SPDX-License-Identifier: MIT OR Apache-2.0
//! Each test installs filters in a thread of its own: they hold for that thread alone, and what it makes.

use super::*;

#[path = "../../../tests/seccomp/rule.rs"]
mod rule;
use crate::linux::skips::skip;
use rule::Rule;

/// A call that nobody makes by chance.
const SUBJECT: libc::c_long = libc::SYS_userfaultfd;

/// Returns whether the subject is deadly for a thread under these filters.
fn under(rules: &[Rule]) -> bool {
    let judge = || {
        rules.iter().for_each(|rule| rule.install().expect("a filter is taken"));
        // Unknown flags: it does nothing.
        let call = Call::new(SUBJECT, [usize::MAX, 0]);
        let deadly = call.is_deadly();
        for memory in [Memory::Borrowed, Memory::Copied] {
            if memory == Memory::Copied || Memory::for_children() == Memory::Borrowed {
                assert_eq!(come_back(core::slice::from_ref(&call), memory), !deadly, "{memory:?}");
            }
        }
        assert!(has_no_child());
        deadly
    };
    std::thread::scope(|scope| scope.spawn(judge).join().expect("the thread lives on"))
}

/// Returns whether this thread has no child.
fn has_no_child() -> bool {
    let kind = libc::__WALL | libc::__WNOTHREAD | libc::WNOHANG;
    // SAFETY: nothing is to be written.
    unsafe { libc::waitpid(-1, core::ptr::null_mut(), kind) < 0 && crate::errno() == libc::ECHILD }
}

#[test]
fn a_filter_that_ends_the_process_or_the_thread_is_survived() {
    assert!(under(&[Rule::kill(SUBJECT)]));
    assert!(under(&[Rule::new(SUBJECT, libc::SECCOMP_RET_KILL_THREAD)]));
    assert!(under(&[Rule::new(SUBJECT, libc::SECCOMP_RET_TRAP)]));
}

#[test]
fn a_filter_that_refuses_or_allows_is_harmless() {
    assert!(!under(&[Rule::errno(SUBJECT, libc::EPERM)]));
    assert!(!under(&[Rule::errno(SUBJECT, libc::ENOSYS)]));
    assert!(!under(&[Rule::kill(libc::SYS_futex_waitv)]));
}

#[test]
fn one_child_makes_several_calls() {
    let judge = |first, rules: &[Rule]| {
        rules.iter().for_each(|rule| rule.install().expect("a filter is taken"));
        let calls = [Call::new(first, [0, 0]), Call::new(SUBJECT, [usize::MAX, 0])];
        [Call::any_is_deadly(&calls), calls[0].is_deadly(), calls[1].is_deadly()]
    };
    let under = |first, rules: &[Rule]| {
        std::thread::scope(|scope| scope.spawn(|| judge(first, rules)).join().expect("the thread lives on"))
    };
    assert_eq!(under(libc::SYS_getpid, &[Rule::kill(libc::SYS_futex_waitv)]), [false; 3]);
    assert_eq!(under(libc::SYS_getpid, &[Rule::kill(SUBJECT)]), [true, false, true]);
    // The first call ends the only child well, so nothing kills it.
    assert_eq!(under(libc::SYS_exit_group, &[Rule::kill(SUBJECT)]), [false; 3]);
}

#[test]
fn who_may_have_no_child_does_without() {
    assert!(under(&[Rule::errno(libc::SYS_clone, libc::EPERM)]));
    // Where the kernel does not say whether there is a filter, a child tells.
    assert!(!under(&[Rule::errno(libc::SYS_openat, libc::EACCES)]));
}

#[test]
fn without_a_filter_there_is_no_child() {
    if std::fs::read_to_string("/proc/thread-self/status").is_ok_and(|status| !status.contains("\nSeccomp:\t0\n")) {
        return skip("filter", "these tests themselves run under a filter");
    }
    // A child would end, by a call that ends it, and the call would count as deadly.
    assert!(!Call::new(libc::SYS_exit_group, [1, 0]).is_deadly());
}

#[test]
fn the_mode_is_found_wherever_it_stands() {
    let mode = |text: &str| {
        let mut field = Field::default();
        text.bytes().find_map(|byte| field.next(byte))
    };
    assert_eq!(mode("Name:\tSeccomp:\t7\nSeccomp_filters:\t3\n\nSeccomp:\t2\n"), Some(b'2'));
    assert_eq!(mode("Name:\tx\nSeccomp_filters:\t3\n"), None);
    assert_eq!(mode("Seccomp:"), None);
}

#[test]
fn a_child_may_borrow_memory_where_no_core_takes_everybody_along() {
    for (release, expected) in
        [("6.18.44-fc", (6, 18)), ("5.15.0-91-generic", (5, 15)), ("5.16", (5, 16)), ("", (0, 0))]
    {
        assert_eq!(version(release.as_bytes()), expected, "{release}");
    }
}
