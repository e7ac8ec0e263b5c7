// SPDX-License-Identifier: MIT OR Apache-2.0
//! The smallest memories that once broke a victim.

use ntux_sync::{Arena, Capacity};

use super::file::ArenaFile;

const CAPACITY: Capacity = Capacity { objects: 4, waiters: 4 };
const OWNER: u32 = 1;
const WAITING: u128 = 1;
/// See `object_word.rs`.
const CLAIMED_BY_ORIGIN_IDLE: u128 = 0x1_fffd;
/// See `admission_word.rs`.
const TRY: u128 = 3;
const SET: u128 = 1;

fn arena() -> (Arena, ArenaFile) {
    let arena = Arena::create(CAPACITY).unwrap();
    let file = ArenaFile::open(arena.fd().unwrap(), CAPACITY).unwrap();
    (arena, file)
}

/// A wait-all waiter is being tried for an object that is at the same time the origin of the operation that tries it,
/// and that offers nothing. Helping the object meant helping the operation, which meant helping the object.
#[test]
fn an_operation_that_claims_its_candidates_object_for_nothing_ends() {
    let (arena, file) = arena();
    let waiter = arena.waiter();
    let event = arena.event_create(&waiter, false, false).unwrap();
    let [requester, candidate] = [1, 2];
    file.store(file.word("waiters", requester, "request_object", 0), event.0.into());
    file.set(file.word("waiters", requester, "request", 0), &[("signal", SET)]);
    file.store(file.word("waiters", candidate, "list", 0), event.0.into());
    file.set(file.word("waiters", candidate, "wait", 0), &[("count", 1), ("owner", OWNER.into())]);
    let open = [("state", WAITING), ("thread", 1), ("ticket", 9), ("open", 1), ("code", 1), ("argument", 5)];
    file.set(file.word("waiters", candidate, "word", 0), &open);
    let operation = [
        ("phase", TRY),
        ("attempt", 5),
        ("step", 1),
        ("requester", requester.into()),
        ("candidate", candidate.into()),
        ("ticket", 9),
    ];
    file.set(file.word("header", 0, "admission", 0), &operation);
    let index = event.0 as u32;
    file.set(file.word("objects", index, "word", 0), &[("claimant", CLAIMED_BY_ORIGIN_IDLE), ("tag", 3)]);

    let _ = arena.event_set(&waiter, event);
    assert_eq!(arena.event_read(&waiter, event).map(|(manual, _)| manual), Ok(false));
}

/// A ring of chunks full of waiters who are all to be served one after the other, after a pass over the whole ring for
/// every few of them; it seems as long as all chunks together. In the core that ships giving up takes seconds, too long
/// for here.
#[cfg(ntux_explore)]
#[test]
fn a_release_over_a_bag_without_end_gives_up() {
    let capacity = Capacity { objects: 4, waiters: 1 << 16 };
    let arena = Arena::create(capacity).unwrap();
    let file = ArenaFile::open(arena.fd().unwrap(), capacity).unwrap();
    let waiter = arena.waiter();
    let semaphore = arena.semaphore_create(&waiter, 0, u32::MAX).unwrap();
    let (mut next, ring) = (0..1 << 16, 1 << 11);
    for chunk in 0..ring {
        file.store(file.word("chunks", chunk, "next", 0), u128::from((chunk + 1) % ring) + 1);
        for (place, waiting) in (0..31).zip(next.by_ref()) {
            let parts = [("waiter", waiting), ("ticket", waiting + 1), ("position", 0)];
            file.set(file.word("chunks", chunk, "wait_set", place), &parts);
            file.store(file.word("waiters", waiting as u32, "list", 0), semaphore.0.into());
            let parts = [("state", WAITING), ("thread", 1), ("ticket", waiting + 1)];
            file.set(file.word("waiters", waiting as u32, "word", 0), &parts);
        }
    }
    file.store(file.word("objects", semaphore.0 as u32, "chunk", 0), 1);
    file.set(file.word("objects", semaphore.0 as u32, "word", 0), &[("W", 1)]);
    assert_eq!(arena.semaphore_release(&waiter, semaphore, u32::MAX), Err(ntux_sync::Error::Corrupt));
}
