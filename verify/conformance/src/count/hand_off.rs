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

/// Who owns a mutex that is handed over, before.
const FORMER_OWNER: u32 = 9;

/// The way that, there and back, is a ping-pong: the sleeper answers with the same.
const PING_PONG: &str = "event set wakes one";

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
        let [signal, until_back, there_and_back] = count(device, &way);
        counts.push((format!("{}: who signals", way.name), signal));
        // What follows depends on the wait, not on what satisfied it.
        if way.number == number::EVENT_SET {
            following.push((format!("{}: from there until the sleeper is back", way.name), until_back));
        }
        if way.name == PING_PONG {
            following.push(("ping-pong of two threads, there and back".to_string(), there_and_back));
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
        way(PING_PONG, any(&[event]), event, number::EVENT_SET, 0),
        way("event pulse wakes one", any(&[event]), event, number::EVENT_PULSE, 0),
        way("semaphore release wakes one", any(&[semaphore]), semaphore, number::SEM_RELEASE, 1),
        way("mutex unlock hands over", any(&[mutex]), mutex, number::MUTEX_UNLOCK, FORMER_OWNER),
        way("event set wakes a wait-any of 8", any(&many), many[4], number::EVENT_SET, 0),
        way("event set completes a wait-all of 8", all(&every), event, number::EVENT_SET, 0),
        way("event set as alert", any(&[many[0]]).alert(event), event, number::EVENT_SET, 0),
    ]
}

/// What the signaler executes, and what follows until the sleeper has returned, which includes that the signaler goes
/// to sleep in a wait of its own; and all that until the sleeper's answer has woken it.
fn count(device: &Device, way: &Way) -> [u64; 3] {
    let ready = device.event_create(0, 0).expect("an event");
    let rounds = WARM_UP + ROUNDS;
    let (back_at, over) = (AtomicU64::new(0), AtomicBool::new(false));
    let mut added = [const { Vec::new() }; 3];
    thread::scope(|scope| {
        scope.spawn(|| {
            let sleep = Prepared::new(device, way.wait.clone());
            for _ in 0..rounds {
                operate(ready, number::EVENT_SET, 0);
                sleep.run();
                back_at.store(now(), Ordering::Relaxed);
                give_back(device, way);
            }
            over.store(true, Ordering::Relaxed);
            operate(ready, number::EVENT_SET, 0);
        });
        let until_ready = Prepared::new(device, any(&[ready]).forever());
        until_ready.run();
        for _ in 0..rounds {
            let before = now();
            operate(way.object, way.number, way.argument);
            let after = now();
            until_ready.run();
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

/// A mutex goes back to who hands it over.
fn give_back(device: &Device, way: &Way) {
    if way.number == number::MUTEX_UNLOCK {
        operate(way.object, number::MUTEX_UNLOCK, OWNER);
        Prepared::new(device, any(&[way.object]).owner(FORMER_OWNER)).run();
    }
}

/// Gives this process, and its threads, a priority at which nobody else comes in between.
fn take_turns() -> Result<(), String> {
    let priority = libc::sched_param { sched_priority: 1 };
    // SAFETY: the parameter is valid; 0 means this thread, and those that it starts inherit it.
    match unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &priority) } {
        0 => Ok(()),
        _ => Err(format!("no real-time priority: {}", std::io::Error::last_os_error())),
    }
}
