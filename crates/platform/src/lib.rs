//! What ntux needs from the operating system, and nothing above it.
//!
//! Two things are named here and nowhere else: the kernel's calls ([`futex`], [`kernel_futex`], [`memory`], [`clock`],
//! [`liveness`], [`robust`], [`yield_policy`]; for write watches [`protection`], `userfault`, `pagemap`, `mappings`, `segv`; for programs that
//! are watched `child`, `handover`, `readiness`; for libraries that are loaded into programs `next`) and the processor's
//! atomics ([`atomic`]). What a kernel or a filter does not let us do is found out by doing it: `probe` for people,
//! `deadly` inside programs, and `others`. What processes a Wine starts: `wine`. A model checker takes over by replacing this crate's [`atomic`] and [`futex`] (the
//! configuration `ntux_explore`, which `verify/explored` sets); everything above stays as it ships.

#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "this is the place for them")]

pub mod atomic;
#[cfg(target_os = "linux")]
pub mod child;
pub mod clock;
#[cfg(target_os = "linux")]
mod deadly;
pub mod environment;
#[cfg(ntux_explore)]
pub mod explore;
pub mod fork;
pub mod futex;
#[cfg(target_os = "linux")]
pub mod handover;
pub mod kernel_futex;
pub mod liveness;
#[cfg(target_os = "linux")]
pub mod mappings;
pub mod memory;
#[cfg(target_os = "linux")]
pub mod next;
#[cfg(target_os = "linux")]
pub mod others;
#[cfg(target_os = "linux")]
pub mod pagemap;
pub mod path;
pub mod planted;
#[cfg(target_os = "linux")]
pub mod probe;
pub mod protection;
#[cfg(target_os = "linux")]
pub mod readiness;
pub mod robust;
#[cfg(target_os = "linux")]
pub mod segv;
pub mod tracepoint;
#[cfg(target_os = "linux")]
pub mod transfer;
#[cfg(target_os = "linux")]
pub mod userfault;
#[cfg(target_os = "linux")]
pub mod wine;
pub mod without;
pub mod yield_policy;

/// The system's error numbers that results are made of.
pub mod error {
    pub use libc::{
        EAGAIN, EBADF, EBUSY, EFAULT, EINTR, EINVAL, EIO, EMFILE, ENFILE, ENOMEM, ENOSYS, ENOTTY, EOPNOTSUPP,
        EOVERFLOW, EOWNERDEAD, EPERM, ETIMEDOUT,
    };
}

/// The calling thread's error number after a failed call.
pub fn errno() -> i32 {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

/// Runs `work` and leaves the calling thread's error number as it was: for what a program does not know to happen in its
/// thread. Async-signal-safe if `work` is.
#[cfg(target_os = "linux")]
pub fn keeping_errno<R>(work: impl FnOnce() -> R) -> R {
    let before = errno();
    let result = work();
    set_errno(before);
    result
}

/// Sets the calling thread's error number.
#[cfg(target_os = "linux")]
pub(crate) fn set_errno(number: i32) {
    // SAFETY: this thread's own error number, whose address is valid as long as the thread lives.
    unsafe { *libc::__errno_location() = number };
}
