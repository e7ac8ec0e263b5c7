// SPDX-License-Identifier: MIT OR Apache-2.0
//! Asynchronous waits in memory over which other processes have scribbled: they end, and the attachment does.
#![cfg(target_os = "linux")]

#[path = "../../platform/tests/asleep/asleep.rs"]
mod asleep;
mod watchdog;

use std::future::Future;
use std::os::fd::AsRawFd;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use ntux::{Arena, AsyncWait, Capacity, Error, Event, Reset};
use ntux_platform::liveness::thread_id;

/// Says which thread wakes the task.
struct Says(SyncSender<u64>);

impl Wake for Says {
    fn wake(self: Arc<Self>) {
        // Nobody may be interested any more.
        let _ = self.0.send(thread_id());
    }
}

fn pending(arena: &Arena, event: &Event, waker: &Waker) -> AsyncWait {
    let mut wait = arena.wait_any_async(&[event.object()], 1);
    assert!(Pin::new(&mut wait).poll(&mut Context::from_waker(waker)).is_pending());
    wait
}

/// Returns when the thread that wakes the tasks of this arena is asleep.
fn start_the_reactor(arena: &Arena, event: &Event) {
    let (sender, thread) = sync_channel(1);
    let mut wait = pending(arena, event, &Waker::from(Arc::new(Says(sender))));
    event.set().unwrap();
    let thread = thread.recv_timeout(Duration::from_secs(20)).unwrap();
    assert!(Pin::new(&mut wait).poll(&mut Context::from_waker(Waker::noop())).is_ready());
    while !asleep::is_asleep(thread) {
        thread::sleep(Duration::from_millis(1));
    }
}

/// All is zero, but what is read when the arena is attached.
fn scribble(arena: &Arena) {
    let (fd, page) = (arena.fd().as_raw_fd(), 4096);
    // SAFETY: numbers; the memory is shared, and made of atomic integers, for which each value is valid.
    let punched = unsafe {
        let length = libc::lseek(fd, 0, libc::SEEK_END);
        libc::fallocate(fd, libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE, page, length - page)
    };
    assert_eq!(punched, 0);
}

#[test]
fn waits_end_and_the_attachment_although_the_memory_makes_no_sense() {
    watchdog::start();
    let arena = Arena::create(Capacity { objects: 64, waiters: 64 }).unwrap();
    let event = Event::create(&arena, Reset::Auto, false).unwrap();
    start_the_reactor(&arena, &event);
    let dropped = pending(&arena, &event, Waker::noop());
    let cancelled = pending(&arena, &event, Waker::noop());
    scribble(&arena);
    drop(dropped);
    let cancelled = pin!(cancelled.cancel()).poll(&mut Context::from_waker(Waker::noop()));
    assert_eq!(cancelled, Poll::Ready(Err(Error::Corrupt)));
    drop((event, arena));
}
