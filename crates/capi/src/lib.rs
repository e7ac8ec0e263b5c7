//! The C face of ntux. `include/ntux.h` is its manual: what each function does and what it asks of its caller is
//! written there and nowhere else. Rust programs use the crate `ntux`.
//!
//! Every function does the same three things: `boundary` turns what C passed into checked values, the arena (or the
//! futex layer) does the operation, and the result goes out as 0 or a negative error number.

mod arena;
mod boundary;
mod domain;
mod event;
mod futex;
mod mutex;
mod object;
mod semaphore;
mod wait;
mod watch;
