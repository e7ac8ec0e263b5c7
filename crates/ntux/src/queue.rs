// SPDX-License-Identifier: MIT OR Apache-2.0
//! Queues: where the results of waits without a thread, and packets, are taken.

use std::os::fd::BorrowedFd;
use std::sync::{Arc, OnceLock};

use ntux_sync::{Deadline, Delivered, Detached, Registered, Registration};

use crate::descriptor::QueueFd;
use crate::{Arena, Error, Object, Result, Satisfied, Wait};

/// A queue of this process. A wait is *registered* and goes on without its thread; what it was satisfied with is delivered to the queue,
/// where any thread of the process takes it, together with *packets* that its threads have posted.
///
/// ```
/// use ntux::{Arena, Capacity, Deadline, DetachedWait, Event, Queue, Registered, Reset};
///
/// const DOOR: u64 = 1;
/// const QUIT: u64 = 2;
///
/// let arena = Arena::create(Capacity::default())?;
/// let door = Event::create(&arena, Reset::Auto, false)?;
/// let queue = Queue::create(&arena)?;
/// assert!(matches!(queue.register_any(&[door.object()], DetachedWait::by(1).key(DOOR))?, Registered::Waits(_)));
///
/// // Elsewhere: in another process, and in another thread of this one.
/// door.set()?;
/// queue.post(QUIT)?;
///
/// let mut keys = [queue.next(Deadline::Never)?.key, queue.next(Deadline::Never)?.key];
/// keys.sort();
/// assert_eq!(keys, [DOOR, QUIT]);
/// # Ok::<(), ntux::Error>(())
/// ```
///
/// A registered wait stands in the order of those who wait as a thread's wait does, and takes what a thread's wait would take. It needs
/// one of the arena's waiters ([`Capacity::waiters`](crate::Capacity::waiters)) until its result was taken.
///
/// Results are taken in no particular order, packets in the order in which they were posted; none is passed over for ever. A timer among
/// the objects fires while a thread waits in [`Queue::next`], or when somebody looks at it. [`WaitSet`](crate::WaitSet) waits for any
/// number of objects, again and again.
///
/// Dropping the last clone closes the queue ([`Queue::close`]): waits that are registered with it are cancelled. *What was delivered, and nobody has taken, is
/// dropped with it*: an auto-reset event that was acquired stays reset, a mutex stays owned. A program that cannot lose
/// that cancels each wait first ([`Queue::cancel`]), and takes what is there. A forked child has no part in the queue: there, all functions fail, and dropping it does
/// nothing. When the process ends, the queue ends with it, and its waits take nothing more. (A process that is to become another program
/// (`exec`) closes its queues before: otherwise the waits stand until that program uses the arena, or ends.)
#[derive(Clone)]
pub struct Queue {
    open: Arc<Open>,
}

/// A queue that is closed when it is dropped.
struct Open {
    arena: Arena,
    queue: ntux_sync::Queue,
    descriptor: OnceLock<QueueFd>,
}

impl Drop for Open {
    fn drop(&mut self) {
        // It sleeps in the arena.
        drop(self.descriptor.take());
        // Refused if it is closed, and in a forked child, to which it is none.
        let _ = self.arena.with_waiter(|arena, waiter| arena.queue_close(waiter, self.queue));
    }
}

/// How to wait in [`Queue::register_any`] and [`Queue::register_all`].
///
/// ```
/// use ntux::DetachedWait;
///
/// let wait = DetachedWait::by(7).key(3);
/// # let _ = wait;
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use = "a description of a wait does not wait"]
pub struct DetachedWait {
    owner: u32,
    key: u64,
}

impl DetachedWait {
    /// A wait with key 0. `owner` acquires mutexes; it is any number but 0, as for [`Wait::by`](crate::Wait::by). The thread that takes the
    /// result unlocks them by this number.
    #[inline]
    pub const fn by(owner: u32) -> DetachedWait {
        DetachedWait { owner, key: 0 }
    }

    /// Any number, which comes back with the result. Several waits may have the same.
    #[inline]
    pub const fn key(self, key: u64) -> DetachedWait {
        DetachedWait { key, ..self }
    }
}

impl Queue {
    /// Creates a queue.
    ///
    /// # Errors
    ///
    /// [`Error::Exhausted`] if the arena has as many queues as it has room for (of all processes together), or
    /// no memory.
    ///
    /// Any thread; not in a signal handler. `NtCreateIoCompletion`.
    pub fn create(arena: &Arena) -> Result<Queue> {
        let queue = arena.core().queue_create()?;
        Ok(Queue { open: Arc::new(Open { arena: arena.clone(), queue, descriptor: OnceLock::new() }) })
    }

    /// Begins to wait for one of `objects`, and returns: [`Registered::Satisfied`] if one is signaled, which is acquired then, as by
    /// [`Arena::wait_any`], and nothing is delivered; otherwise [`Registered::Waits`], and the result will be delivered to the queue,
    /// once. Without objects the wait is never satisfied, but can be cancelled.
    ///
    /// # Errors
    ///
    /// Nothing was acquired, and nothing waits: [`Error::Invalid`] for owner 0, for more than 64 objects, if the
    /// queue was closed, and in a forked child; [`Error::NoSuchObject`] for an object that is closed or of another arena;
    /// [`Error::Exhausted`] when the arena has no waiter left.
    ///
    /// Any thread; not in a signal handler. `NtAssociateWaitCompletionPacket`.
    pub fn register_any(&self, objects: &[Object], wait: DetachedWait) -> Result<Registered> {
        self.register(objects, wait, false)
    }

    /// Begins to wait for all of `objects` in one step, and returns, as [`Queue::register_any`] does. It holds nothing while it waits.
    /// Without objects it is satisfied at once.
    ///
    /// ```
    /// use ntux::{Arena, Capacity, Deadline, DetachedWait, Event, MutexObject, Queue, Registered, Reset};
    ///
    /// let arena = Arena::create(Capacity::default())?;
    /// let (queue, done) = (Queue::create(&arena)?, Event::create(&arena, Reset::Auto, false)?);
    /// let mutex = MutexObject::create(&arena)?;
    /// let Registered::Waits(wait) = queue.register_all(&[done.object(), mutex.object()], DetachedWait::by(7))? else {
    ///     unreachable!("the event is not set");
    /// };
    /// done.set()?;
    /// assert_eq!(queue.next(Deadline::NOW)?.registration, Some(wait));
    /// mutex.unlock(7)?;
    /// # Ok::<(), ntux::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`Queue::register_any`]; [`Error::Invalid`] also if an object occurs twice.
    ///
    /// Any thread; not in a signal handler.
    pub fn register_all(&self, objects: &[Object], wait: DetachedWait) -> Result<Registered> {
        self.register(objects, wait, true)
    }

    fn register(&self, objects: &[Object], wait: DetachedWait, all: bool) -> Result<Registered> {
        let DetachedWait { owner, key } = wait;
        let wanted = Detached { objects: Object::all_in_core(objects), all, owner, key };
        let registered = self.perform(|arena, waiter, queue| arena.wait_detached(waiter, queue, wanted));
        registered.map_err(|error| self.open.arena.refusal(error, objects, Wait::by(owner)))
    }

    /// Posts a packet: some thread takes its key, as it takes results.
    ///
    /// # Errors
    ///
    /// [`Error::Exhausted`] if 1,024 packets are in the queue, which nobody has taken;
    /// [`Error::Invalid`] if it was closed, and in a forked child.
    ///
    /// Any thread; not in a signal handler. `NtSetIoCompletion`.
    pub fn post(&self, key: u64) -> Result<()> {
        self.perform(|arena, waiter, queue| arena.post(waiter, queue, key))
    }

    /// Takes a result or a packet, or waits for one. Each is taken once, however many threads do so.
    /// [`Delivered::registration`] is none if it is a packet. The index is 0 if the wait was for all.
    ///
    /// # Errors
    ///
    /// Nothing was taken: [`Error::TimedOut`] when the deadline passed;
    /// [`Error::Invalid`] if it was closed, also while the thread slept, and in a forked child. If [`Queue::fd`] cannot be armed,
    /// [`Error::Exhausted`] or [`Error::Os`] instead of `TimedOut`; with `EPERM` or `ENOSYS` if a filter was installed after the
    /// descriptor was made, and refuses io_uring: then that is of no use any more, but that of a new queue is.
    ///
    /// Any thread; not in a signal handler. `NtRemoveIoCompletion`.
    pub fn next(&self, deadline: Deadline) -> Result<Delivered> {
        self.next_or_arm(deadline, Deadline::Never)
    }

    /// If nothing was taken, the descriptor becomes readable at this time, too.
    pub(crate) fn next_or_arm(&self, deadline: Deadline, until: Deadline) -> Result<Delivered> {
        let taken = self.collect(deadline);
        if taken == Err(Error::TimedOut) {
            self.arm(until)?;
        }
        taken
    }

    fn collect(&self, deadline: Deadline) -> Result<Delivered> {
        self.perform(|arena, waiter, queue| arena.collect(waiter, queue, deadline))
    }

    /// Arms the descriptor, if there is one: for who has just found nothing in the queue. For other faces, which collect by themselves.
    ///
    /// # Errors
    ///
    /// What [`Queue::next`] returns if it cannot be armed.
    ///
    /// Any thread; not in a signal handler.
    pub fn arm(&self, until: Deadline) -> Result<()> {
        self.open.descriptor.get().map_or(Ok(()), |descriptor| descriptor.arm(until))
    }

    /// The queue's descriptor, for `poll`, `epoll`, `kqueue` or io_uring: readable when something may be in the queue. It is made by the first call,
    /// and open as long as a clone of the handle is, also after [`Queue::close`], which makes it readable.
    ///
    /// *It is like a level, which a call resets.* It becomes readable when something is delivered or posted, or a timer is due for which a wait
    /// stands, and stays so until [`Queue::next`] returns [`Error::TimedOut`]: that call *arms* it again. So a loop polls, and takes with
    /// [`Deadline::NOW`] until nothing is left. (What [`Queue::next_batch`] takes does not arm it; nor does a batch that is not full.) Used with
    /// edges (`EPOLLET`), the loop must not poll before that. It can be readable for nothing, and is never unreadable for something, but for the
    /// limit below.
    ///
    /// Nobody reads it or closes it, and nothing can be read. A duplicate is as good. In a forked child it means nothing; it is close-on-exec.
    ///
    /// ```
    /// use ntux::{Arena, Capacity, Deadline, Error, Queue};
    /// # fn is_readable(fd: std::os::fd::BorrowedFd<'_>) -> bool { ntux_platform::wake_descriptor::is_readable(fd) }
    ///
    /// let queue = Queue::create(&Arena::create(Capacity::default())?)?;
    /// let fd = queue.fd()?;
    /// assert!(!is_readable(fd));
    /// queue.post(7)?; // elsewhere
    /// # while !is_readable(fd) {}
    /// assert!(is_readable(fd));
    /// assert_eq!(queue.next(Deadline::NOW)?.key, 7);
    /// assert_eq!(queue.next(Deadline::NOW), Err(Error::TimedOut)); // arms it
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// It counts as one thread that sleeps in [`Queue::next`]: a queue that has both may tell only one of them of a result, and that one should
    /// look soon. On Linux 6.7 and later it is a ring of io_uring. Elsewhere a thread of ntux's sleeps for it; `ntux doctor` says which, and
    /// `NTUX_WITHOUT=io_uring` chooses the thread, which has not the two limits of a ring:
    ///
    /// * In a thread that has armed it, a call that sleeps may be interrupted (`epoll_wait` fails with `EINTR`, as for a signal): when it
    ///   becomes readable, when another thread arms it, and once more after it was closed.
    /// * While the thread that armed it last cannot run, it does not become readable: while a debugger has stopped that thread alone, or while it
    ///   waits for a child of `vfork`.
    ///
    /// # Errors
    ///
    /// [`Error::Os`] if the process has no more descriptors, or no thread can start; [`Error::Exhausted`] without memory;
    /// [`Error::Invalid`] if the queue was closed before the first call, and in a forked child.
    ///
    /// Any thread; not in a signal handler.
    pub fn fd(&self) -> Result<BorrowedFd<'_>> {
        self.fd_until(Deadline::Never)
    }

    /// Does what [`Queue::fd`] does. The first call arms it until then.
    pub(crate) fn fd_until(&self, until: Deadline) -> Result<BorrowedFd<'_>> {
        let open = &self.open;
        if open.descriptor.get().is_none() {
            // If another thread is faster, this one goes.
            let _ = open.descriptor.set(QueueFd::new(&open.arena, open.queue, until)?);
        }
        let descriptor = open.descriptor.get().filter(|descriptor| descriptor.is_ours()).ok_or(Error::Invalid)?;
        Ok(descriptor.fd())
    }

    /// Takes up to `most` results and packets, and appends them to `batch`: waits for the first as [`Queue::next`] does, then takes what
    /// is there. Returns how many it has taken: at least one, unless `most` is 0.
    ///
    /// ```
    /// use ntux::{Arena, Capacity, Deadline, Error, Queue};
    ///
    /// let queue = Queue::create(&Arena::create(Capacity::default())?)?;
    /// (0..5).try_for_each(|key| queue.post(key))?;
    /// let mut batch = Vec::with_capacity(3);
    /// assert_eq!(queue.next_batch(&mut batch, 3, Deadline::Never)?, 3);
    /// assert_eq!(queue.next_batch(&mut batch, 3, Deadline::Never)?, 2);
    /// assert!(batch.iter().map(|packet| packet.key).eq(0..5));
    /// assert_eq!(queue.next_batch(&mut batch, 3, Deadline::NOW), Err(Error::TimedOut));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`Queue::next`]; nothing was taken.
    ///
    /// Any thread; not in a signal handler. `NtRemoveIoCompletionEx`.
    pub fn next_batch(&self, batch: &mut Vec<Delivered>, most: usize, deadline: Deadline) -> Result<usize> {
        if most == 0 {
            return Ok(0);
        }
        batch.push(self.next(deadline)?);
        for taken in 1..most {
            // Another error than that nothing is there will come back, when there is nothing to lose.
            let Ok(delivered) = self.collect(Deadline::NOW) else { return Ok(taken) };
            batch.push(delivered);
        }
        Ok(most)
    }

    /// Cancels a wait. Exactly one of three things holds: it was not satisfied (none is returned), and takes nothing any more; it was
    /// satisfied, and the caller has the result, which no [`Queue::next`] returns; or a thread has taken the result before.
    ///
    /// ```
    /// use ntux::{Arena, Capacity, DetachedWait, Error, Event, Queue, Registered, Reset};
    ///
    /// let arena = Arena::create(Capacity::default())?;
    /// let (queue, event) = (Queue::create(&arena)?, Event::create(&arena, Reset::Auto, false)?);
    /// let Registered::Waits(wait) = queue.register_any(&[event.object()], DetachedWait::by(1))? else { unreachable!() };
    /// assert_eq!(queue.cancel(wait), Ok(None));
    /// assert_eq!(queue.cancel(wait), Err(Error::NoSuchObject));
    /// event.set()?;
    /// assert!(event.read()?.signaled, "nobody waits any more");
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchObject`] if its result was taken, it was cancelled, or it is none of this process.
    ///
    /// Any thread; not in a signal handler. `NtCancelWaitCompletionPacket`.
    pub fn cancel(&self, registration: Registration) -> Result<Option<Satisfied>> {
        self.perform(|arena, waiter, _| arena.cancel(waiter, registration))
    }

    /// Closes the queue for all clones of the handle, as dropping the last one does. A thread that sleeps in [`Queue::next`] returns, with
    /// [`Error::Invalid`], and so does every later call.
    ///
    /// ```
    /// use std::thread;
    /// use ntux::{Arena, Capacity, Deadline, Error, Queue};
    ///
    /// let queue = Queue::create(&Arena::create(Capacity::default())?)?;
    /// let taker = thread::spawn({
    ///     let queue = queue.clone();
    ///     move || queue.next(Deadline::Never)
    /// });
    /// queue.close()?;
    /// assert_eq!(taker.join().unwrap(), Err(Error::Invalid));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] if it was closed already, and in a forked child.
    ///
    /// Any thread; not in a signal handler. `NtClose`.
    pub fn close(&self) -> Result<()> {
        self.perform(|arena, waiter, queue| arena.queue_close(waiter, queue))
    }

    /// Returns true if [`Queue::fd`] has made one.
    pub(crate) fn has_fd(&self) -> bool {
        self.open.descriptor.get().is_some()
    }

    /// What [`Queue::fd`] has made before.
    pub(crate) fn made_fd(&self) -> BorrowedFd<'_> {
        self.open.descriptor.get().expect("its creator has called `fd`").fd()
    }

    /// The core's queue: for faces that keep queues by number.
    ///
    /// Any thread, also in a signal handler.
    pub fn core(&self) -> ntux_sync::Queue {
        self.open.queue
    }

    /// The arena of its objects.
    ///
    /// Any thread, also in a signal handler.
    pub fn arena(&self) -> &Arena {
        &self.open.arena
    }

    #[inline(always)]
    fn perform<R>(&self, operation: impl FnOnce(&ntux_sync::Arena, &ntux_sync::Waiter, ntux_sync::Queue) -> R) -> R {
        self.open.arena.with_waiter(|arena, waiter| operation(arena, waiter, self.open.queue))
    }
}
