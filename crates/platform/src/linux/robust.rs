// SPDX-License-Identifier: MIT OR Apache-2.0
//! The robust list of the calling thread, which the C library has registered.

use super::Linux;
use super::deadly::Call;
use crate::robust::{Fields, WakesAtDeath};

impl WakesAtDeath for Linux {
    fn head() -> *mut Fields {
        // The list of no such thread.
        static CALL: Call = Call::new(libc::SYS_get_robust_list, [usize::MAX, 0]);
        if CALL.is_deadly() {
            return core::ptr::null_mut();
        }
        let head = registered();
        #[cfg(target_env = "musl")]
        if head.is_null() {
            have_it_registered();
            return registered();
        }
        head
    }
}

fn registered() -> *mut Fields {
    let mut head: *mut Fields = core::ptr::null_mut();
    let mut length = 0usize;
    // SAFETY: both places are valid for the answer; 0 names the calling thread.
    let result = unsafe { libc::syscall(libc::SYS_get_robust_list, 0, &mut head, &mut length) };
    let usable = result == 0 && length == size_of::<Fields>();
    if usable { head } else { core::ptr::null_mut() }
}

/// musl registers a thread's list when the thread first locks a robust process-shared mutex. A list of our own would be
/// replaced then.
#[cfg(target_env = "musl")]
fn have_it_registered() {
    // SAFETY: all bytes zero are places to initialize. Attributes and mutex are this frame's own, each is initialized
    // before it is used, and the mutex is unlocked, so in no list, before it goes.
    unsafe {
        let mut attributes: libc::pthread_mutexattr_t = core::mem::zeroed();
        let mut mutex: libc::pthread_mutex_t = core::mem::zeroed();
        libc::pthread_mutexattr_init(&mut attributes);
        libc::pthread_mutexattr_setrobust(&mut attributes, libc::PTHREAD_MUTEX_ROBUST);
        libc::pthread_mutexattr_setpshared(&mut attributes, libc::PTHREAD_PROCESS_SHARED);
        libc::pthread_mutex_init(&mut mutex, &attributes);
        if libc::pthread_mutex_lock(&mut mutex) == 0 {
            libc::pthread_mutex_unlock(&mut mutex);
        }
    }
}
