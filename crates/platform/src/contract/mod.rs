//! What a system must give, what it may lack, and what follows then.
//!
//! A room implements these traits on one type.
//!
//! # A system must give
//!
//! | | trait | what is relied on |
//! | --- | --- | --- |
//! | sleep | [`futex::Sleep`] | The comparison of the word and the falling asleep are one step for every waker, in every process that maps the word, at whatever address. A wake that comes after the step ends the sleep. A sleep may end without reason; it must not outlast its wake. |
//! | memory | [`memory::SharedMemory`] | Shared memory behind a descriptor, whose size never changes, which every process sees at once, and which has an identity. Touching it never raises a signal. |
//! | identity | [`liveness::Identity`] | Numbers of processes and threads that hold in every process of the machine (or of its namespace, which has a name), and a start time or so which tells a recycled number from the one before. A thread's number has at most [`liveness::THREAD_BITS`] bits and is not used again while anything remembers it. |
//! | locks | [`memory::Locks`] | A lock on a byte of a file belongs to the open file description: all its copies hold it, and the end of the last one, however its process ended, frees it. |
//! | own signals | [`to_self::OwnSignals`] | A thread can send itself a signal, which is pending for it alone when the call returns. |
//! | pages | [`protection::Pages`] | Protection of pages, and memory that a child of fork finds empty. |
//!
//! And, the same on every system, from POSIX: an error number for each thread, clocks of nanoseconds ([`clock`]), `fork` handlers;
//! and, from the processor, exchanges of 16 bytes in one step ([`crate::atomic`]).
//!
//! # A system may lack
//!
//! | | trait | what is done without it |
//! | --- | --- | --- |
//! | wakes at death | [`robust::WakesAtDeath`] | A killed waker delays the one wake that it owed until somebody touches the object; a killed waiter keeps its place until the place is needed. |
//! | vectors | [`kernel_futex::Vectors`] | Waits for several futexes, and requeues, are served by a table in user space, or refused. |
//! | nodes | [`kernel_futex::Nodes`] | Futexes with a memory node are refused. |
//! | descriptions | [`memory::Descriptions`] | No objects behind descriptors: no drop-in device. |
//! | memory watches | [`crate::watching`] | Write watches are refused. |
//!
//! What a system lacks its room takes from `absent`, which gives the trait to every type with the marker (`NoVectors`, ...).
//!
//! # Preconditions
//! Whoever calls [`futex`] or [`memory::provide`] names memory that is mapped. Everything else is checked by the system.

pub mod clock;
pub mod futex;
pub mod kernel_futex;
pub mod liveness;
pub mod memory;
pub mod protection;
pub mod robust;
pub mod to_self;

/// A system with all that the contract asks for.
pub trait System:
    futex::Sleep
    + kernel_futex::Futexes
    + kernel_futex::Vectors
    + kernel_futex::Nodes
    + liveness::Identity
    + memory::SharedMemory
    + memory::Locks
    + memory::Descriptions
    + protection::Pages
    + robust::WakesAtDeath
    + to_self::OwnSignals
{
    /// Where the calling thread's error number lies.
    fn errno_place() -> *mut libc::c_int;

    /// How many processors the calling thread may run on; as many as there may be if that is not known.
    fn processors() -> u64;
}
