// SPDX-License-Identifier: MIT OR Apache-2.0
//! The memory of a wait table: buckets, waiters, chunks. Everything is an index, and zero bytes are an empty table.
//!
//! A file gets its memory page by page. I-memory: the buckets have memory from the start, and so have the waiters and
//! chunks below the counters of those ever used. A thread that takes a new one allocates its memory before it counts
//! it. If the system has none left, the thread gets an error, and nobody touches a page without memory (SIGBUS).

use std::ptr::NonNull;

use core::ops::Range;

use ntux_platform::atomic::{Word32, Word64, Word128};
use ntux_platform::memory::provide;
use ntux_platform::protection::page_size;

use crate::VECTOR_MAX;

/// Slots in a bucket's own cache line: its first ring. The model checker has so few that small programs use further
/// rings.
pub const BUCKET_SLOTS: usize = if cfg!(ntux_explore) { 1 } else { 2 };
/// Places beside a waiter's word.
const NEAR: usize = 2;
/// Slots in one chunk, the smallest of the further rings.
pub const CHUNK_SLOTS: usize = if cfg!(ntux_explore) { 2 } else { 64 };

/// The line of the futexes with one hash value.
#[repr(C, align(64))]
pub struct Bucket {
    /// See [`super::line`].
    pub line: Word64,
    pub head: Word64,
    /// The first ring's: see [`super::ring`].
    pub end: Word64,
    pub next: Word32,
    pub reserved: Word32,
    pub slots: [Word128; BUCKET_SLOTS],
}

/// The state of a further ring. Every chunk has one; that of the ring's first chunk is used.
#[repr(C)]
pub struct Run {
    /// See [`super::ring`].
    pub begin: Word64,
    pub end: Word64,
    pub next: Word32,
    pub reserved: [Word32; 3],
}

/// A waiting thread: one cache line, next to others, for wakers that wake several.
#[repr(C, align(64))]
pub struct Waiter {
    /// See [`super::waiter`].
    pub word: Word128,
    /// See [`super::seat`].
    pub owner: Word64,
    /// The next free waiter, plus one, while this one is free.
    pub next_free: Word32,
    pub reserved: Word32,
    /// The first entries'.
    pub near: [Place; NEAR],
}

/// The places of a waiter's other entries.
#[repr(C, align(64))]
pub struct Far {
    pub places: [Place; VECTOR_MAX - NEAR],
}

/// Where one entry of a wait is queued.
#[repr(C)]
pub struct Place {
    /// See [`super::waiter`].
    pub slot: Word64,
    /// The bitset of the wait.
    pub mask: Word32,
    pub reserved: Word32,
}

/// Counters of the whole table.
#[repr(C, align(64))]
pub struct Header {
    /// Chunks that were ever used.
    pub chunks: Word32,
    /// Waiters that were ever used.
    pub waiters: Word32,
    /// The last waiter that was returned, plus one; the upper half counts changes.
    pub free: Word64,
    /// The gathering place, which counts the wakers that gather threads: see [`super::send`].
    pub gathering: Word32,
}

/// The size of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Capacity {
    /// Hash values; a power of two.
    pub buckets: u32,
    /// Chunks of 64 entries, for all buckets together. A bucket with many waiters may take eight times as many as they
    /// need.
    pub chunks: u32,
    /// Threads that wait at a time.
    pub waiters: u32,
}

impl Capacity {
    /// Bytes of a table.
    pub const fn bytes(self) -> usize {
        size_of::<Header>()
            + self.buckets as usize * size_of::<Bucket>()
            + self.chunks as usize * (size_of::<Run>() + CHUNK_BYTES)
            + self.waiters as usize * (size_of::<Waiter>() + size_of::<Far>())
    }

    /// The offset of the waiters.
    const fn waiters_at(self) -> usize {
        size_of::<Header>() + self.buckets as usize * size_of::<Bucket>()
    }

    const fn far_at(self) -> usize {
        self.waiters_at() + self.waiters as usize * size_of::<Waiter>()
    }

    const fn slots_at(self) -> usize {
        self.far_at() + self.waiters as usize * size_of::<Far>()
    }

    const fn runs_at(self) -> usize {
        self.slots_at() + self.chunks as usize * CHUNK_BYTES
    }
}

const CHUNK_BYTES: usize = CHUNK_SLOTS * size_of::<Word128>();

/// The memory of a table, read through checked views only.
pub struct Memory {
    base: NonNull<u8>,
    capacity: Capacity,
    is_file: bool,
}

// SAFETY: everything reached through it is atomic words.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    /// # Safety
    /// `base` is aligned to 64 bytes and leads to `capacity.bytes()` bytes, zero or a table of this capacity, that stay
    /// for ever and that nobody uses except through such a view. `is_file`: they are a file's.
    pub const unsafe fn new(base: NonNull<u8>, capacity: Capacity, is_file: bool) -> Memory {
        assert!(capacity.buckets.is_power_of_two());
        Memory { base, capacity, is_file }
    }

    /// Allocates the memory of the buckets and of everything before them. Returns false if the system has none left.
    pub fn provide_buckets(&self) -> bool {
        self.provide(0, self.capacity.waiters_at(), 0..1)
    }

    /// Allocates the memory of a waiter (I-memory).
    pub fn provide_waiter(&self, index: u32) -> bool {
        let index = index as usize..index as usize + 1;
        self.provide(self.capacity.waiters_at(), size_of::<Waiter>(), index.clone())
            && self.provide(self.capacity.far_at(), size_of::<Far>(), index)
    }

    /// Allocates the memory of chunks (I-memory).
    pub fn provide_chunks(&self, chunks: Range<u32>) -> bool {
        let chunks = chunks.start as usize..chunks.end as usize;
        self.provide(self.capacity.slots_at(), CHUNK_BYTES, chunks.clone())
            && self.provide(self.capacity.runs_at(), size_of::<Run>(), chunks)
    }

    /// Allocates the memory of those elements of the array at `start` in which a page begins, and of the first. The
    /// elements before them have their memory already.
    fn provide(&self, start: usize, size: usize, elements: Range<usize>) -> bool {
        if !self.is_file {
            return true;
        }
        let address = |element: usize| self.base.as_ptr() as usize + start + element * size;
        let (first, end) = (address(elements.start), address(elements.end));
        let begin = if elements.start == 0 { first } else { first.next_multiple_of(page_size()) };
        // SAFETY: these elements are below the capacity, so they lie in the memory.
        begin >= end || unsafe { provide(self.base.add(begin - self.base.as_ptr() as usize), end - begin) }.is_ok()
    }

    /// Returns whether other processes share it, and outlive a killed thread.
    pub fn is_shared(&self) -> bool {
        self.is_file
    }

    pub fn capacity(&self) -> Capacity {
        self.capacity
    }

    /// # Safety
    /// An aligned `T` that is made of atomic words lies wholly within the memory at `offset`.
    unsafe fn at<T>(&self, offset: usize) -> &T {
        // SAFETY: within the memory and aligned, by the caller's promise; any bytes are valid atomic words; never
        // unmapped (`new`).
        unsafe { self.base.add(offset).cast::<T>().as_ref() }
    }

    pub fn header(&self) -> &Header {
        // SAFETY: the header comes first.
        unsafe { self.at(0) }
    }

    /// The bucket of a hash value, by its low bits.
    #[inline(always)]
    pub fn bucket(&self, hash: u32) -> &Bucket {
        let index = (hash & (self.capacity.buckets - 1)) as usize;
        // SAFETY: the buckets follow the header, and the index is below their number; both sizes are multiples of 64.
        unsafe { self.at(size_of::<Header>() + index * size_of::<Bucket>()) }
    }

    /// A run of chunks from that one on: the state of their ring, and its slots.
    pub fn run(&self, first: u32, count: u32) -> Option<(&Run, &[Word128])> {
        if first.checked_add(count)? > self.capacity.chunks {
            return None;
        }
        let (run, slots) = (first as usize * size_of::<Run>(), first as usize * CHUNK_BYTES);
        // SAFETY: the slots of all chunks follow the places, and what is known of them comes last; these chunks are
        // below their number; all sizes are multiples of what the types are aligned to.
        unsafe {
            let slots = core::ptr::from_ref(self.at::<Word128>(self.capacity.slots_at() + slots));
            let slots = core::slice::from_raw_parts(slots, count as usize * CHUNK_SLOTS);
            Some((self.at(self.capacity.runs_at() + run), slots))
        }
    }

    #[inline(always)]
    pub fn waiter(&self, index: u32) -> Option<&Waiter> {
        if index >= self.capacity.waiters {
            return None;
        }
        // SAFETY: the waiters follow the buckets, and the index is below their number; all sizes are multiples of 64.
        Some(unsafe { self.at(self.capacity.waiters_at() + index as usize * size_of::<Waiter>()) })
    }

    /// The place of a waiter's entry.
    #[inline(always)]
    pub fn place(&self, waiter: u32, entry: usize) -> Option<&Place> {
        let near = &self.waiter(waiter)?.near;
        if entry < NEAR {
            return Some(&near[entry]);
        }
        // SAFETY: these follow the waiters, and the index is below their number; all sizes are multiples of 64.
        let far: &Far = unsafe { self.at(self.capacity.far_at() + waiter as usize * size_of::<Far>()) };
        far.places.get(entry - NEAR)
    }

    /// The places of a waiter's first entries.
    pub fn places(&self, waiter: u32, count: usize) -> impl Iterator<Item = &Place> {
        (0..count).map_while(move |entry| self.place(waiter, entry))
    }

    /// The slot with that number; those of the buckets come first.
    pub fn slot(&self, number: u32) -> Option<&Word128> {
        let in_buckets = self.capacity.buckets * BUCKET_SLOTS as u32;
        if number < in_buckets {
            let bucket = number / BUCKET_SLOTS as u32;
            return Some(&self.bucket(bucket).slots[(number - self.first_in_bucket(bucket)) as usize]);
        }
        let (number, chunk_slots) = (number - in_buckets, CHUNK_SLOTS as u32);
        let (_, slots) = self.run(number / chunk_slots, 1)?;
        Some(&slots[(number % chunk_slots) as usize])
    }

    /// Number of the first slot of a bucket.
    pub fn first_in_bucket(&self, hash: u32) -> u32 {
        (hash & (self.capacity.buckets - 1)) * BUCKET_SLOTS as u32
    }

    /// Number of the first slot of a chunk.
    pub fn first_in_chunk(&self, chunk: u32) -> u32 {
        self.capacity.buckets * BUCKET_SLOTS as u32 + chunk * CHUNK_SLOTS as u32
    }
}
