// SPDX-License-Identifier: MIT OR Apache-2.0
//! Peers: the processes that use the arena, recorded so that what a dead one left can be found.
//!
//! A peer is one 128-bit word: process number and namespace in the low half, start time and incarnation in the high half. It is
//! written whole or not at all.
//!
//! # Transitions
//! | from | to | by |
//! | --- | --- | --- |
//! | empty | a process | that process, at its first use |
//! | a process, not burying | a process with its number and start time | that process, at its first use: the other one is dead, or an earlier program of it ([`liveness::precedes`]) |
//! | a dead process, burying or not | a process, burying | that process, when no slot is empty, or when it meets it among a few of many |
//! | a dead process, burying or not | a process, burying | that process, told of the death ([`Arena::bury_process`]) |
//! | a process, burying | the dead process | itself, after the same, if somebody else is to have the slot ([`Arena::bury_process`]) |
//! | a process, burying | the same process | itself, after it has returned everything that the dead one owned ([`Burial`]) |
//!
//! # Invariants
//! * I-peer-1: one process at a time buries what a slot owns, and nobody owns anything new under the slot before the
//!   burial is complete. So even a burial that was interrupted for hours finds only the dead process's resources. (But for a hold that
//!   another process adds meanwhile, and takes back: O-for of [`super::holds`].)
//! * I-peer-2: a thread that checks whether an owner is dead reads the owner's index first, and the slot afterwards. A
//!   cached answer counts only while the slot is unchanged.
//! * I-peer-3: no two processes write the same word, even if one has the other's number, because they differ in their incarnations.
//!   So whoever found a process dead and then exchanges its word takes the place of no later one.
//! * I-peer-4: a process that remembers its index remembers its generation with it. So a forked child does not take its parent's
//!   place for its own, even if it has the parent's number.
//! * I-peer-5: two threads of a process that register it at the same time can find two places for it. All its threads use the place that
//!   is remembered first. The other one is that of a process that lives, until it ends. Nobody else can tell which one it uses, so what
//!   others have put into the other one ([`super::holds`]) counts as its own, too.
//!
//! # Death
//! If a process dies while it buries, its slot is that of a dead process, and the next one continues the burial. While
//! it is *stopped* there, the dead process's resources stay taken.

use std::cell::Cell;

use ntux_platform::atomic::{Pair, Word64};
use ntux_platform::liveness::{self, Process};

use super::Arena;
use super::pool::WORTH_LOOKING;
use crate::format::limits::{PEERS_USED, RETRIES};
use crate::format::peer::{BURYING, pack, unpack};
use crate::planted::{Bug, planted};
use crate::{Error, Result};

/// Returns everything that a dead process owned, so that another one can have its slot.
pub(crate) type Burial = fn(&Arena, u32) -> Result<()>;

/// Where a process remembers its place: the index plus one, and the generation of the process that has it.
#[derive(Default)]
pub(super) struct OwnPlace([Word64; OwnPlace::PROCESSES]);

impl OwnPlace {
    /// Processes that share this memory: those of a checker do.
    const PROCESSES: usize = if cfg!(ntux_explore) { 16 } else { 1 };

    #[inline(always)]
    fn word(&self) -> &Word64 {
        if OwnPlace::PROCESSES == 1 { &self.0[0] } else { &self.0[liveness::generation() as usize % self.0.len()] }
    }
}

impl Arena {
    /// The index of this process, if it is registered already.
    pub(crate) fn known_peer(&self) -> Option<u32> {
        let known = self.peer.word().load();
        (known as u32 == liveness::generation()).then(|| ((known >> 32) as u32).wrapping_sub(1))
    }

    /// Returns the index of this process; registers it at the first call, and again in a forked child. `bury` returns
    /// everything that the dead process with this index owned; that needs the protocol, which is above this file.
    pub(crate) fn peer(&self, bury: Burial) -> Result<u32> {
        if let Some(index) = self.known_peer() {
            return Ok(index);
        }
        let index = self.register(liveness::this_process(), bury)?;
        let mine = u64::from(index + 1) << 32 | u64::from(liveness::generation());
        for _ in 0..RETRIES {
            let seen = self.peer.word().load();
            // I-peer-5
            if let Some(known) = self.known_peer() {
                return Ok(known);
            }
            if self.peer.word().compare_exchange(seen, mine).is_ok() {
                return Ok(index);
            }
        }
        Err(Error::Corrupt)
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
            if found == mine || self.succeed(index, found, me) {
                return Ok(index);
            }
        }
        let is_dead = |process| liveness::is_process_dead(process, me);
        self.replace(me, turns(me, PEERS_USED), is_dead, bury)?.ok_or(Error::Exhausted)
    }

    /// Takes the place with this index if an earlier program of this process has it. Returns whether this process has the place.
    fn succeed(&self, index: u32, found: Pair, me: Process) -> bool {
        let Some(word) = self.peer_word(index) else { return false };
        let precedes = |process| found.high & BURYING == 0 && liveness::precedes(process, me);
        if !unpack(found).is_some_and(precedes) {
            return false;
        }
        // Waits of its threads have ended with them; those without a thread end with its queues. As long as it has the place, so do they.
        self.bury_queues(index, || word.load() == found);
        self.bury_owners(index, || word.load() == found);
        // I-peer-3. Fails if it was taken over, or if another thread of this process was first.
        planted(Bug::PlaceShared)
            || word.compare_exchange(found, pack(me)).map_or_else(|now| now == pack(me), |()| true)
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

    /// A process has ended, somebody says: gives back what it owned, if the system does not say otherwise. Its number is that in the
    /// namespace of who says so; another process can have it by now.
    ///
    /// Errors: `Alive`.
    pub(crate) fn bury_dead(&self, pid: u32, bury: Burial) -> Result<()> {
        let me = liveness::this_process();
        let (mut is_alive, mut is_buried) = (false, false);
        for index in 0..PEERS_USED {
            let Some(word) = self.peer_word(index) else { break };
            let found = word.load();
            let Some(process) = unpack(found) else { break };
            if process.pid != pid || liveness::differs_in_numbers(process, me) {
                continue;
            }
            if is_known_alive(process, me) {
                is_alive = true;
                continue;
            }
            let burying = Pair { high: pack(me).high | BURYING, ..pack(me) };
            if planted(Bug::BuryUnmarked) || word.compare_exchange(found, burying).is_ok() {
                let buried = bury(self, index);
                if !planted(Bug::BuryKept) {
                    let _ = word.compare_exchange(burying, pack(process));
                }
                buried?;
                is_buried = true;
            }
        }
        if is_alive && !is_buried { Err(Error::Alive) } else { Ok(()) }
    }

    /// Returns true if nobody has the number of the process with this index, as seen by the calling process, which is `mine`. False
    /// if that is unknown.
    pub(super) fn is_process_gone(&self, index: u32, mine: u32) -> bool {
        index != mine && self.process(index).zip(self.process(mine)).is_some_and(|(process, me)| is_gone(process, me))
    }

    /// Does what [`Arena::is_process_gone`] does, for a thread; thread 0 stands for its whole process.
    pub(crate) fn is_thread_gone(&self, index: u32, thread: u64, mine: u32) -> bool {
        if thread == 0 {
            return self.is_process_gone(index, mine);
        }
        let known = |(process, me)| liveness::is_thread_dead(process, thread, me);
        self.process(index).zip(self.process(mine)).is_some_and(known)
    }

    /// The place of the process that has this number in the namespace of the caller, if it is known to live, and its word: the first one,
    /// which a later program of the process takes, too.
    pub(super) fn living_peer(&self, pid: u32) -> Option<(u32, Pair)> {
        let me = liveness::this_process();
        let is_meant = |process: Process| process.pid == pid && is_known_alive(process, me);
        self.places_of_peers().find(|(_, found)| found.high & BURYING == 0 && unpack(*found).is_some_and(is_meant))
    }

    /// Returns true if the process with this word still has the place with this index, or a later program of it.
    pub(super) fn has_place(&self, index: u32, process: Pair) -> bool {
        let without_program = |word: Pair| unpack(word).map(|process| Process { incarnation: 0, ..process });
        let now = self.peer_word(index).map(|word| word.load()).unwrap_or_default();
        now.high & BURYING == 0 && without_program(now) == without_program(process)
    }

    /// The places of the calling process beside that with the index `mine`, which it uses (I-peer-5).
    pub(crate) fn other_places(&self, mine: u32) -> impl Iterator<Item = u32> {
        let me = pack(liveness::this_process());
        let is_other = move |&(index, found): &(u32, Pair)| index != mine && found == me;
        self.places_of_peers().filter(is_other).map(|(index, _)| index)
    }

    /// The places that were ever taken, and their words.
    fn places_of_peers(&self) -> impl Iterator<Item = (u32, Pair)> {
        let words = (0..PEERS_USED).map_while(|index| Some((index, self.peer_word(index)?.load())));
        words.take_while(|(_, found)| *found != Pair::default())
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

/// Returns true if nobody has the number of this process, as seen by `me`. False if that is unknown.
fn is_gone(process: Process, me: Process) -> bool {
    liveness::shares_numbers(process, me) && liveness::is_number_free(process.pid)
}

/// Returns true if the system says that this process lives. False also where it has nothing to say.
pub(crate) fn is_known_alive(process: Process, me: Process) -> bool {
    liveness::shares_numbers(process, me) && !liveness::is_process_dead(process, me)
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

    /// Returns true if the process with this index is certainly dead. An empty slot counts as dead, because it belongs to no
    /// living process.
    pub(crate) fn is_peer_dead(&self, index: u32) -> bool {
        self.arena.peer_word(index).is_some_and(|word| self.is_dead(index, word.load()))
    }

    /// Returns true if the process that owns objects under this index is certainly dead: also while another one buries it, which owns no
    /// objects under that index yet (I-peer-1). (It has waiter slots there.)
    pub(crate) fn is_owner_dead(&self, index: u32) -> bool {
        let Some(found) = self.arena.peer_word(index).map(|word| word.load()) else { return false };
        found.high & BURYING != 0 && !planted(Bug::BurialWaitedFor) || self.is_dead(index, found)
    }

    fn is_dead(&self, index: u32, found: Pair) -> bool {
        let known = &self.known[index as usize % REMEMBERED];
        if let Some((_, _, dead)) = known.get().filter(|&(of, then, _)| (of, then) == (index, found)) {
            return dead;
        }
        let dead = unpack(found).is_none_or(|process| liveness::is_process_dead(process, self.me));
        known.set(Some((index, found, dead)));
        dead
    }

    /// Returns true if this thread of a process is certainly dead; thread 0 stands for the whole process.
    pub(crate) fn is_thread_dead(&self, peer: u32, thread: u64) -> bool {
        if self.is_peer_dead(peer) {
            return true;
        }
        thread != 0
            && self.arena.process(peer).is_some_and(|process| liveness::is_thread_dead(process, thread, self.me))
    }
}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;
    use crate::Capacity;

    fn unburied(_: &Arena, index: u32) -> Result<()> {
        panic!("{index} is to be buried");
    }

    fn arena_with(peer: Process) -> Arena {
        let arena = Arena::create(Capacity { objects: 1, waiters: 1 }).unwrap();
        assert!(arena.provide_peer(0));
        assert_eq!(arena.peer_word(0).unwrap().compare_exchange(Pair::default(), pack(peer)), Ok(()));
        arena
    }

    #[test]
    fn an_earlier_program_of_a_process_leaves_it_its_place() {
        let me = liveness::this_process();
        for earlier in [me, Process { incarnation: me.incarnation ^ 1, ..me }] {
            let arena = arena_with(earlier);
            assert_eq!(arena.peer(unburied), Ok(0));
            assert_eq!((arena.process(0), arena.known_peer()), (Some(me), Some(0)));
        }
    }

    #[test]
    fn no_other_process_does() {
        let me = liveness::this_process();
        let later = Process { start: me.start ^ 1, ..me };
        let elsewhere = Process { namespace: me.namespace ^ 1, incarnation: me.incarnation ^ 1, ..me };
        for other in [later, elsewhere, Process { namespace: 0, ..elsewhere }, Process { pid: me.pid ^ 1, ..me }] {
            let arena = arena_with(other);
            assert_eq!(arena.peer(unburied), Ok(1));
            assert_eq!((arena.process(0), arena.process(1)), (Some(other), Some(me)));
        }
    }

    #[test]
    fn a_place_that_is_being_buried_is_nobodys_to_take() {
        let me = liveness::this_process();
        let earlier = Process { incarnation: me.incarnation ^ 1, ..me };
        let arena = arena_with(earlier);
        let word = arena.peer_word(0).unwrap();
        let burying = Pair { high: pack(earlier).high | BURYING, ..pack(earlier) };
        assert_eq!(word.compare_exchange(pack(earlier), burying), Ok(()));
        assert_eq!(arena.peer(unburied), Ok(1));
        assert_eq!(word.load(), burying);
    }

    #[test]
    fn a_living_peer_is_found_by_its_number_whichever_program_it_runs() {
        let me = liveness::this_process();
        let dead = Process { start: me.start ^ 1, ..me };
        let elsewhere = Process { namespace: me.namespace ^ 1, ..me };
        for other in [dead, elsewhere, Process { namespace: 0, ..me }, Process { pid: u32::MAX >> 1, ..me }] {
            let arena = arena_with(other);
            assert_eq!(arena.living_peer(me.pid), None);
            assert_eq!(arena.peer(unburied), Ok(1));
            assert_eq!(arena.living_peer(me.pid), Some((1, pack(me))));
            assert_eq!(arena.living_peer(other.pid), (other.pid == me.pid).then_some((1, pack(me))));
        }
        let earlier = Process { incarnation: me.incarnation ^ 1, ..me };
        let arena = arena_with(earlier);
        let found = arena.living_peer(me.pid).unwrap();
        assert_eq!(found, (0, pack(earlier)));
        assert_eq!(arena.peer(unburied), Ok(0));
        assert!(arena.has_place(0, found.1), "a later program has the place");
        assert!(!arena.has_place(0, pack(dead)) && !arena.has_place(0, pack(elsewhere)));
    }

    #[test]
    fn a_place_that_is_being_buried_is_no_living_peers() {
        let me = liveness::this_process();
        let arena = arena_with(me);
        let word = arena.peer_word(0).unwrap();
        let burying = Pair { high: pack(me).high | BURYING, ..pack(me) };
        assert_eq!(word.compare_exchange(pack(me), burying), Ok(()));
        assert_eq!(arena.living_peer(me.pid), None);
        assert!(!arena.has_place(0, pack(me)));
    }

    #[test]
    fn what_others_hold_for_a_process_in_its_second_place_is_its_own() {
        let me = liveness::this_process();
        let arena = arena_with(Process { pid: u32::MAX >> 1, ..me });
        assert_eq!(arena.peer(unburied), Ok(1));
        let event = arena.event_create(&arena.waiter(), false, false).unwrap();
        let word = arena.peer_word(0).unwrap();
        assert_eq!(word.compare_exchange(word.load(), pack(me)), Ok(()));
        assert_eq!(arena.hold_for(event, me.pid), Ok(()));
        assert_eq!(arena.holds_of(event, 0), Ok(1));
        assert_eq!(arena.holds(event), Ok(2));
        assert_eq!((arena.release(event), arena.release(event)), (Ok(()), Ok(())));
        assert_eq!(arena.release(event), Err(Error::NoSuchObject));
    }
}
