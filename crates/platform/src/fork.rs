// SPDX-License-Identifier: MIT OR Apache-2.0
//! Hooks for forks.

/// Runs `before` in the parent before each fork, then `after` in the parent and in the child. Only for the C library's
/// fork: a bare `clone` runs nothing.
pub fn at_fork(before: extern "C" fn(), after: extern "C" fn()) {
    unsafe extern "C" {
        fn pthread_atfork(
            prepare: Option<extern "C" fn()>,
            parent: Option<extern "C" fn()>,
            child: Option<extern "C" fn()>,
        ) -> libc::c_int;
    }
    // SAFETY: three functions that live as long as the program's code. (A library that is unloaded takes its hooks
    // along.)
    unsafe { pthread_atfork(Some(before), Some(after), Some(after)) };
}
