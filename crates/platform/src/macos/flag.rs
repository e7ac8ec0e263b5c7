// SPDX-License-Identifier: MIT OR Apache-2.0
//! A descriptor that a thread makes readable: a pipe, with a byte in it or none.

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use super::MacOs;
use crate::wake_descriptor::{Flag, Flags};

/// It is readable while bytes are in it.
pub struct Pipe {
    reader: PipeReader,
    writer: PipeWriter,
}

impl Flags for MacOs {
    type Flag = Pipe;

    fn flag() -> io::Result<Pipe> {
        // Both ends are close-on-exec.
        let (reader, writer) = io::pipe()?;
        for end in [reader.as_raw_fd(), writer.as_raw_fd()] {
            // SAFETY: the descriptor is open.
            if unsafe { libc::fcntl(end, libc::F_SETFL, libc::O_NONBLOCK) } == -1 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(Pipe { reader, writer })
    }
}

impl Flag for Pipe {
    /// Fails only if it is full.
    fn raise(&self) {
        let _ = (&self.writer).write(&[1]);
    }

    fn lower(&self) {
        let mut bytes = [0; 64];
        while (&self.reader).read(&mut bytes).is_ok_and(|read| read == bytes.len()) {}
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.reader.as_fd()
    }
}
