// SPDX-License-Identifier: MIT OR Apache-2.0
//! The drop of a wait beside the reactor's thread, step by step: each order of what the two do.

use std::task::{Context, Poll, Waker};

use ntux_sync::Delivered;

use super::*;
use crate::{Capacity, Deadline, Event, Reset};

struct Scene {
    arena: Arena,
    event: Event,
    wait: AsyncWait,
}

impl Scene {
    /// A pending wait for an event, whose reactor has no thread.
    fn new() -> Scene {
        let arena = Arena::create_private(Capacity { objects: 16, waiters: 16 }).unwrap();
        arena.reactor().unwrap().start_none();
        let event = Event::create(&arena, Reset::Auto, false).unwrap();
        let mut wait = arena.wait_any_async(&[event.object()], 1);
        assert!(poll(&mut wait).is_pending());
        Scene { arena, event, wait }
    }

    /// What the thread does first.
    fn collect(&self) -> Delivered {
        let queue = self.arena.reactor().unwrap().queue;
        self.arena.with_waiter(|arena, waiter| arena.collect(waiter, queue, Deadline::NOW)).unwrap()
    }

    /// What it does then.
    fn deliver(&self, delivered: Delivered) {
        let reactor = self.arena.reactor().unwrap();
        self.arena.with_waiter(|arena, waiter| reactor.deliver(arena, waiter, delivered));
    }

    /// Exactly one signal is there.
    fn is_given_back(&self) {
        assert_eq!(self.event.wait(Deadline::NOW), Ok(()));
        assert_eq!(self.event.wait(Deadline::NOW), Err(Error::TimedOut));
    }
}

fn poll(wait: &mut AsyncWait) -> Poll<Result<Satisfied>> {
    Pin::new(wait).poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn dropped_before_the_result_was_collected() {
    let mut scene = Scene::new();
    scene.event.set().unwrap();
    scene.wait = scene.arena.wait_any_async(&[], 1);
    scene.is_given_back();
}

#[test]
fn dropped_after_the_result_was_granted() {
    let mut scene = Scene::new();
    scene.event.set().unwrap();
    scene.deliver(scene.collect());
    scene.wait = scene.arena.wait_any_async(&[], 1);
    scene.is_given_back();
}

#[test]
fn dropped_after_the_result_was_collected_and_before_it_was_granted() {
    let mut scene = Scene::new();
    scene.event.set().unwrap();
    let delivered = scene.collect();
    scene.wait = scene.arena.wait_any_async(&[], 1);
    assert_eq!(scene.event.wait(Deadline::NOW), Err(Error::TimedOut), "the thread has it");
    scene.deliver(delivered);
    scene.is_given_back();
}

#[test]
fn granted_while_it_is_dropped() {
    let mut scene = Scene::new();
    scene.event.set().unwrap();
    let delivered = scene.collect();
    assert!(matches!(scene.wait.end(), Ok(Ended::OnItsWay)));
    scene.deliver(delivered);
    scene.wait.leave();
    scene.is_given_back();
    scene.wait = scene.arena.wait_any_async(&[], 1);
    assert_eq!(scene.event.wait(Deadline::NOW), Err(Error::TimedOut), "once");
}

#[test]
fn cancelled_while_its_result_is_on_its_way() {
    let mut scene = Scene::new();
    scene.event.set().unwrap();
    let delivered = scene.collect();
    let other = scene.arena.wait_any_async(&[], 1);
    let mut cancelled = Box::pin(std::mem::replace(&mut scene.wait, other).cancel());
    let mut context = Context::from_waker(Waker::noop());
    assert!(cancelled.as_mut().poll(&mut context).is_pending());
    scene.deliver(delivered);
    let acquired = Satisfied { index: 0, abandoned: false };
    assert_eq!(cancelled.as_mut().poll(&mut context), Poll::Ready(Ok(Some(acquired))));
    drop(cancelled);
    assert_eq!(scene.event.wait(Deadline::NOW), Err(Error::TimedOut), "the caller has it");
}

#[test]
fn rubbish_wakes_nobody() {
    let mut scene = Scene::new();
    let registration = Some(Registration::from_bits(7));
    let acquired = Satisfied { index: 5, abandoned: true };
    scene.deliver(Delivered { registration, key: 77, satisfied: acquired });
    assert!(poll(&mut scene.wait).is_pending());
    // With the right key, but an index that no object has: nothing is given back.
    scene.deliver(Delivered { registration, key: 0, satisfied: acquired });
    scene.deliver(Delivered { registration, key: 0, satisfied: acquired });
    scene.wait = scene.arena.wait_any_async(&[], 1);
    assert_eq!(scene.event.wait(Deadline::NOW), Err(Error::TimedOut));
}

/// As if other processes had scribbled over the memory.
#[test]
fn a_cancelled_wait_whose_result_never_comes_ends() {
    let mut scene = Scene::new();
    scene.event.set().unwrap();
    let _nobodys = scene.collect();
    let other = scene.arena.wait_any_async(&[], 1);
    let mut cancelled = Box::pin(std::mem::replace(&mut scene.wait, other).cancel());
    let mut context = Context::from_waker(Waker::noop());
    assert!(cancelled.as_mut().poll(&mut context).is_pending());
    scene.deliver(scene.collect());
    assert_eq!(cancelled.as_mut().poll(&mut context), Poll::Ready(Err(Error::Corrupt)));
}

#[test]
fn a_dropped_wait_whose_result_never_comes_is_forgotten() {
    let mut scene = Scene::new();
    scene.event.set().unwrap();
    let _nobodys = scene.collect();
    scene.wait = scene.arena.wait_any_async(&[], 1);
    assert!(!scene.arena.reactor().unwrap().is_idle(), "it was left to the thread");
    scene.deliver(scene.collect());
    assert!(scene.arena.reactor().unwrap().is_idle());
}

/// The packet of who has cancelled comes after the result.
#[test]
fn a_result_that_came_is_not_spoiled_by_the_packet() {
    let mut scene = Scene::new();
    scene.event.set().unwrap();
    let delivered = scene.collect();
    assert!(matches!(scene.wait.end(), Ok(Ended::OnItsWay)));
    scene.deliver(delivered);
    scene.deliver(scene.collect());
    scene.wait = scene.arena.wait_any_async(&[], 1);
    scene.is_given_back();
}
