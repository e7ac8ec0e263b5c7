// SPDX-License-Identifier: MIT OR Apache-2.0
//! What ntux makes of what others wrote: programs, C libraries, core dumps, logs, arenas with the records of a trace, and events of one.
//!
//! Each function of [`TARGETS`] gives some bytes to one parser of the product, whose file is compiled here as it is, and checks what is
//! promised of any bytes: no panic, no overflow, an answer within bounds. libFuzzer calls them with what it thinks of (`make fuzz-parsers`,
//! the folder `libfuzzer`), and `tests/slice.rs` with what [`mutate`] makes of [`seeds`] (`make test`).
#![cfg(target_os = "linux")]

pub mod mutate;
pub mod planted;
pub mod seeds;

use std::cell::Cell;
use std::collections::HashMap;
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, IntoRawFd, OwnedFd};
use std::os::unix::fs::FileExt;

use ntux_sync::inspect::View;
use ntux_sync::inspect::why::Case;
use ntux_sync::trace::{Event, Operation, Tracer, What};
use tempfile::TempDir;

/// A parser, by its name, and with bytes to begin with.
pub struct Target {
    /// Its name, as of libFuzzer's program.
    pub name: &'static str,
    /// Gives it these bytes.
    pub parse: fn(&[u8]),
    /// Files that it understands.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// How many variants of each seed are tried by `make test`.
    pub variants: u64,
}

/// All parsers of foreign files.
pub const TARGETS: &[Target] = &[
    Target { name: "program", parse: program, seeds: seeds::programs, variants: 4_000 },
    Target { name: "c_library", parse: c_library, seeds: seeds::c_libraries, variants: 400 },
    Target { name: "core_dump", parse: core_dump, seeds: seeds::core_dumps, variants: 2_000 },
    Target { name: "log", parse: log, seeds: seeds::logs, variants: 4_000 },
    Target { name: "trace", parse: trace_of, seeds: seeds::traces, variants: 400 },
    Target { name: "arena", parse: arena, seeds: seeds::arenas, variants: 400 },
];

/// Gives bytes to the parser of this name.
pub fn parse(name: &str, bytes: &[u8]) {
    let target = TARGETS.iter().find(|target| target.name == name).expect("a parser of this name");
    (target.parse)(bytes);
}

/// The C library of the preloaded library, whose own files are opened through it.
#[path = "."]
mod c_library {
    #[allow(dead_code, reason = "what is about processes has no foreign bytes")]
    #[path = "../../../crates/preload/src/c_library/file.rs"]
    pub mod file;

    pub mod next {
        pub use libc::close;
        use std::ffi::{c_char, c_int};

        /// Opens nothing: whatever a script names is the rest of the script.
        ///
        /// # Safety
        /// None is needed.
        pub unsafe fn openat(_directory: c_int, _path: *const c_char, _flags: c_int, _mode: c_int) -> c_int {
            // SAFETY: any number may be duplicated.
            unsafe { libc::dup(crate::SCRIPT.get()) }
        }
    }
}

#[allow(dead_code, reason = "what is about processes has no foreign bytes")]
#[path = "../../../crates/preload/src/descriptors/strangers.rs"]
mod strangers;

#[path = "../../../crates/cli/src/glibc.rs"]
mod glibc;

#[path = "../../../crates/cli/src/arenas/copy.rs"]
mod copy;

#[path = "../../../crates/cli/src/counted.rs"]
mod counted;

#[allow(dead_code, reason = "not every shape is drawn here")]
#[path = "../../../crates/cli/src/drawing.rs"]
mod drawing;

/// What is made of the events of a trace.
#[allow(dead_code, reason = "what asks /proc for names is left out")]
#[path = "."]
mod trace {
    #[path = "../../../crates/cli/src/trace/summary.rs"]
    pub mod summary;
    #[path = "../../../crates/cli/src/trace/timeline.rs"]
    pub mod timeline;
    #[path = "../../../crates/cli/src/trace/waits.rs"]
    pub mod waits;

    pub mod attach {
        pub const LEASE: std::time::Duration = std::time::Duration::from_secs(10);
    }

    pub mod names {
        pub fn verb(_operation: ntux_sync::trace::Operation) -> &'static str {
            "does"
        }
    }
}

#[allow(dead_code, reason = "where logs are found is no matter of theirs")]
#[path = "../../../crates/cli/src/why/log.rs"]
mod log;

use trace::summary::Summary;
use trace::timeline::Timeline;
use trace::waits::{Completed, Waits};

thread_local! {
    static SCRIPT: Cell<i32> = const { Cell::new(-1) };
}

/// A file in memory with these bytes, at whose start it is read.
fn file(bytes: &[u8]) -> File {
    // SAFETY: a terminated name; the descriptor was made just now.
    let fd = unsafe { OwnedFd::from_raw_fd(libc::memfd_create(c"foreign".as_ptr(), libc::MFD_ALLOW_SEALING)) };
    let file = File::from(fd);
    file.write_all_at(bytes, 0).expect("there is memory");
    file
}

/// What stands in the way of loading the library into a program, or what a script names.
pub fn obstacle_to(bytes: &[u8]) -> Option<String> {
    let script = file(bytes);
    SCRIPT.set(script.as_raw_fd());
    let program = c_library::file::File::of(file(bytes).into_raw_fd()).expect("a descriptor");
    let obstacle = strangers::obstacle_behind_scripts(program);
    SCRIPT.set(-1);
    obstacle.map(|obstacle| format!("{obstacle:?}"))
}

fn program(bytes: &[u8]) {
    obstacle_to(bytes);
}

/// Returns whether the C library that these bytes are gives less than they need.
pub fn needs_more_than_it_gives(bytes: &[u8]) -> bool {
    // Each thread has its own: tests run at the same time.
    thread_local! {
        static PLACE: TempDir = TempDir::new().expect("a directory");
    }
    let library = PLACE.with(|place| place.path().join("libc.so.6"));
    std::fs::write(&library, bytes).expect("there is room");
    glibc::is_too_old(&library, &library)
}

fn c_library(bytes: &[u8]) {
    needs_more_than_it_gives(bytes);
}

/// The number of arenas in a file that is said to be a copy of one, or a core dump.
pub fn arenas_in(bytes: &[u8]) -> usize {
    let arenas = copy::arenas(&file(bytes));
    for arena in &arenas {
        let copied = arena.try_clone().and_then(|arena| File::from(arena).metadata()).expect("a file").len();
        assert!(copied <= bytes.len() as u64, "{copied} bytes of {}", bytes.len());
    }
    arenas.len()
}

fn core_dump(bytes: &[u8]) {
    arenas_in(bytes);
}

/// Returns whether a log says who signaled this slot last.
pub fn last_in(bytes: &[u8], slot: u32) -> bool {
    let mut logs = log::Logs::default();
    String::from_utf8_lossy(bytes).lines().for_each(|line| logs.take(line));
    logs.last(slot).is_some()
}

fn log(bytes: &[u8]) {
    last_in(bytes, 5);
}

/// The number of events in the trace of an arena into which somebody wrote: a number of 8 bytes for each place of 4.
pub fn events_of(changes: &[u8]) -> usize {
    let mut arena = seeds::sound_arena().to_vec();
    for change in changes.chunks_exact(CHANGE) {
        let (place, value) = change.split_at(4);
        let place = u32::from_le_bytes(place.try_into().expect("4 bytes")) as usize % (arena.len() - value.len());
        arena[place..][..value.len()].copy_from_slice(value);
    }
    let file = file(&arena);
    // SAFETY: a file of this function's own.
    let sealed = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, libc::F_SEAL_SHRINK) };
    assert_eq!(sealed, 0, "{}", std::io::Error::last_os_error());
    if let Ok(view) = View::open(file.as_fd())
        && let Ok(snapshot) = view.snapshot()
    {
        assert!(snapshot.objects.len() <= view.capacity().objects as usize);
        assert!(snapshot.waiters.len() <= view.capacity().waiters as usize);
        let _ = Case::new(&snapshot, &snapshot, HashMap::new()).findings();
    }
    let mut events = Vec::new();
    if let Ok(mut tracer) = Tracer::attach_to_the_past(file.as_fd()) {
        tracer.read(&mut events);
    }
    events.len()
}

/// The number of waits that were summed up and drawn of these events: each a number, a time, and two bytes.
pub fn waits_of(events: &[u8]) -> u64 {
    let (mut waits, mut summary, mut timeline) = (Waits::default(), Summary::default(), Timeline::default());
    let mut add = |completed: Completed| match completed {
        Completed::Wait(wait) => {
            summary.add_wait(0, &wait);
            timeline.add_wait(0, &wait);
        }
        Completed::Signal(signal) => {
            summary.add_signal(0, &signal);
            timeline.add_signal(0, &signal);
        }
    };
    let mut last_ns = 0;
    for bytes in events.chunks_exact(EVENT) {
        let word = |at: usize| u64::from_le_bytes(bytes[at..][..8].try_into().expect("8 bytes"));
        let [thread, object] = [bytes[17] & 3, bytes[17] >> 2].map(u32::from);
        let what = match bytes[16] & 7 {
            0 => What::Sleeps { object, count: object },
            1 => What::Acquires { object },
            2 => What::AcquiresAll,
            3 => What::GivesUp,
            4 => What::Stirs,
            5 => What::Signals { object, operation: Operation::Set },
            6 => What::Grants { object, thread: thread ^ 1 },
            _ => What::GrantsAll { thread: thread ^ 1 },
        };
        last_ns = word(8);
        waits.take(Event { number: word(0), time_ns: last_ns, thread, what }).into_iter().for_each(&mut add);
    }
    waits.finish(last_ns, None).into_iter().for_each(|wait| add(Completed::Wait(wait)));
    let object = |_, slot| format!("object {slot}");
    let process = |thread| (thread >> 1, format!("process of {thread}"));
    let account = summary.account(last_ns, 0, object, |thread| thread.to_string(), process);
    assert!(!account.text().is_empty() && !timeline.svg("", object, |thread| thread.to_string()).is_empty());
    account.waits
}

fn trace_of(events: &[u8]) {
    waits_of(events);
}

fn arena(changes: &[u8]) {
    events_of(changes);
}

/// The bytes of an event: see [`waits_of`].
const EVENT: usize = 18;
/// The bytes of a change to an arena: see [`events_of`].
const CHANGE: usize = 12;
