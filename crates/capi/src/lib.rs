// SPDX-License-Identifier: MIT OR Apache-2.0
//! The C face of ntux. `include/ntux.h` is its manual: only there is written what each function does and requires. Rust
//! programs use the crate `ntux`.
//!
//! Every function does the same three things: `boundary` converts the arguments from C to checked values, the arena (or
//! the futex layer) performs the operation, and the function returns 0 or a negative error number.

mod arena;
mod boundary;
mod descriptor;
mod domain;
mod event;
mod futex;
mod mutex;
mod names;
mod object;
mod opened;
mod owner;
mod queue;
mod request;
mod semaphore;
mod supervise;
mod timer;
mod wait;
mod waiter;
mod watch;
