//! The memory of a wait table: buckets, chunks, waiters. Everything is an index, and zero bytes are an empty table.

use std::ptr::NonNull;

use ntux_platform::atomic::{Word32, Word64, Word128};

use crate::VECTOR_MAX;

/// Slots in a bucket's own cache line.
pub const BUCKET_SLOTS: usize = 3;
/// Slots in one further chunk.
pub const CHUNK_SLOTS: usize = 63;

/// Where the futexes of one hash value are waited for.
#[repr(C, align(64))]
pub struct Bucket {
    /// See [`super::line`].
    pub line: Word64,
    /// The first chunk, plus one.
    pub chunk: Word32,
    pub reserved: Word32,
    pub slots: [Word128; BUCKET_SLOTS],
}

/// More slots of one bucket; it stays with it.
#[repr(C, align(64))]
pub struct Chunk {
    /// The next chunk, plus one.
    pub next: Word32,
    pub reserved: [Word32; 3],
    pub slots: [Word128; CHUNK_SLOTS],
}

/// A thread that waits.
#[repr(C, align(64))]
pub struct Waiter {
    /// See [`super::waiter`].
    pub word: Word128,
    /// Whose it is; 0: nobody's.
    pub owner: Word64,
    /// The next free waiter, plus one, while this one is free.
    pub next_free: Word32,
    pub reserved: [Word32; 9],
    pub places: [Place; VECTOR_MAX],
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
    /// Chunks that were ever used.
    pub chunks: Word32,
    /// Waiters that were ever used.
    pub waiters: Word32,
    /// The last waiter that was given back, plus one; the upper half counts changes.
    pub free: Word64,
}

/// How large a table is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Capacity {
    /// Hash values; a power of two.
    pub buckets: u32,
    /// Chunks of [`CHUNK_SLOTS`] entries, for all buckets together.
    pub chunks: u32,
    /// Threads that wait at a time.
    pub waiters: u32,
}

impl Capacity {
    /// Bytes of a table.
    pub const fn bytes(self) -> usize {
        size_of::<Header>()
            + self.buckets as usize * size_of::<Bucket>()
            + self.chunks as usize * size_of::<Chunk>()
            + self.waiters as usize * size_of::<Waiter>()
    }

    /// Slots of a table, those of the buckets and of all chunks.
    pub const fn slots(self) -> usize {
        self.buckets as usize * BUCKET_SLOTS + self.chunks as usize * CHUNK_SLOTS
    }
}

/// The memory of a table, read through checked views only.
pub struct Memory {
    base: NonNull<u8>,
    capacity: Capacity,
}

// SAFETY: all that is reached through it is atomic words.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    /// # Safety
    /// `base` is aligned to 64 bytes and leads to `capacity.bytes()` bytes, zero or a table of this capacity, that stay
    /// for ever and that nobody uses except through such a view.
    pub const unsafe fn new(base: NonNull<u8>, capacity: Capacity) -> Memory {
        assert!(capacity.buckets.is_power_of_two());
        Memory { base, capacity }
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

    /// The chunk that a link means: its index plus one.
    pub fn chunk(&self, link: u32) -> Option<&Chunk> {
        let index = link.checked_sub(1).filter(|&index| index < self.capacity.chunks)? as usize;
        let before = size_of::<Header>() + self.capacity.buckets as usize * size_of::<Bucket>();
        // SAFETY: the chunks follow the buckets, and the index is below their number; all sizes are multiples of 64.
        Some(unsafe { self.at(before + index * size_of::<Chunk>()) })
    }

    #[inline(always)]
    pub fn waiter(&self, index: u32) -> Option<&Waiter> {
        if index >= self.capacity.waiters {
            return None;
        }
        let before = size_of::<Header>()
            + self.capacity.buckets as usize * size_of::<Bucket>()
            + self.capacity.chunks as usize * size_of::<Chunk>();
        // SAFETY: the waiters follow the chunks, and the index is below their number; all sizes are multiples of 64.
        Some(unsafe { self.at(before + index as usize * size_of::<Waiter>()) })
    }

    /// The slot of that number: those of the buckets come first.
    pub fn slot(&self, number: u32) -> Option<&Word128> {
        let in_buckets = self.capacity.buckets * BUCKET_SLOTS as u32;
        if number < in_buckets {
            let (bucket, position) = (number / BUCKET_SLOTS as u32, number as usize % BUCKET_SLOTS);
            return Some(&self.bucket(bucket).slots[position]);
        }
        let number = number - in_buckets;
        let (chunk, position) = (number / CHUNK_SLOTS as u32, number as usize % CHUNK_SLOTS);
        self.chunk(chunk.checked_add(1)?).map(|chunk| &chunk.slots[position])
    }

    /// Number of the first slot of a bucket.
    pub fn first_in_bucket(&self, hash: u32) -> u32 {
        (hash & (self.capacity.buckets - 1)) * BUCKET_SLOTS as u32
    }

    /// Number of the first slot of the chunk that a link means.
    pub fn first_in_chunk(&self, link: u32) -> u32 {
        self.capacity.buckets * BUCKET_SLOTS as u32 + (link - 1) * CHUNK_SLOTS as u32
    }
}
