// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calls of the core as plain data, which is passed through shared memory, and which the sequential model understands.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use ntux_platform::clock;
use ntux_sync::spec::{self, Answer, Outcome};
use ntux_sync::{
    Arena, Clock, Deadline, Detached, Due, Error, Gone, Kind, Name, New, Object, Registered, Result, Waiter, fields,
};

use super::board::Board;
use super::passing::{receive, send};
use super::planted;

/// One call. Objects are numbers that [`Board::object`] resolves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    Create(New),
    /// Creates an event and sets it.
    CreateAndUse(New),
    DescriptorCreate(New),
    /// The same as the drop-in device does it, whose process answers for its objects.
    FamilyCreate(New),
    /// The same, and a second family receives the event in a message and sets it. The first closes its descriptor while the
    /// message is on its way, or after that, or last.
    FamilyPass(New, Closes),
    /// The same with so many receivers that the last one finds no place for a claim. It uses the event when all others have closed
    /// their descriptors.
    FamilyCrowd(New),
    /// Makes an event, executes a program that keeps its descriptor, and that sets it. (Of an exec, what the kernel does: the
    /// mappings go, and with them the family; the descriptor stays.)
    FamilyExec(New),
    /// Makes an event, copies its descriptor, has a message refused, and closes both: it ends.
    FamilyCopy(New),
    /// Makes an event and forks a child, which sets it when its parent has closed its descriptor. (Of a fork, what the kernel does: a
    /// copy of the descriptor, and the page of the child's family.)
    FamilyFork(New),
    /// Makes an object that it holds twice, uses it, and releases it: it ends.
    HoldAndRelease(New),
    /// Holds an object of somebody else's, and releases it.
    HoldOnce(u8),
    /// The same, and keeps it.
    Hold(u8),
    /// Makes a mutex that it owns, and releases it; then it unlocks it.
    ReleaseOwned,
    /// Creates an event by its name, or opens it, sets it, and keeps it.
    NameAndKeep,
    /// The same, and releases it.
    NameAndRelease,
    /// The same, and makes it permanent before, and temporary again.
    NameForGood,
    /// Creates an event by its name, or opens it, hands it to the harness, which holds it from then on, sets it, and releases it.
    NameAndHandOver,
    /// The harness releases that event as often as it holds it.
    LetGoOfNamed,
    /// Creates the event by its name, or opens it; whoever does so a second time gets the same. Releases it.
    FindName,
    /// Takes the owner id of its thread, locks the mutex with the name of the harness, unlocks and locks it again, and ends that owner.
    Own,
    /// Locks that mutex, and keeps it.
    OwnAndKeep,
    Adopt(u8),
    Close(u8),
    Release(u8, u32),
    ReadSemaphore(u8),
    Unlock(u8, u32),
    Kill(u8, u32),
    ReadMutex(u8),
    Set(u8),
    Reset(u8),
    Pulse(u8),
    ReadEvent(u8),
    /// Arms a timer that is due at once.
    Arm(u8),
    /// Arms a timer that is never due.
    ArmForLater(u8),
    Disarm(u8),
    ReadTimer(u8),
    Report(u8),
    ReadEnd(u8),
    Wait(Wait),
    /// Makes the queue of the scenario.
    QueueCreate,
    QueueClose,
    /// A wait without a thread, known by its label.
    Detach(u8, Wait),
    /// A packet with this label.
    Post(u8),
    /// Takes the result of such a wait, or a packet.
    Collect(Until),
    Cancel(u8),
    /// Attaches the arena once more, and uses it.
    Attach,
    /// Takes a place in the arena; what is made for that is closed again.
    Enroll,
    /// Gives the place back.
    Retire,
    /// Takes all objects and places that are left, and keeps them.
    Exhaust,
    /// The same, and holds each object twice.
    ExhaustTwice,
    /// Says that the last process that died early did.
    BuryProcess,
    /// The same of its thread.
    BuryThread,
    /// Counts the objects and places that can be had, and gives them back.
    Sweep,
    /// The same of objects alone, each of which must be new: an event that nobody has set.
    SweepNew,
    /// The same, after the event with the name is temporary: what made it permanent may have died.
    SweepNamed,
    /// Locks the mutex with the name of the harness, whoever had it, and takes every owner id.
    SweepOwners,
    /// The same with objects behind descriptors, each of which must be new: an event that nobody has set.
    SweepDescriptors,
    /// The same, and all room for waiters beyond an object's own.
    SweepChunks,
    /// The same as [`Operation::Sweep`]; fails unless all queues can be had.
    SweepQueues,
    /// Counts under a lock that the dead never release.
    PlantedLock,
    /// Takes a unit and gives it back; the harness is told that this is one step.
    PlantedLoan(u8),
    /// The same as [`Operation::FamilyCrowd`], and the last receiver releases the flight's byte, although it has no claim.
    PlantedCrowd(New),
    /// The same as [`Operation::FamilyFork`], and nobody claims the event for the child.
    PlantedFork(New),
    /// The same as [`Operation::FamilyExec`], and nobody says that the descriptor will be kept.
    PlantedExec(New),
}

/// Two times between which the clock is as long as anybody looks.
pub const LONG_AGO: Due = Due { clock: Clock::Monotonic, at_ns: 1 };
const FAR_OFF: Due = Due { clock: Clock::Monotonic, at_ns: 1 << 61 };

/// When the maker of an object closes its descriptor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Closes {
    BeforeItArrives,
    BeforeTheReceiver,
    Last,
}

/// The arguments of a wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wait {
    pub all: bool,
    pub objects: Numbers,
    pub alert: Option<u8>,
    pub owner: u32,
    pub until: Until,
}

/// How long to wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Until {
    Now,
    Never,
    Milliseconds(u32),
}

/// Up to four objects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Numbers {
    count: u8,
    numbers: [u8; 4],
}

impl Numbers {
    pub const fn new(list: &[u8]) -> Numbers {
        let mut numbers = [0; 4];
        let mut place = 0;
        while place < list.len() {
            numbers[place] = list[place];
            place += 1;
        }
        Numbers { count: list.len() as u8, numbers }
    }

    pub fn as_slice(&self) -> &[u8] {
        &self.numbers[..usize::from(self.count)]
    }
}

impl Wait {
    pub const fn any(objects: &[u8], owner: u32, until: Until) -> Wait {
        Wait { all: false, objects: Numbers::new(objects), alert: None, owner, until }
    }

    pub const fn all(objects: &[u8], owner: u32, until: Until) -> Wait {
        Wait { all: true, ..Wait::any(objects, owner, until) }
    }

    pub const fn or_alert(self, alert: u8) -> Wait {
        Wait { alert: Some(alert), ..self }
    }

    pub fn names(&self, object: u8) -> bool {
        self.objects.as_slice().contains(&object) || self.alert == Some(object)
    }

    fn in_model(&self) -> spec::Wait {
        let id = usize::from;
        spec::Wait {
            all: self.all,
            objects: self.objects.as_slice().iter().copied().map(id).collect(),
            alert: self.alert.map(id),
            owner: self.owner,
            poll: self.until == Until::Now,
        }
    }
}

impl Operation {
    /// What it is to the sequential model; none if it changes nothing that the model knows.
    pub fn in_model(&self) -> Option<spec::Operation> {
        use spec::Operation as Model;
        let id = usize::from;
        Some(match *self {
            Operation::Close(object) => Model::Close { object: id(object) },
            Operation::Release(object, units) => Model::SemaphoreRelease { object: id(object), units },
            Operation::ReadSemaphore(object) => Model::SemaphoreRead { object: id(object) },
            Operation::Unlock(object, owner) => Model::MutexUnlock { object: id(object), owner },
            Operation::Kill(object, owner) => Model::MutexKill { object: id(object), owner },
            Operation::ReadMutex(object) => Model::MutexRead { object: id(object) },
            Operation::Set(object) => Model::EventSet { object: id(object) },
            Operation::Reset(object) => Model::EventReset { object: id(object) },
            Operation::Pulse(object) => Model::EventPulse { object: id(object) },
            Operation::ReadEvent(object) => Model::EventRead { object: id(object) },
            Operation::Arm(object) => Model::TimerSet { object: id(object), due: LONG_AGO.at_ns, period: 0 },
            Operation::ArmForLater(object) => Model::TimerSet { object: id(object), due: FAR_OFF.at_ns, period: 0 },
            Operation::Disarm(object) => Model::TimerCancel { object: id(object) },
            Operation::ReadTimer(object) => Model::TimerRead { object: id(object) },
            Operation::Report(object) => Model::EndReport { object: id(object), code: CODE },
            Operation::ReadEnd(object) => Model::EndRead { object: id(object) },
            Operation::Wait(wait) => Model::Wait(wait.in_model()),
            Operation::Detach(label, wait) => Model::Detach { label: id(label), wait: wait.in_model() },
            Operation::Post(label) => Model::Post { key: id(label) },
            Operation::Collect(until) => Model::Collect { poll: until == Until::Now },
            Operation::Cancel(label) => Model::CallOff { label: id(label) },
            _ => return None,
        })
    }

    /// The arguments, if it is a wait.
    pub fn wait(&self) -> Option<&Wait> {
        if let Operation::Wait(wait) = self { Some(wait) } else { None }
    }

    /// Returns true if it may sleep until others have done something.
    pub fn may_sleep(&self) -> bool {
        match self {
            Operation::Wait(wait) => wait.until != Until::Now,
            Operation::Collect(until) => *until != Until::Now,
            _ => false,
        }
    }

    /// Returns true if it is a signal: a thread that dies may have announced it, and others complete it.
    pub fn is_signal(&self) -> bool {
        use Operation::*;
        !matches!(self, Wait(_) | Detach(..) | Collect(_) | Cancel(_) | QueueClose)
    }

    /// Returns whether it names this object.
    pub fn names(&self, object: u8) -> bool {
        use Operation::*;
        match *self {
            HoldOnce(named) | Hold(named) => named == object,
            Adopt(named) | Close(named) | Release(named, _) | ReadSemaphore(named) | Unlock(named, _) => {
                named == object
            }
            Kill(named, _) | ReadMutex(named) | Set(named) | Reset(named) | Pulse(named) => named == object,
            Arm(named) | ArmForLater(named) | Disarm(named) | ReadTimer(named) => named == object,
            ReadEvent(named) | Report(named) | ReadEnd(named) | PlantedLoan(named) => named == object,
            Wait(wait) | Detach(_, wait) => wait.names(object),
            _ => false,
        }
    }

    /// Returns true if it sweeps objects, and does not look for places.
    pub fn is_of_objects(self) -> bool {
        matches!(self, Operation::SweepDescriptors | Operation::SweepNew | Operation::SweepNamed)
    }
}

/// With which code owners end.
const CODE: u32 = 3;

/// The event that operations name.
const EVENT: New = New::Event { manual: true, signaled: false };

fn event_name() -> Result<Name<'static>> {
    Name::new("the event of the harness")
}

/// A thread that performs operations.
pub struct Performer<'a> {
    pub arena: &'a Arena,
    pub board: &'static Board,
    pub waiter: Waiter,
}

impl<'a> Performer<'a> {
    pub fn new(arena: &'a Arena, board: &'static Board) -> Performer<'a> {
        Performer { arena, board, waiter: arena.waiter() }
    }

    pub fn perform(&self, operation: Operation) -> Outcome {
        let Performer { arena, board, waiter } = self;
        let object = |number: u8| board.object(number);
        match operation {
            Operation::Create(new) => arena.create_new(waiter, new).map(|_| Answer::Done),
            Operation::CreateAndUse(new) => {
                let object = arena.create_new(waiter, new)?;
                arena.event_set(waiter, object).map(|_| Answer::Done)
            }
            Operation::DescriptorCreate(new) => self.descriptor_create(new),
            Operation::FamilyCreate(new) => self.family_create(new),
            Operation::FamilyPass(new, closes) => self.family_pass(new, closes),
            Operation::FamilyCrowd(new) => self.family_crowd(new, |_, _| Ok(())),
            Operation::FamilyExec(new) => self.family_exec(new, Arena::leaving),
            Operation::FamilyCopy(new) => self.family_copy(new),
            Operation::FamilyFork(new) => self.family_fork(new, true),
            Operation::HoldAndRelease(new) => self.hold_and_release(new),
            Operation::HoldOnce(number) => {
                arena.hold(object(number))?;
                arena.release(object(number)).map(|()| Answer::Done)
            }
            Operation::Hold(number) => arena.hold(object(number)).map(|()| Answer::Done),
            Operation::ReleaseOwned => self.release_owned(),
            Operation::NameAndKeep => self.name().map(|_| Answer::Done),
            Operation::NameAndRelease => arena.release(self.name()?).map(|()| Answer::Done),
            Operation::NameAndHandOver => self.hand_over(),
            Operation::LetGoOfNamed => self.let_go_of_named(),
            Operation::NameForGood => {
                let event = self.name()?;
                arena.make_permanent(event)?;
                arena.release(event)?;
                match arena.make_temporary(event) {
                    // A sweep has made it temporary meanwhile.
                    Err(Error::NoSuchObject) => Ok(Answer::Done),
                    done => done.map(|()| Answer::Done),
                }
            }
            Operation::FindName => self.find_name(),
            Operation::Own => self.own(),
            Operation::OwnAndKeep => {
                let owner = arena.owner_of_this_thread(waiter)?;
                self.lock(self.named_mutex()?, owner).map(|()| Answer::Done)
            }
            Operation::Adopt(number) => arena.adopt(object(number)).map(|()| Answer::Done),
            Operation::Close(number) => arena.close(object(number)).map(|()| Answer::Done),
            Operation::Release(number, units) => {
                arena.semaphore_release(waiter, object(number), units).map(Answer::Count)
            }
            Operation::ReadSemaphore(number) => {
                arena.semaphore_read(waiter, object(number)).map(|(count, max)| Answer::Semaphore(count, max))
            }
            Operation::Unlock(number, owner) => arena.mutex_unlock(waiter, object(number), owner).map(Answer::Count),
            Operation::Kill(number, owner) => arena.mutex_kill(waiter, object(number), owner).map(|()| Answer::Done),
            Operation::ReadMutex(number) => arena.mutex_read(waiter, object(number)).map(Answer::Mutex),
            Operation::Set(number) => arena.event_set(waiter, object(number)).map(Answer::Signaled),
            Operation::Reset(number) => arena.event_reset(waiter, object(number)).map(Answer::Signaled),
            Operation::Pulse(number) => arena.event_pulse(waiter, object(number)).map(Answer::Signaled),
            Operation::ReadEvent(number) => {
                arena.event_read(waiter, object(number)).map(|(manual, signaled)| Answer::Event(manual, signaled))
            }
            Operation::Arm(number) => arena.timer_set(waiter, object(number), LONG_AGO, 0).map(|()| Answer::Done),
            Operation::ArmForLater(number) => {
                arena.timer_set(waiter, object(number), FAR_OFF, 0).map(|()| Answer::Done)
            }
            Operation::Disarm(number) => arena.timer_cancel(waiter, object(number)).map(|()| Answer::Done),
            Operation::ReadTimer(number) => arena
                .timer_read(waiter, object(number))
                .map(|timer| Answer::Timer(timer.signaled, timer.due.map(|due| due.at_ns))),
            Operation::Report(number) => {
                arena.end_report(waiter, object(number), CODE).map(|in_time| Answer::Signaled(!in_time))
            }
            Operation::ReadEnd(number) => arena.end_read(waiter, object(number)).map(Answer::End),
            Operation::Wait(wait) => self.wait(&wait),
            Operation::QueueCreate => arena.queue_create().map(|queue| {
                board.name_queue(queue);
                Answer::Done
            }),
            Operation::QueueClose => {
                let queue = board.queue().ok_or(Error::Invalid)?;
                arena.queue_close(waiter, queue).map(|()| Answer::Done)
            }
            Operation::Detach(label, wait) => self.detach(label, &wait),
            Operation::Post(label) => {
                let queue = board.queue().ok_or(Error::Invalid)?;
                arena.post(waiter, queue, label.into()).map(|()| Answer::Done)
            }
            Operation::Collect(until) => {
                let queue = board.queue().ok_or(Error::Invalid)?;
                let delivered = arena.collect(waiter, queue, deadline(until))?;
                let label = delivered.key as usize;
                Ok(match delivered.registration {
                    Some(_) => Answer::Delivered(label, delivered.satisfied),
                    None => Answer::Packet(label),
                })
            }
            Operation::Cancel(label) => {
                let registration = board.registration(label).ok_or(Error::NoSuchObject)?;
                Ok(arena.cancel(waiter, registration)?.map_or(Answer::Done, Answer::Satisfied))
            }
            Operation::Attach => self.attach(),
            Operation::Enroll => self.enroll(),
            Operation::Retire => {
                arena.retire(waiter);
                Ok(Answer::Done)
            }
            Operation::Exhaust => self.exhaust(),
            Operation::ExhaustTwice => {
                let places = self.places()?;
                let objects = self.objects()?;
                objects.iter().try_for_each(|object| arena.hold(*object))?;
                Ok(Answer::Semaphore(objects.len() as u32, places.len() as u32))
            }
            Operation::BuryProcess => arena.bury_process(board.dead.load()).map(|()| Answer::Done),
            Operation::BuryThread => {
                arena.bury_thread(board.dead.load(), board.dead.load().into()).map(|()| Answer::Done)
            }
            Operation::Sweep => self.sweep(),
            Operation::SweepNew => self.sweep_new(),
            Operation::SweepNamed => self.sweep_named(),
            Operation::SweepOwners => self.sweep_owners(),
            Operation::SweepDescriptors => self.sweep_descriptors(),
            Operation::SweepChunks => self.sweep_chunks(),
            Operation::SweepQueues => self.sweep_queues(),
            Operation::PlantedLock => planted::count_under_the_lock(board),
            Operation::PlantedLoan(number) => planted::lend(self, number),
            Operation::PlantedCrowd(new) => self.family_crowd(new, planted::release_the_flight),
            Operation::PlantedFork(new) => self.family_fork(new, false),
            Operation::PlantedExec(new) => self.family_exec(new, |_| true),
        }
    }

    /// The objects that a wait names, in their order; those behind them mean nothing.
    fn objects_of(&self, wait: &Wait) -> [Object; 4] {
        let mut objects = [Object(0); 4];
        for (object, &number) in objects.iter_mut().zip(wait.objects.as_slice()) {
            *object = self.board.object(number);
        }
        objects
    }

    fn detach(&self, label: u8, wait: &Wait) -> Outcome {
        let queue = self.board.queue().ok_or(Error::Invalid)?;
        let objects = self.objects_of(wait);
        let objects = &objects[..wait.objects.as_slice().len()];
        let wanted = Detached { objects, all: wait.all, owner: wait.owner, key: label.into() };
        match self.arena.wait_detached(&self.waiter, queue, wanted)? {
            Registered::Satisfied(satisfied) => Ok(Answer::Satisfied(satisfied)),
            Registered::Waits(registration) => {
                self.board.name_registration(label, Some(registration));
                Ok(Answer::Waits)
            }
        }
    }

    fn wait(&self, wait: &Wait) -> Outcome {
        let objects = self.objects_of(wait);
        let objects = &objects[..wait.objects.as_slice().len()];
        let alert = wait.alert.map(|number| self.board.object(number));
        let deadline = deadline(wait.until);
        let satisfied = match wait.all {
            false => self.arena.wait_any(&self.waiter, objects, alert, wait.owner, deadline),
            true => self.arena.wait_all(&self.waiter, objects, alert, wait.owner, deadline),
        };
        satisfied.map(Answer::Satisfied)
    }

    fn hold_and_release(&self, new: New) -> Outcome {
        let (arena, waiter) = (self.arena, &self.waiter);
        let object = arena.create_new(waiter, new)?;
        arena.hold(object)?;
        arena.release(object)?;
        arena.event_set(waiter, object)?;
        arena.release(object)?;
        match arena.hold(object) {
            Err(Error::NoSuchObject) => Ok(Answer::Done),
            _ => Err(Error::Corrupt),
        }
    }

    fn release_owned(&self) -> Outcome {
        const OWNER: u32 = 77;
        let mutex = self.arena.mutex_create(&self.waiter, OWNER, 2)?;
        self.arena.release(mutex)?;
        self.arena.mutex_unlock(&self.waiter, mutex, OWNER)?;
        self.arena.mutex_unlock(&self.waiter, mutex, OWNER).map(|_| Answer::Done)
    }

    /// The event with the name of the harness, which is set now, and held by this process once more.
    fn name(&self) -> Result<Object> {
        let (event, _) = self.arena.create_named(&self.waiter, event_name()?, EVENT)?;
        self.arena.event_set(&self.waiter, event)?;
        Ok(event)
    }

    fn hand_over(&self) -> Outcome {
        let event = self.name()?;
        self.arena.hold_for(event, self.board.harness.load())?;
        self.arena.release(event).map(|()| Answer::Done)
    }

    fn let_go_of_named(&self) -> Outcome {
        match self.arena.open_named(event_name()?, Kind::ManualEvent) {
            Ok(event) => (0..self.arena.holds(event)?).try_for_each(|_| self.arena.release(event))?,
            Err(Error::NoSuchName) => {}
            Err(error) => return Err(error),
        }
        Ok(Answer::Done)
    }

    fn find_name(&self) -> Outcome {
        let (arena, waiter) = (self.arena, &self.waiter);
        let (event, _) = arena.create_named(waiter, event_name()?, EVENT)?;
        let again = arena.create_named(waiter, event_name()?, EVENT)?;
        let opened = arena.open_named(event_name()?, Kind::ManualEvent)?;
        arena.event_set(waiter, event)?;
        for _ in 0..3 {
            arena.release(event)?;
        }
        if again == (event, true) && opened == event { Ok(Answer::Done) } else { Err(Error::Corrupt) }
    }

    /// Objects that can be had, which are events that nobody has set.
    fn sweep_named(&self) -> Outcome {
        if let Ok(event) = self.arena.open_named(event_name()?, Kind::ManualEvent) {
            self.arena.make_temporary(event)?;
            self.arena.release(event)?;
        }
        self.sweep_new()
    }

    /// The mutex with the name of the harness, held by this process once more.
    fn named_mutex(&self) -> Result<Object> {
        let name = Name::new("the mutex of the harness")?;
        self.arena.create_named(&self.waiter, name, New::Mutex { owner: 0, count: 0 }).map(|(mutex, _)| mutex)
    }

    fn lock(&self, mutex: Object, owner: u32) -> Result<()> {
        self.arena.wait_any(&self.waiter, &[mutex], None, owner, Deadline::NOW).map(drop)
    }

    fn own(&self) -> Outcome {
        let (arena, mutex) = (self.arena, self.named_mutex()?);
        let owner = arena.owner_of_this_thread(&self.waiter)?;
        self.lock(mutex, owner)?;
        arena.mutex_unlock(&self.waiter, mutex, owner)?;
        self.lock(mutex, owner)?;
        arena.owner_end(&self.waiter, owner)?;
        arena.release(mutex).map(|()| Answer::Done)
    }

    fn sweep_owners(&self) -> Outcome {
        let (arena, mutex) = (self.arena, self.named_mutex()?);
        let mut owners = vec![arena.owner_create(&self.waiter)?];
        self.lock(mutex, owners[0])?;
        arena.mutex_unlock(&self.waiter, mutex, owners[0])?;
        arena.release(mutex)?;
        loop {
            match arena.owner_create(&self.waiter) {
                Ok(owner) => owners.push(owner),
                Err(Error::Exhausted) => break,
                Err(error) => return Err(error),
            }
        }
        owners.iter().try_for_each(|&owner| arena.owner_end(&self.waiter, owner))?;
        Ok(Answer::Semaphore(0, owners.len() as u32))
    }

    fn sweep_new(&self) -> Outcome {
        let objects = self.objects()?;
        for &object in &objects {
            if self.arena.event_read(&self.waiter, object)? != (false, false) {
                return Err(Error::Corrupt);
            }
            self.arena.release(object)?;
        }
        Ok(Answer::Semaphore(objects.len() as u32, 0))
    }

    fn descriptor_create(&self, new: New) -> Outcome {
        let via = self.arena.fd().ok_or(Error::NotAnArena)?;
        let (held, _) = self.arena.descriptor_create(&self.waiter, via, new)?;
        give_up(self.arena, held)?;
        Ok(Answer::Done)
    }

    fn family_create(&self, new: New) -> Outcome {
        let via = self.arena.fd().ok_or(Error::NotAnArena)?;
        let arena = Arena::map_for_descriptors(via)?;
        let (held, _) = arena.descriptor_create(&arena.waiter(), via, new)?;
        give_up(&arena, held)?;
        Ok(Answer::Done)
    }

    fn family_pass(&self, new: New, closes: Closes) -> Outcome {
        let via = self.arena.fd().ok_or(Error::NotAnArena)?;
        let (maker, receiver) = (Arena::map_for_descriptors(via)?, Arena::map_for_descriptors(via)?);
        let (here, there) = UnixStream::pair().map_err(system)?;
        let (held, object) = maker.descriptor_create(&maker.waiter(), via, new)?;
        maker.sending(held.as_fd(), object);
        send(&here, held.as_fd()).map_err(system)?;
        let mut held = Some(held);
        let mut close_here = |when: Closes| match held.take_if(|_| closes == when) {
            Some(held) => close_sole(&maker, held, object),
            None => Ok(()),
        };
        close_here(Closes::BeforeItArrives)?;
        let copy = receive(&there).map_err(system)?;
        if !receiver.arrived(copy.as_fd(), object) {
            return Err(Error::Corrupt);
        }
        close_here(Closes::BeforeTheReceiver)?;
        receiver.event_set(&receiver.waiter(), object)?;
        close_sole(&receiver, copy, object)?;
        close_here(Closes::Last)?;
        match maker.kind(object) {
            Err(Error::NoSuchObject) => Ok(Answer::Done),
            _ => Err(Error::Corrupt),
        }
    }

    fn family_crowd(&self, new: New, without_a_claim: impl Fn(BorrowedFd<'_>, Object) -> Result<()>) -> Outcome {
        let via = self.arena.fd().ok_or(Error::NotAnArena)?;
        let maker = Arena::map_for_descriptors(via)?;
        let (held, object) = maker.descriptor_create(&maker.waiter(), via, new)?;
        let receive_from_the_maker = || {
            let receiver = Arena::map_for_descriptors(via)?;
            let (here, there) = UnixStream::pair().map_err(system)?;
            maker.sending(held.as_fd(), object);
            send(&here, held.as_fd()).map_err(system)?;
            let copy = receive(&there).map_err(system)?;
            let has_claim = receiver.arrived(copy.as_fd(), object);
            Ok((receiver, copy, has_claim))
        };
        let claimants = [(); 4].map(|()| receive_from_the_maker());
        let (last, copy, false) = receive_from_the_maker()? else { return Err(Error::Corrupt) };
        without_a_claim(copy.as_fd(), object)?;
        close_sole(&maker, held, object)?;
        for claimant in claimants {
            let (claimant, copy, has_claim) = claimant?;
            if !has_claim {
                return Err(Error::Corrupt);
            }
            close_sole(&claimant, copy, object)?;
        }
        last.event_set(&last.waiter(), object)?;
        give_up(&last, copy).map(|()| Answer::Done)
    }

    fn family_exec(&self, new: New, keep: impl Fn(BorrowedFd<'_>) -> bool) -> Outcome {
        let via = self.arena.fd().ok_or(Error::NotAnArena)?;
        let before = Arena::map_for_descriptors(via)?;
        let (held, object) = before.descriptor_create(&before.waiter(), via, new)?;
        if !keep(held.as_fd()) {
            return Err(Error::Corrupt);
        }
        drop(before);
        let after = Arena::map_for_descriptors(via)?;
        if Arena::identify(held.as_fd())?.object != Some(object) {
            return Err(Error::Corrupt);
        }
        after.received(held.as_fd(), object);
        after.event_set(&after.waiter(), object)?;
        give_up(&after, held).map(|()| Answer::Done)
    }

    fn family_copy(&self, new: New) -> Outcome {
        let via = self.arena.fd().ok_or(Error::NotAnArena)?;
        let maker = Arena::map_for_descriptors(via)?;
        let (held, object) = maker.descriptor_create(&maker.waiter(), via, new)?;
        if !maker.copying(object) {
            return Err(Error::Corrupt);
        }
        let copy = held.try_clone().map_err(system)?;
        if !maker.sending(copy.as_fd(), object) {
            return Err(Error::Corrupt);
        }
        maker.unsent(copy.as_fd(), object);
        close_sole(&maker, held, object)?;
        maker.event_set(&maker.waiter(), object)?;
        close_sole(&maker, copy, object)?;
        match maker.kind(object) {
            Err(Error::NoSuchObject) => Ok(Answer::Done),
            _ => Err(Error::Corrupt),
        }
    }

    fn family_fork(&self, new: New, claims: bool) -> Outcome {
        let via = self.arena.fd().ok_or(Error::NotAnArena)?;
        let maker = Arena::map_for_descriptors(via)?;
        let (held, object) = maker.descriptor_create(&maker.waiter(), via, new)?;
        let child = maker.found_for_child(via)?;
        if claims {
            maker.inherit(held.as_fd(), object, child.family(), true, &Gone::default());
        }
        let copy = held.try_clone().map_err(system)?;
        close_sole(&maker, held, object)?;
        maker.event_set(&maker.waiter(), object)?;
        // The child ends, and its last copy with it.
        drop(copy);
        drop(child);
        Ok(Answer::Done)
    }

    fn sweep_descriptors(&self) -> Outcome {
        let via = self.arena.fd().ok_or(Error::NotAnArena)?;
        let mut objects = Vec::new();
        loop {
            match self.arena.descriptor_create(&self.waiter, via, New::Event { manual: false, signaled: false }) {
                Ok((_, object)) if self.arena.event_read(&self.waiter, object)? != (false, false) => {
                    return Err(Error::Corrupt);
                }
                Ok((held, _)) => objects.push(held),
                Err(Error::Exhausted) => break,
                Err(error) => return Err(error),
            }
        }
        let count = objects.len() as u32;
        objects.into_iter().try_for_each(|held| give_up(self.arena, held))?;
        Ok(Answer::Semaphore(count, 0))
    }

    fn attach(&self) -> Outcome {
        let arena = Arena::attach(self.arena.fd().ok_or(Error::NotAnArena)?)?;
        let waiter = arena.waiter();
        let object = arena.create_new(&waiter, New::Semaphore { count: 0, max: 1 })?;
        arena.semaphore_release(&waiter, object, 1)?;
        arena.close(object)?;
        Ok(Answer::Done)
    }

    /// A wait that finds a later object than the first makes a claim of its own, so it needs a place.
    fn probe(&self, waiter: &Waiter, never: Object, plenty: Object) -> Result<()> {
        self.arena.wait_any(waiter, &[never, plenty], None, u32::MAX, Deadline::NOW).map(|_| ())
    }

    fn with_probes<T>(&self, body: impl FnOnce(Object, Object) -> Result<T>) -> Result<T> {
        let never = self.arena.create_new(&self.waiter, New::Event { manual: false, signaled: false })?;
        let plenty = self.arena.create_new(&self.waiter, New::Semaphore { count: u32::MAX, max: u32::MAX })?;
        let result = body(never, plenty);
        self.arena.close(never)?;
        self.arena.close(plenty)?;
        result
    }

    fn enroll(&self) -> Outcome {
        self.with_probes(|never, plenty| self.probe(&self.waiter, never, plenty)).map(|()| Answer::Done)
    }

    fn places(&self) -> Result<Vec<Waiter>> {
        self.with_probes(|never, plenty| {
            let mut places = Vec::new();
            loop {
                let waiter = self.arena.waiter();
                match self.probe(&waiter, never, plenty) {
                    Ok(()) => places.push(waiter),
                    Err(Error::Exhausted) => return Ok(places),
                    Err(error) => return Err(error),
                }
            }
        })
    }

    fn objects(&self) -> Result<Vec<Object>> {
        let mut objects = Vec::new();
        loop {
            match self.arena.create_new(&self.waiter, New::Event { manual: false, signaled: false }) {
                Ok(object) => objects.push(object),
                Err(Error::Exhausted) => return Ok(objects),
                Err(error) => return Err(error),
            }
        }
    }

    fn exhaust(&self) -> Outcome {
        let places = self.places()?;
        let objects = self.objects()?;
        Ok(Answer::Semaphore(objects.len() as u32, places.len() as u32))
    }

    /// Objects and places that can be had, as the two numbers of the answer.
    fn sweep(&self) -> Outcome {
        let objects = self.objects()?;
        for &object in &objects {
            self.arena.close(object)?;
        }
        let places = self.places()?;
        for waiter in &places {
            self.arena.retire(waiter);
        }
        Ok(Answer::Semaphore(objects.len() as u32, places.len() as u32))
    }

    fn sweep_queues(&self) -> Outcome {
        let tables = fields::tables(self.arena.capacity()).ok_or(Error::Corrupt)?;
        let count = tables.iter().find(|table| table.name == "queues").map_or(0, |table| table.count);
        let mut queues = Vec::new();
        loop {
            match self.arena.queue_create() {
                Ok(queue) => queues.push(queue),
                Err(Error::Exhausted) => break,
                Err(error) => return Err(error),
            }
        }
        let all = queues.len() as u32 == count;
        queues.into_iter().try_for_each(|queue| self.arena.queue_close(&self.waiter, queue))?;
        if all { self.sweep() } else { Err(Error::Exhausted) }
    }

    /// Four threads wait for as many objects as there are chunks: each object needs one, since three entries fit its
    /// own line. Object 0 may have got its chunk already.
    fn sweep_chunks(&self) -> Outcome {
        // What a dead thread left in a wait set stays there until somebody has its place.
        self.places()?.iter().for_each(|waiter| self.arena.retire(waiter));
        let chunks = 2 * self.arena.capacity().waiters as usize;
        let event = || self.arena.create_new(&self.waiter, New::Event { manual: true, signaled: false });
        let mut objects = vec![self.board.object(0)];
        for _ in 2..chunks {
            objects.push(event()?);
        }
        let over = event()?;
        while self.arena.wait_any(&self.waiter, &objects[..1], None, u32::MAX, Deadline::NOW).is_ok() {}
        let wait = |until| {
            let waiter = self.arena.waiter();
            let ended = self.arena.wait_any(&waiter, &objects, Some(over), u32::MAX, until);
            self.arena.retire(&waiter);
            ended
        };
        let ended = std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| wait(Deadline::Never));
            }
            std::thread::sleep(Duration::from_millis(5));
            let ended = wait(Deadline::Monotonic(clock::monotonic_ns() + 1_000_000));
            self.arena.event_set(&self.waiter, over).map(|_| ended)
        })?;
        objects.drain(1..).chain([over]).try_for_each(|object| self.arena.close(object))?;
        match ended {
            Err(Error::TimedOut) => self.sweep(),
            Err(error) => Err(error),
            Ok(_) => Err(Error::Corrupt),
        }
    }
}

fn deadline(until: Until) -> Deadline {
    match until {
        Until::Now => Deadline::NOW,
        Until::Never => Deadline::Never,
        Until::Milliseconds(ms) => Deadline::Monotonic(clock::monotonic_ns() + u64::from(ms) * 1_000_000),
    }
}

pub(super) fn system(error: std::io::Error) -> Error {
    Error::Os(error.raw_os_error().unwrap_or(0))
}

/// Closes a descriptor that its family counts, as the drop-in device does.
fn close_sole(arena: &Arena, held: OwnedFd, object: Object) -> Result<()> {
    if !arena.may_release(object) {
        return Err(Error::Corrupt);
    }
    drop(held);
    arena.released(object);
    Ok(())
}

/// Closes any other one in the same way.
fn give_up(arena: &Arena, held: OwnedFd) -> Result<()> {
    let object = Arena::identify(held.as_fd())?.object.ok_or(Error::Corrupt)?;
    arena.closing(held.as_fd(), object);
    Ok(())
}
