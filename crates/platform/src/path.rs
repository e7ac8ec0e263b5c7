// SPDX-License-Identifier: MIT OR Apache-2.0
//! A short path on the stack, for code that must not use the heap.

use core::ffi::CStr;
use core::fmt::Write;

const CAPACITY: usize = 64;

/// A terminated path of at most 63 bytes; longer ones are cut off.
pub struct Path {
    bytes: [u8; CAPACITY],
    length: usize,
}

impl Path {
    /// The path from this text.
    pub fn new(text: core::fmt::Arguments<'_>) -> Path {
        let mut path = Path::empty();
        // Writing fails only if the text is cut off.
        let _ = path.write_fmt(text);
        path
    }

    /// Nothing yet.
    pub fn empty() -> Path {
        Path { bytes: [0; CAPACITY], length: 0 }
    }

    /// With this behind it. (The standard library's formatting took a fifth of the instructions with which an object is made and
    /// closed, and more stack than a start of a program may take.)
    pub fn with(mut self, text: &[u8]) -> Path {
        let length = text.len().min(CAPACITY - 1 - self.length);
        self.bytes[self.length..][..length].copy_from_slice(&text[..length]);
        self.length += length;
        self
    }

    /// With this number behind it.
    pub fn with_number(self, number: u32) -> Path {
        let mut digits = [0; 10];
        let (mut first, mut rest) = (digits.len(), number);
        loop {
            first -= 1;
            digits[first] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                return self.with(&digits[first..]);
            }
        }
    }

    /// As a string.
    pub fn text(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.bytes).unwrap_or_default()
    }

    /// As a path of the standard library's.
    pub fn to_path(&self) -> &std::path::Path {
        use std::os::unix::ffi::OsStrExt;
        std::path::Path::new(std::ffi::OsStr::from_bytes(self.text().to_bytes()))
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
        for number in [0, 3, 9, 10, 99, 100, 1_048_575, i32::MAX as u32, u32::MAX] {
            let path = Path::empty().with(b"/proc/thread-self/fd/").with_number(number);
            let wanted = Path::new(format_args!("/proc/thread-self/fd/{number}"));
            assert_eq!((path.length, path.bytes), (wanted.length, wanted.bytes), "{number}");
        }
    }

    #[test]
    fn what_does_not_fit_is_cut_off() {
        let long = Path::empty().with(&[b'x'; 100]).with(b"y").with_number(7);
        assert_eq!(long.text().to_bytes(), [b'x'; CAPACITY - 1]);
        assert_eq!(
            Path::empty().with(&[b'x'; CAPACITY - 3]).with_number(4711).text().to_bytes()[CAPACITY - 3..],
            *b"47"
        );
    }
}
