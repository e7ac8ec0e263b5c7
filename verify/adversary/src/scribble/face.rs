//! Performing an operation through one of the faces: the core, the Rust crate, the C library.

use core::ffi::c_int;
use std::os::fd::AsRawFd;

use ntux::{Arena, Event, Mutex, Semaphore};
use ntux_sync::{Deadline, Error, New, Object};
// Defines the C functions that are declared below.
use ntux_capi as _;

use super::operation::{Operation, Outcome, Wait};

/// Who offers the operations.
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
            Face::C => c(arena, operation, deadline),
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
        Operation::WaitAny(wait) => {
            core.wait_any(waiter, &wait.objects, wait.alert, wait.owner, deadline).map(drop).into()
        }
        Operation::WaitAll(wait) => {
            core.wait_all(waiter, &wait.objects, wait.alert, wait.owner, deadline).map(drop).into()
        }
        Operation::Retire => {
            core.retire(waiter);
            Ok(()).into()
        }
        Operation::Attach => attach(arena).into(),
        Operation::Join => join(arena).into(),
    })
}

/// Makes an object behind a descriptor, asks the descriptor what it is, and closes it.
fn descriptor(core: &ntux_sync::Arena, waiter: &ntux_sync::Waiter, new: New) -> Result<()> {
    let via = core.fd().ok_or(Error::NotAnArena)?;
    let fd = core.descriptor_create(waiter, via, new)?;
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
    again.close(semaphore.object())
}

fn rust(arena: &Arena, operation: &Operation, deadline: Deadline) -> Option<Done> {
    let wait = |wait: &Wait| {
        let request = ntux::Wait::by(wait.owner).until(deadline);
        (wait.objects.clone(), wait.alert.map_or(request, |alert| request.alert(alert)))
    };
    Some(match operation {
        Operation::Create(New::Semaphore { count, max }) => {
            Semaphore::create(arena, *count, *max).map(|semaphore| semaphore.object()).into()
        }
        Operation::Release(object, count) => {
            Semaphore::from_object(arena, *object).and_then(|semaphore| semaphore.release(*count)).map(drop).into()
        }
        Operation::Unlock(object, owner) => {
            Mutex::from_object(arena, *object).and_then(|mutex| mutex.unlock(*owner)).map(drop).into()
        }
        Operation::MutexRead(object) => {
            Mutex::from_object(arena, *object).and_then(|mutex| mutex.read()).map(drop).into()
        }
        Operation::Set(object) => Event::from_object(arena, *object).and_then(|event| event.set()).map(drop).into(),
        Operation::Pulse(object) => Event::from_object(arena, *object).and_then(|event| event.pulse()).map(drop).into(),
        Operation::WaitAny(request) => {
            let (objects, request) = wait(request);
            arena.wait_any(&objects, request).map(drop).into()
        }
        Operation::WaitAll(request) => {
            let (objects, request) = wait(request);
            arena.wait_all(&objects, request).map(drop).into()
        }
        _ => return None,
    })
}

/// `ntux_arena`, which C sees from outside only.
#[repr(C)]
struct CArena {
    _inside: [u8; 0],
}

unsafe extern "C" {
    fn ntux_arena_attach(fd: c_int, arena: *mut *mut CArena) -> c_int;
    fn ntux_arena_detach(arena: *mut CArena) -> c_int;
    fn ntux_object_close(arena: *const CArena, object: u64) -> c_int;
    fn ntux_object_adopt(arena: *const CArena, object: u64) -> c_int;
    fn ntux_semaphore_create(arena: *const CArena, count: u32, max: u32, semaphore: *mut u64) -> c_int;
    fn ntux_semaphore_release(arena: *const CArena, semaphore: u64, count: u32, previous: *mut u32) -> c_int;
    fn ntux_semaphore_read(arena: *const CArena, semaphore: u64, count: *mut u32, max: *mut u32) -> c_int;
    fn ntux_mutex_create(arena: *const CArena, owner: u32, count: u32, mutex: *mut u64) -> c_int;
    fn ntux_mutex_unlock(arena: *const CArena, mutex: u64, owner: u32, previous: *mut u32) -> c_int;
    fn ntux_mutex_kill(arena: *const CArena, mutex: u64, owner: u32) -> c_int;
    fn ntux_mutex_read(arena: *const CArena, mutex: u64, owner: *mut u32, count: *mut u32) -> c_int;
    fn ntux_event_create(arena: *const CArena, manual: u32, signaled: u32, event: *mut u64) -> c_int;
    fn ntux_event_set(arena: *const CArena, event: u64, previous: *mut u32) -> c_int;
    fn ntux_event_reset(arena: *const CArena, event: u64, previous: *mut u32) -> c_int;
    fn ntux_event_pulse(arena: *const CArena, event: u64, previous: *mut u32) -> c_int;
    fn ntux_event_read(arena: *const CArena, event: u64, manual: *mut u32, signaled: *mut u32) -> c_int;
}

type WaitFunction = unsafe extern "C" fn(*const CArena, *const u64, u32, u64, u32, u32, u64, *mut u32) -> c_int;

unsafe extern "C" {
    fn ntux_wait_any(
        arena: *const CArena,
        objects: *const u64,
        count: u32,
        alert: u64,
        owner: u32,
        flags: u32,
        deadline_ns: u64,
        index: *mut u32,
    ) -> c_int;
    fn ntux_wait_all(
        arena: *const CArena,
        objects: *const u64,
        count: u32,
        alert: u64,
        owner: u32,
        flags: u32,
        deadline_ns: u64,
        index: *mut u32,
    ) -> c_int;
}

/// How the C face says that it has caught a panic.
const PANICKED: c_int = -libc::ENOTRECOVERABLE;

fn c(arena: &Arena, operation: &Operation, deadline: Deadline) -> Option<Done> {
    let (mut word, mut other, mut object) = (0u32, 0u32, 0u64);
    let (word, other, object) = (&raw mut word, &raw mut other, &raw mut object);
    let handle = std::ptr::from_ref(arena).cast();
    // SAFETY: the C face's arena is the Rust one; every place is valid for its answer.
    let result = unsafe {
        match operation {
            Operation::Create(New::Semaphore { count, max }) => ntux_semaphore_create(handle, *count, *max, object),
            Operation::Create(New::Mutex { owner, count }) => ntux_mutex_create(handle, *owner, *count, object),
            Operation::Create(New::Event { manual, signaled }) => {
                ntux_event_create(handle, u32::from(*manual), u32::from(*signaled), object)
            }
            Operation::Close(object) => ntux_object_close(handle, object.0),
            Operation::Adopt(object) => ntux_object_adopt(handle, object.0),
            Operation::Release(object, count) => ntux_semaphore_release(handle, object.0, *count, word),
            Operation::SemaphoreRead(object) => ntux_semaphore_read(handle, object.0, word, other),
            Operation::Unlock(object, owner) => ntux_mutex_unlock(handle, object.0, *owner, word),
            Operation::Kill(object, owner) => ntux_mutex_kill(handle, object.0, *owner),
            Operation::MutexRead(object) => ntux_mutex_read(handle, object.0, word, other),
            Operation::Set(object) => ntux_event_set(handle, object.0, word),
            Operation::Reset(object) => ntux_event_reset(handle, object.0, word),
            Operation::Pulse(object) => ntux_event_pulse(handle, object.0, word),
            Operation::EventRead(object) => ntux_event_read(handle, object.0, word, other),
            Operation::WaitAny(wait) => c_wait(ntux_wait_any, handle, wait, deadline, word),
            Operation::WaitAll(wait) => c_wait(ntux_wait_all, handle, wait, deadline, word),
            Operation::Attach => c_attach(arena),
            Operation::CreateDescriptor(_) | Operation::Kind(_) | Operation::Retire | Operation::Join => return None,
        }
    };
    assert_ne!(result, PANICKED, "a panic reached the C face in {operation:?}");
    // SAFETY: a place of this function.
    let made = unsafe { *object };
    Some(Done { outcome: Outcome(-result), created: (result == 0 && made != 0).then_some(Object(made)) })
}

/// # Safety
/// `arena` is attached, `index` a place for the answer.
unsafe fn c_wait(
    function: WaitFunction,
    arena: *const CArena,
    wait: &Wait,
    deadline: Deadline,
    index: *mut u32,
) -> c_int {
    let Deadline::Monotonic(deadline_ns) = deadline else { unreachable!("every wait here has a deadline") };
    let (count, alert) = (wait.objects.len() as u32, wait.alert.map_or(0, |alert| alert.0));
    let objects = wait.objects.as_ptr().cast();
    // SAFETY: an object is a plain number (`repr(transparent)`); the rest is the caller's promise.
    unsafe { function(arena, objects, count, alert, wait.owner, 0, deadline_ns, index) }
}

fn c_attach(arena: &Arena) -> c_int {
    let mut again = std::ptr::null_mut();
    // SAFETY: a place for the answer; what was attached is detached.
    unsafe {
        match ntux_arena_attach(arena.fd().as_raw_fd(), &mut again) {
            0 => ntux_arena_detach(again),
            refused => refused,
        }
    }
}
