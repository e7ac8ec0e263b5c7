// SPDX-License-Identifier: MIT OR Apache-2.0
//! Virtual threads: coroutines that stop before every shared access, all on one thread of the operating system.
//!
//! A [`Stage`] runs one [`Program`] over a [`Subject`], one chosen step at a time. To distinguish states and to
//! restart, it keeps a hash of what every thread has read, a hash of the memory, and the memory's old contents. A
//! thread's state is a function of what it has read, so states with equal hashes have the same continuations.
//!
//! A chunk of memory that only one thread touches, or that nobody changes, is *private*: an access to it commutes with
//! all accesses of others, so the stage need not stop there. It learns while running which chunks are private: if a
//! guess was wrong, [`Stage::misjudged`] says so, and the exploration must restart.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use ntux_platform::atomic::Word64;
use ntux_platform::explore;
use ntux_sync::spec::ThreadId;

use crate::machine::Choice;
use crate::machine::account::Account;
use crate::machine::fingerprint::Fingerprint;
use crate::machine::threads::Threads;
use crate::machine::trace::Trace;
use crate::monitor::Monitor;
use crate::program::{Call, Fate, Program};
use crate::subject::Subject;
use crate::tally::Tally;
use crate::weak::{self, Memory};
use run::{IDLE, Order, Run, Status};
pub(crate) use run::{PROCESS_BASE, thread_number};
use seam::Seam;

mod run;
mod seam;

/// Accesses that one thread may make in a row before it counts as spinning.
const SOLO_LIMIT: u32 = 1_000;
/// Accesses of one execution before it counts as endless.
const TOTAL_LIMIT: u32 = 100_000;

/// See the module.
pub struct Stage {
    seam: &'static Seam,
    subject: Box<dyn Subject>,
    /// The calls of each thread; the observer's come last.
    calls: Vec<Vec<Call>>,
    threads: Threads<Order>,
    /// The thread that runs alone, and for how many accesses.
    solo: (ThreadId, u32),
    total: u32,
}

/// Alone in its chunk of memory.
#[repr(align(16))]
struct Alone(Word64);

thread_local! {
    /// The clock of the programs. Time passes when a program says so.
    static CLOCK: &'static Word64 = &Box::leak(Box::new(Alone(Word64::new(0)))).0;
    static SEAM: &'static Seam = Box::leak(Box::new(Seam { run: RefCell::new(None), subject: Cell::new(None) }));
}

/// The clock of this thread's stage. A subject that reads the time before there is a stage says so to the seam.
pub(crate) fn clock() -> &'static Word64 {
    CLOCK.with(|clock| *clock)
}

/// How often time goes by at the end: each thread that sleeps looks at the owners of its mutexes twice.
const LOOKS: usize = 8;

impl Stage {
    /// A stage for a program. There can be one at a time on a thread of the operating system.
    pub fn new(program: &Program, subject: Box<dyn Subject>) -> Self {
        let seam = SEAM.with(|seam| *seam);
        assert!(seam.run.borrow().is_none(), "one stage at a time");
        let calls: Vec<Vec<Call>> = program.threads.iter().cloned().chain([program.observations()]).collect();
        let operations = calls.iter().flatten().map(|call| call.operation.clone()).collect();
        let monitor = Monitor::new(program.start(), operations);
        let fates = program.fates.iter().cloned().chain([Fate::default()]).collect();
        seam.subject.set(Some(&raw const *subject));
        seam.run.replace(Some(Run {
            running: None,
            entering: None,
            fates,
            torn: program.torn,
            without_wills: program.without_wills,
            decides_at_once: program.decides_at_once,
            blocks: program.blocks,
            owners: program.owners,
            told: program.told,
            lives: Vec::new(),
            threads: Vec::new(),
            explained: monitor.start(),
            monitor,
            failure: None,
            judgements: HashMap::new(),
            stop_everywhere: false,
            misjudged: false,
            old_contents: HashMap::new(),
            memory: Account::default(),
            ticks: 0,
            trace: None,
            weak: None,
            clock: clock(),
            tally: Tally::default(),
        }));
        explore::install(Some(seam));
        explore::set_clock(Some(clock()));
        Self { seam, subject, calls, threads: Threads::default(), solo: (0, 0), total: 0 }
    }

    /// From now on every access is a stop, as a replay needs it.
    pub fn stop_everywhere(&mut self) {
        self.seam.with(|run| run.stop_everywhere = true);
    }

    /// From now on a trace is kept.
    pub fn keep_trace(&mut self) {
        self.seam.with(|run| run.trace = Some(Trace::default()));
    }

    /// From now on this memory says what is read; the one before.
    pub fn set_weak(&mut self, weak: Option<Memory>) -> Option<Memory> {
        self.seam.with(|run| std::mem::replace(&mut run.weak, weak))
    }

    /// The old messages that the execution has read.
    pub fn old_reads(&self) -> weak::Choices {
        self.seam.with(|run| run.weak.as_ref().map(|weak| weak.chosen().clone()).unwrap_or_default())
    }

    /// The trace of the last execution.
    pub fn trace(&self) -> String {
        self.seam.with(|run| run.trace.as_ref().map(Trace::to_string).unwrap_or_default())
    }

    /// Returns whether a chunk of memory taken for private turned out not to be. It counts as public from now on.
    pub fn misjudged(&mut self) -> bool {
        self.seam.with(|run| {
            for judgement in run.judgements.values_mut() {
                judgement.public |= judgement.changed && judgement.touched_by.count_ones() > 1;
            }
            std::mem::take(&mut run.misjudged)
        })
    }

    /// Begins an execution: the memory is put back, and every thread stops before its first call.
    pub fn begin(&mut self) {
        self.threads.clear();
        self.seam.with(Run::begin);
        self.subject.begin();
        for thread in 0..self.calls.len() {
            self.seam.with(|run| run.entering = Some(thread));
            self.subject.enter(thread);
        }
        self.seam.with(|run| {
            run.entering = None;
            run.settle();
            run.threads.extend(self.calls.iter().map(|_| IDLE));
            if let Some(weak) = &mut run.weak {
                weak.begin(run.threads.len());
            }
        });
        let mut first = 0;
        for thread in 0..self.calls.len() {
            self.spawn(thread, first);
            first += self.calls[thread].len();
        }
        (self.solo, self.total) = ((0, 0), 0);
    }

    fn spawn(&mut self, thread: ThreadId, first: usize) {
        let seam = self.seam;
        let calls: *const [Call] = &raw const *self.calls[thread];
        self.threads.spawn(move |stop| {
            seam.with(|run| run.threads[thread].stop = Some(stop));
            // SAFETY: the stage owns the calls and never changes them; it abandons its threads first. (Those keep
            // nothing that must be dropped: `Subject` says so.)
            seam.calls(thread, first, unsafe { &*calls });
        });
        self.resume(thread, Order::Go);
    }

    /// What each thread may do now. `frozen` threads at most may be stopped for ever.
    pub fn options(&self, frozen: usize) -> Vec<Choice> {
        self.seam.with(|run| {
            let observer = run.threads.len() - 1;
            let mut options = Vec::new();
            let (mut between, mut midway) = (0, 0);
            for (number, thread) in run.threads[..observer].iter().enumerate() {
                if thread.status == Status::Dead || !run.may_begin(number) {
                    continue;
                }
                match thread.status {
                    Status::BetweenCalls => between += 1,
                    Status::BeforeAccess => midway += 1,
                    Status::Asleep { .. } | Status::Finished | Status::Dead => {}
                }
                if matches!(thread.status, Status::BetweenCalls | Status::BeforeAccess) || run.is_due(number) {
                    options.push(Choice::Run(number));
                }
                if run.deadline_may_pass(number) {
                    options.push(Choice::Deadline(number));
                }
                if thread.interruptible && !thread.interrupted && thread.status != Status::Finished {
                    options.push(Choice::Interrupt(number));
                }
                if run.fates[number].mortal {
                    options.push(Choice::Die(number));
                }
            }
            if between == 0 && midway <= frozen {
                options.push(Choice::End);
            }
            options
        })
    }

    /// Returns whether the thread could run on.
    pub fn runnable(&self, thread: ThreadId) -> bool {
        let status = self.seam.with(|run| run.threads[thread].status);
        matches!(status, Status::BetweenCalls | Status::BeforeAccess)
    }

    /// The place of the call that the thread is in, or begins next.
    pub fn next_call(&self, thread: ThreadId) -> usize {
        self.seam.with(|run| run.threads[thread].call)
    }

    /// How many stops the last choice passed.
    pub fn passed(&self) -> u32 {
        self.seam.with(|run| run.ticks)
    }

    /// Does it, or says what went wrong.
    pub fn apply(&mut self, choice: Choice) -> Result<(), String> {
        match choice {
            Choice::Run(thread) => {
                let is_due = self.seam.with(|run| run.is_due(thread));
                self.resume(thread, if is_due { Order::DeadlinePassed } else { Order::Go });
            }
            Choice::Deadline(thread) => {
                let asleep = self.seam.with(|run| run.pass_deadline(thread));
                if asleep {
                    self.resume(thread, Order::DeadlinePassed);
                }
            }
            Choice::Die(thread) => self.seam.with(|run| run.die(thread)),
            Choice::Interrupt(thread) => self.resume(thread, Order::RunHandler),
            Choice::End => self.end(),
        }
        self.seam.with(|run| run.failure.take().map_or(Ok(()), Err))
    }

    fn resume(&mut self, thread: ThreadId, order: Order) {
        self.seam.with(|run| {
            run.running = Some(thread);
            run.ticks = 1;
        });
        let finished = self.threads.resume(thread, order);
        let ticks = self.seam.with(|run| {
            run.running = None;
            run.settle();
            if finished {
                run.threads[thread].status = Status::Finished;
            }
            run.ticks
        });
        self.solo = if self.solo.0 == thread { (thread, self.solo.1 + ticks) } else { (thread, ticks) };
        self.total += ticks;
        if self.solo.1 > SOLO_LIMIT || self.total > TOTAL_LIMIT {
            self.seam.with(|run| run.fail(format!("thread {thread} spins, or the run is endless")));
        }
    }

    /// Stops for ever who could run; the observer, and whoever it wakes, go on to their end.
    fn end(&mut self) {
        let observer = self.calls.len() - 1;
        let frozen: Vec<ThreadId> = (0..observer).filter(|&thread| self.runnable(thread)).collect();
        self.seam.with(|run| {
            run.check_sleepers(&frozen, false);
            if let Some(weak) = &mut run.weak {
                weak.settle();
            }
        });
        let is_due = |stage: &Self, thread: ThreadId| stage.seam.with(|run| run.is_due(thread));
        let due = |stage: &Self| (0..observer).find(|&thread| !frozen.contains(&thread) && is_due(stage, thread));
        let live = |stage: &Self, thread: &ThreadId| !frozen.contains(thread) && stage.runnable(*thread);
        for _ in 0..LOOKS {
            // A thread that sleeps until a time that has come needs nobody to wake.
            while let Some(thread) = due(self).or_else(|| (0..observer).find(|thread| live(self, thread))) {
                let order = if is_due(self, thread) { Order::DeadlinePassed } else { Order::Go };
                self.resume(thread, order);
                if self.seam.with(|run| run.failure.is_some()) {
                    return;
                }
            }
            let Some(due_ns) = self.seam.with(|run| run.first_due(&frozen)) else { break };
            self.seam.with(|run| run.time_goes_by(due_ns));
            self.solo = (0, 0);
        }
        self.seam.with(|run| run.check_sleepers(&frozen, true));
        while let Some(thread) = (0..=observer).rev().find(|thread| live(self, thread)).or_else(|| due(self)) {
            let order = if is_due(self, thread) { Order::DeadlinePassed } else { Order::Go };
            self.resume(thread, order);
            if self.seam.with(|run| run.failure.is_some()) {
                return;
            }
        }
        self.seam.with(|run| {
            run.check_sleepers(&frozen, true);
            run.tally.end_history();
        });
    }

    /// The state that the execution is in.
    pub fn fingerprint(&self) -> Fingerprint {
        self.seam.with(|run| {
            let mut print = run.memory.fingerprint().then(run.explained.number());
            for thread in &run.threads {
                let status = match thread.status {
                    Status::BetweenCalls => 0,
                    Status::BeforeAccess => 1,
                    Status::Asleep { .. } => 2,
                    Status::Finished => 3,
                    Status::Dead => 4,
                };
                let deadline_passed = u64::from(thread.deadline_passed);
                print = print.followed_by(thread.seen).then(status | deadline_passed << 3 | (thread.call as u64) << 8);
            }
            print
        })
    }

    /// What happened in all executions so far.
    pub fn tally(&self) -> Tally {
        self.seam.with(|run| run.tally.clone())
    }

    /// How many sets of states the monitor has met.
    pub fn histories(&self) -> usize {
        self.seam.with(|run| run.monitor.sets())
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.threads.clear();
        self.seam.with(Run::begin);
        explore::install(None);
        self.seam.run.replace(None);
        self.seam.subject.set(None);
    }
}
