// SPDX-License-Identifier: MIT OR Apache-2.0
//! Short random histories, each checked for linearizability.
//!
//! [`generator`] makes a program from a seed: two to four threads, every operation of the core, edge values.
//! [`scheduled`] runs it under the explorer's scheduler, which also chooses when deadlines pass, who is interrupted,
//! who stops for ever and who dies. A failure is one token that replays it exactly, after [`shrink`] has made the
//! program smaller. [`real`] runs it with threads of the operating system: a failure is a seed, which may have to be
//! repeated.
//!
//! The checker is [`crate::monitor`] in both cases: it keeps the set of all states of the sequential model that explain
//! the events so far (Wing and Gong's search, breadth first, with equal states merged as Lowe does), so its verdict
//! does not depend on guessing where an operation took effect.

pub mod generator;
pub mod real;
pub mod scheduled;
pub mod shrink;
