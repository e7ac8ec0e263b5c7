// SPDX-License-Identifier: MIT OR Apache-2.0
//! Private futexes at any address: the table hashes addresses and does not ask what they are divisible by.

use std::sync::atomic::{AtomicU8, Ordering};
use std::thread;

use ntux_futex::{Deadline, Error, Expected, Futex, Mechanism, Scope, Size, requeue, wait, wait_any, wake};

use crate::kind::value;
use crate::skips::skip;
use crate::sleepers::{ANY, Sleepers, after};

/// Room around a boundary between cache lines.
#[repr(align(64))]
#[derive(Default)]
struct Room([AtomicU8; 24], [AtomicU8; 24], [AtomicU8; 24], [AtomicU8; 24]);

impl Room {
    fn address(&self) -> usize {
        (&raw const *self).expose_provenance()
    }

    fn futex(&self, offset: usize, size: Size) -> Futex<'_> {
        assert!(offset + size.bytes() <= size_of::<Room>());
        // SAFETY: in this room, which the test keeps and writes by atomic bytes.
        unsafe { Futex::at(self.address() + offset, size, Scope::Private) }.expect("any address will do")
    }

    fn store(&self, offset: usize, size: Size, value: u64) {
        let bytes = [&self.0, &self.1, &self.2, &self.3].into_iter().flatten();
        bytes.skip(offset).zip(value.to_le_bytes()).take(size.bytes()).for_each(|(place, byte)| {
            place.store(byte, Ordering::SeqCst);
        });
    }

    fn expect(&self, offset: usize, size: Size, value: u64) -> Expected<'_> {
        Expected::new(self.futex(offset, size), value).expect("it fits")
    }
}

/// Every size at every offset that does not suit it, also where two cache lines meet.
fn places() -> impl Iterator<Item = (Size, usize)> {
    let sizes = [Size::Bits16, Size::Bits32, Size::Bits64].into_iter();
    let places = sizes.flat_map(|size| [0, 64 - size.bytes()].map(|base| (size, base)));
    places.flat_map(|(size, base)| (1..size.bytes()).map(move |offset| (size, base + offset)))
}

fn is_refused() -> bool {
    let native = Mechanism::of(Scope::Private) == Mechanism::Native;
    if native {
        skip("misaligned-futexes", "the kernel serves private futexes in this process, and wants them aligned");
    }
    native
}

#[test]
fn a_wake_wakes_as_many_as_it_says_first_come_first_served() {
    if is_refused() {
        return;
    }
    for (size, offset) in places() {
        let room = Room::default();
        room.store(offset, size, value(size));
        assert_eq!(wait(room.expect(offset, size, 0), ANY, Deadline::Never), Err(Error::Differs));
        assert_eq!(wait(room.expect(offset, size, value(size)), ANY, Deadline::NOW), Err(Error::TimedOut));
        thread::scope(|scope| {
            let mut sleepers = Sleepers::new(scope);
            (0..3).for_each(|_| sleepers.wait(room.expect(offset, size, value(size)), ANY));
            assert_eq!(wake(room.futex(offset - 1, size), 9, ANY), Ok(0), "a neighbour");
            assert_eq!(wake(room.futex(offset, Size::Bits8), 9, ANY), Ok(0), "another size");
            assert_eq!(wake(room.futex(offset, size), 1, ANY), Ok(1), "{size:?} {offset}");
            assert_eq!(sleepers.woken(1), [0]);
            assert_eq!(wake(room.futex(offset, size), 9, ANY), Ok(2));
            assert_eq!(sleepers.woken(2), [1, 2]);
        });
    }
}

#[test]
fn vectors_and_requeues_take_them() {
    if is_refused() {
        return;
    }
    let room = Room::default();
    let (odd, even) = (room.expect(63, Size::Bits32, 0), room.expect(8, Size::Bits64, 0));
    thread::scope(|scope| {
        let mut sleepers = Sleepers::new(scope);
        sleepers.wait_any(vec![even, odd]);
        assert_eq!(requeue(odd, room.futex(33, Size::Bits16), 0, 1), Ok(1));
        assert_eq!(wake(odd.futex(), 9, ANY), Ok(0));
        assert_eq!(wake(room.futex(33, Size::Bits16), 9, ANY), Ok(1));
        assert_eq!(sleepers.next(), (0, Ok(1)));
    });
    room.store(63, Size::Bits32, 1 << 31);
    assert_eq!(requeue(odd, room.futex(33, Size::Bits16), 0, 1), Err(Error::Differs));
    assert_eq!(wait_any(&[even, odd], Deadline::Never), Err(Error::Differs));
}

/// Two threads hand a turn to each other through words that lie across two cache lines, and are written byte by byte.
#[test]
fn no_wake_is_lost_while_the_word_is_half_written() {
    if is_refused() {
        return;
    }
    const OFFSET: usize = 61;
    let room = &Room::default();
    let value_of = |turn: u64| turn.wrapping_mul(0x0101_0101_0101_0101);
    let load = |turn: u64| room.expect(OFFSET, Size::Bits64, value_of(turn));
    let play = move |first: u64| {
        for turn in (first..2000).step_by(2) {
            // Until the other has had its turn.
            while wait(load(turn.wrapping_sub(1)), ANY, after(std::time::Duration::from_secs(60)))
                != Err(Error::Differs)
            {}
            while wait(load(turn), ANY, Deadline::NOW) == Err(Error::Differs) {
                std::hint::spin_loop();
            }
            room.store(OFFSET, Size::Bits64, value_of(turn + 1));
            wake(room.futex(OFFSET, Size::Bits64), 1, ANY).expect("a wake");
        }
    };
    crate::sleepers::watchdog();
    thread::scope(|scope| {
        scope.spawn(move || play(1));
        play(0);
    });
    assert_eq!(wait(load(2000), ANY, Deadline::NOW), Err(Error::TimedOut), "all turns were taken");
}

#[test]
#[allow(clippy::disallowed_methods, reason = "the platform has no mapping of which a part goes")]
fn a_word_that_reaches_into_a_page_that_is_not_there_is_a_fault() {
    if is_refused() {
        return;
    }
    // SAFETY: fresh memory; the second of its pages goes, and nobody uses it.
    let end = unsafe {
        let page = libc::sysconf(libc::_SC_PAGESIZE) as usize;
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANON);
        let base = libc::mmap(std::ptr::null_mut(), 2 * page, protection, flags, -1, 0);
        assert_ne!(base, libc::MAP_FAILED);
        assert_eq!(libc::munmap(base.byte_add(page), page), 0);
        base.expose_provenance() + page
    };
    for (before, expected) in [(4, Ok(())), (3, Err(Error::Fault)), (1, Err(Error::Fault))] {
        // SAFETY: nobody waits for it.
        let futex = unsafe { Futex::at(end - before, Size::Bits32, Scope::Private) }.expect("any address will do");
        assert_eq!(futex.probe(), expected, "{before}");
    }
}
