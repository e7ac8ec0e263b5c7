// SPDX-License-Identifier: MIT OR Apache-2.0
//! Says whether a thread sleeps, for the tests of every crate.

/// Returns whether this thread of this process sleeps now, by the number that `ntux_platform::liveness::thread_id`
/// gives.
#[cfg(all(target_os = "linux", not(ntux_simulated_macos)))]
pub fn is_asleep(thread: u64) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/self/task/{thread}/stat")).unwrap_or_default();
    stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('S'))
}

/// As on Linux.
#[cfg(any(target_os = "macos", ntux_simulated_macos))]
pub fn is_asleep(thread: u64) -> bool {
    unsafe extern "C" {
        fn proc_pidinfo(pid: i32, flavor: i32, argument: u64, place: *mut libc::c_void, size: i32) -> i32;
    }
    const PROC_PIDTHREADID64INFO: i32 = 15;
    const TH_STATE_WAITING: u32 = 3;
    /// Where `struct proc_threadinfo` has `pth_run_state`.
    const RUN_STATE: usize = 6;
    let mut found = [0u32; 28];
    let size = size_of_val(&found) as i32;
    // SAFETY: a place of this size for the answer, which is made of numbers.
    let told = unsafe { proc_pidinfo(libc::getpid(), PROC_PIDTHREADID64INFO, thread, found.as_mut_ptr().cast(), size) };
    told == size && found[RUN_STATE] == TH_STATE_WAITING
}
