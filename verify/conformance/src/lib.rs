// SPDX-License-Identifier: MIT OR Apache-2.0
//! One list of conformance cases for what NT synchronization objects mean, run through every face that offers them.
//!
//! * `docs/reference/semantics.md` defines the semantics, as numbered clauses. Each case names its clauses and each clause its
//!   cases; `tests/clauses.rs` compares the two.
//! * A [`Face`] is one way to reach the objects: the Rust API, the C API, the ioctls of `/dev/ntsync`. The cases
//!   ([`case::all`]) know nothing else.
//! * [`run`] runs the list on one face: each case in its own process, under a watchdog.
//! * [`mod@reference`] is the simplest correct face. It checks the list itself: the list must pass on it, and must fail
//!   once a [`reference::Flaw`] is planted.
//! * [`device`] speaks raw ioctls and knows nothing of ntux, so it judges the drop-in device and the real driver alike.
//! * [`random`] generates random programs, [`count`] counts instructions. `make test-kernel` (`kernel/test`) boots a
//!   kernel that has the driver in an emulator and compares.
//!
//! On macOS there is no device: what is about it is absent there, and the faces of the core, Rust and C run the rest of the list.
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
#[cfg(target_os = "linux")]
pub mod command;
#[cfg(target_os = "linux")]
pub mod count;
#[cfg(target_os = "linux")]
pub mod device;
pub mod face;
pub mod process;
#[cfg(target_os = "linux")]
pub mod random;
pub mod reference;
pub mod run;
#[path = "../../../crates/platform/tests/skips/skips.rs"]
mod skips;

pub use face::{Deadline, Errno, Face, Object, Satisfied, Wait};
