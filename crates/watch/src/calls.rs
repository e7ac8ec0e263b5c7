// SPDX-License-Identifier: MIT OR Apache-2.0
//! System calls that write to watched memory.
//!
//! With page protection, and with the synchronous mechanism without privilege, a system call that should write to a
//! clean page fails with `EFAULT`, or returns less, and a datagram is lost. So a [`Hold`] opens the pages before the
//! call and keeps them open until it returns. Meanwhile all of them are listed as written, as Windows does for a
//! pending read. The asynchronous mechanism notices such writes by itself, so a hold does nothing there.

use std::io;
use std::os::fd::BorrowedFd;

use ntux_platform::watching::transfer;

use crate::span::{Range, Span};
use crate::watcher::Watcher;
use crate::{Error, Result};

/// A hold on memory: system calls may write to it, whatever is reset meanwhile.
pub struct Hold<'a> {
    watcher: &'a Watcher,
    held: Vec<Span>,
}

impl Watcher {
    /// Holds these ranges for a system call that is about to write to them. Calls without a wrapper here need this.
    /// Parts that are not watched are left alone. The pages are listed as written until the hold is dropped.
    ///
    /// Errors: `Invalid` for an empty range, `Exhausted`.
    pub fn hold(&self, ranges: &[Range]) -> Result<Hold<'_>> {
        let mut hold = Hold { watcher: self, held: Vec::new() };
        let state = self.read()?;
        for range in ranges {
            let span = range.pages()?;
            for record in state.records_within(span) {
                let part = Span { start: span.start.max(record.span.start), end: span.end.min(record.span.end) };
                hold.held.push(part);
                state.engine.hold(record, part)?;
            }
        }
        drop(state);
        Ok(hold)
    }

    /// `read` into memory that may be watched.
    pub fn read_into(&self, fd: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<usize> {
        self.holding(&[Range::of(buffer)], || transfer::read(fd, buffer))
    }

    /// `readv` into memory that may be watched.
    pub fn read_into_several(&self, fd: BorrowedFd<'_>, buffers: &mut [io::IoSliceMut<'_>]) -> io::Result<usize> {
        let ranges: Vec<Range> = buffers.iter().map(|buffer| Range::of(buffer)).collect();
        self.holding(&ranges, || transfer::readv(fd, buffers))
    }

    /// `recv` into memory that may be watched; `flags` are those of `recv`.
    pub fn receive_into(&self, fd: BorrowedFd<'_>, buffer: &mut [u8], flags: i32) -> io::Result<usize> {
        self.holding(&[Range::of(buffer)], || transfer::recv(fd, buffer, flags))
    }

    /// `recvmsg` into memory that may be watched; `flags` are those of `recvmsg`.
    ///
    /// # Safety
    /// Everything that the message names is valid during the call.
    pub unsafe fn receive_message(
        &self,
        fd: BorrowedFd<'_>,
        message: &mut transfer::Message,
        flags: i32,
    ) -> io::Result<usize> {
        // SAFETY: the caller's promise.
        let places = unsafe { transfer::places(message) };
        let ranges: Vec<Range> = places.into_iter().map(|(start, length)| Range::new(start, length)).collect();
        // SAFETY: the caller's promise.
        self.holding(&ranges, || unsafe { transfer::recvmsg(fd, message, flags) })
    }

    /// Runs a call that writes to these ranges, which may be watched.
    pub fn holding<T>(&self, ranges: &[Range], call: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        let ranges: Vec<Range> = ranges.iter().copied().filter(|range| range.length > 0).collect();
        let _hold = self.hold(&ranges).map_err(|error: Error| io::Error::from_raw_os_error(error.errno()))?;
        call()
    }
}

impl Range {
    /// The bytes of a buffer.
    fn of(buffer: &[u8]) -> Range {
        Range::new(buffer.as_ptr() as usize, buffer.len())
    }
}

impl Drop for Hold<'_> {
    fn drop(&mut self) {
        let Ok(state) = self.watcher.read() else { return };
        self.held.iter().for_each(|span| state.engine.end_hold(*span));
    }
}
