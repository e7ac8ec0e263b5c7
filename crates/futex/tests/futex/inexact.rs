// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the kernel does not count and has no masks (macOS): what its futexes promise all the same. Nobody is forgotten, and
//! an answer of 0 is true.

use std::thread;

use ntux_futex::{Deadline, Error, Exactness, MATCH_ANY, Operation, Scope, Size, requeue, wait, wake};
use ntux_platform::kernel_futex;

use crate::kind::{Bytes, Kind, ability, is_exact, possible};
use crate::sleepers::Sleepers;

const SLEEPERS: usize = 5;

fn inexact() -> impl Iterator<Item = Kind> {
    possible().filter(|kind| !is_exact(*kind))
}

/// Has so many wait, does something to their word, and says what it answered and who has ended then.
fn woken_by(kind: Kind, masks: [u32; SLEEPERS], ended: usize, act: impl Fn(&Bytes) -> u32) -> (u32, Vec<usize>) {
    let bytes = Bytes::default();
    thread::scope(|scope| {
        let mut sleepers = Sleepers::new(scope);
        masks.into_iter().for_each(|mask| sleepers.wait(bytes.expect(kind, 0), mask));
        let answer = act(&bytes);
        let woken = sleepers.woken(ended);
        sleepers.nobody();
        let _ = wake(bytes.futex(kind, 0), u32::MAX, MATCH_ANY);
        sleepers.woken(SLEEPERS - ended);
        (answer, woken)
    })
}

#[test]
fn an_inexact_kernel_is_said_to_be_one() {
    for kind in inexact() {
        assert!(matches!(ability(Operation::Wait(kind.0, kind.1)), Exactness::Approximate(_)), "{kind:?}");
        assert_ne!(ability(Operation::Bitset(kind.0, kind.1)), Exactness::Exact, "{kind:?}");
        assert_ne!(ability(Operation::Requeue(kind, kind)), Exactness::Exact, "{kind:?}");
    }
    assert!(is_exact((Size::Bits32, Scope::Shared)) || inexact().count() >= 3);
}

#[test]
fn a_wake_of_some_wakes_as_many_and_one_of_all_everybody() {
    let any = [MATCH_ANY; SLEEPERS];
    for kind in inexact() {
        // With the bit of a place in the word everybody is woken.
        let of_two = if kind.0 >= Size::Bits32 { 2 } else { SLEEPERS };
        let (answer, woken) = woken_by(kind, any, of_two, |bytes| wake(bytes.futex(kind, 0), 2, MATCH_ANY).unwrap());
        assert!((1..=2).contains(&answer) && woken.len() == of_two, "{kind:?}: {answer}");
        let (answer, _) =
            woken_by(kind, any, SLEEPERS, |bytes| wake(bytes.futex(kind, 0), u32::MAX, MATCH_ANY).unwrap());
        assert!(answer >= 1, "{kind:?}: somebody slept");
        assert_eq!(wake(Bytes::default().futex(kind, 0), 9, MATCH_ANY), Ok(0), "{kind:?}: nobody ever slept");
    }
}

#[test]
fn a_wake_with_a_bitset_forgets_nobody_whom_it_means() {
    for kind in inexact().filter(|kind| kind.0 == Size::Bits32) {
        let (answer, _) = woken_by(kind, [1, 2, 4, 2, 1], SLEEPERS, |bytes| wake(bytes.futex(kind, 0), 9, 2).unwrap());
        assert!((1..=9).contains(&answer), "{kind:?}: {answer}");
    }
}

#[test]
fn who_would_be_moved_is_woken() {
    for kind in inexact().filter(|kind| kind.0 >= Size::Bits32) {
        let to = Bytes::default();
        let (answer, _) = woken_by(kind, [MATCH_ANY; SLEEPERS], 3, |bytes| {
            requeue(bytes.expect(kind, 0), to.futex(kind, 0), 1, 2).unwrap()
        });
        assert!((1..=3).contains(&answer), "{kind:?}: {answer}");
        assert_eq!(wake(to.futex(kind, 0), 9, MATCH_ANY), Ok(0), "{kind:?}");
    }
}

/// XNU knows a word by its address and its size, and takes only one size at a time.
#[test]
fn a_wait_is_refused_while_somebody_sleeps_there_in_another_size() {
    if !kernel_futex::has_long_words() {
        assert!(inexact().all(|(size, _)| size != Size::Bits64));
        return;
    }
    for kind in inexact().filter(|kind| kind.0 == Size::Bits64) {
        let short = (Size::Bits32, kind.1);
        let (answer, _) = woken_by(kind, [MATCH_ANY; SLEEPERS], 1, |bytes| {
            assert_eq!(wait(bytes.expect(short, 0), MATCH_ANY, Deadline::Never), Err(Error::Refused), "{kind:?}");
            assert_eq!(wake(bytes.futex(short, 0), u32::MAX, MATCH_ANY), Ok(0), "{kind:?}");
            wake(bytes.futex(kind, 0), 1, MATCH_ANY).unwrap()
        });
        assert_eq!(answer, 1, "{kind:?}");
    }
}
