// SPDX-License-Identifier: MIT OR Apache-2.0
//! A read-only view of an arena, for programs that show what others do.
//!
//! A [`View`] is a read-only mapping. It takes no slot in the arena, helps nobody, writes nothing, and allocates no
//! memory for empty pages (except for one that is freed at that moment). So users of the arena cannot notice it. A
//! [`Snapshot`] is the result of reading the arena once, in terms that need no knowledge of the format.
//!
//! # Consistency
//! * An object is of one instant: its word has a sequence number, and the data beside it (kind, maximum, recursion
//!   count) was read between two reads of the same word. So is a waiter, whose word has a ticket. An element that
//!   changed constantly is marked: its `stable` is false.
//! * Two objects, or an object and a waiter, can be of different instants, unless the program is stopped.
//! * An entry of a queue has the state of its waiter's word at the time of reading ([`Standing`]).
//! * A name is its object's: its place was the object's before and after the text was read.
//! * A creator is known only if its slot was the same process's before and after the objects were read.
//! * An operation that a stopped or dead thread left incomplete is shown as it is, not as the next thread will complete
//!   it: an object with a [`Claim`] still has the unit on offer.
//!
//! # Rubbish
//! The memory may contain anything. Every index is checked, every loop is bounded, and every invalid state is called
//! `Rubbish`. A snapshot takes time and memory for every slot that was ever used: at most 16,777,216 objects, 65,536
//! waiters, and the entries of twice as many chunks, each of which is read once.

mod admission;
mod name;
mod object;
mod peer;
mod since;
mod view;
mod waiter;
pub mod why;

pub use admission::{AdmissionView, Phase};
pub use object::{Claim, EntryView, Keeper, LastBy, Life, ObjectView, Standing, Value};
pub use peer::{PeerView, Presence};
pub use since::LastSignal;
pub use view::View;
pub use waiter::{Found, Given, Mode, Request, WaitState, WaitView, WaiterView, WakeView};

use std::collections::{HashMap, HashSet};

use ntux_platform::atomic::{Pair, Word128};
use ntux_platform::clock::Deadline;

use crate::Object;
use crate::format::fields::Bits;
use crate::format::layout::Capacity;

/// How often an element that changes meanwhile is read again, before it counts as unstable.
const TRIES: u32 = 64;

/// The contents of an arena, read once.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Snapshot {
    /// The arena's capacity.
    pub capacity: Capacity,
    /// The processes that use the arena.
    pub peers: Vec<PeerView>,
    /// The waiter slots that a thread has, and those whose wait nobody has ended.
    pub waiters: Vec<WaiterView>,
    /// The last wake that was sent to each waiter slot, also to free ones.
    pub wakes: Vec<WakeView>,
    /// The live objects, and closed ones for which somebody still waits.
    pub objects: Vec<ObjectView>,
    /// What is going on with wait-all.
    pub admission: AdmissionView,
}

impl Snapshot {
    /// The waiter with this index.
    pub fn waiter(&self, index: u32) -> Option<&WaiterView> {
        let place = self.waiters.binary_search_by_key(&index, |waiter| waiter.index).ok()?;
        self.waiters.get(place)
    }

    /// The object in this slot.
    pub fn object(&self, index: u32) -> Option<&ObjectView> {
        let place = self.objects.binary_search_by_key(&index, |object| object.object.index()).ok()?;
        self.objects.get(place)
    }

    /// This object, if its slot still has it.
    pub fn seen(&self, object: Object) -> Option<&ObjectView> {
        self.object(object.index()).filter(|seen| seen.object == object)
    }

    /// The process with this index.
    pub fn peer(&self, index: u32) -> Option<&PeerView> {
        self.peers.iter().find(|peer| peer.index == index)
    }

    /// Returns true if a thread waits: its wait is undecided, and it has not ended. If a thread is killed in its wait, the system notes
    /// that in its slot, where it can; else it is known once its process has ended.
    pub fn waits(&self, waiter: &WaiterView) -> bool {
        let has_ended = |peer: &PeerView| peer.presence == Presence::Dead;
        waiter.is_undecided() && !self.peer(waiter.peer).is_some_and(has_ended)
    }

    /// The threads that wait.
    pub fn waiting(&self) -> impl Iterator<Item = &WaiterView> {
        self.waiters.iter().filter(|waiter| self.waits(waiter))
    }

    /// Converts the times that processes noted to the caller's clock. `ahead` tells by how many nanoseconds the monotonic clock of the
    /// process in a peer slot is ahead of the caller's; the two differ between time namespaces.
    pub fn on_clock_of_caller(&mut self, ahead: impl Fn(u32) -> i64) {
        let here = |ns: u64, peer: u32| ns.saturating_add_signed(ahead(peer).saturating_neg());
        for waiter in &mut self.waiters {
            waiter.asleep_since = waiter.asleep_since.map(|since| here(since, waiter.peer));
            if let Some(Deadline::Monotonic(ns)) = &mut waiter.deadline {
                *ns = here(*ns, waiter.peer);
            }
        }
        for wake in &mut self.wakes {
            if let LastBy::Thread { peer: Some(peer), .. } = wake.by {
                wake.at = here(wake.at, peer);
            }
        }
    }

    /// Removes the creators whose slots may have changed hands since the peers were read: it is unknown which process was meant.
    fn forget_unsure_creators(&mut self, is_as_before: impl Fn(&PeerView) -> bool) {
        let sure: HashSet<u32> = self.peers.iter().filter(|peer| is_as_before(peer)).map(|peer| peer.index).collect();
        self.objects.iter_mut().for_each(|object| object.creator = object.creator.filter(|peer| sure.contains(peer)));
    }

    /// Gives the live objects their names.
    fn name_objects(&mut self, mut names: HashMap<Object, String>) {
        for object in self.objects.iter_mut().filter(|object| object.life == Life::Live) {
            object.name = names.remove(&object.object);
        }
    }

    /// Completes the waits from their entries: only the entries say if a wait is for all of its objects, and which object is
    /// its alert.
    fn complete_waits(&mut self) {
        let mut modes: HashMap<(u32, u64), Mode> = HashMap::new();
        let mut alerts = HashMap::new();
        for object in &self.objects {
            for entry in &object.queue {
                let wait = (entry.waiter, entry.ticket);
                let mode = modes.entry(wait).or_insert(Mode::Any);
                if entry.all {
                    *mode = Mode::All;
                }
                alerts.insert((wait, entry.position), object.object);
            }
        }
        for waiter in &mut self.waiters {
            let wait = (waiter.index, waiter.ticket);
            if let WaitView::Objects { objects, mode, alert, .. } = &mut waiter.wait {
                *mode = modes.get(&wait).copied().unwrap_or(Mode::Unknown);
                *alert = alerts.get(&(wait, objects.len() as u32)).copied();
            }
        }
    }
}

/// A word of 128 bits, the data read beside it, and whether the word was stable meanwhile.
struct Reading<T> {
    what: T,
    stable: bool,
}

/// Reads a word in two halves, then the data beside it, then the lower half again, which no two versions of the word
/// share.
///
/// Not [`Word128::load`], which may write to the line in order to read it.
fn reading<T>(word: &Word128, read: impl FnMut(Pair) -> T) -> Reading<T> {
    read_with(|| word.glance(), || word.load_low(), read)
}

fn read_with<T>(glance: impl Fn() -> Pair, low: impl Fn() -> u64, mut read: impl FnMut(Pair) -> T) -> Reading<T> {
    let mut tries = 0;
    loop {
        let seen = glance();
        let what = read(seen);
        tries += 1;
        let stable = low() == seen.low;
        if stable || tries == TRIES {
            return Reading { what, stable };
        }
    }
}

fn number(pair: Pair, bits: Bits) -> u64 {
    let half = if bits.first < 64 { pair.low } else { pair.high };
    half >> bits.shift() & bits.mask()
}

#[cfg(all(test, not(ntux_explore)))]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// A word that is changed, with what lies beside it, before each of the first times that it is read.
    struct Restless {
        version: Cell<u64>,
        beside: Cell<u64>,
        changes: Cell<u32>,
    }

    impl Restless {
        fn new(changes: u32) -> Restless {
            Restless { version: Cell::new(7), beside: Cell::new(70), changes: Cell::new(changes) }
        }

        fn change(&self) {
            if self.changes.get() > 0 {
                self.changes.set(self.changes.get() - 1);
                self.version.set(self.version.get() + 1);
                self.beside.set(self.version.get() * 10);
            }
        }

        fn glance(&self) -> Pair {
            Pair { low: self.version.get(), high: 0 }
        }

        fn read(&self, seen: Pair) -> (u64, u64) {
            self.change();
            (seen.low, self.beside.get())
        }
    }

    #[test]
    fn what_lies_beside_a_word_is_of_the_same_version() {
        for changes in 0..TRIES {
            let word = Restless::new(changes);
            let Reading { what: (version, beside), stable } =
                read_with(|| word.glance(), || word.glance().low, |seen| word.read(seen));
            assert!(stable && beside == version * 10, "{changes} changes: {version} {beside}");
        }
    }

    #[test]
    fn without_the_second_look_it_would_not_be() {
        let word = Restless::new(1);
        // The planted fault: the version is not checked again.
        let seen = word.glance();
        let blind = read_with(|| word.glance(), || seen.low, |seen| word.read(seen));
        assert!(blind.stable && blind.what != (7, 70), "this test notices nothing");
    }

    #[test]
    fn a_word_that_never_rests_is_marked_after_a_bounded_time() {
        let word = Restless::new(u32::MAX);
        let looked = read_with(|| word.glance(), || word.glance().low, |seen| word.read(seen));
        assert!(!looked.stable);
        assert_eq!(u32::MAX - word.changes.get(), TRIES);
    }
}
