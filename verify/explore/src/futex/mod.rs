// SPDX-License-Identifier: MIT OR Apache-2.0
//! Model checking of the futex layer's shipped code: the wait table, that of a domain with killed threads, 64 bits as
//! two words, and lanes.
//!
//! [`stage`] runs the threads of a program one access at a time, and [`kernel`] simulates the kernel's futexes.
//! [`search`] tries every schedule with a given number of preemptions, stopping each thread for ever where that is
//! possible, and ends at a [`state`] met before. [`model::Monitor`] says whether the model explains
//! ([`explained`]) the threads' results, and who sleeps at the end.
//!
//! ```text
//! verify/explored run --release -p ntux-explore --example futexes -- 3      every program, at most three preemptions
//! ```

mod explained;
mod kernel;
/// The meaning of the operations, with which the tests of the crate compare, too.
#[path = "../../../../crates/futex/tests/model/mod.rs"]
pub mod model;
pub mod programs;
pub mod search;
mod stage;
mod state;

use model::{Request, Rules};
use ntux_futex::Size;

/// Whose code serves the futexes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Over {
    /// The wait table; its threads sleep in the kernel that is played.
    Table,
    /// The same in memory that processes share: at most one thread is killed, anywhere
    /// ([`death`](crate::machine::death)).
    Domain,
    /// The native mechanisms, over that kernel.
    Kernel,
}

/// A few threads that use a few futexes of one size.
#[derive(Clone, Debug)]
pub struct Program {
    /// Names it in reports.
    pub name: &'static str,
    /// What serves it.
    pub over: Over,
    /// Size of all words; they lie side by side.
    pub size: Size,
    /// Seats of the domain; [`stage::SEATS`] if there are enough for all.
    pub seats: u32,
    /// What the words hold at first.
    pub words: Vec<u64>,
    /// What each thread asks for.
    pub threads: Vec<Vec<Request>>,
}

impl Program {
    fn rules(&self) -> Rules {
        match (self.over, self.size) {
            (Over::Table, _) => Rules::Late,
            (Over::Domain, _) => Rules::Exact,
            (Over::Kernel, Size::Bits64) => Rules::Halves,
            (Over::Kernel, _) => Rules::Kernel,
        }
    }
}
