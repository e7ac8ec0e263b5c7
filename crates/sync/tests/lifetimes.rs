// SPDX-License-Identifier: MIT OR Apache-2.0
//! What lives how long: slots of dead threads and processes, arenas behind descriptors.
#![cfg(target_os = "linux")]

use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ntux_platform::atomic::Word64;
use ntux_sync::{Arena, Capacity, Deadline, Error, Kind, New, Object, Waiter};

#[path = "../../platform/tests/asleep/asleep.rs"]
mod asleep;

const OWNER: u32 = 1;

fn small(objects: u32, waiters: u32) -> Arena {
    Arena::create(Capacity { objects, waiters }).unwrap()
}

/// Waits in vain, until it has slept: so this thread has a place from here on.
fn sleep_a_little(arena: &Arena, waiter: &Waiter, event: Object) {
    let before = waiter.sleeps();
    while waiter.sleeps() == before {
        let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: a valid place for the answer.
        unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
        let soon = Deadline::Monotonic(now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64 + 1_000_000);
        assert_eq!(arena.wait_any(waiter, &[event], None, OWNER, soon), Err(Error::TimedOut));
    }
}

/// A thread that has been joined is still on its way out; returns when the system has forgotten it.
fn until_gone(thread: i32) {
    while std::path::Path::new(&format!("/proc/self/task/{thread}")).exists() {
        std::thread::yield_now();
    }
}

/// A child of `fork` holds copies of all descriptors until it ends. So a test that forks and one that counts on having the
/// last copy of a descriptor take turns.
fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs `body` in a child process that ends without any clean-up; waits for its end.
fn in_child(body: impl FnOnce()) {
    // SAFETY: the child only uses the arena, which is made for that, and leaves by `_exit`.
    unsafe {
        let child = libc::fork();
        assert!(child >= 0);
        if child == 0 {
            body();
            libc::_exit(0);
        }
        let mut status = 0;
        assert_eq!(libc::waitpid(child, &mut status, 0), child);
        assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0, "the child failed: {status:#x}");
    }
}

/// Three waiters of an object fit its own line; the fourth needs one of 131,072 chunks.
#[test]
fn more_objects_than_chunks_can_have_a_fourth_waiter_one_after_the_other() {
    const AT_A_TIME: usize = 63;
    const OBJECTS: usize = 131_072 + 31;
    let arena = small(OBJECTS as u32 + 1, 65_536);
    let main = arena.waiter();
    let go = arena.semaphore_create(&main, 0, 4).unwrap();
    let objects: Vec<Object> = (0..OBJECTS).map(|_| arena.event_create(&main, true, false).unwrap()).collect();
    let (threads, ends, failures) = (Mutex::new(Vec::new()), Word64::new(0), Mutex::new(Vec::new()));
    let are_asleep = || threads.lock().unwrap().iter().filter(|&&thread| asleep::is_asleep(thread)).count() == 4;
    let has_failed = || !failures.lock().unwrap().is_empty();
    let rounds = objects.chunks(AT_A_TIME).len() as u64;
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                threads.lock().unwrap().push(ntux_platform::liveness::thread_id());
                let waiter = arena.waiter();
                for (round, objects) in objects.chunks(AT_A_TIME).enumerate() {
                    let list: Vec<Object> = objects.iter().copied().chain([go]).collect();
                    let ended = arena.wait_any(&waiter, &list, None, OWNER, Deadline::Never);
                    if ended.map(|satisfied| satisfied.index) != Ok(objects.len() as u32) {
                        failures.lock().unwrap().push((round, ended));
                    }
                    ends.fetch_add(1);
                }
            });
        }
        for round in 0..rounds {
            while !has_failed() && (ends.load() < 4 * round || !are_asleep()) {
                std::thread::yield_now();
            }
            let _ = arena.semaphore_release(&main, go, 4);
        }
        while ends.load() < 4 * rounds {
            let _ = arena.semaphore_release(&main, go, 1);
            std::thread::yield_now();
        }
    });
    assert_eq!(failures.into_inner().unwrap(), []);
}

/// Runs all tests of this program once more, without what not every kernel has.
#[test]
fn everything_holds_without_what_old_kernels_lack() {
    let _alone = alone();
    const FEATURES: &str = "robust_list,wipe_on_fork,memfd_noexec_seal";
    if std::env::var_os("NTUX_WITHOUT").is_some() {
        return;
    }
    let program = std::env::current_exe().unwrap();
    let again = std::process::Command::new(program).env("NTUX_WITHOUT", FEATURES).output().unwrap();
    assert!(again.status.success(), "{}", String::from_utf8_lossy(&again.stdout));
}

#[test]
fn an_object_is_gone_once_closed_and_its_successor_is_another() {
    let arena = small(1, 1);
    let waiter = arena.waiter();
    let first = arena.event_create(&waiter, true, true).unwrap();
    assert_eq!(arena.event_create(&waiter, true, true), Err(Error::Exhausted));
    assert_eq!(arena.close(first), Ok(()));
    assert_eq!(arena.close(first), Err(Error::NoSuchObject));
    let second = arena.semaphore_create(&waiter, 1, 1).unwrap();
    assert_ne!(first, second);
    assert_eq!(arena.event_reset(&waiter, first), Err(Error::NoSuchObject));
    assert_eq!(arena.event_reset(&waiter, second), Err(Error::Invalid));
    assert_eq!(arena.kind(second), Ok(Kind::Semaphore));
    assert_eq!(arena.wait_any(&waiter, &[first], None, OWNER, Deadline::NOW), Err(Error::Invalid));
}

#[test]
fn numbers_that_were_never_objects_are_refused() {
    let arena = small(4, 1);
    let waiter = arena.waiter();
    for rubbish in [0, 1, u64::MAX, 1 << 32, (1 << 32) | 3, 5] {
        assert_eq!(arena.event_set(&waiter, Object(rubbish)), Err(Error::NoSuchObject), "{rubbish:#x}");
        assert_eq!(arena.wait_all(&waiter, &[Object(rubbish)], None, OWNER, Deadline::NOW), Err(Error::Invalid));
    }
}

#[test]
fn the_slot_of_a_dead_thread_is_found_again() {
    let arena = small(2, 1);
    let main = arena.waiter();
    let event = arena.event_create(&main, false, false).unwrap();
    for _ in 0..20 {
        let thread = std::thread::scope(|scope| {
            let sleeper = scope.spawn(|| {
                // Not given back.
                sleep_a_little(&arena, &arena.waiter(), event);
                // SAFETY: a call without arguments.
                unsafe { libc::gettid() }
            });
            sleeper.join().unwrap()
        });
        until_gone(thread);
    }
}

#[test]
fn too_many_waiting_threads_are_an_error_and_change_nothing() {
    let arena = small(2, 1);
    let main = arena.waiter();
    let event = arena.event_create(&main, false, false).unwrap();
    sleep_a_little(&arena, &main, event);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let waiter = arena.waiter();
            let result = arena.wait_any(&waiter, &[event], None, OWNER, Deadline::Never);
            assert_eq!(result, Err(Error::Exhausted));
            arena.event_set(&waiter, event).unwrap();
            assert!(arena.wait_any(&waiter, &[event], None, OWNER, Deadline::NOW).is_ok());
        });
    });
    arena.retire(&main);
}

#[test]
fn what_a_dead_process_created_is_taken_back_unless_adopted() {
    let _alone = alone();
    let arena = small(2, 4);
    let waiter = arena.waiter();
    in_child(|| {
        let waiter = arena.waiter();
        arena.event_create(&waiter, true, true).unwrap();
        arena.event_create(&waiter, true, true).unwrap();
    });
    let first = arena.event_create(&waiter, false, false).unwrap();
    let second = arena.event_create(&waiter, false, false).unwrap();
    assert_eq!(arena.event_create(&waiter, false, false), Err(Error::Exhausted));
    in_child(|| {
        arena.adopt(first).unwrap();
    });
    let third = arena.event_create(&waiter, false, false).unwrap();
    assert_eq!(arena.kind(first), Err(Error::NoSuchObject));
    assert_eq!((arena.kind(second), arena.kind(third)), (Ok(Kind::AutoEvent), Ok(Kind::AutoEvent)));
}

#[test]
fn a_million_objects_are_held_and_released() {
    const OBJECTS: u32 = 1_000_000;
    let arena = small(OBJECTS, 1);
    let waiter = arena.waiter();
    let objects: Vec<Object> = (0..OBJECTS).map(|_| arena.event_create(&waiter, false, false).unwrap()).collect();
    assert_eq!(arena.event_create(&waiter, false, false), Err(Error::Exhausted));
    // Every other one is shared.
    objects.iter().step_by(2).for_each(|object| arena.hold(*object).unwrap());
    objects.iter().for_each(|object| arena.release(*object).unwrap());
    for (number, object) in objects.iter().enumerate() {
        assert_eq!(arena.kind(*object).is_ok(), number % 2 == 0);
    }
    objects.iter().step_by(2).for_each(|object| arena.release(*object).unwrap());
    assert!(objects.iter().all(|object| arena.kind(*object) == Err(Error::NoSuchObject)));
    (0..OBJECTS).for_each(|_| assert!(arena.event_create(&waiter, false, false).is_ok()));
}

#[test]
fn what_the_dead_held_ends_when_its_room_is_needed_unless_it_is_waited_for() {
    let _alone = alone();
    let arena = small(2, 4);
    let main = arena.waiter();
    let mutex = arena.mutex_create(&main, OWNER, 1).unwrap();
    in_child(|| {
        arena.hold(mutex).unwrap();
        arena.event_create(&arena.waiter(), false, false).unwrap();
    });
    arena.release(mutex).unwrap();
    std::thread::scope(|scope| {
        let sleeper = scope.spawn(|| {
            let waiter = arena.waiter();
            let ended = arena.wait_any(&waiter, &[mutex], None, OWNER + 1, Deadline::Never);
            arena.retire(&waiter);
            ended
        });
        let is_waited_for = || arena.mutex_read(&main, mutex).is_ok() && waits(&arena, mutex);
        while !is_waited_for() {
            std::thread::yield_now();
        }
        // The child's event, and no more.
        assert!(arena.event_create(&main, false, false).is_ok());
        assert_eq!(arena.event_create(&main, false, false), Err(Error::Exhausted));
        arena.mutex_kill(&main, mutex, OWNER).unwrap();
        assert!(sleeper.join().unwrap().is_ok_and(|satisfied| satisfied.abandoned));
    });
    assert_eq!(arena.hold(mutex), Ok(()), "nobody needed its room");
    assert_eq!(arena.mutex_unlock(&main, mutex, OWNER + 1), Ok(1));
    assert_eq!(arena.release(mutex), Ok(()));
    assert!(arena.event_create(&main, false, false).is_ok(), "only the dead hold it");
    assert_eq!(arena.kind(mutex), Err(Error::NoSuchObject));
}

#[test]
fn an_owner_keeps_what_is_released_unless_the_release_says_so() {
    let arena = small(3, 1);
    let main = arena.waiter();
    let [kept, left, shared] = [(); 3].map(|()| arena.mutex_create(&main, OWNER, 1).unwrap());
    assert_eq!(arena.release(kept), Ok(()));
    assert!(arena.mutex_read(&main, kept).is_ok_and(|seen| seen.owner == OWNER));
    assert_eq!(arena.release_from_owner(left), Ok(()));
    assert_eq!(arena.mutex_read(&main, left), Err(Error::NoSuchObject));
    assert_eq!((arena.hold(shared), arena.release_from_owner(shared)), (Ok(()), Ok(())));
    assert!(arena.mutex_read(&main, shared).is_ok_and(|seen| seen.owner == OWNER), "it is held");
    assert_eq!(arena.release_from_owner(shared), Ok(()));
    assert_eq!(arena.release_from_owner(shared), Err(Error::NoSuchObject));
}

/// Returns true if somebody waits for it.
fn waits(arena: &Arena, object: Object) -> bool {
    let view = ntux_sync::inspect::View::open(arena.fd().unwrap()).unwrap();
    view.snapshot().unwrap().objects.iter().any(|seen| seen.object == object && seen.waiting().count() > 0)
}

#[test]
fn an_adoption_takes_the_creators_hold_or_adds_one() {
    let _alone = alone();
    let arena = small(2, 4);
    let waiter = arena.waiter();
    let (taken, shared) =
        (arena.event_create(&waiter, false, false).unwrap(), arena.event_create(&waiter, false, false).unwrap());
    arena.hold(shared).unwrap();
    in_child(|| {
        arena.adopt(taken).unwrap();
        arena.adopt(shared).unwrap();
        arena.adopt(shared).unwrap();
        arena.release(shared).unwrap();
        assert_eq!(arena.release(shared), Err(Error::NotHeld));
        arena.release(taken).unwrap();
    });
    assert_eq!(arena.release(taken), Err(Error::NoSuchObject));
    assert_eq!((arena.release(shared), arena.adopt(shared), arena.release(shared)), (Ok(()), Ok(()), Ok(())));
    assert_eq!(arena.release(shared), Err(Error::NoSuchObject));
}

#[test]
fn what_a_process_was_given_outlives_the_giver_and_ends_with_it() {
    let _alone = alone();
    let arena = small(3, 4);
    let main = arena.waiter();
    let [ready, given] = [(); 2].map(|()| arena.event_create(&main, false, false).unwrap());
    let wait = |waiter: &Waiter, object| arena.wait_any(waiter, &[object], None, OWNER, Deadline::Never).map(drop);
    // It takes part, is told, and does not know of the event before.
    let receiver = |ends: bool| {
        // SAFETY: the child only uses the arena, which is made for that, and leaves by `_exit`.
        let child = unsafe { libc::fork() };
        assert!(child >= 0);
        if child == 0 {
            let waiter = arena.waiter();
            arena.take_part().unwrap();
            arena.event_set(&waiter, ready).unwrap();
            wait(&waiter, given).unwrap();
            let holds = arena.holds(given);
            let released = if ends { arena.release(given) } else { Ok(()) };
            // SAFETY: the child's end.
            unsafe { libc::_exit(i32::from((holds, released) != (Ok(1), Ok(())))) };
        }
        wait(&main, ready).unwrap();
        child
    };
    let end_of = |child| {
        let mut status = 0;
        // SAFETY: a valid place for the status.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        status
    };
    assert_eq!(arena.hold_for(given, std::os::unix::process::parent_id()), Err(Error::NoSuchProcess));
    let child = receiver(true);
    assert_eq!(arena.hold_for(given, child as u32), Ok(()));
    assert_eq!(arena.release(given), Ok(()));
    assert_eq!(arena.release(given), Err(Error::NotHeld));
    arena.event_set(&main, given).unwrap();
    assert_eq!(end_of(child), 0);
    assert_eq!(arena.hold_for(given, child as u32), Err(Error::NoSuchObject), "it has released it");
    let given = arena.event_create(&main, false, false).unwrap();
    let child = {
        // SAFETY: the same.
        let child = unsafe { libc::fork() };
        assert!(child >= 0);
        if child == 0 {
            arena.take_part().unwrap();
            arena.event_set(&arena.waiter(), ready).unwrap();
            std::thread::sleep(std::time::Duration::from_secs(60));
            // SAFETY: the child's end.
            unsafe { libc::_exit(1) };
        }
        wait(&main, ready).unwrap();
        child
    };
    assert_eq!((arena.hold_for(given, child as u32), arena.release(given)), (Ok(()), Ok(())));
    assert!(arena.event_create(&main, false, false).is_ok());
    assert_eq!(arena.event_create(&main, false, false), Err(Error::Exhausted), "the child holds the last one");
    // SAFETY: a child of this test.
    assert_eq!(unsafe { libc::kill(child, libc::SIGKILL) }, 0);
    assert_eq!(end_of(child), libc::SIGKILL);
    assert_eq!(arena.hold_for(ready, child as u32), Err(Error::NoSuchProcess));
    assert!(arena.event_create(&main, false, false).is_ok());
    assert_eq!(arena.kind(given), Err(Error::NoSuchObject));
}

/// Children that each wait and do this, and are killed, several at a time.
fn killed_children(arena: &Arena, event: Object, count: usize, body: impl Fn(&Waiter)) {
    const AT_A_TIME: usize = 10;
    for _ in 0..count / AT_A_TIME {
        // SAFETY: the child only uses the arena, which is made for that, and ends by a signal.
        let child = || unsafe {
            let child = libc::fork();
            assert!(child >= 0);
            if child == 0 {
                let waiter = arena.waiter();
                body(&waiter);
                sleep_a_little(arena, &waiter, event);
                libc::kill(libc::getpid(), libc::SIGKILL);
            }
            child
        };
        for child in std::array::from_fn::<_, AT_A_TIME, _>(|_| child()) {
            let mut status = 0;
            // SAFETY: a valid place for the status.
            assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
            assert!(libc::WIFSIGNALED(status), "the child failed: {status:#x}");
        }
    }
}

fn does_not_grow_with_what_the_killed_made(make: impl Fn(&Arena, &Waiter)) {
    const PAGE: u64 = 4096;
    let _alone = alone();
    let arena = Arena::create(Capacity::default()).unwrap();
    let waiter = arena.waiter();
    let event = arena.event_create(&waiter, false, false).unwrap();
    let memory =
        || std::fs::File::from(arena.fd().unwrap().try_clone_to_owned().unwrap()).metadata().unwrap().blocks() * 512;
    killed_children(&arena, event, 200, |waiter| make(&arena, waiter));
    let early = memory();
    killed_children(&arena, event, 1800, |waiter| make(&arena, waiter));
    let late = memory();
    println!("{early} bytes after 200 killed processes, {late} after 2,000");
    // Which slots are met is left to chance: a page or two.
    assert!(late <= early + 4 * PAGE, "{early} bytes after 200 killed processes, {late} after 2,000");
    assert_eq!(arena.kind(event), Ok(Kind::AutoEvent), "its process lives");
}

#[test]
fn an_arena_does_not_grow_with_the_number_of_processes_that_were_killed() {
    does_not_grow_with_what_the_killed_made(|arena, waiter| {
        arena.event_create(waiter, false, false).unwrap();
    });
}

#[test]
fn an_arena_does_not_grow_with_the_number_of_processes_that_were_killed_with_shared_objects() {
    does_not_grow_with_what_the_killed_made(|arena, waiter| {
        let object = arena.mutex_create(waiter, OWNER, 1).unwrap();
        arena.hold(object).unwrap();
        arena.release(object).unwrap();
        let owned = arena.mutex_create(waiter, OWNER, 1).unwrap();
        arena.release(owned).unwrap();
    });
}

#[test]
fn an_arena_does_not_grow_with_the_number_of_processes_that_were_killed_with_descriptors() {
    does_not_grow_with_what_the_killed_made(|arena, waiter| {
        let via = arena.fd().unwrap();
        // As a process of its own attaches it, whose family answers for the object; or as one without a family.
        let own = Arena::map_for_descriptors(via).unwrap();
        let new = || New::Event { manual: false, signaled: false };
        std::mem::forget([
            own.descriptor_create(&own.waiter(), via, new()),
            arena.descriptor_create(waiter, via, new()),
        ]);
        std::mem::forget(own);
    });
}

#[test]
fn a_child_takes_a_place_of_its_own() {
    let _alone = alone();
    let arena = small(4, 4);
    let waiter = arena.waiter();
    let event = arena.event_create(&waiter, false, false).unwrap();
    let reply = arena.event_create(&waiter, false, false).unwrap();
    sleep_a_little(&arena, &waiter, event);
    // SAFETY: as in `in_child`; the parent goes on meanwhile.
    let child = unsafe { libc::fork() };
    if child == 0 {
        for _ in 0..1000 {
            arena.wait_any(&waiter, &[event], None, OWNER, Deadline::Never).unwrap();
            arena.event_set(&waiter, reply).unwrap();
        }
        // SAFETY: ends the child at once.
        unsafe { libc::_exit(0) };
    }
    for _ in 0..1000 {
        arena.event_set(&waiter, event).unwrap();
        arena.wait_any(&waiter, &[reply], None, OWNER, Deadline::Never).unwrap();
    }
    let mut status = 0;
    // SAFETY: a valid place for the status.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert_eq!(status, 0);
}

#[test]
fn only_a_whole_arena_of_this_version_is_attached() {
    let attach = |fd: &OwnedFd| Arena::attach(fd.as_fd()).err();
    let foreign = OwnedFd::from(std::fs::File::open("/proc/self/exe").unwrap());
    assert_eq!(attach(&foreign), Some(Error::NotAnArena));
    let pipe = std::io::pipe().unwrap();
    assert_eq!(attach(&OwnedFd::from(pipe.0)), Some(Error::NotAnArena));
    // SAFETY: a terminated name; the descriptor is ours.
    let unsealed = unsafe { OwnedFd::from_raw_fd(libc::memfd_create(c"test".as_ptr(), libc::MFD_CLOEXEC)) };
    assert_eq!(attach(&unsealed), Some(Error::NotAnArena), "empty");

    let good = Arena::create_file(Capacity { objects: 2, waiters: 2 }).unwrap();
    assert_eq!(attach(&good), None);
    let mut bytes = vec![0u8; 4096];
    // SAFETY: the buffer is valid for its length.
    let read = unsafe { libc::pread(good.as_raw_fd(), bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    assert_eq!(read, 4096);
    let header = |bytes: &[u8]| {
        // SAFETY: as above, and the buffer is valid for its length.
        unsafe { libc::pwrite(unsealed.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), 0) };
        attach(&unsealed)
    };
    assert_eq!(header(&bytes), Some(Error::NotAnArena), "shorter than it says, and could shrink");
    for (at, what) in [(0, "magic"), (8, "version"), (12, "fingerprint"), (16, "capacity")] {
        let mut changed = bytes.clone();
        changed[at..at + 4].fill(0xff);
        assert_eq!(header(&changed), Some(Error::NotAnArena), "{what}");
    }
}

#[test]
fn impossible_capacities_are_refused() {
    for (objects, waiters) in [(0, 1), (1, 0), (1, 65_537), (16_777_217, 1), (u32::MAX, u32::MAX)] {
        assert_eq!(Arena::create(Capacity { objects, waiters }).err(), Some(Error::Invalid));
    }
    let most = Arena::create(Capacity { objects: 1 << 24, waiters: 1 << 16 }).unwrap();
    let waiter = most.waiter();
    assert!(most.event_create(&waiter, true, true).is_ok());
}
