// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arenas by name: which arena has a name, and which processes have it, so that another one can get it from them.
//!
//! # Role
//! A name stands for one arena as long as a process has it, and then for a new one. There is no server: a process that has the arena
//! hands it on, without knowing. A small file, the *meeting place*, says which processes have it behind which descriptor, and another
//! process opens that through /proc. So an arena with a name is sealed memory as any other one, and nobody can make it shorter. A process
//! that could falsify the meeting place may end these processes anyway.
//!
//! # Picture
//! ```text
//! meeting place: magic, version
//!                current    the arena's inode (0: there was none yet), arrivals
//!                seat 0     process, inode, descriptor, changes
//!                seat 1     ...
//!                ...        (255 seats)
//!
//!            127          96 95          64 63                         0
//!           +---------------+--------------+---------------------------+
//! what it   |    changes    |  descriptor  |          inode            |      inode 0: nothing
//! has       +---------------+--------------+---------------------------+
//! ```
//!
//! # Transitions
//! | current | to | by |
//! | --- | --- | --- |
//! | an arena | the same, one arrival more | a process that has it, and sits |
//! | none; an arena that no process on a seat has | another arena | a process that has made it, and sits |
//!
//! | seat | to | by |
//! | --- | --- | --- |
//! | empty; of a dead process | this process; what it has is not changed yet | a process that arrives |
//! | of another program or library in this process, which has closed that descriptor | the same | the same |
//! | of this process, which has closed that descriptor; or just taken by it | its arena and its descriptor | the same |
//! | of this process | the same, with nothing | the same, if it does not arrive |
//!
//! # Invariants
//! * I-meet-1: a process sits before it arrives, and its seat stays as long as it lives and has the arena. A process that has read
//!   *current*, and then finds on no seat a process that has this arena, knows: none that had arrived by then has it any more. Each
//!   later arrival changes *current*. So an exchange of *current* replaces no arena that a process has.
//! * I-meet-2: arrivals are counted, so *current* never returns to an earlier value.
//! * I-meet-3: what a seat says is tried: the file that is opened has the inode, is an arena, and is attached like any other.
//! * I-meet-4: changes of a seat are counted, because a process gets the same descriptor again. So a thread that found that its process
//!   has closed a descriptor takes no seat on which another thread has sat since.
//! * I-meet-5: a process arrives only if others can find what it has as it finds that itself. So *it has closed that descriptor* is never
//!   said of a process whose descriptors cannot be seen.
//! * I-meet-6: a process that sits leaves its seat only if *current* is another arena by then. So it arrives at what others have got from
//!   it meanwhile, when all that had arrived there before may be gone.
//!
//! # Ordering
//! * O-meet: a seat is exchanged before *current*. A process that has read *current* finds on the seats all that had arrived by then.
//!
//! # Death
//! At any step: the seat is that of a dead process. One that is stopped blocks nobody; what it has can be opened.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, AsRawFd};

use ntux_platform::atomic::{Pair, Word64, Word128};
use ntux_platform::liveness::{self, Process};
use ntux_platform::memory::{self, Mapping};
use ntux_platform::{error as number, meeting};

use super::Arena;
use crate::format::layout::{Capacity, Layout};
use crate::format::limits::RETRIES;
use crate::format::peer::{pack, unpack};
use crate::planted::{Bug, planted};
use crate::{Error, Result};

const MAGIC: u64 = u64::from_le_bytes(*b"ntuxmeet");
const VERSION: u64 = 1;
const SEATS: usize = 255;
/// A checker's place is full with a few.
const SEATS_USED: usize = if cfg!(ntux_explore) { 4 } else { SEATS };
/// Most bytes of a name.
const NAME_MAX: usize = 200;

/// An arena that a process has open: the inode, and the descriptor.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Opened {
    /// Not 0.
    pub inode: u64,
    /// A number of that process.
    pub descriptor: u32,
}

/// What a process asks the system about descriptors. A checker plays it.
pub trait Descriptors {
    /// An arena that this process has open, until this is dropped.
    type Arena;

    /// Makes an arena.
    fn make(&self) -> Result<Self::Arena>;
    /// Opens what a process has there. None if it has something else by now, or nothing.
    fn open(&self, pid: u32, there: Opened) -> Result<Option<Self::Arena>>;
    /// Returns true if the process has that there.
    fn has(&self, pid: u32, there: Opened) -> Result<bool>;
    /// Where this process has the arena.
    fn opened(&self, arena: &Self::Arena) -> Opened;
}

/// A meeting place, as it lies in its file.
#[repr(C, align(16))]
pub struct Place {
    magic: Word64,
    version: Word64,
    current: Word128,
    seats: [Seat; SEATS],
}

/// A process that has an arena, which, and behind which descriptor.
#[repr(C, align(16))]
struct Seat {
    /// As in the table of an arena's processes.
    process: Word128,
    /// [`Has`].
    has: Word128,
}

const LENGTH: usize = size_of::<Place>();

/// What a seat says that its process has.
#[derive(Clone, Copy)]
struct Has(Pair);

impl Has {
    /// None if it has nothing.
    fn opened(self) -> Option<Opened> {
        let Pair { low: inode, high } = self.0;
        (inode != 0).then_some(Opened { inode, descriptor: high as u32 })
    }

    /// The seat's next word. (I-meet-4)
    fn then(self, opened: Opened) -> Has {
        let changes = (self.0.high >> 32).wrapping_add(u64::from(!planted(Bug::SeatUncounted)));
        Has(Pair { low: opened.inode, high: changes << 32 | u64::from(opened.descriptor) })
    }
}

impl Arena {
    /// Attaches the arena with this name, or makes it.
    ///
    /// Errors: those of [`Arena::create`] and [`Arena::attach`]; `Invalid` for a name that none can be; `NotAnArena` also if the file of that name is
    /// no meeting place; `Exhausted` also if no seat is free; `Os` also with what [`meeting::place`] says, with ENOENT or EACCES if the system does not
    /// show this process its own descriptors, with EACCES if the processes that have it hide from this one, and with EXDEV if all of
    /// them are in other PID namespaces.
    pub(crate) fn meet(name: &str, capacity: Capacity) -> Result<Arena> {
        let is_name = (1..=NAME_MAX).contains(&name.len()) && !name.starts_with('.') && !name.contains(['/', '\0']);
        if !is_name || Layout::new(capacity).is_none() {
            return Err(Error::Invalid);
        }
        let shown = CString::new(format!("ntsync:{name}")).map_err(|_| Error::Invalid)?;
        Meeting::at(name)?.place().meet(&Files { shown: &shown, capacity })
    }
}

impl Place {
    /// The current arena, from whoever has it, or a new one.
    ///
    /// Errors: those of the system; `Exhausted`.
    pub fn meet<D: Descriptors>(&self, system: &D) -> Result<D::Arena> {
        let me = liveness::this_process();
        for _ in 0..RETRIES {
            let seen = self.current.load();
            let arena = match self.find(system, seen.low, me)? {
                Some(arena) => arena,
                None => system.make()?,
            };
            let mine = system.opened(&arena);
            if planted(Bug::ArrivesUnseated) && self.arrive(seen, mine.inode) {
                self.sit(system, mine, me)?;
                return Ok(arena);
            }
            let (seat, has) = self.sit(system, mine, me)?;
            // I-meet-5
            if !system.has(me.pid, mine)? {
                seat.leave(has);
                return Err(Error::Os(number::ENOENT));
            }
            // I-meet-1
            if self.arrive(seen, mine.inode) {
                return Ok(arena);
            }
            seat.leave(has);
        }
        Err(Error::Corrupt)
    }

    /// Opens the arena with this inode of a process on a seat. None if no process has it.
    ///
    /// Errors: why a process that may have it cannot be asked.
    fn find<D: Descriptors>(&self, system: &D, inode: u64, me: Process) -> Result<Option<D::Arena>> {
        let mut hidden = None;
        for seat in self.seats.iter().take(SEATS_USED).filter(|_| inode != 0) {
            let Some(process) = unpack(seat.process.load()) else { continue };
            let Some(there) = Has(seat.has.load()).opened().filter(|there| there.inode == inode) else { continue };
            if liveness::is_process_dead(process, me) {
                continue;
            }
            if !liveness::shares_numbers(process, me) {
                hidden = hidden.or(Some(Error::Os(number::EXDEV)));
                continue;
            }
            match system.open(process.pid, there) {
                Ok(Some(arena)) => return Ok(Some(arena)),
                Ok(None) => {}
                // It may have ended while it was asked.
                Err(_) if liveness::is_process_dead(process, me) => {}
                Err(error) => hidden = Some(error),
            }
        }
        hidden.map_or(Ok(None), Err)
    }

    /// Takes a seat for this process, which has this arena. Returns also what the seat says.
    ///
    /// Errors: `Exhausted`.
    fn sit<D: Descriptors>(&self, system: &D, mine: Opened, me: Process) -> Result<(&Seat, Has)> {
        let mut seats = self.seats.iter().take(SEATS_USED);
        seats.find_map(|seat| Some((seat, seat.take(system, mine, me)?))).ok_or(Error::Exhausted)
    }

    /// The process, which sits, has the arena with this inode, that was made or found for this *current*. Returns false if that is another
    /// arena by now.
    fn arrive(&self, mut seen: Pair, inode: u64) -> bool {
        for _ in 0..RETRIES {
            // I-meet-2
            let arrivals = seen.high.wrapping_add(u64::from(!planted(Bug::ArrivalUncounted)));
            match self.current.compare_exchange(seen, Pair { low: inode, high: arrivals }) {
                Ok(()) => return true,
                // I-meet-6
                Err(now) if now.low == inode && !planted(Bug::SeatGivenUp) => seen = now,
                Err(_) => return false,
            }
        }
        false
    }
}

#[cfg(ntux_explore)]
impl Default for Place {
    fn default() -> Place {
        const NOTHING: Word128 = Word128::new(Pair { low: 0, high: 0 });
        // The changes of a seat wrap soon.
        const LATE: Word128 = Word128::new(Pair { low: 0, high: (u32::MAX as u64 - 1) << 32 });
        Place {
            magic: Word64::new(MAGIC),
            version: Word64::new(VERSION),
            current: NOTHING,
            seats: [const { Seat { process: NOTHING, has: LATE } }; SEATS],
        }
    }
}

impl Seat {
    /// The seat is this process's, which has this arena, if it is free. Returns what it says then.
    fn take<D: Descriptors>(&self, system: &D, mine: Opened, me: Process) -> Option<Has> {
        let (found, seen) = (self.process.load(), Has(self.has.load()));
        let is_free = match unpack(found) {
            None => true,
            Some(other) if found == pack(me) || liveness::precedes(other, me) => !is_kept(system, seen, mine, me),
            Some(other) => liveness::is_process_dead(other, me),
        };
        let is_mine = is_free && (found == pack(me) || self.process.compare_exchange(found, pack(me)).is_ok());
        let has = seen.then(mine);
        (is_mine && self.has.compare_exchange(seen.0, has.0).is_ok()).then_some(has)
    }

    /// The process did not arrive.
    fn leave(&self, has: Has) {
        // Fails if another library in this process has the seat by now.
        let _ = self.has.compare_exchange(has.0, has.then(Opened::default()).0);
    }
}

/// Returns true if this process, whose seat it is, may still have what that says. It has `mine`, so that descriptor is nothing else.
fn is_kept<D: Descriptors>(system: &D, seen: Has, mine: Opened, me: Process) -> bool {
    let may_have = |there: Opened| system.has(me.pid, there).unwrap_or(true);
    seen.opened().is_some_and(|there| there.descriptor != mine.descriptor && may_have(there))
        && !planted(Bug::SeatUnlooked)
}

/// A meeting place that is mapped.
struct Meeting(Mapping);

impl Meeting {
    fn at(name: &str) -> Result<Meeting> {
        let mut start = [0; LENGTH];
        start[..8].copy_from_slice(&MAGIC.to_le_bytes());
        start[8..16].copy_from_slice(&VERSION.to_le_bytes());
        let name = CString::new(name).map_err(|_| Error::Invalid)?;
        let file = meeting::place(&name, &start).map_err(Error::from_io)?;
        let is_regular = memory::regular_file(file.as_fd()).map_err(Error::from_io)?.is_some();
        if !is_regular || memory::size(file.as_fd()).map_err(Error::from_io)? != LENGTH as u64 {
            return Err(Error::NotAnArena);
        }
        let meeting = Meeting(Mapping::new(file.as_fd(), LENGTH).map_err(Error::from_io)?);
        let place = meeting.place();
        let is_one = place.magic.load() == MAGIC && place.version.load() == VERSION;
        if is_one { Ok(meeting) } else { Err(Error::NotAnArena) }
    }

    fn place(&self) -> &Place {
        // SAFETY: the mapping is as long as a place, page-aligned, and lives as long as `self`. A place is made of atomic integers: every
        // byte pattern is valid, and concurrent writes are allowed.
        unsafe { self.0.base().cast::<Place>().as_ref() }
    }
}

/// The system's own descriptors.
struct Files<'a> {
    /// What it shows as the name of a new arena.
    shown: &'a CStr,
    /// That of a new arena.
    capacity: Capacity,
}

impl Descriptors for Files<'_> {
    type Arena = Arena;

    fn make(&self) -> Result<Arena> {
        Arena::of(Arena::make_file(self.shown, self.capacity)?)
    }

    fn open(&self, pid: u32, there: Opened) -> Result<Option<Arena>> {
        match meeting::file_of(pid, there.descriptor, there.inode) {
            Ok(file) => Arena::of(file).map(Some),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::from_io(error)),
        }
    }

    fn has(&self, pid: u32, there: Opened) -> Result<bool> {
        match meeting::file_of(pid, there.descriptor, there.inode) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(Error::from_io(error)),
        }
    }

    fn opened(&self, arena: &Arena) -> Opened {
        let descriptor = arena.fd.as_ref().map_or(u32::MAX, |fd| fd.as_raw_fd() as u32);
        Opened { inode: arena.file.inode, descriptor }
    }
}
