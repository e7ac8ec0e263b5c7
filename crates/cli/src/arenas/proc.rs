// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files of /proc, read as they are. A process may end in the middle, and a name may be anything.

use std::fs;
use std::path::Path;

use ntux_platform::interposition::proc::Entry;

/// What the kernel shows its ticks in, on every processor that ntux runs on.
const TICKS_PER_SECOND: u64 = 100;

/// What the kernel writes about a process or a thread in one line.
pub struct Stat {
    pub name: String,
    pub state: char,
    pub parent: u32,
    pub start: u64,
}

impl Stat {
    pub fn read(path: &str) -> Option<Stat> {
        let text = text(path)?;
        // A name may hold anything, also parentheses.
        let (open, close) = (text.find('(')?, text.rfind(')')?);
        let name = text.get(open + 1..close)?.to_owned();
        let mut fields = text.get(close + 1..)?.split_whitespace();
        let state = fields.next()?.chars().next()?;
        let parent = fields.next()?.parse().ok()?;
        let start = fields.nth(17)?.parse().ok()?;
        Some(Stat { name, state, parent, start })
    }
}

/// A mapping of a process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mapped {
    pub start: u64,
    pub end: u64,
    /// Such as `rw-p`.
    pub access: String,
    /// Where it begins in its file.
    pub offset: u64,
    pub inode: u64,
    /// The path of its file, or what the kernel says in place of one.
    pub name: Option<String>,
}

impl Mapped {
    /// What the kernel writes in a line of `maps`.
    pub fn parse(line: &str) -> Option<Mapped> {
        let number = |text| u64::from_str_radix(text, 16).ok();
        let mut fields = line.splitn(6, ' ');
        let (start, end) = fields.next()?.split_once('-')?;
        let (start, end) = (number(start)?, number(end)?);
        let access = fields.next()?.to_owned();
        let offset = number(fields.next()?)?;
        let inode = fields.nth(1)?.parse().ok()?;
        let name = fields.next().map(str::trim_start).filter(|name| !name.is_empty()).map(str::to_owned);
        (start < end).then_some(Mapped { start, end, access, offset, inode, name })
    }
}

/// The system call in which a thread sleeps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SystemCall {
    pub number: u32,
    pub arguments: [u64; 6],
    /// The stack pointer.
    pub stack: u64,
}

impl SystemCall {
    /// Returns None if the thread is in no call, or the system does not tell: it tells only a process that may trace the thread.
    pub fn of(pid: u32, thread: u32) -> Option<SystemCall> {
        SystemCall::parse(&text(format!("/proc/{pid}/task/{thread}/syscall"))?)
    }

    /// What the kernel writes: the number, six arguments, the stack pointer, and a place that does not matter here.
    pub fn parse(text: &str) -> Option<SystemCall> {
        let mut fields = text.split_whitespace();
        let number = fields.next()?.parse().ok()?;
        let mut word = || u64::from_str_radix(fields.next()?.strip_prefix("0x")?, 16).ok();
        let mut arguments = [0; 6];
        for argument in &mut arguments {
            *argument = word()?;
        }
        Some(SystemCall { number, arguments, stack: word()? })
    }
}

/// Returns true if a file below /proc exists, or if that cannot be told.
pub fn is_there(path: &str) -> bool {
    fs::exists(path).unwrap_or(true)
}

/// The name of a process, or of a thread.
pub fn name(pid: u32) -> String {
    let text = text(format!("/proc/{pid}/comm")).unwrap_or_default();
    text.strip_suffix('\n').unwrap_or(&text).to_owned()
}

/// The parent of a process.
pub fn parent(pid: u32) -> Option<u32> {
    Some(Stat::read(&format!("/proc/{pid}/stat"))?.parent)
}

/// Every process here, by its number.
pub fn processes() -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten();
    let mut numbers: Vec<u32> = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect();
    numbers.sort_unstable();
    numbers
}

/// Returns the seconds since a process began, or None if that is unknown.
pub fn age_s(pid: u32) -> Option<u64> {
    let uptime = fs::read_to_string("/proc/uptime").ok()?;
    let seconds: f64 = uptime.split_whitespace().next()?.parse().ok()?;
    let start = Stat::read(&format!("/proc/{pid}/stat"))?.start;
    Some((seconds as u64).saturating_sub(start / TICKS_PER_SECOND))
}

/// A variable in the environment with which a process was started. None: it has none of this name, or an empty one, or may not be inspected.
pub fn variable(pid: u32, name: &str) -> Option<String> {
    let environment = fs::read(Entry::of(pid).path(format_args!("environ")).to_path()).ok()?;
    let words = environment.split(|&byte| byte == 0);
    let value = words
        .filter_map(|word| word.strip_prefix(name.as_bytes())?.strip_prefix(b"="))
        .find(|value| !value.is_empty())?;
    Some(String::from_utf8_lossy(value).into_owned())
}

/// The last of the numbers behind this name, which is the number in the innermost namespace.
pub fn own_number(path: impl AsRef<Path>, name: &str) -> Option<u32> {
    value(path, name)?.split_whitespace().last()?.parse().ok()
}

/// The number behind this name.
pub fn number(path: impl AsRef<Path>, name: &str) -> Option<u64> {
    value(path, name)?.trim().parse().ok()
}

fn value(path: impl AsRef<Path>, name: &str) -> Option<String> {
    text(path)?.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned)
}

/// All of a file.
pub fn text(path: impl AsRef<Path>) -> Option<String> {
    Some(String::from_utf8_lossy(&fs::read(path).ok()?).into_owned())
}
