//! Model checking of the code that ships.
//!
//! [`machine`] runs small [`program`]s as virtual threads that stop before every shared access; [`search`] chooses who goes
//! on; [`monitor`] compares what they return with the sequential model, `ntux_sync::spec`. Any thread may stop for ever at
//! any access: the others must be able to finish, and nobody may sleep who was satisfied.
//!
//! Accesses are sequentially consistent here: weak memory is not explored.
#![allow(clippy::disallowed_types, reason = "the checker's own threads are no part of the model")]

pub mod catalogue;
pub mod fingerprint;
pub mod histories;
pub mod machine;
pub mod monitor;
pub mod planted;
pub mod program;
pub mod random;
pub mod search;
pub mod sequences;
pub mod subject;
pub mod token;
pub mod trace;
