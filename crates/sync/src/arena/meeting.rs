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
//!                seat 0     process, inode, descriptor
//!                seat 1     ...
//!                ...        (255 seats)
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
//! | empty; of a dead process; of this process, which has closed that descriptor | this process, its arena and its descriptor | a process that arrives |
//!
//! # Invariants
//! * I-meet-1: a process sits before it arrives, and its seat stays as long as it lives and has the arena. A process that has read
//!   *current*, and then finds on no seat a process that has this arena, knows: none that had arrived by then has it any more. Each
//!   later arrival changes *current*. So an exchange of *current* replaces no arena that a process has.
//! * I-meet-2: arrivals are counted, so *current* never returns to an earlier value.
//! * I-meet-3: what a seat says is tried: the file that is opened has the inode, is an arena, and is attached like any other.
//!
//! # Death
//! At any step: the seat is that of a dead process. One that is stopped blocks nobody; what it has can be opened.

use std::ffi::CString;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use ntux_platform::atomic::{Pair, Word64, Word128};
use ntux_platform::liveness::{self, Process};
use ntux_platform::memory::{self, Mapping};
use ntux_platform::{error as number, meeting};

use super::Arena;
use crate::format::layout::{Capacity, Layout};
use crate::format::limits::RETRIES;
use crate::format::peer::{pack, unpack};
use crate::{Error, Result};

const MAGIC: u64 = u64::from_le_bytes(*b"ntuxmeet");
const VERSION: u64 = 1;
const SEATS: usize = 255;
/// Most bytes of a name.
const NAME_MAX: usize = 200;

/// A meeting place, as it lies in its file.
#[repr(C, align(16))]
struct Place {
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
    /// The arena's inode, and the descriptor.
    has: Word128,
}

const LENGTH: usize = size_of::<Place>();

/// A meeting place that is mapped.
struct Meeting(Mapping);

/// What the seats say of an arena.
enum Found {
    File(OwnedFd),
    /// Somebody seems to have it, who cannot be asked.
    Hidden(Error),
    Nobody,
}

impl Arena {
    /// Attaches the arena with this name, or makes it.
    ///
    /// Errors: those of [`Arena::create`] and [`Arena::attach`]; `Invalid` for a name that none can be; `NotAnArena` also if the file of that name is
    /// no meeting place; `Exhausted` also if 255 processes have the arena; `Os` also with what [`meeting::place`] says, with EACCES if the processes
    /// that have it hide from this one, and with EXDEV if all of them are in other PID namespaces.
    pub(crate) fn meet(name: &str, capacity: Capacity) -> Result<Arena> {
        let is_name = (1..=NAME_MAX).contains(&name.len()) && !name.starts_with('.') && !name.contains(['/', '\0']);
        if !is_name || Layout::new(capacity).is_none() {
            return Err(Error::Invalid);
        }
        let shown = CString::new(format!("ntsync:{name}")).map_err(|_| Error::Invalid)?;
        let meeting = Meeting::at(name)?;
        let (place, me) = (meeting.place(), liveness::this_process());
        for _ in 0..RETRIES {
            let seen = place.current.load();
            let file = match meeting.find(seen.low, me) {
                Found::File(file) => file,
                Found::Hidden(error) => return Err(error),
                Found::Nobody => Arena::make_file(&shown, capacity)?,
            };
            let mut arena = Arena::over(file.as_fd())?;
            let seat = meeting.sit(me, arena.file.inode, file.as_raw_fd() as u32)?;
            // I-meet-1
            let next = Pair { low: arena.file.inode, high: seen.high.wrapping_add(1) };
            if place.current.compare_exchange(seen, next).is_ok() {
                arena.fd = Some(file);
                return Ok(arena);
            }
            seat.leave();
        }
        Err(Error::Corrupt)
    }
}

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

    /// The arena with this inode, from whoever has it.
    fn find(&self, inode: u64, me: Process) -> Found {
        let mut hidden = None;
        for seat in self.place().seats.iter().filter(|_| inode != 0) {
            let (process, has) = (unpack(seat.process.load()), seat.has.load());
            let Some(process) = process.filter(|_| has.low == inode) else { continue };
            if liveness::is_process_dead(process, me) {
                continue;
            }
            if !liveness::shares_numbers(process, me) {
                hidden = hidden.or(Some(Error::Os(number::EXDEV)));
                continue;
            }
            match meeting::file_of(process.pid, has.high as u32, inode) {
                Ok(file) => return Found::File(file),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => hidden = Some(Error::from_io(error)),
            }
        }
        hidden.map_or(Found::Nobody, Found::Hidden)
    }

    /// Takes a seat for this process, which has the arena behind this descriptor.
    ///
    /// Errors: `Exhausted`.
    fn sit(&self, me: Process, inode: u64, fd: u32) -> Result<&Seat> {
        let (mine, has) = (pack(me), Pair { low: inode, high: fd.into() });
        let sits = |seat: &&Seat| {
            let (process, seen) = (seat.process.load(), seat.has.load());
            let is_mine = process == mine && !seat.is_kept(seen, fd, me)
                || unpack(process)
                    .is_none_or(|other| liveness::is_process_dead(other, me) || liveness::precedes(other, me))
                    && seat.process.compare_exchange(process, mine).is_ok();
            is_mine && seat.has.compare_exchange(seen, has).is_ok()
        };
        self.place().seats.iter().find(sits).ok_or(Error::Exhausted)
    }
}

impl Seat {
    /// Returns true if this process, whose seat it is, still has what it says. `fd` is something else by now.
    fn is_kept(&self, seen: Pair, fd: u32, me: Process) -> bool {
        seen.high != u64::from(fd)
            && seen != Pair::default()
            && meeting::file_of(me.pid, seen.high as u32, seen.low).is_ok()
    }

    /// The process did not arrive. What the seat says is no file of this process once the descriptor is closed; until then it harms nobody.
    fn leave(&self) {
        self.has.compare_exchange(self.has.load(), Pair::default()).ok();
    }
}
