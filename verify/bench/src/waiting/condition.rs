// SPDX-License-Identifier: MIT OR Apache-2.0
//! What goes on beside a program while it is measured, and what it is confined to.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;

use ntux_testkit::child::Child;
use ntux_testkit::processors::{allowed, confine, stay_on_one_processor, stay_on_the};

/// Time on one processor in each period of ten milliseconds.
const QUOTA_US: u32 = 5_000;
const PERIOD_US: u32 = 10_000;

/// One condition.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub(crate) enum Condition {
    /// Nothing.
    Quiet,
    /// So many processes that compute.
    Busy(u32),
    /// All threads may use one processor only.
    Pinned,
    /// Each thread confines itself to a processor of its own, before it waits for the first time.
    Apart,
    /// Each thread confines itself to the same processor.
    Together,
    /// As apart; every second thread is moved to the others' processor and back.
    Moved,
    /// A control group may use half a processor.
    Quota,
    /// Every second thread is of the class that runs when nobody else wants to, beside one process that computes.
    IdleClass,
}

impl Condition {
    pub(crate) const ALL: [Condition; 10] = [
        Condition::Quiet,
        Condition::Busy(1),
        Condition::Busy(2),
        Condition::Busy(8),
        Condition::Pinned,
        Condition::Apart,
        Condition::Together,
        Condition::Moved,
        Condition::Quota,
        Condition::IdleClass,
    ];

    pub(crate) fn name(self) -> String {
        match self {
            Condition::Quiet => "quiet".into(),
            Condition::Busy(1) => "1 busy thread beside".into(),
            Condition::Busy(count) => format!("{count} busy threads beside"),
            Condition::Pinned => "pinned to one processor".into(),
            Condition::Apart => "each thread on its own processor".into(),
            Condition::Together => "each thread on the same processor".into(),
            Condition::Moved => "own processors, moved each 5 ms".into(),
            Condition::Quota => "quota: half a processor".into(),
            Condition::IdleClass => "every 2nd SCHED_IDLE, 1 busy beside".into(),
        }
    }

    /// Sets the stage; it stays as long as what this returns.
    pub(crate) fn stage(self) -> io::Result<Stage> {
        let busy = match self {
            Condition::Busy(count) => count,
            Condition::IdleClass => 1,
            _ => 0,
        };
        let beside = (0..busy)
            .map(|_| {
                Child::fork(|| {
                    loop {
                        std::hint::spin_loop()
                    }
                })
            })
            .collect::<io::Result<_>>()?;
        let group = if self == Condition::Quota { Some(Group::create()?) } else { None };
        Ok(Stage { condition: self, group, _beside: beside })
    }
}

/// A condition that holds.
pub(crate) struct Stage {
    condition: Condition,
    group: Option<Group>,
    _beside: Vec<Child>,
}

impl Stage {
    /// The calling process enters it.
    pub(crate) fn enter(&self) -> io::Result<()> {
        if let Some(group) = &self.group {
            fs::write(group.0.join("cgroup.procs"), std::process::id().to_string())?;
        }
        if self.condition == Condition::Pinned {
            stay_on_one_processor()?;
        }
        Ok(())
    }

    /// The thread with this number among those of the program begins.
    pub(crate) fn enter_thread(&self, number: usize) -> io::Result<()> {
        match self.condition {
            Condition::Apart => stay_on_the(number),
            Condition::Together => stay_on_the(0),
            Condition::Moved => {
                let processors = allowed()?;
                stay_on_the(number)?;
                if number.is_multiple_of(2) { Ok(()) } else { keep_moving(processors) }
            }
            Condition::IdleClass if !number.is_multiple_of(2) => be_idle(),
            _ => Ok(()),
        }
    }
}

/// The calling thread is of the class that runs when nobody else wants to.
fn be_idle() -> io::Result<()> {
    let parameter = libc::sched_param { sched_priority: 0 };
    // SAFETY: the kernel reads the parameter.
    match unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &parameter) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// From here on the calling thread is confined to the first of these processors and to the second, in turns, as long as its
/// process lives.
fn keep_moving(processors: Vec<usize>) -> io::Result<()> {
    const MOVED_EACH: Duration = Duration::from_millis(5);
    // SAFETY: a call without arguments.
    let moved = unsafe { libc::gettid() };
    let mover = move || {
        for &processor in processors.iter().take(2).cycle() {
            std::thread::sleep(MOVED_EACH);
            if confine(moved, processor).is_err() {
                break;
            }
        }
    };
    std::thread::Builder::new().spawn(mover).map(drop)
}

/// A control group with a quota; removed when dropped.
struct Group(PathBuf);

impl Group {
    fn create() -> io::Result<Group> {
        let name = format!("ntux-bench-{}", std::process::id());
        let (first, second) = (Path::new("/sys/fs/cgroup/cpu"), Path::new("/sys/fs/cgroup"));
        let is_first = first.join("cpu.cfs_quota_us").exists() || first.join("cpu.shares").exists() || first.is_dir();
        let path = if is_first { first.join(name) } else { second.join(name) };
        fs::create_dir(&path)?;
        let group = Group(path);
        if is_first {
            fs::write(group.0.join("cpu.cfs_period_us"), PERIOD_US.to_string())?;
            fs::write(group.0.join("cpu.cfs_quota_us"), QUOTA_US.to_string())?;
        } else {
            fs::write(group.0.join("cpu.max"), format!("{QUOTA_US} {PERIOD_US}"))?;
        }
        Ok(group)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}
