//! The log that `NTUX_LOG` names. Each thread counts what it was served; when the program ends the sum is written as one
//! line. A process that ends by `_exit` or by a signal writes no such line. If the user wants more, each operation is
//! written when it ends (`ioctl/told`).

use crate::report::environment::{self, Detail, Log};
use crate::{instances, thread};
use core::ffi::{CStr, c_int};
use core::fmt::{self, Write};
use ntux_platform::atomic::{Word32, Word64};

/// The counts of one thread. Only that thread writes them.
#[derive(Default)]
pub(crate) struct Counts {
    operations: Word64,
    waits: Word64,
    asleep: Word64,
}

impl Counts {
    /// One ioctl of the device or of an object.
    #[inline(always)]
    pub(crate) fn operation(&self) {
        self.operations.store(self.operations.load() + 1);
    }

    /// One wait that ended, and how many times it entered the kernel to sleep.
    #[inline(always)]
    pub(crate) fn wait(&self, sleeps: u64) {
        self.waits.store(self.waits.load() + 1);
        self.asleep.store(self.asleep.load() + u64::from(sleeps != 0));
    }

    /// One wait that ended without sleeping.
    #[inline(always)]
    pub(crate) fn wait_at_once(&self) {
        self.waits.store(self.waits.load() + 1);
    }

    /// How many waits slept.
    pub(crate) fn asleep(&self) -> u64 {
        self.asleep.load()
    }

    pub(crate) fn clear(&self) {
        self.operations.store(0);
        self.waits.store(0);
        self.asleep.store(0);
    }
}

/// The user's [`Detail`]; 0 before anybody asked.
static DETAIL: Word32 = Word32::new(0);

/// Whether single operations are not written.
#[inline(always)]
pub(crate) fn is_quiet() -> bool {
    DETAIL.load() == Detail::Process as u32
}

/// How much the user wants to know.
pub(crate) fn detail() -> Detail {
    let detail = environment::log().map_or(Detail::Process, |log| log.detail);
    DETAIL.store(detail as u32);
    detail
}

/// Writes a line, if there is a log.
pub(crate) fn write(line: &Line) {
    if let Some(log) = environment::log() {
        append(log, line.bytes());
    }
}

static DEVICES: Word32 = Word32::new(0);
static KERNEL_DEVICES: Word32 = Word32::new(0);

/// A device was opened and is served by this library, or left to the kernel.
pub(crate) fn opened(by_kernel: bool) {
    if by_kernel { &KERNEL_DEVICES } else { &DEVICES }.fetch_add(1);
}

/// Writes the line, if the user wants it and the device was used.
#[unsafe(link_section = ".text.ntux_start")]
pub(crate) extern "C" fn at_exit() {
    let (opened, by_kernel) = (DEVICES.load(), KERNEL_DEVICES.load());
    // Said first, because nearly all processes end here: each page that a forked child looks at costs it a fault.
    if opened == 0 && by_kernel == 0 && !instances::any() {
        return;
    }
    report(opened, by_kernel);
}

#[cold]
fn report(opened: u32, by_kernel: u32) {
    let Some(log) = environment::log() else { return };
    let (mut operations, mut waits, mut asleep) = (0, 0, 0);
    for record in thread::records() {
        operations += record.counts.operations.load();
        waits += record.counts.waits.load();
        asleep += record.counts.asleep.load();
    }
    if operations == 0 && opened == 0 && by_kernel == 0 {
        return;
    }
    let mut line = Line::default();
    let _ = write!(line, "ntux: process {}: ", std::process::id());
    let _ = match by_kernel {
        0 => write!(line, "/dev/ntsync served in user space"),
        _ => write!(line, "/dev/ntsync left to the kernel {by_kernel} times, served in user space otherwise"),
    };
    let _ = writeln!(
        line,
        "; opened {opened} times; {operations} operations; {waits} waits, {} of them never entered the kernel",
        waits - asleep
    );
    append(log, line.bytes());
}

/// Reports something that the user should know at once: on standard error, and in the log.
#[cold]
pub(crate) fn say(text: fmt::Arguments<'_>) {
    let mut line = Line::default();
    // A line that is too long is cut off.
    let _ = line.write_fmt(text);
    if is_read(libc::STDERR_FILENO) {
        write_to(libc::STDERR_FILENO, line.bytes());
    }
    if let Some(log) = environment::log().filter(|log| log.path != TO_STANDARD_ERROR) {
        append(log, line.bytes());
    }
}

/// Whether a write would neither block nor raise SIGPIPE, which ends a program that did not ask for the line.
fn is_read(fd: c_int) -> bool {
    let mut place = libc::pollfd { fd, events: libc::POLLOUT, revents: 0 };
    // SAFETY: one place, for the request and the answer.
    unsafe { libc::poll(&mut place, 1, 0) == 1 && place.revents == libc::POLLOUT }
}

/// The path that means standard error.
const TO_STANDARD_ERROR: &CStr = c"stderr";
/// Longest path, in bytes.
const PATH_MAX: usize = 4096;

fn append(log: Log, line: &[u8]) {
    if log.path == TO_STANDARD_ERROR {
        return write_to(libc::STDERR_FILENO, line);
    }
    let mut room = [0; PATH_MAX];
    let Some(path) = with_process(log.path, std::process::id(), &mut room) else { return };
    let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_APPEND | libc::O_CLOEXEC;
    // SAFETY: the path ends with a zero; the descriptor is this function's own.
    unsafe {
        let fd = libc::open(path.as_ptr(), flags, 0o644);
        if fd >= 0 {
            write_to(fd, line);
            libc::close(fd);
        }
    }
}

fn write_to(fd: c_int, line: &[u8]) {
    // SAFETY: reads the line only.
    unsafe { libc::write(fd, line.as_ptr().cast(), line.len()) };
}

/// The path with the number of the process in place of each `%p`. Returns `None` if there is no room.
fn with_process<'a>(path: &CStr, process: u32, room: &'a mut [u8]) -> Option<&'a CStr> {
    let mut number = Line::default();
    let _ = write!(number, "{process}");
    let (mut rest, mut length) = (path.to_bytes_with_nul(), 0);
    while let Some((&byte, behind)) = rest.split_first() {
        let piece = if rest.starts_with(b"%p") { number.bytes() } else { core::slice::from_ref(&byte) };
        room.get_mut(length..length + piece.len())?.copy_from_slice(piece);
        length += piece.len();
        rest = if rest.starts_with(b"%p") { &rest[2..] } else { behind };
    }
    CStr::from_bytes_with_nul(&room[..length]).ok()
}

/// Longest line, in bytes.
const LINE_MAX: usize = 1024;

/// Text of bounded length, without an allocation: the program may end inside its allocator.
pub(crate) struct Line {
    text: [u8; LINE_MAX],
    length: usize,
}

impl Default for Line {
    fn default() -> Self {
        Self { text: [0; LINE_MAX], length: 0 }
    }
}

impl Line {
    /// Ends the line, also one that was cut off.
    pub(crate) fn end(&mut self) {
        let last = self.length.min(LINE_MAX - 1);
        self.text[last] = b'\n';
        self.length = last + 1;
    }

    fn bytes(&self) -> &[u8] {
        &self.text[..self.length]
    }
}

impl Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = self.text.len() - self.length;
        let length = text.len().min(room);
        self.text[self.length..self.length + length].copy_from_slice(&text.as_bytes()[..length]);
        self.length += length;
        if length == text.len() { Ok(()) } else { Err(fmt::Error) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_process_stands_in_the_path() {
        let mut room = [0; 16];
        assert_eq!(with_process(c"/tmp/%p.%p", 42, &mut room), Some(c"/tmp/42.42"));
        assert_eq!(with_process(c"/tmp/%%p%", 7, &mut room), Some(c"/tmp/%7%"));
        assert_eq!(with_process(c"/0123456789abcd%p", 42, &mut room), None);
    }
}
