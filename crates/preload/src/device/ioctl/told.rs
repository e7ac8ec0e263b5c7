// SPDX-License-Identifier: MIT OR Apache-2.0
//! A line in the log for each operation, if the user wants that: `NTUX_LOG=waits:PATH` or `all:PATH`.
//!
//! ```text
//! 123.456789 4711/4713 wait-any 7=mutex#3 9=event#5 owner 40 timeout 5000 us -> index 1, slept 4210 us
//! ```
//! Seconds of the monotonic clock at the end, process and thread, the operation, its descriptors with kind and slot (as `ntux
//! inspect` shows them), its arguments, its result.

use core::ffi::c_int;
use core::fmt::{self, Write};
use core::mem::MaybeUninit;

use ntux_platform::{clock, liveness};
use ntux_sync::Object;

use super::answer::{Answer, Refusal};
use super::requests::{
    CREATE_EVENT, CREATE_MUTEX, CREATE_SEM, EVENT_PULSE, EVENT_READ, EVENT_RESET, EVENT_SET, MUTEX_KILL, MUTEX_READ,
    MUTEX_UNLOCK, OBJECTS_MAX, SEM_READ, SEM_RELEASE, TwoWords, WAIT_ALL, WAIT_ANY,
};
use crate::c_library::cancellation::without_cancellation;
use crate::c_library::copy::{Fault, INDEX_OFFSET, WaitArguments};
use crate::descriptors::{self, Known, What};
use crate::report::environment::Detail;
use crate::report::log::{self, Line};
use crate::thread::Record;
use crate::thread::memory::{self, Memory};

/// An operation in progress that will be logged.
pub(super) struct Begun {
    detail: Detail,
    asleep: u64,
    at_ns: u64,
}

/// Returns `None` if operations are not told.
#[inline(always)]
pub(super) fn begin(record: &'static Record) -> Option<Begun> {
    if log::is_quiet() { None } else { begin_loudly(record) }
}

#[cold]
fn begin_loudly(record: &'static Record) -> Option<Begun> {
    let detail = log::detail();
    (detail > Detail::Process).then(|| Begun { detail, asleep: record.counts.asleep(), at_ns: clock::monotonic_ns() })
}

impl Begun {
    #[cold]
    pub(super) fn end(self, record: &'static Record, fd: c_int, request: u32, argument: usize, answer: &Answer) {
        let slept = record.counts.asleep() != self.asleep;
        let is_worth_it = match answer {
            // The operation starts again, or is the kernel's.
            Err(Refusal::Again | Refusal::Foreign) => false,
            Err(Refusal::Error(error)) => self.detail == Detail::All || slept || *error != libc::ETIMEDOUT,
            Ok(_) | Err(Refusal::Interrupted) => self.detail == Detail::All || slept,
        };
        if !is_worth_it {
            return;
        }
        let now = clock::monotonic_ns();
        let mut line = Line::default();
        let tell = |memory: Memory<'_>| -> fmt::Result {
            let (process, thread) = (std::process::id(), liveness::thread_id());
            write!(line, "{}.{:06} {process}/{thread} ", now / 1_000_000_000, now / 1_000 % 1_000_000)?;
            call(&mut line, memory, fd, request, argument, self.at_ns)?;
            result(&mut line, memory, request, argument, answer)?;
            if slept {
                write!(line, ", slept {} us", (now - self.at_ns) / 1_000)?;
            }
            Ok(())
        };
        // A line that is too long is cut off. The arguments are read again: bad addresses are told as such.
        let _ = memory::with(record, tell);
        line.end();
        without_cancellation(|| log::write(&line));
    }
}

fn name(request: u32) -> &'static str {
    match request {
        CREATE_SEM => "create-semaphore",
        CREATE_MUTEX => "create-mutex",
        CREATE_EVENT => "create-event",
        SEM_RELEASE => "release",
        MUTEX_UNLOCK => "unlock",
        MUTEX_KILL => "kill-owner",
        EVENT_SET => "set",
        EVENT_RESET => "reset",
        EVENT_PULSE => "pulse",
        SEM_READ | MUTEX_READ | EVENT_READ => "read",
        WAIT_ANY => "wait-any",
        WAIT_ALL => "wait-all",
        _ => "unknown",
    }
}

fn call(line: &mut Line, memory: Memory<'_>, fd: c_int, request: u32, argument: usize, at_ns: u64) -> fmt::Result {
    write!(line, "{}", name(request))?;
    if !matches!(request, CREATE_SEM | CREATE_MUTEX | CREATE_EVENT | WAIT_ANY | WAIT_ALL) {
        descriptor(line, fd)?;
    }
    arguments(line, memory, request, argument, at_ns)
        .unwrap_or_else(|Fault| write!(line, " (bad address {argument:#x})"))
}

fn arguments(
    line: &mut Line,
    memory: Memory<'_>,
    request: u32,
    argument: usize,
    at_ns: u64,
) -> Result<fmt::Result, Fault> {
    let names = match request {
        CREATE_SEM => ["count", "max"],
        CREATE_MUTEX => ["owner", "count"],
        CREATE_EVENT => ["manual", "signaled"],
        WAIT_ANY | WAIT_ALL => return wait(line, memory, argument, at_ns),
        MUTEX_UNLOCK => {
            let [owner, _] = memory.read_two(argument)?;
            return Ok(write!(line, " owner {owner}"));
        }
        MUTEX_KILL => return Ok(write!(line, " owner {}", memory.read_word(argument)?)),
        _ => return Ok(Ok(())),
    };
    let [first, second] = memory.read_two(argument)?;
    Ok(write!(line, " {} {first} {} {second}", names[0], names[1]))
}

fn wait(line: &mut Line, memory: Memory<'_>, argument: usize, at_ns: u64) -> Result<fmt::Result, Fault> {
    let WaitArguments { timeout_ns, objects: list, count, owner, alert, flags, .. } = memory.read_wait(argument)?;
    let mut room = [const { MaybeUninit::uninit() }; OBJECTS_MAX];
    let objects = memory.read_slice::<c_int>(list as usize, &mut room[..(count as usize).min(OBJECTS_MAX)])?;
    let mut tell = || -> fmt::Result {
        objects.iter().try_for_each(|&fd| descriptor(line, fd))?;
        if alert != 0 {
            write!(line, " alert")?;
            descriptor(line, alert as c_int)?;
        }
        write!(line, " owner {owner}")?;
        match (timeout_ns, flags) {
            (u64::MAX, _) => write!(line, " for ever"),
            (until, 0) => write!(line, " timeout {} us", until.saturating_sub(at_ns) / 1_000),
            (until, _) => write!(line, " until {} s", until / 1_000_000_000),
        }
    };
    Ok(tell())
}

fn descriptor(line: &mut Line, fd: c_int) -> fmt::Result {
    match descriptors::look_up(fd).0 {
        Some(Known { what: What::Object(kind, Object(number)), .. }) => {
            write!(line, " {fd}={}#{}", kind.word(), number as u32)
        }
        Some(Known { what: What::Device, .. }) => write!(line, " {fd}=device"),
        None => write!(line, " {fd}"),
    }
}

fn result(line: &mut Line, memory: Memory<'_>, request: u32, argument: usize, answer: &Answer) -> fmt::Result {
    match answer {
        Err(Refusal::Interrupted) => write!(line, " -> interrupted"),
        Err(Refusal::Error(libc::EOWNERDEAD)) if matches!(request, WAIT_ANY | WAIT_ALL) => {
            index(line, memory, argument)?;
            write!(line, ", its owner died")
        }
        Err(Refusal::Error(error)) => write!(line, " -> {}", error_name(*error)),
        Ok(_) if matches!(request, WAIT_ANY | WAIT_ALL) => index(line, memory, argument),
        Ok(_) if matches!(request, CREATE_SEM | CREATE_MUTEX | CREATE_EVENT) => {
            write!(line, " ->")?;
            descriptor(line, *answer.as_ref().unwrap_or(&-1))
        }
        Ok(_) => previous(line, memory, request, argument),
        Err(Refusal::Again | Refusal::Foreign) => Ok(()),
    }
}

fn index(line: &mut Line, memory: Memory<'_>, argument: usize) -> fmt::Result {
    match memory.read_word(argument.wrapping_add(INDEX_OFFSET)) {
        Ok(index) => write!(line, " -> index {index}"),
        Err(Fault) => write!(line, " -> done"),
    }
}

/// What the operation wrote: the value before it, or the state that was asked for.
fn previous(line: &mut Line, memory: Memory<'_>, request: u32, argument: usize) -> fmt::Result {
    let words: Result<TwoWords, Fault> = match request {
        MUTEX_KILL => return write!(line, " -> done"),
        SEM_READ | MUTEX_READ | EVENT_READ => memory.read_two(argument),
        MUTEX_UNLOCK => memory.read_word(argument.wrapping_add(size_of::<u32>())).map(|word| [word, 0]),
        _ => memory.read_word(argument).map(|word| [word, 0]),
    };
    match (words, request) {
        (Ok([first, second]), SEM_READ | MUTEX_READ | EVENT_READ) => write!(line, " -> {first} {second}"),
        (Ok([before, _]), _) => write!(line, " -> was {before}"),
        (Err(Fault), _) => write!(line, " -> done"),
    }
}

fn error_name(error: c_int) -> &'static str {
    match error {
        libc::EINVAL => "EINVAL",
        libc::EBADF => "EBADF",
        libc::EFAULT => "EFAULT",
        libc::ETIMEDOUT => "ETIMEDOUT",
        libc::EPERM => "EPERM",
        libc::EOVERFLOW => "EOVERFLOW",
        libc::ENOMEM => "ENOMEM",
        libc::EOWNERDEAD => "EOWNERDEAD",
        libc::ENOTTY => "ENOTTY",
        libc::EMFILE => "EMFILE",
        libc::EIO => "EIO",
        _ => "another error",
    }
}
