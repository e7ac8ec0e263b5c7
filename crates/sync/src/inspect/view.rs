// SPDX-License-Identifier: MIT OR Apache-2.0
//! The read-only mapping, and which parts of it may be read.

use std::mem::offset_of;
use std::ops::Range;
use std::os::fd::BorrowedFd;

use ntux_platform::atomic::Word128;
use ntux_platform::liveness;
use ntux_platform::memory::{FileId, ReadOnly};

use super::object::Chains;
use super::{AdmissionView, ObjectView, PeerView, Snapshot, WaiterView, WakeView, name};
use crate::arena::{HEAD, Shape, begins_arena, is_of_this_version};
use crate::format::layout::{Capacity, Chunk, Header, Layout, NameGroup, NameText, ObjectSlot, PoolWords, WaiterSlot};
use crate::format::limits::{NAMES_GROUP, PEERS_MAX};
use crate::format::schedule::Schedule;
use crate::format::ticket::Ticket;
use crate::{Error, Result};

/// A read-only view of an arena.
pub struct View {
    mapping: ReadOnly,
    layout: Layout,
    capacity: Capacity,
    file: FileId,
}

impl View {
    /// Maps the arena behind a descriptor, which may be read-only. The descriptor is not needed afterwards.
    ///
    /// Errors: `NotAnArena` if it is something else, another version, truncated, or could be truncated; `Os`, also if
    /// there is no /proc through which the file can be opened read-only.
    pub fn open(fd: BorrowedFd<'_>) -> Result<View> {
        let Shape { file, capacity, layout, length } = Shape::of(fd)?;
        let mapping = ReadOnly::new(fd, file, length).map_err(Error::from_io)?;
        Ok(View { mapping, layout, capacity, file })
    }

    /// Bytes at the start of a file that say what it is.
    pub const HEAD: usize = HEAD;

    /// Returns true if an arena of any version begins so; eight bytes say it.
    pub fn begins_arena(start: &[u8]) -> bool {
        begins_arena(start)
    }

    /// Returns true if an arena of this version begins so; the file itself may be cut off.
    pub fn is_of_this_version(start: &[u8; HEAD]) -> bool {
        is_of_this_version(start)
    }

    /// The file's identity, which is the same in every process.
    pub fn file(&self) -> FileId {
        self.file
    }

    /// The arena's capacity.
    pub fn capacity(&self) -> Capacity {
        self.capacity
    }

    /// Where in the file the word lies on which the thread of a place sleeps: its first four bytes. None: there is no such place.
    pub fn word_of(&self, waiter: u32) -> Option<u64> {
        let place = self.layout.waiters + u64::from(waiter) * size_of::<WaiterSlot>() as u64;
        (waiter < self.capacity.waiters).then_some(place + offset_of!(WaiterSlot, word) as u64)
    }

    /// Reads everything once.
    ///
    /// Errors: `Os` if the system does not say which parts of the file have memory.
    pub fn snapshot(&self) -> Result<Snapshot> {
        let mut look = Look { view: self, last_ticket: 0, parts: self.mapping.parts().map_err(Error::from_io)? };
        let me = liveness::this_process();
        let mut chains = Chains::new(self.layout.chunk_count);
        let peers = (0..PEERS_MAX).filter_map(|index| PeerView::of(index, look.peer(index)?, me)).collect();
        // Waiters before objects: a thread that falls asleep in between has entries, but no wait to show.
        let waiters = (0..look.waiters_used()).filter_map(|index| WaiterView::of(&look, index)).collect();
        let wakes = (0..look.waiters_used()).filter_map(|index| WakeView::of(&look, index)).collect();
        // After the waiters, so that none of their tickets is younger.
        look.last_ticket = look.header().map_or(0, |header| header.ticket.0.load());
        let objects = (0..look.objects_used()).filter_map(|index| ObjectView::of(&look, index, &mut chains)).collect();
        let admission = look.header().map(AdmissionView::of).unwrap_or_default();
        let mut snapshot = Snapshot { capacity: self.capacity, peers, waiters, wakes, objects, admission };
        snapshot.complete_waits();
        snapshot.name_objects(name::all(&look));
        snapshot.forget_unsure_creators(|peer| look.peer(peer.index).is_some_and(|word| peer.is_in(word)));
        Ok(snapshot)
    }
}

/// The state of one snapshot: which parts had memory when it began.
pub(super) struct Look<'a> {
    view: &'a View,
    /// The ticket that was drawn last.
    last_ticket: u64,
    parts: Vec<Range<u64>>,
}

impl<'a> Look<'a> {
    pub fn header(&self) -> Option<&'a Header> {
        // SAFETY: the header lies at the start of the file.
        unsafe { self.at(0, 0) }
    }

    pub fn peer(&self, index: u32) -> Option<&'a Word128> {
        // SAFETY: the layout has PEERS_MAX words here, 16-byte aligned.
        if index < PEERS_MAX { unsafe { self.at(self.view.layout.peers, index) } } else { None }
    }

    pub fn waiter(&self, index: u32) -> Option<&'a WaiterSlot> {
        // SAFETY: the layout has `capacity.waiters` waiter slots here, 64-byte aligned.
        if index < self.view.capacity.waiters { unsafe { self.at(self.view.layout.waiters, index) } } else { None }
    }

    pub fn object(&self, index: u32) -> Option<&'a ObjectSlot> {
        // SAFETY: the layout has `capacity.objects` object slots here, 64-byte aligned.
        if index < self.view.capacity.objects { unsafe { self.at(self.view.layout.objects, index) } } else { None }
    }

    pub fn chunk(&self, index: u32) -> Option<&'a Chunk> {
        // SAFETY: the layout has `chunk_count` chunks here, 64-byte aligned.
        if index < self.view.layout.chunk_count { unsafe { self.at(self.view.layout.chunks, index) } } else { None }
    }

    pub fn name_groups(&self) -> u32 {
        self.view.layout.name_groups
    }

    pub fn name_group(&self, index: u32) -> Option<&'a NameGroup> {
        // SAFETY: the layout has `name_groups` groups here, 16-byte aligned.
        if index < self.view.layout.name_groups { unsafe { self.at(self.view.layout.names, index) } } else { None }
    }

    /// The text of a place in a group.
    pub fn name_text(&self, group: u32, place: u32) -> Option<&'a NameText> {
        let exists = group < self.view.layout.name_groups && place < NAMES_GROUP as u32;
        // SAFETY: the layout has NAMES_GROUP texts for each of `name_groups` groups here, 8-byte aligned.
        if exists { unsafe { self.at(self.view.layout.texts, group * NAMES_GROUP as u32 + place) } } else { None }
    }

    /// The schedule of a timer; that of one that is not armed, if it has no memory.
    pub fn schedule(&self, index: u32) -> Schedule {
        if !self.is_object(index) {
            return Schedule::default();
        }
        // SAFETY: the layout has `capacity.objects` words here, 16-byte aligned.
        let word: Option<&Word128> = unsafe { self.at(self.view.layout.schedules, index) };
        word.map_or(Schedule::default(), |word| Schedule(word.load()))
    }

    pub fn is_object(&self, index: u32) -> bool {
        index < self.view.capacity.objects
    }

    pub fn is_waiter(&self, index: u32) -> bool {
        index < self.view.capacity.waiters
    }

    /// Orders tickets by arrival, though their counter wraps: a total order, whatever they are.
    pub fn age_rank(&self, ticket: u64) -> u64 {
        Ticket::new(ticket.wrapping_sub(self.last_ticket).wrapping_sub(1)).number()
    }

    fn waiters_used(&self) -> u32 {
        self.used(|header| &header.waiter_pool.0, self.view.capacity.waiters)
    }

    fn objects_used(&self) -> u32 {
        self.used(|header| &header.object_pool.0, self.view.capacity.objects)
    }

    fn used(&self, pool: impl Fn(&Header) -> &PoolWords, capacity: u32) -> u32 {
        self.header().map_or(0, |header| pool(header).fresh.load().min(capacity))
    }

    /// Returns `None` if the element has no memory.
    ///
    /// # Safety
    /// `table` must be the start of a table of at least `index + 1` elements within the layout, aligned for `T`, and
    /// `T` must be made of atomic integers, none of which is written through the result.
    unsafe fn at<T>(&self, table: u64, index: u32) -> Option<&'a T> {
        let start = table + u64::from(index) * size_of::<T>() as u64;
        let end = start + size_of::<T>() as u64;
        let behind = self.parts.partition_point(|part| part.start <= start);
        let has_memory = self.parts[..behind].last().is_some_and(|part| end <= part.end);
        // SAFETY: by the contract the element lies inside the mapping, which lives as long as the view. Every byte
        // pattern is a valid atomic integer, and others may write it at any time.
        has_memory.then(|| unsafe { self.view.mapping.base().add(start as usize).cast::<T>().as_ref() })
    }
}
