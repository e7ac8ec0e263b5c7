// SPDX-License-Identifier: MIT OR Apache-2.0
//! A thread's waiter slot, and its wait.

use super::object::LastBy;
use super::view::Look;
use super::{Reading, TRIES, reading};
use crate::format::delivery::DeliveredTo;
use crate::format::holder::Holder;
use crate::format::layout::WaiterSlot;
use crate::format::mark::Mark;
use crate::format::signature::Signature;
use crate::format::waiter_word::{ALL_PROBED, EVERYTHING, WaiterState, WaiterWord};
use crate::format::{deadline, found};
use crate::kind::Signal;
use crate::{Object, WAIT_MAX};
use ntux_platform::clock::Deadline;

/// A thread's waiter slot, at one instant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WaiterView {
    /// Its index.
    pub index: u32,
    /// Names the wait, and orders waits by arrival.
    pub ticket: u64,
    /// False if it changed faster than it could be read.
    pub stable: bool,
    /// The thread that has the slot, by its number in its own namespace; none if it is free, or its wait has no thread.
    pub thread: Option<u64>,
    /// The thread's process, or the wait's, as the index of a peer.
    pub peer: u32,
    /// The wait has no thread: its result is delivered to the queue with this index.
    pub queue: Option<u32>,
    /// The owner id of its last wait that had to queue; 0 before the first one.
    pub owner: u32,
    /// The state of its wait.
    pub state: WaitState,
    /// The thread sleeps, or is about to.
    pub parked: bool,
    /// Since when it has waited, in nanoseconds of the monotonic clock, up to 10 ms too early. None: it does not sleep.
    pub asleep_since: Option<u64>,
    /// Until when it sleeps at most. None: it does not sleep.
    pub deadline: Option<Deadline>,
    /// What it found when it joined the queue of each object in its list, and of its alert. Empty: it does not sleep.
    pub found: Vec<Found>,
    /// What it waits for.
    pub wait: WaitView,
}

/// What a wait found when it joined a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Found {
    /// The last 32 bits of the sequence number of the object's word after that, if nobody has changed it meanwhile.
    pub version: u32,
    /// The thread that had signaled the object last, or acquired it last if it is a mutex.
    pub last_by: LastBy,
}

/// A wake that was sent to the thread of a place: the last one. Hints: they are written beside the protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WakeView {
    /// The place.
    pub waiter: u32,
    /// By which object. None: by all objects of a wait-all.
    pub object: Option<Object>,
    /// When, in nanoseconds of the monotonic clock, up to 10 ms too early.
    pub at: u64,
    /// The thread that performed the operation: unknown also if another thread had to decide its outcome.
    pub by: LastBy,
}

/// The state of a wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WaitState {
    /// There was none.
    Idle,
    /// Not in all its queues yet.
    Queueing,
    /// In its queues.
    Waiting,
    /// Its thread was killed, so it is no longer in any queue.
    Died,
    /// Satisfied.
    Satisfied {
        /// What it was given.
        given: Given,
        /// An acquired mutex had been abandoned.
        abandoned: bool,
        /// The thread that performed the operation, if this one slept.
        by: LastBy,
        /// The thread slept, has not run since, and its wake may not have been sent yet.
        owed: bool,
    },
    /// Ended without an object: its deadline passed, or a signal handler ran.
    Withdrawn,
    /// Not a wait: the thread has requested a signal, wait-all waiters first.
    Requesting(Request),
    /// That signal was performed.
    Done,
    /// Tries to take objects if nobody meets its claims and the others do not change.
    Probing,
}

/// What satisfied a wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Given {
    /// The object in this slot.
    Slot(u32),
    /// All its objects.
    Everything,
    /// No such slot.
    Rubbish,
}

/// A signal that a thread has requested.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names are those of the operations")]
pub enum Request {
    Set(Object),
    Reset(Object),
    Pulse(Object),
    Release(Object, u32),
    Unlock(Object, u32),
    Kill(Object, u32),
    /// Fires a timer.
    Fire(Object),
    /// Signals an end.
    Finish(Object),
    /// Says with which code an owner will end.
    Report(Object, u32),
    /// No such signal.
    Rubbish,
}

/// What a thread waits for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WaitView {
    /// Nothing: it does not wait.
    Nothing,
    /// These objects.
    Objects {
        /// The owner id for mutexes.
        owner: u32,
        /// For one, or for all of them.
        mode: Mode,
        /// The objects, in the order of the call.
        objects: Vec<Object>,
        /// The alert. None also while the wait is not in that queue.
        alert: Option<Object>,
    },
    /// More objects than a wait can have.
    Rubbish,
}

/// How many of its objects a wait needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// One.
    Any,
    /// All at once.
    All,
    /// Unknown: it was in no queue when it was read.
    Unknown,
}

impl WaiterView {
    /// Returns `None` if nobody has the slot, and it holds no wait.
    pub(super) fn of(look: &Look<'_>, index: u32) -> Option<WaiterView> {
        let slot = look.waiter(index)?;
        let read = |word| {
            let word = WaiterWord(word);
            let is_parked = word.is_open() && word.is_parked();
            let notes = if is_parked { Notes::of(slot) } else { Notes::default() };
            let (wait, state) = (WaitView::of(word, slot), WaitState::of(look, word, slot));
            (word, Holder(slot.holder.load()), slot.owner(), notes, wait, state)
        };
        let Reading { what: (word, holder, owner, notes, wait, state), stable } = reading(&slot.word, read);
        let queue =
            if word.is_detached() { DeliveredTo(slot.queue.load()).queue().map(|(index, _)| index) } else { None };
        let thread = (holder.is_taken() && queue.is_none()).then_some(holder.thread());
        let is_over =
            matches!(state, WaitState::Idle | WaitState::Withdrawn | WaitState::Satisfied { .. } | WaitState::Done);
        let is_delivered = queue.is_some() && matches!(state, WaitState::Satisfied { .. });
        if thread.is_none() && is_over && !is_delivered {
            return None;
        }
        let (ticket, peer, parked) = (word.ticket().number(), holder.peer(), word.is_open() && word.is_parked());
        let Notes { asleep_since, deadline, found } = notes;
        Some(WaiterView {
            index,
            ticket,
            stable,
            thread,
            peer,
            queue,
            owner,
            state,
            parked,
            asleep_since,
            deadline,
            found,
            wait,
        })
    }

    pub(super) fn is_undecided(&self) -> bool {
        matches!(self.state, WaitState::Queueing | WaitState::Waiting)
    }
}

/// What a thread has noted for onlookers before it fell asleep.
#[derive(Default)]
struct Notes {
    asleep_since: Option<u64>,
    deadline: Option<Deadline>,
    found: Vec<Found>,
}

impl Notes {
    fn of(slot: &WaiterSlot) -> Notes {
        let first = (slot.joined_at.load() as u32, Mark((slot.joined_after.load() >> 32) as u32));
        let others = slot.joined_others.iter().take(slot.count()).map(|note| found::unpack(note.load()));
        let found = std::iter::once(first).chain(others).map(Found::of).collect();
        let [seconds, nanoseconds] = slot.asleep_since.each_ref().map(|word| word.load());
        let asleep_since = seconds.saturating_mul(1_000_000_000).saturating_add(nanoseconds);
        Notes { asleep_since: Some(asleep_since), deadline: deadline::unpack(slot.deadline.load()), found }
    }
}

impl Found {
    /// `before`: the version that stood there before the flag was raised.
    fn of((before, mark): (u32, Mark)) -> Found {
        Found { version: before.wrapping_add(1), last_by: LastBy::of(mark) }
    }
}

impl WakeView {
    /// None: nobody has ever been woken there, or others are all the time.
    pub(super) fn of(look: &Look<'_>, index: u32) -> Option<WakeView> {
        let slot = look.waiter(index)?;
        let woken = &slot.woken.0;
        let read = || (woken.object.load(), Signature(slot.signature.load()), woken.at.load(), woken.from.load());
        // O-wake
        let mut reads = (0..TRIES).map(|_| (read(), woken.object.load()));
        let (object, signature, at, from) = reads.find_map(|(read, object)| (read.0 == object).then_some(read))?;
        let by = LastBy::of(signature.mark_for(WaiterWord::tag_in(from)));
        let object = (object != 0).then_some(Object(object));
        (at != 0).then_some(WakeView { waiter: index, object, at, by })
    }
}

impl WaitState {
    fn of(look: &Look<'_>, word: WaiterWord, slot: &WaiterSlot) -> WaitState {
        match word.state() {
            WaiterState::Idle => WaitState::Idle,
            WaiterState::Queueing => WaitState::Queueing,
            WaiterState::Waiting => WaitState::Waiting,
            WaiterState::Died => WaitState::Died,
            WaiterState::Satisfied => {
                let given = match word.argument() {
                    EVERYTHING | ALL_PROBED => Given::Everything,
                    index if look.is_object(index) => Given::Slot(index),
                    _ => Given::Rubbish,
                };
                // O-back: its own note says whether it has run since; its waker's may be of another wait, or not there.
                let is_back = deadline::unpack(slot.deadline.load()).is_none();
                let owed = word.is_owed() && slot.woken.0.from.load() != word.0.low && !is_back;
                let by = LastBy::of(Signature(slot.signature.load()).mark_for(word.ticket().tag()));
                WaitState::Satisfied { given, abandoned: word.is_abandoned(), by, owed }
            }
            WaiterState::Withdrawn => WaitState::Withdrawn,
            WaiterState::Requesting => WaitState::Requesting(Request::of(slot)),
            WaiterState::Done => WaitState::Done,
            WaiterState::Probing => WaitState::Probing,
        }
    }
}

impl Request {
    /// The object that it is about; none if it is rubbish.
    pub fn object(self) -> Option<Object> {
        match self {
            Request::Set(object) | Request::Reset(object) | Request::Pulse(object) | Request::Fire(object) => {
                Some(object)
            }
            Request::Release(object, _) | Request::Unlock(object, _) | Request::Kill(object, _) => Some(object),
            Request::Finish(object) | Request::Report(object, _) => Some(object),
            Request::Rubbish => None,
        }
    }

    fn of(slot: &WaiterSlot) -> Request {
        let object = Object(slot.request_object.load());
        match Signal::of_bits(slot.request.load()) {
            Some(Signal::Set) => Request::Set(object),
            Some(Signal::Reset) => Request::Reset(object),
            Some(Signal::Pulse) => Request::Pulse(object),
            Some(Signal::Release(units)) => Request::Release(object, units),
            Some(Signal::Unlock(owner)) => Request::Unlock(object, owner),
            Some(Signal::Kill(owner)) => Request::Kill(object, owner),
            Some(Signal::Fire(_) | Signal::GiveBack) => Request::Fire(object),
            Some(Signal::Finish) => Request::Finish(object),
            Some(Signal::Report(code)) => Request::Report(object, code),
            None => Request::Rubbish,
        }
    }
}

impl WaitView {
    /// Only for an undecided wait: after another one, the thread may be storing its next wait.
    fn of(word: WaiterWord, slot: &WaiterSlot) -> WaitView {
        if !word.is_open() {
            return WaitView::Nothing;
        }
        let count = slot.count();
        if count > WAIT_MAX {
            return WaitView::Rubbish;
        }
        let objects = slot.list[..count].iter().map(|word| Object(word.load())).collect();
        WaitView::Objects { owner: slot.owner(), mode: Mode::Unknown, objects, alert: None }
    }
}
