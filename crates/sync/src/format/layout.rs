// SPDX-License-Identifier: MIT OR Apache-2.0
//! The layout of an arena's file.
//!
//! ```text
//! 0        header        magic, version, fingerprint, capacities; counters, each on a line of its own
//! 4096     peers         one 16-byte word for each process that takes part
//! ...      waiters       1,216 bytes for each thread that waits
//! ...      objects       64 bytes each
//! ...      chunks        256 bytes each: room for more waiters of an object than its own line holds
//! ...      records       16 bytes each: what threads report while somebody traces
//! ...      queues        2,304 bytes for each queue of detached waits
//! ...      packets       16 bytes for each packet that can wait in a queue
//! ...      claims        16 bytes for each object: who has copies of its descriptor, or holds it
//! ...      names         4096 bytes for each group of names: which objects have them
//! ...      texts         256 bytes for each name
//! ...      schedules     16 bytes for each object that is a timer
//! ...      owners        32 bytes for each owner id that the arena has given out
//! ...      lives         4096 bytes for each of these that is of a thread: a word that the kernel marks
//! ```
//! Everything is a 16, 8 or 4 byte integer at its natural alignment; links are indices, checked before use. Sizes do
//! not depend on the width of a pointer. Untouched pages take no memory; a thread that first uses an element of a page
//! allocates the page before ([`crate::arena::pool`], [`crate::arena::chunks`], [`crate::arena::peers`], [`crate::arena::names`],
//! [`crate::arena::schedules`]).
//!
//! A file is valid if and only if it cannot shrink, magic, version and fingerprint are ours, the capacities are within
//! [`Capacity`]'s bounds, and the file is at least as long as they require. Everything else may be rubbish at any time.

use core::mem::offset_of;

use ntux_platform::atomic::{Word32, Word64, Word128};
use ntux_platform::life::{PAGE, WORD_AT};

use super::limits::{
    LIST_MAX, LIVES_MAX, NAME_GROUPS_MAX, NAMES_GROUP, OBJECTS_MAX, OWNERS_MAX, PACKETS_MAX, PEERS_MAX, PLACES_CHUNK,
    PLACES_INLINE, QUEUE_GROUPS, QUEUES_MAX, RECORDS, WAITERS_MAX,
};
use crate::WAIT_MAX;

const HEADER_BYTES: u64 = 4096;

/// How many objects and waits an arena can hold. Memory is allocated only as they are used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Capacity {
    /// Objects, 1 to 16,777,216; 64 bytes each.
    pub objects: u32,
    /// Waits of threads and of queues at a time, 1 to 65,536; 1,216 bytes each, and up to 512 for their entries in the wait sets of many objects.
    pub waiters: u32,
}

impl Default for Capacity {
    /// 1,048,576 objects and 65,536 waits: 236 MiB of addresses, three pages of memory at first.
    fn default() -> Capacity {
        Capacity { objects: 1 << 20, waiters: 1 << 16 }
    }
}

/// A word on its own cache line.
#[repr(C, align(64))]
pub struct Line<T>(pub T);

/// Start of the file.
#[repr(C)]
pub struct Header {
    pub magic: Word64,
    pub version: Word32,
    pub fingerprint: Word32,
    pub objects: Word32,
    pub waiters: Word32,
    /// Families founded so far; the next one tries this number's byte first.
    pub families: Word32,
    /// As often as one was founded: counted when it has its byte, before it uses it.
    pub founded: Word32,
    /// Until when threads report events, see [`crate::observe::trace`]; 0 without a tracer.
    pub trace_until: Word64,
    /// The next ticket.
    pub ticket: Line<Word64>,
    /// The admission word of wait-all, see [`crate::protocol::admission`].
    pub admission: Line<Word128>,
    pub object_pool: Line<PoolWords>,
    pub waiter_pool: Line<PoolWords>,
    pub chunk_pool: Line<ChunkPool>,
    pub queue_pool: Line<PoolWords>,
    pub owner_pool: Line<PoolWords>,
    /// The number of the next event that a thread reports.
    pub trace_head: Line<Word64>,
    /// A bit for each group of names that has memory.
    pub name_groups: Line<[Word64; NAME_GROUPS_MAX as usize / 64]>,
}

/// See [`crate::arena::pool`].
#[repr(C)]
pub struct PoolWords {
    pub hints: Word64,
    pub fresh: Word32,
    pub rotor: Word32,
}

/// See [`crate::arena::chunks`].
#[repr(C)]
pub struct ChunkPool {
    /// [`super::chunk_word::Transfer`].
    pub transfer: Word128,
    /// Chunks from this number on were never used.
    pub fresh: Word32,
    /// The object whose chunks are looked at next.
    pub rotor: Word32,
}

/// An object: one cache line.
#[repr(C, align(64))]
pub struct ObjectSlot {
    /// [`crate::format::object_word::ObjectWord`].
    pub word: Word128,
    /// [`super::meta::Meta`].
    pub meta: Word64,
    /// Semaphore: the maximum. Mutex: what its count has beside the word ([`crate::kind::mutex`]). End: the owner.
    pub extra: Word64,
    pub wait_set: [Word64; PLACES_INLINE],
    /// [`super::chunk_word::Link`] to the first chunk of the wait set.
    pub chunk: Word32,
    /// Next hint of the pool.
    pub next_hint: Word32,
}

/// A waiting thread.
#[repr(C, align(64))]
pub struct WaiterSlot {
    /// [`crate::format::waiter_word::WaiterWord`].
    pub word: Word128,
    /// The thread that has the slot, see [`crate::protocol::waiter`].
    pub holder: Word64,
    /// [`super::signature`]: who performed the operation that decided the last wait whose thread had to be woken.
    pub signature: Word64,
    /// Owner id of the wait (high half) and number of its objects without the alert (low half).
    pub wait: Word64,
    /// Next hint of the pool.
    pub next_hint: Word32,
    /// Where and when the wait was decided: a hint, see [`crate::protocol::spin`].
    pub stamp: Word32,
    /// The objects of the wait, then its alert.
    pub list: [Word64; LIST_MAX],
    /// The requested operation while the state is `Requesting`, see [`crate::protocol::signal`].
    pub request: Word64,
    /// For onlookers, see [`crate::observe`]: when the wait joined its queues, in seconds and nanoseconds of the same clock
    /// that add up; and until when its thread sleeps at most.
    pub asleep_since: [Word64; 2],
    pub deadline: Word64,
    /// The word that it found at its first object: its version, and its mark.
    pub joined_at: Word64,
    pub joined_after: Word64,
    /// The object of the request.
    pub request_object: Word64,
    /// What the wait found at its other objects and its alert ([`crate::format::found`]).
    pub joined_others: [Word64; WAIT_MAX],
    /// Where a detached wait is delivered; 0 if the slot was never used for one. See [`crate::protocol::detached`].
    pub queue: Word64,
    /// What a detached wait means to who takes its result.
    pub key: Word64,
    /// Apart from what the thread itself writes: the cache line would go back and forth with each wake.
    pub woken: Line<Woken>,
}

/// The last wake of a thread, for onlookers. [`WaiterSlot::signature`] says which thread sent it.
#[repr(C)]
pub struct Woken {
    pub at: Word64,
    pub object: Word64,
    /// The low half of the word of the wait whose wake was sent last.
    pub from: Word64,
}

/// Where detached waits are delivered. See [`crate::protocol::detached`].
#[repr(C, align(64))]
pub struct QueueSlot {
    /// A thread that sleeps for a delivery sleeps on this word.
    pub bell: Line<Word64>,
    /// The process that has the queue, like [`WaiterSlot::holder`], with its serial in place of a thread.
    pub holder: Word64,
    /// Next hint of the pool.
    pub next_hint: Word32,
    /// Counts those who had it.
    pub serial: Word32,
    /// How many groups have had their turn, so which is looked at next.
    pub rotor: Word32,
    /// 1 if a packet was taken last: a result has its turn.
    pub turn: Word32,
    /// 1 if there was a wait for a timer, which no thread may outsleep, or for an end, or for a mutex at whose owner somebody must look.
    pub timed: Word32,
    /// The place of the packet that is taken next, and of the next one that is posted, counted for ever.
    pub head: Line<Word64>,
    pub tail: Line<Word64>,
    /// How often something of a group of waiter slots was delivered.
    pub posted: Line<[Word32; QUEUE_GROUPS]>,
    /// The count at which somebody has looked at all of the group.
    pub seen: Line<[Word32; QUEUE_GROUPS]>,
}

/// The place of an owner. See [`crate::arena::owners`].
#[repr(C, align(32))]
pub struct OwnerSlot {
    /// [`super::owner::OwnerWord`].
    pub word: Word128,
    /// Next hint of the pool.
    pub next_hint: Word32,
    /// The owner's life, unless the kernel marks it.
    pub life: Word32,
}

/// The word of a thread that the kernel marks, at the end of its page ([`ntux_platform::life`]).
#[repr(C)]
pub struct LifePage {
    unused: [Word64; WORD_AT / 8],
    pub word: Word32,
    /// Nothing, up to the end.
    rest: [Word32; 5],
}

/// Additional entries of a wait set.
#[repr(C, align(64))]
pub struct Chunk {
    /// [`super::chunk_word::Link`] to the next chunk of the same wait set.
    pub next: Word32,
    pub wait_set: [Word64; PLACES_CHUNK],
}

/// Names whose hashes have the same remainder: a page, of which nothing is used without its head. See [`crate::arena::names`].
#[repr(C)]
pub struct NameGroup {
    /// [`super::name_word::NameHead`].
    pub head: Word128,
    /// [`super::name_word::NameWord`].
    pub names: [Word128; NAMES_GROUP],
}

/// The bytes of a name, eight in a word, the first one in its lowest bits.
#[repr(C)]
pub struct NameText {
    pub words: [Word64; NAME_WORDS],
}

/// Words of a text: enough for the longest name.
pub const NAME_WORDS: usize = 32;

const _: () = assert!(size_of::<NameGroup>() == 4096);
const _: () = assert!(NAME_WORDS * 8 > super::limits::NAME_MAX);
const _: () = assert!(size_of::<ObjectSlot>() == 64);
const _: () = assert!(size_of::<WaiterSlot>() == 1216);
/// A wait for one object leaves its notes in one cache line.
const _: () = assert!(offset_of!(WaiterSlot, asleep_since) / 64 == offset_of!(WaiterSlot, joined_after) / 64);
const _: () = assert!(size_of::<Chunk>() == 256);
const _: () = assert!(size_of::<QueueSlot>() == 2304);
const _: () = assert!(size_of::<OwnerSlot>() == 32);
const _: () = assert!(size_of::<LifePage>() == PAGE && offset_of!(LifePage, word) == WORD_AT);
const _: () = assert!(size_of::<Header>() <= HEADER_BYTES as usize);

/// Byte offsets for a capacity.
#[derive(Clone, Copy)]
pub struct Layout {
    pub peers: u64,
    pub waiters: u64,
    pub objects: u64,
    pub chunks: u64,
    pub chunk_count: u32,
    pub records: u64,
    pub queues: u64,
    pub queue_count: u32,
    pub packets: u64,
    pub claims: u64,
    pub names: u64,
    pub name_groups: u32,
    pub texts: u64,
    pub schedules: u64,
    pub owners: u64,
}

impl Layout {
    /// None if the capacity is out of bounds.
    pub fn new(capacity: Capacity) -> Option<Layout> {
        let objects_fit = (1..=OBJECTS_MAX).contains(&capacity.objects);
        let waiters_fit = (1..=WAITERS_MAX).contains(&capacity.waiters);
        if !objects_fit || !waiters_fit {
            return None;
        }
        // A wait registers with at most 65 objects, so two chunks and a bit; most waits need none.
        let chunk_count = capacity.waiters * 2;
        let peers = HEADER_BYTES;
        let waiters = peers + u64::from(PEERS_MAX) * size_of::<Word128>() as u64;
        let objects = waiters + u64::from(capacity.waiters) * size_of::<WaiterSlot>() as u64;
        let chunks = objects + u64::from(capacity.objects) * size_of::<ObjectSlot>() as u64;
        let records = chunks + u64::from(chunk_count) * size_of::<Chunk>() as u64;
        let queues = records + u64::from(RECORDS) * size_of::<Word128>() as u64;
        // A queue without a wait is rare.
        let queue_count = capacity.waiters.min(QUEUES_MAX);
        let packets = queues + u64::from(queue_count) * size_of::<QueueSlot>() as u64;
        let claims = packets + u64::from(queue_count * PACKETS_MAX) * size_of::<Word128>() as u64;
        let names = claims + u64::from(capacity.objects) * size_of::<Word128>() as u64;
        // Half of the places are free when as many names are used as are promised.
        let name_groups = (capacity.objects.div_ceil(NAMES_GROUP as u32 / 2)).min(NAME_GROUPS_MAX);
        let texts = names + u64::from(name_groups) * size_of::<NameGroup>() as u64;
        let schedules = texts + u64::from(name_groups) * (NAMES_GROUP * size_of::<NameText>()) as u64;
        let owners = (schedules + u64::from(capacity.objects) * size_of::<Word128>() as u64)
            .next_multiple_of(size_of::<OwnerSlot>() as u64);
        Some(Layout {
            peers,
            waiters,
            objects,
            chunks,
            chunk_count,
            records,
            queues,
            queue_count,
            packets,
            claims,
            names,
            name_groups,
            texts,
            schedules,
            owners,
        })
    }

    /// Byte offset of the lives. It is asked for rarely: a process has an arena for each device that it opens, and their words are few.
    pub fn lives(&self, capacity: Capacity) -> u64 {
        let owners = u64::from(capacity.owners()) * size_of::<OwnerSlot>() as u64;
        (self.owners + owners).next_multiple_of(PAGE as u64)
    }

    /// Bytes of the file.
    pub fn length(&self, capacity: Capacity) -> u64 {
        self.lives(capacity) + u64::from(capacity.lives()) * PAGE as u64
    }
}

impl Capacity {
    /// How many owners an arena knows at a time.
    pub(crate) fn owners(self) -> u32 {
        self.waiters.min(OWNERS_MAX)
    }

    /// How many of them have a life that the kernel marks.
    pub(crate) fn lives(self) -> u32 {
        self.owners().min(LIVES_MAX)
    }
}
