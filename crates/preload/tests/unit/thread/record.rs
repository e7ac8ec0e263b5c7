// SPDX-License-Identifier: MIT OR Apache-2.0
//! The unit tests of `src/thread/record.rs`.

use super::*;
use lineage::borrows_memory;
use std::collections::BTreeSet;

#[test]
fn a_thread_keeps_its_record_and_another_takes_it_over() {
    prepare(|_| {});
    let work = || {
        let record = enter().unwrap();
        let inside = record.is_inside_at(stack_pointer());
        assert!(!record.is_inside_at(stack_pointer() - (1 << 20)), "another thread's stack");
        assert!(leave(record).is_none());
        (core::ptr::from_ref(record) as usize, inside, record.is_inside_at(stack_pointer()))
    };
    let (mine, inside, after) = work();
    assert!(inside && !after);
    assert_eq!(work().0, mine);
    let theirs = std::thread::spawn(work).join().unwrap().0;
    assert_ne!(theirs, mine);
    let of_threads: BTreeSet<usize> = (0..50).map(|_| std::thread::spawn(work).join().unwrap().0).collect();
    assert!(of_threads.len() < 50, "the record of an ended thread serves another");
    let all = all_records().count();
    assert!(all < 50, "51 threads, one after the other, need few records: {all}");
}

#[test]
fn a_forked_child_starts_with_a_record_of_its_own_lineage() {
    let record = enter().unwrap();
    assert!(leave(record).is_none());
    let parent = lineage();
    assert!(!borrows_memory());
    // SAFETY: the child only computes and leaves by _exit.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let fine = lineage() != parent && current().is_none() && !borrows_memory() && enter().is_some();
        // SAFETY: ends the child at once.
        unsafe { libc::_exit(i32::from(!fine)) };
    }
    let mut status = 0;
    // SAFETY: `status` is a place for the answer.
    unsafe { libc::waitpid(child, &mut status, 0) };
    assert_eq!(status, 0);
    assert_eq!(lineage(), parent);
}
