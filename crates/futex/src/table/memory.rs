//! The memory of a wait table: buckets, waiters, chunks. Everything is an index, and zero bytes are an empty table.
//!
//! In a file, which is given memory page by page, the buckets have some from the start. I-memory: so do the waiters and chunks
//! below the counters of those that were ever used. Whoever takes a new one gives memory to it before it is counted; where the
//! system has none left, he is refused, and nobody meets a page without memory (SIGBUS).

use std::ptr::NonNull;

use core::ops::Range;

use ntux_platform::atomic::{Word32, Word64, Word128};
use ntux_platform::memory::provide;
use ntux_platform::protection::page_size;

use crate::VECTOR_MAX;

/// Slots in a bucket's own cache line: its first ring. A checker has so few that small programs use further ones.
pub const BUCKET_SLOTS: usize = if cfg!(ntux_explore) { 1 } else { 2 };
/// Places beside a waiter's word.
const NEAR: usize = 2;
/// Slots in one chunk, the smallest of the further rings.
pub const CHUNK_SLOTS: usize = if cfg!(ntux_explore) { 2 } else { 64 };

/// Where the futexes of one hash value are waited for.
#[repr(C, align(64))]
pub struct Bucket {
    /// See [`super::line`].
    pub line: Word64,
    pub head: Word64,
    /// Of the first ring: see [`super::ring`].
    pub end: Word64,
    pub next: Word32,
    pub reserved: Word32,
    pub slots: [Word128; BUCKET_SLOTS],
}

/// What is known of a further ring; it is kept for each chunk, and used for the first one of a ring.
#[repr(C)]
pub struct Run {
    /// See [`super::ring`].
    pub begin: Word64,
    pub end: Word64,
    pub next: Word32,
    pub reserved: [Word32; 3],
}

/// A thread that waits: one cache line, next to others, for those who wake one after the other.
#[repr(C, align(64))]
pub struct Waiter {
    /// See [`super::waiter`].
    pub word: Word128,
    /// Whose it is; 0: nobody's.
    pub owner: Word64,
    /// The next free waiter, plus one, while this one is free.
    pub next_free: Word32,
    pub reserved: Word32,
    /// Of the first entries.
    pub near: [Place; NEAR],
}

/// Places of a waiter's further entries.
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

/// Numbers that the whole table has one of.
#[repr(C, align(64))]
pub struct Header {
    /// Chunks that rings were made of.
    pub chunks: Word32,
    /// Waiters that were ever used.
    pub waiters: Word32,
    /// The last waiter that was given back, plus one; the upper half counts changes.
    pub free: Word64,
    /// Wakers that are gathering threads here: see [`super::send`].
    pub gathering: Word32,
}

/// How large a table is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Capacity {
    /// Hash values; a power of two.
    pub buckets: u32,
    /// Chunks of 64 entries, for all buckets together. A bucket in which many wait at a time may take eight times as
    /// many as they need.
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

    /// Where the waiters begin.
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

// SAFETY: all that is reached through it is atomic words.
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

    /// Gives memory to the buckets and what comes before them. False: the system has none left.
    pub fn provide_buckets(&self) -> bool {
        self.provide(0, self.capacity.waiters_at(), 0..1)
    }

    /// Gives memory to a waiter (I-memory).
    pub fn provide_waiter(&self, index: u32) -> bool {
        let index = index as usize..index as usize + 1;
        self.provide(self.capacity.waiters_at(), size_of::<Waiter>(), index.clone())
            && self.provide(self.capacity.far_at(), size_of::<Far>(), index)
    }

    /// Gives memory to chunks (I-memory).
    pub fn provide_chunks(&self, chunks: Range<u32>) -> bool {
        let chunks = chunks.start as usize..chunks.end as usize;
        self.provide(self.capacity.slots_at(), CHUNK_BYTES, chunks.clone())
            && self.provide(self.capacity.runs_at(), size_of::<Run>(), chunks)
    }

    /// Gives memory to those elements of the array at `start` in whose range a page begins, or the array does: those before
    /// them have some.
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

    pub fn capacity(&self) -> Capacity {
        self.capacity
    }

    /// # Safety
    /// An aligned `T` that is made of atomic words lies wholly within the memory at `offset`.
    unsafe fn at<T>(&self, offset: usize) -> &T {
        // SAFETY: within the memory and aligned, says the caller; any bytes are valid atomic words; never unmapped
        // (`new`).
        unsafe { self.base.add(offset).cast::<T>().as_ref() }
    }

    pub fn header(&self) -> &Header {
        // SAFETY: the header comes first.
        unsafe { self.at(0) }
    }

    /// The bucket of a hash value; only as many of its low bits count as there are buckets.
    #[inline(always)]
    pub fn bucket(&self, hash: u32) -> &Bucket {
        let index = (hash & (self.capacity.buckets - 1)) as usize;
        // SAFETY: the buckets follow the header, and the index is below their number; both sizes are multiples of 64.
        unsafe { self.at(size_of::<Header>() + index * size_of::<Bucket>()) }
    }

    /// So many chunks from that one on: what is known of their ring, and its slots.
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

    /// Where the entry of a waiter says that it is queued.
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

    /// The slot of that number: those of the buckets come first.
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
