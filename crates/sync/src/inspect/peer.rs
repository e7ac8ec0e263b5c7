// SPDX-License-Identifier: MIT OR Apache-2.0
//! A process that uses the arena.

use ntux_platform::atomic::Word128;
use ntux_platform::liveness::{self, Process};

use super::{number, reading};
use crate::format::fields::{PEER, part};
use crate::format::peer::{pack, unpack};

/// A process that uses the arena, or used it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PeerView {
    /// Its index.
    pub index: u32,
    /// Its number in its own namespace, its start time in the kernel's ticks, its namespace; 0 where unknown.
    pub process: Process,
    /// It is still returning what the previous process owned.
    pub burying: bool,
    /// If it is alive, as far as that can be seen.
    pub presence: Presence,
}

/// If a process is alive, as far as that can be seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Presence {
    /// It runs, or is stopped.
    Alive,
    /// It has ended.
    Dead,
    /// It cannot be seen from here: another namespace, or no /proc.
    Unknown,
}

impl PeerView {
    /// Returns `None` if nobody has the slot.
    pub(super) fn of(index: u32, word: &Word128, me: Process) -> Option<PeerView> {
        let pair = reading(word, |pair| pair).what;
        let process = unpack(pair)?;
        let burying = number(pair, part(PEER, "burying")) != 0;
        Some(PeerView { index, process, burying, presence: Presence::of(process, me) })
    }

    /// Returns true if the slot is still this process's, and nothing in it belongs to another process.
    pub(super) fn is_in(&self, word: &Word128) -> bool {
        !self.burying && reading(word, |pair| pair).what == pack(self.process)
    }
}

impl Presence {
    fn of(process: Process, me: Process) -> Presence {
        let is_known = process.pid != 0 && process.namespace == me.namespace && process.start != 0 && me.start != 0;
        match liveness::is_process_dead(process, me) {
            true => Presence::Dead,
            false if is_known => Presence::Alive,
            false => Presence::Unknown,
        }
    }
}
