// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random programs, and their text form.

use std::fmt;

use crate::device::{NEVER, WAIT_REALTIME, number};

/// A program: what to do, one step after the other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Program {
    /// How many threads it has besides the first.
    pub threads: usize,
    /// The steps in their order.
    pub steps: Vec<Step>,
}

/// One step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    /// Its place in the whole program; a shrunk program keeps the places.
    pub place: usize,
    /// The thread that does it: 0 is the first, which directs the others.
    pub by: usize,
    /// What is done.
    pub action: Action,
}

/// What a step does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Action {
    /// An ioctl.
    Call(Call),
    /// Closes a descriptor.
    Close(Fd),
    /// Copies a descriptor to the lowest free number.
    Copy(Fd),
    /// Copies the first descriptor over the second.
    CopyOver(Fd, Fd),
    /// Forks; the child goes on, the parent waits for its end.
    Fork,
    /// Interrupts this thread with a signal whose handler lets the call go on (true) or ends it (false).
    Signal(usize, bool),
}

/// A descriptor as a program names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fd {
    /// The device.
    Device,
    /// The device, opened a second time: another instance.
    OtherDevice,
    /// The end of a pipe that is read.
    Pipe,
    /// A file in memory.
    File,
    /// What the step at this place made. Also after it was closed; not a descriptor at all if the step failed.
    Made(usize),
    /// This number.
    Number(i32),
}

/// One ioctl.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Call {
    /// Where it goes.
    pub fd: Fd,
    /// Its number, of which the system looks at 32 bits.
    pub number: u64,
    /// What the argument points to.
    pub argument: Argument,
    /// Where that lies.
    pub memory: Memory,
}

/// What the argument of a call points to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Argument {
    /// One or two numbers; the call's number says how many count.
    Words([u32; 2]),
    /// The arguments of a wait.
    Wait(Wait),
}

/// The arguments of a wait.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wait {
    /// When to give up.
    pub timeout: Timeout,
    /// The descriptors.
    pub fds: Vec<Fd>,
    /// Where they lie.
    pub memory: Memory,
    /// How many there are said to be.
    pub count: u32,
    /// Bit 0: the deadline is on the wall clock.
    pub flags: u32,
    /// The owner that acquires mutexes.
    pub owner: u32,
    /// The alert.
    pub alert: Fd,
    /// Must be 0.
    pub pad: u32,
}

/// A deadline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Timeout {
    /// This number.
    Raw(u64),
    /// So many milliseconds after the call is made, on the clock that the flags name.
    FromNow(i64),
}

/// Where something lies in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Memory {
    /// Where everything is allowed.
    Usual,
    /// So many bytes after an address that fits its alignment.
    Odd(usize),
    /// It ends where the memory ends.
    AtTheEnd,
    /// Only so many bytes of it are there.
    Cut(usize),
    /// In memory that can only be read.
    ReadOnly,
    /// At this address, where nothing is.
    Nowhere(u64),
    /// In the arguments of the wait itself, so many bytes from their start.
    InsideArguments(usize),
}

/// A deadline that the program does not live to see.
pub(crate) const FAR: i64 = 3_600_000;

/// A deadline that comes soon. Nothing else happens meanwhile, so the time does not matter.
pub(crate) const SOON: i64 = 2;

impl Call {
    /// The number of a call as the system sees it.
    pub(crate) fn seen_number(&self) -> u32 {
        self.number as u32
    }

    /// How many bytes the argument has.
    pub(crate) fn size(&self) -> usize {
        match &self.argument {
            Argument::Words(_) => ((self.seen_number() >> 16 & 0x3fff) as usize).clamp(1, 8),
            Argument::Wait(_) => 40,
        }
    }

    fn timeout(&self) -> Option<(Timeout, bool)> {
        match &self.argument {
            Argument::Wait(wait) => Some((wait.timeout, wait.flags & WAIT_REALTIME != 0)),
            Argument::Words(_) => None,
        }
    }

    /// Returns whether it may sleep longer than a program lives. A deadline above 2^63 is negative to the driver: it waits for
    /// ever by the monotonic clock, and not at all by the wall clock.
    pub(crate) fn may_sleep_forever(&self) -> bool {
        match self.timeout() {
            Some((Timeout::Raw(NEVER), _)) => true,
            Some((Timeout::Raw(ns), realtime)) => ns >= 1 << 62 && !(realtime && ns >= 1 << 63),
            Some((Timeout::FromNow(ms), _)) => ms >= FAR,
            None => false,
        }
    }
}

impl Action {
    /// Every descriptor that this uses.
    fn fds(&self) -> Vec<Fd> {
        match self {
            Action::Call(Call { fd, argument: Argument::Wait(wait), .. }) => {
                wait.fds.iter().chain([fd, &wait.alert]).copied().collect()
            }
            Action::Call(Call { fd, .. }) | Action::Close(fd) | Action::Copy(fd) => vec![*fd],
            Action::CopyOver(from, onto) => vec![*from, *onto],
            Action::Fork | Action::Signal(..) => Vec::new(),
        }
    }
}

impl Program {
    /// The same program with only the steps at these places.
    pub fn only(&self, places: &[usize]) -> Program {
        let steps = self.steps.iter().filter(|step| places.contains(&step.place)).cloned().collect();
        Program { steps, ..*self }
    }

    /// The places of its steps.
    pub fn places(&self) -> Vec<usize> {
        self.steps.iter().map(|step| step.place).collect()
    }

    /// A number that changes with the program: whether a stored transcript belongs to it.
    pub fn fingerprint(&self) -> u32 {
        self.to_string().bytes().fold(0x811c_9dc5, |hash: u32, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
    }

    /// Returns whether a later step names what the step at this place made.
    fn is_named(&self, place: usize) -> bool {
        self.steps.iter().any(|step| step.action.fds().contains(&Fd::Made(place)))
    }
}

impl fmt::Display for Program {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for step in &self.steps {
            writeln!(out, "{}", self.line(step))?;
        }
        Ok(())
    }
}

impl Program {
    /// A step as a line of text.
    pub fn line(&self, step: &Step) -> String {
        let thread = if self.threads == 0 { String::new() } else { format!("t{}: ", step.by) };
        let name = if self.is_named(step.place) { format!("#{} = ", step.place) } else { String::new() };
        format!("{thread}{name}{}", step.action)
    }
}

impl fmt::Display for Action {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Action::Call(call) => call.fmt(out),
            Action::Close(fd) => write!(out, "close({fd})"),
            Action::Copy(fd) => write!(out, "dup({fd})"),
            Action::CopyOver(from, onto) => write!(out, "dup2({from}, {onto})"),
            Action::Fork => write!(out, "fork, the child goes on"),
            Action::Signal(thread, true) => write!(out, "signal t{thread}, its call goes on"),
            Action::Signal(thread, false) => write!(out, "signal t{thread}, its call ends"),
        }
    }
}

impl fmt::Display for Call {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (NAMES.iter().find(|(number, _)| u64::from(*number) == self.number), &self.argument) {
            (Some((_, name)), _) => write!(out, "{name}({}", self.fd)?,
            (None, _) => write!(out, "ioctl {:#x}({}", self.number, self.fd)?,
        }
        match &self.argument {
            Argument::Words([first, second]) => write!(out, ", {{{}, {}}}", Number(*first), Number(*second))?,
            Argument::Wait(wait) => write!(out, ", {wait}")?,
        }
        write!(out, "{})", self.memory)
    }
}

impl fmt::Display for Wait {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "[")?;
        for (place, fd) in self.fds.iter().enumerate() {
            write!(out, "{}{fd}", if place == 0 { "" } else { ", " })?;
        }
        write!(out, "]{}", self.memory)?;
        if self.count as usize != self.fds.len() {
            write!(out, ", count {}", Number(self.count))?;
        }
        match self.timeout {
            Timeout::Raw(NEVER) => write!(out, ", for ever")?,
            Timeout::Raw(ns) => write!(out, ", until {ns:#x}")?,
            Timeout::FromNow(ms) => write!(out, ", until {ms} ms from now")?,
        }
        if self.flags != 0 {
            write!(out, ", flags {:#x}", self.flags)?;
        }
        write!(out, ", owner {}", Number(self.owner))?;
        if self.alert != Fd::Number(0) {
            write!(out, ", alert {}", self.alert)?;
        }
        if self.pad != 0 { write!(out, ", pad {:#x}", self.pad) } else { Ok(()) }
    }
}

impl fmt::Display for Fd {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fd::Device => out.write_str("device"),
            Fd::OtherDevice => out.write_str("other device"),
            Fd::Pipe => out.write_str("pipe"),
            Fd::File => out.write_str("file"),
            Fd::Made(place) => write!(out, "#{place}"),
            Fd::Number(number) => write!(out, "{number}"),
        }
    }
}

impl fmt::Display for Memory {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Memory::Usual => Ok(()),
            Memory::Odd(bytes) => write!(out, " at an odd address (+{bytes})"),
            Memory::AtTheEnd => write!(out, " at the end of the memory"),
            Memory::Cut(bytes) => write!(out, " of which {bytes} bytes are there"),
            Memory::ReadOnly => write!(out, " in read-only memory"),
            Memory::Nowhere(address) => write!(out, " at address {address:#x}"),
            Memory::InsideArguments(offset) => write!(out, " inside the arguments (+{offset})"),
        }
    }
}

/// Small numbers as usual, large ones as the edge that they are near.
struct Number(u32);

impl fmt::Display for Number {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 < 1000 { write!(out, "{}", self.0) } else { write!(out, "{:#x}", self.0) }
    }
}

const NAMES: [(u32, &str); 14] = [
    (number::CREATE_SEM, "CREATE_SEM"),
    (number::SEM_RELEASE, "SEM_RELEASE"),
    (number::WAIT_ANY, "WAIT_ANY"),
    (number::WAIT_ALL, "WAIT_ALL"),
    (number::CREATE_MUTEX, "CREATE_MUTEX"),
    (number::MUTEX_UNLOCK, "MUTEX_UNLOCK"),
    (number::MUTEX_KILL, "MUTEX_KILL"),
    (number::CREATE_EVENT, "CREATE_EVENT"),
    (number::EVENT_SET, "EVENT_SET"),
    (number::EVENT_RESET, "EVENT_RESET"),
    (number::EVENT_PULSE, "EVENT_PULSE"),
    (number::SEM_READ, "SEM_READ"),
    (number::MUTEX_READ, "MUTEX_READ"),
    (number::EVENT_READ, "EVENT_READ"),
];
