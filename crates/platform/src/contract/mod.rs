// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a system must provide, what it may lack, and the consequences.
//!
//! A room implements these traits on one type. `tests/contract/suite` checks that it does what they promise: run it on a new system
//! before any test of the core (`cargo test -p ntux-platform --test contract`).
//!
//! # A system must provide
//!
//! | | trait | requirement |
//! | --- | --- | --- |
//! | sleep | [`futex::Sleep`] | Comparing the word and falling asleep are one step for every waker, in every process that maps the word, at whatever address. A wake after that step ends the sleep. A sleep may end spuriously; it must not outlast its wake. |
//! | memory | [`memory::SharedMemory`] | Shared memory behind a descriptor, whose size never changes, which every process sees at once, and which has an identity. Touching it never raises a signal. |
//! | identity | [`liveness::Identity`] | Numbers of processes and threads that mean the same in every process of the machine (or of its namespace, which has a name), and a start time or the like that distinguishes a recycled number from its predecessor. A thread's number has at most [`liveness::THREAD_BITS`] bits and is not reused while anything refers to it. |
//! | locks | [`memory::Locks`] | A lock on a byte of a file belongs to the open file description: all its copies share it, and the end of the last one, however its process ended, releases it. |
//! | own signals | [`to_self::OwnSignals`] | A thread can send itself a signal, which is pending for it alone when the call returns. |
//! | flags | [`wake_descriptor::Flags`] | A descriptor that a thread of the process makes readable and unreadable, for everybody who polls it. |
//! | pages | [`protection::Pages`] | Protection of pages, and memory that a child of fork finds empty. |
//!
//! And, the same on every system, from POSIX: an error number for each thread, clocks of nanoseconds ([`clock`]),
//! `fork` handlers; and, from the processor, exchanges of 16 bytes in one step ([`crate::atomic`]).
//!
//! # A system may lack
//!
//! | | trait | without it |
//! | --- | --- | --- |
//! | wakes at death | [`robust::WakesAtDeath`] | A killed waker delays the one wake that it owed until somebody touches the object; a killed waiter keeps its slot until the slot is needed. |
//! | marks at death | [`life::MarksAtDeath`] | Who sleeps for the mutex of an owner that was killed notices that when it looks, at last every quarter of a second. |
//! | vectors | [`kernel_futex::Vectors`] | A table in user space serves waits for several futexes, and requeues, or they are refused. |
//! | nodes | [`kernel_futex::Nodes`] | Futexes with a memory node are refused. |
//! | descriptions | [`memory::Descriptions`] | No objects behind descriptors: no drop-in device. |
//! | meetings | [`meeting::Meetings`] | No arenas by name. |
//! | ends of others | [`processes::Processes`] | No handles of other processes. |
//! | rings | [`wake_descriptor::Rings`] | A thread sleeps for each wake descriptor. |
//! | memory watches | [`crate::watching`] | Write watches are refused. |
//!
//! A room takes what its system lacks from `absent`, which implements the trait for every type with the marker
//! (`NoVectors`, ...).
//!
//! # Preconditions
//! Callers of [`futex`] and [`memory::provide`] name mapped memory. The system checks everything else.

pub mod clock;
pub mod futex;
pub mod kernel_futex;
pub mod life;
pub mod liveness;
pub mod meeting;
pub mod memory;
pub mod processes;
pub mod protection;
pub mod robust;
pub mod to_self;
pub mod wake_descriptor;

/// A system that fulfils the contract.
pub trait System:
    futex::Sleep
    + kernel_futex::Futexes
    + kernel_futex::LongWords
    + kernel_futex::Vectors
    + kernel_futex::Nodes
    + life::MarksAtDeath
    + liveness::Identity
    + meeting::Meetings
    + memory::SharedMemory
    + memory::Locks
    + memory::Descriptions
    + processes::Processes
    + protection::Pages
    + robust::WakesAtDeath
    + to_self::OwnSignals
    + wake_descriptor::Flags
    + wake_descriptor::Rings
    + 'static
{
    /// A monotonic clock that is up to 10 ms behind and cheaper to read; the monotonic clock itself where there is none.
    const COARSE_CLOCK: libc::clockid_t;
    /// The clock that goes on while the machine sleeps, and that nobody sets.
    const BOOT_CLOCK: libc::clockid_t;

    /// The address of the calling thread's error number.
    fn errno_place() -> *mut libc::c_int;

    /// How many processors this process may use, as far as the calling thread and its first one say; the maximum if unknown.
    fn processors() -> u64;

    /// The number of the processor that the calling thread is on, if the system says it without a call.
    fn processor() -> Option<u32>;
}
