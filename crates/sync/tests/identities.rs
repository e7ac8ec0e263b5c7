// SPDX-License-Identifier: MIT OR Apache-2.0
//! Processes that have the number of another one, living or dead, and the memory of it: children in another namespace of processes,
//! and children that got a number again.
#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "a test is no part of the model")]

#[path = "../../platform/tests/skips/skips.rs"]
mod skips;

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use ntux_sync::{Arena, Capacity, Deadline, Error, Object};
use skips::skip;

/// How long anything may take before it counts as lost.
const PATIENCE: Duration = Duration::from_secs(20);

/// Counters that forked processes share.
struct Shared(*const AtomicU32);

// SAFETY: the page stays mapped, and holds atomic counters.
unsafe impl Sync for Shared {}

impl Shared {
    fn new() -> Shared {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let kind = libc::MAP_SHARED | libc::MAP_ANONYMOUS;
        // SAFETY: a fresh mapping; zero is a valid counter.
        let page = unsafe { libc::mmap(std::ptr::null_mut(), 4096, access, kind, -1, 0) };
        assert_ne!(page, libc::MAP_FAILED);
        Shared(page.cast())
    }

    fn counter(&self, index: usize) -> &AtomicU32 {
        assert!(index < 1024);
        // SAFETY: the page holds 1024 counters and is never unmapped.
        unsafe { &*self.0.add(index) }
    }

    fn add(&self, index: usize) {
        self.counter(index).fetch_add(1, Ordering::SeqCst);
    }

    /// Waits until the counter has this value. Returns false if it takes too long.
    fn comes(&self, index: usize, value: u32) -> bool {
        let begin = Instant::now();
        while self.counter(index).load(Ordering::SeqCst) != value {
            if begin.elapsed() > PATIENCE {
                return false;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        true
    }
}

/// The kernel's arguments for `clone3`, as far as a number is asked for.
#[repr(C)]
#[derive(Default)]
struct CloneArguments {
    flags: u64,
    pidfd: u64,
    child_tid: u64,
    parent_tid: u64,
    exit_signal: u64,
    stack: u64,
    stack_size: u64,
    tls: u64,
    set_tid: u64,
    set_tid_size: u64,
    cgroup: u64,
}

/// A child of a bare clone, which no handler of the C library sees: with these flags, and with this number if it is not 0. The
/// error if the kernel refuses.
fn bare_fork(flags: libc::c_int, number: libc::pid_t, body: impl FnOnce() -> i32) -> Result<libc::pid_t, i32> {
    let arguments = CloneArguments {
        flags: flags as u64,
        exit_signal: libc::SIGCHLD as u64,
        set_tid: if number == 0 { 0 } else { (&raw const number) as u64 },
        set_tid_size: u64::from(number != 0),
        ..CloneArguments::default()
    };
    // SAFETY: a fork: the child has a copy of all memory; it leaves by `_exit`, or by the alarm.
    unsafe {
        let child = libc::syscall(libc::SYS_clone3, &raw const arguments, size_of::<CloneArguments>());
        if child == 0 {
            libc::alarm(2 * PATIENCE.as_secs() as u32);
            let code = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body)).unwrap_or(101);
            libc::_exit(code);
        }
        if child < 0 { Err(*libc::__errno_location()) } else { Ok(child as libc::pid_t) }
    }
}

fn fork(body: impl FnOnce() -> i32) -> libc::pid_t {
    bare_fork(0, 0, body).expect("a fork")
}

/// The exit status of a child, or 128 and the signal that ended it.
fn end_of(child: libc::pid_t) -> i32 {
    let mut status = 0;
    // SAFETY: a place for the status.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { 128 + libc::WTERMSIG(status) }
}

const NOT_ALLOWED: i32 = 77;

/// Runs `body` as the first process of a namespace of its own, where an ordinary user may make one.
fn as_first_process(body: impl FnOnce() -> i32) {
    let code = end_of(fork(|| {
        // SAFETY: a call without memory.
        let is_user = unsafe { libc::geteuid() } != 0;
        let user = if is_user { libc::CLONE_NEWUSER } else { 0 };
        match bare_fork(libc::CLONE_NEWPID | user, 0, body) {
            Ok(child) => end_of(child),
            Err(_) => NOT_ALLOWED,
        }
    }));
    match code {
        NOT_ALLOWED => skip("namespaces", "this process may not make namespaces of processes, or choose a number"),
        code => assert_eq!(code, 0),
    }
}

fn waits(arena: &Arena, object: Object) -> ntux_sync::Result<()> {
    arena.wait_any(&arena.waiter(), &[object], None, 1, Deadline::Never).map(|_| ())
}

fn soon() -> Deadline {
    Deadline::after_ns(200_000_000)
}

/// A container's first process, and a child of it that is the first process of another namespace: both have number 1, and their
/// threads the numbers after that.
#[test]
fn a_child_with_its_parents_number_disturbs_none_of_the_parents_waits() {
    const WAITING: usize = 120;
    as_first_process(|| {
        let shared = Shared::new();
        let arena = Arena::create(Capacity { objects: 512, waiters: 256 }).unwrap();
        let waiter = arena.waiter();
        let events = [(); 2 * WAITING].map(|()| arena.event_create(&waiter, false, false).unwrap());
        // This thread has a place, too, which the child finds in its memory.
        assert!(arena.wait_any(&waiter, &[events[0]], None, 1, Deadline::NOW).is_err());
        std::thread::scope(|scope| {
            for event in &events[..WAITING] {
                let (arena, shared) = (&arena, &shared);
                scope.spawn(move || {
                    shared.add(0);
                    waits(arena, *event).unwrap();
                    shared.add(1);
                });
            }
            assert!(shared.comes(0, WAITING as u32));
            std::thread::sleep(Duration::from_millis(100));
            let child = bare_fork(libc::CLONE_NEWPID, 0, || {
                assert_eq!(std::process::id(), 1);
                let _ = arena.wait_any(&waiter, &[events[WAITING]], None, 1, soon());
                std::thread::scope(|scope| {
                    for event in &events[WAITING..] {
                        scope.spawn(|| {
                            let late = arena.wait_any(&arena.waiter(), &[*event], None, 1, soon());
                            assert_eq!(late, Err(Error::TimedOut));
                        });
                    }
                });
                arena.retire(&waiter);
                0
            });
            let Ok(child) = child else { std::process::exit(NOT_ALLOWED) };
            assert_eq!(end_of(child), 0);
            events[..WAITING].iter().for_each(|event| assert_eq!(arena.event_set(&waiter, *event), Ok(false)));
            if !shared.comes(1, WAITING as u32) {
                let woken = shared.counter(1).load(Ordering::SeqCst);
                eprintln!("{woken} of {WAITING} threads woke");
                // SAFETY: ends this process, with the threads that still wait.
                unsafe { libc::_exit(1) };
            }
        });
        0
    });
}

/// A process ends, and another one inherits its place. A child of a child gets its number, and finds the place in its memory.
#[test]
fn a_process_with_a_number_that_was_used_again_leaves_the_place_to_its_heir() {
    as_first_process(|| {
        let shared = Shared::new();
        let arena = Arena::create(Capacity { objects: 8, waiters: 2 }).unwrap();
        let own = arena.waiter();
        let [heirs, ghosts] = [(); 2].map(|()| arena.event_create(&own, false, false).unwrap());
        assert_eq!(arena.wait_any(&own, &[ghosts], None, 1, soon()), Err(Error::TimedOut));
        let first = fork(|| {
            let waiter = arena.waiter();
            assert_eq!(arena.wait_any(&waiter, &[ghosts], None, 1, soon()), Err(Error::TimedOut));
            let number = std::process::id() as libc::pid_t;
            fork(|| {
                assert!(shared.comes(0, 2));
                let ghost = bare_fork(0, number, || {
                    assert_eq!(std::process::id() as libc::pid_t, number);
                    let result = arena.wait_any(&waiter, &[ghosts], None, 1, soon());
                    arena.retire(&waiter);
                    // The heir has the last place.
                    i32::from(result != Err(Error::Exhausted))
                });
                let code = ghost.map_or(NOT_ALLOWED, end_of);
                shared.counter(1).store(code as u32 + 1, Ordering::SeqCst);
                code
            });
            0
        });
        assert_eq!(end_of(first), 0);
        let heir = fork(|| {
            shared.add(0);
            waits(&arena, heirs).unwrap();
            shared.add(2);
            0
        });
        assert!(shared.comes(0, 1));
        std::thread::sleep(Duration::from_millis(100));
        shared.add(0);
        let begin = Instant::now();
        while shared.counter(1).load(Ordering::SeqCst) == 0 {
            assert!(begin.elapsed() < PATIENCE);
            std::thread::sleep(Duration::from_millis(1));
        }
        let ghost = shared.counter(1).load(Ordering::SeqCst) as i32 - 1;
        if ghost == NOT_ALLOWED {
            return NOT_ALLOWED;
        }
        assert_eq!(arena.event_set(&own, heirs), Ok(false));
        assert!(shared.comes(2, 1), "the heir's wait is lost (the ghost: {ghost})");
        assert_eq!((ghost, end_of(heir)), (0, 0));
        0
    });
}

/// A supervisor says that a process of its own namespace is dead. Another namespace has a process, and a thread, with that number.
#[test]
fn a_burial_does_not_reach_a_process_that_has_the_number_elsewhere() {
    as_first_process(|| {
        let shared = Shared::new();
        let arena = Arena::create(Capacity { objects: 8, waiters: 8 }).unwrap();
        let own = arena.waiter();
        let [event, other] = [(); 2].map(|()| arena.event_create(&own, false, false).unwrap());
        let dead = fork(|| {
            let late = arena.wait_any(&arena.waiter(), &[other], None, 1, Deadline::after_ns(1_000_000));
            i32::from(late != Err(Error::TimedOut))
        });
        assert_eq!(end_of(dead), 0);
        let container = bare_fork(libc::CLONE_NEWPID, 0, || {
            let child = fork(|| {
                shared.counter(0).store(std::process::id(), Ordering::SeqCst);
                waits(&arena, event).unwrap();
                0
            });
            end_of(child)
        });
        let Ok(container) = container else { return NOT_ALLOWED };
        assert!(shared.comes(0, dead as u32), "the first child of each namespace has the same number");
        std::thread::sleep(Duration::from_millis(100));
        arena.bury_thread(dead as u32, dead as u64).unwrap();
        arena.bury_process(dead as u32).unwrap();
        assert_eq!(arena.event_set(&own, event), Ok(false));
        assert_eq!(arena.event_read(&own, event), Ok((false, false)), "it was given to the thread that waits");
        assert_eq!(end_of(container), 0);
        0
    });
}

/// Mounts the /proc of this namespace of processes, for this process and its children.
fn mount_proc() -> bool {
    let proc = c"proc".as_ptr();
    // SAFETY: terminated names.
    unsafe {
        let (none, private) = (std::ptr::null(), libc::MS_REC | libc::MS_PRIVATE);
        libc::unshare(libc::CLONE_NEWNS) == 0
            && libc::mount(none, c"/".as_ptr(), none, private, none.cast()) == 0
            && libc::mount(proc, c"/proc".as_ptr(), proc, 0, none.cast()) == 0
    }
}

/// What a supervisor says of a process that has ended holds for it, also if another one that takes part has its number by now.
#[test]
fn the_dead_are_buried_though_another_process_has_their_number() {
    as_first_process(|| {
        if !mount_proc() {
            return NOT_ALLOWED;
        }
        let arena = Arena::create(Capacity { objects: 8, waiters: 2 }).unwrap();
        let own = arena.waiter();
        let event = arena.event_create(&own, false, false).unwrap();
        let late = || arena.wait_any(&arena.waiter(), &[event], None, 1, Deadline::after_ns(1_000_000));
        assert_eq!(arena.bury_process(1), Err(Error::Alive));
        let dead = fork(|| i32::from(late() != Err(Error::TimedOut)));
        assert_eq!(end_of(dead), 0);
        // Start times are counted in hundredths of a second.
        std::thread::sleep(Duration::from_millis(30));
        let namesake = bare_fork(0, dead, || {
            let waiter = arena.waiter();
            arena.wait_any(&waiter, &[event], None, 1, Deadline::Never).map_or(1, |_| 0)
        });
        let Ok(namesake) = namesake else { return NOT_ALLOWED };
        std::thread::sleep(Duration::from_millis(100));
        assert_eq!(arena.bury_process(dead as u32), Ok(()));
        assert_eq!(arena.event_set(&own, event), Ok(false));
        assert_eq!(arena.event_read(&own, event), Ok((false, false)), "it was given to the namesake");
        assert_eq!(end_of(namesake), 0);
        0
    });
}

/// To a reader in another time namespace, /proc shows other start times.
#[test]
fn a_process_in_another_time_namespace_is_not_taken_for_dead() {
    let shared = Shared::new();
    let arena = Arena::create(Capacity { objects: 8, waiters: 2 }).unwrap();
    let own = arena.waiter();
    let [event, other] = [(); 2].map(|()| arena.event_create(&own, false, false).unwrap());
    let late = |waiter| arena.wait_any(waiter, &[other], None, 1, Deadline::after_ns(1_000_000));
    assert_eq!(late(&own), Err(Error::TimedOut));
    let elsewhere = fork(|| {
        const CLONE_NEWTIME: libc::c_int = 0x80;
        // SAFETY: calls without memory.
        let made =
            unsafe { libc::unshare(CLONE_NEWTIME) == 0 || libc::unshare(libc::CLONE_NEWUSER | CLONE_NEWTIME) == 0 };
        if !made || std::fs::write("/proc/self/timens_offsets", "boottime 1000000 0\n").is_err() {
            shared.counter(0).store(2, Ordering::SeqCst);
            return NOT_ALLOWED;
        }
        end_of(fork(|| {
            shared.add(0);
            waits(&arena, event).unwrap();
            0
        }))
    });
    let begin = Instant::now();
    while shared.counter(0).load(Ordering::SeqCst) == 0 {
        assert!(begin.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(1));
    }
    std::thread::sleep(Duration::from_millis(100));
    if shared.counter(0).load(Ordering::SeqCst) == 2 {
        assert_eq!(end_of(elsewhere), NOT_ALLOWED);
        return skip("namespaces", "this process may not make time namespaces");
    }
    assert_eq!(late(&arena.waiter()), Err(Error::Exhausted), "both places are those of living threads");
    assert_eq!(arena.event_set(&own, event), Ok(false));
    assert_eq!(end_of(elsewhere), 0);
}
