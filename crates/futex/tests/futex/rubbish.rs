// SPDX-License-Identifier: MIT OR Apache-2.0
//! Somebody writes rubbish into the memory of a domain while others use it. Their calls may fail, or succeed without
//! reason; they must not crash, not reach past the memory, not run for ever, and not sleep beyond their deadlines.
//!
//! A call that does not end is ended by the watchdog, with the whole test process.
#![cfg(target_os = "linux")]

use std::os::fd::AsRawFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use ntux_futex::{Capacity, Deadline, Domain, Error, Expected, Futex, requeue, wait_any, wait_multiple, wake};

use crate::processes::Child;
use crate::random::Random;
use crate::sleepers::{ANY, after, watchdog};

/// Bytes of the file's header, which nobody reads again who has attached the domain.
const HEADER: usize = 64;

/// The memory of a domain, as somebody sees it who has no manners, and does not know how it is laid out.
#[derive(Clone, Copy)]
struct Memory(&'static [AtomicU64]);

impl Memory {
    fn of(domain: &Domain) -> Memory {
        let fd = domain.descriptor().as_raw_fd();
        // SAFETY: a fresh mapping at an address of the kernel's choice, as long as the file, which keeps its length; never
        // unmapped.
        unsafe {
            let mut status: libc::stat = std::mem::zeroed();
            assert_eq!(libc::fstat(fd, &mut status), 0);
            let length = status.st_size as usize;
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            #[allow(clippy::disallowed_methods, reason = "the library has no such view")]
            let base = libc::mmap(std::ptr::null_mut(), length, protection, libc::MAP_SHARED, fd, 0);
            assert_ne!(base, libc::MAP_FAILED);
            Memory(&std::slice::from_raw_parts(base.cast(), length / 8)[HEADER / 8..])
        }
    }

    fn get(self, index: usize) -> u64 {
        self.0[index].load(Ordering::Relaxed)
    }

    fn put(self, index: usize, value: u64) {
        self.0[index].store(value, Ordering::Relaxed);
    }

    /// An empty table again.
    fn clear(self) {
        (0..self.0.len()).for_each(|index| self.put(index, 0));
    }

    /// Somewhere; in the first lines more often than not, where the table keeps what everything depends on. Or where
    /// something is, which is rare.
    fn place(self, random: &mut Random) -> usize {
        let limit = if random.below(2) == 0 { self.0.len() / 16 } else { self.0.len() };
        let mut index = random.below(limit);
        for _ in 0..random.below(200) {
            if self.get(index) != 0 {
                break;
            }
            index = random.below(limit);
        }
        index
    }

    fn scribble(self, random: &mut Random) {
        let (to, from) = (self.place(random), self.place(random));
        match random.below(8) {
            0 => self.put(to, random.next()),
            1 => self.put(to, random.below(12) as u64),
            2 => self.put(to, u64::MAX << random.below(64)),
            3 => self.put(to, self.get(to) ^ 1 << random.below(64)),
            4 => self.put(to, self.get(to) ^ 0xff << random.below(57)),
            5 => self.put(to, self.get(from)),
            // A whole slot or place: a thread that is queued where it is not.
            _ => (0..2).for_each(|half| self.put(to & !1 | half, self.get(from & !1 | half))),
        }
    }
}

/// The words, which nobody changes: few, so that calls meet.
#[derive(Default)]
struct Words(AtomicU8, AtomicU64);

impl Words {
    fn futex<'a>(&'a self, domain: &'a Domain, random: &mut Random) -> Futex<'a> {
        let place = 8 * random.below(2) as u64;
        let futex = match random.below(2) {
            0 => Futex::in_domain(domain, place, &self.0),
            _ => Futex::in_domain(domain, place, &self.1),
        };
        futex.expect("a small place")
    }
}

fn domain() -> Domain {
    Domain::create(Capacity { buckets: 4, chunks: 8, waiters: 8 }).expect("a domain")
}

/// One call, with answers that any caller can live with.
fn call(domain: &Domain, words: &Words, random: &mut Random) {
    let deadline = if random.below(8) == 0 { Deadline::NOW } else { after(Duration::from_micros(500)) };
    let unwelcome = |error| !matches!(error, Error::TimedOut | Error::Interrupted | Error::Exhausted);
    let mut expect = |value| Expected::new(words.futex(domain, random), value).expect("it fits");
    let differs = [expect(0), expect(1)];
    let refused = wait_any(&differs, deadline);
    assert!(matches!(refused, Err(Error::Differs | Error::Exhausted)), "the words are sound, and it says {refused:?}");
    match random.below(4) {
        0 | 1 => {
            let count = 1 + random.below(6);
            let mut block =
                || (Expected::new(words.futex(domain, random), 0).expect("it fits"), 1 + random.next() as u32 / 2);
            let blocks: Vec<_> = (0..count).map(|_| block()).collect();
            match wait_multiple(&blocks, deadline) {
                Ok(index) => assert!(index < count, "{index} of {count}"),
                Err(error) => assert!(!unwelcome(error), "{error:?}"),
            }
        }
        2 => {
            let count = random.below(5) as u32;
            let woken = wake(words.futex(domain, random), count, ANY).expect("a wake is not refused");
            assert!(woken <= count, "{woken} of {count}");
        }
        _ => {
            let (first, rest) = (random.below(3) as u32, random.below(3) as u32);
            let from = Expected::new(words.futex(domain, random), 0).expect("it fits");
            match requeue(from, words.futex(domain, random), first, rest) {
                Ok(served) => assert!(served <= first + rest, "{served} of {first} and {rest}"),
                Err(error) => assert_eq!(error, Error::Exhausted),
            }
        }
    }
}

/// Threads make calls while another process scribbles. None, or how one of them ended.
fn storm(seed: u64, calls: usize, call: impl Fn(&Domain, Memory, &mut Random) + Sync) -> Option<String> {
    const VICTIMS: u64 = 6;
    watchdog();
    let domain = domain();
    let memory = Memory::of(&domain);
    let scribbler = Child::new(|| {
        let mut random = Random(seed);
        loop {
            (0..random.below(6)).for_each(|_| memory.scribble(&mut random));
            // Else nobody would find a seat before long.
            if random.below(8) == 0 {
                memory.clear();
            }
            thread::sleep(Duration::from_micros(random.below(60) as u64));
        }
    });
    let victim = |number| {
        let mut random = Random(seed ^ number << 32);
        (0..calls).try_for_each(|_| catch_unwind(AssertUnwindSafe(|| call(&domain, memory, &mut random))))
    };
    let ended: Vec<_> = thread::scope(|scope| {
        let victims: Vec<_> = (1..=VICTIMS).map(|number| scope.spawn(move || victim(number))).collect();
        victims.into_iter().map(|victim| victim.join().expect("it catches panics")).collect()
    });
    drop(scribbler);
    let panic = ended.into_iter().find_map(Result::err)?;
    Some(panic.downcast_ref::<String>().cloned().unwrap_or_else(|| "a panic without words".to_owned()))
}

#[test]
fn calls_end_well_while_another_process_scribbles() {
    let words = Words::default();
    for seed in 1..=20 {
        assert_eq!(storm(seed, 700, |domain, _, random| call(domain, &words, random)), None, "seed {seed}");
    }
}

/// The harness is able to fail: one that takes a number from the memory on trust does not survive.
#[test]
fn a_planted_victim_that_trusts_the_memory_is_found_out() {
    let trusts = |_: &Domain, memory: Memory, random: &mut Random| {
        thread::yield_now();
        memory.get(memory.get(memory.place(random)) as usize);
    };
    let found = storm(1, 1_000_000, trusts).expect("the victim falls");
    assert!(found.contains("out of bounds"), "{found}");
}

#[test]
fn calls_end_well_in_memory_that_is_rubbish_throughout() {
    watchdog();
    let (domain, words) = (domain(), Words::default());
    let memory = Memory::of(&domain);
    for seed in 0..300 {
        let mut random = Random(seed);
        memory.clear();
        let scribbles = 1 << random.below(14);
        (0..scribbles).for_each(|_| memory.scribble(&mut random));
        (0..8).for_each(|_| call(&domain, &words, &mut random));
    }
}
