// SPDX-License-Identifier: MIT OR Apache-2.0
//! Model checking of the shipped code.
//!
//! [`stage`] runs small [`program`]s as virtual threads that stop before every shared access; [`search`] chooses which
//! thread runs next; [`monitor`] compares their results with the sequential model, `ntux_sync::spec`. Any thread may
//! stop for ever at any access, or die there: the others must be able to finish, and no satisfied thread may sleep.
//! [`futex`] does the same for the futex layer, and [`win`] for the Win32 face; [`machine`] contains what they share.
//!
//! ```text
//! verify/explored run --release -p ntux-explore -- all --bound 1               every program, at most one preemption (a minute)
//! verify/explored run --release -p ntux-explore -- all --bound 2 --seconds 600 the long run
//! verify/explored run --release -p ntux-explore -- 'w-*' --random 1000000 --seed 7
//! verify/explored run --release -p ntux-explore -- sequences --count 100000    one thread, edge values, against the model
//! verify/explored run --release -p ntux-explore -- histories --count 100000    random programs under the scheduler
//! verify/explored run --release -p ntux-explore -- real --count 100000         random programs, real threads
//! verify/explored run -p ntux-explore -- replay TOKEN                          what a failure printed, with a trace
//! ```
//!
//! # Limits
//! * Weak memory: accesses are sequentially consistent, except in `orders` ([`weak`]), at random.
//! * A 128-bit load that is torn by another thread's exchange, except in programs that say so.
//! * Scribblers, and several mappings of one arena: a process is a number here.
//! * Programs larger than those of [`catalogue`] and [`histories`], and schedules beyond the chosen bound.
#![allow(clippy::disallowed_types, reason = "the checker's own threads are no part of the model")]

#[cfg(not(ntux_explore))]
compile_error!("the model checker needs its seam in the core: build it with verify/explored");

pub mod catalogue;
pub mod futex;
pub mod histories;
pub mod machine;
pub mod monitor;
pub mod planted;
pub mod program;
pub mod random;
pub mod search;
pub mod sequences;
pub mod stage;
pub mod subject;
pub mod tally;
pub mod weak;
pub mod win;
