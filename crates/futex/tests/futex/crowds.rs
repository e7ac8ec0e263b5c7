// SPDX-License-Identifier: MIT OR Apache-2.0
//! Many who wait for one futex: so many that its line grows, and some who stay while others come and go.

use std::thread;
use std::time::Duration;

use ntux_futex::{Error, Scope, Size, requeue, wait, wake};

use crate::kind::{Bytes, is_exact};
use crate::sleepers::{ANY, Sleepers, after};

/// Of every scope, in the size that every mechanism has.
const KINDS: [(Size, Scope); 2] = [(Size::Bits32, Scope::Private), (Size::Bits32, Scope::Shared)];
/// They take the short ring, the first long one and the next.
const CROWD: usize = 150;
/// A bitset that no waker of these tests means but one.
const OTHER: u32 = 1 << 31;

#[test]
fn a_crowd_is_woken_in_the_order_in_which_it_came() {
    for kind in KINDS.into_iter().filter(|&kind| is_exact(kind)) {
        let bytes = Bytes::default();
        thread::scope(|scope| {
            let mut sleepers = Sleepers::new(scope);
            (0..CROWD).for_each(|_| sleepers.wait(bytes.expect(kind, 0), ANY));
            for number in 0..CROWD / 2 {
                assert_eq!(wake(bytes.futex(kind, 0), 1, ANY), Ok(1), "{kind:?}");
                assert_eq!(sleepers.woken(1), [number], "{kind:?}");
            }
            assert_eq!(wake(bytes.futex(kind, 0), u32::MAX, ANY), Ok((CROWD / 2) as u32), "{kind:?}");
            sleepers.woken(CROWD / 2);
        });
    }
}

#[test]
fn a_crowd_is_moved_in_the_order_in_which_it_came() {
    for kind in KINDS.into_iter().filter(|&kind| is_exact(kind)) {
        let (from, to) = (Bytes::default(), Bytes::default());
        thread::scope(|scope| {
            let mut sleepers = Sleepers::new(scope);
            (0..CROWD).for_each(|_| sleepers.wait(from.expect(kind, 0), ANY));
            for _ in 0..CROWD / 2 {
                assert_eq!(requeue(from.expect(kind, 0), to.futex(kind, 0), 0, 1), Ok(1), "{kind:?}");
            }
            let rest = (CROWD / 2) as u32;
            assert_eq!(requeue(from.expect(kind, 0), to.futex(kind, 0), 0, u32::MAX), Ok(rest), "{kind:?}");
            assert_eq!(wake(from.futex(kind, 0), u32::MAX, ANY), Ok(0), "{kind:?}");
            for number in 0..CROWD {
                assert_eq!(wake(to.futex(kind, 0), 1, ANY), Ok(1), "{kind:?}");
                assert_eq!(sleepers.woken(1), [number], "{kind:?}");
            }
        });
    }
}

/// Each of those who stay has its place in the line, however often others have come and gone there since.
#[test]
fn who_stays_while_others_come_and_go_is_found() {
    for kind in KINDS.into_iter().filter(|&kind| is_exact(kind)) {
        let bytes = Bytes::default();
        let come_and_go = || {
            for _ in 0..200 {
                let ended = wait(bytes.expect(kind, 0), ANY, after(Duration::from_micros(20)));
                assert_eq!(ended, Err(Error::TimedOut), "{kind:?}");
                assert_eq!(wake(bytes.futex(kind, 0), 1, !OTHER), Ok(0), "{kind:?}");
            }
        };
        thread::scope(|scope| {
            let mut sleepers = Sleepers::new(scope);
            for _ in 0..4 {
                sleepers.wait(bytes.expect(kind, 0), OTHER);
                come_and_go();
            }
            sleepers.wait(bytes.expect(kind, 0), !OTHER);
            assert_eq!(wake(bytes.futex(kind, 0), 9, !OTHER), Ok(1), "{kind:?}");
            assert_eq!(sleepers.woken(1), [4], "{kind:?}");
            for number in 0..4 {
                assert_eq!(wake(bytes.futex(kind, 0), 1, OTHER), Ok(1), "{kind:?}");
                assert_eq!(sleepers.woken(1), [number], "{kind:?}");
            }
        });
    }
}
