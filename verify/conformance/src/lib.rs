//! One list of conformance cases for what NT synchronization objects mean, run through every face that offers them.
//!
//! * What is right is written in `docs/semantics.md`, as numbered clauses. Each case names its clauses and each clause
//!   its cases; `tests/clauses.rs` compares the two.
//! * A [`Face`] is one way to reach the objects: the Rust API, the C API, the ioctls of `/dev/ntsync`. The cases
//!   ([`case::all`]) know nothing else.
//! * [`run`] runs the list on one face: each case in a process of its own, under a watchdog.
//! * [`mod@reference`] is the simplest face that is right. It judges the list: the list must pass on it, and must
//!   fail on it once a [`reference::Flaw`] is planted.
//! * [`device`] speaks raw ioctls and knows nothing of ntux, so it judges the drop-in device and the real driver alike.
//! * [`random`] makes programs that nobody thought of, [`count`] counts instructions.
//!   `make test-kernel` (`kernel/test`) boots a kernel that has the driver in an emulator and compares.
#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "a black box: it knows the kernel's interface, not ours"
)]

pub mod blocked;
pub mod case;
mod cases;
mod check;
pub mod clock;
pub mod command;
pub mod count;
pub mod device;
pub mod face;
pub mod process;
pub mod random;
pub mod reference;
pub mod run;
#[path = "../../../crates/platform/tests/skips/skips.rs"]
mod skips;

pub use face::{Deadline, Errno, Face, Object, Satisfied, Wait};
