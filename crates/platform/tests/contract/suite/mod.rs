// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a room promises, tried out: to be run on a new system before any test of the core.
//!
//! Every check is for the type that stands for a system, so that the same check runs on a room that breaks a promise on purpose
//! (`tests/contract.rs`). A check starts processes and threads; what does not happen within the time that it is given counts as
//! not happening. Checks run one after the other: a process that one of them starts has the descriptors of whatever runs beside it.

pub mod ends;
mod identity;
mod locks;
mod meetings;
mod memory;
mod pages;
mod sleep;
mod stage;

use std::time::Duration;

use ntux_platform::contract::System;

/// What is wrong, if something is.
pub type Outcome = Result<(), String>;

/// One check.
pub struct Check {
    /// What it is about.
    pub name: &'static str,
    run: fn(Duration) -> Outcome,
}

impl Check {
    /// Runs it. Anything that takes longer than `limit` hangs.
    pub fn run(&self, limit: Duration) -> Outcome {
        (self.run)(limit)
    }
}

/// All checks, for one system.
pub fn checks<S: System>() -> Vec<Check> {
    let check = |name, run| Check { name, run };
    vec![
        check("sleep: a word that differs is not slept on", sleep::differs::<S>),
        check("sleep: deadlines", sleep::deadlines::<S>),
        check("sleep: all sleepers are woken", sleep::all_are_woken::<S>),
        check("sleep: no wake is lost", sleep::no_wake_is_lost::<S>),
        check("sleep: between processes", sleep::between_processes::<S>),
        check("sleep: futex calls", sleep::futex_calls::<S>),
        check("sleep: words of 64 bits", sleep::long_words::<S>),
        check("sleep: memory that cannot be read", sleep::unreadable::<S>),
        check("sleep: flags", sleep::flags::<S>),
        check("memory: new", memory::new_memory::<S>),
        check("memory: identity", memory::identity::<S>),
        check("memory: its size never changes", memory::fixed_size::<S>),
        check("memory: what is no shared memory", memory::others::<S>),
        check("memory: shared by mappings and processes", memory::shared::<S>),
        check("memory: a page that is mapped again", memory::mapped_again::<S>),
        check("memory: given back", memory::given_back::<S>),
        check("locks: of open file descriptions", locks::of_descriptions::<S>),
        check("locks: of processes that are killed", locks::of_the_killed::<S>),
        check("identity: numbers of threads", identity::thread_numbers::<S>),
        check("identity: processes", identity::processes::<S>),
        check("identity: ends of threads", identity::ends_of_threads::<S>),
        check("ends: of children", ends::of_children::<S>),
        check("ends: bells", ends::bells::<S>),
        check("meetings: files of others", meetings::files_of_others::<S>),
        check("pages: wiped in a child", pages::wiped::<S>),
        check("pages: writable", pages::writable::<S>),
        check("pages: freed", pages::freed::<S>),
        check("errors: a number for each thread", pages::error_numbers::<S>),
    ]
}

/// Fails with this text unless the condition holds.
macro_rules! ensure {
    ($condition:expr, $($text:tt)+) => {
        if !$condition {
            return Err(format!($($text)+));
        }
    };
}
use ensure;

fn failed(what: &str) -> impl Fn(std::io::Error) -> String {
    move |error| format!("{what}: {error}")
}
