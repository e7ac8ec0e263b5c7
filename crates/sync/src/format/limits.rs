// SPDX-License-Identifier: MIT OR Apache-2.0
//! The table of all limits that the processes of an arena share. The fingerprint covers all of them.
//!
//! The model checker has smaller ones, so that few threads reach them.

/// Processes that can take part at a time.
pub const PEERS_MAX: u32 = 4096;
/// Families of processes whose objects are descriptors, at a time; see [`crate::arena::descriptor`].
pub const FAMILIES_MAX: u32 = 4096;
/// Waiters are numbered below this.
pub const WAITERS_MAX: u32 = 1 << 16;
/// Objects of one wait, and its alert.
pub const LIST_MAX: usize = crate::WAIT_MAX + 1;
/// Waiters that fit an object's own line.
pub const PLACES_INLINE: usize = 3;
/// Waiters that fit a chunk.
pub const PLACES_CHUNK: usize = 31;
/// Most objects an arena can have.
pub const OBJECTS_MAX: u32 = 1 << 24;
/// Events that the ring of [`crate::observe::trace`] holds.
pub const RECORDS: u32 = 1 << 16;
/// Most bytes of a name.
pub const NAME_MAX: usize = 255;
/// Owner ids of an arena, at a time.
pub const OWNERS_MAX: u32 = 1 << 15;
/// Owners whose deaths the kernel can tell, at a time: a page each.
pub const LIVES_MAX: u32 = 1024;
/// How often a place of an owner is used before the objects are asked whether they name an earlier one. A checker's is soon.
pub(crate) const OWNER_TURNS: u32 = if cfg!(ntux_explore) { 2 } else { u16::MAX as u32 };
/// Groups of names, at most; see [`crate::arena::names`].
pub const NAME_GROUPS_MAX: u32 = 256;
/// Places for names in a group, which is a page with its head.
pub const NAMES_GROUP: usize = 255;
/// Queues of detached waits, at a time.
pub const QUEUES_MAX: u32 = 512;
/// Packets that wait in a queue, at most. A checker's queue is full with two.
pub const PACKETS_MAX: u32 = if cfg!(ntux_explore) { 2 } else { 1024 };
/// A queue notes deliveries of the waiter slots whose numbers have the same remainder together.
pub const QUEUE_GROUPS: usize = 256;
/// A checker's slots share their groups.
pub(crate) const QUEUE_GROUPS_USED: u32 = if cfg!(ntux_explore) { 2 } else { QUEUE_GROUPS as u32 };
/// A checker's group is full with two.
pub(crate) const NAMES_USED: u32 = if cfg!(ntux_explore) { 2 } else { NAMES_GROUP as u32 };
/// A checker's arena is full with two, so that the third must replace a dead one.
pub(crate) const PEERS_USED: u32 = if cfg!(ntux_explore) { 2 } else { PEERS_MAX };
/// A checker's wait sets are small, so that its few threads make them grow.
pub(crate) const INLINE_USED: usize = if cfg!(ntux_explore) { 1 } else { PLACES_INLINE };
/// The same of a chunk.
pub(crate) const CHUNK_USED: usize = if cfg!(ntux_explore) { 1 } else { PLACES_CHUNK };
/// A checker has two processes, of which one shall find no place among the holds of an object.
pub(crate) const HOLDERS_USED: usize = if cfg!(ntux_explore) { 1 } else { 4 };
/// How much of a mutex's recursion count a spill moves at a time.
pub(crate) const SPILL_UNIT: u32 = 16;
/// How often a wait restarts before it joins its queues one by one.
pub(crate) const QUEUEING_TRIES: u32 = 16;
/// Most rounds of a loop over one word, which ends sooner unless other threads change that word in between. A thread
/// that reaches it is reading rubbish. Larger loops use [`crate::budget`].
pub(crate) const RETRIES: u32 = 1 << 20;

/// All limits, in the order of the fingerprint. Processes with different limits cannot share an arena.
pub(crate) const ALL: [u64; 25] = [
    PEERS_MAX as u64,
    PEERS_USED as u64,
    FAMILIES_MAX as u64,
    OBJECTS_MAX as u64,
    WAITERS_MAX as u64,
    LIST_MAX as u64,
    INLINE_USED as u64,
    CHUNK_USED as u64,
    HOLDERS_USED as u64,
    RECORDS as u64,
    OWNERS_MAX as u64,
    LIVES_MAX as u64,
    OWNER_TURNS as u64,
    NAME_MAX as u64,
    NAME_GROUPS_MAX as u64,
    NAMES_GROUP as u64,
    NAMES_USED as u64,
    QUEUES_MAX as u64,
    PACKETS_MAX as u64,
    QUEUE_GROUPS as u64,
    QUEUE_GROUPS_USED as u64,
    crate::budget::WORK_BUDGET as u64,
    RETRIES as u64,
    QUEUEING_TRIES as u64,
    SPILL_UNIT as u64,
];
