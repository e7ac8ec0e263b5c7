// SPDX-License-Identifier: MIT OR Apache-2.0
//! The reactor: a queue and a thread for the asynchronous waits of one process in one attachment of an arena.
//!
//! # Role
//! An asynchronous wait is a detached wait, registered with the reactor's queue. The reactor's thread takes the results and wakes the
//! tasks. It starts with the first wait, and ends with the attachment.
//!
//! # Picture
//! ```text
//!  future, polled first:   enter a key with the waker        register a detached wait with that key
//! --------------------------------|----------------------------------|---------------------------------------> pending
//!  reactor's thread:       collect a result from the queue   look the key up: grant     wake, without the lock
//! --------------------------------|----------------------------------|----------------------|----------------> collect
//!  future, dropped:        granted? remove it.   cancel the wait: not satisfied, or satisfied and ours? remove it.
//!                          neither: the thread is between collecting and granting. Leave it to the thread, which gives back
//! ```
//! # Transitions
//! What the table says of a key. One lock guards the table; neither a call of the core nor one of a waker is made with it.
//!
//! | step | from | to | by |
//! | --- | --- | --- | --- |
//! | enter | none | `Pending` | the first poll |
//! | poll | `Pending` | `Pending`, with another waker | a later poll |
//! | grant | `Pending` | `Granted` | the thread, with the result that it has collected |
//! | return | `Granted` | none | a poll, or the drop, which gives back |
//! | cancel | `Pending` | none | the drop, if the core has cancelled the wait, or had a result that was not collected |
//! | leave | `Pending` | `Left` | the drop, if the core has neither |
//! | give back | `Left` | none | the thread |
//! | fail | `Pending` | `Granted`, an error | the thread, if it can collect no more |
//! | miss | `Pending`, `Left` | `Granted`, an error; none | the thread, which has met a packet with that key |
//!
//! # Invariants
//! * I-reactor-1: a result is collected once, or cancelled once (I-detach-5), so it is returned by a poll once, or given back once.
//! * I-reactor-2: a key is entered before its wait is registered, and never used again. So the thread finds the key of each result.
//! * I-reactor-3: keys are numbers, which other processes could change in shared memory: they are looked up, and an index that comes
//!   back is checked. Rubbish there wakes the wrong task, and harms nothing else.
//! * I-reactor-4: nobody unmaps the arena while the thread may look into it. The thread sleeps without a share in the attachment, else
//!   that would never end. A thread that drops the last share closes the queue first, and waits until the reactor's thread has ended. If the
//!   memory makes no sense, and the queue cannot be closed, the thread sleeps on, and the arena stays mapped until the process ends.
//! * I-reactor-5: the thread calls wakers only while it has a share in the attachment. So a thread that waits for its end does not wait
//!   for foreign code. If its own share turns out to be the last one, the thread ends the attachment itself, and returns.
//! * I-reactor-6: who cannot cancel a wait, because its result was taken, posts a packet with its key. The thread takes that after it has
//!   granted the result. If there was none, as the memory makes no sense, it ends the wait with an error.
//!
//! # Fork
//! A child has no such thread, and a copy of the table, which another thread of its parent may have been changing. So a reactor belongs to
//! a lineage: the child makes another one, and leaves the inherited one alone, which is never freed there. If the thread was waking a task
//! at the instant of the fork, its share stays in the child's count, and the arena stays mapped there until the child ends.
//!
//! # Death
//! If the process dies, its waits end with the queue. A result that was delivered, and that no poll has returned, is lost with the process.

use std::collections::HashMap;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Poll, Waker};
use std::thread::{self, JoinHandle};

use ntux_platform::atomic::Word64;
use ntux_platform::liveness;
use ntux_sync::{Deadline, Delivered, Satisfied, Waiter};

use crate::waiter::Attached;
use crate::wanted::Wanted;
use crate::{Error, Result};

/// The asynchronous waits of one process.
pub(crate) struct Reactor {
    pub(crate) lineage: u64,
    pub(crate) queue: ntux_sync::Queue,
    waits: Mutex<Waits>,
}

struct Waits {
    next_key: u64,
    stages: HashMap<u64, Stage>,
    /// None: it was not started, or has ended.
    thread: Option<JoinHandle<()>>,
}

/// How far a wait has come.
enum Stage {
    Pending(Waker),
    Granted(Result<Satisfied>),
    /// Its future was dropped while its result was on its way.
    Left(Wanted),
}

impl Reactor {
    fn new(arena: &ntux_sync::Arena) -> Result<Reactor> {
        let queue = arena.queue_create()?;
        let waits = Waits { next_key: 0, stages: HashMap::new(), thread: None };
        Ok(Reactor { lineage: liveness::lineage(), queue, waits: Mutex::new(waits) })
    }

    fn lock(&self) -> MutexGuard<'_, Waits> {
        self.waits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A key for a wait that is about to be registered. Starts the thread if there is none.
    ///
    /// Errors: `Os` or `Exhausted` if the system gives no thread.
    pub(crate) fn enter(self: &Arc<Reactor>, attached: &Arc<Attached>, waker: Waker) -> Result<u64> {
        let mut waits = self.lock();
        if waits.thread.is_none() {
            waits.thread = Some(start(Arc::clone(self), attached)?);
        }
        let key = waits.next_key;
        waits.next_key += 1;
        waits.stages.insert(key, Stage::Pending(waker));
        Ok(key)
    }

    /// The result of a wait, which is forgotten then; otherwise its next waker.
    pub(crate) fn poll(&self, key: u64, mut waker: Waker) -> Poll<Result<Satisfied>> {
        if let Some(result) = self.granted(key) {
            return Poll::Ready(result);
        }
        let mut waits = self.lock();
        match waits.stages.get_mut(&key) {
            Some(Stage::Pending(before)) => {
                mem::swap(before, &mut waker);
                // The one before is dropped without the lock.
                drop(waits);
                Poll::Pending
            }
            // It was granted meanwhile.
            _ => {
                drop(waits);
                self.granted(key).map_or(Poll::Ready(Err(Error::Corrupt)), Poll::Ready)
            }
        }
    }

    /// Takes the result of a wait, if there is one.
    pub(crate) fn granted(&self, key: u64) -> Option<Result<Satisfied>> {
        let mut waits = self.lock();
        match waits.stages.get(&key) {
            Some(&Stage::Granted(result)) => {
                waits.stages.remove(&key);
                Some(result)
            }
            _ => None,
        }
    }

    /// Forgets a wait of which no result will be collected.
    pub(crate) fn forget(&self, key: u64) {
        // The lock is given back before the waker is dropped.
        let forgotten = self.lock().stages.remove(&key);
        drop(forgotten);
    }

    /// Leaves a wait to the thread, which is about to grant it. If it just has, returns the result, and what was wanted.
    pub(crate) fn leave(&self, key: u64, wanted: Wanted) -> Option<(Result<Satisfied>, Wanted)> {
        let mut waits = self.lock();
        let before = waits.stages.insert(key, Stage::Left(wanted));
        if let Some(Stage::Granted(result)) = before {
            let Some(Stage::Left(wanted)) = waits.stages.remove(&key) else { return None };
            return Some((result, wanted));
        }
        drop(waits);
        // A waker, dropped without the lock.
        drop(before);
        None
    }

    /// Grants a wait its result, and wakes its task.
    pub(crate) fn deliver(&self, arena: &ntux_sync::Arena, waiter: &Waiter, delivered: Delivered) {
        match delivered.registration {
            Some(_) => self.grant(arena, waiter, delivered),
            None => self.miss(delivered.key),
        }
    }

    /// What is still waited for here has no result that is on its way (I-reactor-6).
    fn miss(&self, key: u64) {
        let before = {
            let mut waits = self.lock();
            match waits.stages.get_mut(&key) {
                Some(stage @ Stage::Pending(_)) => Some(mem::replace(stage, Stage::Granted(Err(Error::Corrupt)))),
                Some(Stage::Left(_)) => waits.stages.remove(&key),
                Some(Stage::Granted(_)) | None => None,
            }
        };
        if let Some(Stage::Pending(waker)) = before {
            wake(waker);
        }
    }

    fn grant(&self, arena: &ntux_sync::Arena, waiter: &Waiter, delivered: Delivered) {
        let before = {
            let mut waits = self.lock();
            match waits.stages.get_mut(&delivered.key) {
                Some(stage @ Stage::Pending(_)) => Some(mem::replace(stage, Stage::Granted(Ok(delivered.satisfied)))),
                Some(Stage::Left(_)) => waits.stages.remove(&delivered.key),
                // I-reactor-3
                Some(Stage::Granted(_)) | None => None,
            }
        };
        match before {
            Some(Stage::Pending(waker)) => wake(waker),
            Some(Stage::Left(wanted)) => wanted.give_back(arena, waiter, delivered.satisfied),
            Some(Stage::Granted(_)) | None => {}
        }
    }

    /// No more results can be collected: those who wait learn why. The next wait starts another thread.
    fn fail(&self, error: Error) {
        let mut wakers = Vec::new();
        {
            let mut waits = self.lock();
            waits.thread = None;
            for stage in waits.stages.values_mut().filter(|stage| matches!(stage, Stage::Pending(_))) {
                wakers.push(mem::replace(stage, Stage::Granted(Err(error))));
            }
        }
        for stage in wakers {
            if let Stage::Pending(waker) = stage {
                wake(waker);
            }
        }
    }

    /// Pretends that there is a thread, so that a test does what it would do.
    #[cfg(test)]
    pub(crate) fn start_none(&self) {
        self.lock().thread = Some(thread::spawn(|| {}));
    }

    /// Nobody waits, and nothing is to be given back.
    #[cfg(test)]
    pub(crate) fn is_idle(&self) -> bool {
        self.lock().stages.is_empty()
    }

    /// What the thread does.
    fn run(&self, lent: Lent, attached: Weak<Attached>) {
        // SAFETY: I-reactor-4: not dropped before this function has returned, but by itself.
        let arena = || unsafe { &*lent.0 };
        let waiter = arena().waiter();
        loop {
            match arena().collect(&waiter, self.queue, Deadline::Never) {
                Ok(delivered) => {
                    // I-reactor-5. None: somebody else has dropped the last share, so there is no future left to wake.
                    let share = attached.upgrade();
                    self.deliver(arena(), &waiter, delivered);
                    if let Some(last) = share.and_then(Arc::into_inner) {
                        last.retire(&waiter);
                        // Nobody waits for this thread.
                        self.lock().thread = None;
                        return drop(last);
                    }
                }
                // Closed, or the memory makes no sense.
                Err(error) => {
                    arena().retire(&waiter);
                    // I-reactor-5. None: somebody else has dropped the last share, and waits for this thread.
                    let Some(_share) = attached.upgrade() else { return };
                    return self.fail(error);
                }
            }
        }
    }
}

/// The arena of an attachment, for the thread that does not keep it attached.
struct Lent(*const ntux_sync::Arena);

// SAFETY: an arena can be used by any thread; I-reactor-4 says how long.
unsafe impl Send for Lent {}

fn start(reactor: Arc<Reactor>, attached: &Arc<Attached>) -> Result<JoinHandle<()>> {
    let (lent, attached) = (Lent(&raw const ***attached), Arc::downgrade(attached));
    let started = thread::Builder::new().name("ntux-reactor".to_owned()).spawn(move || reactor.run(lent, attached));
    started.map_err(|error| error.raw_os_error().map_or(Error::Exhausted, Error::Os))
}

/// Wakes a task. A waker that panics harms only its own task.
fn wake(waker: Waker) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| waker.wake())) {
        // Dropping it could panic, too.
        mem::forget(payload);
    }
}

/// The reactor of an attachment, once there is one: an address of `Arc<Reactor>`, or 0. A lock, or a `OnceLock`, could be held for ever in
/// a forked child.
#[derive(Default)]
pub(crate) struct Place(Word64);

impl Place {
    /// The reactor of this process, if it has made one.
    pub(crate) fn get(&self) -> Option<&Arc<Reactor>> {
        let address = self.0.load() as usize;
        // SAFETY: 0, or a box that `make` has leaked and only `end` takes back, which has the place for itself.
        let reactor = unsafe { ptr::with_exposed_provenance::<Arc<Reactor>>(address).as_ref() };
        reactor.filter(|reactor| reactor.lineage == liveness::lineage())
    }

    /// The reactor of this process, which is made if there is none.
    ///
    /// Errors: those of a new queue.
    pub(crate) fn get_or_make(&self, attached: &Arc<Attached>) -> Result<&Arc<Reactor>> {
        loop {
            let before = self.0.load();
            if let Some(reactor) = self.get() {
                return Ok(reactor);
            }
            let made = Box::into_raw(Box::new(Arc::new(Reactor::new(attached)?)));
            // One of a parent stays where it is: nobody here may free it.
            if self.0.compare_exchange(before, made.expose_provenance() as u64).is_err() {
                // SAFETY: made above, and nobody else knows it.
                let refused = unsafe { Box::from_raw(made) };
                close(attached, &refused);
            }
        }
    }

    /// Ends the reactor of this process: returns once its thread has. The attachment is about to end. Returns false if the thread goes on, so
    /// that the arena must stay mapped (I-reactor-4).
    pub(crate) fn end(&mut self, arena: &ntux_sync::Arena) -> bool {
        if self.get().is_none() {
            return true;
        }
        // SAFETY: of this process, so a box that `make` has leaked; nobody else has the place.
        let reactor =
            unsafe { Box::from_raw(ptr::with_exposed_provenance_mut::<Arc<Reactor>>(self.0.load() as usize)) };
        self.0.store(0);
        let thread = reactor.lock().thread.take();
        let is_closed = close(arena, &reactor);
        let Some(thread) = thread else { return true };
        if is_closed {
            // It has caught what its wakers have panicked with.
            let _ = thread.join();
        }
        is_closed
    }
}

/// Closes a reactor's queue: its thread returns. Returns false if the memory makes no sense.
fn close(arena: &ntux_sync::Arena, reactor: &Reactor) -> bool {
    let waiter = arena.waiter();
    let closed = arena.queue_close(&waiter, reactor.queue);
    arena.retire(&waiter);
    closed.is_ok()
}
