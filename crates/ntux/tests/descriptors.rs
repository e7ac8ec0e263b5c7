// SPDX-License-Identifier: MIT OR Apache-2.0
//! Queues and objects as descriptors, and descriptors in waits: by each mechanism. The tests run once more in a process without io_uring.
#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "a test is no part of the model")]

mod drained;
#[path = "../../platform/tests/readable/readable.rs"]
mod readable;

use std::io::{Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use ntux::{
    Arena, Capacity, Clock, Deadline, DetachedWait, Due, Error, Event, MutexObject, ObjectFd, Polled, Queue, Ready,
    Registered, Reset, Semaphore, Timer, Wait, WaitOrPoll, within,
};

use drained::drain;
use readable::{LONG_MS, becomes_readable, settles};

fn arena() -> Arena {
    Arena::create(Capacity { objects: 64, waiters: 64 }).unwrap()
}

fn is_empty(queue: &Queue) {
    assert_eq!(queue.next(Deadline::NOW), Err(Error::TimedOut));
}

fn is_not_acquired(fd: &ObjectFd) {
    assert_eq!(fd.take(), Err(Error::TimedOut));
}

fn detach(queue: &Queue, event: &Event, key: u64) {
    let registered = queue.register_any(&[event.object()], DetachedWait::by(1).key(key)).unwrap();
    assert!(matches!(registered, Registered::Waits(_)));
}

#[test]
fn a_queue_is_readable_from_a_delivery_until_nothing_is_left() {
    let arena = arena();
    let (queue, event) = (Queue::create(&arena).unwrap(), Event::create(&arena, Reset::Auto, false).unwrap());
    detach(&queue, &event, 5);
    let fd = queue.fd().unwrap();
    settles(fd, || is_empty(&queue));
    event.set().unwrap();
    queue.post(6).unwrap();
    assert!(becomes_readable(fd, LONG_MS));
    queue.next(Deadline::NOW).unwrap();
    assert!(becomes_readable(fd, 0), "it was not armed");
    queue.next(Deadline::NOW).unwrap();
    assert!(becomes_readable(fd, 0), "it was not armed");
    assert_eq!(drain(&queue), []);
    settles(fd, || is_empty(&queue));
    queue.post(7).unwrap();
    assert!(becomes_readable(fd, LONG_MS));
    assert_eq!(drain(&queue), [7]);
}

#[test]
fn a_duplicate_is_as_good() {
    let queue = Queue::create(&arena()).unwrap();
    let fd = queue.fd().unwrap().try_clone_to_owned().unwrap();
    for round in 0..3 {
        settles(fd.as_fd(), || is_empty(&queue));
        queue.post(round).unwrap();
        assert!(becomes_readable(fd.as_fd(), LONG_MS));
        assert_eq!(drain(&queue), [round]);
    }
}

#[test]
fn a_batch_that_is_not_full_does_not_arm() {
    let queue = Queue::create(&arena()).unwrap();
    let fd = queue.fd().unwrap();
    settles(fd, || is_empty(&queue));
    queue.post(1).unwrap();
    assert!(becomes_readable(fd, LONG_MS));
    let mut batch = Vec::new();
    assert_eq!(queue.next_batch(&mut batch, 3, Deadline::NOW), Ok(1));
    assert!(becomes_readable(fd, 0), "it was not armed");
    assert_eq!(queue.next_batch(&mut batch, 3, Deadline::NOW), Err(Error::TimedOut));
    settles(fd, || is_empty(&queue));
}

#[test]
fn what_is_there_before_the_descriptor_makes_it_readable() {
    let arena = arena();
    let queue = Queue::create(&arena).unwrap();
    queue.post(1).unwrap();
    assert!(becomes_readable(queue.fd().unwrap(), LONG_MS));
    let (other, event) = (Queue::create(&arena).unwrap(), Event::create(&arena, Reset::Auto, false).unwrap());
    detach(&other, &event, 2);
    event.set().unwrap();
    assert!(becomes_readable(other.fd().unwrap(), LONG_MS));
    assert_eq!(drain(&other), [2]);
}

#[test]
fn a_timer_that_is_due_makes_it_readable() {
    let arena = arena();
    let (queue, timer) = (Queue::create(&arena).unwrap(), Timer::create(&arena, Reset::Auto).unwrap());
    let fd = queue.fd().unwrap();
    for clock in [Clock::Monotonic, Clock::Wall, Clock::Boot] {
        // Beside other work it may be due before the wait is registered, and is taken at once then.
        let mut after_ns = 20_000_000;
        let waits = |after_ns| {
            timer.set(Due::after_ns(clock, after_ns), Duration::ZERO).unwrap();
            let registered = queue.register_any(&[timer.object()], DetachedWait::by(1).key(9)).unwrap();
            matches!(registered, Registered::Waits(_))
        };
        while !waits(after_ns) {
            after_ns *= 2;
        }
        let mut keys = Vec::new();
        while keys.is_empty() {
            assert!(becomes_readable(fd, LONG_MS), "{clock:?}");
            keys = drain(&queue);
        }
        assert_eq!(keys, [9]);
        settles(fd, || is_empty(&queue));
    }
    // It is set while the descriptor sleeps.
    let _ = queue.register_any(&[timer.object()], DetachedWait::by(1).key(10)).unwrap();
    assert_eq!(drain(&queue), []);
    timer.set(Due::after_ns(Clock::Monotonic, 20_000_000), Duration::ZERO).unwrap();
    let mut keys = Vec::new();
    while keys.is_empty() {
        assert!(becomes_readable(fd, LONG_MS));
        keys = drain(&queue);
    }
    assert_eq!(keys, [10]);
}

#[test]
fn threads_share_it_and_each_packet_is_taken_once() {
    const PACKETS: u64 = 4000;
    let queue = Queue::create(&arena()).unwrap();
    let (fd, taken) = (queue.fd().unwrap(), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while taken.load(SeqCst) < PACKETS as usize {
                    assert!(becomes_readable(fd, LONG_MS));
                    let keys = drain(&queue);
                    if taken.fetch_add(keys.len(), SeqCst) + keys.len() >= PACKETS as usize {
                        // The others sleep: they are told.
                        let _ = queue.post(0);
                    }
                }
                let _ = queue.post(0);
            });
        }
        for key in 0..PACKETS {
            while queue.post(key) == Err(Error::Exhausted) {
                thread::yield_now();
            }
        }
    });
    assert!(taken.load(SeqCst) >= PACKETS as usize);
}

/// Two waits of one loop, thousands of times, with a signaler that is as fast as it can.
#[test]
fn no_delivery_is_missed_by_a_loop_that_polls() {
    const ROUNDS: u32 = 3000;
    let arena = arena();
    let (queue, jobs) = (Queue::create(&arena).unwrap(), Semaphore::create(&arena, 0, ROUNDS).unwrap());
    let fd = queue.fd().unwrap();
    thread::scope(|scope| {
        scope.spawn(|| (0..ROUNDS).for_each(|_| assert!(jobs.release(1).is_ok())));
        let mut done = 0;
        let begin = |done: &mut u32| {
            while let Registered::Satisfied(_) = queue.register_any(&[jobs.object()], DetachedWait::by(1)).unwrap() {
                *done += 1;
                if *done == ROUNDS {
                    return;
                }
            }
        };
        begin(&mut done);
        while done < ROUNDS {
            assert!(becomes_readable(fd, LONG_MS), "lost after {done}");
            for _ in drain(&queue) {
                done += 1;
                if done < ROUNDS {
                    begin(&mut done);
                }
            }
        }
    });
}

#[test]
fn a_closed_queue_is_readable_and_says_so() {
    let queue = Queue::create(&arena()).unwrap();
    let fd = queue.fd().unwrap();
    settles(fd, || is_empty(&queue));
    queue.clone().close().unwrap();
    assert!(becomes_readable(fd, LONG_MS));
    assert_eq!(queue.next(Deadline::NOW), Err(Error::Invalid));
    assert!(queue.fd().is_ok(), "it was made before");
    let never_made = Queue::create(&arena()).unwrap();
    never_made.close().unwrap();
    assert!(matches!(never_made.fd(), Err(Error::Invalid)));
}

/// A process that signals, and is killed.
#[test]
fn another_process_signals_and_dies_and_has_no_part_in_the_descriptor() {
    let arena = arena();
    let (queue, event) = (Queue::create(&arena).unwrap(), Event::create(&arena, Reset::Auto, false).unwrap());
    for key in 0..20 {
        detach(&queue, &event, key);
        let fd = queue.fd().unwrap();
        // SAFETY: the child makes calls of ntux, which work in a child of fork, and ends by a signal.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let refused = matches!(queue.fd(), Err(Error::Invalid)) && queue.next(Deadline::NOW) == Err(Error::Invalid);
            if refused {
                let _ = event.set();
            }
            // SAFETY: ends the child.
            unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
        }
        let mut keys = Vec::new();
        while keys.is_empty() {
            assert!(becomes_readable(fd, LONG_MS));
            keys = drain(&queue);
        }
        assert_eq!(keys, [key]);
        // SAFETY: asks for no status.
        unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
    }
}

#[test]
fn an_object_is_readable_once_it_was_acquired() {
    let arena = arena();
    let event = Event::create(&arena, Reset::Auto, false).unwrap();
    let fd = ObjectFd::create(&arena, event.object(), 1).unwrap();
    settles(fd.as_fd(), || is_not_acquired(&fd));
    for _ in 0..50 {
        event.set().unwrap();
        assert!(becomes_readable(fd.as_fd(), LONG_MS));
        assert!(!event.read().unwrap().signaled, "it was acquired");
        fd.take().unwrap();
        assert_eq!(fd.take(), Err(Error::TimedOut));
    }
    settles(fd.as_fd(), || is_not_acquired(&fd));
    event.set().unwrap();
    assert_eq!(fd.close().unwrap().map(|satisfied| satisfied.index), Some(0), "it was acquired, and nobody took it");
    assert!(!event.read().unwrap().signaled);
    event.set().unwrap();
    assert!(event.read().unwrap().signaled, "nobody waits any more");
}

#[test]
fn an_object_that_is_signaled_is_readable_at_once() {
    let arena = arena();
    let jobs = Semaphore::create(&arena, 3, 3).unwrap();
    let fd = ObjectFd::create(&arena, jobs.object(), 1).unwrap();
    assert!(becomes_readable(fd.as_fd(), LONG_MS));
    (0..3).for_each(|_| assert!(fd.take().is_ok()));
    assert_eq!(fd.take(), Err(Error::TimedOut));
    settles(fd.as_fd(), || is_not_acquired(&fd));
    assert_eq!(jobs.read().unwrap().count, 0);
    let other = ObjectFd::create(&arena, jobs.object(), 1).unwrap();
    assert_eq!(other.end(), Ok(None));
    assert_eq!(other.take(), Err(Error::Invalid));
}

#[test]
fn a_mutex_is_the_callers_between_a_take_and_the_next() {
    let arena = arena();
    let mutex = MutexObject::create(&arena).unwrap();
    mutex.lock(7, Deadline::NOW).unwrap();
    let fd = ObjectFd::create(&arena, mutex.object(), 8).unwrap();
    settles(fd.as_fd(), || is_not_acquired(&fd));
    mutex.unlock(7).unwrap();
    assert!(becomes_readable(fd.as_fd(), LONG_MS));
    fd.take().unwrap();
    assert_eq!(mutex.read().unwrap().count, 1);
    mutex.unlock(8).unwrap();
    mutex.lock(7, Deadline::NOW).unwrap();
    assert_eq!(fd.take(), Err(Error::TimedOut));
    mutex.kill(7).unwrap();
    assert!(becomes_readable(fd.as_fd(), LONG_MS));
    assert!(fd.take().unwrap().abandoned);
    mutex.unlock(8).unwrap();
    assert_eq!(fd.close(), Ok(None));
}

/// Nobody will signal it: who looks is told.
#[test]
fn an_object_that_was_closed_is_none() {
    let arena = arena();
    let event = Event::create(&arena, Reset::Auto, false).unwrap();
    let fd = ObjectFd::create(&arena, event.object(), 1).unwrap();
    is_not_acquired(&fd);
    event.set().unwrap();
    arena.close(event.object()).unwrap();
    assert!(fd.take().is_ok(), "it was acquired before");
    assert_eq!(fd.take(), Err(Error::NoSuchObject));
    let other = Event::create(&arena, Reset::Auto, false).unwrap();
    let fd = ObjectFd::create(&arena, other.object(), 1).unwrap();
    is_not_acquired(&fd);
    arena.close(other.object()).unwrap();
    assert_eq!(fd.take(), Err(Error::NoSuchObject));
    assert_eq!(fd.take(), Err(Error::NoSuchObject));
    assert_eq!(fd.close(), Ok(None));
}

fn pipe() -> (std::io::PipeReader, std::io::PipeWriter) {
    std::io::pipe().unwrap()
}

fn readable(reader: &std::io::PipeReader) -> [Polled; 1] {
    [Polled::new(reader.as_raw_fd(), Polled::READABLE)]
}

#[test]
fn a_wait_ends_by_an_object_or_by_a_descriptor() {
    let arena = arena();
    let event = Event::create(&arena, Reset::Auto, false).unwrap();
    let (mut reader, mut writer) = pipe();
    let mut polled = readable(&reader);
    let objects = [event.object()];
    assert_eq!(arena.wait_any_or_poll(&objects, &mut polled, Wait::by(1).until(Deadline::NOW)), Err(Error::TimedOut));
    let soon = within(Duration::from_millis(20));
    assert_eq!(arena.wait_any_or_poll(&objects, &mut polled, Wait::by(1).until(soon)), Err(Error::TimedOut));
    assert!(soon.passed());
    for round in 0..20 {
        thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(2));
                match round % 2 {
                    0 => assert!(event.set().is_ok()),
                    _ => writer.write_all(b"x").unwrap(),
                }
            });
            let ended = arena.wait_any_or_poll(&objects, &mut polled, Wait::by(1)).unwrap();
            if round % 2 == 0 {
                assert!(matches!(ended, Ready::Object(satisfied) if satisfied.index == 0));
                assert_eq!(polled[0].found, 0);
            } else {
                assert_eq!((ended, polled[0].found), (Ready::Descriptors(1), Polled::READABLE));
                reader.read_exact(&mut [0]).unwrap();
            }
        });
    }
    event.set().unwrap();
    assert!(event.read().unwrap().signaled, "no wait is left behind");
}

#[test]
fn one_queue_serves_many_waits_one_after_the_other() {
    let arena = arena();
    let event = Event::create(&arena, Reset::Auto, false).unwrap();
    let (mut reader, mut writer) = pipe();
    let (mut polled, objects) = (readable(&reader), [event.object()]);
    let mut waits = WaitOrPoll::create(&arena).unwrap();
    for round in 0..60 {
        thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(round % 3));
                match round % 2 {
                    0 => assert!(event.set().is_ok()),
                    _ => writer.write_all(b"x").unwrap(),
                }
            });
            let ended = waits.wait_any(&objects, &mut polled, Wait::by(1)).unwrap();
            match round % 2 {
                0 => assert!(matches!(ended, Ready::Object(satisfied) if satisfied.index == 0)),
                _ => assert_eq!((ended, reader.read_exact(&mut [0]).is_ok()), (Ready::Descriptors(1), true)),
            }
        });
        let soon = Wait::by(1).until(within(Duration::from_millis(1)));
        assert_eq!(waits.wait_any(&objects, &mut polled, soon), Err(Error::TimedOut));
        assert_eq!(polled[0].found, 0);
    }
    assert_eq!(waits.wait_any(&objects, &mut polled, Wait::by(0)), Err(Error::Invalid));
    event.set().unwrap();
    assert!(event.read().unwrap().signaled, "no wait is left behind");
    assert!(matches!(waits.wait_any(&objects, &mut polled, Wait::by(1)), Ok(Ready::Object(_))));
}

#[test]
fn an_alert_comes_after_the_objects_and_the_refusals_are_those_of_a_wait() {
    let arena = arena();
    let (event, alert) =
        (Event::create(&arena, Reset::Auto, false).unwrap(), Event::create(&arena, Reset::Auto, false).unwrap());
    let (reader, _writer) = pipe();
    let mut polled = readable(&reader);
    let (objects, wait) = ([event.object()], Wait::by(1).alert(alert.object()));
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(5));
            alert.set().unwrap();
        });
        let ended = arena.wait_any_or_poll(&objects, &mut polled, wait).unwrap();
        assert!(matches!(ended, Ready::Object(satisfied) if satisfied.index == 1));
    });
    assert_eq!(arena.wait_any_or_poll(&objects, &mut polled, Wait::by(0)), Err(Error::Invalid));
    let closed = event.object();
    drop(event);
    assert_eq!(arena.wait_any_or_poll(&[closed], &mut polled, Wait::by(1)), Err(Error::NoSuchObject));
    // Refused also if one is signaled: then the call need not sleep.
    let signaled = Event::create(&arena, Reset::Manual, true).unwrap();
    let many = [signaled.object(); 64];
    assert!(matches!(arena.wait_any_or_poll(&many, &mut polled, Wait::by(1)), Ok(Ready::Object(_))));
    assert_eq!(arena.wait_any_or_poll(&many, &mut polled, wait), Err(Error::Invalid));
}

/// Whichever is first, nothing is lost: what the object was given is reported, or is still there.
#[test]
fn an_object_and_a_descriptor_at_the_same_time() {
    const ROUNDS: u32 = 500;
    let arena = arena();
    let jobs = Semaphore::create(&arena, 0, ROUNDS).unwrap();
    let (mut reader, mut writer) = pipe();
    let mut polled = readable(&reader);
    thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..ROUNDS {
                writer.write_all(b"x").unwrap();
                jobs.release(1).unwrap();
                thread::yield_now();
            }
        });
        let (mut acquired, mut read) = (0, 0);
        while (acquired, read) != (ROUNDS, ROUNDS) {
            match arena.wait_any_or_poll(&[jobs.object()], &mut polled, Wait::by(1)).unwrap() {
                Ready::Object(_) => acquired += 1,
                Ready::Descriptors(_) => {
                    reader.read_exact(&mut [0]).unwrap();
                    read += 1;
                }
            }
        }
    });
    assert_eq!(jobs.read().unwrap().count, 0);
}

#[test]
fn mechanism_without_rings() {
    readable::again(&mut readable::without_rings());
}
