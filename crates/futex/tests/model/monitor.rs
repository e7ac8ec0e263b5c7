// SPDX-License-Identifier: MIT OR Apache-2.0
//! Checks whether some order of steps explains an observed history.

use std::collections::BTreeSet;

use super::{Id, Model, Rules, Thread};

/// A thread's request.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Request {
    /// Store into the word.
    Store(Id, u64),
    /// Wait for one of these futexes, while their words hold these values.
    Wait {
        /// Futexes and values.
        entries: Vec<(Id, u64)>,
        /// The bitset of all entries.
        mask: u32,
        /// True if there is a deadline.
        timed: bool,
    },
    /// Wake this many, with this bitset.
    Wake(Id, u32, u32),
    /// Wake and move.
    Requeue {
        /// From here.
        from: Id,
        /// To there.
        to: Id,
        /// If the word holds this value.
        expected: u64,
        /// The most to wake.
        wake: u32,
        /// The most to move.
        moved: u32,
    },
}

/// The result of a request.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Outcome {
    /// Stored.
    Stored,
    /// Woken, by this entry.
    Woken(usize),
    /// A word differed.
    Differs,
    /// The deadline passed.
    TimedOut,
    /// This many were woken, or woken and moved.
    Served(u32),
}

/// The progress of a thread's request.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum Progress {
    Idle,
    Asked,
    Waiting { arrived: usize, checked: usize },
    Serving { compared: bool, served: u32 },
    Done(Outcome),
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Explanation {
    model: Model,
    progress: Vec<Progress>,
}

/// All states that explain the history so far, including possible steps of unfinished requests. So nothing observable
/// from here on can distinguish two equal monitors.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Monitor {
    states: BTreeSet<Explanation>,
    requests: Vec<Option<Request>>,
}

impl Monitor {
    /// Nothing was observed yet.
    pub fn new(model: Model) -> Monitor {
        let threads = model.fates.len();
        let state = Explanation { model, progress: vec![Progress::Idle; threads] };
        Monitor { states: BTreeSet::from([state]), requests: vec![None; threads] }
    }

    /// A thread makes a request.
    pub fn invoke(&mut self, thread: Thread, request: Request) {
        self.requests[thread] = Some(request);
        let asked = |mut state: Explanation| {
            state.progress[thread] = Progress::Asked;
            state
        };
        self.change(asked);
        self.close();
    }

    /// A thread gets a result. Returns false if nothing explains it.
    pub fn returns(&mut self, thread: Thread, outcome: Outcome) -> bool {
        self.states.retain(|state| state.progress[thread] == Progress::Done(outcome));
        let forgotten = |mut state: Explanation| {
            state.progress[thread] = Progress::Idle;
            state.model.end(thread);
            state
        };
        // Still closed under steps: those of the others lead to states in which this request is done, too.
        self.change(forgotten);
        self.requests[thread] = None;
        !self.states.is_empty()
    }

    /// A thread is killed: it takes no further step, and is in no line.
    #[allow(dead_code, reason = "only the model checker kills threads")]
    pub fn kill(&mut self, thread: Thread) {
        let dead = |mut state: Explanation| {
            state.progress[thread] = Progress::Idle;
            state.model.leave(thread);
            state.model.tell(thread, false);
            state.model.end(thread);
            state
        };
        self.change(dead);
        self.requests[thread] = None;
        self.close();
    }

    fn change(&mut self, change: impl FnMut(Explanation) -> Explanation) {
        self.states = std::mem::take(&mut self.states).into_iter().map(change).collect();
    }

    /// Returns whether all of these threads may now sleep for ever; false if one of them must have been taken.
    pub fn may_sleep(&self, threads: &[Thread]) -> bool {
        self.states.iter().any(|state| {
            threads.iter().all(|&thread| match (&state.progress[thread], &self.requests[thread]) {
                (Progress::Waiting { checked, .. }, Some(Request::Wait { entries, .. })) => {
                    *checked == entries.len() && state.model.may_sleep(thread)
                }
                _ => false,
            })
        })
    }

    /// Adds every state that steps of unfinished requests can reach.
    fn close(&mut self) {
        let mut fresh: Vec<Explanation> = self.states.iter().cloned().collect();
        while let Some(state) = fresh.pop() {
            for (thread, request) in self.requests.iter().enumerate() {
                let Some(request) = request else { continue };
                for next in state.steps(thread, request) {
                    if self.states.insert(next.clone()) {
                        fresh.push(next);
                    }
                }
            }
        }
    }
}

impl Explanation {
    fn with(&self, thread: Thread, progress: Progress, change: impl FnOnce(&mut Model)) -> Explanation {
        let mut next = self.clone();
        change(&mut next.model);
        next.progress[thread] = progress;
        next
    }

    fn done(&self, thread: Thread, outcome: Outcome) -> Explanation {
        self.with(thread, Progress::Done(outcome), |_| ())
    }

    /// A wake or requeue has ended. `whole` says that it ended because nobody was left.
    fn served(&self, thread: Thread, count: u32, whole: bool) -> Explanation {
        self.with(thread, Progress::Done(Outcome::Served(count)), |model| model.tell(thread, whole))
    }

    /// The states after one step of the thread's request.
    fn steps(&self, thread: Thread, request: &Request) -> Vec<Explanation> {
        if let Progress::Idle = self.progress[thread] {
            return Vec::new();
        }
        match *request {
            Request::Store(futex, value) => match self.progress[thread] {
                Progress::Asked => {
                    vec![self.with(thread, Progress::Done(Outcome::Stored), |model| model.store(futex, value))]
                }
                _ => Vec::new(),
            },
            Request::Wait { ref entries, mask, timed } => self.wait_steps(thread, entries, mask, timed),
            Request::Wake(futex, count, mask) => match self.progress[thread] {
                Progress::Asked => {
                    let serving = Progress::Serving { compared: true, served: 0 };
                    vec![self.with(thread, serving, |model| model.begin(thread, futex, mask))]
                }
                Progress::Serving { served, .. } => vec![self.wake_step(thread, futex, count, mask, served)],
                _ => Vec::new(),
            },
            Request::Requeue { from, to, expected, wake, moved } => match self.progress[thread] {
                Progress::Asked => {
                    let serving = Progress::Serving { compared: false, served: 0 };
                    vec![self.with(thread, serving, |model| model.begin(thread, from, u32::MAX))]
                }
                Progress::Serving { compared: false, .. } if !self.model.holds(from, expected) => {
                    vec![self.done(thread, Outcome::Differs)]
                }
                Progress::Serving { compared: false, served } => {
                    vec![self.with(thread, Progress::Serving { compared: true, served }, |_| ())]
                }
                Progress::Serving { served, .. } => vec![self.requeue_step(thread, (from, to), (wake, moved), served)],
                _ => Vec::new(),
            },
        }
    }

    fn wait_steps(&self, thread: Thread, entries: &[(Id, u64)], mask: u32, timed: bool) -> Vec<Explanation> {
        let (arrived, checked) = match self.progress[thread] {
            Progress::Asked => (0, 0),
            Progress::Waiting { arrived, checked } => (arrived, checked),
            _ => return Vec::new(),
        };
        let mut steps = Vec::new();
        if let Some(entry) = self.model.taken(thread) {
            let woken = Progress::Done(Outcome::Woken(entry));
            let halves = self.model.rules == Rules::Halves;
            if !halves || checked > entry {
                steps.push(self.with(thread, woken.clone(), |model| model.leave(thread)));
            }
            if halves {
                let futex = entries[entry].0;
                steps.push(self.with(thread, woken, |model| {
                    model.leave(thread);
                    model.begin(thread, futex, u32::MAX);
                    model.take(thread, futex, u32::MAX);
                }));
            }
        }
        if let Some(&(futex, _)) = entries.get(arrived) {
            let next = Progress::Waiting { arrived: arrived + 1, checked };
            steps.push(self.with(thread, next, |model| model.arrive(thread, arrived, futex, mask)));
        }
        if checked < arrived {
            let (futex, expected) = entries[checked];
            let mut next = self.with(thread, Progress::Waiting { arrived, checked: checked + 1 }, |_| ());
            let holds = next.model.check(thread, checked, futex, expected);
            match (holds, self.model.taken(thread)) {
                (true, _) => steps.push(next),
                (false, None) => {
                    let differs = Progress::Done(Outcome::Differs);
                    steps.push(self.with(thread, differs, |model| model.leave(thread)));
                }
                (false, Some(_)) => {}
            }
        }
        let waits = checked == entries.len() && self.model.taken(thread).is_none();
        if waits && timed {
            steps.push(self.with(thread, Progress::Done(Outcome::TimedOut), |model| model.leave(thread)));
        }
        steps
    }

    fn wake_step(&self, thread: Thread, futex: Id, count: u32, mask: u32, served: u32) -> Explanation {
        let left = self.model.left(thread, futex, mask);
        if served == count || left == 0 {
            return self.served(thread, served, served < count);
        }
        let next = Progress::Serving { compared: true, served: served + 1 };
        self.with(thread, next, |model| {
            model.take(thread, futex, mask);
        })
    }

    fn requeue_step(
        &self,
        thread: Thread,
        (from, to): (Id, Id),
        (wake, moved): (u32, u32),
        served: u32,
    ) -> Explanation {
        let left = self.model.left(thread, from, u32::MAX) as u32;
        if served == wake + moved || left == 0 {
            return self.served(thread, served, served < wake + moved);
        }
        if served >= wake && from == to {
            return self.served(thread, served + left.min(moved), false);
        }
        let next = Progress::Serving { compared: true, served: served + 1 };
        self.with(thread, next, |model| {
            if served < wake {
                model.take(thread, from, u32::MAX)
            } else {
                model.shift(thread, from, to)
            };
        })
    }
}
