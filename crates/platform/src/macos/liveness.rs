// SPDX-License-Identifier: MIT OR Apache-2.0
//! Liveness, by `proc_pidinfo`. It works for processes of the same user; others count as alive.
//!
//! A thread's number is the one that XNU counts up from boot (`pthread_threadid_np`): it means the same thread in every
//! process, and is never reused. (The name of a thread's Mach port is neither.)

use super::{MacOs, calls};
use crate::liveness::{Identity, Seen};

impl Identity for MacOs {
    fn thread_id() -> u64 {
        calls::thread_number()
    }

    /// There is one.
    fn namespace() -> u64 {
        1
    }

    fn own_start(pid: u32) -> u64 {
        calls::process(pid).map_or(0, |found| found.start_us)
    }

    fn look(pid: u32) -> Option<Seen> {
        calls::process(pid).ok().map(|found| Seen { start: found.start_us, is_corpse: found.is_zombie })
    }

    fn is_thread_gone(pid: u32, thread: u64) -> bool {
        calls::find_thread(pid, thread) == Err(libc::ESRCH)
    }
}
