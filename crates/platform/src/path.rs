//! A short path on the stack, for code that must not use the heap.

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
        let mut path = Path { bytes: [0; CAPACITY], length: 0 };
        // Writing fails only if the text is cut off.
        let _ = path.write_fmt(text);
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
