// SPDX-License-Identifier: MIT OR Apache-2.0
//! One run of a program: its threads, the knowledge about memory, the monitor's state.

use std::collections::HashMap;

use ntux_platform::atomic::Word64;
use ntux_platform::explore::{Access, Identity, Touch};
use ntux_sync::spec::ThreadId;

use crate::machine::account::{Account, Change};
use crate::machine::chunk::{Chunk, Content, around, cell, content, put_back};
use crate::machine::death::{Legacy, legacy};
use crate::machine::fingerprint::Fingerprint;
use crate::machine::threads::Stop;
use crate::machine::trace::Trace;
use crate::monitor::{Event, Explained, Monitor};
use crate::program::Fate;
use crate::tally::Tally;
use crate::weak::{self, Memory};

/// What a thread that was stopped is told.
#[derive(Clone, Copy)]
pub(super) enum Order {
    Go,
    DeadlinePassed,
    RunHandler,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Status {
    BetweenCalls,
    BeforeAccess,
    /// `due_ns`: it also wakes when the clock has this time. `beside`: other words on which it sleeps; 0: none.
    Asleep {
        address: usize,
        beside: [usize; BESIDE],
        has_deadline: bool,
        due_ns: Option<u64>,
    },
    Finished,
    Dead,
}

/// Until when time goes by at the end of a program in which ends are told: who fell asleep after at most two milliseconds has its first look.
const TOLD_NS: u64 = 3_000_000;
/// On how many words a thread sleeps beside its own, at most.
pub(super) const BESIDE: usize = 4;

pub(super) struct Thread {
    pub(super) status: Status,
    /// Everything that it has read.
    pub(super) seen: Fingerprint,
    pub(super) call: usize,
    /// Just called: its next public access belongs to the same step.
    pub(super) just_called: bool,
    /// It has made a claim: what it does until it has changed something again belongs to the same step.
    pub(super) decides: bool,
    /// Number of the call in progress, for the monitor.
    pub(super) operation: usize,
    pub(super) slept_in_call: bool,
    /// An interrupt may come in this call.
    pub(super) interruptible: bool,
    pub(super) interrupted: bool,
    /// The deadline of this call may pass at any instant of it; it has passed.
    pub(super) hasty: bool,
    pub(super) deadline_passed: bool,
    /// The word that the kernel looks at when the thread dies.
    pub(super) will: usize,
    pub(super) stop: Option<Stop<Order>>,
}

pub(super) const IDLE: Thread = Thread {
    status: Status::BetweenCalls,
    seen: Fingerprint::ZERO,
    call: 0,
    just_called: false,
    decides: false,
    operation: 0,
    slept_in_call: false,
    interruptible: false,
    interrupted: false,
    hasty: false,
    deadline_passed: false,
    will: 0,
    stop: None,
};

#[derive(Default)]
pub(super) struct Judgement {
    pub(super) touched_by: u32,
    pub(super) changed: bool,
    pub(super) public: bool,
}

pub(super) struct Run {
    pub(super) running: Option<ThreadId>,
    /// On whose behalf the subject makes things ready.
    pub(super) entering: Option<ThreadId>,
    pub(super) fates: Vec<Fate>,
    pub(super) torn: bool,
    pub(super) without_wills: bool,
    pub(super) decides_at_once: bool,
    pub(super) threads: Vec<Thread>,
    pub(super) monitor: Monitor,
    pub(super) explained: Explained,
    pub(super) failure: Option<String>,
    pub(super) judgements: HashMap<Chunk, Judgement>,
    pub(super) stop_everywhere: bool,
    pub(super) misjudged: bool,
    pub(super) old_contents: HashMap<Chunk, Content>,
    pub(super) memory: Account,
    /// Stops passed since the last choice, counted as if every access were one.
    pub(super) ticks: u32,
    /// Every call may sleep, but not for ever: see [`crate::program::Program::blocks`].
    pub(super) blocks: bool,
    pub(super) trace: Option<Trace>,
    /// What loads return, if not what the memory holds.
    pub(super) weak: Option<Memory>,
    /// Time goes by when nothing else happens.
    pub(super) owners: bool,
    /// Until when it goes by, if the ends of owners are told.
    pub(super) told: bool,
    /// The words that the kernel marks, and whose thread's number they have.
    pub(super) lives: Vec<(ThreadId, usize)>,
    /// What all clocks say.
    pub(super) clock: &'static Word64,
    pub(super) tally: Tally,
}

/// Numbers that no process and no thread of the system has.
pub(crate) const PROCESS_BASE: u32 = 1 << 28;
pub(super) const THREAD_BASE: u32 = 1 << 29;
/// Generations that the checker's own process will not reach.
const GENERATION_BASE: u32 = 1 << 20;
/// A namespace that the system does not number so.
const NAMESPACE_ELSEWHERE: u64 = 1 << 20;

pub(crate) fn thread_number(thread: ThreadId) -> u32 {
    THREAD_BASE + thread as u32
}

impl Run {
    pub(super) fn event(&mut self, event: Event) {
        if let Some(trace) = &mut self.trace {
            trace.event(event);
        }
        if let Some(weak) = &mut self.weak {
            weak.event(event);
        }
        self.count(event);
        match self.monitor.event(self.explained, event) {
            Some(explained) => self.explained = explained,
            None => self.fail(format!("not linearizable: {event:?}")),
        }
    }

    pub(super) fn count(&mut self, event: Event) {
        if let Event::Invoke { thread, call } = event {
            self.threads[thread].operation = call;
        }
        let of_observer = event.thread() == self.threads.len() - 1;
        let operation = &self.monitor.calls()[self.threads[event.thread()].operation];
        self.tally.event(event, Some(operation).filter(|_| !of_observer));
    }

    pub(super) fn fail(&mut self, what: String) {
        if let Some(trace) = &mut self.trace {
            trace.line(&what);
        }
        self.failure.get_or_insert(what);
    }

    /// Takes note of what the last update changed.
    pub(super) fn settle(&mut self) {
        let Some(Change { chunk, old, new }) = self.memory.settle() else { return };
        if let Some(trace) = &mut self.trace {
            trace.changed(old, new);
        }
        if new == old {
            return;
        }
        if let Some(thread) = self.running {
            self.threads[thread].decides = false;
        }
        self.old_contents.entry(chunk).or_insert(old);
        let judgement = self.judgements.entry(chunk).or_default();
        judgement.changed = true;
        self.misjudged |= !judgement.public && judgement.touched_by.count_ones() > 1;
    }

    /// Returns whether the program is about such accesses: a will matters to nobody unless its thread dies, the time only to
    /// who has little of it.
    pub(super) fn matters(&self, access: Access) -> bool {
        match access {
            Access::Half(_) => self.torn,
            Access::Will => self.running.is_some_and(|thread| self.fates[thread].mortal),
            Access::Clock => self.running.is_some_and(|thread| self.threads[thread].hasty),
            Access::Load(_) | Access::Update(_) | Access::Wake(_) => true,
        }
    }

    /// Returns whether others could tell when the access happens.
    pub(super) fn public(&mut self, thread: ThreadId, access: Access) -> bool {
        let (Access::Load(address) | Access::Half(address) | Access::Update(address)) = access else {
            return true;
        };
        let judgement = self.judgements.entry(around(address)).or_default();
        judgement.touched_by |= 1 << thread;
        self.misjudged |= !judgement.public && judgement.changed && judgement.touched_by.count_ones() > 1;
        judgement.public
    }

    /// The access happens now.
    pub(super) fn observe(&mut self, access: Access) {
        let (Access::Load(address) | Access::Half(address) | Access::Update(address) | Access::Wake(address)) = access
        else {
            return;
        };
        let chunk = around(address);
        let now = content(chunk);
        if let Some(thread) = self.running {
            let thread = &mut self.threads[thread];
            thread.seen = thread.seen.followed_by(cell(address, now));
        }
        if let Some(trace) = &mut self.trace {
            trace.access(self.running, access);
        }
        if let Access::Update(_) = access {
            self.memory.before(address);
        }
    }

    pub(super) fn read(&mut self, touch: Touch) -> Option<u64> {
        let (thread, weak) = (self.running?, self.weak.as_mut()?);
        let last = weak::part(content(around(touch.address)), &touch);
        let value = weak.read(thread, &touch, last);
        if let Some(trace) = self.trace.as_mut().filter(|_| value != last) {
            trace.read_old(touch, value);
        }
        let seen = &mut self.threads[thread].seen;
        *seen = seen.then(value);
        Some(value)
    }

    /// The value that the kernel compares before a thread sleeps.
    pub(super) fn compared(&mut self, thread: ThreadId, address: usize) -> u32 {
        let half = content(around(address))[(address & 15) / 8];
        let half = match &mut self.weak {
            Some(weak) => weak.sleep(thread, address & !7, half),
            None => half,
        };
        (half >> (address % 8 * 8)) as u32
    }

    pub(super) fn sleepers(&self, frozen: &[ThreadId]) -> Vec<ThreadId> {
        let asleep =
            |thread: &ThreadId| matches!(self.threads[*thread].status, Status::Asleep { .. }) && !self.is_due(*thread);
        (0..self.threads.len()).filter(asleep).filter(|thread| !frozen.contains(thread)).collect()
    }

    /// `finally`: nothing happens by itself any more, so nobody sleeps through the time at which a timer is due.
    pub(super) fn check_sleepers(&mut self, frozen: &[ThreadId], finally: bool) {
        let sleepers = self.sleepers(frozen);
        // A frozen thread may be the one that was to tell the others.
        let finally = finally && (!self.told || frozen.is_empty());
        // A frozen thread may have what they sleep for.
        if self.blocks && frozen.is_empty() && !sleepers.is_empty() {
            self.fail(format!("lost wake: threads {sleepers:?} sleep, and nobody will wake them"));
        }
        if !self.monitor.may_sleep(self.explained, &sleepers, finally) {
            self.fail(format!("lost wake: threads {sleepers:?} sleep though one of them is satisfied"));
        }
    }

    pub(super) fn identity(&self, thread: ThreadId) -> Identity {
        let fate = &self.fates[thread];
        let process = fate.own_process.then(|| self.process_number(fate.copy_of.unwrap_or(thread)));
        let generation = GENERATION_BASE + thread as u32;
        let namespace = fate.elsewhere.then_some(NAMESPACE_ELSEWHERE);
        Identity { process, generation, namespace, thread: self.number(thread) }
    }

    fn process_number(&self, thread: ThreadId) -> u32 {
        if self.fates[thread].own_process { PROCESS_BASE + thread as u32 } else { std::process::id() }
    }

    /// Returns whether nobody has this process number, of the checker's namespace, any more.
    pub(super) fn is_process_dead(&self, process: u32) -> bool {
        let is_here = |thread: &ThreadId| {
            let identity = self.identity(*thread);
            identity.process == Some(process) && identity.namespace.is_none()
        };
        let mut here = (0..self.threads.len()).filter(is_here);
        process >= PROCESS_BASE
            && here.all(|thread| self.is_unborn(thread) || self.threads[thread].status == Status::Dead)
    }

    fn number(&self, thread: ThreadId) -> u32 {
        thread_number(self.fates[thread].number_of.unwrap_or(thread))
    }

    /// Returns whether nobody has this thread number any more. A thread that has it from a dead one has it from its first call on.
    pub(super) fn is_number_dead(&self, number: u32) -> bool {
        // As seen from the namespace of the thread that asks.
        let elsewhere = |thread: ThreadId| self.fates[thread].elsewhere;
        let here = self.running.is_some_and(elsewhere);
        let has_it = |thread: &ThreadId| self.number(*thread) == number && elsewhere(*thread) == here;
        let mut holders = (0..self.threads.len()).filter(has_it).peekable();
        let is_gone = |thread| self.is_unborn(thread) || self.threads[thread].status == Status::Dead;
        (here || holders.peek().is_some()) && holders.all(is_gone)
    }

    fn is_unborn(&self, thread: ThreadId) -> bool {
        let it = &self.threads[thread];
        self.fates[thread].number_of.is_some() && it.status == Status::BetweenCalls && it.call == 0
    }

    /// Some threads begin after the death of another.
    pub(super) fn may_begin(&self, thread: ThreadId) -> bool {
        self.fates[thread].after.is_none_or(|other| self.threads[other].status == Status::Dead)
    }

    pub(super) fn deadline_may_pass(&self, thread: ThreadId) -> bool {
        let this = &self.threads[thread];
        match this.status {
            Status::Asleep { has_deadline, .. } => has_deadline,
            Status::BeforeAccess => this.hasty && !this.deadline_passed,
            _ => false,
        }
    }

    /// Returns whether the thread sleeps until a time that the clock has by now.
    pub(super) fn is_due(&self, thread: ThreadId) -> bool {
        let Status::Asleep { due_ns: Some(due_ns), .. } = self.threads[thread].status else { return false };
        let address = core::ptr::from_ref(self.clock) as usize;
        content(around(address))[(address & 15) / 8] >= due_ns
    }

    /// When the first of the threads that are not frozen wakes by itself, if time goes by.
    pub(super) fn first_due(&self, frozen: &[ThreadId]) -> Option<u64> {
        let due = |thread: ThreadId| match self.threads[thread].status {
            Status::Asleep { due_ns, .. } if !frozen.contains(&thread) => due_ns,
            _ => None,
        };
        let comes = |due_ns: &u64| self.owners && (!self.told || *due_ns <= TOLD_NS);
        (0..self.threads.len()).filter_map(due).min().filter(comes)
    }

    /// The clock has this time from now on, for everybody.
    pub(super) fn time_goes_by(&mut self, now_ns: u64) {
        let address = core::ptr::from_ref(self.clock) as usize;
        let (chunk, half) = (around(address), (address & 15) / 8);
        let old = content(chunk);
        let mut new = old;
        new[half] = now_ns;
        self.memory.before(address);
        put_back(chunk, new);
        if let Some(weak) = &mut self.weak {
            weak.updated_by_kernel(0, address & !7, old[half], now_ns);
        }
        self.settle();
    }

    /// True if the thread sleeps, and is to be told.
    pub(super) fn pass_deadline(&mut self, thread: ThreadId) -> bool {
        self.event(Event::Deadline { thread });
        self.ticks = 1;
        self.threads[thread].deadline_passed = true;
        matches!(self.threads[thread].status, Status::Asleep { .. })
    }

    pub(super) fn wake_one(&mut self, address: usize) -> bool {
        let sleeps_here = |thread: &&mut Thread| match thread.status {
            Status::Asleep { address: here, beside, .. } => here == address || beside.contains(&address),
            _ => false,
        };
        let sleeper = self.threads.iter_mut().find(sleeps_here);
        sleeper.map(|thread| thread.status = Status::BeforeAccess).is_some()
    }

    /// The thread is dead, and the kernel looks at the word that its will names.
    pub(super) fn die(&mut self, thread: ThreadId) {
        self.event(Event::Die { thread });
        self.ticks = 1;
        self.threads[thread].status = Status::Dead;
        if self.without_wills {
            return;
        }
        for (of, life) in self.lives.clone() {
            if of == thread {
                self.inherit(thread, life, false);
            }
        }
        let will = self.threads[thread].will;
        if will != 0 {
            self.inherit(thread, will, true);
        }
    }

    /// What the kernel does with a word that a dead thread had named. `pending`: as that of an operation in progress.
    fn inherit(&mut self, thread: ThreadId, address: usize, pending: bool) {
        let (chunk, shift) = (around(address), address % 8 * 8);
        let old = content(chunk);
        let half = (address & 15) / 8;
        match legacy((old[half] >> shift) as u32, self.number(thread)) {
            Legacy::Nothing => {}
            Legacy::Wake if !pending => {}
            Legacy::Wake => self.wake_at_death(thread, address),
            Legacy::Marked { word, wakes } => {
                let mut new = old;
                new[half] = old[half] & !(0xffff_ffff << shift) | u64::from(word) << shift;
                self.memory.before(address);
                put_back(chunk, new);
                self.judgements.entry(chunk).or_default().touched_by |= 1 << thread;
                if let Some(weak) = &mut self.weak {
                    weak.updated_by_kernel(thread, address & !7, old[half], new[half]);
                }
                self.settle();
                if wakes {
                    self.wake_at_death(thread, address);
                }
            }
        }
    }

    fn wake_at_death(&mut self, thread: ThreadId, address: usize) {
        if let Some(weak) = &mut self.weak {
            weak.wake(thread, address & !7);
        }
        self.wake_one(address);
    }

    pub(super) fn begin(&mut self) {
        self.settle();
        for (chunk, old) in self.old_contents.drain() {
            put_back(chunk, old);
        }
        self.threads.clear();
        self.lives.clear();
        self.tally.begin_history();
        (self.running, self.failure, self.memory) = (None, None, Account::default());
        self.explained = self.monitor.start();
        if let Some(trace) = &mut self.trace {
            *trace = Trace::default();
        }
    }
}
