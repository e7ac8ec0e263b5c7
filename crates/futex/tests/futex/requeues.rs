// SPDX-License-Identifier: MIT OR Apache-2.0
//! Moving waiters from one futex to another.

use std::thread;

use ntux_futex::{Error, Exactness, Expected, Operation, requeue, wait, wake};

use crate::kind::{Bytes, Kind, ability, is_exact, kinds};
use crate::sleepers::{ANY, Sleepers};

fn can_wait(kind: &Kind) -> bool {
    is_exact(*kind) && !matches!(ability(Operation::Wait(kind.0, kind.1)), Exactness::Refused(_))
}

/// Returns whether waiters are moved, not woken instead.
fn moves(from: Kind, to: Kind) -> bool {
    !matches!(ability(Operation::Requeue(from, to)), Exactness::Approximate(how) if how.contains("woken"))
}

fn pairs() -> impl Iterator<Item = (Kind, Kind)> {
    kinds().filter(can_wait).flat_map(|from| kinds().filter(can_wait).map(move |to| (from, to)))
}

#[test]
fn waiters_move_between_all_kinds_and_queue_behind_those_who_are_there() {
    for (from, to) in pairs() {
        let (one, other) = (Bytes::default(), Bytes::default());
        thread::scope(|scope| {
            let mut sleepers = Sleepers::new(scope);
            sleepers.wait(other.expect(to, 0), ANY);
            (0..4).for_each(|_| sleepers.wait(one.expect(from, 0), ANY));
            assert_eq!(requeue(one.expect(from, 1), other.futex(to, 0), 1, 2), Err(Error::Differs), "{from:?} {to:?}");
            let served = requeue(one.expect(from, 0), other.futex(to, 0), 1, 2);
            assert_eq!(served, Ok(3), "{from:?} {to:?}");
            if !moves(from, to) {
                assert_eq!(sleepers.woken(3), [1, 2, 3]);
                assert_eq!(wake(other.futex(to, 0), 9, ANY), Ok(1));
                assert_eq!(wake(one.futex(from, 0), 9, ANY), Ok(1));
                assert_eq!(sleepers.woken(2), [0, 4]);
                return;
            }
            assert_eq!(sleepers.woken(1), [1]);
            assert_eq!(wake(other.futex(to, 0), 1, ANY), Ok(1), "{from:?} {to:?}");
            assert_eq!(sleepers.woken(1), [0], "it was there first");
            assert_eq!(wake(other.futex(to, 0), 1, ANY), Ok(1));
            assert_eq!(sleepers.woken(1), [2]);
            assert_eq!(wake(one.futex(from, 0), 9, ANY), Ok(1));
            assert_eq!(sleepers.woken(1), [4]);
            assert_eq!(wake(other.futex(to, 0), 9, ANY), Ok(1));
            assert_eq!(sleepers.woken(1), [3]);
        });
    }
}

#[test]
fn onto_itself_it_counts_and_keeps_the_order() {
    for kind in kinds().filter(can_wait) {
        if !moves(kind, kind) {
            continue;
        }
        let word = Bytes::default();
        thread::scope(|scope| {
            let mut sleepers = Sleepers::new(scope);
            (0..3).for_each(|_| sleepers.wait(word.expect(kind, 0), ANY));
            assert_eq!(requeue(word.expect(kind, 0), word.futex(kind, 0), 1, 9), Ok(3), "{kind:?}");
            assert_eq!(sleepers.woken(1), [0]);
            assert_eq!(wake(word.futex(kind, 0), 1, ANY), Ok(1));
            assert_eq!(sleepers.woken(1), [1]);
            assert_eq!(wake(word.futex(kind, 0), 9, ANY), Ok(1));
            assert_eq!(sleepers.woken(1), [2]);
        });
    }
}

#[test]
fn an_entry_that_was_moved_keeps_its_index_and_a_moved_waiter_its_bitset() {
    for (from, to) in pairs() {
        let kinds = [from; 3];
        if !moves(from, to) || matches!(ability(Operation::WaitAny(&kinds)), Exactness::Refused(_)) {
            continue;
        }
        let words: [Bytes; 5] = Default::default();
        thread::scope(|scope| {
            let mut sleepers = Sleepers::new(scope);
            let entries: Vec<Expected> = words[..3].iter().map(|word| word.expect(from, 0)).collect();
            sleepers.wait_any(entries.clone());
            let (last, target) = (words[3].futex(from, 0), words[4].futex(to, 0));
            assert_eq!(requeue(entries[1], last, 0, 9), Ok(1), "{from:?} {to:?}");
            assert_eq!(requeue(entries[2], target, 0, 9), Ok(1));
            assert_eq!(requeue(words[3].expect(from, 0), target, 0, 9), Ok(1), "moved twice");
            assert_eq!(wake(entries[1].futex(), 9, ANY), Ok(0));
            assert_eq!(wake(target, 1, ANY), Ok(1));
            let (_, index) = sleepers.next();
            let exact = ability(Operation::Requeue(from, to)) == Exactness::Exact;
            assert!(index == Ok(2) || (!exact && index == Ok(1)), "first moved, first woken: {index:?}");
        });
        assert_eq!(words.iter().map(|word| wake(word.futex(from, 0), 9, ANY)).collect::<Vec<_>>(), [Ok(0); 5]);
        if ability(Operation::Bitset(from.0, from.1)) == Exactness::Exact
            && ability(Operation::Bitset(to.0, to.1)) == Exactness::Exact
        {
            a_moved_waiter_keeps_its_bitset(from, to);
        }
    }
}

fn a_moved_waiter_keeps_its_bitset(from: Kind, to: Kind) {
    let (one, other) = (Bytes::default(), Bytes::default());
    thread::scope(|scope| {
        let mut sleepers = Sleepers::new(scope);
        sleepers.wait(one.expect(from, 0), 2);
        assert_eq!(requeue(one.expect(from, 0), other.futex(to, 0), 0, 1), Ok(1));
        assert_eq!(wake(other.futex(to, 0), 1, 1), Ok(0), "{from:?} {to:?}");
        assert_eq!(wake(other.futex(to, 0), 1, 2), Ok(1));
        assert_eq!(sleepers.woken(1), [0]);
    });
}

#[test]
fn a_moved_waiter_can_time_out() {
    for (from, to) in pairs().filter(|&(from, to)| moves(from, to)) {
        let (one, other) = (Bytes::default(), Bytes::default());
        thread::scope(|scope| {
            let waits = scope.spawn(|| {
                let deadline = crate::sleepers::after(std::time::Duration::from_millis(5));
                wait(one.expect(from, 0), ANY, deadline)
            });
            while !waits.is_finished() && requeue(one.expect(from, 0), other.futex(to, 0), 0, 1) != Ok(1) {}
            assert_eq!(waits.join().expect("no panic"), Err(Error::TimedOut), "{from:?} {to:?}");
        });
        assert_eq!(wake(other.futex(to, 0), 9, ANY), Ok(0));
    }
}
