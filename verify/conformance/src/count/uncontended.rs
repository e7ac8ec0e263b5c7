// SPDX-License-Identifier: MIT OR Apache-2.0
//! Operations without other threads.

use std::cell::Cell;

use crate::count::meter::median_of;
use crate::count::report::Counts;
use crate::device::{Arguments as _, Device, WaitArgs, ioctl, number};
use crate::face::{Face, OWNER, Object, Wait, all, any};

/// A wait whose arguments are ready: only the ioctl itself is to be counted.
pub(super) struct Prepared {
    device: i32,
    number: u32,
    fds: Vec<i32>,
    wait: Wait,
}

impl Prepared {
    pub(super) fn new(device: &Device, wait: Wait) -> Prepared {
        let fds = wait.objects.iter().map(|object| object.0 as i32).collect();
        let number = if wait.all { number::WAIT_ALL } else { number::WAIT_ANY };
        Prepared { device: device.fd(), number, fds, wait }
    }

    #[inline(always)]
    pub(super) fn run(&self) {
        let mut args = WaitArgs::new(&self.wait, &self.fds);
        let _ = ioctl(self.device, self.number, (&raw mut args).cast());
    }
}

/// An ioctl on an object that takes a number.
#[inline(always)]
pub(super) fn operate(object: Object, number: u32, first: u32) {
    let mut words = [first, 0];
    let result = ioctl(object.0 as i32, number, words.as_mut_ptr().cast());
    debug_assert!(result.is_ok(), "{number:#x} gives {result:?}");
}

pub(super) const CREATE_EVENT: &str = "create an event";
pub(super) const CLOSE_EVENT: &str = "close an event";

const NOTHING: fn() = || ();

/// Counts them all.
pub(super) fn counts(device: &Device) -> Counts {
    let mut counts = creation(device);
    counts.extend(semaphore(device));
    counts.extend(mutex(device));
    counts.extend(event(device));
    counts.extend(several(device));
    counts
}

fn row(name: &str, count: u64) -> (String, u64) {
    (name.to_string(), count)
}

fn creation(device: &Device) -> Counts {
    let kinds: [(&str, &dyn Fn() -> Object); 3] = [
        ("create a semaphore", &|| device.semaphore_create(0, 9).expect("a semaphore")),
        ("create a mutex", &|| device.mutex_create(0, 0).expect("a mutex")),
        (CREATE_EVENT, &|| device.event_create(0, 0).expect("an event")),
    ];
    let made = Cell::new(Object(0));
    let close = || device.close(made.get()).expect("it is open");
    let mut counts = Vec::new();
    for (name, create) in kinds {
        made.set(create());
        counts.push(row(name, median_of(close, || made.set(create()))));
        close();
    }
    counts.push(row(CLOSE_EVENT, median_of(|| made.set(kinds[2].1()), close)));
    counts
}

fn semaphore(device: &Device) -> Counts {
    let semaphore = device.semaphore_create(0, 1).expect("a semaphore");
    let release = || operate(semaphore, number::SEM_RELEASE, 1);
    let wait = Prepared::new(device, any(&[semaphore]));
    vec![
        row("semaphore release", median_of(|| wait.run(), release)),
        row(
            "semaphore wait",
            median_of(
                || {
                    device.semaphore_release(semaphore, 1).ok();
                },
                || wait.run(),
            ),
        ),
        row("semaphore read", median_of(NOTHING, || operate(semaphore, number::SEM_READ, 0))),
    ]
}

fn mutex(device: &Device) -> Counts {
    let mutex = device.mutex_create(0, 0).expect("a mutex");
    let lock = Prepared::new(device, any(&[mutex]));
    let unlock = || operate(mutex, number::MUTEX_UNLOCK, OWNER);
    let unlock_if_locked = || {
        device.mutex_unlock(mutex, OWNER).ok();
    };
    vec![
        row("mutex lock", median_of(unlock_if_locked, || lock.run())),
        row(
            "mutex unlock",
            median_of(
                || {
                    unlock_if_locked();
                    lock.run();
                },
                unlock,
            ),
        ),
        row(
            "mutex lock + unlock",
            median_of(unlock_if_locked, || {
                lock.run();
                unlock();
            }),
        ),
        row("mutex read", median_of(NOTHING, || operate(mutex, number::MUTEX_READ, 0))),
    ]
}

fn event(device: &Device) -> Counts {
    let event = device.event_create(0, 0).expect("an event");
    let do_it = |number| move || operate(event, number, 0);
    let (set, reset) = (do_it(number::EVENT_SET), do_it(number::EVENT_RESET));
    let wait = Prepared::new(device, any(&[event]));
    vec![
        row("event set", median_of(reset, set)),
        row("event reset", median_of(set, reset)),
        row("event pulse, nobody waits", median_of(NOTHING, do_it(number::EVENT_PULSE))),
        row("event read", median_of(NOTHING, do_it(number::EVENT_READ))),
        row(
            "auto-reset event set + wait",
            median_of(reset, || {
                set();
                wait.run();
            }),
        ),
        row("wait whose deadline has passed", median_of(reset, || wait.run())),
    ]
}

fn several(device: &Device) -> Counts {
    let events: Vec<Object> = (0..64).map(|_| device.event_create(1, 0).expect("an event")).collect();
    let signaled = device.event_create(1, 1).expect("an event");
    let mut counts = Vec::new();
    for count in [8, 64] {
        let mut objects = events[..count].to_vec();
        objects[count - 1] = signaled;
        let last = Prepared::new(device, any(&objects));
        counts.push(row(&format!("wait-any of {count}, last one signaled"), median_of(NOTHING, || last.run())));
    }
    for event in &events {
        device.event_set(*event).expect("it is an event");
    }
    for count in [8, 64] {
        let wait = Prepared::new(device, all(&events[..count]));
        counts.push(row(&format!("wait-all of {count}"), median_of(NOTHING, || wait.run())));
    }
    let semaphores: Vec<Object> = (0..64).map(|_| device.semaphore_create(0, 1).expect("a semaphore")).collect();
    for count in [8, 64] {
        let all_of_them = &semaphores[..count];
        let wait = Prepared::new(device, all(all_of_them));
        let release = || all_of_them.iter().for_each(|&semaphore| operate(semaphore, number::SEM_RELEASE, 1));
        counts.push(row(&format!("wait-all of {count} semaphores"), median_of(release, || wait.run())));
    }
    counts
}
