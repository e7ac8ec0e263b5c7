// SPDX-License-Identifier: MIT OR Apache-2.0
//! The real subject: an arena.

use std::cell::{Cell, RefCell};

use ntux_platform::{explore, futex};
use ntux_sync::WAIT_MAX;
use ntux_sync::spec::{self, Answer, BY_NAME, Event, Id, OWNERS, Operation, Outcome, ThreadId, Value, Wait};
use ntux_sync::{
    Arena, Capacity, Clock, Deadline, Delivered, Detached, Due, Error, Kind, Name, New, Object, Queue, Registered,
    Registration, Signal, Waiter,
};

use super::Subject;
use crate::program::{Call, Program};
use crate::stage::{PROCESS_BASE, clock, thread_number};

/// A deadline that no clock reaches while we watch: the machine decides when it passes.
const FAR: Deadline = Deadline::Monotonic(1 << 62);
/// Stands for an object that the program has not created.
const NO_OBJECT: Object = Object(u64::MAX);
/// Objects that one program may have.
const OBJECTS_MAX: usize = 8;
/// Threads that a program may have, with the observer.
const THREADS_MAX: usize = 8;

/// Places that are taken for ever: an arena has two chunks for each place, and these are for the others' wait sets.
const SQUATTERS: u32 = 8;

/// How far the counters of an arena are from their end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Age {
    New,
    Old,
}

/// An arena with the objects of a program.
pub struct ArenaSubject {
    arena: Arena,
    /// Those at the start; then those that the program creates, as many as `created`.
    objects: [Cell<Object>; OBJECTS_MAX],
    at_start: usize,
    created: Cell<usize>,
    /// What each thread got by name last.
    by_name: [Cell<Object>; THREADS_MAX],
    /// Not part of the program: each thread takes its place in the arena with a wait for this.
    bell: Object,
    waiters: RefCell<Vec<*mut Waiter>>,
    /// Threads take their places in the arena before the program begins, except those for whom there is none.
    enrolled: bool,
    without_place: Vec<ThreadId>,
    /// The thread whose number each thread has.
    numbers_of: Vec<Option<ThreadId>>,
    /// The thread whose process each thread shares memory with.
    copies_of: Vec<Option<ThreadId>>,
    /// As in the program.
    creator: Option<(ThreadId, bool)>,
    perform: Perform,
    /// Where the results of waits without a thread are delivered, if there can be any; and the waits, by their labels.
    queue: Cell<Option<Queue>>,
    arms: bool,
    owners: bool,
    registrations: RefCell<Vec<Option<Registration>>>,
}

impl ArenaSubject {
    /// An arena where every thread has its place already: its first wait is as short as the others.
    pub fn subject(program: &Program) -> Box<dyn Subject> {
        Self::over(program, true, Age::New)
    }

    /// An arena where threads take their places while the program runs.
    pub fn unenrolled(program: &Program) -> Box<dyn Subject> {
        Self::over(program, false, Age::New)
    }

    /// An arena whose counters are about to wrap.
    pub fn aged(program: &Program) -> Box<dyn Subject> {
        Self::over(program, true, Age::Old)
    }

    /// An arena that is used as the preloaded library uses it.
    pub fn at_once_first(program: &Program) -> Box<dyn Subject> {
        let mut subject = Self::made(program, true, Age::New);
        subject.perform = perform_at_once_first;
        Box::new(subject)
    }

    /// An arena whose queues have descriptors: who waits for a result sleeps as a descriptor does that it has armed, then looks again.
    pub fn by_descriptor(program: &Program) -> Box<dyn Subject> {
        let mut subject = Self::made(program, true, Age::New);
        subject.arms = true;
        Box::new(subject)
    }

    fn over(program: &Program, enrolled: bool, age: Age) -> Box<dyn Subject> {
        Box::new(Self::made(program, enrolled, age))
    }

    fn made(program: &Program, enrolled: bool, age: Age) -> Self {
        explore::set_clock(Some(clock()));
        let at_start = program.objects.len();
        let has_none = |thread: &ThreadId| program.fates[*thread].without_place;
        let without_place: Vec<ThreadId> = (0..program.threads.len()).filter(has_none).collect();
        let places = program.threads.len() + 1 - without_place.len();
        let waiters = (places + program.detached) as u32 + SQUATTERS;
        let capacity = Capacity { objects: at_start as u32 + program.room + 1, waiters };
        let arena = Arena::create(capacity).expect("a small arena");
        if age == Age::Old {
            arena.age();
        }
        let creator = arena.waiter();
        let create = |value: &Value| create(&arena, &creator, value).expect("a legal object");
        let bell = create(&Value::Event(Event { manual: false, signaled: false }));
        (0..SQUATTERS).for_each(|_| enroll(&arena, &arena.waiter(), bell));
        let objects: [Cell<Object>; OBJECTS_MAX] =
            std::array::from_fn(|object| Cell::new(program.objects.get(object).map_or(NO_OBJECT, create)));
        if program.one_chunk {
            let filled: Vec<Object> = objects[..at_start].iter().map(Cell::get).collect();
            arena.hoard_chunks(bell, &filled);
        }
        arena.retire(&creator);
        let numbers_of = program.fates.iter().map(|fate| fate.number_of).collect();
        let copies_of = program.fates.iter().map(|fate| fate.copy_of).collect();
        let creator = program.creator;
        let waiters = RefCell::new(Vec::new());
        Self {
            arena,
            objects,
            at_start,
            created: Cell::new(0),
            by_name: [const { Cell::new(NO_OBJECT) }; THREADS_MAX],
            bell,
            waiters,
            enrolled,
            without_place,
            numbers_of,
            copies_of,
            creator,
            perform,
            queue: Cell::new(None),
            arms: false,
            owners: program.owners,
            registrations: RefCell::new(vec![None; program.detached]),
        }
    }

    /// What a look at the first object finds: an error if it names another process as the creator.
    fn with_creator(&self, object: Id, found: Outcome) -> Outcome {
        let Some((creator, _)) = self.creator.filter(|_| object == 0) else { return found };
        match self.arena.creator_of(self.objects[0].get()) {
            Some(pid) if pid != PROCESS_BASE + creator as u32 => Err(Error::Corrupt),
            _ => found,
        }
    }

    fn create(&self, thread: ThreadId, value: &Value) -> Outcome {
        let object = create(&self.arena, self.waiter(thread), value)?;
        let number = self.at_start + self.created.get();
        self.objects[number].set(object);
        self.created.set(self.created.get() + 1);
        Ok(Answer::Created(number))
    }

    /// Gets an object by its name, if the operation is that.
    fn by_name(&self, thread: ThreadId, operation: &Operation) -> Option<Outcome> {
        let got = match *operation {
            Operation::CreateNamed { name, ref value } => named(name)
                .and_then(|name| self.arena.create_named(self.waiter(thread), name, new(value)))
                .map(|(object, existed)| (object, Answer::Named { existed })),
            Operation::OpenNamed { name, ref like } => named(name)
                .and_then(|name| self.arena.open_named(name, kind(like)))
                .map(|object| (object, Answer::Done)),
            _ => return None,
        };
        Some(got.map(|(object, answer)| {
            self.by_name[thread].set(object);
            answer
        }))
    }

    /// Makes a call about waits without a thread, if it is that.
    fn detached(&self, thread: ThreadId, operation: &Operation, deadline: Deadline) -> Option<Outcome> {
        let waiter = self.waiter(thread);
        Some(match *operation {
            Operation::Detach { label, ref wait } => self.detach(waiter, label, wait),
            Operation::Collect { poll } => {
                let deadline = if poll { Deadline::NOW } else { deadline };
                self.queue.get().ok_or(Error::Invalid).and_then(|queue| {
                    let delivered = if self.arms && !poll {
                        self.collect_by_descriptor(waiter, queue)
                    } else {
                        self.arena.collect(waiter, queue, deadline)
                    };
                    let Delivered { registration, key, satisfied } = delivered?;
                    Ok(match registration {
                        Some(_) => Answer::Delivered(key as usize, satisfied),
                        None => Answer::Packet(key as usize),
                    })
                })
            }
            Operation::CloseQueue => self.queue.get().ok_or(Error::Invalid).and_then(|queue| {
                self.arena.queue_close(waiter, queue)?;
                Ok(Answer::Done)
            }),
            Operation::OpenQueue => self.arena.queue_create().map(|queue| {
                self.queue.set(Some(queue));
                Answer::Done
            }),
            Operation::Post { key } => self.queue.get().ok_or(Error::Invalid).and_then(|queue| {
                self.arena.post(waiter, queue, key as u64)?;
                Ok(Answer::Done)
            }),
            Operation::CallOff { label } => {
                let registration = self.registrations.borrow()[label];
                registration.ok_or(Error::NoSuchObject).and_then(|registration| {
                    Ok(self.arena.cancel(waiter, registration)?.map_or(Answer::Done, Answer::Satisfied))
                })
            }
            _ => return None,
        })
    }

    /// What a thread does that sleeps in `poll`, and the descriptor.
    fn collect_by_descriptor(&self, waiter: &Waiter, queue: Queue) -> Result<Delivered, Error> {
        loop {
            match self.arena.collect(waiter, queue, Deadline::NOW) {
                Err(Error::TimedOut) => {}
                collected => return collected,
            }
            if let Some(quiet) = self.arena.queue_arm(waiter, queue)? {
                futex::wait_until_due(quiet.bell, quiet.expected, Deadline::Never, quiet.due);
            }
        }
    }

    fn detach(&self, waiter: &Waiter, label: usize, wait: &Wait) -> Outcome {
        let queue = self.queue.get().ok_or(Error::Invalid)?;
        let mut objects = [NO_OBJECT; WAIT_MAX];
        let objects = &mut objects[..wait.objects.len()];
        objects
            .iter_mut()
            .zip(&wait.objects)
            .for_each(|(place, &object)| *place = self.objects.get(object).map_or(NO_OBJECT, Cell::get));
        let wanted = Detached { objects, all: wait.all, owner: wait.owner, key: label as u64 };
        match self.arena.wait_detached(waiter, queue, wanted)? {
            Registered::Satisfied(satisfied) => Ok(Answer::Satisfied(satisfied)),
            Registered::Waits(registration) => {
                self.registrations.borrow_mut()[label] = Some(registration);
                Ok(Answer::Waits)
            }
        }
    }

    fn waiter(&self, thread: ThreadId) -> &Waiter {
        // SAFETY: `begin` made it and only `begin` frees it, when no call runs and none will go on.
        unsafe { &*self.waiters.borrow()[thread] }
    }

    fn forget_waiters(&self) {
        for waiter in self.waiters.borrow_mut().drain(..) {
            // SAFETY: made by `Box::into_raw` in `begin`; no call that uses it will go on.
            drop(unsafe { Box::from_raw(waiter) });
        }
    }
}

/// What a supervisor says, if it is that.
fn bury(arena: &Arena, operation: &Operation) -> Option<Result<(), Error>> {
    match *operation {
        // Whose thread is no process of its own is the checker's.
        Operation::BuryThread { thread } => Some(arena.bury_thread(std::process::id(), thread_number(thread).into())),
        Operation::BuryProcess { thread } => Some(arena.bury_process(PROCESS_BASE + thread as u32)),
        _ => None,
    }
}

/// Lets a thread take its place now, so that it does not make every first wait longer.
fn enroll(arena: &Arena, waiter: &Waiter, bell: Object) {
    waiter.interrupt();
    let ended = arena.wait_any(waiter, &[bell], None, 1, Deadline::Never);
    assert_eq!(ended, Err(Error::Interrupted));
    waiter.resume();
}

impl Subject for ArenaSubject {
    fn begin(&self) {
        self.forget_waiters();
        self.queue.set(None);
        self.registrations.borrow_mut().fill(None);
        self.created.set(0);
        self.by_name.iter().for_each(|object| object.set(NO_OBJECT));
        self.objects[self.at_start..].iter().for_each(|object| object.set(NO_OBJECT));
    }

    fn enter(&self, thread: ThreadId) {
        let waiter = match self.copies_of.get(thread).copied().flatten() {
            Some(other) => self.waiter(other).copied_by_fork(),
            None => self.arena.waiter(),
        };
        let takes_it_later = self.numbers_of.get(thread).is_some_and(Option::is_some);
        if self.enrolled && !takes_it_later && !self.without_place.contains(&thread) {
            enroll(&self.arena, &waiter, self.bell);
        }
        if self.owners {
            let owner = self.arena.owner_of_this_thread(&waiter);
            assert_eq!(owner, Ok(OWNERS + thread as u32), "they are given out in this order");
        }
        if let Some((_, keeps)) = self.creator.filter(|(creator, _)| *creator == thread) {
            self.arena.ascribe(self.objects[0].get(), PROCESS_BASE + thread as u32, keeps);
        }
        if self.queue.get().is_none() && !self.registrations.borrow().is_empty() {
            self.queue.set(self.arena.queue_create().ok());
        }
        self.waiters.borrow_mut().push(Box::into_raw(Box::new(waiter)));
    }

    fn call(&self, thread: ThreadId, call: &Call) -> Outcome {
        let deadline = if call.deadline { FAR } else { Deadline::Never };
        if let Some(outcome) = self.by_name(thread, &call.operation) {
            return outcome;
        }
        if let Some(outcome) = self.detached(thread, &call.operation, deadline) {
            return outcome;
        }
        if let Some(value) = call.operation.creates() {
            return self.create(thread, &value);
        }
        if let Some(buried) = bury(&self.arena, &call.operation) {
            // Somebody else has the number now: the thread itself is dead.
            let is_other =
                matches!(call.operation, Operation::BuryThread { thread } if self.numbers_of.contains(&Some(thread)));
            return if is_other && buried == Err(Error::Alive) {
                Ok(Answer::Done)
            } else {
                buried.map(|()| Answer::Done)
            };
        }
        let mut objects = [NO_OBJECT; OBJECTS_MAX + 1];
        objects
            .iter_mut()
            .zip(self.objects.iter().chain([&self.by_name[thread]]))
            .for_each(|(to, from)| *to = from.get());
        let outcome = (self.perform)(&self.arena, self.waiter(thread), &objects, &call.operation, deadline);
        match call.operation {
            Operation::EventRead { object } if outcome.is_ok() => self.with_creator(object, outcome),
            _ => outcome,
        }
    }

    fn interrupt(&self, thread: ThreadId) {
        self.waiter(thread).interrupt();
    }

    fn resume(&self, thread: ThreadId) {
        self.waiter(thread).resume();
    }
}

impl Drop for ArenaSubject {
    fn drop(&mut self) {
        self.forget_waiters();
    }
}

/// Creates an object with this value; the model's abandoned mutex is one whose owner was killed.
pub fn create(arena: &Arena, waiter: &Waiter, value: &Value) -> Result<Object, Error> {
    match *value {
        Value::Semaphore(ref semaphore) => arena.semaphore_create(waiter, semaphore.count, semaphore.max),
        Value::Event(ref event) => arena.event_create(waiter, event.manual, event.signaled),
        Value::Timer(ref timer) => {
            let object = arena.timer_create(waiter, timer.manual)?;
            if let Some(at_ns) = timer.due {
                arena.timer_set(waiter, object, by_clock(at_ns), timer.period)?;
            }
            Ok(object)
        }
        // (Its owner may have its id later.)
        Value::End(ref end) => arena.create_new(waiter, New::End { owner: end.owner }),
        Value::Mutex(ref mutex) if mutex.abandoned => {
            let object = arena.mutex_create(waiter, 1, 1)?;
            arena.mutex_kill(waiter, object, 1)?;
            Ok(object)
        }
        Value::Mutex(ref mutex) => arena.mutex_create(waiter, mutex.owner, mutex.count),
    }
}

/// A checker has one clock.
fn by_clock(at_ns: u64) -> Due {
    Due { clock: Clock::Monotonic, at_ns }
}

/// The name, as the arena takes it.
pub fn named(name: spec::Name) -> Result<Name<'static>, Error> {
    let exactly = Name::new(name.text.as_bytes())?;
    Ok(if name.ignores_case { exactly.ignoring_case() } else { exactly })
}

fn kind(value: &Value) -> Kind {
    match value {
        Value::Semaphore(_) => Kind::Semaphore,
        Value::Mutex(_) => Kind::Mutex,
        Value::Event(_) => Kind::AutoEvent,
        Value::Timer(_) => Kind::SyncTimer,
        Value::End(_) => Kind::End,
    }
}

fn new(value: &Value) -> New {
    match *value {
        Value::Semaphore(ref semaphore) => New::Semaphore { count: semaphore.count, max: semaphore.max },
        Value::Mutex(ref mutex) => New::Mutex { owner: mutex.owner, count: mutex.count },
        Value::Event(ref event) => New::Event { manual: event.manual, signaled: event.signaled },
        Value::Timer(ref timer) => New::Timer { manual: timer.manual },
        Value::End(ref end) => New::End { owner: end.owner },
    }
}

/// How calls are made: [`perform`], or something wrong that a test must notice.
pub type Perform = fn(&Arena, &Waiter, &[Object], &Operation, Deadline) -> Outcome;

/// The object with this number of the model: a place in `objects`. The last one is what the thread got by name.
fn handle(objects: &[Object], object: Id) -> Object {
    let place = if object == BY_NAME { objects.len().wrapping_sub(1) } else { object };
    objects.get(place).copied().unwrap_or(NO_OBJECT)
}

/// Makes a call that creates nothing.
pub fn perform(
    arena: &Arena,
    waiter: &Waiter,
    objects: &[Object],
    operation: &Operation,
    deadline: Deadline,
) -> Outcome {
    let handle = |object: Id| handle(objects, object);
    match *operation {
        Operation::SemaphoreRelease { object, units } => {
            arena.semaphore_release(waiter, handle(object), units).map(Answer::Count)
        }
        Operation::SemaphoreRead { object } => {
            arena.semaphore_read(waiter, handle(object)).map(|(count, max)| Answer::Semaphore(count, max))
        }
        Operation::MutexUnlock { object, owner } => {
            arena.mutex_unlock(waiter, handle(object), owner).map(Answer::Count)
        }
        Operation::MutexKill { object, owner } => {
            arena.mutex_kill(waiter, handle(object), owner).map(|()| Answer::Done)
        }
        Operation::MutexRead { object } => arena.mutex_read(waiter, handle(object)).map(Answer::Mutex),
        Operation::EventSet { object } => arena.event_set(waiter, handle(object)).map(Answer::Signaled),
        Operation::EventReset { object } => arena.event_reset(waiter, handle(object)).map(Answer::Signaled),
        Operation::EventPulse { object } => arena.event_pulse(waiter, handle(object)).map(Answer::Signaled),
        Operation::EventRead { object } => {
            arena.event_read(waiter, handle(object)).map(|(manual, signaled)| Answer::Event(manual, signaled))
        }
        Operation::TimerSet { object, due, period } => {
            arena.timer_set(waiter, handle(object), by_clock(due), period).map(|()| Answer::Done)
        }
        Operation::TimerCancel { object } => arena.timer_cancel(waiter, handle(object)).map(|()| Answer::Done),
        Operation::TimerRead { object } => arena
            .timer_read(waiter, handle(object))
            .map(|timer| Answer::Timer(timer.signaled, timer.due.map(|due| due.at_ns))),
        Operation::EndReport { object, code } => {
            arena.end_report(waiter, handle(object), code).map(|in_time| Answer::Signaled(!in_time))
        }
        Operation::EndRead { object } => arena.end_read(waiter, handle(object)).map(Answer::End),
        Operation::EndOwner { owner } => arena.owner_end(waiter, owner).map(|()| Answer::Done),
        Operation::Pass { time } => {
            explore::pass(time);
            Ok(Answer::Done)
        }
        Operation::Close { object } => arena.close(handle(object)).map(|()| Answer::Done),
        Operation::Adopt { object } => arena.adopt(handle(object)).map(|()| Answer::Done),
        Operation::Hold { object } => arena.hold(handle(object)).map(|()| Answer::Done),
        Operation::HoldFor { object, thread } => {
            arena.hold_for(handle(object), PROCESS_BASE + thread as u32).map(|()| Answer::Done)
        }
        Operation::Holds { object } => arena.holds(handle(object)).map(Answer::Count),
        Operation::Release { object } => arena.release(handle(object)).map(|()| Answer::Done),
        Operation::ReleaseFromOwner { object } => arena.release_from_owner(handle(object)).map(|()| Answer::Done),
        Operation::MakePermanent { object } => arena.make_permanent(handle(object)).map(|()| Answer::Done),
        Operation::MakeTemporary { object } => arena.make_temporary(handle(object)).map(|()| Answer::Done),
        Operation::Wait(ref wait) => perform_wait(arena, waiter, handle, wait, deadline),
        Operation::SemaphoreCreate { .. }
        | Operation::MutexCreate { .. }
        | Operation::EventCreate { .. }
        | Operation::TimerCreate { .. }
        | Operation::EndCreate { .. } => {
            unreachable!("programs create their objects before they begin")
        }
        Operation::CreateNamed { .. } | Operation::OpenNamed { .. } => unreachable!("see `by_name`"),
        Operation::Detach { .. }
        | Operation::Post { .. }
        | Operation::Collect { .. }
        | Operation::CallOff { .. }
        | Operation::CloseQueue
        | Operation::OpenQueue => {
            unreachable!("see `detached`")
        }
        Operation::BuryThread { .. } | Operation::BuryProcess { .. } => unreachable!("a supervisor's, see `bury`"),
    }
}

/// Does what [`perform`] does, but first tries what can be done by one exchange.
pub fn perform_at_once_first(
    arena: &Arena,
    waiter: &Waiter,
    objects: &[Object],
    operation: &Operation,
    deadline: Deadline,
) -> Outcome {
    let handle = |object: Id| handle(objects, object);
    let signal = |object, signal| arena.signal_at_once(waiter, handle(object), signal);
    let done = match *operation {
        Operation::SemaphoreRelease { object, units } => signal(object, Signal::Release(units)).map(Answer::Count),
        Operation::MutexUnlock { object, owner } => signal(object, Signal::Unlock(owner)).map(Answer::Count),
        Operation::EventSet { object } => signal(object, Signal::Set).map(|was| Answer::Signaled(was != 0)),
        Operation::EventReset { object } => signal(object, Signal::Reset).map(|was| Answer::Signaled(was != 0)),
        Operation::Wait(Wait { all: false, ref objects, alert: None, owner, .. })
            if objects.len() == 1 && owner != 0 =>
        {
            arena.acquire_at_once(waiter, handle(objects[0]), owner).map(Answer::Satisfied)
        }
        _ => None,
    };
    done.map_or_else(|| perform(arena, waiter, objects, operation, deadline), Ok)
}

fn perform_wait(
    arena: &Arena,
    waiter: &Waiter,
    handle: impl Fn(Id) -> Object,
    wait: &Wait,
    deadline: Deadline,
) -> Outcome {
    // On the stack: a call that is abandoned midway would leak a vector.
    let mut objects = [NO_OBJECT; WAIT_MAX + 1];
    let objects = &mut objects[..wait.objects.len()];
    objects.iter_mut().zip(&wait.objects).for_each(|(place, &object)| *place = handle(object));
    let alert = wait.alert.map(handle);
    let deadline = if wait.poll { Deadline::NOW } else { deadline };
    let satisfied = match wait.all {
        false => arena.wait_any(waiter, objects, alert, wait.owner, deadline),
        true => arena.wait_all(waiter, objects, alert, wait.owner, deadline),
    };
    satisfied.map(Answer::Satisfied)
}
