// SPDX-License-Identifier: MIT OR Apache-2.0
//! Operations that wake a thread, and the instructions until that thread has returned.
//!
//! There is one processor. Both threads have the same real-time priority, so a woken thread runs only when the other
//! one sleeps, and the signaler's instructions are counted separately from the rest.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use crate::count::meter::{less_the_looking, now};
use crate::count::report::Counts;
use crate::count::uncontended::{Prepared, operate};
use crate::device::{Device, number};
use crate::face::{Face, OWNER, Object, Wait, all, any};

const ROUNDS: usize = 101;
const WARM_UP: usize = 20;

/// The owner of a mutex before it is handed over.
const FORMER_OWNER: u32 = 9;

/// The way that, there and back, is a ping-pong: the sleeper answers with the same.
pub(super) const SET_ONE: &str = "event set wakes one";
pub(super) const THERE_AND_BACK: &str = "ping-pong of two threads, there and back";

/// The row of what the signaler executes.
pub(super) fn signaling(way: &str) -> String {
    format!("{way}: who signals")
}

/// The row of what follows.
pub(super) fn going_back(way: &str) -> String {
    format!("{way}: from there until the sleeper is back")
}

/// A way to satisfy a thread that sleeps.
struct Way {
    name: &'static str,
    /// What the thread waits for.
    wait: Wait,
    /// What satisfies it: an ioctl on an object.
    object: Object,
    number: u32,
    argument: u32,
}

/// Counts all ways: first what the signaler executes in each, then what follows.
pub(super) fn counts(device: &Device) -> Result<Counts, String> {
    take_turns()?;
    let mut counts = Vec::new();
    let mut following = Vec::new();
    for way in ways(device) {
        let [signal, until_back, there_and_back] = count(&Served::new(device, &way));
        counts.push((signaling(way.name), signal));
        // What follows depends on the wait, not on what satisfied it.
        if way.number == number::EVENT_SET {
            following.push((going_back(way.name), until_back));
        }
        if way.name == SET_ONE {
            following.push((THERE_AND_BACK.to_string(), there_and_back));
        }
    }
    counts.extend(following);
    Ok(counts)
}

fn ways(device: &Device) -> Vec<Way> {
    let auto = || device.event_create(0, 0).expect("an event");
    let way = |name, wait: Wait, object, number, argument| Way { name, wait: wait.forever(), object, number, argument };
    let event = auto();
    let semaphore = device.semaphore_create(0, 1).expect("a semaphore");
    let mutex = device.mutex_create(FORMER_OWNER, 1).expect("a mutex");
    let many: Vec<Object> = (0..8).map(|_| auto()).collect();
    let every: Vec<Object> = (0..7).map(|_| device.event_create(1, 1).expect("an event")).chain([event]).collect();
    vec![
        way(SET_ONE, any(&[event]), event, number::EVENT_SET, 0),
        way("event pulse wakes one", any(&[event]), event, number::EVENT_PULSE, 0),
        way("semaphore release wakes one", any(&[semaphore]), semaphore, number::SEM_RELEASE, 1),
        way("mutex unlock hands over", any(&[mutex]), mutex, number::MUTEX_UNLOCK, FORMER_OWNER),
        way("event set wakes a wait-any of 8", any(&many), many[4], number::EVENT_SET, 0),
        way("event set completes a wait-all of 8", all(&every), event, number::EVENT_SET, 0),
        way("event set as alert", any(&[many[0]]).alert(event), event, number::EVENT_SET, 0),
    ]
}

/// What two threads do in turns.
pub(super) trait HandOff: Sync {
    /// The sleeper: tells the signaler that it is about to sleep.
    fn announce(&self);
    /// The sleeper sleeps until it is satisfied.
    fn sleep(&self);
    /// The sleeper, after it was counted.
    fn give_back(&self) {}
    /// The signaler satisfies the sleeper.
    fn signal(&self);
    /// The signaler sleeps until the sleeper announces.
    fn until_announced(&self);
}

/// Both threads are served by a device.
struct Served<'a> {
    device: &'a Device,
    way: &'a Way,
    ready: Object,
    sleep: Prepared,
    until_ready: Prepared,
}

impl<'a> Served<'a> {
    fn new(device: &'a Device, way: &'a Way) -> Self {
        let ready = device.event_create(0, 0).expect("an event");
        let sleep = Prepared::new(device, way.wait.clone());
        Served { device, way, ready, sleep, until_ready: Prepared::new(device, any(&[ready]).forever()) }
    }
}

impl HandOff for Served<'_> {
    #[inline(always)]
    fn announce(&self) {
        operate(self.ready, number::EVENT_SET, 0);
    }

    #[inline(always)]
    fn sleep(&self) {
        self.sleep.run();
    }

    /// A mutex goes back to who hands it over.
    fn give_back(&self) {
        if self.way.number == number::MUTEX_UNLOCK {
            operate(self.way.object, number::MUTEX_UNLOCK, OWNER);
            Prepared::new(self.device, any(&[self.way.object]).owner(FORMER_OWNER)).run();
        }
    }

    #[inline(always)]
    fn signal(&self) {
        operate(self.way.object, self.way.number, self.way.argument);
    }

    #[inline(always)]
    fn until_announced(&self) {
        self.until_ready.run();
    }
}

/// What the signaler executes, and what follows until the sleeper has returned, which includes that the signaler goes
/// to sleep in a wait of its own; and all that until the sleeper's answer has woken it.
pub(super) fn count(hand_off: &impl HandOff) -> [u64; 3] {
    let rounds = WARM_UP + ROUNDS;
    let (back_at, over) = (AtomicU64::new(0), AtomicBool::new(false));
    let mut added = [const { Vec::new() }; 3];
    thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..rounds {
                hand_off.announce();
                hand_off.sleep();
                back_at.store(now(), Ordering::Relaxed);
                hand_off.give_back();
            }
            over.store(true, Ordering::Relaxed);
            hand_off.announce();
        });
        hand_off.until_announced();
        for _ in 0..rounds {
            let before = now();
            hand_off.signal();
            let after = now();
            hand_off.until_announced();
            let answered = now();
            let [signal, until_back, there_and_back] = &mut added;
            signal.push(after - before);
            until_back.push(back_at.load(Ordering::Relaxed) - after);
            there_and_back.push(answered - before);
        }
    });
    assert!(over.load(Ordering::Relaxed), "as many rounds on both sides");
    added.map(|mut added| less_the_looking(added.split_off(WARM_UP)))
}

/// Gives this process, and its threads, a priority at which nobody else comes in between.
pub(super) fn take_turns() -> Result<(), String> {
    let priority = libc::sched_param { sched_priority: 1 };
    // SAFETY: the parameter is valid; 0 means this thread, and those that it starts inherit it.
    match unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &priority) } {
        0 => Ok(()),
        _ => Err(format!("no real-time priority: {}", std::io::Error::last_os_error())),
    }
}
