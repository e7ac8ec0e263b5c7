// SPDX-License-Identifier: MIT OR Apache-2.0
//! Looking at an arena: what is seen is what is there, and nothing is touched.
#![cfg(target_os = "linux")]

#[path = "../../platform/tests/processors/processors.rs"]
mod processors;
#[path = "../../platform/tests/random/random.rs"]
mod random;

use std::collections::HashMap;
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::Barrier;
use std::time::{Duration, Instant};

use ntux_platform::clock::monotonic_ns;
use ntux_platform::liveness::lineage_word;
use ntux_sync::fields::{self, Table};
use ntux_sync::inspect::why::{Case, Finding};
use ntux_sync::inspect::{
    Claim, EntryView, Keeper, LastBy, Life, Mode, Phase, Presence, Snapshot, Standing, Value, View, WaitState,
    WaitView, WaiterView,
};
use ntux_sync::spec::{Event, Mutex, Semaphore};
use ntux_sync::{Arena, Capacity, Deadline, Error, Object, WAIT_MAX};
use processors::stay_on_one_processor;
use random::Random;

const CAPACITY: Capacity = Capacity { objects: 64, waiters: 16 };
/// What does not happen within this time hangs.
const PATIENCE: Duration = Duration::from_secs(60);

fn path(arena: &Arena) -> String {
    format!("/proc/self/fd/{}", arena.fd().unwrap().as_raw_fd())
}

/// The file again, opened for reading only.
fn read_only(arena: &Arena) -> File {
    File::open(path(arena)).unwrap()
}

fn view(arena: &Arena) -> View {
    View::open(read_only(arena).as_fd()).unwrap()
}

fn look(arena: &Arena) -> Snapshot {
    view(arena).snapshot().unwrap()
}

/// Looks until it sees this.
fn look_until(view: &View, is_there: impl Fn(&Snapshot) -> bool) -> Snapshot {
    let start = Instant::now();
    loop {
        let snapshot = view.snapshot().unwrap();
        if is_there(&snapshot) {
            return snapshot;
        }
        assert!(start.elapsed() < PATIENCE, "not seen: {snapshot:#?}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn mutex(owner: u32, count: u32, abandoned: bool) -> Value {
    Value::Mutex(Mutex { owner, count, abandoned })
}

fn is_parked(waiter: &&WaiterView) -> bool {
    waiter.parked && waiter.state == WaitState::Waiting
}

/// Returns whether so many threads sleep, and not only are about to.
fn are_asleep(count: usize) -> impl Fn(&Snapshot) -> bool {
    move |snapshot| {
        let parked: Vec<_> = snapshot.waiters.iter().filter(is_parked).collect();
        parked.len() == count && parked.iter().all(|waiter| is_asleep(waiter.thread.unwrap()))
    }
}

fn is_asleep(thread: u64) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/self/task/{thread}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('S'))
}

/// Returns whether a forked child can be told from its parent: otherwise no thread names itself.
fn threads_name_themselves() -> bool {
    lineage_word().is_some()
}

/// This thread, as objects name it.
fn this_thread() -> LastBy {
    if !threads_name_themselves() {
        return LastBy::Unknown;
    }
    // SAFETY: a call without arguments.
    LastBy::Thread { peer: Some(0), thread: unsafe { libc::gettid() } as u32 }
}

/// Nobody ever slept.
#[test]
fn who_signaled_an_object_last_is_told_although_nobody_slept() {
    let arena = Arena::create(CAPACITY).unwrap();
    let waiter = arena.waiter();
    let [auto, manual] = [false, true].map(|manual| arena.event_create(&waiter, manual, false).unwrap());
    let semaphore = arena.semaphore_create(&waiter, 0, 9).unwrap();
    let last_by = |object: Object| look(&arena).object(object.0 as u32).unwrap().last_by;
    assert_eq!([auto, manual, semaphore].map(last_by), [LastBy::Nobody; 3]);
    assert_eq!(arena.wait_any(&waiter, &[manual], None, 7, Deadline::NOW), Err(Error::TimedOut));
    assert_eq!(last_by(manual), LastBy::Nobody, "looking is no signal");

    let other = std::thread::scope(|scope| {
        let signal = || {
            let waiter = arena.waiter();
            for event in [auto, manual] {
                arena.event_set(&waiter, event).unwrap();
            }
            arena.semaphore_release(&waiter, semaphore, 2).unwrap();
            this_thread()
        };
        scope.spawn(signal).join().unwrap()
    });
    assert_eq!(other == this_thread(), !threads_name_themselves());
    assert_eq!([auto, manual, semaphore].map(last_by), [other; 3]);
    // Taken, and reset, by this thread: still the other one has signaled them.
    for object in [auto, semaphore] {
        arena.wait_any(&waiter, &[object], None, 7, Deadline::NOW).unwrap();
    }
    arena.event_reset(&waiter, manual).unwrap();
    assert_eq!([auto, manual, semaphore].map(last_by), [other; 3]);

    arena.event_set(&waiter, manual).unwrap();
    arena.event_pulse(&waiter, manual).unwrap();
    arena.semaphore_release(&waiter, semaphore, 1).unwrap();
    assert_eq!([manual, semaphore].map(last_by), [this_thread(); 2]);
    arena.close(auto).unwrap();
    let next = arena.event_create(&waiter, false, false).unwrap();
    assert_eq!((next.0 as u32, last_by(next)), (auto.0 as u32, LastBy::Nobody), "a new object in the same slot");
}

#[test]
fn who_signaled_or_took_one_of_several_objects_is_told() {
    /// More than are taken with one glance at each.
    const MANY: usize = 9;
    let arena = Arena::create(CAPACITY).unwrap();
    let waiter = arena.waiter();
    let [never, event] = [(); 2].map(|()| arena.event_create(&waiter, false, false).unwrap());
    let semaphores = [(); MANY].map(|()| arena.semaphore_create(&waiter, 0, 9).unwrap());
    let mutexes = [(); MANY].map(|()| arena.mutex_create(&waiter, 0, 0).unwrap());
    let last_by = |object: Object| look(&arena).object(object.0 as u32).unwrap().last_by;
    let other = std::thread::scope(|scope| {
        let signal = || {
            let waiter = arena.waiter();
            arena.event_set(&waiter, event).unwrap();
            for semaphore in semaphores {
                arena.semaphore_release(&waiter, semaphore, 3).unwrap();
            }
            this_thread()
        };
        scope.spawn(signal).join().unwrap()
    });
    arena.wait_any(&waiter, &[never, event], None, 7, Deadline::NOW).unwrap();
    assert_eq!(last_by(event), other, "a later object of a wait for any");
    for count in [2, MANY] {
        arena.wait_all(&waiter, &semaphores[..count], None, 7, Deadline::NOW).unwrap();
        assert_eq!(semaphores.map(last_by), [other; MANY], "{count}");
        arena.wait_all(&waiter, &mutexes[..count], None, 7, Deadline::NOW).unwrap();
        assert!(mutexes[..count].iter().all(|&mutex| last_by(mutex) == this_thread()), "{count}");
    }
}

#[test]
fn who_gave_an_object_to_its_only_waiter_is_told_and_who_took_a_mutex_at_once() {
    const ROUNDS: usize = 200;
    let arena = Arena::create(CAPACITY).unwrap();
    let waiter = arena.waiter();
    let gate = arena.event_create(&waiter, false, false).unwrap();
    let mutex = arena.mutex_create(&waiter, 0, 0).unwrap();
    let last_by = |object: Object| look(&arena).object(object.0 as u32).unwrap().last_by;
    assert_eq!(last_by(mutex), LastBy::Nobody);
    arena.wait_any(&waiter, &[mutex], None, 7, Deadline::Never).unwrap();
    assert_eq!(last_by(mutex), this_thread());
    arena.wait_any(&waiter, &[mutex], None, 7, Deadline::Never).unwrap();
    arena.mutex_unlock(&waiter, mutex, 7).unwrap();
    assert_eq!(last_by(mutex), this_thread(), "it still has it");
    let who_gave: Vec<LastBy> = std::thread::scope(|scope| {
        let arena = &arena;
        scope.spawn(move || {
            let waiter = arena.waiter();
            for object in [gate; ROUNDS].into_iter().chain([mutex]) {
                arena.wait_any(&waiter, &[object], None, 8, Deadline::Never).unwrap();
            }
        });
        let view = view(arena);
        let give = |_| {
            look_until(&view, are_asleep(1));
            arena.event_set(&waiter, gate).unwrap();
            last_by(gate)
        };
        let who_gave = (0..ROUNDS).map(give).collect();
        look_until(&view, |snapshot| {
            are_asleep(1)(snapshot) && snapshot.object(mutex.0 as u32).unwrap().waiting().count() == 1
        });
        arena.mutex_unlock(&waiter, mutex, 7).unwrap();
        who_gave
    });
    assert_eq!(who_gave, [this_thread(); ROUNDS]);
    let now = look(&arena);
    let now = now.object(mutex.0 as u32).unwrap();
    assert_eq!((&now.value, now.last_by), (&self::mutex(8, 1, false), LastBy::Unknown), "not who gave it");
}

/// There the woken thread runs before its waker does anything more, and completes the operation.
#[test]
fn who_gave_an_object_is_told_by_whoever_completes_the_operation_on_one_processor() {
    // The processors of the other tests stay what they are.
    std::thread::scope(|scope| scope.spawn(signal_sleepers_on_one_processor).join().unwrap());
}

fn signal_sleepers_on_one_processor() {
    const ROUNDS: usize = 200;
    const CROWD: usize = 4;
    stay_on_one_processor().unwrap();
    let arena = Arena::create(CAPACITY).unwrap();
    let waiter = arena.waiter();
    let [gate, other] = [(); 2].map(|()| arena.event_create(&waiter, false, false).unwrap());
    let manual = arena.event_create(&waiter, true, false).unwrap();
    let semaphore = arena.semaphore_create(&waiter, 0, 9).unwrap();
    let view = view(&arena);
    let last_by = |object: Object| look(&arena).object(object.0 as u32).unwrap().last_by;
    // So many threads wait for these, and this one wakes them.
    let wake = |count: usize, objects: &[Object], all: bool, signal: &dyn Fn()| {
        std::thread::scope(|scope| {
            for owner in 1..=count as u32 {
                let (arena, objects) = (&arena, objects.to_vec());
                scope.spawn(move || match all {
                    true => arena.wait_all(&arena.waiter(), &objects, None, owner, Deadline::Never).unwrap(),
                    false => arena.wait_any(&arena.waiter(), &objects, None, owner, Deadline::Never).unwrap(),
                });
            }
            look_until(&view, are_asleep(count));
            signal();
            last_by(objects[0])
        })
    };
    let set = |event: Object| assert_eq!(arena.event_set(&waiter, event), Ok(false));
    for round in 0..ROUNDS {
        assert_eq!(wake(1, &[gate], false, &|| set(gate)), this_thread(), "the only one that waits, {round}");
        if round % CROWD != 0 {
            continue;
        }
        let release = || assert_eq!(arena.semaphore_release(&waiter, semaphore, CROWD as u32), Ok(0));
        assert_eq!(wake(CROWD, &[semaphore, other], false, &release), this_thread(), "one after the other, {round}");
        assert_eq!(wake(CROWD, &[manual, other], false, &|| set(manual)), this_thread(), "all at once, {round}");
        arena.event_reset(&waiter, manual).unwrap();
        let set_both = || [other, gate].into_iter().for_each(set);
        assert_eq!(wake(1, &[gate, other], true, &set_both), this_thread(), "who waits for two, {round}");
    }
}

/// A child has a copy of its parent's waiter, and must not name its parent.
#[test]
fn a_forked_child_does_not_sign_for_its_parent() {
    let arena = Arena::create(CAPACITY).unwrap();
    let waiter = arena.waiter();
    let [event, mine] = [(); 2].map(|()| arena.event_create(&waiter, true, false).unwrap());
    // SAFETY: the child only uses the arena, and leaves by `_exit`.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let done = arena.event_set(&waiter, event).is_ok() && arena.event_create(&waiter, true, false).is_ok();
        // By now it knows its own name.
        let done = done && arena.event_set(&waiter, mine).is_ok();
        // SAFETY: ends this process.
        unsafe { libc::_exit(i32::from(!done)) };
    }
    let mut status = 0;
    // SAFETY: our own child, and a place for the status.
    assert_eq!((unsafe { libc::waitpid(child, &mut status, 0) }, status), (child, 0));
    let last_by = |object: Object| look(&arena).object(object.0 as u32).unwrap().last_by;
    assert_eq!(last_by(event), LastBy::Unknown);
    let expected = LastBy::Thread { peer: Some(1), thread: child as u32 };
    assert_eq!(last_by(mine), if threads_name_themselves() { expected } else { LastBy::Unknown });
}

#[test]
fn objects_at_rest_are_what_their_operations_left() {
    let arena = Arena::create(CAPACITY).unwrap();
    let waiter = arena.waiter();
    let event = |manual, signaled| {
        let value = Value::Event(Event { manual, signaled });
        (arena.event_create(&waiter, manual, signaled).unwrap(), value)
    };
    let semaphore = arena.semaphore_create(&waiter, 2, 9).unwrap();
    arena.semaphore_release(&waiter, semaphore, 3).unwrap();
    let owned = arena.mutex_create(&waiter, 7, 30).unwrap();
    let abandoned = arena.mutex_create(&waiter, 8, 2).unwrap();
    arena.mutex_kill(&waiter, abandoned, 8).unwrap();
    let full = arena.mutex_create(&waiter, 9, u32::MAX).unwrap();
    let mut expected = vec![
        (semaphore, Value::Semaphore(Semaphore { count: 5, max: 9 })),
        (owned, mutex(7, 30, false)),
        (abandoned, mutex(0, 0, true)),
        (full, mutex(9, u32::MAX, false)),
        (arena.mutex_create(&waiter, 0, 0).unwrap(), mutex(0, 0, false)),
    ];
    expected.extend([event(false, false), event(false, true), event(true, false), event(true, true)]);
    let closed = arena.event_create(&waiter, false, false).unwrap();
    arena.close(closed).unwrap();

    let snapshot = look(&arena);
    let seen: Vec<_> = snapshot.objects.iter().map(|seen| (seen.object, seen.value.clone())).collect();
    assert_eq!(seen, expected);
    for object in &snapshot.objects {
        assert!(object.stable && object.queue_is_whole && object.queue.is_empty(), "{object:?}");
        assert_eq!((object.life, object.claim, object.keeper), (Life::Live, Claim::None, Keeper::Process(0)));
        assert_eq!(object.creator, Some(0));
    }
    assert_eq!((snapshot.admission.phase, snapshot.capacity), (Phase::Idle, CAPACITY));
    let [me] = snapshot.peers[..] else { panic!("{:?}", snapshot.peers) };
    assert_eq!((me.process.pid, me.presence, me.burying), (std::process::id(), Presence::Alive, false));
}

/// Its maker stopped before it was done: what stands in the slot is of the object before it.
#[test]
fn an_object_that_is_being_made_has_no_value_yet() {
    let arena = Arena::create(CAPACITY).unwrap();
    let semaphore = arena.semaphore_create(&arena.waiter(), 1, 1).unwrap();
    let slots = fields::tables(CAPACITY).unwrap()[3];
    let meta = slots.fields.iter().find(|field| field.name == "meta").unwrap();
    let state = meta.bits.iter().find(|bits| bits.name == "state").unwrap();
    let place = slots.start + slots.stride * u64::from(semaphore.0 as u32) + meta.offset as u64;
    let file = File::options().read(true).write(true).open(path(&arena)).unwrap();
    let mut word = [0; 8];
    file.read_exact_at(&mut word, place).unwrap();
    let building = u64::from_le_bytes(word) & !(state.mask() << state.shift()) | 1 << state.shift();
    file.write_all_at(&building.to_le_bytes(), place).unwrap();
    let [seen] = &look(&arena).objects[..] else { panic!("there is one slot") };
    assert_eq!((seen.object, seen.life, &seen.value), (semaphore, Life::Building, &Value::Undecided));
}

/// From 31 on the count lies in two words.
#[test]
fn every_recursion_count_is_seen_whole() {
    let arena = Arena::create(CAPACITY).unwrap();
    let waiter = arena.waiter();
    let recursive = arena.mutex_create(&waiter, 0, 0).unwrap();
    let view = view(&arena);
    let seen = || view.snapshot().unwrap().objects[0].value.clone();
    for count in 1..=100 {
        arena.wait_any(&waiter, &[recursive], None, 7, Deadline::NOW).unwrap();
        assert_eq!(seen(), mutex(7, count, false));
    }
    for count in (1..100).rev() {
        arena.mutex_unlock(&waiter, recursive, 7).unwrap();
        assert_eq!(seen(), mutex(7, count, false));
    }
}

#[test]
fn an_object_is_kept_by_its_creator_until_it_is_shared() {
    let arena = Arena::create(CAPACITY).unwrap();
    let object = arena.event_create(&arena.waiter(), false, false).unwrap();
    let view = View::open(arena.fd().unwrap()).unwrap();
    let keeper = || view.snapshot().unwrap().objects[0].keeper;
    assert_eq!(keeper(), Keeper::Process(0));
    arena.hold(object).unwrap();
    assert_eq!(keeper(), Keeper::Processes);
}

#[test]
fn an_object_of_descriptors_is_kept_by_a_family_until_one_is_closed() {
    let file = Arena::create_file(CAPACITY).unwrap();
    let arena = Arena::map_for_descriptors(file.as_fd()).unwrap();
    let waiter = arena.waiter();
    let new = ntux_sync::New::Event { manual: false, signaled: false };
    let fd = arena.descriptor_create(&waiter, file.as_fd(), new).unwrap().0;
    let view = View::open(fd.as_fd()).unwrap();
    let keeper = || view.snapshot().unwrap().objects[0].keeper;
    assert!(matches!(keeper(), Keeper::Family(_)), "{:?}", keeper());
    let object = Arena::identify(fd.as_fd()).unwrap().object.unwrap();
    arena.closing(fd.as_fd(), object);
    assert_eq!(keeper(), Keeper::Descriptors);
    assert_eq!(Arena::identify(fd.as_fd()).unwrap().object, Some(object), "looking has moved the descriptor's offset");
}

#[test]
fn threads_asleep_are_seen_with_what_they_wait_for() {
    let arena = Arena::create(CAPACITY).unwrap();
    let waiter = arena.waiter();
    let objects = [(); 6].map(|()| arena.event_create(&waiter, false, false).unwrap());
    let [first, second, alert, lonely, ..] = objects;
    let view = view(&arena);
    std::thread::scope(|scope| {
        let arena = &arena;
        scope.spawn(move || {
            let waiter = arena.waiter();
            let satisfied = arena.wait_any(&waiter, &[first, second], Some(alert), 11, Deadline::Never);
            assert_eq!(satisfied.unwrap().index, 1);
        });
        let parked =
            |count: usize| move |snapshot: &Snapshot| snapshot.waiters.iter().filter(is_parked).count() == count;
        look_until(&view, parked(1));
        scope.spawn(move || {
            let waiter = arena.waiter();
            let satisfied = arena.wait_all(&waiter, &[lonely, first], Some(alert), 12, Deadline::Never);
            assert_eq!(satisfied.unwrap().index, 2);
        });
        let snapshot = look_until(&view, parked(2));
        let wait = |owner: u32| {
            let is_its =
                |waiter: &&WaiterView| matches!(waiter.wait, WaitView::Objects { owner: its, .. } if its == owner);
            snapshot.waiters.iter().find(is_its).unwrap()
        };
        let (any, all) = (wait(11), wait(12));
        let expected = |owner, mode, objects: &[Object]| WaitView::Objects {
            owner,
            mode,
            objects: objects.to_vec(),
            alert: Some(alert),
        };
        assert_eq!(any.wait, expected(11, Mode::Any, &[first, second]));
        assert_eq!(all.wait, expected(12, Mode::All, &[lonely, first]));
        assert!(any.ticket < all.ticket && any.thread != all.thread && any.stable && all.stable);
        for waiter in [any, all] {
            let thread = waiter.thread.unwrap();
            assert!(std::path::Path::new(&format!("/proc/self/task/{thread}")).exists());
            assert_eq!(snapshot.peer(waiter.peer).unwrap().process.pid, std::process::id());
            assert_eq!(snapshot.waiter(waiter.index), Some(waiter));
        }
        let entry = |waiter: &WaiterView, all, position| EntryView {
            waiter: waiter.index,
            ticket: waiter.ticket,
            all,
            position,
            standing: Standing::Waiting,
        };
        let queue = |object: Object| snapshot.object(object.0 as u32).unwrap().queue.clone();
        assert_eq!(queue(first), [entry(any, false, 0), entry(all, true, 1)]);
        assert_eq!(queue(second), [entry(any, false, 1)]);
        assert_eq!(queue(lonely), [entry(all, true, 0)]);
        assert_eq!(queue(alert), [entry(any, false, 2), entry(all, false, 2)]);

        // The threads of a process that has ended do not wait, marked or not.
        let mut ended = snapshot.clone();
        ended.peers.iter_mut().for_each(|peer| peer.presence = Presence::Dead);
        assert_eq!((snapshot.waiting().count(), ended.waiting().count()), (2, 0));

        // A closed object is shown as long as somebody waits for it.
        arena.close(lonely).unwrap();
        let closed = view.snapshot().unwrap();
        assert_eq!(closed.object(lonely.0 as u32).map(|seen| (seen.object, seen.life)), Some((lonely, Life::Closed)));

        arena.event_set(&waiter, second).unwrap();
        arena.event_set(&waiter, alert).unwrap();
    });
    let after = view.snapshot().unwrap();
    assert_eq!(after.waiting().count(), 0, "{after:#?}");
    assert!(after.waiters.iter().all(|waiter| waiter.wait == WaitView::Nothing), "{after:#?}");
    assert!(
        after.objects.iter().all(|object| object.waiting().count() == 0) && after.object(lonely.0 as u32).is_none()
    );
}

/// What onlookers are told beside the protocol.
#[test]
fn a_sleeper_says_since_when_and_until_when_and_a_wake_who_sent_it() {
    const HOUR_NS: u64 = 3_600_000_000_000;
    const TICK_NS: u64 = 10_000_000;
    let arena = Arena::create(CAPACITY).unwrap();
    let waiter = arena.waiter();
    let [event, other] = [(); 2].map(|()| arena.event_create(&waiter, false, false).unwrap());
    let view = view(&arena);
    let start = monotonic_ns() - TICK_NS;
    let until = Deadline::Monotonic(start + HOUR_NS);
    std::thread::scope(|scope| {
        let arena = &arena;
        let wait = move |owner, objects: &'static [usize], deadline| {
            let objects: Vec<Object> = objects.iter().map(|&number| [event, other][number]).collect();
            scope.spawn(move || {
                let waiter = arena.waiter();
                arena.wait_any(&waiter, &objects, None, owner, deadline).unwrap();
                arena.retire(&waiter);
            });
        };
        wait(1, &[0], Deadline::Never);
        wait(2, &[1], until);
        let asleep = look_until(&view, |snapshot| snapshot.waiters.iter().filter(is_parked).count() == 2);
        let of = |owner| asleep.waiters.iter().find(|waiter| waiter.owner == owner).unwrap();
        assert_eq!((of(1).deadline, of(2).deadline), (Some(Deadline::Never), Some(until)));
        for waiter in &asleep.waiters {
            let since = waiter.asleep_since.unwrap();
            assert!((start..=monotonic_ns()).contains(&since), "{waiter:?}");
        }
        assert!(asleep.wakes.is_empty(), "{:?}", asleep.wakes);
        let place = of(1).index;
        arena.event_set(&waiter, event).unwrap();
        let woken = look_until(&view, |snapshot| snapshot.waiters.iter().all(|waiter| waiter.index != place));
        let [wake] = woken.wakes[..] else { panic!("{:?}", woken.wakes) };
        assert_eq!((wake.waiter, wake.object), (place, Some(event)));
        assert!((start..=monotonic_ns()).contains(&wake.at));
        assert_eq!(wake.by, this_thread());
        assert_eq!(woken.peer(0).unwrap().process.pid, std::process::id());
        arena.event_set(&waiter, other).unwrap();
    });
}

/// A time that threads take for that of a signal: up to a tick later, at most.
const TICK: Duration = Duration::from_millis(10);

/// Returns whether the last signal of this object was while the wait in each of these places lasted, and whether it was before
/// `before`.
fn when(snapshot: &Snapshot, object: Object, owners: &[u32], before: u64) -> (Vec<Option<bool>>, bool) {
    let last = snapshot.last_signal(snapshot.object(object.0 as u32).unwrap());
    let place = |owner: &u32| snapshot.waiters.iter().find(|waiter| waiter.owner == *owner).unwrap().index;
    let during = owners.iter().map(|owner| last.was_during(place(owner))).collect();
    (during, last.before.is_some_and(|noted| noted < before))
}

/// Without a log, and although the signal woke nobody.
#[test]
fn who_sleeps_tells_whether_the_last_signal_was_before_it_began_to_wait() {
    let arena = Arena::create(Capacity { objects: 128, ..CAPACITY }).unwrap();
    let waiter = arena.waiter();
    let [event, other, alert] = [(); 3].map(|()| arena.event_create(&waiter, true, false).unwrap());
    let semaphore = arena.semaphore_create(&waiter, 0, 9).unwrap();
    let view = view(&arena);
    std::thread::scope(|scope| {
        let arena = &arena;
        let wait = |count: usize, owner, objects: &[Object], all: bool, alert: Option<Object>| {
            let objects = objects.to_vec();
            scope.spawn(move || {
                let waiter = arena.waiter();
                match all {
                    true => arena.wait_all(&waiter, &objects, alert, owner, Deadline::Never).unwrap(),
                    false => arena.wait_any(&waiter, &objects, alert, owner, Deadline::Never).unwrap(),
                };
            });
            let all_sleep = |snapshot: &Snapshot| snapshot.waiters.iter().filter(is_parked).count() == count;
            // The first one may show the objects as they were before that.
            look_until(&view, all_sleep);
            look_until(&view, all_sleep)
        };
        // Set and reset by another thread, before anybody waits.
        scope
            .spawn(move || {
                let waiter = arena.waiter();
                arena.event_set(&waiter, event).unwrap();
                arena.event_reset(&waiter, event).unwrap();
                arena.semaphore_release(&waiter, semaphore, 1).unwrap();
                arena.wait_any(&waiter, &[semaphore], None, 9, Deadline::NOW).unwrap();
            })
            .join()
            .unwrap();
        std::thread::sleep(TICK * 3);
        let now = monotonic_ns();
        let seen = wait(1, 1, &[event], false, None);
        assert_eq!(
            when(&seen, event, &[1], now),
            (vec![Some(false)], false),
            "it was before that, and no earlier is known"
        );
        assert_eq!(when(&seen, event, &[1], u64::MAX), (vec![Some(false)], true));
        std::thread::sleep(TICK * 3);
        let later = monotonic_ns();
        // Others join behind it, in all ways: each changes the word.
        wait(2, 2, &[event, other], false, Some(alert));
        wait(3, 3, &[event, other], true, None);
        let seen = wait(4, 4, &[event], false, Some(alert));
        assert_eq!(when(&seen, event, &[1, 2, 3, 4], later), (vec![Some(false); 4], true), "{seen:#?}");
        // Also those for whom it is not the first one: the second, the last of many, and an alert.
        let seen = wait(5, 5, &[other, event], false, None);
        assert_eq!(when(&seen, event, &[1, 5], later), (vec![Some(false); 2], true), "{seen:#?}");
        let many: Vec<Object> = (1..WAIT_MAX).map(|_| arena.event_create(&waiter, true, false).unwrap()).collect();
        let many: Vec<Object> = many.into_iter().chain([event]).collect();
        wait(6, 6, &many, false, None);
        wait(7, 7, &many, true, None);
        let seen = wait(8, 8, &many[..WAIT_MAX - 1], false, Some(event));
        assert_eq!(when(&seen, event, &[1, 2, 3, 4, 5, 6, 7, 8], later), (vec![Some(false); 8], true), "{seen:#?}");
        for (number, &one) in many.iter().enumerate().take(WAIT_MAX - 1) {
            assert_eq!(when(&seen, one, &[6, 7, 8], u64::MAX), (vec![Some(false); 3], true), "{number}");
        }
        // Nobody has noted the version that one left behind who did not wait to the end.
        let soon = Deadline::Monotonic(monotonic_ns() + 20_000_000);
        assert_eq!(arena.wait_any(&waiter, &[event], None, 99, soon), Err(Error::TimedOut));
        let seen = view.snapshot().unwrap();
        assert_eq!(when(&seen, event, &[1, 5], u64::MAX), (vec![None, None], false));

        // A signal while two wait, which the first of them gets: so the other one has missed it.
        wait(9, 9, &[semaphore], false, None);
        let seen = wait(10, 10, &[alert, semaphore], false, None);
        assert_eq!(when(&seen, semaphore, &[9, 10], u64::MAX), (vec![Some(false); 2], true));
        arena.semaphore_release(&waiter, semaphore, 1).unwrap();
        let seen = look_until(&view, |snapshot| snapshot.waiters.iter().filter(is_parked).count() == 9);
        assert_eq!(seen.object(semaphore.0 as u32).unwrap().last_by, this_thread());
        assert_eq!(when(&seen, semaphore, &[10], u64::MAX), (vec![Some(true)], false));
        arena.semaphore_release(&waiter, semaphore, 1).unwrap();
        for object in [event, other, alert].into_iter().chain(many) {
            arena.event_set(&waiter, object).unwrap();
        }
    });
}

/// More than the object's own line holds.
#[test]
fn a_long_queue_is_seen_in_the_order_of_arrival() {
    const CROWD: usize = 50;
    let arena = Arena::create(Capacity { objects: 4, waiters: 64 }).unwrap();
    let waiter = arena.waiter();
    let event = arena.event_create(&waiter, true, false).unwrap();
    let view = view(&arena);
    std::thread::scope(|scope| {
        for owner in 1..=CROWD as u32 {
            let arena = &arena;
            scope.spawn(move || arena.wait_any(&arena.waiter(), &[event], None, owner, Deadline::Never).unwrap());
        }
        let snapshot = look_until(&view, |seen| seen.waiters.iter().filter(is_parked).count() == CROWD);
        let object = snapshot.object(event.0 as u32).unwrap();
        assert!(object.queue_is_whole && object.waiting().count() == CROWD, "{object:?}");
        assert!(object.queue.is_sorted_by_key(|entry| entry.ticket));
        arena.event_set(&waiter, event).unwrap();
    });
}

/// A slot that is used again and again: count and maximum always belong together.
#[test]
fn what_changes_while_it_is_looked_at_is_of_one_instant_or_marked() {
    let arena = Arena::create(CAPACITY).unwrap();
    let view = view(&arena);
    let (barrier, rounds) = (Barrier::new(2), 20_000);
    std::thread::scope(|scope| {
        let maker = scope.spawn(|| {
            let waiter = arena.waiter();
            barrier.wait();
            for number in 1..=rounds {
                let semaphore = arena.semaphore_create(&waiter, number, number).unwrap();
                arena.close(semaphore).unwrap();
                let recursive = arena.mutex_create(&waiter, number, number).unwrap();
                arena.close(recursive).unwrap();
            }
        });
        barrier.wait();
        while !maker.is_finished() {
            for object in view.snapshot().unwrap().objects {
                if !object.stable || object.life != Life::Live {
                    continue;
                }
                match object.value {
                    Value::Semaphore(Semaphore { count, max }) => assert_eq!(count, max),
                    Value::Mutex(Mutex { owner, count, .. }) => assert_eq!(owner, count),
                    other => panic!("{other:?}"),
                }
            }
        }
    });
}

fn blocks(file: &File) -> u64 {
    file.metadata().unwrap().blocks()
}

#[test]
fn looking_gives_no_memory_to_the_arena_and_changes_none() {
    let arena = Arena::create(Capacity::default()).unwrap();
    let waiter = arena.waiter();
    arena.semaphore_create(&waiter, 1, 2).unwrap();
    let file = read_only(&arena);
    // Everything is said to be in use: nearly all of it has no memory.
    let writable = File::options().write(true).open(format!("/proc/self/fd/{}", file.as_raw_fd())).unwrap();
    for name in ["object_pool.fresh", "waiter_pool.fresh", "chunk_pool.fresh"] {
        writable.write_all_at(&u32::MAX.to_le_bytes(), offset_in_header(name)).unwrap();
    }
    let before = blocks(&file);
    let snapshot = View::open(file.as_fd()).unwrap().snapshot().unwrap();
    assert_eq!((snapshot.objects.len(), blocks(&file)), (1, before));
}

fn offset_in_header(name: &str) -> u64 {
    let [header, ..] = fields::tables(CAPACITY).unwrap();
    header.fields.iter().find(|field| field.name == name).unwrap().offset as u64
}

fn length() -> usize {
    let [.., Table { start, stride, count, .. }] = fields::tables(CAPACITY).unwrap();
    (start + stride * u64::from(count)).next_multiple_of(4096) as usize
}

impl Random {
    /// Small numbers are indices, flags and states; others hit bounds.
    fn word(&mut self, style: u64) -> u64 {
        match (style, self.next() % 4) {
            (0, _) => self.next(),
            (1, 0 | 1) => self.next() % 80,
            (1, 2) => (self.next() % 8) << (self.next() % 64),
            (1, _) => u64::MAX >> (self.next() % 64),
            (_, 0) => self.next(),
            _ => 0,
        }
    }
}

/// A sealed file with these bytes.
fn file(bytes: &[u8], seals: i32) -> OwnedFd {
    // SAFETY: a terminated name; the descriptor was made just now.
    let fd = unsafe { OwnedFd::from_raw_fd(libc::memfd_create(c"rubbish".as_ptr(), libc::MFD_ALLOW_SEALING)) };
    File::from(fd.try_clone().unwrap()).write_all_at(bytes, 0).unwrap();
    seal(fd.as_fd(), seals);
    fd
}

/// Linux refuses to forbid writes while it moves a page of the file, say, and uses it itself.
fn seal(fd: BorrowedFd<'_>, seals: i32) {
    const ATTEMPTS: usize = 100;
    for _ in 0..ATTEMPTS {
        // SAFETY: seals a file of the test's own.
        if unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_ADD_SEALS, seals) } == 0 {
            return;
        }
        let error = std::io::Error::last_os_error();
        assert_eq!(error.raw_os_error(), Some(libc::EBUSY), "{error}");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("the kernel uses the pages all the time");
}

fn bytes_of(file: &File) -> Vec<u8> {
    let mut bytes = vec![0; file.metadata().unwrap().len() as usize];
    file.read_exact_at(&mut bytes, 0).unwrap();
    bytes
}

#[test]
fn rubbish_is_called_so_and_harms_nobody() {
    let good = bytes_of(&read_only(&Arena::create(CAPACITY).unwrap()));
    assert_eq!(good.len(), length());
    let (mut objects, mut rubbish) = (0, 0);
    for seed in 0..600 {
        let mut random = Random(seed);
        let mut bytes = good.clone();
        for at in (24..bytes.len()).step_by(8) {
            let word = random.word(seed % 3).to_le_bytes();
            bytes[at..at + 8].copy_from_slice(&word);
        }
        let sealed = file(&bytes, libc::F_SEAL_SHRINK | libc::F_SEAL_WRITE);
        let only = File::open(format!("/proc/self/fd/{}", sealed.as_raw_fd())).unwrap();
        let snapshot = View::open(only.as_fd()).unwrap().snapshot().unwrap();
        assert_eq!(bytes_of(&only), bytes);
        objects += snapshot.objects.len();
        assert!(snapshot.objects.len() <= CAPACITY.objects as usize);
        assert!(snapshot.waiters.len() <= CAPACITY.waiters as usize);
        let chunks = fields::tables(CAPACITY).unwrap()[4].count as usize;
        let entries: usize = snapshot.objects.iter().map(|object| object.queue.len()).sum();
        assert!(entries <= 3 * CAPACITY.objects as usize + 31 * chunks, "a chunk was read twice");
        for finding in Case::new(&snapshot, &snapshot, HashMap::new()).findings() {
            let Finding::Deadlock { ring, .. } = finding else { continue };
            assert!(ring.iter().all(|link| snapshot.waiter(link.waiter).is_some()), "{ring:?}");
        }
        rubbish += usize::from(snapshot.admission.phase == Phase::Rubbish);
        rubbish += snapshot.waiters.iter().filter(|waiter| waiter.wait == WaitView::Rubbish).count();
        for object in &snapshot.objects {
            rubbish += usize::from(object.value == Value::Rubbish || object.life == Life::Rubbish);
            rubbish += usize::from(object.claim == Claim::Rubbish || !object.queue_is_whole);
            rubbish += object.queue.iter().filter(|entry| entry.standing == Standing::Rubbish).count();
        }
    }
    assert!(objects > 1_000 && rubbish > 1_000, "{objects} objects, {rubbish} times rubbish");
}

#[track_caller]
fn refused(fd: &OwnedFd) {
    assert_eq!(View::open(fd.as_fd()).err(), Some(Error::NotAnArena));
}

#[test]
fn what_is_no_arena_is_refused() {
    let good = bytes_of(&read_only(&Arena::create(CAPACITY).unwrap()));
    assert!(View::open(file(&good, libc::F_SEAL_SHRINK).as_fd()).is_ok());
    refused(&file(&good, 0));
    for length in [0, 8, 23, 24, 4096, good.len() - 1] {
        refused(&file(&good[..length], libc::F_SEAL_SHRINK));
    }
    for (place, name) in [(0, "magic"), (8, "version"), (12, "fingerprint")] {
        assert_eq!(offset_in_header(name), place as u64);
        let mut bytes = good.clone();
        bytes[place] ^= 1;
        refused(&file(&bytes, libc::F_SEAL_SHRINK));
    }
    for path in ["/dev/null", "/", "/proc/self/exe"] {
        refused(&File::open(path).unwrap().into());
    }
}
