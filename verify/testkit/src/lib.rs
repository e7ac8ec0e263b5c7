// SPDX-License-Identifier: MIT OR Apache-2.0
//! Code that several of the proofs and measurements share.
//!
//! | module | what it is | who uses it |
//! | --- | --- | --- |
//! | [`task`] | whether a thread sleeps; on Linux also in which call, and how long it has worked | adversary, bench, conformance |
//! | [`child`] | forked children that do not outlive their parent, and memory that they share | adversary, bench, conformance |
//! | [`device`] | the numbers and structures of `/dev/ntsync` | adversary, bench, conformance |
//! | [`processors`] | a thread stays on one of them | adversary, bench |
//! | [`reopened`] | the system calls alone by which an object's descriptor is made | bench (times them), conformance (counts them) |
//! | [`c`] | the functions of `ntux.h`, as Rust must declare them | adversary, bench, conformance |
//! | [`rival`] | the other ways to have NT objects in user space | adversary (kills them), bench (times them) |
//!
//! What the conformance list and `ntux bench sync` need is there on macOS, too.
//!
//! Nothing here depends on ntux, because the program that tests any `/dev/ntsync` uses it, and a rival design must not
//! depend on ours. Code that differs between the proofs for a reason stays with each of them; `verify/README.md` lists
//! it.
#![cfg(any(target_os = "linux", target_os = "macos"))]
#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "a black box: it knows the kernel's interface, not ours"
)]

mod asleep;
pub mod c;
pub mod child;
#[cfg(target_os = "linux")]
pub mod device;
#[cfg(target_os = "linux")]
#[path = "../../../crates/platform/tests/processors/processors.rs"]
pub mod processors;
#[cfg(target_os = "linux")]
pub mod reopened;
pub mod rival;
#[cfg(target_os = "linux")]
pub mod task;
#[cfg(target_os = "macos")]
#[path = "task_of_macos.rs"]
pub mod task;
// Its tests, where XNU is simulated.
#[cfg(all(test, ntux_simulated_macos))]
mod task_of_macos;
