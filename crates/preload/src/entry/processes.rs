// SPDX-License-Identifier: MIT OR Apache-2.0
//! Makes processes and threads past the C library.

use crate::c_library::next;
use crate::descriptors;
use core::ffi::{c_int, c_void};

macro_rules! making_a_process {
    ($($name:ident;)*) => {
        $(
            /// Notes a process that shares this one's memory but not its descriptors, unless it borrows the memory only
            /// until it starts a program. (A function that is variadic in C uses the same registers and stack here;
            /// arguments that the caller did not pass are not used.)
            #[unsafe(no_mangle)]
            unsafe extern "C-unwind" fn $name(
                start: *const c_void,
                stack: *mut c_void,
                flags: c_int,
                argument: *mut c_void,
                parent_number: *mut c_void,
                storage: *mut c_void,
                child_number: *mut c_void,
            ) -> c_int {
                const MEMORY: c_int = libc::CLONE_VM | libc::CLONE_FILES | libc::CLONE_VFORK;
                if flags & MEMORY == libc::CLONE_VM {
                    descriptors::parted();
                }
                if flags & (libc::CLONE_VM | libc::CLONE_VFORK) == libc::CLONE_VM {
                    descriptors::count_forks();
                }
                // SAFETY: the caller's own arguments.
                let real = || unsafe { next::clone(start, stack, flags, argument, parent_number, storage, child_number) };
                if flags & libc::CLONE_VM != 0 {
                    return real();
                }
                descriptors::before_fork();
                let result = real();
                descriptors::after_fork();
                result
            }
        )*
    };
}

making_a_process! {
    clone;
    __clone;
}

/// Notes a fork of which the C library tells nobody.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn _Fork() -> c_int {
    descriptors::before_fork();
    // SAFETY: has no arguments.
    let result = unsafe { next::_Fork() };
    if result == 0 {
        descriptors::forked()
    } else {
        descriptors::after_fork()
    }
    result
}
