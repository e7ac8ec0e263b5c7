// SPDX-License-Identifier: MIT OR Apache-2.0
//! Shared memory that holds objects.

use std::os::fd::{AsFd, BorrowedFd, IntoRawFd, OwnedFd};
use std::sync::Arc;

use ntux_platform::memory;
use ntux_sync::{Capacity, Satisfied, Waiter};

use crate::reactor::Reactor;
use crate::waiter::Attached;
use crate::{AsyncWait, Error, Object, Result, Wait, waiter};

/// An attached arena. A clone is the same attachment, which ends when the last clone and the last handle are dropped.
#[derive(Clone)]
pub struct Arena {
    attached: Arc<Attached>,
}

impl Arena {
    /// Creates an arena. It takes memory only as that is used, so a generous capacity costs nothing.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] if the capacity is out of range,
    /// [`Error::Exhausted`] or [`Error::Os`] if the system gives no
    /// memory or no descriptor.
    ///
    /// Any thread; not in a signal handler. Corresponds to opening `/dev/ntsync`. One wait cannot use objects of two
    /// arenas.
    pub fn create(capacity: Capacity) -> Result<Arena> {
        Ok(Arena { attached: Arc::new(Attached::new(ntux_sync::Arena::create(capacity)?)) })
    }

    /// Attaches the arena with this name, or creates it, in one step. All processes of the user that open one name share one arena. It ends
    /// when none of them has it any more, however they ended; the name means a new one then.
    ///
    /// A name has 1 to 200 bytes, contains no `/`, and does not begin with a dot. The capacity counts for a new arena only. A forked child
    /// shares the arena, but keeps its name from ending only if it opens it itself.
    ///
    /// ```no_run
    /// use ntux::{Arena, Capacity, Event, Name, Reset};
    ///
    /// let arena = Arena::open("session", Capacity::default())?;
    /// // In another process:
    /// let same = Arena::open("session", Capacity::default())?;
    ///
    /// let (ready, _) = Event::create_named(&arena, Name::new("ready")?, Reset::Auto, false)?;
    /// Event::open_named(&same, Name::new("ready")?)?.set()?;
    /// assert!(ready.read()?.signaled);
    /// # Ok::<(), ntux::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] for a name or a capacity that none can be; [`Error::NotAnArena`] if the file of that name is
    /// something else, or the arena is one of another version; [`Error::Exhausted`] also if 255 processes have the arena; [`Error::Os`] with
    /// `EPERM` if the directory is another user's or open to others, with `EACCES` if the processes that have the arena hide
    /// from this one, with `EXDEV` if they are in other PID namespaces, with `ENOENT` or `EACCES` if `/proc` does not show this process
    /// its descriptors, and with `ENOSYS` on other systems than Linux.
    ///
    /// Any thread; not in a signal handler.
    pub fn open(name: &str, capacity: Capacity) -> Result<Arena> {
        Ok(Arena { attached: Arc::new(Attached::new(ntux_sync::Arena::open(name, capacity)?)) })
    }

    /// Creates an arena without a descriptor: for the threads of this process, and the children that it forks. A program
    /// that closes descriptors which it does not know (`closefrom`) cannot hit it, and no other program gets it.
    ///
    /// # Errors
    ///
    /// Those of [`Arena::create`].
    ///
    /// Any thread; not in a signal handler.
    pub fn create_private(capacity: Capacity) -> Result<Arena> {
        Arena::private(capacity).map(|(arena, _)| arena)
    }

    /// The same, with a descriptor for those who look at it: `ntux inspect`, `why` and `trace` find the arena by it, also for users who may
    /// not open what a process has mapped. It has a high number and is closed when a program is executed. The arena does not need it: a
    /// program that closes it cannot be looked at any more, except by root.
    ///
    /// # Errors
    ///
    /// Those of [`Arena::create`]. Without a number for the descriptor the arena has none.
    ///
    /// Any thread; not in a signal handler.
    pub fn create_private_visible(capacity: Capacity) -> Result<Arena> {
        let (arena, file) = Arena::private(capacity)?;
        // It is the program's from now on: whoever closes a number of this process may use it for something else.
        let _ = memory::duplicate_high(file.as_fd()).map(IntoRawFd::into_raw_fd);
        Ok(arena)
    }

    /// One that does not need its file.
    fn private(capacity: Capacity) -> Result<(Arena, OwnedFd)> {
        let file = ntux_sync::Arena::create_file(capacity)?;
        Ok((Arena { attached: Arc::new(Attached::new(ntux_sync::Arena::map(file.as_fd())?)) }, file))
    }

    /// Attaches the arena behind a descriptor that came from [`Arena::fd`], in this process or another one. Only
    /// borrows the descriptor.
    ///
    /// ```
    /// use ntux::{Arena, Capacity, Deadline, Event, Reset};
    ///
    /// let arena = Arena::create(Capacity { objects: 16, waiters: 4 })?;
    /// let event = Event::create(&arena, Reset::Auto, false)?;
    ///
    /// // In another process these two values come through a socket.
    /// let (fd, object) = (arena.fd(), event.object());
    ///
    /// let attached = Arena::attach(fd)?;
    /// Event::from_object(&attached, object)?.set()?;
    /// assert_eq!(event.wait(Deadline::NOW), Ok(()));
    /// # Ok::<(), ntux::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NotAnArena`] if the descriptor is something else or an arena of another
    /// version; [`Error::Exhausted`] or [`Error::Os`] if it cannot be
    /// mapped.
    ///
    /// Any thread; not in a signal handler.
    pub fn attach(fd: BorrowedFd<'_>) -> Result<Arena> {
        Ok(Arena { attached: Arc::new(Attached::new(ntux_sync::Arena::attach(fd)?)) })
    }

    /// The descriptor to pass to other processes, over a Unix socket or by inheritance. It is close-on-exec and stays
    /// open while this arena is attached.
    ///
    /// # Panics
    ///
    /// If it was made by [`Arena::create_private`].
    ///
    /// Any thread, also in a signal handler.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.attached.fd().expect("an arena of Arena::create_private has no descriptor: use Arena::create to share one")
    }

    /// Waits until one of `objects` is signaled, and acquires it. Sleeps if none is signaled yet.
    ///
    /// If several are signaled, takes the one with the lowest index. An object may occur more than once. The alert of
    /// `wait` is checked only if no object is signaled. Without objects and alert this just sleeps.
    ///
    /// ```
    /// use ntux::{Arena, Capacity, Deadline, Error, Event, MutexObject, Reset, Wait, within};
    /// use std::time::Duration;
    ///
    /// let arena = Arena::create(Capacity { objects: 16, waiters: 4 })?;
    /// let mutex = MutexObject::create(&arena)?;
    /// let event = Event::create(&arena, Reset::Auto, true)?;
    /// let alert = Event::create(&arena, Reset::Auto, false)?;
    ///
    /// let either = [mutex.object(), event.object()];
    /// let wait = Wait::by(7).alert(alert.object()).until(within(Duration::from_millis(1)));
    /// assert_eq!(arena.wait_any(&either, wait)?.index, 0); // owner 7 has the mutex, the event is still set
    ///
    /// assert_eq!(arena.wait_any(&either[1..], wait)?.index, 0); // the event, which is reset now
    /// assert_eq!(arena.wait_any(&either[1..], wait), Err(Error::TimedOut));
    /// alert.set()?;
    /// assert_eq!(arena.wait_any(&either[1..], wait)?.index, 1); // one object, so the alert is index 1
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Nothing was acquired: [`Error::TimedOut`] when the deadline passed;
    /// [`Error::Invalid`] for owner 0 and for more than 64 objects;
    /// [`Error::NoSuchObject`] for an object that is closed or of another arena;
    /// [`Error::Exhausted`] when more threads wait than the
    /// arena has room for.
    ///
    /// Any thread; not in a signal handler. `NTSYNC_IOC_WAIT_ANY`, `NtWaitForMultipleObjects`.
    #[inline]
    pub fn wait_any(&self, objects: &[Object], wait: Wait) -> Result<Satisfied> {
        let Wait { owner, alert, deadline } = wait;
        let (named, alert) = (Object::all_in_core(objects), alert.map(Object::in_core));
        let ended = self.with_waiter(|arena, waiter| arena.wait_any(waiter, named, alert, owner, deadline));
        ended.map_err(|error| self.refusal(error, objects, wait))
    }

    /// Waits until all of `objects` are signaled at the same moment, and acquires them in one step that nobody can see
    /// inside. It holds nothing while it waits.
    ///
    /// The index of the result is 0, or the number of objects if the alert ended the wait. Without objects it
    /// succeeds at once. [`Satisfied::abandoned`] says that at least one acquired mutex had been abandoned, not
    /// which one.
    ///
    /// ```
    /// use ntux::{Arena, Capacity, Deadline, Error, Event, Reset, Semaphore, Wait};
    ///
    /// let arena = Arena::create(Capacity { objects: 16, waiters: 4 })?;
    /// let event = Event::create(&arena, Reset::Auto, false)?;
    /// let semaphore = Semaphore::create(&arena, 1, 1)?;
    ///
    /// let both = [event.object(), semaphore.object()];
    /// assert_eq!(arena.wait_all(&both, Wait::by(7).until(Deadline::NOW)), Err(Error::TimedOut));
    /// assert_eq!(semaphore.read()?.count, 1); // nothing was taken
    ///
    /// event.set()?;
    /// arena.wait_all(&both, Wait::by(7))?;
    /// assert_eq!(semaphore.read()?.count, 0);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`Arena::wait_any`]; also [`Error::Invalid`] for an object that occurs twice, among the objects or as alert.
    ///
    /// Any thread; not in a signal handler. `NTSYNC_IOC_WAIT_ALL`, `NtWaitForMultipleObjects`.
    #[inline]
    pub fn wait_all(&self, objects: &[Object], wait: Wait) -> Result<Satisfied> {
        let Wait { owner, alert, deadline } = wait;
        let (named, alert) = (Object::all_in_core(objects), alert.map(Object::in_core));
        let ended = self.with_waiter(|arena, waiter| arena.wait_all(waiter, named, alert, owner, deadline));
        ended.map_err(|error| self.refusal(error, objects, wait))
    }

    /// Does what [`Arena::wait_any`] does, for a task: waits until one of `objects` is signaled, and acquires it, mutexes for `owner`.
    /// Without objects the future is never ready.
    ///
    /// Dropping the future ends the wait, and gives back what no task has got: [`AsyncWait`]. So a deadline is the runtime's timeout, or a
    /// [`Timer`](crate::Timer) among the objects; an alert is one more object, or another future of which the first one counts. An owner is
    /// any number but 0, as for [`Wait::by`]: another one for each task.
    ///
    /// ```
    /// use ntux::{Arena, Capacity, Event, Reset, Semaphore};
    ///
    /// # #[tokio::main] async fn main() -> ntux::Result<()> {
    /// let arena = Arena::create(Capacity::default())?;
    /// let (jobs, stop) = (Semaphore::create(&arena, 0, 10)?, Event::create(&arena, Reset::Manual, false)?);
    /// let worker = tokio::spawn({
    ///     let (arena, either) = (arena.clone(), [jobs.object(), stop.object()]);
    ///     async move {
    ///         let mut done = 0;
    ///         while arena.wait_any_async(&either, 1).await?.index == 0 {
    ///             done += 1;
    ///         }
    ///         Ok::<u32, ntux::Error>(done)
    ///     }
    /// });
    /// jobs.release(3)?; // elsewhere, also in other processes
    /// stop.set()?;
    /// assert_eq!(worker.await.unwrap()?, 3);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// The future's; nothing was acquired: those of [`Arena::wait_any`], but [`Error::TimedOut`]; [`Error::Exhausted`] also when the arena
    /// has as many queues as it has room for; [`Error::Os`] if the system gives no thread.
    ///
    /// Any thread; not in a signal handler.
    pub fn wait_any_async(&self, objects: &[Object], owner: u32) -> AsyncWait {
        AsyncWait::new(self, objects, false, owner)
    }

    /// Does what [`Arena::wait_all`] does, for a task: waits until all of `objects` are signaled at the same moment, and acquires them in
    /// one step. See [`Arena::wait_any_async`].
    ///
    /// # Errors
    ///
    /// Those of [`Arena::wait_any_async`]; also [`Error::Invalid`] for an object that occurs twice.
    ///
    /// Any thread; not in a signal handler.
    pub fn wait_all_async(&self, objects: &[Object], owner: u32) -> AsyncWait {
        AsyncWait::new(self, objects, true, owner)
    }

    /// Signals one object, then waits for another: releases one unit of a semaphore, unlocks a mutex for the wait's owner, or sets an
    /// event. Two steps: another thread can see the signal before this one waits.
    ///
    /// # Errors
    ///
    /// Nothing was signaled: [`Error::NoSuchObject`]; [`Error::Invalid`] for owner 0;
    /// [`Error::NotOwner`]; [`Error::Overflow`];
    /// [`Error::Exhausted`]. Signaled: [`Error::TimedOut`], and
    /// `NoSuchObject` if another thread closed the second object meanwhile.
    ///
    /// Any thread; not in a signal handler. `NtSignalAndWaitForSingleObject`.
    pub fn signal_and_wait(&self, signal: Object, object: Object, wait: Wait) -> Result<Satisfied> {
        let Wait { owner, alert, deadline } = wait;
        let (signal, object, alert) = (signal.in_core(), object.in_core(), alert.map(Object::in_core));
        self.with_waiter(|arena, waiter| arena.signal_and_wait(waiter, signal, object, alert, owner, deadline))
    }

    /// Why a wait failed: the core, like the driver, has one error for all that is wrong with its arguments.
    #[cold]
    pub(crate) fn refusal(&self, error: Error, objects: &[Object], wait: Wait) -> Error {
        let is_closed = |object: &Object| self.core().kind(object.in_core()) == Err(Error::NoSuchObject);
        let is_possible = wait.owner != 0 && objects.len() <= ntux_sync::WAIT_MAX;
        match error {
            Error::Invalid if is_possible && objects.iter().chain(&wait.alert).any(is_closed) => Error::NoSuchObject,
            other => other,
        }
    }

    /// Closes an object of any kind, for every process, whoever holds it. Waits that have begun continue until their own deadlines.
    ///
    /// ```
    /// use ntux::{Arena, Capacity, Error, MutexObject};
    ///
    /// let arena = Arena::create(Capacity::default())?;
    /// let mutex = MutexObject::create(&arena)?;
    /// arena.close(mutex.object())?;
    /// assert_eq!(mutex.read(), Err(Error::NoSuchObject));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchObject`] if it was closed already, or never existed.
    ///
    /// Any thread; not in a signal handler. Corresponds to closing the last descriptor of the driver's object.
    pub fn close(&self, object: Object) -> Result<()> {
        self.attached.close(object.in_core())
    }

    /// This process holds an object of any kind once more: it lives at least until [`Arena::release`] was called as often, or the process
    /// has ended. A process holds what it created, once. Handles do this by themselves: [`Event::hold`](crate::Event::hold).
    ///
    /// ```
    /// use ntux::{Arena, Capacity, Error, Event, Reset};
    ///
    /// let arena = Arena::create(Capacity::default())?;
    /// let event = Event::create(&arena, Reset::Auto, false)?;
    /// let object = event.object();
    /// arena.hold(object)?;
    /// drop(event);
    /// assert_eq!(Event::from_object(&arena, object)?.set(), Ok(false)); // still there
    /// arena.release(object)?;
    /// assert_eq!(arena.hold(object), Err(Error::NoSuchObject));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchObject`] if it was closed, or nobody held it any more;
    /// [`Error::Exhausted`] when more processes use the arena than it has room for.
    ///
    /// Any thread; not in a signal handler. Corresponds to keeping a descriptor of the driver's object.
    pub fn hold(&self, object: Object) -> Result<()> {
        self.attached.hold(object.in_core())
    }

    /// This process holds an object once less. When no process holds it, it ends: at once, or, if a wait runs on it or somebody owns the
    /// mutex, some time after that.
    ///
    /// # Errors
    ///
    /// [`Error::NotHeld`] if this process does not hold it; [`Error::NoSuchObject`] if it was closed, or never existed.
    ///
    /// Any thread; not in a signal handler. Corresponds to closing a descriptor of the driver's object.
    #[inline]
    pub fn release(&self, object: Object) -> Result<()> {
        self.attached.release(object.in_core())
    }

    /// Another process holds an object of any kind once more, as if it had called [`Arena::hold`]: so an object can be handed to a process
    /// that runs already, and outlives the process that does so. The other one needs its number, by whatever way, and releases it
    /// ([`Arena::release`]) as it would release what it holds itself.
    ///
    /// `process` is its number as the calling process sees it. It must take part in the arena already: it has created, held or released
    /// something there, slept, or asked [`Arena::holds`], be it in vain. The hold ends with the process; a program that it executes keeps
    /// it, a child that it forks does not have it.
    ///
    /// ```
    /// use ntux::{Arena, Capacity, Event, Reset};
    ///
    /// let arena = Arena::create(Capacity::default())?;
    /// let event = Event::create(&arena, Reset::Auto, false)?;
    /// arena.hold_for(event.object(), std::process::id())?; // usually that of another one
    /// assert_eq!(arena.holds(event.object()), Ok(2));
    /// # Ok::<(), ntux::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchProcess`] if no living process with this number takes part, or it has ended meanwhile, or the system does not say;
    /// [`Error::NoSuchObject`] if the object was closed, or nobody held it any more;
    /// [`Error::Exhausted`] when more processes use the arena than it has room for.
    ///
    /// A caller that is killed meanwhile may leave the hold. One that gets [`Error::NoSuchProcess`] because the process has ended meanwhile
    /// may leave a hold of the process that has come into its place. Either ends with the process that has it.
    ///
    /// Any thread; not in a signal handler. `DuplicateHandle` to another process.
    pub fn hold_for(&self, object: Object, process: u32) -> Result<()> {
        self.attached.hold_for(object.in_core(), process)
    }

    /// How often this process holds an object of any kind: 0 if it does not. If more than four processes hold it, or this one more than 61
    /// times, what is not 0 may be too high.
    ///
    /// # Errors
    ///
    /// Those of [`Arena::hold`].
    ///
    /// Any thread; not in a signal handler.
    pub fn holds(&self, object: Object) -> Result<u32> {
        self.attached.holds(object.in_core())
    }

    /// The object lives from now on although no process holds it, with its name: as long as the arena, or until
    /// [`Arena::make_temporary`] or [`Arena::close`]. Holds are counted as before.
    ///
    /// ```
    /// use ntux::{Arena, Capacity, Error, Name, Semaphore};
    ///
    /// let arena = Arena::create(Capacity::default())?;
    /// let (jobs, _) = Semaphore::create_named(&arena, Name::new("jobs")?, 2, 2)?;
    /// arena.make_permanent(jobs.object())?;
    /// drop(jobs);
    /// let jobs = Semaphore::open_named(&arena, Name::new("jobs")?)?;
    /// arena.make_temporary(jobs.object())?;
    /// drop(jobs);
    /// assert!(matches!(Semaphore::open_named(&arena, Name::new("jobs")?), Err(Error::NoSuchName)));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchObject`] if it was closed, or never existed.
    ///
    /// Any thread; not in a signal handler. `NtMakePermanentObject`.
    pub fn make_permanent(&self, object: Object) -> Result<()> {
        self.attached.make_permanent(object.in_core())
    }

    /// Undoes [`Arena::make_permanent`]: the object ends when no process holds it, which may be now.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchObject`] if it was closed, or never existed;
    /// [`Error::Exhausted`] when more processes use the arena than it has room for.
    ///
    /// Any thread; not in a signal handler. `NtMakeTemporaryObject`.
    pub fn make_temporary(&self, object: Object) -> Result<()> {
        self.attached.make_temporary(object.in_core())
    }

    /// Makes an object belong to this process. An object belongs to the process that created it until another one
    /// adopts it; when that process has ended, and the arena needs the room, the object is closed.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchObject`] if it was closed, or never existed;
    /// [`Error::Exhausted`] when more processes use the arena than it has room for.
    ///
    /// Any thread; not in a signal handler. Corresponds to keeping a descriptor of the driver's object.
    pub fn adopt(&self, object: Object) -> Result<()> {
        self.attached.adopt(object.in_core())
    }

    /// What serves the asynchronous waits of this process.
    pub(crate) fn reactor(&self) -> Result<&Arc<Reactor>> {
        self.attached.reactor.get_or_make(&self.attached)
    }

    #[inline(always)]
    pub(crate) fn attached(&self) -> &Arc<Attached> {
        &self.attached
    }

    /// The core's arena: the way in for faces that keep waiters of their own.
    ///
    /// Any thread, also in a signal handler.
    #[inline]
    pub fn core(&self) -> &ntux_sync::Arena {
        &self.attached
    }

    /// The owner id of the calling thread: the same at each call, no other thread's in any process, and ended with the thread. A mutex
    /// that its thread has not unlocked by then becomes abandoned, also if the thread is killed with its process: those who wait for it with
    /// an id of the arena are told. Nobody has to call [`MutexObject::kill`](crate::MutexObject::kill).
    ///
    /// A wait that has lasted for 2 ms is told at once where the kernel tells of a thread's death: on Linux from 5.16 on, with the GNU C
    /// library, for 1,024 threads of an arena at a time. Otherwise it looks whether the owner lives: after a millisecond, then after twice as
    /// long each time, at last every 256. A poll that would fail looks at once.
    ///
    /// Ids of an arena have the highest bit. A program must not use other numbers with that bit in an arena of which it takes owners.
    ///
    /// ```
    /// use ntux::{Arena, Capacity, Deadline, MutexObject};
    ///
    /// let arena = Arena::create(Capacity::default())?;
    /// let mutex = MutexObject::create(&arena)?;
    /// std::thread::scope(|scope| {
    ///     // It ends with the mutex.
    ///     scope.spawn(|| mutex.lock(arena.owner_of_this_thread()?, Deadline::Never)).join().unwrap()
    /// })?;
    /// assert!(mutex.lock(arena.owner_of_this_thread()?, Deadline::Never)?.abandoned);
    /// # Ok::<(), ntux::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Exhausted`]: as many at a time as threads can wait in the arena, 32,768 at most.
    ///
    /// Any thread; not in a signal handler.
    pub fn owner_of_this_thread(&self) -> Result<u32> {
        self.with_waiter(|arena, waiter| arena.owner_of_this_thread(waiter))
    }

    /// A new owner id for whatever you like, such as a task or a request. It ends with the process, or by [`Arena::end_owner`]; otherwise it
    /// is like that of a thread ([`Arena::owner_of_this_thread`], which has the errors).
    pub fn create_owner(&self) -> Result<u32> {
        self.with_waiter(|arena, waiter| arena.owner_create(waiter))
    }

    /// Ends the owner of the calling thread, or one that this process has created: its mutexes become abandoned, and those who wait for them are
    /// told. It takes as long as there are threads that wait for them.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] if it is none of these, or has ended.
    ///
    /// Any thread; not in a signal handler.
    pub fn end_owner(&self, owner: u32) -> Result<()> {
        self.with_waiter(|arena, waiter| arena.owner_end(waiter, owner))
    }

    /// Calls `operation` as [`Arena::with_waiter`] does, if the thread has used this arena last, and so has a waiter: then it
    /// cannot panic by itself. For the `..._at_once` operations of the core, in other faces.
    ///
    /// Any thread; not in a signal handler.
    #[inline(always)]
    pub fn at_once<R>(&self, operation: impl FnOnce(&ntux_sync::Arena, &Waiter) -> Option<R>) -> Option<R> {
        operation(&self.attached, waiter::last(&self.attached)?)
    }

    /// Calls `operation` once with the core's arena and the calling thread's waiter in it. For other faces, such as the
    /// C one, whose objects have no type.
    ///
    /// Any thread; not in a signal handler.
    #[inline]
    pub fn with_waiter<R>(&self, operation: impl FnOnce(&ntux_sync::Arena, &Waiter) -> R) -> R {
        waiter::with(&self.attached, |waiter| operation(&self.attached, waiter))
    }
}

impl AsFd for Arena {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd()
    }
}
