// SPDX-License-Identifier: MIT OR Apache-2.0
//! Says whether a thread sleeps, for the tests of every crate.

/// Returns whether this thread of this process sleeps now, by the number that `ntux_platform::liveness::thread_id`
/// gives. A thread that waits for a lock of the C library does not count.
#[cfg(all(target_os = "linux", not(ntux_simulated_macos)))]
pub fn is_asleep(thread: u64) -> bool {
    let said = |file: &str| std::fs::read_to_string(format!("/proc/self/task/{thread}/{file}")).unwrap_or_default();
    said("stat").rsplit(") ").next().is_some_and(|rest| rest.starts_with('S')) && !is_for_a_lock(&said("syscall"))
}

/// Returns whether this call (`/proc/PID/task/TID/syscall`) is how the C library waits for its locks and conditions: an
/// emulator's threads do that wherever they wait for the emulator. Four in 5,687 that were taken for asleep in their
/// wait did, when four such emulators shared two processors. Nothing here waits in these ways: the core and Rust's
/// library wait with a bitset, and have a time if they have the clock of the wall.
#[cfg(all(target_os = "linux", not(ntux_simulated_macos)))]
fn is_for_a_lock(call: &str) -> bool {
    /// The number of `futex`; on aarch64, too.
    const NUMBERS: [&str; 2] = ["202", "98"];
    let words: Vec<&str> = call.split(' ').collect();
    let [number, _word, operation, _value, time, ..] = words[..] else { return false };
    // FUTEX_WAIT, private; FUTEX_WAIT_BITSET, private, by the clock of the wall.
    NUMBERS.contains(&number) && (operation == "0x80" || (operation == "0x189" && time == "0x0"))
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
