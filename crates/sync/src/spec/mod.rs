// SPDX-License-Identifier: MIT OR Apache-2.0
//! The meaning of the operations: a sequential model, one step at a time, without atomics, and with a clock that only timers have.
//!
//! A [`State`] holds objects and threads; a thread has at most one operation in progress. Every operation is one step,
//! except that a wait joins its queues one after the other, in array order and the alert last; other threads may step
//! in between. A wait-all joins the queues of all its objects in one step. [`State::steps`] lists a thread's possible
//! next steps; a history of the real code is right if some sequence of steps explains all its results.
//!
//! # The clauses
//! * An operation that makes an object available offers it within the same step: first to every wait-all in its queue
//!   that can be satisfied completely, then to the wait-anys, each group oldest first. Ineligible waiters are passed
//!   over.
//! * A wait-all takes all its objects in one step and reserves nothing before.
//! * A pulse signals, offers and clears in one step.
//! * The objects of a wait come before its alert, which is tested in a later step and reported as the number of
//!   objects.
//! * A deadline ends a wait only after every object was tested once: a poll is a wait whose deadline has already
//!   passed.
//! * An interrupt takes an unsatisfied wait out of every queue, and ends it. A wait that has joined no queue yet may
//!   still find its objects available, and an operation that had begun before may have satisfied it. A wait that its
//!   deadline has ended may still report an interrupt that arrives before it returns: either way it has acquired
//!   nothing.
//! * A thread that dies leaves every queue. What it was given before is lost with it; an operation that it had begun
//!   may still happen, or not.
//! * A burial is refused while the thread lives. It changes nothing that a program can see, unless there is no robust list
//!   ([`State::with_deaths_unseen`]): then the dead thread leaves every queue now. (A process here has one thread.)
//!   While one is in progress, a thread that needs the dead one's place may find none.
//! * A process holds each object that it has created, once ([`State::keep`]); a hold adds one, a release takes one away. A hold for another
//!   process adds one of that, and is refused if that is dead. (It takes part.)
//! * An object that no living process holds is *doomed* at any instant at which no wait stands in its queue, and nobody owns it. It is
//!   closed at any time after that, unless somebody holds it before. (An owner counts as long as the process lives that released it
//!   last: whoever holds it when they die keeps nothing by owning it.)
//! * An adoption takes the hold of the creator, or of who adopted it last. Once others have held the object, it adds one, unless its
//!   process has one.
//! * A permanent object is not doomed. A thread that makes it temporary lets go of it like a process that releases it.
//! * A name leads to the open object that was created with it. What is not doomed yet but can be, and what is, is closed when somebody looks
//!   for its name, unless a wait stands in its queue by then, or somebody owns it.
//! * A closed object refuses operations that begin afterwards. One that had begun may still find it open, or not. Waits
//!   in its queue continue; a wait-all can still acquire it, until a new object takes its slot.
//! * A signal-and-wait is a signal, then a wait ([`SignalAndWait`]): two operations, between which other threads may step.
//! * A timer that is due fires at any step ([`State::fires`]), and before an operation that names it. A firing offers the timer like a
//!   signal. The deadline of a wait may end it first. A closed timer does not fire. Before a wait takes several objects, those timers fire
//!   that are not signaled. One that is signaled already may fire again later: timers fire one after the other. A wait that an interrupt
//!   takes out of its queues may have looked at a timer before it was due, and still find another object available.
//! * A wait without a thread ([`State::with_detached`]) joins its queues like another one, and the call that registers it returns when it
//!   stands in all of them, or is satisfied. Its result is taken once: by the call itself, by one that collects, or by one that calls
//!   the wait off. If the thread dies during the call, the wait may stand, or not. The waits of a process end with it.
//! * A queue that is being closed refuses operations, its waits end one after the other, and what was delivered is lost. A call that
//!   registers a wait beside that is refused, or satisfied at once.
//! * Packets that are posted to the queue of such waits are taken in their order, beside the results. A post is refused if as many wait
//!   as there is room for. Timers for which such waits stand fire before a thread finds that there is no result.
//! * A mutex whose owner id is one of a thread ([`OWNERS`]) that has died, or has ended its id, becomes abandoned at any step after that
//!   ([`State::kills`]), and is offered then. The end of such an owner becomes signaled in the same way, with the code that was reported last.
//! * A thread that sleeps for a timer may begin its wait again while another one is halfway through a signal ([`State::begin_again`]).

mod detached;
mod event;
mod holds;
mod mutex;
mod names;
mod operation;
mod owners;
mod semaphore;
mod signal_and_wait;
mod timer;
mod value;
mod wait;

pub use event::Event;
use holds::Holds;
pub use mutex::Mutex;
pub use names::{BY_NAME, NO_OBJECT, Name};
pub use operation::{Answer, Operation, Outcome};
pub use owners::OWNERS;
pub use semaphore::Semaphore;
pub use signal_and_wait::SignalAndWait;
pub use timer::Timer;
pub use value::Value;
pub use wait::Wait;

use crate::{EndState, Error, MutexState, Result};
use wait::Queued;

/// Names an object: its place in the order of creation. Never used again.
pub type Id = usize;
/// Names a thread.
pub type ThreadId = usize;
/// Whose step a firing is: no operation's that had begun before.
const NOBODY: ThreadId = ThreadId::MAX;

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Object {
    value: Value,
    closed: bool,
    /// Closed, and its slot belongs to another object.
    gone: bool,
    holds: Holds,
    name: Option<&'static str>,
    any: Vec<Queued>,
    all: Vec<ThreadId>,
}

impl Object {
    fn is_waited_for_by(&self, thread: ThreadId) -> bool {
        self.any.iter().any(|queued| queued.thread == thread) || self.all.contains(&thread)
    }
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Running {
    operation: Operation,
    /// How many joining steps a wait has made.
    position: usize,
    deadline_passed: bool,
    /// Every object that it names was open when it began.
    began_open: bool,
    /// Somebody who lived was burying at some time since it began.
    beside_burial: bool,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum Phase {
    Idle,
    Running(Running),
    Finished(Outcome),
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Thread {
    phase: Phase,
    interrupted: bool,
    dead: bool,
    /// It was taken out of its queues: only operations of these threads, which had begun before, may still satisfy it.
    only_by: Option<Vec<ThreadId>>,
}

/// The objects and threads at one instant.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct State {
    objects: Vec<Object>,
    threads: Vec<Thread>,
    /// The wait of a thread that dies goes on until somebody buries it: there is no robust list.
    deaths_unseen: bool,
    /// What an operation of a thread that dies has not done by then, it never does.
    deaths_are_final: bool,
    /// There are fewer places than threads: a wait can find none, nor a creation.
    few_places: bool,
    /// Threads that are processes of their own; the others are one, which lives on.
    processes: Vec<ThreadId>,
    /// The object that each thread got by name last; [`BY_NAME`]: none.
    got_by_name: Vec<Id>,
    /// The time, for timers.
    now: u64,
    /// Threads from this one on are waits without a thread; each is known by its distance from here.
    first_detached: ThreadId,
    /// The thread that has registered each of those that wait, or may be collected.
    registered_by: Vec<Option<ThreadId>>,
    /// The labels of waits whose numbers are known, because the calls that registered them have returned.
    known: Vec<bool>,
    /// The keys of the packets that wait in the queue of the waits without a thread, and how many can.
    packets: Vec<usize>,
    packets_most: usize,
    /// The queue is being closed, or was.
    queue_closed: bool,
    queue_freed: bool,
    /// How many queues were opened after the first one, which is thread 0's: there is one at a time.
    queues_opened: u32,
    /// The thread that has opened the last one.
    queue_opened_by: ThreadId,
    /// The queue that each thread's call is about: the one that there was when it began, if that was of its process.
    queue_of: Vec<u32>,
    /// The owner ids of threads that were ended, in their order.
    owners_ended: Vec<u32>,
}

impl State {
    /// No objects, and this many idle threads.
    pub fn new(threads: usize) -> Self {
        Self {
            objects: Vec::new(),
            threads: vec![Thread { phase: Phase::Idle, interrupted: false, dead: false, only_by: None }; threads],
            deaths_unseen: false,
            deaths_are_final: false,
            few_places: false,
            processes: Vec::new(),
            got_by_name: vec![BY_NAME; threads],
            now: 0,
            first_detached: threads,
            registered_by: Vec::new(),
            known: Vec::new(),
            packets: Vec::new(),
            packets_most: 0,
            queue_closed: false,
            queue_freed: false,
            queues_opened: 0,
            queue_opened_by: 0,
            queue_of: vec![0; threads],
            owners_ended: Vec::new(),
        }
    }

    /// The same, but this thread is a process of its own.
    pub fn with_process(mut self, thread: ThreadId) -> Self {
        self.processes.push(thread);
        self
    }

    /// The same without a robust list: waits of the dead go on until they are buried.
    pub fn with_deaths_unseen(mut self) -> Self {
        self.deaths_unseen = true;
        self
    }

    /// The same, but nothing of a thread's operation happens after its death.
    pub fn with_final_deaths(mut self) -> Self {
        self.deaths_are_final = true;
        self
    }

    /// The same with fewer places than threads: waits may find none.
    pub fn with_few_places(mut self) -> Self {
        self.few_places = true;
        self
    }

    /// A thread begins an operation; nothing has happened yet.
    pub fn invoke(&mut self, thread: ThreadId, operation: Operation) {
        debug_assert_eq!(self.threads[thread].phase, Phase::Idle, "one operation at a time");
        let operation = self.of_named(thread, operation);
        let deadline_passed =
            operation.wait().is_some_and(|wait| wait.poll) || operation == Operation::Collect { poll: true };
        let began_open = operation.objects().iter().all(|&object| self.is_open(object));
        for other in &mut self.threads {
            other.only_by.iter_mut().for_each(|signalers| signalers.retain(|&signaler| signaler != thread));
        }
        let beside_burial = self.note_burial(&operation);
        self.threads[thread].phase =
            Phase::Running(Running { operation, position: 0, deadline_passed, began_open, beside_burial });
        self.begin_with_queue(thread);
        self.begin_detached(thread);
    }

    /// An operation begins. Whether one that begins now is beside a burial.
    fn note_burial(&mut self, begins: &Operation) -> bool {
        let mut buried = false;
        for thread in self.threads.iter_mut().filter(|thread| !thread.dead) {
            if let Phase::Running(running) = &mut thread.phase {
                running.beside_burial |= begins.buries();
                buried |= running.operation.buries();
            }
        }
        buried
    }

    /// The states that one step of `thread` leads to; none if it is idle, finished or can only wait.
    pub fn steps(&self, thread: ThreadId) -> Vec<State> {
        let Phase::Running(running) = &self.threads[thread].phase else { return Vec::new() };
        let refusal = self.refusal(running);
        // What is refused before it looks at an object tells nothing of what is due.
        let is_refused = refusal.is_some() && (!running.began_open || running.operation.is_malformed());
        let named = if is_refused { vec![] } else { self.named_next(running) };
        let fired: Vec<State> = named.iter().filter_map(|&object| self.fired(object)).collect();
        let is_interrupted = self.threads[thread].interrupted;
        if !is_interrupted && named.iter().any(|&object| self.must_fire(object, named.len() > 1)) {
            return fired.into_iter().chain(self.firings_begun(running)).collect();
        }
        let mut next: Vec<State> = fired.into_iter().chain(self.ends()).chain(self.firings_begun(running)).collect();
        next.extend(refusal.map(|error| self.ended(thread, error)));
        if is_refused {
            return next;
        }
        match &running.operation {
            Operation::Wait(wait) => self.wait_steps(thread, running, wait, &mut next),
            &Operation::Detach { label, .. } => next.extend(self.detached_steps(thread, label)),
            Operation::Collect { .. } => next.extend(self.collected(thread, running.deadline_passed)),
            &Operation::CallOff { label } => next.extend(self.called_off(thread, label)),
            Operation::CloseQueue => next.extend(self.closes_queue(thread)),
            &Operation::BuryThread { thread: dead } | &Operation::BuryProcess { thread: dead } => {
                next.extend(self.buried(dead).into_iter().map(|mut state| {
                    let alive = !state.threads[dead].dead;
                    state.finish(thread, if alive { Err(Error::Alive) } else { Ok(Answer::Done) });
                    state
                }));
            }
            operation => {
                let mut state = self.clone();
                let outcome = state.apply(thread, operation);
                state.finish(thread, outcome);
                if operation.creates().is_some() {
                    next.extend(state.displacements());
                }
                next.push(state);
            }
        }
        next.iter_mut().for_each(State::doom);
        next
    }

    /// The states after what happens by itself: one of the timers that are due has fired, or one of the mutexes whose owners have ended is
    /// abandoned.
    pub fn fires(&self) -> Vec<State> {
        (0..self.objects.len()).filter_map(|object| self.fired(object)).chain(self.kills()).collect()
    }

    /// The same, but this timer has fired; none if it is none, or not due.
    fn fired(&self, object: Id) -> Option<State> {
        if !self.is_open(object)
            || !matches!(&self.objects[object].value, Value::Timer(timer) if timer.is_due(self.now))
        {
            return None;
        }
        let mut state = self.clone();
        if let Value::Timer(timer) = &mut state.objects[object].value {
            timer.fire(self.now);
        }
        state.offer(object, NOBODY);
        state.doom();
        Some(state)
    }

    /// The states in which this operation has begun to fire one of its timers, without effect so far. That matters only if time passes
    /// before the effect.
    fn firings_begun(&self, running: &Running) -> Vec<State> {
        let passes = |thread: &Thread| {
            matches!(&thread.phase, Phase::Running(Running { operation: Operation::Pass { .. }, .. }))
        };
        let begun = |object| {
            let mut state = self.clone();
            state.timer(object).is_ok_and(|timer| timer.begin_to_fire(self.now)).then_some(state)
        };
        if !self.threads.iter().any(passes) {
            return vec![];
        }
        running.operation.objects().into_iter().filter(|&object| self.is_open(object)).filter_map(begun).collect()
    }

    /// Returns true if it is a timer that is due, and must fire before an operation sees it, alone or among others.
    fn must_fire(&self, object: Id, among_others: bool) -> bool {
        let is_signaled_again = |timer: &Timer| among_others && timer.signaled;
        self.is_open(object)
            && matches!(&self.objects[object].value, Value::Timer(timer) if timer.is_due(self.now) && !is_signaled_again(timer))
    }

    /// The objects that the next step of an operation tells from their being due.
    fn named_next(&self, running: &Running) -> Vec<Id> {
        match running.operation.wait() {
            Some(wait) if running.position < wait.steps() => wait.tests(running.position).collect(),
            None if running.operation.is_about_time() => running.operation.objects(),
            _ => vec![],
        }
    }

    /// Returns true if one of these threads waits for a timer that is due, or the mutex of a dead owner, and would get it.
    pub fn is_late_for(&self, threads: &[ThreadId]) -> bool {
        let waits = |state: &State| {
            threads.iter().all(|&thread| state.outcome(thread).is_none()) && !state.owes_result_to(threads)
        };
        waits(self) && self.fires().iter().any(|fired| !waits(fired) || fired.is_late_for(threads))
    }

    /// What a new object may do to the closed ones: take the place of one of them.
    fn displacements(&self) -> impl Iterator<Item = State> {
        let closed =
            (0..self.objects.len()).filter(|&object| self.objects[object].closed && !self.objects[object].gone);
        closed.map(|object| {
            let mut state = self.clone();
            state.objects[object].gone = true;
            state
        })
    }

    fn wait_steps(&self, thread: ThreadId, running: &Running, wait: &Wait, next: &mut Vec<State>) {
        let mut join = |test: bool| {
            let mut state = self.clone();
            state.join(thread, running.position, wait, test);
            next.push(state);
        };
        if self.threads[thread].only_by.is_some() {
            // It is in no queue, unless somebody has satisfied it.
        } else if running.position < wait.steps() {
            join(true);
            if wait.tests(running.position).any(|object| !self.is_open(object)) {
                join(false);
            }
        } else if running.deadline_passed {
            next.push(self.ended(thread, Error::TimedOut));
        }
        if self.threads[thread].interrupted {
            next.push(self.ended(thread, Error::Interrupted));
        }
    }

    /// The deadline of the wait in progress passes.
    pub fn deadline(&mut self, thread: ThreadId) {
        if let Phase::Running(running) = &mut self.threads[thread].phase {
            running.deadline_passed = true;
        }
    }

    /// An interrupt arrives, and stays in force for the waits of `thread` until [`State::resume`].
    pub fn interrupt(&mut self, thread: ThreadId) {
        self.threads[thread].interrupted = true;
    }

    /// An interrupt has taken effect: the wait in progress is in no queue. A signal that had begun before may already
    /// have satisfied it, although its other effects are still to come: only that signal can still do so.
    pub fn leave_queues(&self, thread: ThreadId) -> Vec<State> {
        if !self.is_queued(thread) {
            return vec![self.clone()];
        }
        let is_signal = |&other: &ThreadId| match &self.threads[other].phase {
            Phase::Running(running) => running.operation.wait().is_none(),
            _ => false,
        };
        let signalers: Vec<ThreadId> = (0..self.threads.len()).filter(is_signal).collect();
        let satisfied_by = |signalers| {
            let mut state = self.clone();
            state.threads[thread].only_by = Some(signalers);
            state.doom();
            state
        };
        vec![satisfied_by(Vec::new()), satisfied_by(signalers)]
    }

    /// The thread has slept, and now leaves its queues to complete what another thread has begun, or to kill the mutex of an owner that has
    /// ended; it begins its wait again. None if the wait is satisfied, or there is nothing of the kind.
    pub fn begin_again(&self, thread: ThreadId) -> Option<State> {
        let has_begun =
            |other: &Thread| matches!(&other.phase, Phase::Running(running) if running.operation.wait().is_none());
        if !self.threads.iter().any(has_begun) && !self.may_kill(thread) {
            return None;
        }
        let mut state = self.clone();
        state.leave(thread);
        let Phase::Running(running) = &mut state.threads[thread].phase else { return None };
        running.position = 0;
        Some(state)
    }

    /// The interrupt is over.
    pub fn resume(&mut self, thread: ThreadId) {
        self.threads[thread].interrupted = false;
    }

    /// Returns true if `thread` has a wait in progress that is in all its queues and is not satisfied.
    pub fn parked(&self, thread: ThreadId) -> bool {
        match &self.threads[thread].phase {
            Phase::Running(running) => running.operation.wait().is_some_and(|wait| running.position == wait.steps()),
            _ => false,
        }
    }

    /// How the operation of `thread` ended, if it did.
    pub fn outcome(&self, thread: ThreadId) -> Option<&Outcome> {
        if let Phase::Finished(outcome) = &self.threads[thread].phase { Some(outcome) } else { None }
    }

    /// Returns true if the operation of `thread` has ended and may return this.
    pub fn may_report(&self, thread: ThreadId, outcome: &Outcome) -> bool {
        let interrupted = self.threads[thread].interrupted && *outcome == Err(Error::Interrupted);
        self.outcome(thread).is_some_and(|ended| ended == outcome || interrupted && *ended == Err(Error::TimedOut))
            || *outcome == Err(Error::Exhausted) && self.may_find_no_place(thread)
    }

    /// Returns true if it is a wait that has joined nothing yet, and somebody buries or did meanwhile, or there are few places; or a
    /// creation, and there are few.
    fn may_find_no_place(&self, thread: ThreadId) -> bool {
        match &self.threads[thread].phase {
            Phase::Running(running) if running.operation.creates().is_some() => self.few_places,
            Phase::Running(running) => {
                (running.beside_burial || self.few_places)
                    && running.operation.wait().is_some()
                    && running.position == 0
            }
            _ => false,
        }
    }

    /// The thread dies. Its wait ends like an interrupted one; other threads may still complete another operation that
    /// it has begun, or not.
    pub fn die(&self, thread: ThreadId) -> Vec<State> {
        let mut state = self.clone();
        state.threads[thread].dead = true;
        state.doom();
        if self.deaths_unseen {
            return vec![state];
        }
        let mut states: Vec<State> =
            state.without_wait_of(thread).into_iter().flat_map(|state| state.without_detached_of(thread)).collect();
        states.iter_mut().for_each(|state| state.end_detached_call(thread));
        states.iter_mut().for_each(State::doom);
        for state in states.iter_mut().filter(|state| state.deaths_are_final && state.waiting(thread).is_none()) {
            state.threads[thread].phase = Phase::Idle;
        }
        states
    }

    /// Somebody says that the thread is dead. Nothing changes if it is not, or if that is known.
    fn buried(&self, thread: ThreadId) -> Vec<State> {
        if self.deaths_unseen && self.threads[thread].dead { self.without_wait_of(thread) } else { vec![self.clone()] }
    }

    fn without_wait_of(&self, thread: ThreadId) -> Vec<State> {
        let mut states = self.leave_queues(thread);
        for state in &mut states {
            if state.waiting(thread).is_some() && !state.is_queued(thread) {
                state.threads[thread].phase = Phase::Idle;
            }
        }
        states
    }

    /// The call returns: the thread may begin another.
    pub fn retire(&mut self, thread: ThreadId) {
        self.threads[thread].phase = Phase::Idle;
    }

    /// Returns true if `thread` is in a queue.
    pub fn is_queued(&self, thread: ThreadId) -> bool {
        self.objects.iter().any(|object| object.is_waited_for_by(thread))
    }

    /// Returns true if an interrupt is in force for `thread`.
    pub fn is_interrupted(&self, thread: ThreadId) -> bool {
        self.threads[thread].interrupted
    }

    /// How many threads there are.
    pub fn threads(&self) -> usize {
        self.threads.len()
    }

    /// Adds an object without an operation of a thread.
    pub fn add(&mut self, value: Value) -> Id {
        let holds = Holds::of(None);
        self.objects.push(Object {
            value,
            closed: false,
            gone: false,
            holds,
            name: None,
            any: Vec::new(),
            all: Vec::new(),
        });
        self.objects.len() - 1
    }

    /// The object was created by a thread that is a process of its own.
    pub fn keep(&mut self, object: Id, keeper: ThreadId) {
        self.objects[object].holds = Holds::of(self.process_of(keeper));
    }

    /// The current value of an object.
    pub fn value(&self, object: Id) -> &Value {
        &self.objects[object].value
    }

    /// How many objects were ever created.
    pub fn objects(&self) -> usize {
        self.objects.len()
    }

    /// Runs an operation while no other thread takes a step. Returns none if it waits for others.
    pub fn run(&mut self, thread: ThreadId, operation: Operation) -> Option<Outcome> {
        self.invoke(thread, operation);
        while self.outcome(thread).is_none() {
            *self = self.steps(thread).into_iter().next()?;
        }
        let outcome = *self.outcome(thread)?;
        self.retire(thread);
        Some(outcome)
    }

    /// Returns why the operation is refused, given the current objects.
    fn refusal(&self, running: &Running) -> Option<Error> {
        let operation = &running.operation;
        let closed = operation.objects().into_iter().any(|object| !self.is_open(object));
        match operation.wait() {
            Some(_) if running.position > 0 => None,
            Some(_) => (closed || operation.is_malformed()).then_some(Error::Invalid),
            None => closed.then_some(Error::NoSuchObject),
        }
    }

    fn ended(&self, thread: ThreadId, error: Error) -> State {
        let mut state = self.clone();
        state.finish(thread, Err(error));
        state
    }

    fn finish(&mut self, thread: ThreadId, outcome: Outcome) {
        self.leave(thread);
        self.threads[thread].only_by = None;
        self.threads[thread].phase = Phase::Finished(outcome);
    }

    fn apply(&mut self, thread: ThreadId, operation: &Operation) -> Outcome {
        match *operation {
            Operation::SemaphoreCreate { count, max } => {
                Ok(self.create(thread, Value::Semaphore(Semaphore::new(count, max)?)))
            }
            Operation::MutexCreate { owner, count } => Ok(self.create(thread, Value::Mutex(Mutex::new(owner, count)?))),
            Operation::EventCreate { manual, signaled } => {
                Ok(self.create(thread, Value::Event(Event { manual, signaled })))
            }
            Operation::SemaphoreRelease { object, units } => {
                let previous = self.semaphore(object)?.release(units)?;
                self.offer(object, thread);
                Ok(Answer::Count(previous))
            }
            Operation::MutexUnlock { object, owner } => {
                let previous = self.mutex(object)?.unlock(owner)?;
                self.offer(object, thread);
                Ok(Answer::Count(previous))
            }
            Operation::MutexKill { object, owner } => {
                self.mutex(object)?.kill(owner)?;
                self.offer(object, thread);
                Ok(Answer::Done)
            }
            Operation::EventSet { object } => {
                let previous = self.event(object)?.set(true);
                self.offer(object, thread);
                Ok(Answer::Signaled(previous))
            }
            Operation::EventPulse { object } => {
                let previous = self.event(object)?.set(true);
                self.offer(object, thread);
                self.event(object)?.set(false);
                Ok(Answer::Signaled(previous))
            }
            Operation::EventReset { object } => Ok(Answer::Signaled(self.event(object)?.set(false))),
            Operation::TimerCreate { manual } => Ok(self.create(thread, Value::Timer(Timer::unarmed(manual, false)))),
            Operation::TimerSet { object, due, period } => {
                self.timer(object)?.set(due, period);
                Ok(Answer::Done)
            }
            Operation::TimerCancel { object } => {
                self.timer(object)?.cancel();
                Ok(Answer::Done)
            }
            Operation::TimerRead { object } => {
                let Timer { signaled, due, .. } = *self.timer(object)?;
                Ok(Answer::Timer(signaled, due))
            }
            Operation::EndCreate { owner } if !owners::may_be_given_out(owner) => Err(Error::Invalid),
            Operation::EndCreate { owner } => {
                Ok(self.create(thread, Value::End(EndState { owner, ended: false, code: None })))
            }
            Operation::EndReport { object, code } => self.report(object, code),
            Operation::EndRead { object } => Ok(Answer::End(*self.end(object)?)),
            Operation::Pass { time } => {
                self.now += time;
                Ok(Answer::Done)
            }
            Operation::SemaphoreRead { object } => {
                let semaphore = self.semaphore(object)?;
                Ok(Answer::Semaphore(semaphore.count, semaphore.max))
            }
            Operation::MutexRead { object } => {
                let Mutex { owner, count, abandoned } = *self.mutex(object)?;
                Ok(Answer::Mutex(MutexState { owner, count, abandoned }))
            }
            Operation::EventRead { object } => {
                let event = self.event(object)?;
                Ok(Answer::Event(event.manual, event.signaled))
            }
            Operation::Close { object } if self.objects[object].closed => Err(Error::NoSuchObject),
            Operation::Close { object } => {
                self.objects[object].closed = true;
                Ok(Answer::Done)
            }
            Operation::Adopt { object } if self.objects[object].closed => Err(Error::NoSuchObject),
            Operation::Adopt { object } => Ok(self.adopt(thread, object)),
            // Both may be so, if the object was there at first: it is looked for before the process.
            Operation::HoldFor { thread: other, .. } if self.threads[other].dead => Err(Error::NoSuchProcess),
            Operation::Hold { object }
            | Operation::HoldFor { object, .. }
            | Operation::Holds { object }
            | Operation::Release { object }
            | Operation::ReleaseFromOwner { object }
            | Operation::MakePermanent { object }
            | Operation::MakeTemporary { object }
                if self.objects[object].closed =>
            {
                Err(Error::NoSuchObject)
            }
            Operation::Hold { object } => Ok(self.hold(thread, object)),
            Operation::HoldFor { object, thread: other } => Ok(self.hold(other, object)),
            Operation::Holds { object } => Ok(self.holds(thread, object)),
            Operation::Release { object } => self.release(thread, object, true),
            Operation::ReleaseFromOwner { object } => self.release(thread, object, false),
            Operation::MakePermanent { object } => Ok(self.set_permanent(thread, object, true)),
            Operation::MakeTemporary { object } => Ok(self.set_permanent(thread, object, false)),
            Operation::CreateNamed { name, ref value } => {
                let value = value.at_start()?;
                self.create_named(thread, name, value)
            }
            Operation::OpenNamed { name, ref like } => self.open_named(thread, name, like),
            Operation::Post { key } => self.post(thread, key),
            Operation::OpenQueue => Ok(self.open_queue(thread)),
            Operation::EndOwner { owner } => self.end_owner(thread, owner),
            Operation::Wait(_)
            | Operation::Detach { .. }
            | Operation::Collect { .. }
            | Operation::CallOff { .. }
            | Operation::CloseQueue
            | Operation::BuryThread { .. }
            | Operation::BuryProcess { .. } => {
                unreachable!("in `steps`")
            }
        }
    }

    fn create(&mut self, thread: ThreadId, value: Value) -> Answer {
        let object = self.add(value);
        self.keep(object, thread);
        Answer::Created(object)
    }

    fn is_open(&self, object: Id) -> bool {
        self.objects.get(object).is_some_and(|object| !object.closed)
    }

    fn semaphore(&mut self, object: Id) -> Result<&mut Semaphore> {
        if let Value::Semaphore(semaphore) = &mut self.objects[object].value {
            Ok(semaphore)
        } else {
            Err(Error::Invalid)
        }
    }

    fn mutex(&mut self, object: Id) -> Result<&mut Mutex> {
        if let Value::Mutex(mutex) = &mut self.objects[object].value { Ok(mutex) } else { Err(Error::Invalid) }
    }

    fn timer(&mut self, object: Id) -> Result<&mut Timer> {
        if let Value::Timer(timer) = &mut self.objects[object].value { Ok(timer) } else { Err(Error::Invalid) }
    }

    fn event(&mut self, object: Id) -> Result<&mut Event> {
        if let Value::Event(event) = &mut self.objects[object].value { Ok(event) } else { Err(Error::Invalid) }
    }
}

#[cfg(test)]
mod tests;
