//! Peers: the processes that use the arena, recorded so that what a dead one left can be found.
//!
//! A peer is one 128-bit word: process number and namespace in the low half, start time in the high half. It is written
//! whole or not at all.
//!
//! # Transitions
//! | from | to | by |
//! | --- | --- | --- |
//! | empty | a process | that process, at its first use |
//! | a dead process, burying or not | a process, burying | that process, when no slot is empty, or when it meets it among a few of many |
//! | a dead process, burying or not | a process, burying | that process, told of the death ([`Arena::bury_process`]) |
//! | a process, burying | the dead process | itself, after the same, if somebody else is to have the slot ([`Arena::bury_process`]) |
//! | a process, burying | the same process | itself, after it has returned everything that the dead one owned ([`Burial`]) |
//!
//! # Invariants
//! * I-peer-1: one process at a time buries what a slot owns, and nobody owns anything new under the slot before the
//!   burial is complete. So even a burial that was interrupted for hours finds only the dead process's resources.
//! * I-peer-2: a thread that checks whether an owner is dead reads the owner's index first, and the slot afterwards. A
//!   cached answer counts only while the slot is unchanged.
//!
//! # Death
//! If a process dies while it buries, its slot is that of a dead process, and the next one continues the burial. While
//! it is *stopped* there, the dead process's resources stay taken.

use std::cell::Cell;

use ntux_platform::atomic::Pair;
use ntux_platform::liveness::{self, Process};

use super::Arena;
use super::pool::WORTH_LOOKING;
use crate::format::limits::PEERS_USED;
use crate::format::peer::{BURYING, pack, unpack};
use crate::planted::{Bug, planted};
use crate::{Error, Result};

/// Returns everything that a dead process owned, so that another one can have its slot.
pub(crate) type Burial = fn(&Arena, u32) -> Result<()>;

impl Arena {
    /// The index of this process, if it is registered already.
    pub(crate) fn known_peer(&self) -> Option<u32> {
        let known = self.peer.load();
        (known as u32 == liveness::process_id()).then(|| ((known >> 32) as u32).wrapping_sub(1))
    }

    /// Returns the index of this process; registers it at the first call, and again in a forked child. `bury` returns
    /// everything that the dead process with this index owned; that needs the protocol, which is above this file.
    pub(crate) fn peer(&self, bury: Burial) -> Result<u32> {
        let pid = liveness::process_id();
        let known = self.peer.load();
        if known as u32 == pid {
            return Ok((known >> 32) as u32 - 1);
        }
        let index = self.register(liveness::this_process(), bury)?;
        self.peer.store(u64::from(index + 1) << 32 | u64::from(pid));
        Ok(index)
    }

    fn register(&self, me: Process, bury: Burial) -> Result<u32> {
        let mine = pack(me);
        // Slots never become empty again, so all slots after the first empty one are empty.
        for index in 0..PEERS_USED {
            if !self.provide_peer(index) {
                return Err(Error::Exhausted);
            }
            let word = self.peer_word(index).ok_or(Error::Corrupt)?;
            let mut found = word.load();
            if found == Pair::default() {
                if let Some(index) = self.replace_gone(me, index, bury)? {
                    return Ok(index);
                }
                found = word.compare_exchange(Pair::default(), mine).err().unwrap_or(mine);
            }
            if found == mine {
                return Ok(index);
            }
        }
        let is_dead = |process| liveness::is_process_dead(process, me);
        self.replace(me, turns(me, PEERS_USED), is_dead, bury)?.ok_or(Error::Exhausted)
    }

    /// Takes the slot of a dead process among a few of the `used` ones, where a burial is short: so the table of a session with
    /// thousands of processes stays small.
    fn replace_gone(&self, me: Process, used: u32, bury: Burial) -> Result<Option<u32>> {
        const LOOKS: usize = 8;
        /// A burial reads every slot of the pools.
        const SHORT: u32 = 8192;
        if used < WORTH_LOOKING || self.object_pool().used() + self.waiter_pool().used() > SHORT {
            return Ok(None);
        }
        self.replace(me, turns(me, used).take(LOOKS), |process| is_gone(process, me), bury)
    }

    fn replace(
        &self,
        me: Process,
        mut candidates: impl Iterator<Item = u32>,
        is_dead: impl Fn(Process) -> bool,
        bury: Burial,
    ) -> Result<Option<u32>> {
        let mine = pack(me);
        let burying = Pair { high: mine.high | BURYING, ..mine };
        let taken = candidates.find(|&index| {
            let Some(word) = self.peer_word(index) else { return false };
            let found = word.load();
            unpack(found).is_some_and(&is_dead) && word.compare_exchange(found, burying).is_ok()
        });
        let Some(index) = taken else { return Ok(None) };
        bury(self, index)?;
        let word = self.peer_word(index).ok_or(Error::Corrupt)?;
        word.compare_exchange(burying, mine).map(|()| Some(index)).map_err(|_| Error::Corrupt)
    }

    /// A process has ended, somebody says: gives back what it owned, if the system does not say otherwise.
    ///
    /// Errors: `Alive`.
    pub(crate) fn bury_dead(&self, pid: u32, bury: Burial) -> Result<()> {
        let me = liveness::this_process();
        for index in 0..PEERS_USED {
            let Some(word) = self.peer_word(index) else { break };
            let found = word.load();
            let Some(process) = unpack(found) else { break };
            if process.pid != pid {
                continue;
            }
            if has_same_numbers(process, me) && !liveness::is_process_dead(process, me) {
                return Err(Error::Alive);
            }
            let burying = Pair { high: pack(me).high | BURYING, ..pack(me) };
            if planted(Bug::BuryUnmarked) || word.compare_exchange(found, burying).is_ok() {
                let buried = bury(self, index);
                if !planted(Bug::BuryKept) {
                    let _ = word.compare_exchange(burying, pack(process));
                }
                buried?;
            }
        }
        Ok(())
    }

    /// Whether nobody has the number of the process with this index, as seen by the calling process, which is `mine`. False
    /// if that is unknown.
    pub(super) fn is_process_gone(&self, index: u32, mine: u32) -> bool {
        index != mine && self.process(index).zip(self.process(mine)).is_some_and(|(process, me)| is_gone(process, me))
    }

    /// As [`Arena::is_process_gone`], of a thread.
    pub(crate) fn is_thread_gone(&self, index: u32, thread: u64, mine: u32) -> bool {
        let known = |(process, me)| liveness::is_thread_dead(process, thread, me);
        self.process(index).zip(self.process(mine)).is_some_and(known)
    }

    /// The process with this index.
    pub(crate) fn process(&self, index: u32) -> Option<Process> {
        unpack(self.peer_word(index)?.load())
    }
}

/// The indices below `used`, from one on that differs from process to process: who comes later meets others.
fn turns(me: Process, used: u32) -> impl Iterator<Item = u32> {
    (0..used).map(move |step| (me.pid % used + step) % used)
}

/// Whether nobody has the number of this process, as seen by `me`. False if that is unknown.
fn is_gone(process: Process, me: Process) -> bool {
    has_same_numbers(process, me) && process.pid != 0 && liveness::is_number_free(process.pid)
}

/// Whether the system can tell one of these processes about the other.
pub(crate) fn has_same_numbers(process: Process, me: Process) -> bool {
    process.namespace == me.namespace && process.namespace != 0
}

/// The size of the liveness cache.
const REMEMBERED: usize = 64;

/// The liveness cache: which processes are alive. It queries the kernel once for each, because a sweep meets the same
/// few repeatedly.
pub(crate) struct LivenessCache<'a> {
    arena: &'a Arena,
    me: Process,
    /// Observed slots, and whether their processes were dead.
    known: [Cell<Option<(u32, Pair, bool)>>; REMEMBERED],
}

impl<'a> LivenessCache<'a> {
    pub(crate) fn new(arena: &'a Arena) -> LivenessCache<'a> {
        LivenessCache { arena, me: liveness::this_process(), known: [const { Cell::new(None) }; REMEMBERED] }
    }

    /// Whether the process with this index is certainly dead. An empty slot counts as dead, because it belongs to no
    /// living process.
    pub(crate) fn is_peer_dead(&self, index: u32) -> bool {
        let Some(word) = self.arena.peer_word(index) else { return false };
        let found = word.load();
        let known = &self.known[index as usize % REMEMBERED];
        if let Some((_, _, dead)) = known.get().filter(|&(of, then, _)| (of, then) == (index, found)) {
            return dead;
        }
        let dead = unpack(found).is_none_or(|process| liveness::is_process_dead(process, self.me));
        known.set(Some((index, found, dead)));
        dead
    }

    /// Whether this thread of a process is certainly dead.
    pub(crate) fn is_thread_dead(&self, peer: u32, thread: u64) -> bool {
        if self.is_peer_dead(peer) {
            return true;
        }
        self.arena.process(peer).is_some_and(|process| liveness::is_thread_dead(process, thread, self.me))
    }
}
