// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads that meet through the published crate `ntsync` 0.4, a client of /dev/ntsync that knows nothing of ntux.
//!
//! The crate is used as it is. Three of its habits show, with the kernel's driver as with ntux, and are worked around
//! here, in the client, where they belong:
//! * `new_event(signaled, manual)` gives the driver its two arguments in the wrong order;
//! * a wait for two objects or more passes 64-bit descriptors where the driver reads 32-bit ones, so every second
//!   descriptor it reads is 0;
//! * deadlines are passed as seconds where the driver reads nanoseconds, so they all lie in the past.
//!
//! Everything that is said is checked; the first surprise is a panic.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, SystemTime};

use ntsync::{Error, Event, EventSources, Mutex, NTSyncObjects, NtSync, NtSyncFlags, OwnerId, Semaphore};

/// A run that takes longer hangs.
const WATCHDOG: Duration = Duration::from_secs(60);
/// Threads in the crowd, and how often each takes the mutex.
const CROWD: usize = 4;
const ROUNDS: usize = 2_000;

fn main() {
    thread::spawn(|| {
        thread::sleep(WATCHDOG);
        eprintln!("ntsync-crate: surprise: it hangs");
        std::process::exit(1);
    });
    let device = NtSync::new().unwrap_or_else(|error| {
        eprintln!("ntsync-crate: cannot open /dev/ntsync: {error}");
        std::process::exit(1);
    });
    println!("The crate `ntsync` opened the device.");
    semaphore(&device);
    mutex(&device);
    abandoned_mutex(&device);
    events(&device);
    alert(&device);
    crowd(&device);
    habits(&device);
    println!("All as it should be.");
}

fn one(object: impl Into<EventSources>) -> HashSet<EventSources> {
    HashSet::from([object.into()])
}

/// Waits for one object, for ever.
fn wait(device: &NtSync, object: impl Into<EventSources>, owner: OwnerId) -> Result<bool, Error> {
    let status = device.wait_any(one(object), None, Some(owner), NtSyncFlags::empty(), None)?;
    Ok(status.alerted)
}

/// Takes the object if it is there now. Any deadline will do: the crate makes it one in the past.
fn take_now(device: &NtSync, object: impl Into<EventSources>, owner: OwnerId) -> Result<bool, Error> {
    let soon = SystemTime::now() + Duration::from_millis(1);
    let status = device.wait_all(one(object), Some(soon), Some(owner), NtSyncFlags::empty(), None)?;
    Ok(status.alerted)
}

fn delete(object: impl NTSyncObjects) {
    object.delete().expect("an object that is open can be deleted");
}

fn semaphore(device: &NtSync) {
    let owner = OwnerId::random();
    let semaphore: Semaphore = device.new_semaphore(2).expect("a semaphore");
    assert_eq!(semaphore.release(1), Err(Error::SemaphoreOverflow));
    wait(device, semaphore, owner).expect("the first of two");
    wait(device, semaphore, owner).expect("the second of two");
    assert_eq!(take_now(device, semaphore, owner), Err(Error::Timeout));
    let waiter = thread::spawn({
        let device = device.clone();
        move || wait(&device, semaphore, owner)
    });
    assert_eq!(semaphore.release(1), Ok(0));
    assert_eq!(waiter.join().expect("the thread ends"), Ok(false));
    assert_eq!(semaphore.read().expect("its state").count, 0);
    println!("  A semaphore of 2 let two through, and a third when one was released.");
    delete(semaphore);
    assert_eq!(semaphore.read().err(), Some(Error::AlreadyClosed));
}

fn mutex(device: &NtSync) {
    let (first, second) = (OwnerId::new(1), OwnerId::new(2));
    let mutex: Mutex = device.new_mutex().expect("a mutex");
    wait(device, mutex, first).expect("a free mutex");
    wait(device, mutex, first).expect("again, by its owner");
    let state = mutex.read().expect("its state");
    assert_eq!((state.owner(), state.depth()), (Some(first), Some(2)));
    assert_eq!(take_now(device, mutex, second), Err(Error::Timeout));
    assert_eq!(mutex.unlock(second), Err(Error::PermissionDenied));
    let waiter = thread::spawn({
        let device = device.clone();
        move || wait(&device, mutex, second)
    });
    mutex.unlock(first).expect("unlocked once");
    mutex.unlock(first).expect("unlocked twice");
    assert_eq!(waiter.join().expect("the thread ends"), Ok(false));
    assert_eq!(mutex.read().expect("its state").owner(), Some(second));
    println!("  A mutex was taken twice by its owner, and went to the next when it was unlocked twice.");
    delete(mutex);
}

fn abandoned_mutex(device: &NtSync) {
    let (dead, heir) = (OwnerId::new(3), OwnerId::new(4));
    let mutex = device.new_mutex().expect("a mutex");
    wait(device, mutex, dead).expect("a free mutex");
    assert_eq!(mutex.kill(heir), Err(Error::PermissionDenied));
    mutex.kill(dead).expect("its owner is declared dead");
    assert_eq!(mutex.read().err(), Some(Error::OwnerDead));
    assert_eq!(wait(device, mutex, heir), Err(Error::OwnerDead));
    assert_eq!(mutex.read().expect("its state").owner(), Some(heir));
    println!("  A mutex whose owner was declared dead told its next owner so.");
    delete(mutex);
}

fn events(device: &NtSync) {
    let owner = OwnerId::random();
    let auto: Event = device.new_event(false, false).expect("an auto-reset event");
    assert_eq!(auto.signal(), Ok(false));
    assert_eq!(auto.signal(), Ok(true));
    wait(device, auto, owner).expect("it is signaled");
    assert!(!auto.status().expect("its state").signaled());
    // The first argument is called `signaled`, but the driver gets it as `manual`.
    let manual = device.new_event(true, false).expect("a manual-reset event");
    let state = manual.status().expect("its state");
    assert!(state.manual_reset() && !state.signaled());
    let waiters: Vec<_> = (0..2)
        .map(|_| {
            let device = device.clone();
            thread::spawn(move || wait(&device, manual, owner))
        })
        .collect();
    assert_eq!(manual.signal(), Ok(false));
    for waiter in waiters {
        assert_eq!(waiter.join().expect("the thread ends"), Ok(false));
    }
    assert_eq!(manual.reset(), Ok(true));
    assert_eq!(manual.pulse(), Ok(false));
    assert_eq!(take_now(device, manual, owner), Err(Error::Timeout));
    println!("  An auto-reset event let one through, a manual-reset event two; a pulse left nothing behind.");
    delete(auto);
    delete(manual);
}

fn alert(device: &NtSync) {
    let owner = OwnerId::random();
    let never = device.new_event(false, false).expect("an event");
    let alert = device.new_event(false, false).expect("an event");
    let waiter = thread::spawn({
        let device = device.clone();
        move || device.wait_all(one(never), None, Some(owner), NtSyncFlags::empty(), Some(alert))
    });
    assert_eq!(alert.signal(), Ok(false));
    assert!(waiter.join().expect("the thread ends").expect("an alerted wait").alerted);
    println!("  An alert ended a wait for an event that never came.");
    delete(never);
    delete(alert);
}

/// Threads that take turns on one mutex. Reading and writing the counter are two steps, so it ends too low if two
/// threads were ever inside at the same time.
fn crowd(device: &NtSync) {
    let mutex = device.new_mutex().expect("a mutex");
    let counter = AtomicUsize::new(0);
    thread::scope(|scope| {
        for number in 1..=CROWD {
            let (owner, counter) = (OwnerId::new(number as u32), &counter);
            scope.spawn(move || {
                for _ in 0..ROUNDS {
                    wait(device, mutex, owner).expect("a turn");
                    let before = counter.load(Ordering::Relaxed);
                    counter.store(before + 1, Ordering::Relaxed);
                    mutex.unlock(owner).expect("the owner unlocks");
                }
            });
        }
    });
    assert_eq!(counter.into_inner(), CROWD * ROUNDS);
    println!("  {CROWD} threads took turns on one mutex, {ROUNDS} times each, and never met inside.");
    delete(mutex);
}

/// What the crate gets wrong must come out as with the kernel's driver.
fn habits(device: &NtSync) {
    let owner = OwnerId::random();
    let semaphores = [1, 1].map(|max| device.new_semaphore(max).expect("a semaphore"));
    let both = HashSet::from(semaphores.map(EventSources::from));
    let result = device.wait_all(both, None, Some(owner), NtSyncFlags::empty(), None);
    assert_eq!(result.err(), Some(Error::InvalidValue));
    let nobody = device.wait_all(one(semaphores[0]), None, None, NtSyncFlags::empty(), None);
    assert_eq!(nobody.err(), Some(Error::InvalidValue));
    println!("  A wait for two objects is refused, because the crate passes descriptor 0 for the second one;");
    println!("  and so is a wait without an owner. The kernel's driver does the same.");
    semaphores.into_iter().for_each(delete);
}
