// SPDX-License-Identifier: MIT OR Apache-2.0
//! The descriptor of a queue in `epoll`, with levels and with edges, and in io_uring, by each mechanism.
#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "a test is no part of the model")]

mod drained;
#[path = "../../platform/tests/readable/readable.rs"]
#[expect(dead_code, reason = "epoll and io_uring poll here")]
mod readable;
#[path = "../../platform/tests/skips/skips.rs"]
mod skips;

use std::os::fd::{AsRawFd, BorrowedFd};
use std::thread;
use std::time::Duration;

use drained::drain;
use io_uring::{IoUring, opcode, types};
use ntux::{Arena, Capacity, Error, Queue};
use readable::LONG_MS;
use skips::skip;

/// Returns whether one of the set is ready. `epoll_wait` may be interrupted.
fn is_ready(set: i32, time_ms: i32) -> bool {
    let mut events = [libc::epoll_event { events: 0, u64: 0 }; 4];
    loop {
        // SAFETY: room for four.
        match unsafe { libc::epoll_wait(set, events.as_mut_ptr(), 4, time_ms) } {
            -1 => assert_eq!(std::io::Error::last_os_error().raw_os_error(), Some(libc::EINTR)),
            ready => return ready > 0,
        }
    }
}

fn with(fd: BorrowedFd<'_>, edges: bool) -> i32 {
    let events = libc::EPOLLIN as u32 | if edges { libc::EPOLLET as u32 } else { 0 };
    let mut event = libc::epoll_event { events, u64: 1 };
    // SAFETY: numbers, and an event that outlives the call.
    unsafe {
        let set = libc::epoll_create1(libc::EPOLL_CLOEXEC);
        assert_eq!(libc::epoll_ctl(set, libc::EPOLL_CTL_ADD, fd.as_raw_fd(), &mut event), 0);
        set
    }
}

const ROUNDS: u64 = 1500;

fn queue() -> Queue {
    Queue::create(&Arena::create(Capacity { objects: 1, waiters: 8 }).unwrap()).unwrap()
}

fn post_all(queue: &Queue) {
    for key in 0..ROUNDS {
        while queue.post(key) == Err(Error::Exhausted) {
            thread::yield_now();
        }
        if key % 50 == 0 {
            thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Takes all that another thread posts. `wait` returns false if nothing happens.
fn take_all(queue: &Queue, mut wait: impl FnMut() -> bool) {
    thread::scope(|scope| {
        scope.spawn(|| post_all(queue));
        let mut keys = Vec::new();
        while keys.len() < ROUNDS as usize {
            assert!(wait(), "after {}", keys.len());
            keys.extend(drain(queue));
        }
        assert!(keys.into_iter().eq(0..ROUNDS));
    });
}

#[test]
fn loops_with_levels_and_with_edges_miss_nothing() {
    for edges in [false, true] {
        let queue = queue();
        let set = with(queue.fd().unwrap(), edges);
        take_all(&queue, || is_ready(set, LONG_MS));
        // SAFETY: our own.
        unsafe { libc::close(set) };
    }
}

#[test]
fn a_loop_of_io_uring_misses_nothing() {
    let mut ring = match IoUring::new(4) {
        Ok(ring) => ring,
        Err(refused) => return skip("rings", refused),
    };
    let queue = queue();
    let fd = types::Fd(queue.fd().unwrap().as_raw_fd());
    take_all(&queue, || {
        let poll = opcode::PollAdd::new(fd, libc::POLLIN as u32).build();
        // SAFETY: the request names no memory.
        unsafe { ring.submission().push(&poll) }.unwrap();
        while let Err(error) = ring.submit_and_wait(1) {
            assert_eq!(error.raw_os_error(), Some(libc::EINTR));
        }
        ring.completion().next().is_some_and(|polled| polled.result() & i32::from(libc::POLLIN) != 0)
    });
}

#[test]
fn mechanism_without_rings() {
    readable::again(&mut readable::without_rings());
}
