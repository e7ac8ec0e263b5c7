// SPDX-License-Identifier: MIT OR Apache-2.0
//! What events amount to: waits with a beginning, an end and the thread that ended them; signals and how many waiters they satisfied.

use std::collections::{HashMap, HashSet};

use ntux_sync::trace::{Event, Operation, What};

/// A wait that slept.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wait {
    pub thread: u32,
    /// The slot of its first object, or [`NO_OBJECT`].
    pub object: u32,
    /// How many objects it was for.
    pub count: u32,
    pub from_ns: u64,
    pub to_ns: u64,
    pub end: End,
    /// The grant that satisfied it.
    pub by: Option<Grant>,
    /// How often the thread woke without a grant.
    pub stirs: u32,
}

/// How a wait ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// It was given the object in this slot.
    Object(u32),
    /// It was given all its objects.
    Everything,
    /// Its deadline passed, or a signal handler came.
    Nothing,
    /// It had not ended when the trace did.
    Open,
    /// It has ended, nobody knows when or how: that event was lost.
    Unknown,
}

/// In place of an object's slot: the wait is for none, as that of `Sleep` or for an alert alone.
pub const NO_OBJECT: u32 = u32::MAX;

/// The step that satisfied a wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Grant {
    pub thread: u32,
    pub at_ns: u64,
    /// The object that was given; none for all.
    pub object: Option<u32>,
}

/// An operation on an object that somebody waited for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Signal {
    pub thread: u32,
    pub object: u32,
    pub operation: Operation,
    pub from_ns: u64,
    pub to_ns: u64,
    /// How many waiters the thread satisfied on the way.
    pub granted: u32,
}

/// What an event completes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Completed {
    Wait(Wait),
    Signal(Signal),
}

/// The waits and signals that have begun.
#[derive(Default)]
pub struct Waits {
    /// With the numbers of the events that began them.
    open: HashMap<u32, (u64, Wait)>,
    /// The last grant to each thread, even to one that has not reported yet that it sleeps.
    grants: HashMap<u32, Grant>,
    /// Satisfied waits whose granter has not reported the grant yet: a waiter can run before its granter does.
    unexplained: HashMap<u32, Wait>,
    /// What each thread has granted since its last signal: when it began, and how often.
    granting: HashMap<u32, (u64, u32)>,
    /// Satisfied waits whose granter's report was lost.
    unexplainable: Vec<Wait>,
    /// The number of the last event.
    last: Option<u64>,
    /// The first number behind the last gap in which an end and a beginning may have been lost.
    gap: u64,
    /// Nobody knows how many events are missing before the next one.
    is_interrupted: bool,
}

/// So many events can be an end and a beginning.
const MANY: u64 = 2;

impl Waits {
    /// Takes the next event.
    pub fn take(&mut self, event: Event) -> Option<Completed> {
        let Event { time_ns, thread, what, number } = event;
        let missing = self.last.replace(number).map_or(0, |last| number.saturating_sub(last.saturating_add(1)));
        let lost = if std::mem::take(&mut self.is_interrupted) { missing.max(MANY) } else { missing };
        if lost > 0 {
            self.lose(lost, number);
        }
        if matches!(what, What::Sleeps { .. } | What::Acquires { .. } | What::AcquiresAll | What::GivesUp) {
            // What it has granted was help on the way: no part of a signal that comes later.
            self.granting.remove(&thread);
        }
        match what {
            What::Sleeps { object, count } => {
                let wait = Wait {
                    thread,
                    object: if count == 0 { NO_OBJECT } else { object },
                    count,
                    from_ns: time_ns,
                    to_ns: time_ns,
                    end: End::Open,
                    by: None,
                    stirs: 0,
                };
                let unexplained = self.unexplained.remove(&thread);
                let before = self.open.insert(thread, (number, wait)).map(|(_, wait)| wait);
                if before.is_some() {
                    // What was granted then is not what ends this wait.
                    self.grants.remove(&thread);
                }
                before.map(Wait::without_end).or(unexplained).map(Completed::Wait)
            }
            What::Acquires { object } => self.end(thread, time_ns, End::Object(object)),
            What::AcquiresAll => self.end(thread, time_ns, End::Everything),
            What::GivesUp => self.end(thread, time_ns, End::Nothing),
            What::Stirs => {
                self.open.entry(thread).and_modify(|(_, wait)| wait.stirs += 1);
                None
            }
            What::Grants { object, thread: to } => self.grant(thread, to, time_ns, Some(object)),
            What::GrantsAll { thread: to } => self.grant(thread, to, time_ns, None),
            What::Wakes { .. } => None,
            What::Signals { object, operation } => {
                let (from_ns, granted) = self.granting.remove(&thread).unwrap_or((time_ns, 0));
                Some(Completed::Signal(Signal { thread, object, operation, from_ns, to_ns: time_ns, granted }))
            }
        }
    }

    fn grant(&mut self, by: u32, to: u32, at_ns: u64, object: Option<u32>) -> Option<Completed> {
        let grant = Grant { thread: by, at_ns, object };
        self.granting.entry(by).or_insert((at_ns, 0)).1 += 1;
        if self.unexplained.get(&to).is_some_and(|wait| grant.fits(wait.end)) {
            return self.unexplained.remove(&to).map(|wait| Completed::Wait(Wait { by: Some(grant), ..wait }));
        }
        self.grants.insert(to, grant);
        None
    }

    /// Takes note that threads have not reported what they did since the last event.
    pub fn interrupt(&mut self) {
        self.is_interrupted = true;
    }

    /// Takes note that so many events were lost before the one with this number.
    fn lose(&mut self, lost: u64, number: u64) {
        if lost >= MANY {
            self.gap = number;
        }
        self.grants.clear();
        self.granting.clear();
        self.unexplainable.extend(self.unexplained.drain().map(|(_, wait)| wait));
    }

    fn end(&mut self, thread: u32, to_ns: u64, end: End) -> Option<Completed> {
        let by = self.grants.remove(&thread).filter(|grant| grant.fits(end));
        let (began, wait) = self.open.remove(&thread)?;
        if began < self.gap {
            // This may be the end of a later wait.
            return Some(Completed::Wait(wait.without_end()));
        }
        let wait = Wait { to_ns, end, by, ..wait };
        if by.is_none() && end != End::Nothing {
            self.unexplained.insert(thread, wait);
            return None;
        }
        Some(Completed::Wait(wait))
    }

    /// Returns the rest: waits that have not ended when the trace ends, those whose end was lost, and those whose granter
    /// has not reported the grant. `last_seen`: where events were lost, which threads still waited at some time.
    pub fn finish(self, now_ns: u64, last_seen: Option<&Seen>) -> Vec<Wait> {
        let is_over = |wait: &Wait| last_seen.is_some_and(|seen| seen.is_over(wait));
        let open = self.open.into_values().map(|(_, wait)| match is_over(&wait) {
            true => wait.without_end(),
            false => Wait { to_ns: now_ns, ..wait },
        });
        let mut waits: Vec<_> = open.chain(self.unexplained.into_values()).chain(self.unexplainable).collect();
        waits.sort_by_key(|wait| wait.from_ns);
        waits
    }
}

impl Wait {
    /// The same, if its end was lost.
    fn without_end(self) -> Wait {
        Wait { to_ns: self.from_ns, end: End::Unknown, ..self }
    }
}

/// The threads that waited at one moment.
#[derive(Default)]
pub struct Seen {
    pub at_ns: u64,
    pub waiting: HashSet<u32>,
}

impl Seen {
    /// Returns true if a wait that is not known to have ended had ended by then.
    fn is_over(&self, wait: &Wait) -> bool {
        wait.from_ns < self.at_ns && !self.waiting.contains(&wait.thread)
    }
}

impl Grant {
    fn fits(&self, end: End) -> bool {
        match end {
            End::Object(object) => self.object == Some(object),
            End::Everything => self.object.is_none(),
            End::Nothing | End::Open | End::Unknown => false,
        }
    }
}

#[cfg(test)]
#[path = "../../tests/unit/trace/waits.rs"]
mod tests;
