//! Whether a thread sleeps: for the tests of every crate.

/// Whether this thread of this process sleeps now, by the number that `ntux_platform::liveness::thread_id` gives.
#[cfg(target_os = "linux")]
pub fn is_asleep(thread: u64) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/self/task/{thread}/stat")).unwrap_or_default();
    stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('S'))
}

/// As on Linux.
#[cfg(target_os = "macos")]
pub fn is_asleep(thread: u64) -> bool {
    const PROC_PIDTHREADID64INFO: i32 = 15;
    const TH_STATE_WAITING: i32 = 3;
    let mut found = core::mem::MaybeUninit::<libc::proc_threadinfo>::zeroed();
    let size = size_of::<libc::proc_threadinfo>() as i32;
    // SAFETY: a place of this size for the answer, which is made of numbers.
    unsafe {
        let place = found.as_mut_ptr().cast();
        libc::proc_pidinfo(libc::getpid(), PROC_PIDTHREADID64INFO, thread, place, size) == size
            && found.assume_init().pth_run_state == TH_STATE_WAITING
    }
}
