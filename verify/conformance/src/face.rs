// SPDX-License-Identifier: MIT OR Apache-2.0
//! A face: one way to reach the objects, with a method for each operation.

use std::fmt;
use std::time::Duration;

/// An object as its face names it: a number of an arena, or a descriptor.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Object(pub u64);

/// The name of an object, as somebody looks for it.
#[derive(Clone, Copy)]
pub struct Name<'a> {
    /// Its bytes.
    pub text: &'a [u8],
    /// Letters match in any case.
    pub ignores_case: bool,
}

/// What to create by a name.
#[derive(Clone, Copy)]
#[allow(missing_docs, reason = "the names are those of the interface")]
pub enum New {
    Semaphore { count: u32, max: u32 },
    Mutex { owner: u32, count: u32 },
    Event { manual: bool, signaled: bool },
    Timer { manual: bool },
}

/// Why an operation was refused.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Errno(pub i32);

macro_rules! errnos {
    ($($name:ident)*) => {
        $(#[doc = concat!("The error number ", stringify!($name), ".")] pub const $name: Errno = Errno(libc::$name);)*

        impl fmt::Debug for Errno {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                match *self {
                    $($name => out.write_str(stringify!($name)),)*
                    Errno(number) => write!(out, "errno {number}"),
                }
            }
        }
    };
}

errnos!(EALREADY EBADF EFAULT EINTR EINVAL EMFILE ENODEV ENOENT ENOMEM ENOTTY ENXIO EOVERFLOW EOWNERDEAD EPERM EPROTOTYPE ESPIPE ESRCH ETIMEDOUT);

/// What an operation gave.
pub type Outcome<T> = Result<T, Errno>;

/// The state of a semaphore.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Semaphore {
    /// Tokens left.
    pub count: u32,
    /// Most tokens it can hold.
    pub max: u32,
}

/// The state of a mutex.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mutex {
    /// Owner id, 0 when unowned.
    pub owner: u32,
    /// Recursion count.
    pub count: u32,
    /// Its owner was killed and nobody acquired it since.
    pub abandoned: bool,
}

/// The state of an event. Numbers, not truth values, so that a face that stores another number than 1 is seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    /// 1 for manual-reset, 0 for auto-reset.
    pub manual: u32,
    /// 1 when signaled.
    pub signaled: u32,
}

/// A clock of a timer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Clock {
    Monotonic,
    Wall,
    Boot,
}

impl Clock {
    /// Its time.
    pub fn now_ns(self) -> u64 {
        clock_ns(match self {
            Clock::Monotonic => libc::CLOCK_MONOTONIC,
            Clock::Wall => libc::CLOCK_REALTIME,
            #[cfg(target_os = "linux")]
            Clock::Boot => libc::CLOCK_BOOTTIME,
            #[cfg(not(target_os = "linux"))]
            Clock::Boot => libc::CLOCK_MONOTONIC,
        })
    }

    /// Its time so many milliseconds from now.
    pub fn in_ms(self, ms: u64) -> u64 {
        self.now_ns() + ms * 1_000_000
    }
}

/// The state of a timer. Numbers as in [`Event`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timer {
    /// 1 for manual-reset, 0 for a synchronization timer.
    pub manual: u32,
    /// 1 when signaled.
    pub signaled: u32,
    /// By which clock it fires, and when; none if it is not armed.
    pub due: Option<(Clock, u64)>,
    /// In nanoseconds.
    pub period: u64,
}

/// A satisfied wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Satisfied {
    /// Which object, or the number of objects for the alert.
    pub index: u32,
    /// A mutex that it acquired had been abandoned.
    pub abandoned: bool,
}

/// A queue as its face names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Queue(pub u64);

/// A registered wait as its face names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Registration(pub u64);

/// What a registration has come to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Registered {
    /// It was satisfied at once.
    Satisfied(Satisfied),
    /// It waits.
    Waits(Registration),
}

/// What was taken from a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Delivered {
    /// Which wait was satisfied; none: a packet.
    pub registration: Option<Registration>,
    /// That of the wait, or of the packet.
    pub key: u64,
    /// What the wait has acquired.
    pub satisfied: Satisfied,
}

/// Until when a wait waits: nanoseconds on a clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Deadline {
    /// No deadline.
    Never,
    /// On the monotonic clock.
    Monotonic(u64),
    /// On the wall clock.
    Realtime(u64),
}

impl Deadline {
    /// So many milliseconds from now, on the monotonic clock.
    pub fn in_ms(ms: u64) -> Deadline {
        Deadline::Monotonic(clock_ns(libc::CLOCK_MONOTONIC) + ms * 1_000_000)
    }

    /// So many milliseconds from now, on the wall clock.
    pub fn realtime_in_ms(ms: u64) -> Deadline {
        Deadline::Realtime(clock_ns(libc::CLOCK_REALTIME) + ms * 1_000_000)
    }

    /// Nanoseconds since the start of its clock; all ones for [`Deadline::Never`].
    pub fn ns(self) -> u64 {
        match self {
            Deadline::Never => u64::MAX,
            Deadline::Monotonic(ns) | Deadline::Realtime(ns) => ns,
        }
    }

    /// How long until then; none for [`Deadline::Never`].
    pub fn left(self) -> Option<Duration> {
        let clock = match self {
            Deadline::Never => return None,
            Deadline::Monotonic(_) => libc::CLOCK_MONOTONIC,
            Deadline::Realtime(_) => libc::CLOCK_REALTIME,
        };
        Some(Duration::from_nanos(self.ns().saturating_sub(clock_ns(clock))))
    }

    /// Returns whether that time has come.
    pub fn passed(self) -> bool {
        self.left() == Some(Duration::ZERO)
    }
}

pub(crate) fn clock_ns(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the answer.
    let result = unsafe { libc::clock_gettime(clock, &mut time) };
    assert_eq!(result, 0, "both clocks exist");
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// What outputs hold before an operation.
pub const POISON: u32 = 0xdead_beef;

/// The owner id that a wait carries unless the case says otherwise.
pub const OWNER: u32 = 123;

/// The arguments of a wait. Starts as one attempt: the deadline lies in the past.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wait {
    /// Wait for all objects at once, not for any of them.
    pub all: bool,
    /// What to wait for.
    pub objects: Vec<Object>,
    /// One more object, which ends the wait without belonging to it.
    pub alert: Option<Object>,
    /// The owner that acquires mutexes.
    pub owner: u32,
    /// When to give up.
    pub deadline: Deadline,
}

/// A wait for any of `objects`.
pub fn any(objects: &[Object]) -> Wait {
    Wait { all: false, objects: objects.to_vec(), alert: None, owner: OWNER, deadline: Deadline::Monotonic(0) }
}

/// A wait for all of `objects` at once.
pub fn all(objects: &[Object]) -> Wait {
    Wait { all: true, ..any(objects) }
}

impl Wait {
    /// The same wait with an alert.
    pub fn alert(self, alert: Object) -> Wait {
        Wait { alert: Some(alert), ..self }
    }

    /// The same wait by another owner id.
    pub fn owner(self, owner: u32) -> Wait {
        Wait { owner, ..self }
    }

    /// The same wait with another deadline.
    pub fn until(self, deadline: Deadline) -> Wait {
        Wait { deadline, ..self }
    }

    /// The same wait without a deadline.
    pub fn forever(self) -> Wait {
        self.until(Deadline::Never)
    }
}

/// One way to reach the objects of one instance. Any thread may call any method at any time.
///
/// A face poisons every output before an operation and panics when one was written that should not have been.
pub trait Face: Sync {
    /// Creates a semaphore.
    fn semaphore_create(&self, count: u32, max: u32) -> Outcome<Object>;
    /// Adds to a semaphore; gives the count before.
    fn semaphore_release(&self, semaphore: Object, add: u32) -> Outcome<u32>;
    /// Reads a semaphore.
    fn semaphore_read(&self, semaphore: Object) -> Outcome<Semaphore>;
    /// Creates a mutex.
    fn mutex_create(&self, owner: u32, count: u32) -> Outcome<Object>;
    /// Lowers the recursion count by one; gives the count before.
    fn mutex_unlock(&self, mutex: Object, owner: u32) -> Outcome<u32>;
    /// Declares the owner dead.
    fn mutex_kill(&self, mutex: Object, owner: u32) -> Outcome<()>;
    /// Reads a mutex. A face that reports an abandoned one by an error number reads the fields all the same.
    fn mutex_read(&self, mutex: Object) -> Outcome<Mutex>;
    /// Creates an event.
    fn event_create(&self, manual: u32, signaled: u32) -> Outcome<Object>;
    /// Signals an event; gives the state before.
    fn event_set(&self, event: Object) -> Outcome<u32>;
    /// Takes the signal away; gives the state before.
    fn event_reset(&self, event: Object) -> Outcome<u32>;
    /// Satisfies who waits now and leaves the event unsignaled; gives the state before.
    fn event_pulse(&self, event: Object) -> Outcome<u32>;
    /// Reads an event.
    fn event_read(&self, event: Object) -> Outcome<Event>;
    /// Creates a timer.
    fn timer_create(&self, _manual: u32) -> Outcome<Object> {
        unreachable!("a face whose objects nobody holds leaves those cases out")
    }
    /// Arms a timer: when it fires, by which clock, and after how long again.
    fn timer_set(&self, _timer: Object, _clock: Clock, _due: u64, _period: u64) -> Outcome<()> {
        unreachable!("a face whose objects nobody holds leaves those cases out")
    }
    /// Ends the arming of a timer.
    fn timer_cancel(&self, _timer: Object) -> Outcome<()> {
        unreachable!("a face whose objects nobody holds leaves those cases out")
    }
    /// Reads a timer.
    fn timer_read(&self, _timer: Object) -> Outcome<Timer> {
        unreachable!("a face whose objects nobody holds leaves those cases out")
    }
    /// Creates a queue.
    fn queue_create(&self) -> Outcome<Queue> {
        unreachable!("a face whose objects nobody holds leaves those cases out")
    }
    /// Closes a queue.
    fn queue_close(&self, _queue: Queue) -> Outcome<()> {
        unreachable!("a face whose objects nobody holds leaves those cases out")
    }
    /// Registers a wait, whose alert and deadline do not count.
    fn queue_wait(&self, _queue: Queue, _wait: &Wait, _key: u64) -> Outcome<Registered> {
        unreachable!("a face whose objects nobody holds leaves those cases out")
    }
    /// Posts a packet.
    fn queue_post(&self, _queue: Queue, _key: u64) -> Outcome<()> {
        unreachable!("a face whose objects nobody holds leaves those cases out")
    }
    /// Takes a result or a packet.
    fn queue_get(&self, _queue: Queue, _deadline: Deadline) -> Outcome<Delivered> {
        unreachable!("a face whose objects nobody holds leaves those cases out")
    }
    /// Cancels a registered wait; gives what it has acquired.
    fn queue_cancel(&self, _registration: Registration) -> Outcome<Option<Satisfied>> {
        unreachable!("a face whose objects nobody holds leaves those cases out")
    }
    /// The owner id that the arena gives the calling thread.
    fn owner_of_thread(&self) -> Outcome<u32> {
        unreachable!("a face whose objects nobody holds leaves those cases out")
    }
    /// A new owner id of the arena.
    fn owner_create(&self) -> Outcome<u32> {
        unreachable!("a face whose objects nobody holds leaves those cases out")
    }
    /// Ends an owner id of the arena.
    fn owner_end(&self, _owner: u32) -> Outcome<()> {
        unreachable!("a face whose objects nobody holds leaves those cases out")
    }
    /// Creates the end of an owner id of the arena.
    fn end_create(&self, _owner: u32) -> Outcome<Object> {
        unreachable!("a face whose objects nobody holds leaves those cases out")
    }
    /// Says with which code it will end.
    fn end_report(&self, _end: Object, _code: u32) -> Outcome<()> {
        unreachable!("a face whose objects nobody holds leaves those cases out")
    }
    /// Whose end it is, whether that has come, and the code that was reported.
    fn end_read(&self, _end: Object) -> Outcome<(u32, bool, Option<u32>)> {
        unreachable!("a face whose objects nobody holds leaves those cases out")
    }
    /// Gives an object up.
    fn close(&self, object: Object) -> Outcome<()>;
    /// The process holds an object once more.
    fn hold(&self, _object: Object) -> Outcome<()> {
        unreachable!("a face whose objects nobody holds leaves those cases out")
    }
    /// The process with this number holds an object once more.
    fn hold_for(&self, _object: Object, _process: u32) -> Outcome<()> {
        unreachable!("a face whose objects nobody holds leaves those cases out")
    }
    /// How often the process holds an object.
    fn holds(&self, _object: Object) -> Outcome<u32> {
        unreachable!("a face whose objects nobody holds leaves those cases out")
    }
    /// The process holds an object once less.
    fn let_go(&self, _object: Object) -> Outcome<()> {
        unreachable!("a face whose objects nobody holds leaves those cases out")
    }
    /// Opens the object with this name, or creates it. Returns whether it existed.
    fn create_named(&self, _name: Name<'_>, _new: New) -> Outcome<(Object, bool)> {
        unreachable!("a face whose objects nobody holds leaves those cases out")
    }
    /// Opens the object with this name, of the kind of `like`.
    fn open_named(&self, _name: Name<'_>, _like: New) -> Outcome<Object> {
        unreachable!("a face whose objects nobody holds leaves those cases out")
    }
    /// The object lives although nobody holds it, or does not any more.
    fn set_permanent(&self, _object: Object, _permanent: bool) -> Outcome<()> {
        unreachable!("a face whose objects nobody holds leaves those cases out")
    }
    /// Waits.
    fn wait(&self, wait: &Wait) -> Outcome<Satisfied>;
    /// A process was killed, says its supervisor. Where the system itself ends the waits of the dead, nobody says so.
    fn bury(&self, _process: u32) {}
    /// The same instance as a child process uses it that was just forked.
    fn in_child(&self) -> Box<dyn Face>;
}
