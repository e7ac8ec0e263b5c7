// SPDX-License-Identifier: MIT OR Apache-2.0
//! Several processes share the scenarios of a run: each has an arena, survivors and a processor of its own, and takes the next scenario
//! when it is done with one.

use std::cell::{Cell, UnsafeCell};
use std::io;

use ntux_platform::atomic::Word32;
use ntux_testkit::child::{Child, shared};
use ntux_testkit::processors::{processors, stay_on_one_processor, stay_on_the};

use super::run::{self, Plan, Totals};

/// More than these do not share.
const MOST: usize = 64;

/// What the processes share. Zero bytes are a valid one.
struct Work {
    /// How many scenarios were taken.
    taken: Word32,
    results: [Slot; MOST],
}

/// What one of them came to.
struct Slot {
    /// 0: nothing yet; 1: its totals; else the error's number, and one.
    state: Word32,
    totals: UnsafeCell<Totals>,
}

// SAFETY: a process writes its own totals before its state; they are read after its end.
unsafe impl Sync for Slot {}

/// Runs everything in so many processes, or in one for each processor if that is 0; in this one if it is 1.
///
/// Errors: those of [`run::run`].
pub fn run(plan: &Plan, processes: usize) -> io::Result<Totals> {
    let processes = if processes == 0 { processors()? } else { processes }.min(MOST);
    if processes <= 1 {
        // Where it may not, it takes its chance with the clock.
        let _ = stay_on_one_processor();
        let next = Cell::new(0);
        return run::run(plan, &|| next.replace(next.get() + 1));
    }
    // SAFETY: words and numbers, for which zero is a value.
    let work: &'static Work = unsafe { shared()? };
    let children = (0..processes).map(|number| Child::fork(|| work.share(&plan.part(number, processes), number)));
    let children = children.collect::<io::Result<Vec<Child>>>()?;
    let mut totals = Totals::default();
    for (child, slot) in children.iter().zip(&work.results) {
        child.wait()?;
        match slot.state.load() {
            0 => return Err(io::Error::other("a process of several died")),
            // SAFETY: its process has ended.
            1 => totals.add(unsafe { &*slot.totals.get() }),
            error => return Err(io::Error::from_raw_os_error(error as i32 - 1)),
        }
    }
    Ok(totals)
}

impl Work {
    fn share(&self, plan: &Plan, number: usize) {
        let slot = &self.results[number];
        let _ = stay_on_the(number);
        let done = run::run(plan, &|| self.taken.fetch_add(1) as usize);
        slot.state.store(match done {
            Ok(totals) => {
                // SAFETY: this process alone writes here, and nobody reads before its end.
                unsafe { slot.totals.get().write(totals) };
                1
            }
            Err(error) => {
                println!("crash: {error}");
                1 + error.raw_os_error().unwrap_or(if error.kind() == io::ErrorKind::PermissionDenied {
                    libc::EPERM
                } else {
                    libc::EIO
                }) as u32
            }
        });
    }
}

impl Plan {
    /// What one of several processes does of it.
    fn part(&self, number: usize, processes: usize) -> Plan {
        let part = |count: u64| (count + number as u64) / processes as u64;
        let random =
            self.random.map(|(count, seed)| (part(count), seed.wrapping_mul(processes as u64) + number as u64));
        Plan { random, ..self.clone() }
    }
}
