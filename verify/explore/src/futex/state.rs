// SPDX-License-Identifier: MIT OR Apache-2.0
//! A hash of the state of a run. Two runs in equal states have the same continuations and results, so one of them can
//! stop.
//!
//! * **A thread** is a function of its current request and of what it has learnt since that began: the values it read,
//!   the results of its exchanges, the kernel's answers. All of these go through [`State::learn`]. The word that it has
//!   registered for its death, and how often it slept, follow from that. Only the number of the next request lasts from
//!   one request to another: the loop in `stage.rs` keeps nothing else, seats never change in a process's own table and
//!   last for one wait in a domain, and neither the table nor the native mechanisms keep thread state. (Results are hashed separately, so that every combination of them is
//!   met.)
//! * **The memory** is the result of the updates, including the kernel's.
//! * **The kernel** has its sleepers, in order, and the woken threads that have not run since.
//! * **The model** has the explanations of the results so far: [`super::explained`].
//!
//! The search adds its own state: who would be interrupted, and how many preemptions are left.

use super::model::{Outcome, Thread};
use ntux_platform::explore::{Effect, Touch};

use crate::machine::account::{Account, Change};
use crate::machine::chunk::{around, content};
use crate::machine::fingerprint::Fingerprint;

/// What a killed thread has learnt.
const KILLED: u64 = u64::MAX;

/// See the module.
#[derive(Default)]
pub struct State {
    /// What each thread has learnt since its request began.
    learnt: Vec<Fingerprint>,
    memory: Account,
}

impl State {
    pub fn new(threads: usize) -> State {
        State { learnt: vec![Fingerprint::ZERO; threads], ..State::default() }
    }

    /// A request of a thread has ended: only its result remains.
    pub fn forget(&mut self, thread: Thread, outcomes: &[Outcome]) {
        self.learnt[thread] = Fingerprint::of(outcomes);
    }

    /// A thread is killed.
    pub fn kill(&mut self, thread: Thread, outcomes: &[Outcome]) {
        self.forget(thread, outcomes);
        self.learn(thread, KILLED);
    }

    /// A thread learns something.
    pub fn learn(&mut self, thread: Thread, what: u64) {
        self.learnt[thread] = self.learnt[thread].then(what);
    }

    /// A thread reads the memory.
    pub fn read(&mut self, thread: Thread, touch: &Touch) {
        for number in held(touch.address, touch.bytes) {
            self.learn(thread, number);
        }
    }

    /// An update of the word at `address` comes next.
    pub fn before(&mut self, address: usize) {
        self.memory.before(address);
    }

    /// It was made, by a thread or while things are made ready. The thread knows what the word held before if it
    /// replaced that; if not it is there still. And where something was added it follows from what is there now.
    pub fn updated(&mut self, thread: Option<Thread>, touch: &Touch, effect: Effect) -> Option<Change> {
        let change = self.changed();
        if let Some(thread) = thread {
            self.learn(thread, effect as u64);
            self.read(thread, touch);
        }
        change
    }

    /// It was made.
    pub fn changed(&mut self) -> Option<Change> {
        self.memory.settle()
    }

    /// The hash of memory and threads.
    pub fn fingerprint(&self) -> Fingerprint {
        self.learnt.iter().fold(self.memory.fingerprint(), |print, &learnt| print.followed_by(learnt))
    }
}

/// The bytes of a word of 1 to 16 bytes.
fn held(address: usize, bytes: usize) -> impl Iterator<Item = u64> {
    let chunk = content(around(address));
    let shift = address % 8 * 8;
    let ones = if bytes < 8 { (1 << (bytes * 8)) - 1 } else { u64::MAX };
    chunk.into_iter().skip(address % 16 / 8).take(bytes.div_ceil(8)).map(move |half| half >> shift & ones)
}
