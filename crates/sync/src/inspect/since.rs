// SPDX-License-Identifier: MIT OR Apache-2.0
//! When an object was last signaled, as far as its waiters can tell.
//!
//! Nobody notes the time of a signal that wakes nobody: reading the clock takes longer than the signal. But a thread that falls asleep
//! has noted which version of the object's word it left, and the time after that ([`crate::observe`]). So if the word is
//! still the same, nobody has signaled the object since then. Other threads that join the queue also change the word, and each has noted
//! which version *it* found: so the versions lead back from one waiter to the one before, as long as nothing else has changed the
//! word. A thread that waits for several objects has noted the version of each.
//!
//! A signal shows in the object's mark, if it was another thread than before; or in a wake that the object has sent to another
//! waiter.

use std::collections::{BTreeSet, HashMap};

use super::{Claim, Found, LastBy, Life, ObjectView, Snapshot, Value, WaiterView};

/// A thread notes the time of the last tick: so much too early at most ([`WaiterView::asleep_since`]).
const TICK_NS: u64 = 10_000_000;

/// When an event or a semaphore was last signaled.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LastSignal {
    /// Before this time, in nanoseconds of the monotonic clock.
    pub before: Option<u64>,
    /// The places of the waits that have seen no signal: it was before they began.
    unseen: BTreeSet<u32>,
    /// The places of the waits during which it was.
    seen: BTreeSet<u32>,
}

impl LastSignal {
    /// Returns true if it was while the thread in this place waited. None: unknown.
    pub fn was_during(&self, waiter: u32) -> Option<bool> {
        let was = self.seen.contains(&waiter);
        (was || self.unseen.contains(&waiter)).then_some(was)
    }
}

impl Snapshot {
    /// When an object was last signaled, as far as the threads that sleep for it can tell. Unknown if it is a mutex.
    pub fn last_signal(&self, object: &ObjectView) -> LastSignal {
        let mut last = LastSignal::default();
        // The word of a mutex names the thread that acquired it.
        let is_mutex = matches!(object.value, Value::Mutex(_));
        if is_mutex || object.life != Life::Live || object.claim != Claim::None || !object.stable {
            return last;
        }
        let in_line: Vec<Sleeper<'_>> = self.sleepers(object).collect();
        // To join a queue leaves the mark as it is.
        let as_now = in_line.iter().filter(|sleeper| sleeper.found.last_by == object.last_by);
        let by_version: HashMap<u32, &WaiterView> =
            as_now.map(|sleeper| (sleeper.found.version, sleeper.waiter)).collect();
        let mut version = object.version as u32;
        // Each version is looked for once: a list of rubbish could lead around in a circle.
        for _ in 0..in_line.len() {
            let Some(waiter) = by_version.get(&version) else { break };
            last.unseen.insert(waiter.index);
            let noted = waiter.asleep_since.map(|since| since.saturating_add(TICK_NS));
            last.before = last.before.into_iter().chain(noted).min();
            version = version.wrapping_sub(1);
        }
        let last_wake = self.wakes.iter().filter(|wake| wake.object == Some(object.object)).map(|wake| wake.at).max();
        let later =
            in_line.iter().filter(|sleeper| sleeper.has_missed(object.last_by) || sleeper.has_slept_through(last_wake));
        let later = later.map(|sleeper| sleeper.waiter.index).filter(|waiter| !last.unseen.contains(waiter));
        last.seen = later.collect();
        last
    }

    /// The threads that sleep for this object.
    fn sleepers<'a>(&'a self, object: &'a ObjectView) -> impl Iterator<Item = Sleeper<'a>> {
        object.waiting().filter_map(|entry| {
            let waiter = self.waiter(entry.waiter).filter(|waiter| waiter.ticket == entry.ticket && waiter.stable)?;
            let found = *waiter.found.get(entry.position as usize)?;
            Some(Sleeper { waiter, found, all: entry.all })
        })
    }
}

/// A thread that sleeps for an object.
struct Sleeper<'a> {
    waiter: &'a WaiterView,
    found: Found,
    all: bool,
}

impl Sleeper<'_> {
    /// Returns true if the mark shows that somebody has signaled the object since, and another wait got it.
    ///
    /// A new name shows it. A name that is gone shows it if this wait would have taken the object: then another one has, and nobody can
    /// take what was not signaled. But a wait for all may leave an object that is signaled to others, at any time.
    fn has_missed(&self, last_by: LastBy) -> bool {
        last_by != self.found.last_by && (!self.all || matches!(last_by, LastBy::Thread { .. }))
    }

    /// Returns true if the object has woken another waiter at this time, since this wait joined its queue. Nobody joins between a signal
    /// and its outcome, so the wake belongs to a later signal.
    fn has_slept_through(&self, wake: Option<u64>) -> bool {
        let noted = self.waiter.asleep_since.map(|since| since.saturating_add(TICK_NS));
        wake.zip(noted).is_some_and(|(wake, joined)| wake > joined)
    }
}
