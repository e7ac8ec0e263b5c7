// SPDX-License-Identifier: MIT OR Apache-2.0
//! The log that `NTUX_LOG` names, and what the user is told at once. A line stands in memory of its own, and nothing here allocates.

use super::environment::{self, Detail, Log};
use core::ffi::{CStr, c_int};
use core::fmt::{self, Write};
use ntux_platform::atomic::Word32;

/// The user's [`Detail`]; 0 before anybody asked.
static DETAIL: Word32 = Word32::new(0);

/// True if single operations are not written.
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

/// Something that is said once in a process.
pub(crate) struct Once(Word32);

impl Once {
    pub(crate) const fn new() -> Once {
        Once(Word32::new(0))
    }

    /// Returns true the first time.
    pub(crate) fn begin(&self) -> bool {
        !self.is_over() && self.0.compare_exchange(0, 1).is_ok()
    }

    pub(crate) fn is_over(&self) -> bool {
        self.0.load() != 0
    }
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

/// True if a write would neither block nor raise SIGPIPE, which ends a program that did not ask for the line.
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
