// SPDX-License-Identifier: MIT OR Apache-2.0
//! Timers, of which many are armed: objects of an arena, and descriptors of the kernel.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, FromRawFd};

use ntux_platform::clock::{Clock, Deadline, Due};
use ntux_sync::{Arena, Capacity, Object, Waiter};

use crate::bench::Bench;
use crate::measure::{Effort, Sample, per_operation};
use crate::record::Group;
use crate::report::{RUST, TIMERFD};

/// Timers that are armed while one of them is armed anew.
const ARMED: usize = 10_000;
/// None of them is due while anything is measured.
const FAR_NS: u64 = 3_600_000_000_000;
const SOON_NS: u64 = 100_000;

const ARM: &str = "arm + cancel a timer, 10,000 are armed";
const WAIT: &str = "arm a timer for 100 us + wait for it";

pub(crate) fn run(bench: &mut Bench) {
    bench.peer(RUST).time(Group::Growth, ARM, |effort| armed_anew(effort, Timers::create()?));
    bench.time(Group::Growth, WAIT, |effort| waited_for(effort, Timers::create()?));
    bench.peer(TIMERFD).time(Group::Growth, ARM, |effort| armed_anew(effort, Descriptors::create()?));
    bench.time(Group::Growth, WAIT, |effort| waited_for(effort, Descriptors::create()?));
}

/// Timers by their numbers.
trait Subject {
    /// Arms one for so much later; 0: cancels it.
    fn set(&mut self, timer: usize, after_ns: u64) -> io::Result<()>;
    fn wait(&mut self, timer: usize) -> io::Result<()>;
}

fn armed_anew(effort: Effort, mut subject: impl Subject) -> io::Result<Sample> {
    (0..ARMED).try_for_each(|timer| subject.set(timer, FAR_NS))?;
    let mut timers = (0..ARMED).cycle();
    per_operation(effort, || {
        let timer = timers.next().unwrap_or(0);
        subject.set(timer, 0)?;
        subject.set(timer, FAR_NS)
    })
}

fn waited_for(effort: Effort, mut subject: impl Subject) -> io::Result<Sample> {
    per_operation(effort, || {
        subject.set(0, SOON_NS)?;
        subject.wait(0)
    })
}

struct Timers {
    // Dropped before its arena.
    waiter: Waiter,
    arena: Arena,
    timers: Vec<Object>,
}

impl Timers {
    fn create() -> io::Result<Self> {
        let arena =
            Arena::create(Capacity { objects: ARMED as u32, ..Capacity::default() }).map_err(io::Error::other)?;
        let waiter = arena.waiter();
        let create = |_| arena.timer_create(&waiter, false).map_err(io::Error::other);
        let timers = (0..ARMED).map(create).collect::<io::Result<_>>()?;
        Ok(Self { waiter, arena, timers })
    }
}

impl Subject for Timers {
    fn set(&mut self, timer: usize, after_ns: u64) -> io::Result<()> {
        let Self { waiter, arena, timers } = self;
        match after_ns {
            0 => arena.timer_cancel(waiter, timers[timer]),
            _ => arena.timer_set(waiter, timers[timer], Due::after_ns(Clock::Monotonic, after_ns), 0),
        }
        .map_err(io::Error::other)
    }

    fn wait(&mut self, timer: usize) -> io::Result<()> {
        let timers = &self.timers[timer..=timer];
        self.arena.wait_any(&self.waiter, timers, None, 1, Deadline::Never).map(drop).map_err(io::Error::other)
    }
}

struct Descriptors(Vec<File>);

impl Descriptors {
    fn create() -> io::Result<Self> {
        let create = |_| {
            // SAFETY: makes a descriptor, and touches no memory.
            match unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_CLOEXEC) } {
                -1 => Err(io::Error::last_os_error()),
                // SAFETY: a new descriptor, which is nobody else's.
                fd => Ok(unsafe { File::from_raw_fd(fd) }),
            }
        };
        Ok(Self((0..ARMED).map(create).collect::<io::Result<_>>()?))
    }
}

impl Subject for Descriptors {
    fn set(&mut self, timer: usize, after_ns: u64) -> io::Result<()> {
        let never = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        let due = libc::timespec {
            tv_sec: (after_ns / 1_000_000_000) as libc::time_t,
            tv_nsec: (after_ns % 1_000_000_000) as libc::c_long,
        };
        let new = libc::itimerspec { it_interval: never, it_value: due };
        // SAFETY: a descriptor of a timer, a value to read, and no place for the old one.
        match unsafe { libc::timerfd_settime(self.0[timer].as_raw_fd(), 0, &new, std::ptr::null_mut()) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    fn wait(&mut self, timer: usize) -> io::Result<()> {
        self.0[timer].read_exact(&mut [0; 8])
    }
}
