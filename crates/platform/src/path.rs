//! A short path on the stack, for code that must not use the heap.

use core::fmt::Write;
use std::os::fd::{AsRawFd, BorrowedFd};

const CAPACITY: usize = 64;

/// A terminated path of at most 63 bytes; longer ones are cut off.
pub struct Path {
    bytes: [u8; CAPACITY],
    length: usize,
}

impl Path {
    /// The path from this text.
    pub fn new(text: core::fmt::Arguments<'_>) -> Path {
        let mut path = Path { bytes: [0; CAPACITY], length: 0 };
        // Writing fails only if the text is cut off.
        let _ = path.write_fmt(text);
        path
    }

    /// Where this process finds what is behind a descriptor. (The standard library's formatting took a fifth of the instructions with
    /// which an object is made and closed.)
    pub fn of_descriptor(fd: BorrowedFd<'_>) -> Path {
        const DIRECTORY: &[u8] = b"/proc/self/fd/";
        let mut rest = fd.as_raw_fd().unsigned_abs();
        let digits = rest.checked_ilog10().unwrap_or(0) as usize + 1;
        let mut path = Path { bytes: [0; CAPACITY], length: DIRECTORY.len() + digits };
        let (directory, number) = path.bytes.split_at_mut(DIRECTORY.len());
        directory.copy_from_slice(DIRECTORY);
        for place in number[..digits].iter_mut().rev() {
            *place = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        path
    }

    /// For the C library; it ends with a zero.
    pub fn as_ptr(&self) -> *const libc::c_char {
        self.bytes.as_ptr().cast()
    }
}

impl Write for Path {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        for &byte in text.as_bytes() {
            // The last byte stays zero.
            if self.length + 1 >= CAPACITY {
                return Err(core::fmt::Error);
            }
            self.bytes[self.length] = byte;
            self.length += 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_written_out() {
        for fd in [0, 3, 9, 10, 99, 100, 1_048_575, i32::MAX] {
            // SAFETY: only its number is used.
            let path = Path::of_descriptor(unsafe { BorrowedFd::borrow_raw(fd) });
            let wanted = Path::new(format_args!("/proc/self/fd/{fd}"));
            assert_eq!((path.length, path.bytes), (wanted.length, wanted.bytes), "{fd}");
        }
    }
}
