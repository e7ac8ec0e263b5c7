//! Weak memory: what a thread may read when the processor and the compiler keep no more than the orders that the code
//! names.
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
//! | load, seqcst | not before the last seqcst message either | the same | |
//! | store, relaxed | | the new message | the new message |
//! | store, release | | the new message | all of the thread's view |
//! | exchange | the last message | as a load and a store | as a store, and that of the replaced message |
//! | exchange, refused | the last message | as a load | |
//!
//! So an exchange extends the release sequence that it finds. A futex call is a full barrier for its word's queue,
//! as in the kernel: a thread that goes to sleep compares a value not older than what any earlier waker of this
//! word had seen. Calls that follow one another in the history synchronize ([`Memory::event`]): linearizability
//! compares with real time, and a program can only know that a call has returned by such a way. For the same reason
//! a thread that asks the kernel who is dead, or what time it is, has seen what was over by then. What the kernel
//! does at a thread's death is an exchange by this thread.
//!
//! # What it leaves out
//! * Stores of one location are ordered as they are made, and no load sees a store that is made later (load buffering).
//! * Of the total order of sequentially consistent accesses only what is said above, which is all that exchanges and
//!   loads need; no fences.
//! * A refused exchange reads the last message, which the processors do and the language does not promise.
//! * Dependencies order nothing here, on processors they do: the model is weaker.

mod equivalent;
mod memory;
mod sites;
mod survey;
mod table;

pub use memory::{Choices, Memory, part};
pub use sites::{Name, Names, Site, Weakening};
pub use survey::{Effort, Survey, replay, survey};
pub use table::{Row, Table, Verdict, table};
