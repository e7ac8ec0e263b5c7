// SPDX-License-Identifier: MIT OR Apache-2.0
//! What ntux needs of the system, each tried once in this process. The self-test tries every promise of the platform's contract, with
//! threads and processes (`docs/reference/macos.md`).

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use ntux_platform::atomic;
use ntux_platform::clock::Deadline;
use ntux_platform::futex::{self, Woken};
use ntux_platform::liveness;
use ntux_platform::memory::{self, Mapping};

type Outcome = Result<(), String>;

/// Each need, and how it is tried.
pub(super) const ALL: [(&str, fn() -> Outcome); 5] = [
    ("16-byte exchange", exchange),
    ("shared memory whose size cannot change", shared_memory),
    ("sleep with a deadline", sleep),
    ("locks of open file descriptions", locks),
    ("identity of processes", identity),
];

fn exchange() -> Outcome {
    required(atomic::supported(), "this processor lacks it")
}

fn shared_memory() -> Outcome {
    const LENGTH: usize = 100_000;
    let fd = memory::create(c"ntux-doctor", LENGTH as u64).map_err(said)?;
    required(memory::cannot_shrink(fd.as_fd()), "its size can change")?;
    required(memory::regular_file(fd.as_fd()).map_err(said)?.is_some(), "it has no identity")?;
    Mapping::new(fd.as_fd(), LENGTH).map(drop).map_err(said)
}

fn sleep() -> Outcome {
    const SHORT: Duration = Duration::from_millis(1);
    let (word, deadline) = (0u32, Deadline::after_ns(SHORT.as_nanos() as u64));
    // A sleep may end early; one that never ends at its deadline hangs.
    while futex::wait(&raw const word, 0, deadline) != Woken::TimedOut {}
    required(deadline.passed(), "it ended before its deadline")
}

/// Two descriptions of one file: each sees what the other has locked.
fn locks() -> Outcome {
    let path = std::env::temp_dir().join(format!("ntux-doctor-{}", std::process::id()));
    let open = |is_new| File::options().read(true).write(true).create_new(is_new).open(&path);
    let both = open(true).and_then(|one| Ok((one, open(false)?)));
    let _ = std::fs::remove_file(&path);
    let (one, other) = both.map_err(said)?;
    memory::hold(one.as_fd(), 0).map_err(said)?;
    required(memory::is_held(other.as_fd(), 0, 1).map_err(said)?, "a lock is not seen through another description")
}

fn identity() -> Outcome {
    let me = liveness::this_process();
    required(me.start != 0 && me.namespace != 0, "it is not known when this process started")?;
    required(!liveness::is_process_dead(me, me), "this process is said to be dead")
}

fn required(holds: bool, otherwise: &str) -> Outcome {
    if holds { Ok(()) } else { Err(otherwise.to_owned()) }
}

fn said(error: io::Error) -> String {
    error.to_string()
}
