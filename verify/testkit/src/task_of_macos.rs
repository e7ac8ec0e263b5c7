// SPDX-License-Identifier: MIT OR Apache-2.0
//! A thread as macOS shows it: whether it sleeps, and whether it has run since. In which call, macOS tells nobody.
//!
//! This asks for a thread of this process by its number, and for all threads of another process together: forked
//! children have one.

use std::time::Duration;

use libc::{c_int, c_void};

use crate::asleep::{self, Look, Visible};

unsafe extern "C" {
    fn proc_pidinfo(pid: c_int, flavor: c_int, argument: u64, place: *mut c_void, size: c_int) -> c_int;
    fn pthread_threadid_np(thread: libc::pthread_t, number: *mut u64) -> c_int;
}

const PROC_PIDTASKINFO: c_int = 4;
const PROC_PIDTHREADID64INFO: c_int = 15;
/// `pth_run_state`.
const TH_STATE_WAITING: i32 = 3;

/// `struct proc_taskinfo`.
#[repr(C)]
#[derive(Default)]
struct ProcTaskInfo {
    sizes_and_times: [u64; 6],
    policy_to_unix_calls: [i32; 8],
    context_switches: i32,
    threads: i32,
    running: i32,
    priority: i32,
}

/// `struct proc_threadinfo`.
#[repr(C)]
struct ProcThreadInfo {
    user_ns: u64,
    system_ns: u64,
    usage_and_policy: [i32; 2],
    run_state: i32,
    flags_to_priorities: [i32; 5],
    name: [u8; 64],
}

const _: () = assert!(size_of::<ProcTaskInfo>() == 96 && core::mem::offset_of!(ProcTaskInfo, running) == 88);
const _: () = assert!(size_of::<ProcThreadInfo>() == 112 && core::mem::offset_of!(ProcThreadInfo, run_state) == 24);

/// A thread of this process, or the only one of another one.
#[derive(Debug)]
pub struct Task {
    process: u32,
    /// None: whichever it has.
    thread: Option<u64>,
}

impl Task {
    /// The thread of a process that has one.
    pub fn new(process: u32) -> Task {
        Task { process, thread: None }
    }

    /// The calling thread.
    pub fn current() -> Task {
        let mut number = 0;
        // SAFETY: a valid place; 0 names the calling thread.
        unsafe { pthread_threadid_np(0, &mut number) };
        Task { process: std::process::id(), thread: Some(number) }
    }

    /// Asks for a structure of numbers.
    fn ask<T>(&self, flavor: c_int, argument: u64) -> Option<T> {
        let size = size_of::<T>() as c_int;
        let mut place = core::mem::MaybeUninit::<T>::zeroed();
        // SAFETY: a place of this size for the answer.
        let told = unsafe { proc_pidinfo(self.process as c_int, flavor, argument, place.as_mut_ptr().cast(), size) };
        // SAFETY: structures of numbers, for which zeros are values.
        (told == size).then(|| unsafe { place.assume_init() })
    }
}

impl Visible for Task {
    /// The number is the processor time of a thread, the context switches of a process.
    fn look(&self) -> Look {
        let (sleeps, has_run) = match self.thread {
            Some(thread) => {
                let Some(info) = self.ask::<ProcThreadInfo>(PROC_PIDTHREADID64INFO, thread) else { return Look::Ended };
                (info.run_state == TH_STATE_WAITING, info.user_ns + info.system_ns)
            }
            None => {
                let Some(info) = self.ask::<ProcTaskInfo>(PROC_PIDTASKINFO, 0) else { return Look::Ended };
                (info.running == 0, info.context_switches as u64)
            }
        };
        if sleeps { Look::Sleeps(has_run) } else { Look::Runs }
    }
}

/// Returns true once all of `tasks` sleep: each of them at two looks in a row, with `pause` in between, without having
/// run, as far as macOS counts. Returns false as soon as one of them has ended.
pub fn until_asleep(tasks: &[Task], pause: Duration) -> bool {
    asleep::until_asleep(tasks, pause)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    use super::*;
    use crate::asleep::tests::start;
    use crate::child::Child;

    const PAUSE: Duration = Duration::from_millis(1);

    #[test]
    fn who_sleeps_is_told_from_who_runs_and_who_has_ended() {
        static OVER: AtomicBool = AtomicBool::new(false);
        let busy = start(Task::current, || {
            while !OVER.load(Ordering::SeqCst) {
                std::hint::spin_loop()
            }
        });
        let parked = start(Task::current, thread::park);
        assert!(until_asleep(std::slice::from_ref(&parked), PAUSE));
        for _ in 0..100 {
            assert!(busy.look() == Look::Runs);
        }
        OVER.store(true, Ordering::SeqCst);
        while busy.look() != Look::Ended {
            thread::yield_now();
        }
        assert!(!until_asleep(&[parked, busy], PAUSE));
    }

    #[test]
    fn a_child_sleeps_and_is_killed() {
        let child = Child::fork(|| {
            loop {
                thread::park();
            }
        })
        .expect("a fork");
        let task = Task::new(child.id());
        assert!(until_asleep(std::slice::from_ref(&task), PAUSE));
        child.kill();
        assert!(!until_asleep(&[task], PAUSE));
    }
}
