//! NT semaphores, mutexes and events with vectored waits, in memory that processes share.
//!
//! The operations mean what the Linux ntsync driver means by them. What each does, one step at a time, is [`spec`]; how
//! several threads and processes do it at once without a lock is the rest of this crate.

pub mod spec;

pub use ntux_platform::clock::Deadline;

/// An object of an arena, as a plain number: it means the same in every process that attached the arena.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Object(pub u64);

/// Why an operation was refused. Nothing changed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum Error {
    /// An argument out of range, an object of another kind or another arena (`EINVAL`).
    Invalid,
    /// The object was closed, or never was (`EBADF`).
    NoSuchObject,
    /// The caller's owner id does not own the mutex (`EPERM`).
    NotOwner,
    /// The count would exceed the semaphore's maximum (`EOVERFLOW`).
    Overflow,
    /// The deadline passed (`ETIMEDOUT`).
    TimedOut,
    /// A signal handler is due (`EINTR`); see [`Waiter::interrupt`].
    Interrupted,
    /// No slot left in the arena, or no memory (`ENOMEM`).
    Exhausted,
    /// The shared memory does not make sense: somebody scribbled over it (`EIO`).
    Corrupt,
    /// Not an arena, or one of another version (`ENOTTY` from a descriptor, `EINVAL` elsewhere).
    NotAnArena,
    /// The operating system refused; its error number.
    Os(i32),
}

/// A satisfied wait.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Satisfied {
    /// Which object (0 for wait-all), or the number of objects for the alert.
    pub index: u32,
    /// An acquired mutex had been abandoned.
    pub abandoned: bool,
}

/// State of a mutex.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct MutexState {
    /// Owner id, 0 when unowned.
    pub owner: u32,
    /// Recursion count.
    pub count: u32,
    /// Its owner was killed and nobody acquired it since.
    pub abandoned: bool,
}

/// How many objects, waiting threads and queue extensions an arena can hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Capacity {
    /// Objects.
    pub objects: u32,
    /// Threads that wait at the same time.
    pub waiters: u32,
}

/// One thread's place in an arena: not shared between threads. Taken lazily, given back on drop.
pub struct Waiter(());

/// An attached arena. Share it between threads by reference or `Arc`.
pub struct Arena(());

type Result<T> = core::result::Result<T, Error>;

#[allow(unused_variables, missing_docs, clippy::missing_errors_doc)]
impl Arena {
    pub fn create(capacity: Capacity) -> Result<Arena> { todo!() }
    /// Maps the arena behind a descriptor, which is only borrowed.
    pub fn attach(fd: std::os::fd::BorrowedFd<'_>) -> Result<Arena> { todo!() }
    /// A descriptor to hand to other processes.
    pub fn fd(&self) -> std::os::fd::BorrowedFd<'_> { todo!() }
    pub fn waiter(&self) -> Waiter { todo!() }
    pub fn semaphore_create(&self, count: u32, max: u32) -> Result<Object> { todo!() }
    pub fn semaphore_release(&self, waiter: &Waiter, object: Object, count: u32) -> Result<u32> { todo!() }
    pub fn semaphore_read(&self, waiter: &Waiter, object: Object) -> Result<(u32, u32)> { todo!() }
    pub fn mutex_create(&self, owner: u32, count: u32) -> Result<Object> { todo!() }
    pub fn mutex_unlock(&self, waiter: &Waiter, object: Object, owner: u32) -> Result<u32> { todo!() }
    pub fn mutex_kill(&self, waiter: &Waiter, object: Object, owner: u32) -> Result<()> { todo!() }
    pub fn mutex_read(&self, waiter: &Waiter, object: Object) -> Result<MutexState> { todo!() }
    pub fn event_create(&self, manual: bool, signaled: bool) -> Result<Object> { todo!() }
    pub fn event_set(&self, waiter: &Waiter, object: Object) -> Result<bool> { todo!() }
    pub fn event_reset(&self, waiter: &Waiter, object: Object) -> Result<bool> { todo!() }
    pub fn event_pulse(&self, waiter: &Waiter, object: Object) -> Result<bool> { todo!() }
    /// (manual, signaled)
    pub fn event_read(&self, waiter: &Waiter, object: Object) -> Result<(bool, bool)> { todo!() }
    pub fn close(&self, object: Object) -> Result<()> { todo!() }
    pub fn wait_any(&self, waiter: &Waiter, objects: &[Object], alert: Option<Object>, owner: u32, deadline: Deadline) -> Result<Satisfied> { todo!() }
    pub fn wait_all(&self, waiter: &Waiter, objects: &[Object], alert: Option<Object>, owner: u32, deadline: Deadline) -> Result<Satisfied> { todo!() }
}

#[allow(missing_docs)]
impl Waiter {
    /// Async-signal-safe, on the waiter's own thread: takes the wait in progress (if any) out of every queue, unless it is
    /// satisfied already; the wait then returns `Interrupted`. Stays in force for the next wait until `resume`.
    pub fn interrupt(&self) { todo!() }
    pub fn resume(&self) { todo!() }
}
