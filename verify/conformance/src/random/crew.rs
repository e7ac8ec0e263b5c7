// SPDX-License-Identifier: MIT OR Apache-2.0
//! The threads of a program besides the first: each makes one call after the other, on command.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicI64, AtomicU64, Ordering};
use std::thread::{self, Thread};
use std::time::Duration;

use ntux_testkit::task::Task;

use crate::random::memory::{Arguments, Ready};
use crate::random::perform::make;

/// Between two looks at a thread that runs.
const BETWEEN_LOOKS: Duration = Duration::from_micros(50);

/// What a thread and its director tell each other.
#[derive(Default)]
struct Desk {
    tid: AtomicI32,
    fd: AtomicI32,
    number: AtomicU64,
    argument: AtomicU64,
    result: AtomicI64,
    /// Whose turn it is.
    turn: AtomicI32,
}

const DIRECTOR: i32 = 0;
const THREAD: i32 = 1;

/// A thread, as its director sees it.
pub(crate) struct Member {
    desk: Arc<Desk>,
    thread: Thread,
    task: Task,
    /// The memory of its calls.
    pub(crate) arguments: Arguments,
    /// The call that it makes: whether its deadline comes soon.
    busy: Option<bool>,
    /// It was given something to do since it was last checked, so it certainly runs.
    just_told: bool,
}

impl Member {
    pub(crate) fn start() -> Member {
        let desk = Arc::new(Desk::default());
        let its = desk.clone();
        let thread = thread::spawn(move || its.serve()).thread().clone();
        while desk.tid.load(Ordering::Acquire) == 0 {
            thread::yield_now();
        }
        let tid = desk.tid.load(Ordering::Acquire);
        // Open from here on: the numbers of descriptors are part of a transcript.
        let task = Task::of_this_process(tid as u32).kept_open();
        Member { desk, thread, task, arguments: Arguments::new(), busy: None, just_told: false }
    }

    pub(crate) fn is_busy(&self) -> bool {
        self.busy.is_some()
    }

    /// Has the thread make a call.
    pub(crate) fn tell(&mut self, ready: Ready, ends_soon: bool) {
        self.busy = Some(ends_soon);
        self.just_told = true;
        self.desk.fd.store(ready.fd, Ordering::Relaxed);
        self.desk.number.store(ready.number, Ordering::Relaxed);
        self.desk.argument.store(ready.argument, Ordering::Relaxed);
        self.desk.turn.store(THREAD, Ordering::Release);
        self.thread.unpark();
    }

    /// Returns once the thread has made its call, or sleeps in it.
    ///
    /// Nobody else does anything meanwhile. So the thread sleeps for good, unless its deadline comes soon.
    pub(crate) fn settle(&mut self) {
        let Some(ends_soon) = self.busy else { return };
        // A look at a thread that is about to sleep takes as long as the kernel's timer tick.
        let mut look = !ends_soon && !std::mem::take(&mut self.just_told);
        while self.makes_its_call() {
            // It is asked once more: the thread may have made its call and sleep until it is told the next.
            if look && self.sleeps() && self.makes_its_call() {
                return;
            }
            thread::sleep(BETWEEN_LOOKS);
            look = !ends_soon;
        }
    }

    fn makes_its_call(&self) -> bool {
        self.desk.turn.load(Ordering::Acquire) == THREAD
    }

    /// What the call gave, if the thread has made it; once.
    pub(crate) fn take_result(&mut self) -> Option<i64> {
        self.busy?;
        if self.makes_its_call() {
            return None;
        }
        self.busy = None;
        Some(self.desk.result.load(Ordering::Relaxed))
    }

    /// Returns whether the thread sleeps inside a system call that can make it wait for an object: the ioctl, or a futex where
    /// the device is emulated.
    fn sleeps(&self) -> bool {
        const IN_A_WAIT: [i64; 3] = [libc::SYS_ioctl, libc::SYS_futex, libc::SYS_futex_waitv];
        self.task.asleep().is_some_and(|asleep| IN_A_WAIT.contains(&(asleep.call as i64)))
    }

    pub(crate) fn signal(&mut self, signal: i32) {
        self.just_told = true;
        // SAFETY: the thread lives as long as the process, and the program has a handler for the signal.
        unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), self.desk.tid.load(Ordering::Relaxed), signal) };
    }
}

impl Desk {
    fn serve(&self) -> ! {
        // SAFETY: takes no argument and cannot fail.
        self.tid.store(unsafe { libc::gettid() }, Ordering::Release);
        loop {
            while self.turn.load(Ordering::Acquire) != THREAD {
                thread::park();
            }
            let ready = Ready {
                fd: self.fd.load(Ordering::Relaxed),
                number: self.number.load(Ordering::Relaxed),
                argument: self.argument.load(Ordering::Relaxed),
            };
            self.result.store(make(ready), Ordering::Relaxed);
            self.turn.store(DIRECTOR, Ordering::Release);
        }
    }
}
