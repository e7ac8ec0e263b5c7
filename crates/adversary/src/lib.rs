//! Processes that die, stop and scribble, and what is left of the objects afterwards.
//!
//! | module | what it does to its victims |
//! | --- | --- |
//! | [`scribble`] | writes rubbish into the arena while they use it |

#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, reason = "this is about processes and their memory, not about the core")]

pub mod scribble;
