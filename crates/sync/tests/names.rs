// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names: how many there can be, what races for one leave behind, and what onlookers see.
#![cfg(target_os = "linux")]

use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::sync::Barrier;

use ntux_sync::inspect::View;
use ntux_sync::{Arena, Capacity, Error, Kind, Name, New, Object};

const AUTO: New = New::Event { manual: false, signaled: false };

fn arena(objects: u32) -> Arena {
    Arena::create(Capacity { objects, waiters: 8 }).unwrap()
}

fn create(arena: &Arena, name: &str) -> Result<(Object, bool), Error> {
    arena.create_named(&arena.waiter(), Name::new(name)?, AUTO)
}

fn open(arena: &Arena, name: &str) -> Result<Object, Error> {
    arena.open_named(Name::new(name)?, Kind::AutoEvent)
}

fn bytes_of(arena: &Arena) -> u64 {
    let file = std::fs::metadata(format!("/proc/self/fd/{}", arena.fd().unwrap().as_raw_fd())).unwrap();
    file.blocks() * 512
}

#[test]
fn as_many_objects_as_promised_have_names() {
    for count in [1, 100, 1_000, 32_000] {
        let arena = arena(count);
        let waiter = arena.waiter();
        let name = |number: u32| format!("Local\\object {number}");
        let create = |number| arena.create_named(&waiter, Name::new(&name(number)).unwrap(), AUTO);
        let objects: Vec<Object> = (0..count).map(|number| create(number).unwrap().0).collect();
        assert_eq!(create(count), Err(Error::Exhausted));
        for (number, object) in (0..count).zip(&objects) {
            assert_eq!(create(number), Ok((*object, true)));
        }
        // Each place can be another name's.
        objects.iter().for_each(|object| arena.close(*object).unwrap());
        for number in 0..count {
            assert_eq!(open(&arena, &name(number)), Err(Error::NoSuchName));
            assert!(create(number + count).is_ok_and(|(_, existed)| !existed));
        }
    }
}

#[test]
fn more_names_than_that_are_refused_and_nothing_is_left_of_them() {
    let arena = arena(100_000);
    let waiter = arena.waiter();
    let create = |number: u32| arena.create_named(&waiter, Name::new(&number.to_string()).unwrap(), AUTO);
    let refused = (0..100_000).find(|number| create(*number) == Err(Error::Exhausted)).expect("it is full");
    assert!(refused > 32_000, "{refused}");
    assert_eq!(open(&arena, &refused.to_string()), Err(Error::NoSuchName));
    // The objects that got no name are free.
    (refused..100_000).for_each(|_| assert!(arena.event_create(&waiter, false, false).is_ok()));
    assert_eq!(arena.event_create(&waiter, false, false), Err(Error::Exhausted));
}

#[test]
fn races_for_a_name_have_one_winner_and_leave_nothing() {
    const THREADS: usize = 4;
    const ROUNDS: usize = 2_000;
    let arena = arena(64);
    let barrier = Barrier::new(THREADS);
    let results: Vec<Vec<(Object, bool)>> = std::thread::scope(|scope| {
        let race = || {
            (0..ROUNDS)
                .map(|round| {
                    barrier.wait();
                    let got = create(&arena, &format!("race {}", round % 3)).unwrap();
                    barrier.wait();
                    arena.release(got.0).unwrap();
                    got
                })
                .collect()
        };
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(race)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    for round in 0..ROUNDS {
        let (object, _) = results[0][round];
        assert!(results.iter().all(|all| all[round].0 == object), "round {round}");
        assert_eq!(results.iter().filter(|all| !all[round].1).count(), 1, "round {round}");
    }
    (0..64).for_each(|_| assert!(arena.event_create(&arena.waiter(), false, false).is_ok()));
}

#[test]
fn an_arena_does_not_grow_with_the_names_that_were_used() {
    let arena = arena(1 << 20);
    let once = |number: u32| {
        let (object, existed) = create(&arena, &format!("job {number}")).unwrap();
        assert!(!existed);
        arena.release(object).unwrap();
    };
    (0..200_000).for_each(once);
    let before = bytes_of(&arena);
    (200_000..400_000).for_each(once);
    assert_eq!(bytes_of(&arena), before);
    let (without, before) = (self::arena(1 << 20), bytes_of(&self::arena(1 << 20)));
    assert_eq!(open(&without, "nothing"), Err(Error::NoSuchName));
    assert!(bytes_of(&without) <= before + 3 * 4096, "looking takes memory for the caller's own entry alone");
}

#[test]
fn onlookers_see_the_names_of_the_living() {
    let arena = arena(8);
    let (object, _) = create(&arena, "seen").unwrap();
    let rubbish = arena.create_named(&arena.waiter(), Name::new(&[b'a', 0xff]).unwrap(), AUTO).unwrap().0;
    let (gone, _) = create(&arena, "gone").unwrap();
    arena.close(gone).unwrap();
    let plain = arena.event_create(&arena.waiter(), false, false).unwrap();
    let snapshot = View::open(arena.fd().unwrap()).unwrap().snapshot().unwrap();
    let name = |object: Object| snapshot.seen(object).map(|seen| seen.name.as_deref());
    assert_eq!(
        [name(object), name(rubbish), name(plain), name(gone)],
        [Some(Some("seen")), Some(Some("a\u{fffd}")), Some(None), None]
    );
}
