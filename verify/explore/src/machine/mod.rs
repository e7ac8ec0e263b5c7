// SPDX-License-Identifier: MIT OR Apache-2.0
//! The common parts of both model checkers: that of the core ([`crate::stage`], [`crate::search`]) and that of the
//! futex layer ([`crate::futex`]).
//!
//! | module | what it is |
//! | --- | --- |
//! | [`threads`] | virtual threads: coroutines that stop before every shared access |
//! | [`tree`] | the choices made and those left; the states met |
//! | [`chunk`], [`account`] | what the memory holds, and a hash of what has changed |
//! | [`fingerprint`] | hashes that tell states apart |
//! | [`death`] | what the kernel does to the word that a dying thread has named |
//! | [`token`], [`trace`] | a counterexample: one line that replays it, and what happened in it |
//!
//! Each checker has its own options and their costs, memory comparison and end of a search: the core has interrupts,
//! heirs and private memory, the futex layer simulates the kernel's queues.

pub(crate) mod account;
pub(crate) mod chunk;
pub(crate) mod death;
pub mod fingerprint;
pub(crate) mod threads;
pub mod token;
pub mod trace;
pub(crate) mod tree;

/// A thread of a program, by its place.
pub type ThreadId = usize;

/// What happens next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Choice {
    /// The thread goes on to its next stop.
    Run(ThreadId),
    /// The deadline of the sleeping thread passes.
    Deadline(ThreadId),
    /// A signal handler on the thread interrupts its wait.
    Interrupt(ThreadId),
    /// The thread is dead: it never goes on, and the kernel looks at the word that its will names.
    Die(ThreadId),
    /// The threads that could run now are stopped for ever; an observer looks at what is left.
    End,
}

impl Choice {
    /// Whose turn it is.
    pub fn thread(self) -> Option<ThreadId> {
        match self {
            Choice::Run(thread) | Choice::Deadline(thread) | Choice::Interrupt(thread) | Choice::Die(thread) => {
                Some(thread)
            }
            Choice::End => None,
        }
    }
}
