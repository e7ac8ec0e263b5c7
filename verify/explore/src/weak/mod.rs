// SPDX-License-Identifier: MIT OR Apache-2.0
//! Weak memory: what a thread may read if processor and compiler guarantee only the orders in the code.
//!
//! # Model
//! An operational form of release and acquire. A *location* (4 or 8 bytes; a 16-byte word is two that change at once)
//! keeps every value that it has had, as *messages* in the order of their stores. A thread has a *view*: for each
//! location the oldest message that it may still read. It moves forward with what the thread reads and writes.
//!
//! | access | reads | the thread's view | the message's view |
//! | --- | --- | --- | --- |
//! | load, relaxed | any message not before the view | that message | |
//! | load, acquire | the same | joined with the message's view | |
//! | load, seqcst | not before the last seqcst message either, of when it is performed | the same | |
//! | store, relaxed | | the new message | the new message |
//! | store, release | | the new message | all of the thread's view |
//! | exchange | the last message | as a load and a store | as a store, and that of the replaced message |
//! | exchange, refused | the last message | as a load | |
//!
//! # Overtaking
//! A load may be performed before an access that precedes it in its thread and acquires nothing (a relaxed load, an exchange that
//! only releases, a refused exchange that is relaxed), unless that is of the same word. For relaxed and acquire loads the views say
//! this already. A sequentially consistent load that follows such an access reads what was last at some instant since
//! * the thread's last sequentially consistent exchange or call of the kernel, or the begin of its call,
//! * its last sequentially consistent load before that access, and
//! * the store of each message that it has acquired.
//!
//! The last is what a processor does whose stores reach all others at once, as x86-64 and aarch64; the language demands less of
//! independent stores. In all else this is the language's rule, which is weaker than the processors': on aarch64 a release, or an
//! address that was read (a *dependency*), orders what follows, too.
//!
//! # Other rules
//! An exchange extends the release sequence that it finds. A futex call is a full barrier for its word's queue, as
//! in the kernel: a thread that goes to sleep compares a value not older than what any earlier waker of this word had
//! seen. Calls that follow one another in the history synchronize ([`Memory::event`]): linearizability compares with
//! real time, and a program can only know that a call has returned by such a way. For the same reason a thread that
//! asks the kernel who is dead, or what time it is, has seen everything that had happened by then. The kernel's action
//! at a thread's death is an exchange by this thread.
//!
//! # Limits
//! * Stores to one location take effect in the order in which they are made, and no load sees a later store (load
//!   buffering).
//! * The total order of sequentially consistent accesses is modelled only as said above, which is all that exchanges
//!   and loads need; there are no fences.
//! * A refused exchange reads the last message. Processors do that; the language does not promise it.
//! * Dependencies order nothing here, unlike on processors: the model is weaker.

mod equivalent;
mod memory;
mod needed;
mod sites;
mod survey;
mod table;
mod views;

pub use memory::{Choices, Memory, part};
pub use sites::{Name, Names, Site, Weakening};
pub use survey::{Effort, Survey, replay, survey};
pub use table::{Row, Table, Verdict, table};
