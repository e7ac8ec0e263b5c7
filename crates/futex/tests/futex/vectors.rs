// SPDX-License-Identifier: MIT OR Apache-2.0
//! Waiting for one of several futexes.

use std::thread;

use ntux_futex::{Deadline, Error, Exactness, Expected, Operation, Size, VECTOR_MAX, wait_any, wait_multiple, wake};

use crate::kind::{Bytes, Kind, ability, exact, kinds};
use crate::sleepers::{ANY, Sleepers};

fn is_possible(kinds: &[Kind]) -> bool {
    !matches!(ability(Operation::WaitAny(kinds)), Exactness::Refused(_))
}

#[test]
fn every_entry_of_a_mixed_vector_can_be_woken() {
    let kinds: Vec<Kind> = kinds().collect();
    for first in &kinds {
        for second in &kinds {
            let pair = [*first, *second];
            let (one, other) = (Bytes::default(), Bytes::default());
            let entries = [one.expect(*first, 0), other.expect(*second, 0)];
            if !is_possible(&pair) {
                assert_eq!(wait_any(&entries, Deadline::NOW), Err(Error::Refused), "{pair:?}");
                continue;
            }
            thread::scope(|scope| {
                let mut sleepers = Sleepers::new(scope);
                for (index, entry) in entries.iter().enumerate() {
                    sleepers.wait_any(entries.to_vec());
                    assert_eq!(wake(entry.futex(), 9, ANY), Ok(1), "{pair:?}");
                    assert_eq!(sleepers.next(), (index, Ok(index)));
                }
            });
            assert_eq!(wake(entries[0].futex(), 9, ANY), Ok(0), "who was woken has left all lines");
            assert_eq!(wake(entries[1].futex(), 9, ANY), Ok(0));
        }
    }
}

#[test]
fn a_vector_takes_128_entries_and_no_more() {
    for kind in kinds().filter(|&kind| is_possible(&[kind; VECTOR_MAX])) {
        let words: Vec<Bytes> = (0..=VECTOR_MAX).map(|_| Bytes::default()).collect();
        let entries: Vec<Expected> = words.iter().map(|word| word.expect(kind, 0)).collect();
        assert_eq!(wait_any(&entries, Deadline::NOW), Err(Error::Invalid), "{kind:?}");
        assert_eq!(wait_any(&[], Deadline::NOW), Err(Error::Invalid));
        thread::scope(|scope| {
            let mut sleepers = Sleepers::new(scope);
            sleepers.wait_any(entries[..VECTOR_MAX].to_vec());
            assert_eq!(wake(entries[VECTOR_MAX - 1].futex(), 1, ANY), Ok(1), "{kind:?}");
            assert_eq!(sleepers.next(), (0, Ok(VECTOR_MAX - 1)));
        });
    }
}

#[test]
fn one_differing_word_ends_the_wait_and_consumes_no_wake() {
    for kind in kinds().filter(|&kind| is_possible(&[kind; 2])) {
        let (one, other) = (Bytes::default(), Bytes::default());
        let entries = [one.expect(kind, 0), other.expect(kind, 1)];
        assert_eq!(wait_any(&entries, Deadline::NOW), Err(Error::Differs), "{kind:?}");
        assert_eq!(wait_any(&entries, Deadline::Never), Err(Error::Differs));
        assert_eq!(wake(one.futex(kind, 0), 1, ANY), Ok(0));
    }
}

#[test]
fn a_futex_may_stand_there_often() {
    for kind in kinds().filter(|&kind| is_possible(&[kind; 3])) {
        let word = Bytes::default();
        thread::scope(|scope| {
            let mut sleepers = Sleepers::new(scope);
            sleepers.wait_any(vec![word.expect(kind, 0); 3]);
            assert_eq!(wake(word.futex(kind, 0), 1, ANY), Ok(1), "{kind:?}");
            assert_eq!(sleepers.next(), (0, Ok(0)));
        });
    }
}

#[test]
fn a_wake_passes_over_entries_whose_bitsets_it_does_not_meet() {
    for kind in kinds() {
        let (one, other) = (Bytes::default(), Bytes::default());
        let blocks = [(one.expect(kind, 0), 0b01), (other.expect(kind, 0), 0b10)];
        assert_eq!(wait_multiple(&[blocks[0], (blocks[1].0, 0)], Deadline::NOW), Err(Error::Invalid), "{kind:?}");
        assert_eq!(wait_multiple(&[], Deadline::NOW), Err(Error::Invalid));
        if ability(Operation::WaitAny(&[kind; 2])) != Exactness::Exact {
            assert_eq!(wait_multiple(&blocks, Deadline::NOW), Err(Error::Refused), "{kind:?}: the kernel has no such");
            continue;
        }
        thread::scope(|scope| {
            let mut sleepers = Sleepers::new(scope);
            sleepers.wait_multiple(blocks.to_vec());
            assert_eq!(wake(one.futex(kind, 0), 9, 0b10), Ok(0), "{kind:?}");
            assert_eq!(wake(other.futex(kind, 0), 9, 0b11), Ok(1), "{kind:?}");
            assert_eq!(sleepers.next(), (0, Ok(1)));
        });
    }
}

#[test]
fn a_single_block_is_a_wait_with_a_bitset() {
    for kind in exact().filter(|&(size, _)| size == Size::Bits32) {
        let word = Bytes::default();
        thread::scope(|scope| {
            let mut sleepers = Sleepers::new(scope);
            sleepers.wait_multiple(vec![(word.expect(kind, 0), 0b01)]);
            assert_eq!(wake(word.futex(kind, 0), 9, 0b10), Ok(0), "{kind:?}");
            assert_eq!(wake(word.futex(kind, 0), 9, 0b01), Ok(1), "{kind:?}");
            assert_eq!(sleepers.next(), (0, Ok(0)));
        });
    }
}
