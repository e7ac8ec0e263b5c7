// SPDX-License-Identifier: MIT OR Apache-2.0
//! Performs an operation through one of the faces: the core, the Rust crate, the C library.

use core::ffi::c_int;
use std::ffi::CString;
use std::os::fd::AsRawFd;

use ntux::{Arena, Event, MutexObject, Semaphore};
// Defines the C functions.
use ntux_capi as _;
use ntux_sync::{Clock, Deadline, Detached, Due, Error, Kind, Name, New, Object, Queue, Registration};
use ntux_testkit::c;

use super::operation::{Operation, Outcome, Wait};

/// The names that operations use.
const NAMES: [&str; 3] = ["a", "Global\\event", "a name of more bytes than four words of a text have"];

/// The faces that offer the operations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Face {
    Core,
    Rust,
    C,
}

/// What an operation came to, and the object that it created.
pub struct Done {
    pub outcome: Outcome,
    pub created: Option<Object>,
}

type Result<T> = std::result::Result<T, Error>;

impl From<Result<()>> for Done {
    fn from(result: Result<()>) -> Done {
        Done { outcome: Outcome(result.map_or_else(Error::errno, |()| 0)), created: None }
    }
}

impl From<Result<Object>> for Done {
    fn from(result: Result<Object>) -> Done {
        Done { created: result.ok(), ..Done::from(result.map(drop)) }
    }
}

impl Face {
    /// Performs the operation. Those that only the core offers go to the core.
    pub fn perform(self, arena: &Arena, operation: &Operation, deadline: Deadline) -> Done {
        match self {
            Face::Rust => rust(arena, operation, deadline),
            Face::C => in_c(arena, operation, deadline),
            Face::Core => None,
        }
        .unwrap_or_else(|| core(arena, operation, deadline))
    }
}

fn core(arena: &Arena, operation: &Operation, deadline: Deadline) -> Done {
    arena.with_waiter(|core, waiter| match operation {
        Operation::Create(new) => core.create_new(waiter, *new).into(),
        Operation::CreateDescriptor(new) => descriptor(core, waiter, *new).into(),
        Operation::Close(object) => core.close(*object).into(),
        Operation::Adopt(object) => core.adopt(*object).into(),
        Operation::Hold(object) => core.hold(*object).into(),
        Operation::HoldFor(object, process) => core.hold_for(*object, *process).into(),
        Operation::Holds(object) => core.holds(*object).map(drop).into(),
        Operation::LetGo(object) => core.release(*object).into(),
        Operation::CreateNamed(name, new) => Name::new(NAMES[usize::from(*name)])
            .and_then(|name| core.create_named(waiter, name, *new))
            .map(|made| made.0)
            .into(),
        Operation::OpenNamed(name, like) => {
            let name = Name::new(NAMES[usize::from(*name)]).map(Name::ignoring_case);
            name.and_then(|name| core.open_named(name, kind(*like))).into()
        }
        Operation::SetPermanent(object, true) => core.make_permanent(*object).into(),
        Operation::SetPermanent(object, false) => core.make_temporary(*object).into(),
        Operation::Kind(object) => core.kind(*object).map(drop).into(),
        Operation::Release(object, count) => core.semaphore_release(waiter, *object, *count).map(drop).into(),
        Operation::SemaphoreRead(object) => core.semaphore_read(waiter, *object).map(drop).into(),
        Operation::Unlock(object, owner) => core.mutex_unlock(waiter, *object, *owner).map(drop).into(),
        Operation::Kill(object, owner) => core.mutex_kill(waiter, *object, *owner).into(),
        Operation::MutexRead(object) => core.mutex_read(waiter, *object).map(drop).into(),
        Operation::Set(object) => core.event_set(waiter, *object).map(drop).into(),
        Operation::Reset(object) => core.event_reset(waiter, *object).map(drop).into(),
        Operation::Pulse(object) => core.event_pulse(waiter, *object).map(drop).into(),
        Operation::EventRead(object) => core.event_read(waiter, *object).map(drop).into(),
        Operation::TimerSet(object, clock, after_us, period_us) => {
            let due = Due::after_ns(*clock, u64::from(*after_us) * 1000);
            core.timer_set(waiter, *object, due, u64::from(*period_us) * 1000).into()
        }
        Operation::TimerCancel(object) => core.timer_cancel(waiter, *object).into(),
        Operation::TimerRead(object) => core.timer_read(waiter, *object).map(drop).into(),
        Operation::EndReport(object, code) => core.end_report(waiter, *object, *code).map(drop).into(),
        Operation::EndRead(object) => core.end_read(waiter, *object).map(drop).into(),
        Operation::WaitAny(wait) => {
            core.wait_any(waiter, &wait.objects, wait.alert, wait.owner, deadline).map(drop).into()
        }
        Operation::WaitAll(wait) => {
            core.wait_all(waiter, &wait.objects, wait.alert, wait.owner, deadline).map(drop).into()
        }
        Operation::QueueCreate => core.queue_create().map(drop).into(),
        Operation::QueueClose(queue) => of_queue(*queue).and_then(|queue| core.queue_close(waiter, queue)).into(),
        Operation::Detach(queue, all, Wait { objects, owner, .. }) => {
            let wanted = Detached { objects, all: *all, owner: *owner, key: 1 };
            of_queue(*queue).and_then(|queue| core.wait_detached(waiter, queue, wanted)).map(drop).into()
        }
        Operation::Post(queue) => of_queue(*queue).and_then(|queue| core.post(waiter, queue, 1)).into(),
        Operation::Collect(queue, _) => {
            of_queue(*queue).and_then(|queue| core.collect(waiter, queue, deadline)).map(drop).into()
        }
        Operation::Cancel(registration) => core.cancel(waiter, Registration::from_bits(*registration)).map(drop).into(),
        Operation::Retire => {
            core.retire(waiter);
            Ok(()).into()
        }
        Operation::Attach => attach(arena).into(),
        Operation::Join => join(arena).into(),
    })
}

fn of_queue(bits: u64) -> Result<Queue> {
    Queue::from_bits(bits).ok_or(Error::Invalid)
}

fn kind(like: New) -> Kind {
    match like {
        New::Semaphore { .. } => Kind::Semaphore,
        New::Mutex { .. } => Kind::Mutex,
        New::Event { .. } => Kind::AutoEvent,
        New::Timer { .. } => Kind::SyncTimer,
        New::End { .. } => Kind::End,
    }
}

/// Makes an object behind a descriptor, asks the descriptor what it is, and closes it.
fn descriptor(core: &ntux_sync::Arena, waiter: &ntux_sync::Waiter, new: New) -> Result<()> {
    let via = core.fd().ok_or(Error::NotAnArena)?;
    let (fd, _) = core.descriptor_create(waiter, via, new)?;
    let fd = std::os::fd::AsFd::as_fd(&fd);
    let object = ntux_sync::Arena::identify(fd)?.object.ok_or(Error::NotAnArena)?;
    core.closing(fd, object);
    Ok(())
}

/// The header may be rubbish by now: then the arena must be refused, or attached in its true size.
fn attach(arena: &Arena) -> Result<()> {
    let again = Arena::attach(arena.fd())?;
    again.with_waiter(|core, _| core.kind(Object(1 << 32 | u64::from(core.capacity().objects - 1))).map(drop))
}

/// Another attachment registers its process again, takes a place for the thread again, and gives nothing back.
fn join(arena: &Arena) -> Result<()> {
    let again = Arena::attach(arena.fd())?;
    let semaphore = Semaphore::create(&again, 0, 1)?;
    let request = ntux::Wait::by(1).until(Deadline::NOW);
    let _ = again.wait_any(&[semaphore.object(), semaphore.object()], request.alert(semaphore.object()));
    again.close(semaphore.keep())
}

fn rust(arena: &Arena, operation: &Operation, deadline: Deadline) -> Option<Done> {
    // This interface has no object 0: the core is asked for it.
    let named = |object: &Object| ntux::Object::new(object.0);
    let wait = |wait: &Wait| {
        let request = ntux::Wait::by(wait.owner).until(deadline);
        let objects: Option<Vec<ntux::Object>> = wait.objects.iter().map(named).collect();
        let request = match &wait.alert {
            None => Some(request),
            Some(alert) => named(alert).map(|alert| request.alert(alert)),
        };
        objects.zip(request)
    };
    Some(match operation {
        Operation::Create(New::Semaphore { count, max }) => {
            Semaphore::create(arena, *count, *max).map(|semaphore| Object::from(semaphore.keep())).into()
        }
        Operation::Release(object, count) => Semaphore::from_object(arena, named(object)?)
            .and_then(|semaphore| semaphore.release(*count))
            .map(drop)
            .into(),
        Operation::Unlock(object, owner) => {
            MutexObject::from_object(arena, named(object)?).and_then(|mutex| mutex.unlock(*owner)).map(drop).into()
        }
        Operation::MutexRead(object) => {
            MutexObject::from_object(arena, named(object)?).and_then(|mutex| mutex.read()).map(drop).into()
        }
        Operation::Set(object) => {
            Event::from_object(arena, named(object)?).and_then(|event| event.set()).map(drop).into()
        }
        Operation::Pulse(object) => {
            Event::from_object(arena, named(object)?).and_then(|event| event.pulse()).map(drop).into()
        }
        Operation::WaitAny(request) => {
            let (objects, request) = wait(request)?;
            arena.wait_any(&objects, request).map(drop).into()
        }
        Operation::WaitAll(request) => {
            let (objects, request) = wait(request)?;
            arena.wait_all(&objects, request).map(drop).into()
        }
        _ => return None,
    })
}

/// How the C face says that it has caught a panic.
const PANICKED: c_int = -libc::ENOTRECOVERABLE;

fn in_c(arena: &Arena, operation: &Operation, deadline: Deadline) -> Option<Done> {
    let (mut word, mut other, mut object) = (0u32, 0u32, 0u64);
    let (word, other, object) = (&raw mut word, &raw mut other, &raw mut object);
    let handle: *const c::Arena = std::ptr::from_ref(arena).cast();
    let functions = c::Functions::linked();
    // SAFETY: the C face's arena is the Rust one; every place is valid for its answer.
    let result = unsafe {
        match operation {
            Operation::Create(New::Semaphore { count, max }) => {
                (functions.semaphore_create)(handle, *count, *max, object)
            }
            Operation::Create(New::Mutex { owner, count }) => (functions.mutex_create)(handle, *owner, *count, object),
            Operation::Create(New::Event { manual, signaled }) => {
                (functions.event_create)(handle, u32::from(*manual), u32::from(*signaled), object)
            }
            Operation::Create(New::Timer { manual }) => (functions.timer_create)(handle, u32::from(*manual), object),
            Operation::Create(New::End { owner }) => (functions.end_create)(handle, *owner, object),
            Operation::EndReport(end, code) => (functions.end_report)(handle, end.0, *code),
            Operation::EndRead(end) => (functions.end_read)(handle, end.0, word, other, std::ptr::null_mut()),
            Operation::TimerSet(object, clock, after_us, period_us) => {
                let flags = match clock {
                    Clock::Monotonic => 4,
                    Clock::Wall => 5,
                    Clock::Boot => 6,
                };
                let [after_ns, period_ns] = [after_us, period_us].map(|us| u64::from(*us) * 1000);
                (functions.timer_set)(handle, object.0, flags, after_ns, period_ns)
            }
            Operation::TimerCancel(object) => (functions.timer_cancel)(handle, object.0),
            Operation::TimerRead(timer) => {
                let (mut due, mut period) = (0, 0);
                (functions.timer_read)(handle, timer.0, word, other, std::ptr::null_mut(), &mut due, &mut period)
            }
            Operation::Close(object) => (functions.object_close)(handle, object.0),
            Operation::Adopt(object) => (functions.object_adopt)(handle, object.0),
            Operation::Hold(object) => (functions.object_hold)(handle, object.0),
            Operation::HoldFor(object, process) => (functions.object_hold_for)(handle, object.0, *process),
            Operation::Holds(object) => (functions.object_holds)(handle, object.0, word),
            Operation::LetGo(object) => (functions.object_release)(handle, object.0),
            Operation::Release(object, count) => (functions.semaphore_release)(handle, object.0, *count, word),
            Operation::SemaphoreRead(object) => (functions.semaphore_read)(handle, object.0, word, other),
            Operation::Unlock(object, owner) => (functions.mutex_unlock)(handle, object.0, *owner, word),
            Operation::Kill(object, owner) => (functions.mutex_kill)(handle, object.0, *owner),
            Operation::MutexRead(object) => (functions.mutex_read)(handle, object.0, word, other),
            Operation::Set(object) => (functions.event_set)(handle, object.0, word),
            Operation::Reset(object) => (functions.event_reset)(handle, object.0, word),
            Operation::Pulse(object) => (functions.event_pulse)(handle, object.0, word),
            Operation::EventRead(object) => (functions.event_read)(handle, object.0, word, other),
            Operation::WaitAny(wait) => c_wait(functions.wait_any, handle, wait, deadline, word),
            Operation::WaitAll(wait) => c_wait(functions.wait_all, handle, wait, deadline, word),
            Operation::CreateNamed(name, new) => c_create_named(functions, handle, *name, *new, object, word),
            Operation::OpenNamed(name, like) => {
                let kind = match like {
                    New::Semaphore { .. } => 1,
                    New::Mutex { .. } => 2,
                    New::Event { .. } => 3,
                    New::Timer { .. } => 5,
                    New::End { .. } => 7,
                };
                (functions.object_open_named)(handle, c_name(*name).as_ptr(), 1, kind, object)
            }
            Operation::SetPermanent(object, true) => (functions.object_make_permanent)(handle, object.0),
            Operation::SetPermanent(object, false) => (functions.object_make_temporary)(handle, object.0),
            Operation::Attach => c_attach(arena),
            Operation::CreateDescriptor(_) | Operation::Kind(_) | Operation::Retire | Operation::Join => return None,
            Operation::QueueCreate | Operation::QueueClose(_) | Operation::Detach(..) => return None,
            Operation::Post(_) | Operation::Collect(..) | Operation::Cancel(_) => return None,
        }
    };
    assert_ne!(result, PANICKED, "a panic reached the C face in {operation:?}");
    // SAFETY: a place of this function.
    let made = unsafe { *object };
    Some(Done { outcome: Outcome(-result), created: (result == 0 && made != 0).then_some(Object(made)) })
}

fn c_name(name: u8) -> CString {
    CString::new(NAMES[usize::from(name)]).expect("a name has no zero")
}

/// # Safety
///
/// The arena is attached, and the places may be written.
unsafe fn c_create_named(
    functions: c::Functions,
    arena: *const c::Arena,
    name: u8,
    new: New,
    object: *mut u64,
    existed: *mut u32,
) -> c_int {
    let name = c_name(name);
    // SAFETY: by the contract; the name is a string.
    unsafe {
        match new {
            New::Semaphore { count, max } => {
                (functions.semaphore_create_named)(arena, name.as_ptr(), 0, count, max, object, existed)
            }
            New::Mutex { owner, count } => {
                (functions.mutex_create_named)(arena, name.as_ptr(), 0, owner, count, object, existed)
            }
            New::Event { manual, signaled } => {
                let (manual, signaled) = (manual.into(), signaled.into());
                (functions.event_create_named)(arena, name.as_ptr(), 0, manual, signaled, object, existed)
            }
            New::Timer { manual } => {
                (functions.timer_create_named)(arena, name.as_ptr(), 0, manual.into(), object, existed)
            }
            // C has no names for ends.
            New::End { .. } => (functions.object_open_named)(arena, name.as_ptr(), 0, 7, object),
        }
    }
}

/// # Safety
/// `arena` is attached, `index` a place for the answer.
unsafe fn c_wait(function: c::Wait, arena: *const c::Arena, wait: &Wait, deadline: Deadline, index: *mut u32) -> c_int {
    let Deadline::Monotonic(deadline_ns) = deadline else { unreachable!("every wait here has a deadline") };
    let (count, alert) = (wait.objects.len() as u32, wait.alert.map_or(0, |alert| alert.0));
    let objects = wait.objects.as_ptr().cast();
    // SAFETY: an object is a plain number (`repr(transparent)`); the rest is the caller's promise.
    unsafe { function(arena, objects, count, alert, wait.owner, 0, deadline_ns, index) }
}

fn c_attach(arena: &Arena) -> c_int {
    let (functions, mut again) = (c::Functions::linked(), std::ptr::null_mut());
    // SAFETY: a place for the answer; what was attached is detached.
    unsafe {
        match (functions.arena_attach)(arena.fd().as_raw_fd(), &mut again) {
            0 => (functions.arena_detach)(again),
            refused => refused,
        }
    }
}
