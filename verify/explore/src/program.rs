// SPDX-License-Identifier: MIT OR Apache-2.0
//! Small concurrent programs.

use std::fmt::{Debug, Display, Formatter};

use ntux_sync::spec::{BY_NAME, Event, Id, Mutex, Name, Operation, Semaphore, State, ThreadId, Timer, Value, Wait};
use ntux_sync::{EndState, PACKETS_MAX};

use crate::subject::{ArenaSubject, Subject};

/// One call of a program.
#[derive(Clone, Debug)]
pub struct Call {
    /// What is called.
    pub operation: Operation,
    /// A wait has a deadline, and may time out whenever it sleeps.
    pub deadline: bool,
    /// The deadline may also pass while the call is awake.
    pub hasty: bool,
    /// An interrupt may come once, at any instant of the call.
    pub interruptible: bool,
}

/// What may become of a thread.
#[derive(Clone, Default, Debug)]
pub struct Fate {
    /// It may die, at any instant.
    pub mortal: bool,
    /// It begins after this thread's death.
    pub after: Option<ThreadId>,
    /// It has no place in the arena, and none is kept for it: if it waits, it takes a dead one's.
    pub without_place: bool,
    /// It is the only thread of a process.
    pub own_process: bool,
    /// It has the number of this thread, which is dead by then. Its place is kept, but it takes it with its first wait only.
    pub number_of: Option<ThreadId>,
    /// Its process has the number of this thread's, and what that one had in its memory when the program began.
    pub copy_of: Option<ThreadId>,
    /// The numbers of its process are those of another namespace.
    pub elsewhere: bool,
}

impl Display for Call {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.operation)?;
        let notes = [
            (self.hasty, ", its deadline may pass at any instant"),
            (self.deadline && !self.hasty, ", with a deadline"),
            (self.interruptible, ", may be interrupted"),
        ];
        notes.iter().filter(|(holds, _)| *holds).try_for_each(|(_, note)| f.write_str(note))
    }
}

impl Display for Fate {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        if self.mortal {
            f.write_str(", may die")?;
        }
        if let Some(dead) = self.after {
            write!(f, ", begins after the death of T{dead}")?;
        }
        match (self.number_of, self.copy_of) {
            (Some(dead), None) => write!(f, ", has the number of T{dead}")?,
            (Some(dead), Some(_)) => write!(f, ", has the number of T{dead} and its memory")?,
            (None, Some(other)) => write!(f, ", with another library in the process of T{other}")?,
            (None, None) => {}
        }
        if self.elsewhere {
            f.write_str(", in another namespace")?;
        }
        if self.own_process { f.write_str(", a process of its own") } else { Ok(()) }
    }
}

/// Objects, and what each thread calls one after the other.
#[derive(Clone)]
pub struct Program {
    /// Unique; part of replay tokens.
    pub name: String,
    /// Created before the threads begin.
    pub objects: Vec<Value>,
    /// The calls of each thread.
    pub threads: Vec<Vec<Call>>,
    /// What may become of each thread.
    pub fates: Vec<Fate>,
    /// Other threads may step between the two halves of a load.
    pub torn: bool,
    /// There is no robust list.
    pub without_wills: bool,
    /// What a thread has not done when it dies, nobody does for it.
    pub deaths_are_final: bool,
    /// A claim and its decision are one step, which no processor has.
    pub decides_at_once: bool,
    /// Waits may find no place.
    pub few_places: bool,
    /// The wait sets have no places but that of one chunk.
    pub one_chunk: bool,
    /// Calls that do not wait in the model may sleep, as for a lock; but none for ever.
    pub blocks: bool,
    /// Each thread has an owner id of the arena, from [`ntux_sync::spec::OWNERS`] on, and time goes by when nothing else happens.
    pub owners: bool,
    /// A thread that has slept for some time for the mutex of an owner that ends is told: its next look comes too late.
    pub told: bool,
    /// Waits without a thread that there can be, known by their labels, from 0 on.
    pub detached: usize,
    /// Objects that the arena has room for beside those. With none, what the program creates goes where it has closed
    /// something.
    pub room: u32,
    /// The process of this thread created the first object; whether it still has it.
    pub creator: Option<(ThreadId, bool)>,
    /// Makes what it runs over.
    pub subject: fn(&Program) -> Box<dyn Subject>,
}

impl Debug for Program {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let torn = if self.torn { ", torn loads" } else { "" };
        writeln!(f, "{}: objects {:?}{torn}", self.name, self.objects)?;
        for (thread, (calls, fate)) in self.threads.iter().zip(&self.fates).enumerate() {
            writeln!(f, "  T{thread}{fate}")?;
            calls.iter().try_for_each(|call| writeln!(f, "    {call}"))?;
        }
        Ok(())
    }
}

impl Program {
    /// A program; each thread's calls in order.
    pub fn new(name: &str, objects: &[Value], threads: &[&[Call]]) -> Self {
        let fates = vec![Fate::default(); threads.len()];
        let threads = threads.iter().map(|calls| calls.to_vec()).collect();
        let (name, objects) = (name.to_owned(), objects.to_vec());
        Self {
            name,
            objects,
            threads,
            fates,
            torn: false,
            without_wills: false,
            deaths_are_final: false,
            decides_at_once: false,
            few_places: false,
            one_chunk: false,
            blocks: false,
            owners: false,
            told: false,
            detached: 0,
            room: 0,
            creator: None,
            subject: ArenaSubject::subject,
        }
    }

    /// A thread may die.
    pub fn mortal(mut self, thread: ThreadId) -> Self {
        self.fates[thread].mortal = true;
        self
    }

    /// Each thread has an owner id of the arena.
    pub fn with_owners(mut self) -> Self {
        self.owners = true;
        self
    }

    /// The same, and their ends are told.
    pub fn with_owners_told(mut self) -> Self {
        self.told = true;
        self.with_owners()
    }

    /// `dead` may die; then `heir` begins, and takes its place.
    pub fn inherited(mut self, dead: ThreadId, heir: ThreadId) -> Self {
        self.fates[dead].mortal = true;
        (self.fates[heir].after, self.fates[heir].without_place) = (Some(dead), true);
        self
    }

    /// `supervisor`, a process of its own that never waits, begins after the death of `dead`, which is one, too.
    pub fn supervised(mut self, dead: ThreadId, supervisor: ThreadId) -> Self {
        (self.fates[dead].mortal, self.fates[dead].own_process) = (true, true);
        self.fates[supervisor] =
            Fate { after: Some(dead), without_place: true, own_process: true, ..self.fates[supervisor].clone() };
        self
    }

    /// Does what [`Program::inherited`] does; each of the two is a process of its own.
    pub fn buried(mut self, dead: ThreadId, heir: ThreadId) -> Self {
        self.fates[dead].own_process = true;
        self.fates[heir].own_process = true;
        self.inherited(dead, heir)
    }

    /// `thread` is a process of its own, and may die.
    pub fn mortal_process(mut self, thread: ThreadId) -> Self {
        self.fates[thread].own_process = true;
        self.mortal(thread)
    }

    /// `thread` is a process of its own.
    pub fn of_own_process(mut self, thread: ThreadId) -> Self {
        self.fates[thread].own_process = true;
        self
    }

    /// `thread` runs in the process of `other`, but with a copy of the library of its own, which does not know of the first.
    pub fn of_same_process(mut self, other: ThreadId, thread: ThreadId) -> Self {
        self.fates[thread].copy_of = Some(other);
        self
    }

    /// `thread` begins after the death of `dead`.
    pub fn after(mut self, dead: ThreadId, thread: ThreadId) -> Self {
        self.fates[dead].mortal = true;
        self.fates[thread].after = Some(dead);
        self
    }

    /// `ghost` begins after the death of `dead`, and has its number.
    pub fn reborn(mut self, dead: ThreadId, ghost: ThreadId) -> Self {
        self.fates[ghost].number_of = Some(dead);
        self.after(dead, ghost)
    }

    /// `ghost`, a process of its own, begins after the death of `dead`, which is one, too. It has the number of that process, and was
    /// forked by a child of it: so it has a copy of its memory.
    pub fn reborn_process(mut self, dead: ThreadId, ghost: ThreadId) -> Self {
        self.fates[dead].own_process = true;
        self.fates[ghost].own_process = true;
        self.fates[ghost].copy_of = Some(dead);
        self.reborn(dead, ghost)
    }

    /// `child` is a process that `parent` has forked, in another namespace, where it has the number of its parent.
    pub fn forked_elsewhere(mut self, parent: ThreadId, child: ThreadId) -> Self {
        let number_of = Some(parent);
        self.fates[child] =
            Fate { own_process: true, number_of, copy_of: number_of, elsewhere: true, ..self.fates[child].clone() };
        self
    }

    /// `thread` has no place, and none is kept for it.
    pub fn without_place(mut self, thread: ThreadId) -> Self {
        self.fates[thread].without_place = true;
        self.with_few_places()
    }

    /// There are fewer places than threads.
    pub fn with_few_places(mut self) -> Self {
        self.few_places = true;
        self
    }

    /// One place is left for all who wait, in a chunk: of the first object's wait set, until another one needs it.
    pub fn with_one_chunk(mut self) -> Self {
        self.one_chunk = true;
        self.with_few_places()
    }

    /// `thread` may die, and what it has not done by then, nobody does for it.
    pub fn final_death(mut self, thread: ThreadId) -> Self {
        self.deaths_are_final = true;
        self.mortal(thread)
    }

    /// A claim and its decision are one step.
    pub fn deciding_at_once(mut self) -> Self {
        self.decides_at_once = true;
        self
    }

    /// The kernel does nothing for the dead: there is no robust list. (Heirs end the waits of the dead as well, without a call that
    /// the model knows; so there are none here.)
    pub fn without_wills(mut self) -> Self {
        self.without_wills = true;
        self
    }

    /// `creator`, a process of its own, has created the first object, which is its own or was adopted. A thread that reads that object
    /// also looks for its creator.
    pub fn created_by(mut self, creator: ThreadId, keeps: bool) -> Self {
        self.creator = Some((creator, keeps));
        self
    }

    /// Loads are torn.
    pub fn torn(mut self) -> Self {
        self.torn = true;
        self
    }

    /// Every call may sleep, but not for ever.
    pub fn blocking(mut self) -> Self {
        self.blocks = true;
        self
    }

    /// There can be so many waits without a thread.
    pub fn with_detached(mut self, detached: usize) -> Self {
        self.detached = detached;
        self
    }

    /// The same over something else than an arena.
    pub fn over(mut self, subject: fn(&Program) -> Box<dyn Subject>) -> Self {
        self.subject = subject;
        self
    }

    /// The model at the start, with one thread more, for an observer.
    pub fn start(&self) -> State {
        let mut state = State::new(self.threads.len() + 1);
        for (thread, fate) in self.fates.iter().enumerate() {
            state = if fate.own_process { state.with_process(thread) } else { state };
        }
        for value in &self.objects {
            state.add(value.clone());
        }
        if let Some((creator, true)) = self.creator {
            state.keep(0, creator);
        }
        let state = state.with_detached(self.detached, if self.detached > 0 { PACKETS_MAX as usize } else { 0 });
        let state = if self.deaths_are_final { state.with_final_deaths() } else { state };
        let state = if self.few_places { state.with_few_places() } else { state };
        if self.without_wills { state.with_deaths_unseen() } else { state }
    }

    /// What the observer calls at the end: it reads every object, and every one that has a name.
    pub fn observations(&self) -> Vec<Call> {
        let named = |call: &Call| match &call.operation {
            Operation::CreateNamed { name, value } => Some((*name, value.clone())),
            _ => None,
        };
        let mut names: Vec<_> = self.threads.iter().flatten().filter_map(named).collect();
        names.sort();
        names.dedup();
        let by_name = names.iter().flat_map(|(name, value)| [open(*name, value), read(BY_NAME, value)]);
        self.objects.iter().enumerate().map(|(object, value)| read(object, value)).chain(by_name).collect()
    }
}

fn call(operation: Operation) -> Call {
    Call { operation, deadline: false, hasty: false, interruptible: false }
}

impl Call {
    fn wait_mut(&mut self) -> &mut Wait {
        if let Operation::Wait(wait) = &mut self.operation { wait } else { unreachable!("only waits take arguments") }
    }

    /// With a deadline.
    pub fn timed(mut self) -> Self {
        self.deadline = true;
        self
    }

    /// With a deadline that may pass at any instant.
    pub fn hasty(mut self) -> Self {
        (self.deadline, self.hasty) = (true, true);
        self
    }

    /// One attempt.
    pub fn polled(mut self) -> Self {
        self.wait_mut().poll = true;
        self
    }

    /// By another owner than 1.
    pub fn by(mut self, owner: u32) -> Self {
        self.wait_mut().owner = owner;
        self
    }

    /// With an alert.
    pub fn alert(mut self, alert: Id) -> Self {
        self.wait_mut().alert = Some(alert);
        self
    }

    /// An interrupt may come.
    pub fn interruptible(mut self) -> Self {
        self.interruptible = true;
        self
    }
}

/// An auto-reset event.
pub fn auto(signaled: bool) -> Value {
    Value::Event(Event { manual: false, signaled })
}

/// A manual-reset event.
pub fn manual(signaled: bool) -> Value {
    Value::Event(Event { manual: true, signaled })
}

/// A synchronization timer, which is not armed.
pub fn timer() -> Value {
    Value::Timer(Timer::unarmed(false, false))
}

/// A manual-reset timer, which is not armed.
pub fn manual_timer() -> Value {
    Value::Timer(Timer::unarmed(true, false))
}

/// A synchronization timer that is armed.
pub fn armed(due: u64, period: u64) -> Value {
    Value::Timer(Timer { due: Some(due), period, ..Timer::unarmed(false, false) })
}

/// A manual-reset timer that is armed.
pub fn manual_armed(due: u64, period: u64) -> Value {
    Value::Timer(Timer { due: Some(due), period, ..Timer::unarmed(true, false) })
}

/// The end of an owner.
pub fn end(owner: u32) -> Value {
    Value::End(EndState { owner, ended: false, code: None })
}

/// A semaphore of at most 3.
pub fn sem(count: u32) -> Value {
    Value::Semaphore(Semaphore { count, max: 3 })
}

/// A mutex.
pub fn mutex(owner: u32, count: u32) -> Value {
    Value::Mutex(Mutex { owner, count, abandoned: false })
}

/// An abandoned mutex.
pub fn abandoned() -> Value {
    Value::Mutex(Mutex { owner: 0, count: 0, abandoned: true })
}

/// Wait-any by owner 1.
pub fn any(objects: &[Id]) -> Call {
    call(Operation::Wait(Wait { all: false, objects: objects.to_vec(), alert: None, owner: 1, poll: false }))
}

/// Wait-all by owner 1.
pub fn all(objects: &[Id]) -> Call {
    call(Operation::Wait(Wait { all: true, objects: objects.to_vec(), alert: None, owner: 1, poll: false }))
}

/// The same without a thread: the call returns, and the wait goes on, known by this label.
pub fn detached(label: usize, waits: Call) -> Call {
    match waits.operation {
        Operation::Wait(wait) => call(Operation::Detach { label, wait }),
        _ => unreachable!("only waits are detached"),
    }
}

/// Posts a packet with this key.
pub fn post(key: usize) -> Call {
    call(Operation::Post { key })
}

/// Takes the result of such a wait, or a packet.
pub fn collect() -> Call {
    call(Operation::Collect { poll: false })
}

/// The same, once, without waiting.
pub fn collect_now() -> Call {
    call(Operation::Collect { poll: true })
}

/// Closes the queue of such waits.
pub fn close_queue() -> Call {
    call(Operation::CloseQueue)
}

/// Opens another one in its place.
pub fn open_queue() -> Call {
    call(Operation::OpenQueue)
}

/// Cancels such a wait.
pub fn call_off(label: usize) -> Call {
    call(Operation::CallOff { label })
}

/// Creates the end of an owner.
pub fn create_end(owner: u32) -> Call {
    call(Operation::EndCreate { owner })
}

/// Says with which code the owner of an end will end.
pub fn report(object: Id, code: u32) -> Call {
    call(Operation::EndReport { object, code })
}

/// Ends the calling thread's owner id.
pub fn end_owner(owner: u32) -> Call {
    call(Operation::EndOwner { owner })
}

/// Sets an event.
pub fn set(object: Id) -> Call {
    call(Operation::EventSet { object })
}

/// Resets an event.
pub fn reset(object: Id) -> Call {
    call(Operation::EventReset { object })
}

/// Pulses an event.
pub fn pulse(object: Id) -> Call {
    call(Operation::EventPulse { object })
}

/// Arms a timer. Times and periods are whole microseconds, in nanoseconds.
pub fn arm(object: Id, due: u64, period: u64) -> Call {
    call(Operation::TimerSet { object, due, period })
}

/// Ends the arming of a timer.
pub fn cancel(object: Id) -> Call {
    call(Operation::TimerCancel { object })
}

/// So much time passes.
pub fn pass(time: u64) -> Call {
    call(Operation::Pass { time })
}

/// Releases units of a semaphore.
pub fn rel(object: Id, units: u32) -> Call {
    call(Operation::SemaphoreRelease { object, units })
}

/// Unlocks a mutex.
pub fn unlock(object: Id, owner: u32) -> Call {
    call(Operation::MutexUnlock { object, owner })
}

/// Abandons a mutex.
pub fn kill(object: Id, owner: u32) -> Call {
    call(Operation::MutexKill { object, owner })
}

/// Creates an auto-reset event.
pub fn create_auto(signaled: bool) -> Call {
    call(Operation::EventCreate { manual: false, signaled })
}

/// Creates a semaphore of at most 3.
pub fn create_sem(count: u32) -> Call {
    call(Operation::SemaphoreCreate { count, max: 3 })
}

/// Creates a mutex.
pub fn create_mutex(owner: u32, count: u32) -> Call {
    call(Operation::MutexCreate { owner, count })
}

/// Makes an object the caller's own.
pub fn adopt(object: Id) -> Call {
    call(Operation::Adopt { object })
}

/// The caller's process holds an object.
pub fn hold(object: Id) -> Call {
    call(Operation::Hold { object })
}

/// The process of a thread, which is one of its own, holds an object.
pub fn hold_for(object: Id, thread: ThreadId) -> Call {
    call(Operation::HoldFor { object, thread })
}

/// Asks how often the caller's process holds an object.
pub fn holds(object: Id) -> Call {
    call(Operation::Holds { object })
}

/// The caller's process holds it no more, or once less.
pub fn release(object: Id) -> Call {
    call(Operation::Release { object })
}

/// The same; an owner does not keep the object.
pub fn release_from_owner(object: Id) -> Call {
    call(Operation::ReleaseFromOwner { object })
}

/// The object lives although nobody holds it.
pub fn permanent(object: Id) -> Call {
    call(Operation::MakePermanent { object })
}

/// It does not any more.
pub fn temporary(object: Id) -> Call {
    call(Operation::MakeTemporary { object })
}

/// Opens the object with this name, or creates it with this value.
pub fn create_named(name: Name, value: &Value) -> Call {
    call(Operation::CreateNamed { name, value: value.clone() })
}

/// Opens the object with this name, of this kind.
pub fn open(name: Name, like: &Value) -> Call {
    call(Operation::OpenNamed { name, like: like.clone() })
}

/// Says that a thread has ended.
pub fn bury_thread(thread: ThreadId) -> Call {
    call(Operation::BuryThread { thread })
}

/// Says that a thread's process has ended.
pub fn bury_process(thread: ThreadId) -> Call {
    call(Operation::BuryProcess { thread })
}

/// Closes an object.
pub fn close(object: Id) -> Call {
    call(Operation::Close { object })
}

/// Reads an object of this kind.
pub fn read(object: Id, kind: &Value) -> Call {
    call(match kind {
        Value::Semaphore(_) => Operation::SemaphoreRead { object },
        Value::Mutex(_) => Operation::MutexRead { object },
        Value::Event(_) => Operation::EventRead { object },
        Value::Timer(_) => Operation::TimerRead { object },
        Value::End(_) => Operation::EndRead { object },
    })
}
