// SPDX-License-Identifier: MIT OR Apache-2.0
//! How an object reaches a waiter, and how a thread waits: free functions over an arena and the calling thread's waiter
//! slot.
//!
//! | question | file |
//! | --- | --- |
//! | What is a thread's waiter slot? What is one wait? | [`waiter`], [`epoch`] |
//! | What does an operation do, alone and when somebody waits? | [`signal`] |
//! | How does anyone give an object to a waiter? | [`claim`] |
//! | To whom is it offered? | [`scan`]; the common case, one waiter, in one piece: [`hand_over`] |
//! | How does a wait take available objects, and how does it wait? | [`wait`]; [`wait_one`], [`wait_any`], [`wait_all`]; [`look`], [`request`], [`spin`] |
//! | How does it join several queues in one step? | [`queueing`] |
//! | How does a wait go on without its thread? | [`detached`] |
//! | Who fires a timer, and until when does a thread sleep that waits for one? | [`timer`] |
//! | How are several objects taken in one step? | [`probe`], [`admission`] |
//! | How is an object created? | [`create`]; by its name: [`create_named`] |
//! | What if a supervisor says who is dead? | [`burial`] |
//!
//! What these files tell onlookers goes through [`crate::observe`].
//!
//! # Mutual recursion
//! A thread that meets another's unfinished step finishes it. This makes the core lock-free, and these files mutually
//! recursive. `claim` scans for the next waiter. A scan finishes the operations that satisfied the waiters it passes
//! over (C4), which are claims on other objects, or the admitted operation. An admitted operation claims and scans. A
//! thread may have to inherit its slot from a dead thread, and finish that thread's wait first. Three limits bound the
//! recursion: the work budget of the operation ([`crate::budget`]), the depth of nested help ([`waiter::Nested`]), and
//! the rule that an attempt helps only claims for single waiters.

pub(crate) mod admission;
pub(crate) mod burial;
pub(crate) mod claim;
pub(crate) mod create;
pub(crate) mod create_named;
pub(crate) mod detached;
pub(crate) mod epoch;
pub(crate) mod hand_over;
pub(crate) mod look;
pub(crate) mod owner;
pub(crate) mod probe;
pub(crate) mod queueing;
pub(crate) mod request;
pub(crate) mod scan;
pub(crate) mod signal;
pub(crate) mod spin;
pub(crate) mod timer;
pub(crate) mod wait;
pub(crate) mod wait_all;
pub(crate) mod wait_any;
pub(crate) mod wait_one;
pub(crate) mod waiter;
