// SPDX-License-Identifier: MIT OR Apache-2.0
//! The calls of the interface, and their results.

use super::wait::Wait;
use super::{Event, Id, Mutex, Name, Semaphore, ThreadId, Timer, Value};
use crate::{EndState, MutexState, Result, Satisfied};

/// One call of the interface.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[allow(missing_docs, reason = "the names are those of the interface")]
pub enum Operation {
    SemaphoreCreate {
        count: u32,
        max: u32,
    },
    SemaphoreRelease {
        object: Id,
        units: u32,
    },
    SemaphoreRead {
        object: Id,
    },
    MutexCreate {
        owner: u32,
        count: u32,
    },
    MutexUnlock {
        object: Id,
        owner: u32,
    },
    MutexKill {
        object: Id,
        owner: u32,
    },
    MutexRead {
        object: Id,
    },
    EventCreate {
        manual: bool,
        signaled: bool,
    },
    EventSet {
        object: Id,
    },
    EventReset {
        object: Id,
    },
    EventPulse {
        object: Id,
    },
    EventRead {
        object: Id,
    },
    TimerCreate {
        manual: bool,
    },
    TimerSet {
        object: Id,
        due: u64,
        period: u64,
    },
    TimerCancel {
        object: Id,
    },
    TimerRead {
        object: Id,
    },
    EndCreate {
        owner: u32,
    },
    EndReport {
        object: Id,
        code: u32,
    },
    EndRead {
        object: Id,
    },
    /// No call: so much time passes.
    Pass {
        time: u64,
    },
    Close {
        object: Id,
    },
    Adopt {
        object: Id,
    },
    Hold {
        object: Id,
    },
    /// The process of this thread holds it once more.
    HoldFor {
        object: Id,
        thread: ThreadId,
    },
    /// How often the caller's process holds it.
    Holds {
        object: Id,
    },
    Release {
        object: Id,
    },
    ReleaseFromOwner {
        object: Id,
    },
    MakePermanent {
        object: Id,
    },
    MakeTemporary {
        object: Id,
    },
    CreateNamed {
        name: Name,
        value: Value,
    },
    OpenNamed {
        name: Name,
        like: Value,
    },
    BuryThread {
        thread: ThreadId,
    },
    BuryProcess {
        thread: ThreadId,
    },
    Wait(Wait),
    /// A wait without a thread, known by its label.
    Detach {
        label: usize,
        wait: Wait,
    },
    /// Posts a packet to the queue of these waits.
    Post {
        key: usize,
    },
    /// Takes the result of such a wait, or a packet.
    Collect {
        poll: bool,
    },
    /// Cancels such a wait.
    CallOff {
        label: usize,
    },
    /// Closes the queue of these waits.
    CloseQueue,
    /// Opens another one in its place: it was closed, or its process is dead.
    OpenQueue,
    /// Ends an owner id of the arena.
    EndOwner {
        owner: u32,
    },
}

impl Operation {
    /// The arguments, if it is a wait.
    pub fn wait(&self) -> Option<&Wait> {
        if let Operation::Wait(wait) = self { Some(wait) } else { None }
    }

    /// The value of the object that it creates, legal or not.
    pub fn creates(&self) -> Option<Value> {
        match *self {
            Operation::SemaphoreCreate { count, max } => Some(Value::Semaphore(Semaphore { count, max })),
            Operation::MutexCreate { owner, count } => Some(Value::Mutex(Mutex { owner, count, abandoned: false })),
            Operation::EventCreate { manual, signaled } => Some(Value::Event(Event { manual, signaled })),
            Operation::TimerCreate { manual } => Some(Value::Timer(Timer::unarmed(manual, false))),
            Operation::EndCreate { owner } => Some(Value::End(EndState { owner, ended: false, code: None })),
            Operation::CreateNamed { ref value, .. } => Some(value.clone()),
            _ => None,
        }
    }

    /// The objects that it names.
    pub fn objects(&self) -> Vec<Id> {
        self.clone().objects_mut().map(|object| *object).collect()
    }

    /// The same, to change them.
    pub(super) fn objects_mut(&mut self) -> impl Iterator<Item = &mut Id> {
        let (one, wait) = match self {
            Operation::SemaphoreRelease { object, .. }
            | Operation::SemaphoreRead { object }
            | Operation::MutexUnlock { object, .. }
            | Operation::MutexKill { object, .. }
            | Operation::MutexRead { object }
            | Operation::EventSet { object }
            | Operation::EventReset { object }
            | Operation::EventPulse { object }
            | Operation::EventRead { object }
            | Operation::TimerSet { object, .. }
            | Operation::TimerCancel { object }
            | Operation::TimerRead { object }
            | Operation::EndReport { object, .. }
            | Operation::EndRead { object }
            | Operation::Close { object }
            | Operation::Adopt { object }
            | Operation::Hold { object }
            | Operation::HoldFor { object, .. }
            | Operation::Holds { object }
            | Operation::Release { object }
            | Operation::ReleaseFromOwner { object }
            | Operation::MakePermanent { object }
            | Operation::MakeTemporary { object } => (Some(object), None),
            Operation::Wait(wait) => (None, Some(wait)),
            Operation::SemaphoreCreate { .. } | Operation::MutexCreate { .. } | Operation::EventCreate { .. } => {
                (None, None)
            }
            Operation::TimerCreate { .. } | Operation::Pass { .. } => (None, None),
            Operation::CreateNamed { .. } | Operation::OpenNamed { .. } => (None, None),
            Operation::BuryThread { .. } | Operation::BuryProcess { .. } => (None, None),
            Operation::Detach { .. } | Operation::Collect { .. } | Operation::CallOff { .. } => (None, None),
            Operation::Post { .. } | Operation::CloseQueue | Operation::OpenQueue => (None, None),
            Operation::EndOwner { .. } | Operation::EndCreate { .. } => (None, None),
        };
        one.into_iter().chain(wait.into_iter().flat_map(|wait| wait.objects.iter_mut().chain(&mut wait.alert)))
    }

    /// Returns true if it gives back what a dead thread held.
    pub(super) fn buries(&self) -> bool {
        matches!(self, Operation::BuryThread { .. } | Operation::BuryProcess { .. })
    }

    /// Returns true if it is one of those that only timers have.
    pub(super) fn is_about_time(&self) -> bool {
        matches!(self, Operation::TimerSet { .. } | Operation::TimerCancel { .. } | Operation::TimerRead { .. })
    }

    /// Returns true if it is a wait with arguments that are invalid whatever the objects are.
    pub(super) fn is_malformed(&self) -> bool {
        self.wait().is_some_and(Wait::is_malformed)
    }
}

/// The result of a successful call.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Answer {
    /// A new object.
    Created(Id),
    /// An object by its name: whether it existed.
    Named {
        /// It was not created by this call.
        existed: bool,
    },
    /// The previous count of a semaphore, or of a mutex's recursion; how often a process holds an object.
    Count(u32),
    /// The previous state of an event.
    Signaled(bool),
    /// A semaphore's count and maximum.
    Semaphore(u32, u32),
    /// A mutex.
    Mutex(MutexState),
    /// An event: manual, signaled.
    Event(bool, bool),
    /// A timer: signaled, when it fires.
    Timer(bool, Option<u64>),
    /// The end of an owner.
    End(EndState),
    /// No value.
    Done,
    /// A satisfied wait.
    Satisfied(Satisfied),
    /// A wait that goes on without its thread.
    Waits,
    /// The result of the one with this label.
    Delivered(usize, Satisfied),
    /// The packet with this key.
    Packet(usize),
}

/// How a call ended.
pub type Outcome = Result<Answer>;
