// SPDX-License-Identifier: MIT OR Apache-2.0
//! An arena: the shared memory in which objects and waiters live.
//!
//! Everything read from it is an integer, every index is checked here before it becomes an address, and nothing in the
//! file decides its length. So a process that scribbles over it can corrupt the objects, but never the other processes.

#[cfg(ntux_explore)]
mod aged;
pub(crate) mod chunks;
pub(crate) mod claims;
#[cfg(ntux_explore)]
mod creators;
pub(crate) mod holds;
pub(crate) mod lifetime;
pub(crate) mod meeting;
pub(crate) mod names;
pub(crate) mod objects;
pub(crate) mod owners;
pub(crate) mod packets;
pub(crate) mod peers;
pub(crate) mod pool;
pub(crate) mod queues;
#[cfg(ntux_explore)]
mod scarce;
pub(crate) mod schedules;
pub(crate) mod wait_set;

pub(crate) mod descriptor;

use std::ffi::CStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::slice;

use ntux_platform::atomic::{Word32, Word128};
use ntux_platform::memory::{self, FileId, Mapping};
use ntux_platform::protection::page_size;

use crate::format::layout::{
    Capacity, Chunk, Header, Layout, LifePage, NameGroup, NameText, ObjectSlot, OwnerSlot, QueueSlot, WaiterSlot,
};
use crate::format::limits::{NAMES_GROUP, PACKETS_MAX, PEERS_MAX, RECORDS};
use crate::format::{FINGERPRINT, MAGIC, VERSION};
use crate::planted::{Bug, planted};
use crate::{Error, Result};

/// Bytes that say what a file is: magic, version, fingerprint, capacity.
pub(crate) const HEAD: usize = 24;

/// [`Arena::set_spins`] was not called.
const SPINS_UNSET: u32 = u32::MAX;

/// An attached arena. Share it between threads by reference or `Arc`; it is unmapped on drop.
pub struct Arena {
    mapping: Mapping,
    layout: Layout,
    pub(crate) capacity: Capacity,
    pub(crate) file: FileId,
    /// The descriptor, to pass to other processes.
    pub(crate) fd: Option<OwnedFd>,
    peer: peers::OwnPlace,
    /// Which family answers for the descriptors that this process has.
    family: descriptor::OwnFamily,
    spins: Word32,
    /// Bytes in a page of memory.
    page: usize,
}

impl Arena {
    /// Creates the file of an arena; see [`Arena::create`]. The name is for people who look at the process.
    pub(crate) fn make_file(name: &CStr, capacity: Capacity) -> Result<OwnedFd> {
        if !ntux_platform::atomic::supported() {
            return Err(Error::Os(ntux_platform::error::ENOSYS));
        }
        let layout = Layout::new(capacity).ok_or(Error::Invalid)?;
        let fd = memory::create(name, layout.length(capacity)).map_err(Error::from_io)?;
        let mapping = Mapping::new(fd.as_fd(), size_of::<Header>()).map_err(Error::from_io)?;
        mapping.provide(0, size_of::<Header>()).map_err(Error::from_io)?;
        // SAFETY: the mapping is at least as long as the header, page-aligned, and every byte pattern is a valid
        // header.
        let header = unsafe { mapping.base().cast::<Header>().as_ref() };
        header.version.store(VERSION);
        header.fingerprint.store(FINGERPRINT);
        header.objects.store(capacity.objects);
        header.waiters.store(capacity.waiters);
        header.magic.store(MAGIC);
        Ok(fd)
    }

    /// Maps the arena behind a descriptor; see [`Arena::map`].
    pub(crate) fn over(fd: BorrowedFd<'_>) -> Result<Arena> {
        if !ntux_platform::atomic::supported() {
            return Err(Error::Os(ntux_platform::error::ENOSYS));
        }
        let Shape { file, capacity, layout, length } = Shape::of(fd)?;
        let mapping = Mapping::new(fd, length).map_err(Error::from_io)?;
        let (peer, spins) = (peers::OwnPlace::default(), Word32::new(SPINS_UNSET));
        Ok(Arena {
            mapping,
            layout,
            capacity,
            file,
            fd: None,
            peer,
            family: descriptor::OwnFamily::none(),
            spins,
            page: page_size(),
        })
    }

    /// Maps the arena in this file, and keeps it.
    pub(crate) fn of(fd: OwnedFd) -> Result<Arena> {
        let mut arena = Arena::over(fd.as_fd())?;
        arena.fd = Some(fd);
        Ok(arena)
    }

    /// How often a wait of this process looks again; see [`Arena::set_spins`].
    pub(crate) fn allow_spins(&self, spins: u32) {
        self.spins.store(spins.min(SPINS_UNSET - 1));
    }

    /// How often a wait of this process looks again, if that was said.
    pub(crate) fn spins(&self) -> Option<u32> {
        let spins = self.spins.load();
        (spins != SPINS_UNSET).then_some(spins)
    }

    pub(crate) fn header(&self) -> &Header {
        // SAFETY: the mapping is at least as long as the header (layout), page-aligned, and lives as long as `self`.
        // The header is made of atomic integers: every byte pattern is valid and concurrent writes are allowed.
        unsafe { self.mapping.base().cast::<Header>().as_ref() }
    }

    /// # Safety
    /// `offset` must be the start of a table of at least `index + 1` elements within the layout, aligned for `T`, and
    /// `T` must be made of atomic integers.
    #[inline(always)]
    unsafe fn at<T>(&self, offset: u64, index: u32) -> &T {
        let offset = offset as usize + index as usize * size_of::<T>();
        debug_assert!(offset + size_of::<T>() <= self.mapping.length());
        // SAFETY: by the contract the element lies inside the mapping, which lives as long as `self`.
        unsafe { self.mapping.base().add(offset).cast::<T>().as_ref() }
    }

    /// Returns all object slots. A loop over many objects asks once: the compiler does not know that a load of shared
    /// memory leaves the arena's own fields unchanged, and would read these again for each object.
    #[inline(always)]
    pub(crate) fn object_slots(&self) -> &[ObjectSlot] {
        // SAFETY: the layout has `capacity.objects` object slots here, 64-byte aligned and inside the mapping, which
        // lives as long as `self`. They are made of atomic integers: every byte pattern is valid, and concurrent
        // writes are allowed.
        unsafe {
            let first = self.mapping.base().add(self.layout.objects as usize).cast::<ObjectSlot>();
            slice::from_raw_parts(first.as_ptr(), self.capacity.objects as usize)
        }
    }

    #[inline(always)]
    pub(crate) fn object_slot(&self, index: u32) -> Option<&ObjectSlot> {
        self.object_slots().get(index as usize)
    }

    #[inline(always)]
    pub(crate) fn waiter_slot(&self, index: u32) -> Option<&WaiterSlot> {
        // SAFETY: the layout has `capacity.waiters` waiter slots here, 64-byte aligned. (The planted bug breaks just
        // this.)
        (index < self.capacity.waiters || planted(Bug::NoIndexCheck))
            .then(|| unsafe { self.at(self.layout.waiters, index) })
    }

    pub(crate) fn claims_word(&self, index: u32) -> Option<&Word128> {
        // SAFETY: the layout has `capacity.objects` words here, 16-byte aligned.
        (index < self.capacity.objects).then(|| unsafe { self.at(self.layout.claims, index) })
    }

    pub(crate) fn chunk(&self, index: u32) -> Option<&Chunk> {
        // SAFETY: the layout has `chunk_count` chunks here, 64-byte aligned.
        (index < self.layout.chunk_count).then(|| unsafe { self.at(self.layout.chunks, index) })
    }

    pub(crate) fn name_groups(&self) -> u32 {
        self.layout.name_groups
    }

    pub(crate) fn name_group(&self, index: u32) -> Option<&NameGroup> {
        // SAFETY: the layout has `name_groups` groups here, 16-byte aligned.
        (index < self.layout.name_groups).then(|| unsafe { self.at(self.layout.names, index) })
    }

    /// The text of a place in a group.
    pub(crate) fn name_text(&self, group: u32, place: u32) -> Option<&NameText> {
        let exists = group < self.layout.name_groups && place < NAMES_GROUP as u32;
        // SAFETY: the layout has NAMES_GROUP texts for each of `name_groups` groups here, 8-byte aligned.
        exists.then(|| unsafe { self.at(self.layout.texts, group * NAMES_GROUP as u32 + place) })
    }

    fn schedule_word(&self, index: u32) -> Option<&Word128> {
        // SAFETY: the layout has `capacity.objects` words here, 16-byte aligned.
        (index < self.capacity.objects).then(|| unsafe { self.at(self.layout.schedules, index) })
    }

    pub(crate) fn queue_slot(&self, index: u32) -> Option<&QueueSlot> {
        // SAFETY: the layout has `queue_count` queues here, 64-byte aligned.
        (index < self.layout.queue_count).then(|| unsafe { self.at(self.layout.queues, index) })
    }

    /// Returns the cells of the packets of the queue with this index.
    fn packet_words(&self, index: u32) -> Option<&[Word128]> {
        // SAFETY: the layout has PACKETS_MAX words for each of `queue_count` queues here, 16-byte aligned and inside the mapping, which lives
        // as long as `self`. They are atomic integers: every byte pattern is valid, and concurrent writes are allowed.
        (index < self.layout.queue_count).then(|| unsafe {
            let first = self.mapping.base().add(self.layout.packets as usize).cast::<Word128>();
            slice::from_raw_parts(first.as_ptr().add((index * PACKETS_MAX) as usize), PACKETS_MAX as usize)
        })
    }

    fn owner_slot(&self, index: u32) -> Option<&OwnerSlot> {
        // SAFETY: the layout has so many owners here, 32-byte aligned.
        (index < self.capacity.owners()).then(|| unsafe { self.at(self.layout.owners, index) })
    }

    fn provide_owner(&self, index: u32) -> bool {
        self.provide::<OwnerSlot>(self.layout.owners, index)
    }

    /// The page of the life of the owner at this place. None: it has none.
    fn life_page(&self, index: u32) -> Option<&LifePage> {
        // SAFETY: the layout has so many pages here, aligned.
        (index < self.capacity.lives()).then(|| unsafe { self.at(self.layout.lives(self.capacity), index) })
    }

    fn provide_life_page(&self, index: u32) -> bool {
        self.provide_alone::<LifePage>(self.layout.lives(self.capacity), index)
    }

    fn owner_count(&self) -> u32 {
        self.capacity.owners()
    }

    /// How many queues there can be.
    pub(crate) fn queue_count(&self) -> u32 {
        self.layout.queue_count
    }

    pub(crate) fn provide_queue(&self, index: u32) -> bool {
        self.provide::<QueueSlot>(self.layout.queues, index)
    }

    /// Allocates the memory of a schedule, in any order.
    fn provide_schedule(&self, index: u32) -> bool {
        self.provide_alone::<Word128>(self.layout.schedules, index)
    }

    /// Allocates the memory of a group of names, in any order.
    pub(crate) fn provide_name_group(&self, index: u32) -> bool {
        self.provide_alone::<NameGroup>(self.layout.names, index)
    }

    /// The same for a text.
    pub(crate) fn provide_name_text(&self, group: u32, place: u32) -> bool {
        self.provide_alone::<NameText>(self.layout.texts, group * NAMES_GROUP as u32 + place)
    }

    pub(crate) fn provide_object(&self, index: u32) -> bool {
        self.provide::<Word128>(self.layout.claims, index) && self.provide::<ObjectSlot>(self.layout.objects, index)
    }

    pub(crate) fn provide_waiter(&self, index: u32) -> bool {
        self.provide::<WaiterSlot>(self.layout.waiters, index)
    }

    pub(crate) fn provide_chunk(&self, index: u32) -> bool {
        self.provide::<Chunk>(self.layout.chunks, index)
    }

    pub(crate) fn provide_peer(&self, index: u32) -> bool {
        self.provide::<Word128>(self.layout.peers, index)
    }

    /// Allocates the memory of an element of the table that begins at `table`. The elements before it have theirs, so
    /// there is nothing to do unless a page, or the table, begins in this one. Returns false if the system has none
    /// left.
    fn provide<T>(&self, table: u64, index: u32) -> bool {
        let start = table as usize + index as usize * size_of::<T>();
        let end = start + size_of::<T>();
        let begin = if index == 0 { start } else { start.next_multiple_of(self.page) };
        begin >= end || self.mapping.provide(begin, end - begin).is_ok()
    }

    /// The same, whether those before it have theirs or not.
    fn provide_alone<T>(&self, table: u64, index: u32) -> bool {
        self.mapping.provide(table as usize + index as usize * size_of::<T>(), size_of::<T>()).is_ok()
    }

    pub(crate) fn record(&self, index: u32) -> &Word128 {
        // SAFETY: the layout has RECORDS words here, 16-byte aligned.
        unsafe { self.at(self.layout.records, index % RECORDS) }
    }

    /// Allocates the memory of all records.
    pub(crate) fn provide_records(&self) -> Result<()> {
        let bytes = RECORDS as usize * size_of::<Word128>();
        self.mapping.provide(self.layout.records as usize, bytes).map_err(Error::from_io)
    }

    pub(crate) fn chunk_count(&self) -> u32 {
        self.layout.chunk_count
    }

    pub(crate) fn peer_word(&self, index: u32) -> Option<&Word128> {
        // SAFETY: the layout has PEERS_MAX words here, 16-byte aligned.
        (index < PEERS_MAX).then(|| unsafe { self.at(self.layout.peers, index) })
    }
}

/// A file that is an arena of this version, and can be mapped: neither shorter than its header says, nor ever to be.
pub(crate) struct Shape {
    pub file: FileId,
    pub capacity: Capacity,
    pub layout: Layout,
    /// Bytes to map.
    pub length: usize,
}

impl Shape {
    /// Errors: `NotAnArena` if it is something else, another version, truncated, or could be truncated; `Exhausted` if the
    /// process has no addresses for it; `Os`.
    pub(crate) fn of(fd: BorrowedFd<'_>) -> Result<Shape> {
        let file = memory::regular_file(fd).map_err(Error::from_io)?.ok_or(Error::NotAnArena)?;
        let capacity = read_capacity(fd)?;
        let layout = Layout::new(capacity).ok_or(Error::NotAnArena)?;
        // The length last: it is final, once the file is known to be unshrinkable.
        if !memory::cannot_fault(fd) || memory::size(fd).map_err(Error::from_io)? < layout.length(capacity) {
            return Err(Error::NotAnArena);
        }
        let length = usize::try_from(layout.length(capacity)).map_err(|_| Error::Exhausted)?;
        Ok(Shape { file, capacity, layout, length })
    }
}

fn read_capacity(fd: BorrowedFd<'_>) -> Result<Capacity> {
    let mut bytes = [0u8; HEAD];
    match memory::read_start(fd, &mut bytes) {
        Ok(HEAD) => {}
        Ok(_) => return Err(Error::NotAnArena),
        Err(error) => return Err(Error::from_io(error)),
    }
    match is_of_this_version(&bytes) {
        true => Ok(Capacity { objects: word(&bytes, 16), waiters: word(&bytes, 20) }),
        false => Err(Error::NotAnArena),
    }
}

/// Returns true if an arena of this version begins so.
pub(crate) fn is_of_this_version(start: &[u8; HEAD]) -> bool {
    begins_arena(start) && word(start, 8) == VERSION && word(start, 12) == FINGERPRINT
}

/// Returns true if an arena of any version begins so.
pub(crate) fn begins_arena(start: &[u8]) -> bool {
    start.starts_with(&MAGIC.to_le_bytes())
}

fn word(start: &[u8; HEAD], at: usize) -> u32 {
    u32::from_le_bytes([start[at], start[at + 1], start[at + 2], start[at + 3]])
}
