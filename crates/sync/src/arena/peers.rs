//! Which processes take part, so that what the dead left can be found.
//!
//! A peer is one 128-bit word: process number and namespace in the low half, start time in the high half. It is written
//! whole or not at all. An entry is reused only after everything that it owned was given back ([`Arena::bury`]).

use std::cell::Cell;

use ntux_platform::atomic::Pair;
use ntux_platform::liveness::{self, Process};

use super::Arena;
use super::format::PEERS_MAX;
use crate::{Error, Result};

/// A checker's arena is full with two, so that the third has to replace a dead one.
const PEERS_USED: u32 = if cfg!(feature = "explore") { 2 } else { PEERS_MAX };

fn pack(process: Process) -> Pair {
    Pair { low: u64::from(process.pid) | process.namespace << 32, high: process.start }
}

fn unpack(pair: Pair) -> Option<Process> {
    let process = Process { pid: pair.low as u32, start: pair.high, namespace: pair.low >> 32 };
    (pair != Pair::default()).then_some(process)
}

impl Arena {
    /// The index of this process; registers it at the first call, and again in a forked child.
    pub(crate) fn peer(&self) -> Result<u32> {
        let pid = liveness::process_id();
        let known = self.peer.load();
        if known as u32 == pid {
            return Ok((known >> 32) as u32 - 1);
        }
        let index = self.register(liveness::this_process())?;
        self.peer.store(u64::from(index + 1) << 32 | u64::from(pid));
        Ok(index)
    }

    fn register(&self, me: Process) -> Result<u32> {
        let mine = pack(me);
        let find =
            |wanted: Pair| (0..PEERS_USED).find(|&i| self.peer_word(i).is_some_and(|word| word.load() == wanted));
        if let Some(index) = find(mine) {
            return Ok(index);
        }
        // An entry that somebody else took stays taken: so often, at most, can another one be faster.
        for _ in 0..PEERS_MAX {
            let Some(index) = find(Pair::default()) else { break };
            let word = self.peer_word(index).ok_or(Error::Corrupt)?;
            if word.compare_exchange(Pair::default(), mine).is_ok() {
                return Ok(index);
            }
        }
        self.replace_dead(me)
    }

    fn replace_dead(&self, me: Process) -> Result<u32> {
        for index in 0..PEERS_USED {
            let word = self.peer_word(index).ok_or(Error::Corrupt)?;
            let found = word.load();
            if unpack(found).is_some_and(|process| liveness::is_process_dead(process, me)) {
                self.bury(index)?;
                if word.compare_exchange(found, pack(me)).is_ok() {
                    return Ok(index);
                }
            }
        }
        Err(Error::Exhausted)
    }

    /// The process with this index.
    pub(crate) fn process(&self, index: u32) -> Option<Process> {
        unpack(self.peer_word(index)?.load())
    }

    /// Gives back what a dead process owned.
    fn bury(&self, peer: u32) -> Result<()> {
        self.bury_waiters(peer)?;
        self.bury_objects(peer);
        Ok(())
    }
}

/// Which processes are alive, asked once for each: a sweep meets the same few again and again.
pub(crate) struct Census<'a> {
    arena: &'a Arena,
    me: Process,
    known: [Cell<Option<bool>>; PEERS_MAX as usize],
}

impl<'a> Census<'a> {
    pub(crate) fn new(arena: &'a Arena) -> Census<'a> {
        Census { arena, me: liveness::this_process(), known: [const { Cell::new(None) }; PEERS_MAX as usize] }
    }

    /// Whether the process with this index is certainly gone. An empty entry belongs to nobody, so to no living one.
    pub(crate) fn is_peer_dead(&self, index: u32) -> bool {
        let Some(known) = self.known.get(index as usize) else { return false };
        known.get().unwrap_or_else(|| {
            let process = self.arena.process(index);
            let dead = process.is_none_or(|process| liveness::is_process_dead(process, self.me));
            known.set(Some(dead));
            dead
        })
    }

    /// Whether this thread of a process is certainly gone.
    pub(crate) fn is_thread_dead(&self, peer: u32, thread: u32) -> bool {
        if self.is_peer_dead(peer) {
            return true;
        }
        self.arena.process(peer).is_some_and(|process| liveness::is_thread_dead(process, thread, self.me))
    }
}
