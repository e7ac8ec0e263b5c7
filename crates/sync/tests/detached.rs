// SPDX-License-Identifier: MIT OR Apache-2.0
//! Waits without a thread: registered, delivered, taken, cancelled.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use ntux_sync::inspect::{View, WaitState, WaitView};
use ntux_sync::{
    Arena, Capacity, Clock, Deadline, Delivered, Detached, Due, Error, MutexState, Object, PACKETS_MAX, Queue,
    Registered, Registration, Satisfied, Waiter,
};

const MS: u64 = 1_000_000;

fn arena() -> Arena {
    Arena::create(Capacity { objects: 4096, waiters: 4096 }).unwrap()
}

fn patiently() -> Deadline {
    Deadline::after_ns(20_000 * MS)
}

fn satisfied(index: u32) -> Satisfied {
    Satisfied { index, abandoned: false }
}

fn wanted(objects: &[Object], all: bool) -> Detached<'_> {
    Detached { objects, all, owner: 1, key: 7 }
}

fn delivered(registration: Registration) -> Result<Delivered, Error> {
    Ok(Delivered { registration: Some(registration), key: 7, satisfied: satisfied(0) })
}

fn waits(arena: &Arena, waiter: &Waiter, queue: Queue, objects: &[Object], all: bool) -> Registration {
    match arena.wait_detached(waiter, queue, wanted(objects, all)) {
        Ok(Registered::Waits(registration)) => registration,
        other => panic!("it waits, and not {other:?}"),
    }
}

fn nothing(arena: &Arena, waiter: &Waiter, queue: Queue) {
    assert_eq!(arena.collect(waiter, queue, Deadline::NOW), Err(Error::TimedOut));
}

#[test]
fn a_signal_is_delivered_once_and_consumes_the_object() {
    let arena = arena();
    let (waiter, queue) = (arena.waiter(), arena.queue_create().unwrap());
    let event = arena.event_create(&waiter, false, false).unwrap();
    let wait = waits(&arena, &waiter, queue, &[event], false);
    nothing(&arena, &waiter, queue);
    arena.event_set(&waiter, event).unwrap();
    assert_eq!(arena.event_read(&waiter, event), Ok((false, false)), "taken by the wait");
    assert_eq!(arena.collect(&waiter, queue, Deadline::NOW), delivered(wait));
    nothing(&arena, &waiter, queue);
    assert_eq!(arena.cancel(&waiter, wait), Err(Error::NoSuchObject));
}

#[test]
fn what_is_available_is_taken_at_once() {
    let arena = arena();
    let (waiter, queue) = (arena.waiter(), arena.queue_create().unwrap());
    let first = arena.event_create(&waiter, false, false).unwrap();
    let second = arena.semaphore_create(&waiter, 1, 1).unwrap();
    let any = arena.wait_detached(&waiter, queue, wanted(&[first, second], false));
    assert_eq!(any, Ok(Registered::Satisfied(satisfied(1))));
    arena.event_set(&waiter, first).unwrap();
    arena.semaphore_release(&waiter, second, 1).unwrap();
    let all = arena.wait_detached(&waiter, queue, wanted(&[first, second], true));
    assert_eq!(all, Ok(Registered::Satisfied(satisfied(0))));
    assert_eq!(arena.semaphore_read(&waiter, second), Ok((0, 1)));
    nothing(&arena, &waiter, queue);
}

#[test]
fn a_wait_for_all_takes_all_in_one_step() {
    let arena = arena();
    let (waiter, queue) = (arena.waiter(), arena.queue_create().unwrap());
    let event = arena.event_create(&waiter, false, false).unwrap();
    let mutex = arena.mutex_create(&waiter, 7, 1).unwrap();
    let wait = waits(&arena, &waiter, queue, &[event, mutex], true);
    arena.event_set(&waiter, event).unwrap();
    nothing(&arena, &waiter, queue);
    assert_eq!(arena.event_read(&waiter, event), Ok((false, true)), "nothing is reserved");
    arena.mutex_unlock(&waiter, mutex, 7).unwrap();
    assert_eq!(arena.collect(&waiter, queue, Deadline::NOW), delivered(wait));
    let owned = MutexState { owner: 1, count: 1, abandoned: false };
    assert_eq!(arena.mutex_read(&waiter, mutex), Ok(owned));
    assert_eq!(arena.event_read(&waiter, event), Ok((false, false)));
}

#[test]
fn a_wait_was_either_satisfied_or_cancelled() {
    let arena = arena();
    let (waiter, queue) = (arena.waiter(), arena.queue_create().unwrap());
    let event = arena.event_create(&waiter, false, false).unwrap();
    let wait = waits(&arena, &waiter, queue, &[event], false);
    assert_eq!(arena.cancel(&waiter, wait), Ok(None));
    assert_eq!(arena.cancel(&waiter, wait), Err(Error::NoSuchObject));
    arena.event_set(&waiter, event).unwrap();
    assert_eq!(arena.event_read(&waiter, event), Ok((false, true)), "nobody waits");
    arena.event_reset(&waiter, event).unwrap();
    let wait = waits(&arena, &waiter, queue, &[event], false);
    arena.event_set(&waiter, event).unwrap();
    assert_eq!(arena.cancel(&waiter, wait), Ok(Some(satisfied(0))), "it was satisfied before");
    nothing(&arena, &waiter, queue);
}

#[test]
fn waits_with_and_without_a_thread_are_served_in_their_order() {
    let arena = arena();
    let (waiter, queue) = (arena.waiter(), arena.queue_create().unwrap());
    let semaphore = arena.semaphore_create(&waiter, 0, 9).unwrap();
    let all: Vec<_> = (0..5).map(|_| waits(&arena, &waiter, queue, &[semaphore], false)).collect();
    for wait in all {
        arena.semaphore_release(&waiter, semaphore, 1).unwrap();
        assert_eq!(arena.collect(&waiter, queue, Deadline::NOW), delivered(wait));
    }
}

#[test]
fn a_manual_event_satisfies_all_and_a_pulse_too() {
    let arena = arena();
    let (waiter, queue) = (arena.waiter(), arena.queue_create().unwrap());
    let event = arena.event_create(&waiter, true, false).unwrap();
    let mut all: Vec<_> = (0..300).map(|_| waits(&arena, &waiter, queue, &[event], false)).collect();
    arena.event_pulse(&waiter, event).unwrap();
    let mut taken: Vec<_> =
        (0..300).map(|_| arena.collect(&waiter, queue, Deadline::NOW).unwrap().registration.unwrap()).collect();
    all.sort();
    taken.sort();
    assert_eq!(all, taken);
    nothing(&arena, &waiter, queue);
}

#[test]
fn several_threads_take_each_result_once() {
    const RESULTS: usize = 20_000;
    let arena = arena();
    let (waiter, queue) = (arena.waiter(), arena.queue_create().unwrap());
    let semaphore = arena.semaphore_create(&waiter, 0, u32::MAX).unwrap();
    let stop = arena.semaphore_create(&waiter, 0, 9).unwrap();
    let stops: Vec<_> = (0..3).map(|_| waits(&arena, &waiter, queue, &[stop], false)).collect();
    let taken = thread::scope(|scope| {
        let takers: Vec<_> = (0..3)
            .map(|_| {
                scope.spawn(|| {
                    let waiter = arena.waiter();
                    let mut taken = 0;
                    loop {
                        let taken_now = arena.collect(&waiter, queue, patiently()).unwrap();
                        assert_eq!(taken_now.satisfied, satisfied(0));
                        if stops.contains(&taken_now.registration.unwrap()) {
                            return taken;
                        }
                        taken += 1;
                    }
                })
            })
            .collect();
        let signaler = scope.spawn(|| {
            let waiter = arena.waiter();
            for _ in 0..RESULTS {
                arena.semaphore_release(&waiter, semaphore, 1).unwrap();
            }
        });
        let mut at_once = 0;
        for _ in 0..RESULTS {
            loop {
                match arena.wait_detached(&waiter, queue, wanted(&[semaphore], false)) {
                    // More wait than the arena has room for.
                    Err(Error::Exhausted) => thread::yield_now(),
                    registered => {
                        at_once += usize::from(matches!(registered.unwrap(), Registered::Satisfied(_)));
                        break;
                    }
                }
            }
        }
        signaler.join().unwrap();
        while arena.semaphore_read(&waiter, semaphore).unwrap().0 > 0 {
            thread::sleep(Duration::from_millis(1));
        }
        arena.semaphore_release(&waiter, stop, 3).unwrap();
        let mut taken: usize = takers.into_iter().map(|taker| taker.join().unwrap()).sum();
        while arena.collect(&waiter, queue, Deadline::NOW).is_ok() {
            taken += 1;
        }
        taken + at_once
    });
    assert_eq!(taken, RESULTS);
}

#[test]
fn what_a_dead_process_has_registered_takes_nothing() {
    let arena = arena();
    let (waiter, queue) = (arena.waiter(), arena.queue_create().unwrap());
    let event = arena.event_create(&waiter, false, false).unwrap();
    // SAFETY: the child calls nothing but the arena's functions, which take no lock, and ends at once.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let waiter = arena.waiter();
        let queue = arena.queue_create();
        let waits = queue.and_then(|queue| arena.wait_detached(&waiter, queue, wanted(&[event], false)));
        // SAFETY: it ends the process.
        unsafe { libc::_exit(i32::from(!matches!(waits, Ok(Registered::Waits(_))))) };
    }
    let mut status = 0;
    // SAFETY: `status` is a valid place for the answer.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0);
    let own = waits(&arena, &waiter, queue, &[event], false);
    arena.event_set(&waiter, event).unwrap();
    assert_eq!(arena.collect(&waiter, queue, Deadline::NOW), delivered(own), "the dead one was first");
}

#[test]
fn a_queue_that_is_closed_leaves_nothing_behind() {
    let arena = Arena::create(Capacity { objects: 4, waiters: 20 }).unwrap();
    let waiter = arena.waiter();
    let event = arena.event_create(&waiter, true, false).unwrap();
    for _ in 0..3000 {
        let queue = arena.queue_create().unwrap();
        for _ in 0..4 {
            waits(&arena, &waiter, queue, &[event], false);
        }
        arena.queue_close(&waiter, queue).unwrap();
        assert_eq!(arena.queue_close(&waiter, queue), Err(Error::Invalid));
        assert_eq!(arena.collect(&waiter, queue, Deadline::NOW), Err(Error::Invalid));
    }
}

fn packet(key: u64) -> Result<Delivered, Error> {
    Ok(Delivered { registration: None, key, satisfied: satisfied(0) })
}

#[test]
fn packets_are_taken_first_come_first_served_and_a_full_queue_takes_no_more() {
    let arena = arena();
    let (waiter, queue) = (arena.waiter(), arena.queue_create().unwrap());
    let most = u64::from(PACKETS_MAX);
    for round in 0..3 {
        for key in 0..most {
            arena.post(&waiter, queue, round * most + key).unwrap();
        }
        assert_eq!(arena.post(&waiter, queue, 0), Err(Error::Exhausted));
        for key in 0..most {
            assert_eq!(arena.collect(&waiter, queue, Deadline::NOW), packet(round * most + key));
        }
        nothing(&arena, &waiter, queue);
    }
}

#[test]
fn a_queue_has_nothing_of_its_last_owner() {
    let arena = Arena::create(Capacity { objects: 4, waiters: 20 }).unwrap();
    let waiter = arena.waiter();
    for key in 0..u64::from(PACKETS_MAX) + 2 {
        let queue = arena.queue_create().unwrap();
        nothing(&arena, &waiter, queue);
        arena.post(&waiter, queue, key).unwrap();
        arena.queue_close(&waiter, queue).unwrap();
        assert_eq!(arena.post(&waiter, queue, key), Err(Error::Invalid));
    }
}

#[test]
fn several_threads_post_and_take() {
    const EACH: u64 = 20_000;
    let arena = arena();
    let queue = arena.queue_create().unwrap();
    let sum: u64 = thread::scope(|scope| {
        for from in 0..3 {
            let arena = &arena;
            scope.spawn(move || {
                let waiter = arena.waiter();
                for key in 0..EACH {
                    while arena.post(&waiter, queue, from << 32 | key) == Err(Error::Exhausted) {
                        thread::yield_now();
                    }
                }
            });
        }
        let takers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let waiter = arena.waiter();
                    let (mut taken, mut last) = (0, [0; 3]);
                    for _ in 0..3 * EACH / 2 {
                        let key = arena.collect(&waiter, queue, patiently()).unwrap().key;
                        let (from, number) = ((key >> 32) as usize, key & 0xffff_ffff);
                        assert!(number >= last[from], "in the order of one poster");
                        last[from] = number;
                        taken += number;
                    }
                    taken
                })
            })
            .collect();
        takers.into_iter().map(|taker| taker.join().unwrap()).sum()
    });
    assert_eq!(sum, 3 * EACH * (EACH - 1) / 2);
}

#[test]
fn a_thread_that_collects_fires_the_timers() {
    let arena = arena();
    let (waiter, queue) = (arena.waiter(), arena.queue_create().unwrap());
    let late = arena.timer_create(&waiter, false).unwrap();
    let tick = arena.timer_create(&waiter, false).unwrap();
    let event = arena.event_create(&waiter, false, false).unwrap();
    arena.timer_set(&waiter, late, Due::after_ns(Clock::Monotonic, 20_000 * MS), 0).unwrap();
    let first = waits(&arena, &waiter, queue, &[event, late, tick], false);
    nothing(&arena, &waiter, queue);
    arena.timer_set(&waiter, tick, Due::after_ns(Clock::Monotonic, 5 * MS), 0).unwrap();
    let by_tick = Delivered { satisfied: satisfied(2), ..delivered(first).unwrap() };
    assert_eq!(arena.collect(&waiter, queue, patiently()), Ok(by_tick));
    let all = waits(&arena, &waiter, queue, &[event, tick], true);
    arena.timer_set(&waiter, tick, Due::after_ns(Clock::Boot, 5 * MS), 0).unwrap();
    arena.event_set(&waiter, event).unwrap();
    assert_eq!(arena.collect(&waiter, queue, patiently()), delivered(all));
}

#[test]
fn a_timer_that_is_armed_wakes_a_thread_that_collects() {
    let arena = arena();
    let queue = arena.queue_create().unwrap();
    let waiter = arena.waiter();
    let tick = arena.timer_create(&waiter, false).unwrap();
    thread::scope(|scope| {
        let takers: Vec<_> = (0..3)
            .map(|_| {
                scope.spawn(|| {
                    let waiter = arena.waiter();
                    arena.collect(&waiter, queue, patiently()).unwrap();
                    // By nobody but who collects.
                    arena.timer_set(&waiter, tick, Due::after_ns(Clock::Monotonic, MS), 0).unwrap();
                })
            })
            .collect();
        thread::sleep(Duration::from_millis(5));
        for _ in 0..3 {
            waits(&arena, &waiter, queue, &[tick], false);
            thread::sleep(Duration::from_millis(5));
        }
        arena.timer_set(&waiter, tick, Due::after_ns(Clock::Monotonic, 5 * MS), 0).unwrap();
        takers.into_iter().for_each(|taker| taker.join().unwrap());
    });
}

#[test]
fn who_collects_from_a_queue_that_is_closed_is_told() {
    let arena = arena();
    let queue = arena.queue_create().unwrap();
    thread::scope(|scope| {
        let takers: Vec<_> =
            (0..2).map(|_| scope.spawn(|| arena.collect(&arena.waiter(), queue, patiently()))).collect();
        thread::sleep(Duration::from_millis(5));
        arena.queue_close(&arena.waiter(), queue).unwrap();
        takers.into_iter().for_each(|taker| assert_eq!(taker.join().unwrap(), Err(Error::Invalid)));
    });
}

#[test]
fn no_result_waits_while_the_others_come_again_and_again() {
    const WAITS: usize = 600;
    let arena = arena();
    let (waiter, queue) = (arena.waiter(), arena.queue_create().unwrap());
    let events: Vec<_> = (0..WAITS).map(|_| arena.event_create(&waiter, false, false).unwrap()).collect();
    let deliver = |key: usize| {
        let wanted = Detached { objects: &events[key..=key], all: false, owner: 1, key: key as u64 };
        assert!(matches!(arena.wait_detached(&waiter, queue, wanted), Ok(Registered::Waits(_))));
        arena.event_set(&waiter, events[key]).unwrap();
    };
    (0..WAITS).for_each(deliver);
    let mut waited = [0; WAITS];
    for _ in 0..20 * WAITS {
        let key = arena.collect(&waiter, queue, Deadline::NOW).unwrap().key as usize;
        waited.iter_mut().for_each(|waited| *waited += 1);
        waited[key] = 0;
        assert!(waited.iter().all(|waited| *waited <= 2 * WAITS), "one was passed over too often");
        deliver(key);
    }
}

#[test]
fn packets_and_results_have_their_turns() {
    let arena = arena();
    let (waiter, queue) = (arena.waiter(), arena.queue_create().unwrap());
    let event = arena.event_create(&waiter, false, false).unwrap();
    let deliver = |packet: bool| match packet {
        true => arena.post(&waiter, queue, 1).unwrap(),
        false => {
            waits(&arena, &waiter, queue, &[event], false);
            arena.event_set(&waiter, event).unwrap();
        }
    };
    [true, true, false].into_iter().for_each(deliver);
    let mut turns = Vec::new();
    for _ in 0..20 {
        let packet = arena.collect(&waiter, queue, Deadline::NOW).unwrap().registration.is_none();
        turns.push(packet);
        deliver(packet);
    }
    assert!(turns.windows(2).all(|two| two[0] != two[1]), "{turns:?}");
}

#[test]
fn onlookers_see_what_waits_and_what_was_delivered() {
    let arena = arena();
    let (waiter, queue) = (arena.waiter(), arena.queue_create().unwrap());
    let event = arena.event_create(&waiter, false, false).unwrap();
    waits(&arena, &waiter, queue, &[event], false);
    let view = View::open(arena.fd().unwrap()).unwrap();
    let seen = || view.snapshot().unwrap().waiters.into_iter().find(|waiter| waiter.queue.is_some());
    let waiting = seen().unwrap();
    assert_eq!((waiting.thread, waiting.state), (None, WaitState::Waiting));
    assert!(matches!(waiting.wait, WaitView::Objects { objects, .. } if objects == [event]));
    arena.event_set(&waiter, event).unwrap();
    assert!(matches!(seen().unwrap().state, WaitState::Satisfied { .. }));
    arena.collect(&waiter, queue, Deadline::NOW).unwrap();
    assert_eq!(seen(), None);
}

#[test]
fn queues_of_a_dead_process_can_be_had_again() {
    let arena = arena();
    // SAFETY: the child calls nothing but the arena's functions, which take no lock, and ends at once.
    let child = unsafe { libc::fork() };
    if child == 0 {
        while arena.queue_create().is_ok() {}
        // SAFETY: it ends the process.
        unsafe { libc::_exit(0) };
    }
    let mut status = 0;
    // SAFETY: `status` is a valid place for the answer.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0);
    assert!(arena.queue_create().is_ok(), "all were the dead one's");
}

#[test]
fn the_result_that_the_dead_have_not_taken_is_nobodys() {
    let arena = arena();
    let waiter = arena.waiter();
    let event = arena.event_create(&waiter, false, false).unwrap();
    let (mut there, mut here) = std::io::pipe().unwrap();
    // SAFETY: the child calls nothing but the arena's functions, which take no lock, and is killed.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let waiter = arena.waiter();
        let queue = arena.queue_create();
        let waits = queue.and_then(|queue| arena.wait_detached(&waiter, queue, wanted(&[event], false)));
        let registered = matches!(waits, Ok(Registered::Waits(_)));
        here.write_all(&[registered.into()]).unwrap();
        loop {
            // SAFETY: it sleeps until it is killed.
            unsafe { libc::pause() };
        }
    }
    let mut registered = [0];
    there.read_exact(&mut registered).unwrap();
    arena.event_set(&waiter, event).unwrap();
    let mut status = 0;
    // SAFETY: a child of this process, and a valid place for the answer.
    unsafe {
        libc::kill(child, libc::SIGKILL);
        assert_eq!(libc::waitpid(child, &raw mut status, 0), child);
    }
    assert_eq!(registered, [1]);
    let view = View::open(arena.fd().unwrap()).unwrap();
    let delivered = || view.snapshot().unwrap().waiters.into_iter().filter(|waiter| waiter.queue.is_some()).count();
    assert_eq!(delivered(), 1);
    arena.bury_process(child.unsigned_abs()).unwrap();
    assert_eq!(delivered(), 0);
    assert_eq!(arena.event_read(&waiter, event), Ok((false, false)), "it was given before the death");
}

/// The number of the descriptor of the arena, and the event, for the program that this one becomes.
const EARLIER: &str = "NTUX_TEST_EARLIER_PROGRAM";

/// A process whose program has registered a wait becomes another program, which uses the arena, too.
#[test]
fn what_an_earlier_program_of_the_process_has_registered_takes_nothing() {
    if let Ok(inherited) = std::env::var(EARLIER) {
        return later_program(&inherited);
    }
    let arena = arena();
    let waiter = arena.waiter();
    let event = arena.event_create(&waiter, false, false).unwrap();
    let fd = arena.fd().unwrap().as_raw_fd();
    let mut program = Command::new(std::env::current_exe().unwrap());
    program.args(["--exact", "--nocapture", "what_an_earlier_program_of_the_process_has_registered_takes_nothing"]);
    program.env(EARLIER, format!("{fd} {}", event.0)).stdin(Stdio::piped()).stdout(Stdio::piped());
    let registers = move || {
        // SAFETY: a descriptor of this process, which the program inherits.
        let arena = Arena::map(unsafe { BorrowedFd::borrow_raw(fd) }).map_err(|_| io::ErrorKind::Other)?;
        // SAFETY: as above.
        unsafe { libc::fcntl(fd, libc::F_SETFD, 0) };
        let (waiter, queue) = (arena.waiter(), arena.queue_create().map_err(|_| io::ErrorKind::Other)?);
        match arena.wait_detached(&waiter, queue, wanted(&[event], false)) {
            Ok(Registered::Waits(_)) => Ok(()),
            _ => Err(io::ErrorKind::Other.into()),
        }
    };
    // SAFETY: it calls nothing but the arena's functions, which take no lock.
    unsafe { program.pre_exec(registers) };
    let mut process = program.spawn().unwrap();
    let mut said = BufReader::new(process.stdout.take().unwrap()).lines();
    assert!(said.any(|line| line.unwrap().contains("registered")));
    arena.event_set(&waiter, event).unwrap();
    assert_eq!(arena.event_read(&waiter, event), Ok((false, true)), "nobody waits");
    drop(process.stdin.take());
    assert!(process.wait().unwrap().success());
}

/// Uses the arena, and goes on until its standard input ends.
fn later_program(inherited: &str) {
    let (fd, event) = inherited.split_once(' ').unwrap();
    // SAFETY: the descriptor was inherited.
    let arena = Arena::attach(unsafe { BorrowedFd::borrow_raw(fd.parse().unwrap()) }).unwrap();
    let (waiter, queue) = (arena.waiter(), arena.queue_create().unwrap());
    assert_eq!(arena.event_read(&waiter, Object(event.parse().unwrap())), Ok((false, false)));
    nothing(&arena, &waiter, queue);
    println!("registered");
    io::stdin().read_to_end(&mut Vec::new()).unwrap();
}
