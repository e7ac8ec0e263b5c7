// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is particular about memory that the kernel copies.
#![cfg(target_os = "linux")]

use ntux_watch::{Mechanism, Reset, Watcher};

use crate::child::{child, is_child};
use crate::fork::in_forked_child;
use crate::memory::Memory;
use crate::skips::skip;
use crate::{ONLY, watcher_of};

fn watcher() -> Option<Watcher> {
    watcher_of(Mechanism::Cow)
}

/// Forks, such as those of other tests, hand regions over to page protection. So this is where the mechanism is tested.
#[test]
fn the_common_tests_in_processes_that_do_not_fork() {
    if watcher().is_none() {
        return;
    }
    for test in [
        "contents::no_store_is_lost_to_a_result",
        "contents::programs_can_be_written_run_and_reset",
        "contents::pages_that_cannot_be_read_or_written_keep_their_contents_when_they_are_reset",
        "kernel::a_call_that_waits_stores_though_the_pages_are_reset_meanwhile",
        "kernel::a_datagram_is_lost_by_the_plain_call_and_kept_by_the_wrapped_one",
        "kernel::direct_reads",
        "kernel::io_uring_reads_are_seen_unless_the_buffer_is_registered",
        "kernel::other_ways_of_the_kernel_into_memory",
        "kernel::registered_buffers_that_are_held_are_listed_and_have_what_was_stored",
        "kernel::what_a_read_stored_is_listed_or_the_read_fails",
        "kernel::wrapped_calls_never_fail_while_the_pages_are_reset",
        "kernel::wrapped_calls_store_everywhere_and_all_they_stored_is_listed",
        "model::random_operations_mean_what_the_model_says",
        "shadow::no_write_is_lost_with_one_to_eight_writers",
        "traps::a_result_may_lie_in_the_memory_that_it_is_about",
        "traps::pages_are_committed_and_taken_back_while_others_are_written",
    ] {
        child(test).env(ONLY, Mechanism::Cow.name()).must_pass();
    }
}

#[test]
fn no_mapping_is_split_by_what_is_written() {
    if !is_child() {
        return child("cow::no_mapping_is_split_by_what_is_written").must_pass();
    }
    let Some(watcher) = watcher() else { return };
    let memory = Memory::committed(&watcher, 10_000);
    let range = memory.region.range();
    let mappings = || ntux_platform::watching::mappings::within(range.start, range.start + range.length).unwrap().len();
    (0..10_000).step_by(2).for_each(|page| memory.write(page));
    assert_eq!(mappings(), 1);
    assert_eq!(memory.get(Reset::Yes).len(), 5000);
    assert_eq!(mappings(), 1);
}

#[test]
fn after_a_fork_page_protection_goes_on_where_it_was() {
    if !is_child() {
        return child("cow::after_a_fork_page_protection_goes_on_where_it_was").must_pass();
    }
    let Some(watcher) = watcher() else { return };
    let memory = Memory::committed(&watcher, 100);
    memory.write_all(&[1, 2, 50]);
    assert_eq!(memory.get(Reset::Yes), [1, 2, 50]);
    memory.write_all(&[2, 60]);
    memory.protect(60, 61, false);
    memory.write(70);
    memory.protect(70, 71, false);
    assert_eq!(memory.get_room(70, 71, 1, Reset::Yes), [70]);
    let hold = watcher.hold(&[memory.range(90, 91)]).unwrap();
    in_forked_child(|| ());
    let file = std::fs::File::open("/dev/zero").unwrap();
    let read = |memory: &Memory, page| {
        // SAFETY: a committed page.
        unsafe { libc::read(std::os::fd::AsRawFd::as_raw_fd(&file), memory.address(page) as *mut _, 8) }
    };
    assert_eq!(read(&memory, 90), 8, "a page that is held stays open");
    drop(hold);
    assert_eq!(memory.get_room(90, 91, 1, Reset::Yes), [90]);
    assert_eq!(memory.get(Reset::No), [2, 60], "70 was reset where nobody could write");
    memory.protect(60, 71, true);
    memory.write_all(&[3, 70]);
    assert_eq!(memory.get(Reset::Yes), [2, 3, 60, 70]);
    assert!(memory.get(Reset::Yes).is_empty());
    let later = Memory::committed(&watcher, 10);
    assert_eq!((read(&memory, 4), read(&later, 4)), (-1, 8), "known: system calls fail on regions from before a fork");
    assert_eq!(later.get(Reset::Yes), [4]);
}

#[test]
fn known_limit_a_child_of_a_bare_clone_does_not_have_the_memory() {
    if !is_child() {
        return child("cow::known_limit_a_child_of_a_bare_clone_does_not_have_the_memory").must_pass();
    }
    let Some(watcher) = watcher() else { return };
    let memory = Memory::committed(&watcher, 4);
    memory.write(1);
    #[allow(clippy::disallowed_methods, reason = "a program that does not ask the C library")]
    // SAFETY: the child makes system calls and stores, and ends.
    let pid = unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) } as i32;
    if pid == 0 {
        // SAFETY: takes the handler of the test away, which would look for the page.
        unsafe { libc::signal(libc::SIGSEGV, libc::SIG_DFL) };
        memory.write(1);
        // SAFETY: ends the child.
        unsafe { libc::_exit(0) };
    }
    let mut status = 0;
    // SAFETY: waits for our own child; `status` is a valid place.
    assert_eq!(unsafe { libc::waitpid(pid, &mut status, 0) }, pid);
    assert!(libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGSEGV, "{status:#x}");
    assert_eq!(memory.get(Reset::Yes), [1]);
}

#[test]
fn known_limit_memory_that_is_taken_away_is_what_it_was_at_the_last_reset() {
    if !is_child() {
        return child("cow::known_limit_memory_that_is_taken_away_is_what_it_was_at_the_last_reset").must_pass();
    }
    let Some(watcher) = watcher() else { return };
    let memory = Memory::committed(&watcher, 4);
    let first = memory.address(2) as *mut u8;
    memory.write_byte(2, 0, 5);
    memory.get(Reset::Yes);
    memory.write_byte(2, 0, 6);
    // SAFETY: the test's own memory.
    unsafe { ntux_platform::protection::discard(memory.address(2), ntux_watch::page_size()) }.unwrap();
    // SAFETY: a committed page.
    assert_eq!((unsafe { first.read_volatile() }, memory.get(Reset::No)), (5, vec![]));
    memory.decommit(2, 3);
    memory.commit(2, 3, true);
    // SAFETY: as above.
    assert_eq!(unsafe { first.read_volatile() }, 0, "decommit does what it should");
}

#[test]
fn locked_memory_cannot_be_reset_and_no_write_is_missed() {
    if !is_child() {
        return child("cow::locked_memory_cannot_be_reset_and_no_write_is_missed").must_pass();
    }
    let Some(watcher) = watcher() else { return };
    let memory = Memory::committed(&watcher, 8);
    let range = memory.range(2, 4);
    // SAFETY: the test's own memory.
    if unsafe { libc::mlock(range.start as *const _, range.length) } != 0 {
        return skip("lock-memory", std::io::Error::last_os_error());
    }
    memory.write_all(&[1, 3]);
    for _ in 0..2 {
        let listed = memory.get(Reset::Yes);
        assert!(listed.contains(&3), "{listed:?}");
        memory.write_all(&[3, 1]);
    }
    assert_eq!(memory.get(Reset::Yes).first(), Some(&1));
    assert!(!memory.get(Reset::Yes).contains(&1), "the others are clean");
    // SAFETY: as above.
    assert_eq!(unsafe { libc::munlock(range.start as *const _, range.length) }, 0);
    memory.get(Reset::Yes);
    assert!(memory.get(Reset::Yes).is_empty());
    memory.write(3);
    assert_eq!(memory.get(Reset::Yes), [3]);
}

#[test]
fn memory_that_no_file_may_hold_is_watched_by_page_protection() {
    if is_child() {
        let limit = libc::rlimit { rlim_cur: 64 << 10, rlim_max: 64 << 10 };
        // SAFETY: the call reads `limit`.
        assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &limit) }, 0);
        let watcher = Watcher::with(Mechanism::Cow).unwrap();
        for pages in [8, 1000] {
            let memory = Memory::committed(&watcher, pages);
            memory.write(5);
            assert_eq!(memory.get(Reset::Yes), [5]);
            memory.write(6);
            assert_eq!(memory.get(Reset::Yes), [6]);
            memory.decommit(5, 7);
        }
        return;
    }
    if watcher().is_some() {
        child("cow::memory_that_no_file_may_hold_is_watched_by_page_protection").must_pass();
    }
}
