// SPDX-License-Identifier: MIT OR Apache-2.0
//! Thread pools: work, timers and waits whose functions threads of this library call.
//!
//! | question | module |
//! | --- | --- |
//! | What is called, how often, and when is it gone? | [`item`], [`slab`] (the numbers that C has), [`environment`] |
//! | Which thread makes a call, and what belongs to it? | [`workers`] (pools), [`callback`] |
//! | When is a timer due? | [`schedule`] |
//! | Who waits for objects? | [`wait_threads`] |
//! | How do threads of this library sleep? | [`seat`] |
//! | What has one lock, and what is done when it is free? | [`state`] |
//! | What is closed together, and how does the program learn that it is gone? | [`group`], [`queue`], [`completion`] |
//! | What else can be called? | [`work`], [`timers`], [`waits`] |
//!
//! There is no thread before something is to be called or waited for, and none five seconds after. A function of the program that ends its
//! thread ends one of the pool's; its item is never over then.

mod callback;
mod completion;
mod environment;
mod group;
mod item;
mod queue;
mod schedule;
mod seat;
mod slab;
mod state;
mod timers;
mod wait_threads;
mod waits;
mod work;
mod workers;

/// The functions of C, for the checker.
#[cfg(ntux_explore)]
pub mod explored {
    pub use super::callback::Instance;
    pub use super::environment::Environ;
    pub use super::group::*;
    pub use super::queue::*;
    pub use super::waits::*;
    pub use super::work::*;
}
