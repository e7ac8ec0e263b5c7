//! Short random histories, each checked for linearizability.
//!
//! [`generator`] makes a program of a seed: two to four threads, every operation of the core, edge values.
//! [`scheduled`] runs it under the explorer's scheduler, which also chooses when deadlines pass, who is interrupted, who
//! stops for ever and who dies: a failure is one token that replays it exactly, and [`shrink`] makes the program
//! smaller first. [`real`] runs it with threads of the operating system: a failure is a seed, to be repeated.
//!
//! The checker is [`crate::monitor`] in both cases: it keeps the set of all states of the sequential model that explain
//! the events so far (Wing and Gong's search, breadth first, with equal states merged as Lowe does), so its verdict does
//! not depend on a guess where an operation took effect.

pub mod generator;
pub mod real;
pub mod scheduled;
pub mod shrink;
