// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an arena costs a program that limits its memory: core dumps, locked memory, limits on files, no memory left.
#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "a test is no part of the model")]

#[path = "../../platform/tests/limits/limits.rs"]
mod limits;

use std::fs;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;

use limits::skips::skip;
use limits::{Exhausted, in_child, limit, range_of_mapping, smaps_of, was_left_out, without_privileges};

use ntux_sync::{Arena, Capacity, Deadline, Error};

const LARGE: Capacity = Capacity { objects: 1 << 20, waiters: 1 << 16 };
/// More than the pages that a few objects and a thread take; far less than the arena is long.
const FEW: u64 = 256 << 10;

/// Sets and takes an event, which uses the header, a process, a thread and an object.
fn works(arena: &Arena) -> bool {
    let waiter = arena.waiter();
    let event = arena.event_create(&waiter, false, false).unwrap();
    let poll = |at| arena.wait_any(&waiter, &[event], None, 1, at).map(|satisfied| satisfied.index);
    poll(Deadline::NOW) == Err(Error::TimedOut)
        && arena.event_set(&waiter, event) == Ok(false)
        && poll(Deadline::NOW) == Ok(0)
}

/// Bytes of memory that a file has.
fn memory_of(fd: BorrowedFd<'_>) -> u64 {
    let file = fs::File::from(fd.try_clone_to_owned().unwrap());
    file.metadata().unwrap().blocks() * 512
}

#[test]
fn a_core_dump_leaves_an_arena_as_small_as_it_is() {
    let arena = Arena::create(LARGE).unwrap();
    assert!(works(&arena));
    let flags = smaps_of("memfd:ntsync", "VmFlags:");
    assert!(flags.split(' ').any(|flag| flag == "dd"), "in core dumps: {flags}");

    let pattern = fs::read_to_string("/proc/sys/kernel/core_pattern").unwrap();
    if !pattern.trim().chars().all(|c| c.is_ascii_alphanumeric() || ".%_-".contains(c)) {
        println!("only the flag of the mapping was looked at: core dumps go elsewhere ({})", pattern.trim());
        return;
    }
    let directory = std::env::temp_dir().join(format!("ntux-core-{}", std::process::id()));
    fs::create_dir(&directory).unwrap();
    let before = memory_of(arena.fd().unwrap());
    let status = in_child(|| {
        limit(libc::RLIMIT_CORE, libc::RLIM_INFINITY);
        std::env::set_current_dir(&directory).unwrap();
        // SAFETY: ends this process, with a core.
        unsafe { libc::abort() }
    });
    let cores = fs::read_dir(&directory).unwrap().map(|core| core.unwrap().metadata().unwrap());
    let sizes: Vec<(u64, u64)> = cores.map(|core| (core.len(), core.blocks() * 512)).collect();
    fs::remove_dir_all(&directory).unwrap();
    assert!(libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGABRT, "{status:#x}");
    assert_eq!(memory_of(arena.fd().unwrap()), before);
    match sizes[..] {
        [(length, taken)] => println!("a core of {length} bytes, which takes {taken}; the arena has {before}"),
        _ => println!("only the arena was looked at: the system left no core ({})", pattern.trim()),
    }
    assert!(sizes.iter().all(|&(_, taken)| taken < 64 << 20), "{sizes:?}");
}

#[test]
fn a_lock_on_all_future_memory_neither_refuses_nor_fills_an_arena() {
    /// More than a program's other memory needs here, less than the arena is long.
    const MAY_LOCK: u64 = 4 << 20;
    for limited in [true, false] {
        let status = in_child(|| {
            if limited {
                limit(libc::RLIMIT_MEMLOCK, MAY_LOCK);
                without_privileges();
            }
            // SAFETY: no memory is named.
            if unsafe { libc::mlockall(libc::MCL_FUTURE) } != 0 {
                // SAFETY: ends this process.
                unsafe { libc::_exit(2) };
            }
            let arena = Arena::create(LARGE).expect("the arena is made");
            assert!(works(&arena) && memory_of(arena.fd().unwrap()) < FEW, "{}", memory_of(arena.fd().unwrap()));
            assert_eq!(smaps_of("memfd:ntsync", "Locked:"), "0 kB");
            // What the program maps itself is locked.
            let own = std::fs::File::open("/proc/self/exe").unwrap();
            // SAFETY: a new mapping, which stays.
            let mapped = unsafe {
                libc::mmap(std::ptr::null_mut(), 4096, libc::PROT_READ, libc::MAP_SHARED, own.as_raw_fd(), 0)
            };
            smaps_of(&format!("{:x}-", mapped as usize), "VmFlags:").split(' ').any(|flag| flag == "lo")
        });
        match (limited, libc::WEXITSTATUS(status)) {
            // A small limit, and no privilege to lock more.
            (false, 2) => skip("lock-memory", "this process may not lock so much without a limit"),
            _ => assert_eq!(status, 0, "limited: {limited}"),
        }
    }
}

#[test]
fn a_limit_on_files_is_an_error() {
    let status = in_child(|| {
        limit(libc::RLIMIT_FSIZE, 4 << 20);
        let refused = Arena::create(LARGE).err();
        refused == Some(Error::Os(libc::EFBIG)) && Arena::create(Capacity { objects: 64, waiters: 8 }).is_ok()
    });
    assert_eq!(status, 0);
}

/// In a child, where no other test has an arena.
#[test]
fn where_memory_ends_creating_and_waiting_are_refused_and_all_else_goes_on() {
    let status = in_child(|| {
        let arena = Arena::create(LARGE).unwrap();
        let range = range_of_mapping("memfd:ntsync");
        let exhaust = || Exhausted::everywhere(range).unwrap_or_else(|error| limits::leave_out(error));
        let waiter = arena.waiter();
        let create = || arena.semaphore_create(&waiter, 0, 100_000);

        // Nothing but the header has memory.
        let exhausted = exhaust();
        assert_eq!(create().err(), Some(Error::Exhausted));
        drop(exhausted);
        let first = create().unwrap();

        // As many more objects as fit the page.
        let exhausted = exhaust();
        let mut objects = vec![first];
        while let Ok(object) = create() {
            objects.push(object);
        }
        assert!((2..=2 * 4096 / 64).contains(&objects.len()), "{}", objects.len());
        assert_eq!(create().err(), Some(Error::Exhausted));
        // No place for a thread that waits; what needs none goes on, and slots that were given back are used.
        let poll = |object| arena.wait_any(&waiter, &[object], None, 1, Deadline::NOW).map(|satisfied| satisfied.index);
        let after = |object| arena.wait_any(&waiter, &[object], None, 1, Deadline::after_ns(10_000_000)).map(|_| ());
        assert_eq!(after(first), Err(Error::Exhausted));
        assert_eq!((arena.semaphore_release(&waiter, first, 1), poll(first)), (Ok(0), Ok(0)));
        arena.close(objects[1]).unwrap();
        objects[1] = create().unwrap();
        drop(exhausted);
        assert_eq!(after(first), Err(Error::TimedOut));

        // Places for three more, which need more than this page.
        let others = [(); 3].map(|()| arena.waiter());
        for other in &others {
            let timed_out = arena.wait_any(other, &[first], None, 1, Deadline::after_ns(10_000_000)).map(|_| ());
            assert_eq!(timed_out, Err(Error::TimedOut));
        }
        others.iter().for_each(|other| arena.retire(other));

        // A wait set that grows: threads queue until the first chunk has to be had.
        let exhausted = exhaust();
        let queued = std::sync::Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..6 {
                let (arena, queued) = (&arena, &queued);
                scope.spawn(move || {
                    let until = Deadline::after_ns(20_000_000_000);
                    let ended =
                        arena.wait_any(&arena.waiter(), &[first], None, 1, until).map(|satisfied| satisfied.index);
                    queued.lock().unwrap().push(ended);
                });
            }
            // Three have room in the object itself.
            while queued.lock().unwrap().len() < 3 {
                std::thread::yield_now();
            }
            assert!(queued.lock().unwrap().iter().all(|ended| *ended == Err(Error::Exhausted)));
            while arena.semaphore_release(&waiter, first, 1).is_ok() && queued.lock().unwrap().len() < 6 {
                std::thread::yield_now();
            }
        });
        drop(exhausted);
        let queued = queued.into_inner().unwrap();
        assert_eq!(queued.iter().filter(|ended| **ended == Ok(0)).count(), 3, "{queued:?}");
        create().is_ok()
    });
    assert!(status == 0 || was_left_out(status), "{status:#x}");
}
