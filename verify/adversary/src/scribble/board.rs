// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory that the harness shares with its victims, besides the arena: what each is doing, and counts.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

use ntux_platform::atomic::{Word32, Word64};
use ntux_platform::{liveness, memory};

use super::operation::{self, Outcome};
use super::rubbish;

/// Threads that can be watched at a time.
pub const LANES: usize = 16;

/// The shared memory. Zero bytes are a valid one.
#[repr(C)]
pub struct Board {
    pub lanes: [Lane; LANES],
    /// What the victims are being tried with.
    pub seed: Word64,
    /// The descriptor of the device, once the program that uses it has opened it.
    pub device: Word32,
    /// By kind, as in [`rubbish::KINDS`].
    pub scribbles: [Word64; rubbish::KINDS.len()],
    /// By kind, as in [`operation::OUTCOMES`].
    pub outcomes: [Word64; operation::OUTCOMES.len()],
}

/// What one thread is doing.
#[repr(C)]
pub struct Lane {
    pub process: Word32,
    pub thread: Word32,
    /// Odd while an operation is going on.
    pub serial: Word64,
    pub step: Word64,
    /// As in [`operation::NAMES`].
    pub operation: Word32,
    /// Its deadline on the monotonic clock; 0 if the operation must not sleep at all.
    pub deadline_ns: Word64,
    /// The longest operation, in processor time.
    pub longest_ns: Word64,
    pub longest: Word32,
}

impl Board {
    /// A new one, with a descriptor from which other processes can map it.
    pub fn create() -> io::Result<(&'static Board, OwnedFd)> {
        let fd = memory::create(c"board", size_of::<Board>() as u64)?;
        let board = Board::map(std::os::fd::AsFd::as_fd(&fd))?;
        // The device's victims find it again after an exec.
        // SAFETY: a descriptor of our own; no memory is touched.
        unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETFD, 0) };
        Ok((board, fd))
    }

    /// Maps the one behind a descriptor, for as long as the process lives.
    pub fn map(fd: BorrowedFd<'_>) -> io::Result<&'static Board> {
        let mapping = memory::Mapping::new(fd, size_of::<Board>())?;
        let base = mapping.base();
        std::mem::forget(mapping);
        // SAFETY: the mapping is long enough, page-aligned and never unmapped; every byte pattern is a valid board.
        Ok(unsafe { base.cast::<Board>().as_ref() })
    }

    /// Counts what an operation came to.
    pub fn count(&self, outcome: Outcome) {
        self.outcomes[outcome.kind()].fetch_add(1);
    }
}

impl Lane {
    /// The calling thread takes the lane.
    pub fn take(&self) {
        self.process.store(liveness::process_id());
        self.thread.store(liveness::thread_id() as u32);
        self.serial.store(0);
        self.deadline_ns.store(0);
    }

    /// Does one operation in sight of the watchdog.
    pub fn watched<R>(&self, operation: u32, deadline_ns: u64, work: impl FnOnce() -> R) -> R {
        self.operation.store(operation);
        self.deadline_ns.store(deadline_ns);
        let began = thread_ns();
        self.serial.fetch_add(1);
        let result = work();
        self.serial.fetch_add(1);
        let spent = thread_ns() - began;
        if spent > self.longest_ns.load() {
            self.longest_ns.store(spent);
            self.longest.store(operation);
        }
        result
    }
}

/// Processor time of the calling thread.
fn thread_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a valid place for the answer.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
