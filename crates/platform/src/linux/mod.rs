// SPDX-License-Identifier: MIT OR Apache-2.0
//! Linux, with the C library of GNU, musl or Android. On Android nothing is preloaded, and there is no command `ntux`.

#[cfg(any(target_env = "gnu", target_env = "musl"))]
pub mod command;
mod deadly;
mod flag;
mod futex;
#[cfg(any(target_env = "gnu", target_env = "musl"))]
pub mod interposition;
mod kernel_futex;
#[cfg(any(target_env = "gnu", target_env = "musl"))]
mod life;
mod liveness;
mod meeting;
mod memory;
#[cfg_attr(
    not(any(target_env = "gnu", target_env = "musl")),
    allow(dead_code, reason = "the rest is for what is not there")
)]
pub mod proc;
mod processes;
mod protection;
mod ring;
mod robust;
#[cfg(test)]
#[path = "../../tests/skips/skips.rs"]
mod skips;
mod to_self;
pub(crate) mod watching;

use crate::absent::NoLongWords;
use crate::contract::System;
use crate::liveness::process_id;

/// Linux, from 5.10 on.
pub struct Linux;

impl NoLongWords for Linux {}
/// Android's C library has no robust list.
#[cfg(not(any(target_env = "gnu", target_env = "musl")))]
impl crate::absent::NoMarksAtDeath for Linux {}

impl System for Linux {
    const COARSE_CLOCK: libc::clockid_t = libc::CLOCK_MONOTONIC_COARSE;
    const BOOT_CLOCK: libc::clockid_t = libc::CLOCK_BOOTTIME;

    fn errno_place() -> *mut libc::c_int {
        #[cfg(not(any(target_env = "gnu", target_env = "musl")))]
        use libc::__errno as place;
        #[cfg(any(target_env = "gnu", target_env = "musl"))]
        use libc::__errno_location as place;
        // SAFETY: has no precondition.
        unsafe { place() }
    }

    /// Refused: as many as there may be. Then there are no yields.
    fn processors() -> u64 {
        const CALLER: u32 = 0;
        let most = [CALLER, process_id()].map(|thread| allowed(thread).unwrap_or(8192));
        most[0].max(most[1])
    }

    #[inline]
    fn processor() -> Option<u32> {
        // SAFETY: asks for a number, which the kernel keeps where the C library finds it.
        u32::try_from(unsafe { libc::sched_getcpu() }).ok()
    }
}

/// How many processors a thread may use.
fn allowed(thread: u32) -> Option<u64> {
    let mut set = [0u64; 128];
    // SAFETY: the place has this length, which is enough for 8,192 processors.
    let length = unsafe { libc::syscall(libc::SYS_sched_getaffinity, thread, size_of_val(&set), set.as_mut_ptr()) };
    (length > 0).then(|| set.iter().map(|bits| u64::from(bits.count_ones())).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// It speaks for the process: its other threads use the other processors.
    #[test]
    fn a_thread_that_is_confined_to_one_processor_knows_of_the_others() {
        let all = Linux::processors();
        let confined = std::thread::spawn(|| {
            // SAFETY: all zeros is the empty set, which is as long as the kernel is told; the calls concern this thread.
            unsafe {
                let mut one: libc::cpu_set_t = core::mem::zeroed();
                libc::CPU_SET(libc::sched_getcpu() as usize, &mut one);
                assert_eq!(libc::sched_setaffinity(0, size_of_val(&one), &one), 0);
            }
            Linux::processors()
        });
        assert_eq!(confined.join().expect("no panic"), all);
    }
}
