// SPDX-License-Identifier: MIT OR Apache-2.0
//! The platform: everything that ntux needs from the operating system.
//!
//! Only this crate names the processor's atomics ([`atomic`]) and the kernel's calls.
//!
//! * [`contract`] says what a system must provide, what it may lack, and the consequences. The crates above call its
//!   functions: [`clock`], [`futex`], [`kernel_futex`], [`life`], [`liveness`], [`memory`], [`processes`], [`protection`],
//!   [`robust`], [`to_self`], [`wake_descriptor`].
//! * Each system has a room that fulfils the contract: `linux`, `macos`. What it lacks it takes from [`absent`].
//! * Three rooms are for particular users: [`watching`] for write watches, `interposition` for the preloaded libraries,
//!   `command` for the program `ntux`. `.ci/layers` checks that no other crate uses them.
//! * In the configuration `ntux_simulated_macos`, which `verify/simulated-macos` sets, the room of macOS is built for
//!   Linux, where a library plays XNU.
//! * [`explore`](atomic) is the seam: in the configuration `ntux_explore`, which `verify/explored` sets, a model
//!   checker controls [`atomic`], [`futex`] and [`liveness`]. Everything above is as shipped.

#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "this is the place for them")]
#![allow(clippy::not_unsafe_ptr_arg_deref, reason = "addresses of words are given to the kernel, which checks them")]

pub mod absent;
pub mod atomic;
pub mod contract;
pub mod environment;
#[cfg(ntux_explore)]
pub mod explore;
pub mod fork;
pub mod once;
pub mod path;
pub mod planted;
pub mod tracepoint;
pub mod waiting;
pub mod watching;
pub mod without;

pub use contract::{
    clock, futex, kernel_futex, life, liveness, meeting, memory, processes, protection, robust, to_self,
    wake_descriptor,
};

#[cfg(all(any(target_os = "linux", target_os = "android"), not(ntux_simulated_macos)))]
mod linux;
#[cfg(all(any(target_os = "linux", target_os = "android"), not(ntux_simulated_macos)))]
pub use linux::Linux as Here;
#[cfg(all(any(target_os = "linux", target_os = "android"), not(ntux_simulated_macos)))]
use linux::watching as watching_room;
#[cfg(all(target_os = "linux", not(ntux_simulated_macos)))]
pub use linux::{command, interposition};

#[cfg(any(target_os = "macos", ntux_simulated_macos))]
mod macos;
#[cfg(any(target_os = "macos", ntux_simulated_macos))]
pub use macos::MacOs as Here;
#[cfg(ntux_simulated_macos)]
pub use macos::planted as planted_in_room;
#[cfg(any(target_os = "macos", ntux_simulated_macos))]
use macos::watching as watching_room;

#[cfg(not(any(target_os = "linux", target_os = "android", target_os = "macos")))]
compile_error!("no room for this system: CONTRIBUTING.md, \"How to add\", says what it needs");

/// The system's error numbers that appear in results.
pub mod error {
    pub use libc::{
        EACCES, EAGAIN, EBADF, EBUSY, EDOM, EFAULT, EINTR, EINVAL, EIO, EMFILE, ENFILE, ENOENT, ENOMEM, ENOSYS, ENOTTY,
        EOPNOTSUPP, EOVERFLOW, EOWNERDEAD, EPERM, EPROTOTYPE, ESRCH, ETIMEDOUT, EXDEV,
    };
}

/// The calling thread's error number after a failed call.
pub fn errno() -> i32 {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

/// Runs `work` and preserves the calling thread's error number. For work that the program does not know of.
/// Async-signal-safe if `work` is.
pub fn keeping_errno<R>(work: impl FnOnce() -> R) -> R {
    let before = errno();
    let result = work();
    set_errno(before);
    result
}

/// Sets the calling thread's error number.
pub(crate) fn set_errno(number: i32) {
    use contract::System;
    // SAFETY: this thread's own error number, whose address is valid as long as the thread lives.
    unsafe { *Here::errno_place() = number };
}
