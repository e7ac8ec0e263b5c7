//! Somebody writes rubbish into the memory of a domain while others use it. Their calls may fail, or succeed without
//! reason; they must not crash, not reach past the memory, not run for ever, and not sleep beyond their deadlines.
//!
//! A call that does not end is ended by the watchdog, with the whole test process.

use std::os::fd::AsRawFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use ntux_futex::{Capacity, Deadline, Domain, Error, Expected, Futex, requeue, wait_any, wait_multiple, wake};

use crate::processes::Child;
use crate::sleepers::{ANY, Sleepers, after, watchdog};

const CAPACITY: Capacity = Capacity { buckets: 4, chunks: 8, waiters: 8 };
/// What `domain.rs` and `table/memory.rs` lay out: the file's header, the table's, buckets, chunks, waiters.
const HEADER: usize = 64;
const BUCKETS: usize = HEADER + 64;
const CHUNKS: usize = BUCKETS + 64 * CAPACITY.buckets as usize;
const CHUNK: usize = 1024;
const WAITERS: usize = CHUNKS + CHUNK * CAPACITY.chunks as usize;
const WAITER: usize = 64 + 128 * 16;
const END: usize = WAITERS + WAITER * CAPACITY.waiters as usize;

/// The memory of a domain, as somebody sees it who has no manners.
#[derive(Clone, Copy)]
struct Memory(&'static [AtomicU64]);

impl Memory {
    fn of(domain: &Domain) -> Memory {
        let (protection, fd) = (libc::PROT_READ | libc::PROT_WRITE, domain.descriptor().as_raw_fd());
        // SAFETY: a fresh mapping at an address of the kernel's choice, of a file that is as long; never unmapped.
        unsafe {
            #[allow(clippy::disallowed_methods, reason = "the library has no such view")]
            let base = libc::mmap(std::ptr::null_mut(), END, protection, libc::MAP_SHARED, fd, 0);
            assert_ne!(base, libc::MAP_FAILED);
            Memory(std::slice::from_raw_parts(base.cast(), END / 8))
        }
    }

    fn put(self, offset: usize, value: u64) {
        self.0[offset / 8].store(value, Ordering::Relaxed);
    }

    fn get(self, offset: usize) -> u64 {
        self.0[offset / 8].load(Ordering::SeqCst)
    }

    /// Half of 8 bytes.
    fn put_half(self, offset: usize, value: u32) {
        let shift = offset % 8 * 8;
        let rest = self.get(offset / 8 * 8) & !(u64::from(u32::MAX) << shift);
        self.put(offset / 8 * 8, rest | u64::from(value) << shift);
    }

    /// An empty table again, and a header as before: who attached the domain does not look at it.
    fn clear(self) {
        self.0[HEADER / 8..].iter().for_each(|word| word.store(0, Ordering::Relaxed));
    }

    /// A waiting thread that never was, in the first slot of a bucket: it waits with its entry `entry` for the futex with
    /// this key, and `moved` says what it was moved by and where to.
    fn counterfeit(self, bucket: usize, key: u64, entry: usize, moved: u64) {
        const WAITING: u64 = 2;
        let (bucket_at, place) = (BUCKETS + 64 * bucket, WAITERS + 64 + 16 * entry);
        self.put(bucket_at, 1 << 24 | 1);
        self.put(bucket_at + 16, 1 << 7 | entry as u64);
        self.put(bucket_at + 24, key);
        self.put(WAITERS, 77);
        self.put(WAITERS + 8, WAITING | moved << 9);
        self.put(place, 3 * bucket as u64 + 1);
        self.put(place + 8, u64::MAX);
    }

    /// One scribble, at a place that matters more often than not.
    fn scribble(self, random: &mut Random) {
        let buckets = CAPACITY.buckets as usize;
        if random.below(16) == 0 {
            let key = key(random.below(4) as u64, 8 * random.below(4) as u64);
            return self.counterfeit(random.below(buckets), key, random.below(128), random.next());
        }
        let offset = match random.below(8) {
            0 => HEADER + 8 * random.below(2),
            1 => BUCKETS + 64 * random.below(buckets) + 8 * random.below(8),
            2 => CHUNKS + CHUNK * random.below(CAPACITY.chunks as usize) + 8 * random.below(6),
            3..6 => WAITERS + WAITER * random.below(CAPACITY.waiters as usize) + 8 * random.below(12),
            _ => HEADER + 8 * random.below((END - HEADER) / 8),
        };
        let other = HEADER + 8 * random.below((END - HEADER) / 8);
        let value = match random.below(5) {
            0 => random.next(),
            1 => random.below(12) as u64,
            2 => self.get(other),
            3 => self.get(offset) ^ 1 << random.below(64),
            _ => u64::MAX << random.below(64),
        };
        self.put(offset, value);
    }
}

/// What the table knows a futex of a domain by: sizes are numbered from 0.
fn key(size: u64, place: u64) -> u64 {
    0b11 << 62 | size << 60 | place
}

/// Repeatable chance.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }
}

/// The words, which nobody changes.
#[derive(Default)]
struct Words(AtomicU8, AtomicU16, AtomicU32, AtomicU64);

impl Words {
    fn futex<'a>(&'a self, domain: &'a Domain, random: &mut Random) -> Futex<'a> {
        let place = 8 * random.below(4) as u64;
        let futex = match random.below(4) {
            0 => Futex::in_domain(domain, place, &self.0),
            1 => Futex::in_domain(domain, place, &self.1),
            2 => Futex::in_domain(domain, place, &self.2),
            _ => Futex::in_domain(domain, place, &self.3),
        };
        futex.expect("a small place")
    }
}

fn domain() -> Domain {
    Domain::create(CAPACITY).expect("a domain")
}

/// One call, with answers that any caller can live with.
fn call(domain: &Domain, words: &Words, random: &mut Random) {
    let deadline = if random.below(4) == 0 { Deadline::NOW } else { after(Duration::from_micros(100)) };
    let unwelcome = |error| !matches!(error, Error::TimedOut | Error::Interrupted | Error::Exhausted);
    let mut expect = |value| Expected::new(words.futex(domain, random), value).expect("it fits");
    let differs = [expect(0), expect(1)];
    let refused = wait_any(&differs, deadline);
    assert!(matches!(refused, Err(Error::Differs | Error::Exhausted)), "the words are sound, and it says {refused:?}");
    match random.below(3) {
        0 => {
            let count = 1 + random.below(6);
            let mut block =
                || (Expected::new(words.futex(domain, random), 0).expect("it fits"), 1 + random.next() as u32 / 2);
            let blocks: Vec<_> = (0..count).map(|_| block()).collect();
            match wait_multiple(&blocks, deadline) {
                Ok(index) => assert!(index < count, "{index} of {count}"),
                Err(error) => assert!(!unwelcome(error), "{error:?}"),
            }
        }
        1 => {
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
    const VICTIMS: u64 = 3;
    watchdog();
    let domain = domain();
    let memory = Memory::of(&domain);
    let scribbler = Child::new(|| {
        let mut random = Random(seed);
        loop {
            (0..random.below(64)).for_each(|_| memory.scribble(&mut random));
            if random.below(16) == 0 {
                memory.clear();
            }
            thread::sleep(Duration::from_micros(random.below(40) as u64));
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
    for seed in 1..=3 {
        assert_eq!(storm(seed, 1500, |domain, _, random| call(domain, &words, random)), None, "seed {seed}");
    }
}

/// The harness is able to fail: one that takes a number from the memory on trust does not survive.
#[test]
fn a_planted_victim_that_trusts_the_memory_is_found_out() {
    let seats = [(); CAPACITY.waiters as usize];
    let trusts = |_: &Domain, memory: Memory, _: &mut Random| {
        thread::yield_now();
        let taken = memory.get(HEADER) >> 32;
        assert_eq!(seats[..=taken as usize].len(), taken as usize + 1);
    };
    let found = storm(1, 1_000_000, trusts).expect("the victim falls");
    assert!(found.contains("out of range") || found.contains("overflow"), "{found}");
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

#[test]
fn lists_that_were_bent_into_rings_end() {
    watchdog();
    let (domain, words) = (domain(), Words::default());
    let memory = Memory::of(&domain);
    for link in [1, CAPACITY.chunks, CAPACITY.chunks + 1, u32::MAX] {
        memory.clear();
        // Seats: the last one that was given back is its own successor, and taken.
        memory.put(HEADER + 8, 1);
        memory.put(WAITERS + 16, 77);
        memory.put_half(WAITERS + 24, 1);
        // Chunks: each leads to itself, or nowhere; so many are present that every slot is looked at.
        (0..CAPACITY.buckets as usize).for_each(|bucket| {
            memory.put(BUCKETS + 64 * bucket, (1 << 24) - 1);
            memory.put_half(BUCKETS + 64 * bucket + 8, link);
        });
        (0..CAPACITY.chunks as usize).for_each(|chunk| memory.put_half(CHUNKS + CHUNK * chunk, link));
        let mut random = Random(link.into());
        (0..200).for_each(|_| call(&domain, &words, &mut random));
    }
}

#[test]
fn a_waiter_that_was_moved_by_an_entry_that_there_is_not_is_moved_on() {
    /// The 255th entry, to the last slot of all numbers.
    const MOVED: u64 = 0xff | (u32::MAX as u64) << 8;
    let (domain, word) = (domain(), AtomicU32::new(0));
    let memory = Memory::of(&domain);
    let futex = |place| Futex::in_domain(&domain, place, &word).expect("a place");
    let mut served = 0;
    for bucket in 0..CAPACITY.buckets as usize {
        memory.clear();
        memory.counterfeit(bucket, key(2, 8), 5, MOVED);
        let moved = requeue(Expected::new(futex(8), 0).expect("it fits"), futex(16), 0, 1);
        assert_eq!(wake(futex(16), 9, ANY), moved, "bucket {bucket}");
        served += moved.expect("there is room");
    }
    assert_eq!(served, 1, "in one of the buckets it is in the line of its futex");
}

#[test]
fn an_entry_that_there_is_not_is_not_returned() {
    let (domain, word) = (domain(), AtomicU32::new(0));
    let memory = Memory::of(&domain);
    let futex = Futex::in_domain(&domain, 0, &word).expect("a place");
    thread::scope(|scope| {
        let mut sleepers = Sleepers::new(scope);
        sleepers.wait_any(vec![Expected::new(futex, 0).expect("it fits"); 3]);
        let seat = (0..CAPACITY.waiters as usize).map(|seat| WAITERS + WAITER * seat);
        let seat = seat.into_iter().find(|&seat| memory.get(seat + 16) != 0).expect("somebody waits");
        // Woken, by entry 3 of 0 to 2. A real wake meets the entry and sends the wake again.
        memory.put(seat + 8, 3 | 3 << 2);
        assert_eq!(wake(futex, 1, ANY), Ok(0));
        assert_eq!(sleepers.next(), (0, Err(Error::Interrupted)));
    });
}
