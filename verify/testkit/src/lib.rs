//! Code that several of the proofs and measurements share.
//!
//! | module | what it is | who uses it |
//! | --- | --- | --- |
//! | [`task`] | whether a thread sleeps, in which call, how long it has worked | adversary, bench, conformance |
//! | [`child`] | forked children that do not outlive their parent, and memory that they share | adversary, bench, conformance |
//! | [`device`] | the numbers and structures of `/dev/ntsync` | adversary, bench, conformance |
//! | [`c`] | the functions of `ntux.h`, as Rust must declare them | adversary, bench, conformance |
//! | [`rival`] | the other ways to have NT objects in user space | adversary (kills them), bench (times them) |
//!
//! Nothing here depends on ntux, because the program that tests any `/dev/ntsync` uses it, and a rival design must not
//! depend on ours. Code that differs between the proofs for a reason stays with each of them; `verify/README.md` lists
//! it.
#![cfg(target_os = "linux")]
#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "a black box: it knows the kernel's interface, not ours"
)]

pub mod c;
pub mod child;
pub mod device;
pub mod rival;
pub mod task;
