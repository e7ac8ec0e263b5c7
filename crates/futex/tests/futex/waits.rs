// SPDX-License-Identifier: MIT OR Apache-2.0
//! Wait and wake, one futex at a time.

use std::sync::atomic::{AtomicU8, AtomicU64};
use std::thread;
use std::time::Duration;

use ntux_futex::{Deadline, Error, Exactness, Expected, Operation, Scope, Size, Word, wait, wait_after_spin, wake};

use crate::kind::{Bytes, ability, exact, possible, value};
use crate::sleepers::{ANY, Sleepers, after, soon, until_ended};

#[test]
fn a_wake_wakes_as_many_as_it_says_first_come_first_served() {
    for kind in exact() {
        let bytes = Bytes::default();
        bytes.store(kind.0, 0, value(kind.0));
        thread::scope(|scope| {
            let mut sleepers = Sleepers::new(scope);
            (0..5).for_each(|_| sleepers.wait(bytes.expect(kind, value(kind.0)), ANY));
            let futex = bytes.futex(kind, 0);
            assert_eq!(wake(futex, 0, ANY), Ok(0), "{kind:?}");
            assert_eq!(wake(futex, 1, ANY), Ok(1));
            assert_eq!(sleepers.woken(1), [0]);
            assert_eq!(wake(futex, 2, ANY), Ok(2));
            assert_eq!(sleepers.woken(2), [1, 2]);
            sleepers.nobody();
            assert_eq!(wake(futex, 9, ANY), Ok(2));
            assert_eq!(sleepers.woken(2), [3, 4]);
            assert_eq!(wake(futex, 9, ANY), Ok(0));
        });
    }
}

#[test]
fn a_word_that_differs_wins_over_a_deadline_that_has_passed() {
    for kind in possible() {
        let bytes = Bytes::default();
        let top = 1 << (kind.0.bits() - 1);
        bytes.store(kind.0, 0, top);
        for deadline in [Deadline::Never, Deadline::NOW, Deadline::Monotonic(1), Deadline::Realtime(1)] {
            assert_eq!(wait(bytes.expect(kind, 0), ANY, deadline), Err(Error::Differs), "{kind:?} {deadline:?}");
        }
        for deadline in [Deadline::NOW, Deadline::Monotonic(1), Deadline::Realtime(1), after(Duration::from_millis(1))]
        {
            let ended = until_ended(|| wait(bytes.expect(kind, top), ANY, deadline));
            assert_eq!(ended, Err(Error::TimedOut), "{kind:?} {deadline:?}");
        }
        assert_eq!(wake(bytes.futex(kind, 0), 9, ANY), Ok(0), "who timed out has left");
    }
}

#[test]
fn neighbours_of_the_same_size_never_take_each_others_wakes() {
    for kind in exact().filter(|(size, _)| *size != Size::Bits64) {
        let bytes = Bytes::default();
        let count = 8 / kind.0.bytes();
        thread::scope(|scope| {
            let mut sleepers = Sleepers::new(scope);
            let expect = |index| Expected::new(bytes.futex(kind, index), 0).expect("it fits");
            (0..count).for_each(|index| sleepers.wait(expect(index), ANY));
            for index in (0..count).rev() {
                assert_eq!(wake(bytes.futex(kind, index), 9, ANY), Ok(1), "{kind:?} {index}");
                assert_eq!(sleepers.woken(1), [index]);
            }
        });
    }
}

#[test]
fn a_waiter_whose_neighbours_never_rest_waits_all_the_same() {
    for kind in possible().filter(|(size, _)| *size < Size::Bits32) {
        let bytes = Bytes::default();
        let stop = AtomicU8::new(0);
        thread::scope(|scope| {
            scope.spawn(|| {
                for value in 0u64.. {
                    bytes.store(kind.0, 1, value & 0xff);
                    if stop.load(std::sync::atomic::Ordering::SeqCst) == 1 {
                        break;
                    }
                }
            });
            let soon = after(Duration::from_millis(3));
            assert_eq!(until_ended(|| wait(bytes.expect(kind, 0), ANY, soon)), Err(Error::TimedOut));
            stop.store(1, std::sync::atomic::Ordering::SeqCst);
        });
    }
}

#[test]
fn private_and_shared_futexes_and_sizes_do_not_meet() {
    for (size, scope) in exact() {
        let bytes = Bytes::default();
        let other = if scope == Scope::Private { Scope::Shared } else { Scope::Private };
        thread::scope(|threads| {
            let mut sleepers = Sleepers::new(threads);
            sleepers.wait(bytes.expect((size, scope), 0), ANY);
            assert_eq!(wake(bytes.futex((size, other), 0), 9, ANY), Ok(0));
            assert_eq!(wake(bytes.futex((size, scope), 0), 9, ANY), Ok(1));
            assert_eq!(sleepers.woken(1), [0]);
        });
    }
}

#[test]
fn bitsets_choose_who_is_woken() {
    for (size, scope) in exact() {
        let bytes = Bytes::default();
        let futex = bytes.futex((size, scope), 0);
        if let Exactness::Refused(_) = ability(Operation::Bitset(size, scope)) {
            assert_eq!(wake(futex, 1, 1), Err(Error::Refused));
            assert_eq!(wait(bytes.expect((size, scope), 0), 1, Deadline::NOW), Err(Error::Refused));
            continue;
        }
        thread::scope(|threads| {
            let mut sleepers = Sleepers::new(threads);
            (1..=4).for_each(|mask| sleepers.wait(bytes.expect((size, scope), 0), mask));
            assert_eq!(wake(futex, 9, 8), Ok(0));
            assert_eq!(wake(futex, 1, 2), Ok(1));
            assert_eq!(sleepers.woken(1), [1]);
            assert_eq!(wake(futex, 9, 1), Ok(2));
            assert_eq!(sleepers.woken(2), [0, 2]);
            assert_eq!(wake(futex, 9, ANY), Ok(1));
            assert_eq!(sleepers.woken(1), [3]);
        });
    }
}

#[test]
fn a_change_of_the_high_half_alone_is_seen() {
    if let Exactness::Refused(_) = ability(Operation::Wait(Size::Bits64, Scope::Private)) {
        return println!("no 64-bit futexes with these mechanisms: tested elsewhere that they are refused");
    }
    const ROUNDS: u64 = 20_000;
    let word = AtomicU64::new(0);
    thread::scope(|scope| {
        crate::sleepers::watchdog();
        scope.spawn(|| {
            for round in 1..=ROUNDS {
                word.store(round << 32, std::sync::atomic::Ordering::SeqCst);
                word.notify_all();
            }
        });
        let mut seen = 0;
        while seen != ROUNDS << 32 {
            let _ = word.wait(seen, Deadline::Never);
            seen = word.load(std::sync::atomic::Ordering::SeqCst);
        }
    });
}

#[test]
fn a_spin_before_the_wait_changes_no_result() {
    for kind in possible() {
        let bytes = Bytes::default();
        bytes.store(kind.0, 0, value(kind.0));
        let (wrong, right) = (bytes.expect(kind, 0), bytes.expect(kind, value(kind.0)));
        assert_eq!(wait_after_spin(wrong, ANY, Deadline::NOW), Err(Error::Differs), "{kind:?}");
        for deadline in [Deadline::NOW, Deadline::Monotonic(1), after(Duration::from_millis(1))] {
            let ended = until_ended(|| wait_after_spin(right, ANY, deadline));
            assert_eq!(ended, Err(Error::TimedOut), "{kind:?} {deadline:?}");
        }
        assert_eq!(wait_after_spin(right, 0, Deadline::NOW), Err(Error::Invalid));
    }
    for kind in exact() {
        let bytes = Bytes::default();
        thread::scope(|scope| {
            let mut sleepers = Sleepers::new(scope);
            sleepers.start(|| wait_after_spin(bytes.expect(kind, 0), ANY, soon()).map(|()| 0));
            assert_eq!(wake(bytes.futex(kind, 0), 9, ANY), Ok(1), "{kind:?}");
            assert_eq!(sleepers.woken(1), [0]);
        });
    }
}
