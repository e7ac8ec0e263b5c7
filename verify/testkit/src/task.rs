// SPDX-License-Identifier: MIT OR Apache-2.0
//! The system's view of a thread: whether it sleeps, in which system call, how long it has worked.
//!
//! Three states look like sleep but are not; each has once misled a test:
//! * The thread is about to sleep: its state is already that of a sleeper, but it still runs, and may find that it need
//!   not sleep. Only a second check of its context switches tells, or the kernel's answer about its system call, which
//!   waits until the thread has left its processor.
//! * The thread was woken, but no processor runs it yet (`TASK_WAKING`): the kernel still names the system call in
//!   which it slept, but its state is no longer that of a sleeper.
//! * It slept, ran, and sleeps again between two checks: its context switches have increased.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::Duration;

use crate::asleep::{self, Look, Visible};

/// A thread of any process.
#[derive(Debug)]
pub struct Task {
    number: u32,
    directory: String,
    /// Kept open: its status, and its system call.
    open: Option<[File; 2]>,
}

/// A thread that sleeps: equal values mean that it has not run in between.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Asleep {
    /// The number of the system call in which it sleeps.
    pub call: u64,
    /// The first arguments of the call.
    pub arguments: [u64; 4],
    switches: u64,
}

/// What a thread is doing, as /proc and its memory tell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FutexWait {
    /// On a processor, stopped, or asleep for another reason.
    No,
    /// Asleep on a futex word that still holds what the thread compared it with.
    Sound,
    /// Asleep although the word has changed since: somebody owes it a wake.
    Owed,
}

impl Asleep {
    /// Returns true if it waits as ntux and Rust's library do.
    fn is_futex_wait(&self) -> bool {
        const COMMAND: u64 = libc::FUTEX_CMD_MASK as u32 as u64;
        self.call == libc::SYS_futex as u64 && self.arguments[1] & COMMAND == libc::FUTEX_WAIT_BITSET as u64
    }
}

impl Task {
    /// A thread by its number, whichever process it belongs to; a process's number is that of its first thread.
    pub fn new(number: u32) -> Task {
        Task { number, directory: format!("/proc/{number}/task/{number}"), open: None }
    }

    /// A thread of this process.
    pub fn of_this_process(number: u32) -> Task {
        Task { number, directory: format!("/proc/self/task/{number}"), open: None }
    }

    /// The same with its two files open from here on: for a process that counts its descriptors, or may run out of
    /// them.
    pub fn kept_open(self) -> Task {
        let open = ["status", "syscall"].map(|file| {
            let path = format!("{}/{file}", self.directory);
            File::open(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
        });
        Task { open: Some(open), ..self }
    }

    /// The calling thread.
    pub fn current() -> Task {
        // SAFETY: asks for a number.
        Task::of_this_process(unsafe { libc::gettid() } as u32)
    }

    /// Its number.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Returns how it sleeps, in which call, if it does at this moment.
    ///
    /// Needs the permission to trace the thread, as a parent has it.
    pub fn asleep(&self) -> Option<Asleep> {
        let Look::Sleeps(switches) = self.look() else { return None };
        let [call, arguments @ ..] = self.system_call()?;
        // The same number: it slept from the first look to the last, so also when the kernel named the call.
        (self.look() == Look::Sleeps(switches)).then_some(Asleep { call, arguments, switches })
    }

    /// Returns whether it sleeps on a futex, and whether it is owed a wake.
    pub fn futex_wait(&self) -> FutexWait {
        let Some(before) = self.asleep().filter(Asleep::is_futex_wait) else { return FutexWait::No };
        let [address, _, expected, _] = before.arguments;
        let word = self.memory_at(address).map(u32::from_ne_bytes);
        match (self.asleep() == Some(before), word == Some(expected as u32)) {
            (false, _) => FutexWait::No,
            (true, true) => FutexWait::Sound,
            (true, false) => FutexWait::Owed,
        }
    }

    /// Returns until when it sleeps on a futex, in nanoseconds of the monotonic clock; the largest number if it has no deadline. `None`:
    /// it does not sleep on a futex, or its deadline is on another clock.
    pub fn sleeps_until(&self) -> Option<u64> {
        let before = self.asleep().filter(Asleep::is_futex_wait)?;
        let [_, operation, _, deadline] = before.arguments;
        if deadline == 0 {
            return Some(u64::MAX);
        }
        let until: [u8; 16] = self.memory_at(deadline)?;
        let (seconds, nanoseconds) = until.split_at(8);
        let number = |bytes: &[u8]| bytes.try_into().map(u64::from_ne_bytes).ok();
        let until = number(seconds)?.checked_mul(1_000_000_000)?.checked_add(number(nanoseconds)?)?;
        let is_monotonic = operation & libc::FUTEX_CLOCK_REALTIME as u64 == 0;
        (is_monotonic && self.asleep() == Some(before)).then_some(until)
    }

    /// Returns whether a signal or a tracer has stopped it.
    pub fn is_stopped(&self) -> bool {
        let status = self.read("status", self.open.as_ref().map(|[status, _]| status)).unwrap_or_default();
        let state = status.lines().find_map(|line| line.strip_prefix("State:"));
        state.and_then(|state| state.trim().chars().next()).is_some_and(|state| matches!(state, 'T' | 't'))
    }

    /// Returns its processor time, in the kernel's ticks, and whether its state is that of a sleeper. `None`: it is
    /// gone.
    pub fn work(&self) -> Option<(Duration, bool)> {
        const TICK: Duration = Duration::from_millis(10);
        let stat = self.read("stat", None)?;
        // Behind the name, which may contain parentheses itself.
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
        let sleeps = fields.next()? == "S";
        let mut ticks = fields.skip(10).take(2).filter_map(|field| field.parse::<u32>().ok());
        Some((TICK * (ticks.next()? + ticks.next()?), sleeps))
    }

    /// Number and first arguments of the system call in which it left its processor.
    fn system_call(&self) -> Option<[u64; 5]> {
        let text = self.read("syscall", self.open.as_ref().map(|[_, call]| call))?;
        let mut fields = text.split_whitespace();
        let number = fields.next()?.parse().ok()?;
        let mut argument = || u64::from_str_radix(fields.next()?.strip_prefix("0x")?, 16).ok();
        Some([number, argument()?, argument()?, argument()?, argument()?])
    }

    fn memory_at<const N: usize>(&self, address: u64) -> Option<[u8; N]> {
        let mut bytes = [0; N];
        let here = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: N };
        let there = libc::iovec { iov_base: address as *mut libc::c_void, iov_len: N };
        // SAFETY: the answer's place is valid for its length; the kernel checks the other process's address itself.
        let read = unsafe { libc::process_vm_readv(self.number as i32, &here, 1, &there, 1, 0) };
        (read == N as isize).then_some(bytes)
    }

    fn read(&self, file: &str, open: Option<&File>) -> Option<String> {
        let Some(open) = open else {
            let opened = File::open(format!("{}/{file}", self.directory)).ok()?;
            return self.read(file, Some(&opened));
        };
        // At once: the kernel says no length, and whoever does not know it reads a few bytes at a time.
        let mut text = [0; 4096];
        let length = open.read_at(&mut text, 0).ok()?;
        Some(String::from_utf8_lossy(&text[..length]).into_owned())
    }
}

impl Visible for Task {
    /// The number is that of the times when it gave up its processor by itself.
    fn look(&self) -> Look {
        let Some(status) = self.read("status", self.open.as_ref().map(|[status, _]| status)) else {
            return Look::Ended;
        };
        let field = |name| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        let switches = field("voluntary_ctxt_switches:").and_then(|number| number.parse().ok());
        match (field("State:").and_then(|state| state.chars().next()), switches) {
            (None | Some('Z' | 'X'), _) => Look::Ended,
            (Some('S'), Some(switches)) => Look::Sleeps(switches),
            _ => Look::Runs,
        }
    }
}

/// Returns true once all of `tasks` sleep: each of them at two looks in a row, with `pause` in between, without having
/// run. Returns false as soon as one of them has ended.
pub fn until_asleep(tasks: &[Task], pause: Duration) -> bool {
    asleep::until_asleep(tasks, pause)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
    use std::thread;

    use super::*;
    use crate::asleep::tests::start;

    const PAUSE: Duration = Duration::from_micros(200);

    fn wait_on(word: &AtomicU32, expected: u32) {
        let (word, no_time) = (word.as_ptr(), std::ptr::null::<libc::timespec>());
        // SAFETY: a word that is alive; the kernel only reads it.
        unsafe { libc::syscall(libc::SYS_futex, word, libc::FUTEX_WAIT_BITSET, expected, no_time, 0, u32::MAX) };
    }

    #[test]
    fn a_futex_wait_is_sound_until_its_word_changes_and_then_owed() {
        static WORD: AtomicU32 = AtomicU32::new(7);
        let task = start(Task::current, || wait_on(&WORD, 7));
        assert!(until_asleep(std::slice::from_ref(&task), PAUSE));
        assert_eq!(task.futex_wait(), FutexWait::Sound);
        assert_eq!(task.asleep().map(|asleep| asleep.call), Some(libc::SYS_futex as u64));
        assert_eq!(Task::of_this_process(task.number()).kept_open().futex_wait(), FutexWait::Sound);
        WORD.store(8, Ordering::SeqCst);
        assert_eq!(task.futex_wait(), FutexWait::Owed);
    }

    #[test]
    fn who_runs_or_sleeps_elsewhere_waits_on_no_futex() {
        static OVER: AtomicBool = AtomicBool::new(false);
        let busy = start(Task::current, || {
            while !OVER.load(Ordering::SeqCst) {
                std::hint::spin_loop()
            }
        });
        let (work, _) = busy.work().expect("it lives");
        for _ in 0..100 {
            assert_eq!((busy.asleep(), busy.futex_wait()), (None, FutexWait::No));
        }
        while busy.work().expect("it lives").0 == work {}
        OVER.store(true, Ordering::SeqCst);
        let paused = start(Task::current, || {
            // SAFETY: takes no memory; a signal may end it.
            unsafe { libc::pause() };
        });
        assert!(until_asleep(std::slice::from_ref(&paused), PAUSE));
        assert_eq!(paused.futex_wait(), FutexWait::No);
        assert!(paused.asleep().is_some());
    }

    #[test]
    fn who_ends_does_not_fall_asleep() {
        let task = start(Task::current, || thread::sleep(Duration::from_millis(1)));
        while task.look() != Look::Ended {
            thread::yield_now();
        }
        assert!(!until_asleep(&[Task::current(), Task::new(task.number())], PAUSE));
        assert_eq!((task.asleep(), task.work()), (None, None));
    }

    #[test]
    fn who_sleeps_again_and_again_is_seen_to_have_run() {
        static WORD: AtomicU32 = AtomicU32::new(0);
        let task = start(Task::current, || {
            loop {
                thread::sleep(Duration::from_micros(50));
                if WORD.load(Ordering::SeqCst) == 1 {
                    return;
                }
            }
        });
        let first = (0..10_000).find_map(|_| task.asleep()).expect("it sleeps now and then");
        thread::sleep(Duration::from_millis(20));
        let later = (0..10_000).find_map(|_| task.asleep()).expect("it sleeps now and then");
        WORD.store(1, Ordering::SeqCst);
        assert_ne!(first.switches, later.switches);
    }
}
