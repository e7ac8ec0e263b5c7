// SPDX-License-Identifier: MIT OR Apache-2.0
//! Locks with data and guards: the unfair one, and the one in NT's order.

use core::cell::UnsafeCell;
use core::fmt;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};

use ntux_platform::atomic::{Flag, Word32};
use ntux_sync::Deadline;

use crate::raw_mutex::RawMutex;
use crate::{Arena, Error, MutexObject, Result};

/// A lock around data, for the threads of one process. Barges: whoever comes first takes it, as with the standard library's, but
/// nobody waits for long (some milliseconds) before it is handed over in turn. For NT's order use [`FairMutex`].
///
/// ```
/// use ntux::Mutex;
///
/// static TOTAL: Mutex<u64> = Mutex::new(0);
///
/// std::thread::scope(|scope| {
///     for _ in 0..4 {
///         scope.spawn(|| *TOTAL.lock().unwrap() += 1);
///     }
/// });
/// assert_eq!(*TOTAL.lock().unwrap(), 4);
/// ```
#[derive(Default)]
pub struct Mutex<T: ?Sized> {
    raw: RawMutex,
    poisoned: Poison,
    data: UnsafeCell<T>,
}

// SAFETY: one thread at a time has the guard, and with it the data.
unsafe impl<T: ?Sized + Send> Send for Mutex<T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}

/// True after a holder has panicked. Read and written with the lock held, or as a hint.
#[derive(Default)]
struct Poison(Flag);

// SAFETY: a relaxed flag; the lock orders what it is about.
unsafe impl Sync for Poison {}

/// Why a lock was not taken as usual.
pub enum LockError<G> {
    /// It was taken; a thread panicked while it held the lock, so the data may be half changed. Stays so until `clear_poison`.
    Poisoned(G),
    /// It was taken, but its last guard was never dropped: somebody declared its owner dead ([`MutexObject::kill`]), or the thread
    /// leaked it. So the data may be half changed, and only the program knows whether somebody still has it.
    Abandoned(Abandoned<G>),
    /// Not taken: the deadline passed.
    TimedOut,
    /// Not taken: the calling thread has it already.
    Held,
    /// Not taken: the arena refused.
    Refused(Error),
}

/// What a lock gives.
pub type LockResult<G> = core::result::Result<G, LockError<G>>;

impl<G> LockError<G> {
    /// The guard, if the lock was taken all the same, and nobody else can have one.
    pub fn into_guard(self) -> Option<G> {
        match self {
            LockError::Poisoned(guard) => Some(guard),
            LockError::Abandoned(_) | LockError::TimedOut | LockError::Held | LockError::Refused(_) => None,
        }
    }
}

impl<G> fmt::Display for LockError<G> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            LockError::Poisoned(_) => "a thread panicked while it held this lock: the data may be half changed",
            LockError::Abandoned(_) => "the last guard of this lock was never dropped: the data may be half changed",
            LockError::TimedOut => "the deadline passed",
            LockError::Held => "this thread holds this lock already",
            LockError::Refused(error) => return error.fmt(formatter),
        })
    }
}

impl<G> fmt::Debug for LockError<G> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{self}")
    }
}

impl<G> std::error::Error for LockError<G> {}

/// A lock whose last guard was never dropped. Gives the lock back when it is dropped; the next thread then gets the same answer.
#[must_use = "the lock is given back when this is dropped"]
pub struct Abandoned<G>(G);

impl<'a, T: ?Sized> Abandoned<FairMutexGuard<'a, T>> {
    /// The guard. The data is as the last holder left it, or in the middle of a change.
    ///
    /// # Safety
    ///
    /// Nobody will use the last guard any more, nor a reference that was taken from it. That its thread has ended is not enough: it may
    /// have leaked the guard and sent a reference to another thread. And nobody unlocks the mutex's object by its number meanwhile.
    pub unsafe fn take_over(self) -> FairMutexGuard<'a, T> {
        let Abandoned(guard) = self;
        guard.mutex.guarded.store(guard.owner);
        guard
    }
}

impl<T> Mutex<T> {
    /// A free lock around `data`.
    pub const fn new(data: T) -> Mutex<T> {
        Mutex { raw: RawMutex::new(), poisoned: Poison(Flag::new()), data: UnsafeCell::new(data) }
    }

    /// The data; nobody else has the lock.
    pub fn into_inner(self) -> T {
        self.data.into_inner()
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Waits for the lock, and takes it. A thread that has it already waits for ever.
    ///
    /// # Errors
    ///
    /// [`LockError::Poisoned`], with the guard.
    ///
    /// Any thread; not in a signal handler.
    #[inline]
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        self.lock_until(Deadline::Never)
    }

    /// Takes the lock if that is possible at once.
    ///
    /// # Errors
    ///
    /// [`LockError::TimedOut`], [`LockError::Poisoned`].
    pub fn try_lock(&self) -> LockResult<MutexGuard<'_, T>> {
        self.lock_until(Deadline::NOW)
    }

    /// Waits for the lock until `deadline` at most, and takes it.
    ///
    /// # Errors
    ///
    /// [`LockError::TimedOut`], [`LockError::Poisoned`].
    #[inline]
    pub fn lock_until(&self, deadline: Deadline) -> LockResult<MutexGuard<'_, T>> {
        if !self.raw.lock(deadline) {
            return Err(LockError::TimedOut);
        }
        let guard = MutexGuard { mutex: self, panicking: std::thread::panicking(), thread: PhantomData };
        if self.is_poisoned() { Err(LockError::Poisoned(guard)) } else { Ok(guard) }
    }

    /// Returns true if a holder has panicked.
    #[inline]
    pub fn is_poisoned(&self) -> bool {
        self.poisoned.0.is_raised()
    }

    /// The data is in order again.
    pub fn clear_poison(&self) {
        self.poisoned.0.set(false);
    }

    /// The data; nobody else has the lock.
    pub fn get_mut(&mut self) -> &mut T {
        self.data.get_mut()
    }
}

/// The lock of a [`Mutex`], which its drop gives back.
#[must_use = "the lock is given back when its guard is dropped"]
pub struct MutexGuard<'a, T: ?Sized> {
    mutex: &'a Mutex<T>,
    panicking: bool,
    /// Keeps it on the thread that took it.
    thread: PhantomData<*mut ()>,
}

// SAFETY: a shared guard gives shared data only.
unsafe impl<T: ?Sized + Sync> Sync for MutexGuard<'_, T> {}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: this thread has the lock.
        unsafe { &*self.mutex.data.get() }
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this thread has the lock, and the guard is borrowed alone.
        unsafe { &mut *self.mutex.data.get() }
    }
}

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        if !self.panicking && std::thread::panicking() {
            self.mutex.poisoned.0.set(true);
        }
        self.mutex.raw.unlock();
    }
}

/// A lock around data that is handed over in order of arrival: a [`MutexObject`] with a guard. Each hand-over to a thread that sleeps is
/// a context switch, so under contention it is many times slower than [`Mutex`]; `ntux why` and `ntux top` see it, and a wait for
/// several objects can include its [`FairMutex::object`].
///
/// ```
/// use ntux::{Arena, Capacity, FairMutex};
///
/// let arena = Arena::create_private(Capacity::default())?;
/// let queue = FairMutex::new(&arena, vec![1])?;
/// queue.lock().unwrap().push(2);
/// assert_eq!(*queue.lock().unwrap(), [1, 2]);
/// # Ok::<(), ntux::Error>(())
/// ```
pub struct FairMutex<T: ?Sized> {
    object: MutexObject,
    /// The owner whose guard was not dropped yet; 0 if there is none. A thread that changes this from 0 gets a guard: so there is one at a
    /// time, even if the mutex's object, which everybody can name, is unlocked, killed or closed by its number.
    guarded: Word32,
    poisoned: Poison,
    data: UnsafeCell<T>,
}

// SAFETY: one thread at a time has the guard (`guarded`), and with it the data.
unsafe impl<T: ?Sized + Send> Send for FairMutex<T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Send> Sync for FairMutex<T> {}

impl<T> FairMutex<T> {
    /// A free lock around `data`, whose mutex is an object of `arena`.
    ///
    /// # Errors
    ///
    /// Those of [`MutexObject::create`].
    pub fn new(arena: &Arena, data: T) -> Result<FairMutex<T>> {
        let object = MutexObject::create(arena)?;
        Ok(FairMutex { object, guarded: Word32::new(0), poisoned: Poison::default(), data: UnsafeCell::new(data) })
    }

    /// The data; nobody else has the lock.
    pub fn into_inner(self) -> T {
        self.data.into_inner()
    }
}

impl<T: ?Sized> FairMutex<T> {
    /// Waits for the lock behind all who came before, and takes it.
    ///
    /// # Errors
    ///
    /// [`LockError::Poisoned`], with the guard; [`LockError::Abandoned`]; [`LockError::Held`]; [`LockError::Refused`].
    ///
    /// Any thread; not in a signal handler.
    #[inline]
    pub fn lock(&self) -> LockResult<FairMutexGuard<'_, T>> {
        self.lock_until(Deadline::Never)
    }

    /// Takes the lock if that is possible at once.
    ///
    /// # Errors
    ///
    /// Those of [`FairMutex::lock`]; also [`LockError::TimedOut`].
    pub fn try_lock(&self) -> LockResult<FairMutexGuard<'_, T>> {
        self.lock_until(Deadline::NOW)
    }

    /// Waits for the lock behind all who came before, until `deadline` at most, and takes it.
    ///
    /// # Errors
    ///
    /// Those of [`FairMutex::lock`]; also [`LockError::TimedOut`].
    #[inline]
    pub fn lock_until(&self, deadline: Deadline) -> LockResult<FairMutexGuard<'_, T>> {
        let owner = this_owner();
        match self.object.lock(owner, deadline) {
            Ok(_) => {}
            Err(Error::TimedOut) => return Err(LockError::TimedOut),
            Err(error) => return Err(LockError::Refused(error)),
        }
        let last = self.guarded.compare_exchange(0, owner);
        if last == Err(owner) {
            let _ = self.object.unlock(owner);
            return Err(LockError::Held);
        }
        let guard = FairMutexGuard { mutex: self, owner, panicking: std::thread::panicking(), thread: PhantomData };
        match (last, self.poisoned.0.is_raised()) {
            (Err(_), _) => Err(LockError::Abandoned(Abandoned(guard))),
            (Ok(()), true) => Err(LockError::Poisoned(guard)),
            (Ok(()), false) => Ok(guard),
        }
    }

    /// The mutex, for waits for several objects and for [`MutexObject::kill`]. A thread that has acquired it in a wait has no guard, and
    /// nobody else gets one until it has unlocked it. Do not unlock it for the owner of a guard: the next [`FairMutex::lock`] is then
    /// [`LockError::Abandoned`].
    pub fn object(&self) -> &MutexObject {
        &self.object
    }

    /// Returns true if a holder has panicked.
    pub fn is_poisoned(&self) -> bool {
        self.poisoned.0.is_raised()
    }

    /// The data is in order again.
    pub fn clear_poison(&self) {
        self.poisoned.0.set(false);
    }
}

/// The calling thread's number as an owner: another one for each thread of this process.
fn this_owner() -> u32 {
    static NEXT: Word32 = Word32::new(1);
    thread_local! {
        static OWN: u32 = NEXT.fetch_add(1).max(1);
    }
    // While the thread ends, a number of its own will do: it is the same lock's holder to nobody else.
    OWN.try_with(|own| *own).unwrap_or_else(|_| NEXT.fetch_add(1).max(1))
}

/// The lock of a [`FairMutex`], which its drop gives back.
#[must_use = "the lock is given back when its guard is dropped"]
pub struct FairMutexGuard<'a, T: ?Sized> {
    mutex: &'a FairMutex<T>,
    owner: u32,
    panicking: bool,
    /// Keeps it on the thread that took it.
    thread: PhantomData<*mut ()>,
}

impl<T: ?Sized> FairMutexGuard<'_, T> {
    /// The owner that the mutex has meanwhile: a number of the thread.
    pub fn owner(guard: &Self) -> u32 {
        guard.owner
    }
}

// SAFETY: a shared guard gives shared data only.
unsafe impl<T: ?Sized + Sync> Sync for FairMutexGuard<'_, T> {}

impl<T: ?Sized> Deref for FairMutexGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: this thread has the lock.
        unsafe { &*self.mutex.data.get() }
    }
}

impl<T: ?Sized> DerefMut for FairMutexGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this thread has the lock, and the guard is borrowed alone.
        unsafe { &mut *self.mutex.data.get() }
    }
}

impl<T: ?Sized> Drop for FairMutexGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        if !self.panicking && std::thread::panicking() {
            self.mutex.poisoned.0.set(true);
        }
        // It fails if this guard was not taken over from one that was never dropped.
        let _ = self.mutex.guarded.compare_exchange(self.owner, 0);
        // It fails if the object was closed or killed by its number: then nobody waits for this thread.
        let _ = self.mutex.object.unlock(self.owner);
    }
}
