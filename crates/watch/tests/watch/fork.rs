// SPDX-License-Identifier: MIT OR Apache-2.0
//! Children of fork, and forks while others write and ask.

use std::time::{Duration, Instant};

use ntux_platform::atomic::Word32;
use ntux_watch::{Mechanism, Reset, Watcher};

use crate::child::{child, is_child};
use crate::memory::Memory;
use crate::stop::Stop;
use crate::systems::end_with_parent;
use crate::watchers;

/// Runs `body` in a child of fork; panics here if it fails there.
pub fn in_forked_child(body: impl FnOnce()) {
    in_forked_child_while(body, || ());
}

/// As `in_forked_child`, while this process does something else.
pub fn in_forked_child_while(body: impl FnOnce(), meanwhile: impl FnOnce()) {
    // SAFETY: the child runs the body, which uses the allocator (in order after the C library's fork) and the watchers, and
    // ends without running anything else of the parent's.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        // With the thread that waits for it, should that fail.
        end_with_parent();
        // The harness keeps what a test prints until it ends, and this process ends before that.
        std::panic::set_hook(Box::new(|panic| {
            let text = format!("in the child of fork: {panic}\n");
            // SAFETY: the text is there, with its length.
            unsafe { libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), text.len()) };
        }));
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body));
        // SAFETY: ends the child at once.
        unsafe { libc::_exit(i32::from(result.is_err())) };
    }
    meanwhile();
    let end = Instant::now() + Duration::from_secs(60);
    let mut status = 0;
    // SAFETY: waits for our own child; `status` is a valid place.
    while unsafe { libc::waitpid(pid, &mut status, libc::WNOHANG) } == 0 {
        if Instant::now() > end {
            // SAFETY: our own child.
            unsafe { libc::kill(pid, libc::SIGKILL) };
            panic!("the child of fork hangs");
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(status, 0, "the child of fork failed");
}

#[test]
fn a_child_starts_with_everything_written_and_the_parent_notices_nothing() {
    for watcher in watchers() {
        let memory = Memory::committed(&watcher, 100);
        memory.write(3);
        in_forked_child(|| {
            memory.write(50);
            assert_eq!(memory.get(Reset::Yes).len(), 100, "{:?}", watcher.mechanism());
            assert!(memory.get(Reset::No).is_empty());
            memory.write_all(&[7, 99]);
            assert_eq!(memory.get(Reset::Yes), [7, 99]);
            let own = Memory::committed(&watcher, 4);
            own.write(2);
            assert_eq!(own.get(Reset::Yes), [2]);
            in_forked_child(|| assert_eq!(memory.get(Reset::No).len(), 100));
        });
        assert_eq!(memory.get(Reset::Yes), [3], "{:?}", watcher.mechanism());
        memory.write(4);
        in_forked_child(|| memory.write(60));
        assert_eq!(memory.get(Reset::Yes), [4]);
    }
}

#[test]
fn a_child_that_lets_go_of_a_region_leaves_the_parents_alone() {
    for watcher in watchers() {
        let memory = Memory::committed(&watcher, 10);
        in_forked_child(|| drop(Memory { region: take(&memory), pages: 10 }));
        memory.write(1);
        assert_eq!(memory.get(Reset::Yes), [1]);
        memory.write(1);
        assert_eq!(memory.get(Reset::Yes), [1]);
    }
}

/// The region itself, for a child that will not return.
fn take(memory: &Memory) -> ntux_watch::Region {
    // SAFETY: the copy is dropped in a child of fork, which never touches the original again.
    unsafe { core::ptr::read(&memory.region) }
}

#[test]
fn forks_while_others_write_and_ask() {
    for watcher in watchers() {
        let memory = Memory::committed(&watcher, 200);
        let stop = Word32::new(0);
        std::thread::scope(|scope| {
            let _stop = Stop(&stop);
            scope.spawn(|| write_around(&memory, 0..100, &stop));
            scope.spawn(|| write_around(&memory, 100..200, &stop));
            scope.spawn(|| ask_around(&watcher, &memory, &stop));
            for _ in 0..15 {
                in_forked_child(|| {
                    (0..200).for_each(|page| memory.write(page));
                    assert_eq!(memory.get(Reset::Yes).len(), 200);
                    assert!(memory.get(Reset::No).is_empty());
                    memory.write(150);
                    assert_eq!(memory.get(Reset::No), [150]);
                });
            }
        });
        memory.region.reset(memory.region.range()).unwrap();
        memory.write(3);
        assert_eq!(memory.get(Reset::No), [3]);
    }
}

fn write_around(memory: &Memory, pages: std::ops::Range<usize>, stop: &Word32) {
    while stop.load() == 0 {
        pages.clone().for_each(|page| memory.write(page));
    }
}

fn ask_around(watcher: &Watcher, memory: &Memory, stop: &Word32) {
    let mut found = [0; 64];
    while stop.load() == 0 {
        watcher.get(memory.region.range(), &mut found, Reset::Yes).unwrap();
    }
}

/// A mechanism is tried once in a process: a child must not wait for a thread that tries it in the parent.
#[test]
fn forks_while_others_try_out_the_mechanisms() {
    if is_child() {
        return std::thread::scope(|scope| {
            scope.spawn(|| Mechanism::ALL.map(Mechanism::probe));
            for _ in 0..10 {
                in_forked_child(|| _ = Mechanism::ALL.map(Mechanism::probe));
            }
        });
    }
    for _ in 0..10 {
        child("fork::forks_while_others_try_out_the_mechanisms").must_pass();
    }
}
