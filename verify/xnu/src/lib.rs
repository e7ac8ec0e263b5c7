// SPDX-License-Identifier: MIT OR Apache-2.0
//! XNU on Linux, as far as `crates/platform/src/macos` calls it.
//!
//! The library exports the functions of that room's `interface` under their names, and the POSIX functions that XNU answers
//! otherwise: `mmap`, `fstat`, `ftruncate`, `sysconf`, ... Programs are linked with it before the C library
//! (`verify/simulated-macos`), so that the room, the tests, and the standard library of Rust get XNU's answers. What it knows
//! of a descriptor or a thread is in the kernel, so it is the same in every process, after `fork`, `exec`, and `kill -9`.
//!
//! What is simulated, by XNU's source:
//!
//! * [`ulock`]: sleeps on words. The key of a shared word is its memory and offset, that of another one its address. `EDOM`
//!   if sleeper and waker name different sizes, `ENOENT` without a sleeper, `EINTR`, `EFAULT` for a word that is paged out,
//!   `EINVAL`; `os_sync_wait_on_address` and its kin, which macOS 13 lacks.
//! * [`shm`]: shared memory: names of 31 characters, one `ftruncate` ever, no file type, no inode, no locks, `MAP_SHARED` only.
//! * [`memory`]: pages of 16 KiB; advice that frees nothing; `minherit`.
//! * [`process`]: `proc_pidinfo`, and numbers of threads that count up.
//!
//! What is not: frames of signal handlers, the error numbers' values, clocks that stop while the machine sleeps.
//!
//! | variable | |
//! | --- | --- |
//! | `XNU_RELEASE` | 13: without `os_sync_wait_on_address` |
//! | `XNU_PAGE` | bytes of a page: 16384, or 4096 as on Intel's processors and under Rosetta |
//! | `XNU_FAULTS` | `NAME=N,...`: of N calls one fails so, chosen at random: [`faults::Fault`] |
//! | `XNU_DEVIATION` | a promise of XNU's that is broken: [`faults::Deviation`] |
#![allow(missing_docs, clippy::missing_safety_doc, reason = "functions of C libraries, which are documented elsewhere")]
#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "what plays the system is no part of the product"
)]

pub mod faults;
pub mod memory;
pub mod process;
pub mod shm;
pub mod ulock;

use libc::c_int;

/// Sets the error number, and returns what says so.
fn refuse(number: c_int) -> c_int {
    // SAFETY: this thread's own error number.
    unsafe { *libc::__errno_location() = number };
    -1
}

fn errno() -> c_int {
    // SAFETY: as above.
    unsafe { *libc::__errno_location() }
}

/// The address of the error number.
#[unsafe(no_mangle)]
pub extern "C" fn __error() -> *mut c_int {
    // SAFETY: has no precondition.
    unsafe { libc::__errno_location() }
}
