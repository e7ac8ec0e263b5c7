// SPDX-License-Identifier: MIT OR Apache-2.0
//! NT semaphores, mutexes and events, with vectored waits, shared between processes. No driver, no server, no
//! privileges.
//!
//! An [`Arena`] is shared memory that holds objects. A process creates one and passes its descriptor to others, or
//! forks. [`Semaphore`], [`MutexObject`] and [`Event`] are handles of objects in an arena; their [`Object`] is a plain number
//! that means the same in every process that has attached the arena. A thread waits on one object through its handle,
//! or on up to 64 through [`Arena::wait_any`] and [`Arena::wait_all`]. A [`WaitSet`] is for more; a [`Queue`] for waits that go on while no
//! thread sleeps in them; an [`AsyncWait`] is a wait as a future, for tasks of any executor ([`Event::wait_async`]).
//!
//! ```
//! use ntux::{Arena, Capacity, Event, Reset, Semaphore, Wait};
//! use std::thread;
//!
//! let arena = Arena::create(Capacity { objects: 1024, waiters: 64 })?;
//! let jobs = Semaphore::create(&arena, 0, 10)?;
//! let stop = Event::create(&arena, Reset::Manual, false)?;
//!
//! let worker = thread::spawn({
//!     let (arena, either) = (arena.clone(), [jobs.object(), stop.object()]);
//!     move || {
//!         let mut done = 0;
//!         while arena.wait_any(&either, Wait::by(1))?.index == 0 {
//!             done += 1;
//!         }
//!         Ok::<u32, ntux::Error>(done)
//!     }
//! });
//!
//! jobs.release(3)?;
//! stop.set()?; // jobs come first in `either`, so none is left behind
//! assert_eq!(worker.join().unwrap()?, 3);
//! # Ok::<(), ntux::Error>(())
//! ```
//!
//! # Semantics
//!
//! Every operation has the semantics of the Linux ntsync driver, and thus of Windows NT: a signal hands the object to a
//! thread that waits at that moment, before the signaling call returns. So [`Event::pulse`], a [`set`](Event::set)
//! followed at once by a [`reset`](Event::reset), and an atomic [`Arena::wait_all`] do what Windows programs expect.
//! Waits are served in order of arrival; waits for all come before waits for any. Each function names the driver's
//! request and the NT call that it corresponds to.
//!
//! # Threads, processes, signals
//!
//! * **Threads.** Arenas and handles are `Send` and `Sync`; every function may be called by any thread at any time. A
//!   thread that must wait takes one of the arena's waiters ([`Capacity::waiters`]), keeps it for later waits, and
//!   returns it when the thread ends.
//! * **Processes.** A child of `fork` may use the arenas and handles that it inherited. A process stopped or killed at
//!   any instruction blocks nobody else; a mutex that it owned stays owned until [`MutexObject::kill`].
//! * **Signals.** No function here may be called from a signal handler. A signal does not end a wait: the handler runs,
//!   the thread keeps its places in the queues, and the wait continues. (The driver takes the thread out of its
//!   queues.)
//!
//! Dropping the last clone of the handle that created an object closes it, for every process, unless it was told to
//! [`keep`](Event::keep) it; [`Arena::close`] closes one by its number. An object belongs to the process that created it, until another
//! one calls [`Arena::adopt`]. An arena's memory is freed when the last process has detached it.
//!
//! Processes that share an arena find an object by its [`Name`] ([`Event::create_named`], [`Event::open_named`]); else one tells the other
//! its number.
//!
//! [`Mutex`] and [`FairMutex`] are locks around data, with guards, for the threads of one process. `Mutex` barges, as the standard
//! library's does; `FairMutex` is a [`MutexObject`], which is handed over in order of arrival, at a context switch for each hand-over.

mod arena;
mod async_wait;
mod descriptor;
mod end;
mod event;
mod hand_over;
mod handle;
mod mutex;
mod mutex_object;
mod object;
mod object_fd;
pub mod planted;
mod queue;
mod raw_mutex;
mod reactor;
mod semaphore;
mod timer;
mod wait;
mod wait_or_poll;
mod wait_set;
mod waiter;
mod wanted;

pub use arena::Arena;
pub use async_wait::AsyncWait;
pub use end::End;
pub use event::{Event, EventState, Reset};
pub use hand_over::HandOver;
pub use mutex::{Abandoned, FairMutex, FairMutexGuard, LockError, LockResult, Mutex, MutexGuard};
pub use mutex_object::MutexObject;
pub use ntux_sync::{
    Capacity, Clock, Deadline, Delivered, Due, EndState, Error, MutexState, Name, Registered, Registration, Satisfied,
    TimerState,
};
pub use object::Object;
pub use object_fd::ObjectFd;
pub use queue::{DetachedWait, Queue};
pub use raw_mutex::RawMutex;
pub use semaphore::{Semaphore, SemaphoreState};
pub use timer::Timer;
pub use wait::{Wait, within};
pub use wait_or_poll::{Polled, Ready, WaitOrPoll};
pub use wait_set::{Acquired, WaitSet};

#[cfg(doctest)]
#[doc = include_str!("../../../docs/rust/tutorial.md")]
struct Tutorial;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/rust/async.md")]
struct Async;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// The result of an operation.
pub type Result<T> = core::result::Result<T, Error>;
