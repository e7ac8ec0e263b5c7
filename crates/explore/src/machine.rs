//! Virtual threads: coroutines that stop before every shared access, all on one thread of the operating system.
//!
//! A [`Machine`] runs one [`Program`] over a [`Subject`], one chosen step at a time. It keeps what it needs to tell
//! states apart and to begin anew: a hash of what every thread has read, a hash of the memory, and the memory's old
//! contents. A thread's state is a function of what it has read, so states with equal hashes go on in the same ways.
//!
//! A chunk of memory that only one thread touches, or that nobody changes, is *private*: an access to it commutes with
//! whatever others do, so nothing is lost by not stopping there. Which chunks are private is found out while running:
//! when a guess was wrong, [`Machine::misjudged`] says so, and the exploration must begin anew.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use ntux_platform::explore::{self, Access, Effect, Identity, Scheduler, Touch};
use ntux_sync::spec::{Outcome, ThreadId};

use crate::fingerprint::Fingerprint;
use crate::monitor::{Event, Explained, Monitor};
use crate::program::{Call, Fate, Program};
use crate::subject::Subject;
use crate::tally::Tally;
use crate::trace::Trace;
use crate::weak::{self, Memory};

/// Accesses that one thread may make in a row before it counts as spinning.
const SOLO_LIMIT: u32 = 1_000;
/// Accesses of one execution before it counts as endless.
const TOTAL_LIMIT: u32 = 100_000;

/// What happens next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Choice {
    /// The thread goes on to its next stop.
    Run(ThreadId),
    /// The deadline of the sleeping thread passes.
    Deadline(ThreadId),
    /// A signal handler on the thread interrupts its wait.
    Interrupt(ThreadId),
    /// The thread is dead: it never goes on, and the kernel looks at the word that its will names.
    Die(ThreadId),
    /// Who could run now is stopped for ever; an observer looks at what is left.
    End,
}

impl Choice {
    /// Whose turn it is.
    pub fn thread(self) -> Option<ThreadId> {
        match self {
            Choice::Run(thread) | Choice::Deadline(thread) | Choice::Interrupt(thread) | Choice::Die(thread) => {
                Some(thread)
            }
            Choice::End => None,
        }
    }
}

/// What a thread that was stopped is told.
#[derive(Clone, Copy)]
enum Order {
    Go,
    DeadlinePassed,
    RunHandler,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Status {
    BetweenCalls,
    BeforeAccess,
    Asleep { address: usize, has_deadline: bool },
    Finished,
    Dead,
}

struct Thread {
    status: Status,
    /// Everything that it has read.
    seen: Fingerprint,
    call: usize,
    /// Just called: its next public access belongs to the same step.
    just_called: bool,
    /// Number of the call in progress, for the monitor.
    operation: usize,
    slept_in_call: bool,
    /// An interrupt may come in this call.
    interruptible: bool,
    interrupted: bool,
    /// The deadline of this call may pass at any instant of it; it has passed.
    hasty: bool,
    deadline_passed: bool,
    /// The word that the kernel looks at when the thread dies.
    will: usize,
    yielder: *const Yielder<Order, ()>,
}

const IDLE: Thread = Thread {
    status: Status::BetweenCalls,
    seen: Fingerprint::ZERO,
    call: 0,
    just_called: false,
    operation: 0,
    slept_in_call: false,
    interruptible: false,
    interrupted: false,
    hasty: false,
    deadline_passed: false,
    will: 0,
    yielder: std::ptr::null(),
};

/// The unit of memory that is hashed, put back and judged: 16 bytes.
type Chunk = usize;
type Content = [u64; 2];

#[derive(Default)]
struct Judgement {
    touched_by: u32,
    changed: bool,
    public: bool,
}

struct Run {
    running: Option<ThreadId>,
    /// On whose behalf the subject makes things ready.
    entering: Option<ThreadId>,
    fates: Vec<Fate>,
    torn: bool,
    threads: Vec<Thread>,
    monitor: Monitor,
    explained: Explained,
    failure: Option<String>,
    judgements: HashMap<Chunk, Judgement>,
    stop_everywhere: bool,
    misjudged: bool,
    old_contents: HashMap<Chunk, Content>,
    memory: Fingerprint,
    /// The chunk that the running thread may just have changed, and what it was.
    updated: Option<(Chunk, Content)>,
    /// Stops passed since the last choice, counted as if every access were one.
    ticks: u32,
    trace: Option<Trace>,
    /// What loads return, if not what the memory holds.
    weak: Option<Memory>,
    tally: Tally,
}

/// Where the accesses of the subject arrive. There is one for each thread of the operating system.
struct Seam {
    run: RefCell<Option<Run>>,
    subject: Cell<Option<*const dyn Subject>>,
}

/// See the module.
pub struct Machine {
    seam: &'static Seam,
    subject: Box<dyn Subject>,
    /// The calls of each thread; the observer's come last.
    calls: Vec<Vec<Call>>,
    coroutines: Vec<Coroutine<Order, (), ()>>,
    stacks: Vec<DefaultStack>,
    /// Who runs alone, and for how many accesses.
    solo: (ThreadId, u32),
    total: u32,
}

fn content(chunk: Chunk) -> Content {
    // SAFETY: the chunk holds a word that the subject touches now or has touched, so it is mapped (16 aligned bytes
    // never cross a page); no other thread of the operating system writes it; volatile, as the subject writes it by
    // atomics.
    unsafe { std::ptr::with_exposed_provenance::<Content>(chunk).read_volatile() }
}

fn put_back(chunk: Chunk, old: Content) {
    // SAFETY: as in `content`; nobody runs, and the subject expects the memory to be put back.
    unsafe { std::ptr::with_exposed_provenance_mut::<Content>(chunk).write_volatile(old) }
}

fn cell(chunk: Chunk, content: Content) -> Fingerprint {
    Fingerprint::ZERO.then(chunk as u64).then(content[0]).then(content[1])
}

impl Run {
    fn event(&mut self, event: Event) {
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

    fn count(&mut self, event: Event) {
        if let Event::Invoke { thread, call } = event {
            self.threads[thread].operation = call;
        }
        let of_observer = event.thread() == self.threads.len() - 1;
        let operation = &self.monitor.calls()[self.threads[event.thread()].operation];
        self.tally.event(event, Some(operation).filter(|_| !of_observer));
    }

    fn fail(&mut self, what: String) {
        if let Some(trace) = &mut self.trace {
            trace.line(&what);
        }
        self.failure.get_or_insert(what);
    }

    /// Takes note of what the last update changed.
    fn settle(&mut self) {
        let Some((chunk, old)) = self.updated.take() else { return };
        let new = content(chunk);
        if let Some(trace) = &mut self.trace {
            trace.changed(old, new);
        }
        if new == old {
            return;
        }
        self.old_contents.entry(chunk).or_insert(old);
        self.memory = self.memory.toggle(cell(chunk, old)).toggle(cell(chunk, new));
        let judgement = self.judgements.entry(chunk).or_default();
        judgement.changed = true;
        self.misjudged |= !judgement.public && judgement.touched_by.count_ones() > 1;
    }

    /// Whether the program is about such accesses: a will matters to nobody unless its thread dies, the time only to
    /// who has little of it.
    fn matters(&self, access: Access) -> bool {
        match access {
            Access::Half(_) => self.torn,
            Access::Will => self.running.is_some_and(|thread| self.fates[thread].mortal),
            Access::Clock => self.running.is_some_and(|thread| self.threads[thread].hasty),
            Access::Load(_) | Access::Update(_) | Access::Wake(_) => true,
        }
    }

    /// Whether others could tell when the access happens.
    fn public(&mut self, thread: ThreadId, access: Access) -> bool {
        let (Access::Load(address) | Access::Half(address) | Access::Update(address)) = access else {
            return true;
        };
        let judgement = self.judgements.entry(address & !15).or_default();
        judgement.touched_by |= 1 << thread;
        self.misjudged |= !judgement.public && judgement.changed && judgement.touched_by.count_ones() > 1;
        judgement.public
    }

    /// The access happens now.
    fn observe(&mut self, access: Access) {
        let (Access::Load(address) | Access::Half(address) | Access::Update(address) | Access::Wake(address)) = access
        else {
            return;
        };
        let chunk = address & !15;
        let now = content(chunk);
        if let Some(thread) = self.running {
            let thread = &mut self.threads[thread];
            thread.seen = thread.seen.followed_by(cell(address, now));
        }
        if let Some(trace) = &mut self.trace {
            trace.access(self.running, access, now);
        }
        if let Access::Update(_) = access {
            self.updated = Some((chunk, now));
        }
    }

    fn read(&mut self, touch: Touch) -> Option<u64> {
        let (thread, weak) = (self.running?, self.weak.as_mut()?);
        let last = weak::part(content(touch.address & !15), &touch);
        let value = weak.read(thread, &touch, last);
        if let Some(trace) = self.trace.as_mut().filter(|_| value != last) {
            trace.read_old(touch, value);
        }
        let seen = &mut self.threads[thread].seen;
        *seen = seen.then(value);
        Some(value)
    }

    /// The value that the kernel compares before a thread sleeps.
    fn compared(&mut self, thread: ThreadId, address: usize) -> u32 {
        let half = content(address & !15)[(address & 15) / 8];
        let half = match &mut self.weak {
            Some(weak) => weak.sleep(thread, address & !7, half),
            None => half,
        };
        (half >> (address % 8 * 8)) as u32
    }

    fn sleepers(&self, frozen: &[ThreadId]) -> Vec<ThreadId> {
        let asleep = |thread: &ThreadId| matches!(self.threads[*thread].status, Status::Asleep { .. });
        (0..self.threads.len()).filter(asleep).filter(|thread| !frozen.contains(thread)).collect()
    }

    fn check_sleepers(&mut self, frozen: &[ThreadId]) {
        let sleepers = self.sleepers(frozen);
        if !self.monitor.may_sleep(self.explained, &sleepers) {
            self.fail(format!("lost wake: threads {sleepers:?} sleep though one of them is satisfied"));
        }
    }
}

impl Seam {
    fn with<R>(&self, f: impl FnOnce(&mut Run) -> R) -> R {
        f(self.run.borrow_mut().as_mut().expect("a program is being run"))
    }

    /// Gives the processor back; what the thread is told when it is chosen again.
    fn suspend(&self, thread: ThreadId, status: Status) -> Order {
        let yielder = self.with(|run| {
            run.threads[thread].status = status;
            run.threads[thread].yielder
        });
        // SAFETY: the yielder lives at the bottom of the running coroutine's stack, and every thread suspends itself
        // only.
        unsafe { (*yielder).suspend(()) }
    }

    /// Stops; handlers that interrupt the thread run here. The order that ended the stop.
    fn stop(&self, thread: ThreadId, status: Status) -> Order {
        match self.suspend(thread, status) {
            Order::RunHandler => {
                self.handle_interrupt(thread);
                if let Status::Asleep { .. } = status { Order::Go } else { self.stop(thread, status) }
            }
            order => order,
        }
    }

    /// Tells the running thread something that is no memory.
    fn learn(&self, what: impl FnOnce(&Run) -> bool) -> bool {
        self.with(|run| {
            let answer = what(run);
            if let Some(thread) = run.running {
                if let Some(weak) = &mut run.weak {
                    weak.asked_kernel(thread);
                }
                let thread = &mut run.threads[thread];
                thread.seen = thread.seen.then(u64::from(answer));
            }
            answer
        })
    }

    fn handle_interrupt(&self, thread: ThreadId) {
        self.with(|run| {
            run.threads[thread].interrupted = true;
            run.event(Event::Interrupt { thread });
        });
        self.subject().interrupt(thread);
        self.with(|run| run.event(Event::Interrupted { thread }));
    }

    fn subject(&self) -> &dyn Subject {
        // SAFETY: the machine owns the subject and clears the pointer when it goes.
        unsafe { &*self.subject.get().expect("a machine is there") }
    }

    /// The stop before an access, if it needs one, and the account of it.
    fn before(&self, access: Access) {
        if self.run.borrow().as_ref().is_none_or(|run| !run.matters(access)) {
            return;
        }
        let stop = self.with(|run| {
            run.settle();
            let thread = run.running?;
            let public = run.public(thread, access);
            let joined = public && std::mem::take(&mut run.threads[thread].just_called);
            let stop = run.stop_everywhere || (public && !joined);
            run.ticks += u32::from(!stop);
            stop.then_some(thread)
        });
        if let Some(thread) = stop {
            self.stop(thread, Status::BeforeAccess);
        }
        self.with(|run| {
            run.settle();
            run.observe(access);
        });
    }

    fn calls(&self, thread: ThreadId, first: usize, calls: &[Call]) {
        for (index, call) in calls.iter().enumerate() {
            self.with(|run| run.threads[thread].call = index);
            self.stop(thread, Status::BetweenCalls);
            self.with(|run| {
                run.settle();
                let this = &mut run.threads[thread];
                (this.just_called, this.slept_in_call, this.interruptible) = (true, false, call.interruptible);
                (this.hasty, this.deadline_passed) = (call.hasty, false);
                run.event(Event::Invoke { thread, call: first + index });
            });
            match catch_unwind(AssertUnwindSafe(|| self.subject().call(thread, call))) {
                Ok(outcome) => self.returned(thread, outcome),
                Err(_) => self.with(|run| run.fail(format!("thread {thread} panicked"))),
            }
        }
    }

    fn returned(&self, thread: ThreadId, outcome: Outcome) {
        let interrupted = self.with(|run| {
            run.settle();
            run.event(Event::Return { thread, outcome });
            (run.threads[thread].interruptible, run.threads[thread].hasty) = (false, false);
            std::mem::take(&mut run.threads[thread].interrupted)
        });
        if interrupted {
            self.subject().resume(thread);
            self.with(|run| run.event(Event::Resume { thread }));
        }
    }
}

impl Scheduler for Seam {
    fn step(&self, access: Access) {
        self.before(access);
    }

    fn read(&self, touch: Touch) -> Option<u64> {
        self.run.borrow_mut().as_mut()?.read(touch)
    }

    fn updated(&self, touch: Touch, effect: Effect) {
        let mut run = self.run.borrow_mut();
        let Some(run) = run.as_mut() else { return };
        if let (Some(thread), Some(weak), Some((chunk, before))) = (run.running, &mut run.weak, run.updated) {
            weak.updated(thread, &touch, effect, before, content(chunk));
        }
    }

    fn sleep(&self, address: usize, expected: u32, has_deadline: bool) -> bool {
        self.before(Access::Wake(address));
        let Some(thread) = self.with(|run| run.running) else { return true };
        if self.with(|run| run.compared(thread, address)) != expected {
            return true;
        }
        let in_vain = self.learn(|run| has_deadline && run.threads[thread].deadline_passed);
        if in_vain {
            return false;
        }
        self.with(|run| {
            if !std::mem::replace(&mut run.threads[thread].slept_in_call, true) {
                run.event(Event::Asleep { thread });
            }
        });
        let order = self.stop(thread, Status::Asleep { address, has_deadline });
        let timed_out = matches!(order, Order::DeadlinePassed);
        self.with(|run| {
            let this = &mut run.threads[thread];
            this.seen = this.seen.then(u64::from(timed_out));
        });
        !timed_out
    }

    fn wake(&self, address: usize, count: u32) -> u32 {
        self.before(Access::Wake(address));
        self.with(|run| {
            if let (Some(thread), Some(weak)) = (run.running, &mut run.weak) {
                weak.wake(thread, address & !7);
            }
            let mut woken = 0;
            while woken < count && run.wake_one(address) {
                woken += 1;
            }
            woken
        })
    }

    fn identity(&self) -> Option<Identity> {
        let run = self.run.borrow();
        let run = run.as_ref()?;
        Some(run.identity(run.running.or(run.entering)?))
    }

    fn is_process_dead(&self, process: u32) -> bool {
        self.learn(|run| {
            let mut here = (0..run.threads.len()).filter(|&thread| run.identity(thread).process == Some(process));
            process >= PROCESS_BASE && here.all(|thread| run.threads[thread].status == Status::Dead)
        })
    }

    fn is_thread_dead(&self, number: u32) -> bool {
        self.learn(|run| {
            let mut threads = run.threads.iter().enumerate();
            threads.any(|(thread, it)| thread_number(thread) == number && it.status == Status::Dead)
        })
    }

    fn will(&self, address: usize) -> usize {
        self.before(Access::Will);
        self.with(|run| match run.running {
            Some(thread) => std::mem::replace(&mut run.threads[thread].will, address),
            None => 0,
        })
    }

    fn deadline_passed(&self) -> bool {
        self.before(Access::Clock);
        self.learn(|run| run.running.is_some_and(|thread| run.threads[thread].deadline_passed))
    }
}

/// Numbers that no process and no thread of the system has.
const PROCESS_BASE: u32 = 1 << 28;
const THREAD_BASE: u32 = 1 << 29;

fn thread_number(thread: ThreadId) -> u32 {
    THREAD_BASE + thread as u32
}

thread_local! {
    static SEAM: &'static Seam = Box::leak(Box::new(Seam { run: RefCell::new(None), subject: Cell::new(None) }));
}

impl Machine {
    /// A machine for a program. There can be one at a time on a thread of the operating system.
    pub fn new(program: &Program, subject: Box<dyn Subject>) -> Self {
        let seam = SEAM.with(|seam| *seam);
        assert!(seam.run.borrow().is_none(), "one machine at a time");
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
            threads: Vec::new(),
            explained: monitor.start(),
            monitor,
            failure: None,
            judgements: HashMap::new(),
            stop_everywhere: false,
            misjudged: false,
            old_contents: HashMap::new(),
            memory: Fingerprint::ZERO,
            updated: None,
            ticks: 0,
            trace: None,
            weak: None,
            tally: Tally::default(),
        }));
        explore::install(Some(seam));
        Self { seam, subject, calls, coroutines: Vec::new(), stacks: Vec::new(), solo: (0, 0), total: 0 }
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

    /// Whether a chunk of memory taken for private turned out not to be. It counts as public from now on.
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
        self.discard();
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
        let stack = self.stacks.pop().unwrap_or_default();
        let seam = self.seam;
        let calls: *const [Call] = &raw const *self.calls[thread];
        self.coroutines.push(Coroutine::with_stack(stack, move |yielder, _: Order| {
            seam.with(|run| run.threads[thread].yielder = yielder);
            // SAFETY: the machine owns the calls and never changes them; it drops its coroutines first.
            seam.calls(thread, first, unsafe { &*calls });
        }));
        self.resume(thread, Order::Go);
    }

    /// Abandons the execution in progress and puts the memory back.
    fn discard(&mut self) {
        for mut coroutine in self.coroutines.drain(..) {
            if !coroutine.done() {
                // SAFETY: what lives on the stack is leaked, not reused: a call of the subject in the middle of its
                // work keeps nothing there that must be dropped (`Subject` says so).
                unsafe { coroutine.force_reset() };
            }
            self.stacks.push(coroutine.into_stack());
        }
    }

    /// Who may do what now. `frozen` threads at most may be stopped for ever.
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
                if matches!(thread.status, Status::BetweenCalls | Status::BeforeAccess) {
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

    /// Whether the thread could run on.
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
            Choice::Run(thread) => self.resume(thread, Order::Go),
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
        let result = self.coroutines[thread].resume(order);
        let ticks = self.seam.with(|run| {
            run.running = None;
            run.settle();
            if let CoroutineResult::Return(()) = result {
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
            run.check_sleepers(&frozen);
            if let Some(weak) = &mut run.weak {
                weak.settle();
            }
        });
        let live = |machine: &Self, thread: &ThreadId| !frozen.contains(thread) && machine.runnable(*thread);
        while let Some(thread) = (0..=observer).rev().find(|thread| live(self, thread)) {
            self.resume(thread, Order::Go);
            if self.seam.with(|run| run.failure.is_some()) {
                return;
            }
        }
        self.seam.with(|run| {
            run.check_sleepers(&frozen);
            run.tally.end_history();
        });
    }

    /// The state that the execution is in.
    pub fn fingerprint(&self) -> Fingerprint {
        self.seam.with(|run| {
            let mut print = run.memory.then(run.explained.number());
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

impl Run {
    fn identity(&self, thread: ThreadId) -> Identity {
        let process = self.fates[thread].own_process.then_some(PROCESS_BASE + thread as u32);
        Identity { process, thread: thread_number(thread) }
    }

    /// An heir begins after the death of the thread that it inherits from.
    fn may_begin(&self, thread: ThreadId) -> bool {
        self.fates[thread].heir_of.is_none_or(|other| self.threads[other].status == Status::Dead)
    }

    fn deadline_may_pass(&self, thread: ThreadId) -> bool {
        let this = &self.threads[thread];
        match this.status {
            Status::Asleep { has_deadline, .. } => has_deadline,
            Status::BeforeAccess => this.hasty && !this.deadline_passed,
            _ => false,
        }
    }

    /// True if the thread sleeps, and is to be told.
    fn pass_deadline(&mut self, thread: ThreadId) -> bool {
        self.event(Event::Deadline { thread });
        self.ticks = 1;
        self.threads[thread].deadline_passed = true;
        matches!(self.threads[thread].status, Status::Asleep { .. })
    }

    fn wake_one(&mut self, address: usize) -> bool {
        let sleeps_here =
            |thread: &&mut Thread| matches!(thread.status, Status::Asleep { address: here, .. } if here == address);
        let sleeper = self.threads.iter_mut().find(sleeps_here);
        sleeper.map(|thread| thread.status = Status::BeforeAccess).is_some()
    }

    /// What the kernel does at the death of a thread (`handle_futex_death`): a word of zero that its will names is one
    /// of another thread, which it was about to wake; its own number in it is replaced.
    fn die(&mut self, thread: ThreadId) {
        const NUMBER: u32 = 0x3fff_ffff;
        const SLEEPS: u32 = 0x8000_0000;
        const DIED: u32 = 0x4000_0000;
        self.event(Event::Die { thread });
        self.ticks = 1;
        self.threads[thread].status = Status::Dead;
        let address = self.threads[thread].will;
        if address == 0 {
            return;
        }
        let (chunk, shift) = (address & !15, address % 8 * 8);
        let old = content(chunk);
        let half = (address & 15) / 8;
        let word = (old[half] >> shift) as u32;
        if word == 0 {
            self.wake_at_death(thread, address);
        } else if word & NUMBER == thread_number(thread) {
            let mut new = old;
            new[half] = old[half] & !(0xffff_ffff << shift) | u64::from(word & SLEEPS | DIED) << shift;
            put_back(chunk, new);
            self.judgements.entry(chunk).or_default().touched_by |= 1 << thread;
            if let Some(weak) = &mut self.weak {
                weak.updated_by_kernel(thread, address & !7, old[half], new[half]);
            }
            self.updated = Some((chunk, old));
            self.settle();
            if word & SLEEPS != 0 {
                self.wake_at_death(thread, address);
            }
        }
    }

    fn wake_at_death(&mut self, thread: ThreadId, address: usize) {
        if let Some(weak) = &mut self.weak {
            weak.wake(thread, address & !7);
        }
        self.wake_one(address);
    }

    fn begin(&mut self) {
        self.settle();
        for (chunk, old) in self.old_contents.drain() {
            put_back(chunk, old);
        }
        self.threads.clear();
        self.tally.begin_history();
        (self.running, self.failure, self.memory) = (None, None, Fingerprint::ZERO);
        self.explained = self.monitor.start();
        if let Some(trace) = &mut self.trace {
            *trace = Trace::default();
        }
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.discard();
        self.seam.with(Run::begin);
        explore::install(None);
        self.seam.run.replace(None);
        self.seam.subject.set(None);
    }
}
