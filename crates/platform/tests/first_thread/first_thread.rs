// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ends the first thread of a process, while others live: for the tests of several crates.
#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, reason = "a test of what the kernel does")]

/// Ends the first thread of this process, as `pthread_exit` in `main` does; the caller, if it is that thread. Returns when it has ended.
pub fn end_first_thread() {
    extern "C" fn end_thread(_signal: libc::c_int) {
        // SAFETY: ends this thread only.
        unsafe { libc::syscall(libc::SYS_exit, 0) };
    }
    let process = std::process::id();
    // SAFETY: a handler with the right signature, and a signal to a thread of this process.
    unsafe {
        libc::signal(libc::SIGUSR1, end_thread as *const () as libc::sighandler_t);
        libc::syscall(libc::SYS_tgkill, process, process, libc::SIGUSR1);
    }
    while !std::fs::read_to_string(format!("/proc/{process}/stat")).expect("it is there").contains(") Z ") {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}
