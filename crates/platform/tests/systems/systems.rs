// SPDX-License-Identifier: MIT OR Apache-2.0
//! What differs between systems, for the tests of every crate: they name none.
#![allow(dead_code, reason = "each test uses a part")]

/// On a Mac. (Where macOS is simulated everything but ntux is Linux's.)
pub const IS_MACOS: bool = cfg!(target_os = "macos");

/// True if the kernel ends the waits of threads that are killed. XNU does not: their supervisor does.
pub const WAKES_AT_DEATH: bool = cfg!(not(any(target_os = "macos", ntux_simulated_macos)));

/// Has the kernel kill this process when the thread ends that forked it. macOS can be asked for no such thing.
pub fn end_with_parent() {
    #[cfg(target_os = "linux")]
    // SAFETY: concerns this process only, and touches no memory.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL)
    };
}
