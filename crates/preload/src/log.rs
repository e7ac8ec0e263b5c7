//! The log: each thread counts what it was served, and when the program ends the sum is written as one line to the file
//! that `NTUX_LOG` names. A process that ends by `_exit` or by a signal writes nothing.

use crate::{environment, threads};
use core::ffi::CStr;
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

    pub(crate) fn clear(&self) {
        self.operations.store(0);
        self.waits.store(0);
        self.asleep.store(0);
    }
}

static DEVICES: Word32 = Word32::new(0);
static KERNEL_DEVICES: Word32 = Word32::new(0);

/// A device was opened and is served by this library, or left to the kernel.
pub(crate) fn opened(by_kernel: bool) {
    if by_kernel { &KERNEL_DEVICES } else { &DEVICES }.fetch_add(1);
}

/// Writes the line, if the user wants it and the device was used.
pub(crate) extern "C" fn at_exit() {
    let Some(path) = environment::log() else { return };
    let (mut operations, mut waits, mut asleep) = (0, 0, 0);
    for record in threads::records() {
        operations += record.counts.operations.load();
        waits += record.counts.waits.load();
        asleep += record.counts.asleep.load();
    }
    let (opened, by_kernel) = (DEVICES.load(), KERNEL_DEVICES.load());
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
    append(path, line.bytes());
}

/// Reports something that the user should know at once: on standard error, and in the log.
#[cold]
pub(crate) fn say(text: fmt::Arguments<'_>) {
    let mut line = Line::default();
    // A line that is too long is cut off.
    let _ = line.write_fmt(text);
    append(TO_STANDARD_ERROR, line.bytes());
    if let Some(path) = environment::log().filter(|path| *path != TO_STANDARD_ERROR) {
        append(path, line.bytes());
    }
}

/// The path that means standard error.
const TO_STANDARD_ERROR: &CStr = c"stderr";

fn append(path: &CStr, line: &[u8]) {
    if path == TO_STANDARD_ERROR {
        // SAFETY: reads the line only.
        unsafe { libc::write(libc::STDERR_FILENO, line.as_ptr().cast(), line.len()) };
        return;
    }
    let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_APPEND | libc::O_CLOEXEC;
    // SAFETY: the path ends with a zero; the line is read only; the descriptor is this function's own.
    unsafe {
        let fd = libc::open(path.as_ptr(), flags, 0o644);
        if fd >= 0 {
            libc::write(fd, line.as_ptr().cast(), line.len());
            libc::close(fd);
        }
    }
}

/// Longest line, in bytes.
const LINE_MAX: usize = 512;

/// Text of bounded length, without an allocation: the program may end inside its allocator.
struct Line {
    text: [u8; LINE_MAX],
    length: usize,
}

impl Default for Line {
    fn default() -> Self {
        Self { text: [0; LINE_MAX], length: 0 }
    }
}

impl Line {
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
