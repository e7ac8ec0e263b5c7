// SPDX-License-Identifier: MIT OR Apache-2.0
//! The state of an object, and what a thread waits for, as several subcommands say it; the JSON has this shape.

use ntux_sync::Kind;
use ntux_sync::inspect::{Mode, Value, WaitView};
use serde::Serialize;

use super::scene::Owners;
use super::words;

/// Kind and state of an object.
#[derive(Clone, Copy, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum State {
    Semaphore {
        count: u32,
        max: u32,
    },
    Mutex {
        owner: u32,
        count: u32,
        abandoned: bool,
    },
    AutoResetEvent {
        signaled: bool,
    },
    ManualResetEvent {
        signaled: bool,
    },
    /// It is being made.
    Undecided,
    Rubbish,
}

/// What a thread waits for.
#[derive(Serialize)]
pub struct Wait {
    pub owner: u32,
    /// Unknown as long as it is in no queue.
    #[serde(serialize_with = "words::word")]
    pub mode: Mode,
    pub objects: Vec<u64>,
    pub alert: Option<u64>,
}

impl State {
    pub fn of(value: &Value) -> State {
        match value {
            Value::Semaphore(semaphore) => State::Semaphore { count: semaphore.count, max: semaphore.max },
            Value::Mutex(mutex) => State::Mutex { owner: mutex.owner, count: mutex.count, abandoned: mutex.abandoned },
            Value::Event(event) if event.manual => State::ManualResetEvent { signaled: event.signaled },
            Value::Event(event) => State::AutoResetEvent { signaled: event.signaled },
            Value::Undecided => State::Undecided,
            Value::Rubbish => State::Rubbish,
        }
    }

    /// The word for the kind in a table, in nine columns.
    pub fn kind(self) -> &'static str {
        match self {
            State::Semaphore { .. } => Kind::Semaphore.exact_word(),
            State::Mutex { .. } => Kind::Mutex.exact_word(),
            State::AutoResetEvent { .. } => Kind::AutoEvent.exact_word(),
            State::ManualResetEvent { .. } => Kind::ManualEvent.exact_word(),
            State::Undecided => "-",
            State::Rubbish => "rubbish",
        }
    }

    pub fn text(self, owners: Owners) -> String {
        match self {
            State::Semaphore { count, max } => format!("{count} of {max}"),
            State::Mutex { abandoned: true, .. } => "abandoned".to_owned(),
            State::Mutex { owner: 0, .. } => "free".to_owned(),
            State::Mutex { owner, .. } => owners.text(owner),
            State::AutoResetEvent { signaled: true } | State::ManualResetEvent { signaled: true } => {
                "signaled".to_owned()
            }
            State::AutoResetEvent { .. } | State::ManualResetEvent { .. } => "not signaled".to_owned(),
            State::Undecided | State::Rubbish => "-".to_owned(),
        }
    }
}

impl Wait {
    pub fn of(wait: &WaitView) -> Option<Wait> {
        let WaitView::Objects { owner, mode, objects, alert } = wait else { return None };
        let objects = objects.iter().map(|object| object.0).collect();
        Some(Wait { owner: *owner, mode: *mode, objects, alert: alert.map(|alert| alert.0) })
    }
}
