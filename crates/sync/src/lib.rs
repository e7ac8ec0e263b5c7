//! NT semaphores, mutexes and events with vectored waits, in memory that processes share.
//!
//! The operations mean what the Linux ntsync driver means by them. What each does, one step at a time, is [`spec`]; how
//! several threads and processes do it at once without a lock is the rest of this crate.
//!
//! | question | file |
//! | --- | --- |
//! | What does an operation mean? | [`spec`] |
//! | What is stored where? | `arena/format`, `arena/fields`, `word` (objects), `waiter_word` (waiters), `ticket`, `wait_set` (who waits for what) |
//! | What does an operation do to a value? | `semaphore`, `mutex`, `event` |
//! | How does an object reach a waiter? | `signal`, `claim` |
//! | How does a thread wait? | `waiter` (its place; `waiter/epoch`: one wait), `request`, `wait_any`, `wait_all`, `queueing`, `spin` |
//! | How are several objects taken in one step? | `admission` (`admission/word`, `admission/announced`, `admission/attempt`) |
//! | What if the memory is rubbish? | `arena` (checked views), `budget` (bounded loops) |
//! | What does an onlooker see, who touches nothing? | `inspect` |
//! | What shows that a checker would notice a mistake? | [`planted`] |
//! | What if a process dies? | `arena/objects`, `arena/peers`, `arena/descriptor`, and the *Death* part of every file |
//!
//! No function here is safe to call from a signal handler that interrupted another one on the same [`Waiter`], except
//! [`Waiter::interrupt`].

mod admission;
mod arena;
mod budget;
mod claim;
mod error;
mod event;
pub mod inspect;
mod mutex;
pub mod planted;
mod queueing;
mod request;
mod semaphore;
mod signal;
pub mod spec;
mod spin;
mod ticket;
pub mod trace;
mod wait_all;
mod wait_any;
mod wait_set;
mod waiter;
mod waiter_word;
mod word;

pub use arena::descriptor::Identity;
pub use arena::meta::Kind;
pub use arena::{Arena, Capacity, fields};
pub use error::{Error, Result};
pub use ntux_platform::clock::Deadline;
pub use ntux_platform::memory::FileId;
pub use request::WAIT_MAX;
pub use waiter::Waiter;

/// Most rounds of a loop over one word, which ends sooner unless other threads change that word in between. Whoever reaches
/// it looks at memory that somebody scribbles over. For loops with more in them see [`budget`].
const RETRIES: u32 = 1 << 20;

/// An object of an arena, as a plain number: it means the same in every process that attached the arena. Never 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(transparent)]
pub struct Object(pub u64);

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

/// What to create.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum New {
    /// A semaphore; `count` at most `max`.
    Semaphore {
        /// Units available at first.
        count: u32,
        /// Most units.
        max: u32,
    },
    /// A mutex; owner and recursion count both 0, or neither.
    Mutex {
        /// First owner, or 0.
        owner: u32,
        /// Its recursion count, or 0.
        count: u32,
    },
    /// An event.
    Event {
        /// Stays signaled until reset.
        manual: bool,
        /// Signaled at first.
        signaled: bool,
    },
}

impl Arena {
    /// Creates an object that lives until somebody closes it ([`Arena::close`]), or until its process has ended and the
    /// arena needs the slot ([`Arena::adopt`]).
    ///
    /// Errors: `Invalid` (see [`New`]), `Exhausted`.
    pub fn create_new(&self, waiter: &Waiter, new: New) -> Result<Object> {
        self.create_object(waiter, arena::objects::Start::of(new)?, arena::lifetime::Lifetime::Process)
    }

    /// Creates a semaphore; see [`Arena::create_new`].
    pub fn semaphore_create(&self, waiter: &Waiter, count: u32, max: u32) -> Result<Object> {
        self.create_new(waiter, New::Semaphore { count, max })
    }

    /// Creates a mutex; see [`Arena::create_new`].
    pub fn mutex_create(&self, waiter: &Waiter, owner: u32, count: u32) -> Result<Object> {
        self.create_new(waiter, New::Mutex { owner, count })
    }

    /// Creates an event; see [`Arena::create_new`].
    pub fn event_create(&self, waiter: &Waiter, manual: bool, signaled: bool) -> Result<Object> {
        self.create_new(waiter, New::Event { manual, signaled })
    }
}
