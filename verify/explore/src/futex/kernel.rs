// SPDX-License-Identifier: MIT OR Apache-2.0
//! The simulated kernel, which also receives the accesses of the threads.

use std::cell::RefCell;

use super::model::{Outcome, Thread};
use ntux_platform::error::{EAGAIN, ETIMEDOUT};
use ntux_platform::explore::{Access, Effect, Identity, Kernel, Scheduler, Touch};
use ntux_platform::kernel_futex::{Entry, MATCH_ANY};

use super::state::State;
use crate::machine::death::{Legacy, legacy};
use crate::machine::fingerprint::Fingerprint;
use crate::machine::threads::Stop;
use crate::machine::trace::Trace;

/// What a thread is doing.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Status {
    /// Its next request is still to come.
    Between,
    /// It stopped before an access.
    Midway,
    /// It sleeps in the kernel.
    Asleep {
        /// True if a deadline can end that.
        timed: bool,
    },
    /// It has made all its requests.
    Finished,
}

/// What was observed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Event {
    /// A thread makes its request of this number.
    Invoke(Thread, usize),
    /// It was answered.
    Return(Thread, Outcome),
    /// It was killed.
    Kill(Thread),
}

/// A thread in one of the kernel's queues.
#[derive(Hash)]
pub struct Sleeper {
    pub thread: Thread,
    pub address: usize,
    pub expected: u32,
    pub mask: u32,
    pub index: usize,
}

#[derive(Default)]
pub struct Run {
    pub running: Option<Thread>,
    pub statuses: Vec<Status>,
    pub places: Vec<Option<Stop<bool>>>,
    pub events: Vec<Event>,
    /// What each thread was answered.
    pub outcomes: Vec<Vec<Outcome>>,
    pub sleepers: Vec<Sleeper>,
    pub woken: Vec<Option<usize>>,
    /// How often each thread fell asleep.
    pub slept: Vec<u64>,
    /// The words that the threads have named, for when they die; 0 for none.
    pub wills: Vec<usize>,
    /// For whom something is made ready.
    pub served: Option<Thread>,
    pub stops: u32,
    pub panicked: bool,
    /// A wait found the domain full though a thread that was dead when it began had a seat.
    pub is_full_of_dead: bool,
    /// The thread has just begun its request: its first access belongs to the same step.
    pub begins: bool,
    pub state: State,
    /// What happens, for people; kept if somebody wants it.
    pub trace: Option<Trace>,
}

/// Where the accesses arrive. There is one for each thread of the operating system.
pub struct Seam(RefCell<Run>);

thread_local! {
    pub static SEAM: &'static Seam = Box::leak(Box::new(Seam(RefCell::default())));
}

impl Seam {
    pub fn with<R>(&self, f: impl FnOnce(&mut Run) -> R) -> R {
        f(&mut self.0.borrow_mut())
    }

    /// Gives the processor back until the thread is chosen again; true if its deadline has passed.
    pub fn stop(&self, status: Status) -> bool {
        let Some(place) = self.with(|run| {
            let thread = run.running?;
            run.statuses[thread] = status;
            run.stops += 1;
            run.begins = false;
            run.places[thread]
        }) else {
            return false;
        };
        // SAFETY: every thread stops itself only.
        let has_passed = unsafe { place.here() };
        self.learn(u64::from(has_passed));
        has_passed
    }

    /// The running thread learns something.
    fn learn(&self, what: u64) {
        self.with(|run| {
            if let Some(thread) = run.running {
                run.state.learn(thread, what);
            }
        });
    }

    /// The stop before an access. The first one of a request belongs to the same step as its beginning: to come to the
    /// model earlier would only allow it more.
    pub fn before_access(&self) {
        if !self.with(|run| std::mem::take(&mut run.begins)) {
            self.stop(Status::Midway);
        }
    }
}

impl Scheduler for Seam {
    fn step(&self, access: Access) {
        self.before_access();
        self.with(|run| {
            run.note(access);
            if let Access::Update(address) = access {
                run.state.before(address);
            }
        });
    }

    fn read(&self, touch: Touch) -> Option<u64> {
        self.with(|run| {
            if let Some(thread) = run.running {
                run.state.read(thread, &touch);
            }
        });
        None
    }

    fn updated(&self, touch: Touch, effect: Effect) {
        self.with(|run| {
            let change = run.state.updated(run.running, &touch, effect);
            if let (Some(trace), Some(change)) = (&mut run.trace, change) {
                trace.changed(change.old, change.new);
            }
        });
    }

    fn sleep(&self, _address: usize, _expected: u32, _has_deadline: bool) -> bool {
        unreachable!("the futex layer calls the kernel's futexes")
    }

    fn wake(&self, _address: usize, _count: u32) -> u32 {
        unreachable!("as above")
    }

    fn identity(&self) -> Option<Identity> {
        let thread = self.with(|run| run.running.or(run.served))?;
        Some(Identity { process: None, generation: 0, namespace: None, thread: number(thread) })
    }

    fn will(&self, address: usize) -> usize {
        self.with(|run| match run.running {
            Some(thread) => std::mem::replace(&mut run.wills[thread], address),
            None => 0,
        })
    }

    fn kernel(&self) -> Option<&dyn Kernel> {
        Some(self)
    }
}

/// What others know a thread by.
fn number(thread: Thread) -> u32 {
    1000 + thread as u32
}

impl Kernel for Seam {
    fn wait_any(&self, entries: &[(Entry, u32)], has_deadline: bool) -> core::result::Result<usize, i32> {
        let mut ended = Err(ETIMEDOUT);
        for (index, &(entry, mask)) in entries.iter().enumerate() {
            self.before_access();
            self.with(|run| run.note(Access::Wake(entry.address as usize)));
            // SAFETY: a word of the program or of the table, both of which the stage keeps.
            let holds = unsafe { entry.address.read_volatile() } == entry.expected;
            self.learn(u64::from(holds));
            if !holds {
                ended = Err(EAGAIN);
                break;
            }
            self.with(|run| {
                let thread = run.running.expect("a thread waits");
                let (address, expected) = (entry.address as usize, entry.expected);
                run.sleepers.push(Sleeper { thread, address, expected, mask, index });
            });
        }
        let woken = |run: &mut Run| run.woken[run.running.expect("a thread waits")];
        while ended == Err(ETIMEDOUT) && self.with(woken).is_none() {
            self.with(|run| run.slept[run.running.expect("a thread waits")] += 1);
            if self.stop(Status::Asleep { timed: has_deadline }) {
                break;
            }
        }
        self.with(|run| {
            let thread = run.running.expect("a thread waits");
            run.sleepers.retain(|sleeper| sleeper.thread != thread);
            let woken = run.woken[thread].take();
            run.state.learn(thread, woken.map_or(0, |index| 1 + index as u64));
            woken.map_or(ended, Ok)
        })
    }

    fn times_asleep(&self) -> u64 {
        self.with(|run| run.slept[run.running.expect("a thread asks")])
    }

    fn wake(&self, address: usize, count: u32, mask: u32) -> u32 {
        self.before_access();
        self.with(|run| run.note(Access::Wake(address)));
        let served = self.with(|run| run.wake(address, count, mask));
        self.learn(served.into());
        served
    }

    fn requeue(&self, from: usize, to: usize, moved: u32, expected: u32) -> core::result::Result<u32, i32> {
        self.before_access();
        self.with(|run| run.note(Access::Wake(from)));
        // SAFETY: a word of the table, which the stage keeps.
        let differs = unsafe { (from as *const u32).read_volatile() } != expected;
        let result = if differs { Err(EAGAIN) } else { Ok(self.with(|run| run.requeue(from, to, moved))) };
        self.learn(result.map_or(u64::MAX, u64::from));
        result
    }
}

impl Run {
    /// Something is observed.
    pub fn event(&mut self, event: Event) {
        if let Some(trace) = &mut self.trace {
            trace.event(event);
        }
        self.events.push(event);
    }

    /// The running thread makes an access now.
    fn note(&mut self, access: Access) {
        if let Some(trace) = &mut self.trace {
            trace.access(self.running, access);
        }
    }

    /// The state of threads, memory and kernel.
    pub fn fingerprint(&self) -> Fingerprint {
        let kernel = Fingerprint::of(&(&self.statuses, &self.sleepers, &self.woken));
        self.state.fingerprint().followed_by(kernel)
    }

    fn wake(&mut self, address: usize, count: u32, mask: u32) -> u32 {
        let Run { sleepers, woken, statuses, .. } = self;
        let mut served = 0;
        sleepers.retain(|sleeper| {
            let takes = served < count && sleeper.address == address && sleeper.mask & mask != 0;
            if takes {
                served += 1;
                woken[sleeper.thread] = woken[sleeper.thread].max(Some(sleeper.index));
                if let Status::Asleep { .. } = statuses[sleeper.thread] {
                    statuses[sleeper.thread] = Status::Midway;
                }
            }
            !takes
        });
        served
    }

    /// A moved thread comes behind those that are there.
    fn requeue(&mut self, from: usize, to: usize, count: u32) -> u32 {
        let (mut moved, mut stay) = (Vec::new(), Vec::new());
        for sleeper in self.sleepers.drain(..) {
            let moves = sleeper.address == from && moved.len() < count as usize;
            if moves { moved.push(Sleeper { address: to, ..sleeper }) } else { stay.push(sleeper) }
        }
        let count = moved.len() as u32;
        stay.extend(moved);
        self.sleepers = stay;
        count
    }

    /// A wait of a thread found no seat. There were that many others then, each of which waited at some time during
    /// this request and was not dead before it; or a dead thread has kept its seat.
    pub fn found_full(&mut self, thread: Thread, seats: u32) {
        let mine = |event: &Event| matches!(event, Event::Invoke(who, _) if *who == thread);
        let began = self.events.iter().rposition(mine).unwrap_or(0);
        let might_have_had_one = |other: Thread| {
            let is_over = |event: &Event| matches!(event, Event::Return(who, _) | Event::Kill(who) if *who == other);
            let invoked = |event: &Event| matches!(event, Event::Invoke(who, _) if *who == other);
            let before = &self.events[..began];
            let was_in_one = before.iter().rposition(invoked) > before.iter().rposition(is_over);
            was_in_one || self.events[began..].iter().any(invoked)
        };
        let others = (0..self.statuses.len()).filter(|&other| other != thread && might_have_had_one(other));
        self.is_full_of_dead |= others.count() < seats as usize;
    }

    /// The running thread was answered.
    pub fn returned(&mut self, thread: Thread, outcome: Outcome) {
        self.event(Event::Return(thread, outcome));
        self.outcomes[thread].push(outcome);
        self.state.forget(thread, &self.outcomes[thread]);
    }

    /// A thread is killed: it is in no queue any more, and the kernel does what it has asked for.
    pub fn kill(&mut self, thread: Thread) {
        self.event(Event::Kill(thread));
        self.sleepers.retain(|sleeper| sleeper.thread != thread);
        self.statuses[thread] = Status::Finished;
        self.state.kill(thread, &self.outcomes[thread]);
        let named = std::mem::take(&mut self.wills[thread]) as *mut u32;
        if named.is_null() {
            return;
        }
        // SAFETY: a word of the table, which the stage keeps.
        match legacy(unsafe { named.read_volatile() }, number(thread)) {
            Legacy::Nothing => {}
            Legacy::Marked { word, wakes } => {
                self.state.before(named as usize);
                // SAFETY: as above.
                unsafe { named.write_volatile(word) };
                self.state.changed();
                if wakes {
                    self.wake(named as usize, 1, MATCH_ANY);
                }
            }
            Legacy::Wake => {
                self.wake(named as usize, 1, MATCH_ANY);
            }
        }
    }
}
