// SPDX-License-Identifier: MIT OR Apache-2.0
//! The seam for a model checker (the configuration `ntux_explore`): many virtual threads run on one thread of the system.
//!
//! Three things of this library belong to a thread of the system, and are asked for here instead: the waiter in the arena, what a thread
//! knows of itself, and sleeping on words. The checker plays the promise of `ntux_futex`, which has a checker of its own: comparing and
//! falling asleep are one step, a wake takes sleepers of its classes by arrival, and is a barrier.

use core::ffi::c_void;
use std::cell::{Cell, RefCell, UnsafeCell};

use ntux::{Capacity, Deadline, Result};
use ntux_platform::atomic::Word32;
use ntux_sync::Waiter;

pub use crate::handle::Handle;
use crate::record::{self, First, Kind, Payload};
use crate::start::Main;
use crate::{handle, word};

pub use crate::apc::ntw_QueueUserAPC;
pub use crate::barrier::*;
pub use crate::close::*;
pub use crate::condition_variable::*;
pub use crate::critical_section::*;
pub use crate::event::*;
pub use crate::init_once::*;
pub use crate::keyed_event::{ntw_NtCreateKeyedEvent, ntw_NtReleaseKeyedEvent, ntw_NtWaitForKeyedEvent};
pub use crate::mutex::*;
pub use crate::pool::{Pool, Slot};
pub use crate::port::{
    Packet, ntw_CreateIoCompletionPort, ntw_GetQueuedCompletionStatus, ntw_GetQueuedCompletionStatusEx,
    ntw_PostQueuedCompletionStatus,
};
pub use crate::process::ntw_GetCurrentProcess;
pub use crate::record::Target;
pub use crate::semaphore::*;
pub use crate::slist::*;
pub use crate::srw_lock::*;
pub use crate::start::{
    ntw_GetCurrentThread, ntw_GetCurrentThreadId, ntw_GetExitCodeThread, ntw_GetThreadId, ntw_OpenThread,
};
pub use crate::thread::Thread;
pub use crate::thread::of_virtual::{end as end_thread, starts as thread_starts};
pub use crate::thread_pool::explored::*;
pub use crate::timer::*;
pub use crate::wait::*;

/// What plays the threads.
pub trait Machine {
    /// The virtual thread that runs, or for which something is made ready.
    fn thread(&self) -> usize;
    /// Sleeps while the word of so many bytes holds `seen`. Returns true if the deadline has passed.
    fn wait(&self, address: usize, bytes: usize, seen: u64, classes: u32, has_deadline: bool) -> bool;
    /// Wakes at most so many sleepers of these classes. Returns their number.
    fn wake(&self, address: usize, bytes: usize, count: u32, classes: u32) -> u32;
    /// The running thread has been given this place.
    fn kept(&self, address: usize);
    /// From now on nobody may touch this memory.
    fn freed(&self, address: usize, bytes: usize);
    /// The execution ends here, and nothing is said of it.
    fn cut_off(&self);
}

/// Memory for what is kept ([`crate::kept`]): the same addresses in each execution. Places without destructor are used again at once, as an
/// allocator may; those with one are not, so that the checker sees who comes too late.
#[repr(align(16))]
struct Room(UnsafeCell<[u8; ROOM]>);

const ROOM: usize = 1 << 14;

// SAFETY: there is one checker at a time, and it runs one thread.
unsafe impl Sync for Room {}

static KEPT: Room = Room(UnsafeCell::new([0; ROOM]));

thread_local! {
    static USED: Cell<usize> = const { Cell::new(0) };
    static FREE: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
    static MACHINE: Cell<Option<&'static dyn Machine>> = const { Cell::new(None) };
    /// Their places, which stay where they are: a schedule is repeated only if memory has the same addresses; and how many are in use.
    static WAITERS: RefCell<Vec<*mut Waiter>> = const { RefCell::new(Vec::new()) };
    static WAITING: Cell<usize> = const { Cell::new(0) };
}

/// Installs what plays the virtual threads on this thread of the system, or nothing.
pub fn install(machine: Option<&'static dyn Machine>) {
    MACHINE.set(machine);
}

pub(crate) fn machine() -> Option<&'static dyn Machine> {
    MACHINE.get()
}

/// Keeps a value.
pub fn keep<T>(value: T) -> *mut T {
    assert!(align_of::<T>() <= 16);
    let again = (!std::mem::needs_drop::<T>()).then(|| FREE.with_borrow_mut(Vec::pop)).flatten();
    let offset = again.unwrap_or_else(|| USED.replace(USED.get() + size_of::<T>().next_multiple_of(16)));
    assert!(offset + size_of::<T>() <= ROOM);
    let place = KEPT.0.get().cast::<u8>().wrapping_add(offset).cast::<T>();
    // SAFETY: in the room, aligned, and nobody else's.
    unsafe { place.write(value) };
    machine().expect("somebody plays").kept(place.expose_provenance());
    place
}

/// Which places are in use: how far the room is, and what is free before that.
pub fn room() -> (usize, Vec<usize>) {
    (USED.get(), FREE.with_borrow(Vec::clone))
}

/// Takes it back.
///
/// # Safety
/// The contract is that of [`crate::kept::take_back`].
pub(crate) unsafe fn take_back<T>(place: *mut T) -> T {
    // SAFETY: the caller's promise.
    let value = unsafe { place.read() };
    match std::mem::needs_drop::<T>() {
        true => machine().expect("somebody plays").freed(place.addr(), size_of::<T>()),
        false => FREE.with_borrow_mut(|free| free.push(place.addr() - KEPT.0.get().addr())),
    }
    value
}

/// Threads that the library starts are played by spare virtual threads, in the order in which they are started. This counts them.
static STARTED: Word32 = Word32::new(0);

thread_local! {
    static SPARES: Cell<usize> = const { Cell::new(0) };
    /// What each of those that were started does.
    static MAINS: RefCell<Vec<(Main, usize)>> = const { RefCell::new(Vec::new()) };
}

/// The program has so many of them.
pub fn has_spares(count: usize) {
    SPARES.set(count);
}

/// Starts one. If there is no other, the execution ends: threads that have nothing to do end, and each time another one is started.
pub(crate) fn start(main: Main, argument: *mut c_void) {
    if MAINS.with_borrow(Vec::len) == SPARES.get() {
        machine().expect("somebody plays").cut_off();
    }
    MAINS.with_borrow_mut(|mains| mains.push((main, argument.expose_provenance())));
    STARTED.fetch_add(1);
    word::wake(&STARTED, u32::MAX, word::ANY);
}

/// What a spare virtual thread does, of which 0 is the first: it waits until it is started, runs, and ends.
pub fn spare(number: u32) {
    loop {
        let started = STARTED.load();
        if started > number {
            break;
        }
        word::wait(&STARTED, started, word::ANY, Deadline::Never);
    }
    let (main, argument) = MAINS.with_borrow(|mains| mains[number as usize]);
    main(core::ptr::with_exposed_provenance_mut(argument));
    end_thread(0);
}

/// Returns true if a thread that sleeps here was not started.
pub fn is_spare(address: usize) -> bool {
    address == core::ptr::from_ref(&STARTED).addr()
}

/// What the threads do that were started.
pub fn started() -> Vec<(usize, usize)> {
    MAINS.with_borrow(|mains| mains.iter().map(|&(main, argument)| (main as usize, argument)).collect())
}

/// Makes what a process makes once, before a machine plays.
pub fn prepare() {
    // SAFETY: no attributes, no name.
    let event = unsafe { ntw_CreateEventW(std::ptr::null(), 0, 1, std::ptr::null()) };
    assert_eq!(ntw_WaitForSingleObjectEx(event, 0, 1), 0);
    assert_eq!(ntw_CloseHandle(event), 1);
}

/// Begins an execution of so many threads, each with its place in the arena. `as_thread` makes one the running one.
pub fn begin(threads: usize, as_thread: impl Fn(usize)) {
    let arena = crate::arena::arena().expect("an arena");
    let places = WAITERS.with_borrow(Vec::clone);
    for &waiter in &places[..WAITING.replace(threads)] {
        // SAFETY: written below; the execution that used it is over, and what was abandoned in it does not go on.
        unsafe { waiter.drop_in_place() };
    }
    FREE.take();
    USED.set(0);
    MAINS.take();
    SPARES.set(0);
    as_thread(0);
    let bell = arena.core().event_create(&arena.core().waiter(), true, false).expect("an event");
    for thread in 0..threads {
        as_thread(thread);
        let waiter = places.get(thread).copied().unwrap_or_else(|| {
            let place = Box::into_raw(Box::<Waiter>::new_uninit()).cast();
            WAITERS.with_borrow_mut(|places| places.push(place));
            place
        });
        // SAFETY: a place of this thread's, whose last waiter was dropped above.
        let waiter = unsafe {
            waiter.write(arena.core().waiter());
            &*waiter
        };
        waiter.interrupt();
        let ended = arena.core().wait_any(waiter, &[bell], None, 1, Deadline::Never);
        assert_eq!(ended, Err(ntux::Error::Interrupted));
        waiter.resume();
    }
    crate::thread::of_virtual::begin(threads);
}

/// The arena of the process, in which each virtual thread has a waiter.
pub struct Arena(ntux::Arena);

impl Arena {
    pub fn create_private_visible(capacity: Capacity) -> Result<Arena> {
        ntux::Arena::create_private(capacity).map(Arena)
    }

    pub fn open(session: &str, capacity: Capacity) -> Result<Arena> {
        ntux::Arena::open(session, capacity).map(Arena)
    }

    pub fn core(&self) -> &ntux_sync::Arena {
        self.0.core()
    }

    pub fn with_waiter<R>(&self, operation: impl FnOnce(&ntux_sync::Arena, &Waiter) -> R) -> R {
        let Some(machine) = machine() else { return self.0.with_waiter(operation) };
        let waiter = WAITERS.with_borrow(|waiters| waiters[machine.thread()]);
        // SAFETY: `begin` made it, and drops it when no call goes on.
        operation(self.core(), unsafe { &*waiter })
    }

    pub fn at_once<R>(&self, operation: impl FnOnce(&ntux_sync::Arena, &Waiter) -> Option<R>) -> Option<R> {
        self.with_waiter(operation)
    }
}

/// What no checker looks at.
impl std::ops::Deref for Arena {
    type Target = ntux::Arena;

    fn deref(&self) -> &ntux::Arena {
        &self.0
    }
}

/// A thread that has not begun: its record, and a handle of it.
pub fn unbegun_thread() -> (Target, Handle) {
    let ended = crate::thread::ended_event().expect("an event");
    let target = record::create(Kind::Thread, ended, Payload::Thread(Box::new(Thread::unbegun(0))), First::Both)
        .expect("a record");
    (target, handle::insert(target, crate::access::ALL, handle::Flags::default()).expect("a handle"))
}
