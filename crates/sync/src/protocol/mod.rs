//! How an object reaches a waiter, and how a thread waits: free functions over an arena and the calling thread's place in it.
//!
//! | question | file |
//! | --- | --- |
//! | Which place has a thread? What is one wait of it? | [`waiter`], [`epoch`] |
//! | What does an operation do when somebody waits? | [`signal`] |
//! | How is an object given to a waiter, by anyone? | [`claim`] |
//! | To whom is it offered? | [`scan`] |
//! | How does a wait take what is there, and how does it wait? | [`wait_any`], [`wait_all`], [`look`], [`request`], [`spin`] |
//! | How does it join several queues in one step? | [`queueing`] |
//! | How are several objects taken in one step? | [`admission`] |
//! | How is an object made? | [`create`] |
//! | What if a supervisor says who is dead? | [`burial`] |
//!
//! # Mutual recursion
//! Whoever meets an unfinished step of somebody else finishes it: that is what makes the core lock-free, and it makes these
//! files one floor. `claim` scans for the next waiter, a scan finishes what has satisfied those whom it passes over (C4), and
//! that is a claim on another object, or the admitted operation; an admitted operation claims and scans. A thread's place may
//! have to be inherited from a dead thread whose wait is finished first. Three things bound it: the work budget of the
//! operation ([`crate::budget`]), the depth of nested help ([`waiter::Nested`]), and that an attempt helps claims for single
//! waiters only.

pub(crate) mod admission;
pub(crate) mod burial;
pub(crate) mod claim;
pub(crate) mod create;
pub(crate) mod epoch;
pub(crate) mod look;
pub(crate) mod queueing;
pub(crate) mod request;
pub(crate) mod scan;
pub(crate) mod signal;
pub(crate) mod spin;
pub(crate) mod wait_all;
pub(crate) mod wait_any;
pub(crate) mod waiter;
