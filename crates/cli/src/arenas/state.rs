// SPDX-License-Identifier: MIT OR Apache-2.0
//! The state of an object, and what a thread waits for, as several subcommands say it; the JSON has this shape.

use ntux_sync::inspect::{Mode, Value, WaitView};
use ntux_sync::{Due, Kind};
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
    Timer {
        manual: bool,
        signaled: bool,
        /// Until it fires; below 0 if nobody has fired it yet. None: it is not armed.
        due_in_ms: Option<i64>,
        period_us: u64,
    },
    End {
        /// Whose end it is.
        owner: u32,
        signaled: bool,
        /// What was reported before.
        code: Option<u32>,
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
            Value::Timer(timer) => State::Timer {
                manual: timer.manual,
                signaled: timer.signaled,
                due_in_ms: timer.due.map(due_in_ms),
                period_us: timer.period_ns / 1000,
            },
            Value::End(end) => State::End { owner: end.owner, signaled: end.ended, code: end.code },
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
            State::Timer { .. } => Kind::SyncTimer.exact_word(),
            State::End { .. } => Kind::End.exact_word(),
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
            State::Timer { signaled: true, .. } => "signaled".to_owned(),
            State::Timer { due_in_ms: None, .. } => "not armed".to_owned(),
            State::Timer { due_in_ms: Some(ms), .. } if ms < 0 => "due".to_owned(),
            State::Timer { due_in_ms: Some(ms), .. } => format!("due in {ms} ms"),
            State::End { signaled: false, owner, .. } => format!("of {}", owners.text(owner)),
            State::End { code: Some(code), .. } => format!("ended, {code:#x}"),
            State::End { .. } => "ended".to_owned(),
            State::Undecided | State::Rubbish => "-".to_owned(),
        }
    }
}

fn due_in_ms(due: Due) -> i64 {
    let ms = |ns: u64| i64::try_from(ns / 1_000_000).unwrap_or(i64::MAX);
    let now_ns = due.clock.now_ns();
    if due.at_ns < now_ns { -ms(now_ns - due.at_ns).max(1) } else { ms(due.at_ns - now_ns) }
}

impl Wait {
    pub fn of(wait: &WaitView) -> Option<Wait> {
        let WaitView::Objects { owner, mode, objects, alert } = wait else { return None };
        let objects = objects.iter().map(|object| object.0).collect();
        Some(Wait { owner: *owner, mode: *mode, objects, alert: alert.map(|alert| alert.0) })
    }
}
