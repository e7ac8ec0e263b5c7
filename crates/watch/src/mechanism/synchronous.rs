// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel blocks a thread that writes to a clean page; a thread of ours records the page and wakes the writer
//! (userfaultfd).
//!
//! This needs a newer kernel than page protection, but not as new as the asynchronous mechanism, and no signal or
//! mapping. The kernel blocks system calls, too, if the process has the privilege; otherwise they fail with `EFAULT`,
//! see `calls`.
//!
//! The thread touches only its own stack and the ledgers, because it must never be blocked itself.

use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::thread;

use ntux_platform::protection::{Protection, page_size};
use ntux_platform::watching::pagemap::Pagemap;
use ntux_platform::watching::readiness::wait_readable;
use ntux_platform::watching::segv::Blocked;
use ntux_platform::watching::userfault::{Faults, Features, Message, Userfault};

use super::{Chunk, Engine, Mechanism};
use crate::directory::Directory;
use crate::grace::Grace;
use crate::holds::Holds;
use crate::ledger::{Gate, Ledger};
use crate::record::Record;
use crate::span::Span;
use crate::{Error, Reset, Result};

pub(crate) struct Synchronous {
    shared: Arc<Shared>,
    holds: Holds,
    /// The thread ends when this is closed.
    _stop: PipeWriter,
}

struct Shared {
    userfault: Userfault,
    directory: Directory,
    grace: Grace,
    pagemap: Pagemap,
}

impl Synchronous {
    pub fn open() -> Result<Synchronous> {
        let userfault = Userfault::open(Features::SYNCHRONOUS, Faults::OfKernelToo)
            .or_else(|_| Userfault::open(Features::SYNCHRONOUS, Faults::OfUserMode))?;
        let (directory, grace, pagemap) = (Directory::new(), Grace::new(), Pagemap::open()?);
        let shared = Arc::new(Shared { userfault, directory, grace, pagemap });
        let (stopped, stop) = io::pipe()?;
        let theirs = Arc::clone(&shared);
        // Its signals are blocked: a handler could touch watched memory.
        let _quiet = Blocked::all();
        thread::Builder::new().name("ntux-watch".to_owned()).spawn(move || theirs.serve(&stopped))?;
        Ok(Synchronous { shared, holds: Holds::default(), _stop: stop })
    }

    /// Returns whether system calls that write to clean pages are noticed, too.
    pub fn sees_system_calls() -> bool {
        Userfault::open(Features::SYNCHRONOUS, Faults::OfKernelToo).is_ok()
    }
}

impl Shared {
    fn serve(&self, stopped: &PipeReader) {
        let mut messages = [Message::default(); 16];
        loop {
            let [_, is_over] = wait_readable([self.userfault.as_fd(), stopped.as_fd()], None);
            if is_over {
                return;
            }
            let count = self.userfault.read(&mut messages).unwrap_or(0);
            messages[..count].iter().filter_map(Message::fault).for_each(|address| self.admit(address));
        }
    }

    fn admit(&self, address: usize) {
        let admit = |ledger: *const Ledger| {
            // SAFETY: found inside `Grace::read`, so it is not freed before that returns.
            unsafe { &*ledger }.admit(address, &self.userfault)
        };
        if !self.grace.read(|| self.directory.find(address).is_some_and(admit)) {
            // The region was just released, or mapped over: the blocked thread retries.
            let _ = self.userfault.wake(address & !(page_size() - 1), page_size());
        }
    }
}

impl Gate for Userfault {
    /// Shutting a page again costs about a twentieth of a call.
    const GAP_MAX: usize = 16;

    fn open(&self, span: Span, _executable: bool) -> io::Result<()> {
        self.lift(span.start, span.length())
    }

    fn shut(&self, span: Span, _executable: bool) -> io::Result<()> {
        self.protect(span.start, span.length())
    }

    fn account(&self, _before: u32, _after: u32) {}

    fn has_room(&self) -> bool {
        true
    }
}

impl Engine for Synchronous {
    fn mechanism(&self) -> Mechanism {
        Mechanism::Sync
    }

    fn attach(&mut self, record: &mut Record) -> Result<()> {
        let span = record.span;
        if self.shared.userfault.register(span.start, span.length())?.has_huge_pages {
            self.shared.userfault.unregister(span.start, span.length())?;
            return Err(Error::Unsupported);
        }
        let ledger = Box::new(Ledger::new(span));
        // What the program may do is the pages' own protection, which we do not touch.
        ledger.allow(span, Protection::READ_WRITE);
        self.shared.directory.insert(span, &*ledger);
        record.ledger = Some(ledger);
        Ok(())
    }

    fn arm(&self, record: &Record, span: Span) -> Result<()> {
        record.ledger().arm(span, &self.shared.userfault);
        Ok(())
    }

    fn detach(&mut self, record: &Record) {
        self.shared.directory.remove(record.span);
        // Fails only for memory that is gone, and then nothing is registered.
        let _ = self.shared.userfault.unregister(record.span.start, record.span.length());
        // The kernel does not wake threads that are blocked there.
        let _ = self.shared.userfault.wake(record.span.start, record.span.length());
        self.shared.grace.wait();
    }

    fn collect(&self, record: &Record, span: Span, pages_max: usize, reset: Reset, chunk: &mut Chunk) -> usize {
        let gate = &self.shared.userfault;
        match reset {
            Reset::No => record.ledger().collect(span, pages_max, chunk),
            Reset::Yes if record.ledger().is_clean(span) => span.end,
            Reset::Yes => record.ledger().collect_and_shut(span, pages_max, &self.holds.all(), chunk, gate),
        }
    }

    fn clear(&self, record: &Record, span: Span) -> Result<()> {
        super::clear_by_collecting(self, record, span);
        Ok(())
    }

    /// Discarded memory (`MADV_DONTNEED`) loses its marks, and its new pages can be written unseen. This reads the mark
    /// before the ledger, because a page that is being opened enters the ledger first.
    fn latch_lost(&self, record: &Record, span: Span, _reset: Reset) {
        let page = page_size();
        let mut marks = [0; 512];
        let mut address = span.start;
        while address < span.end {
            let count = marks.len().min((span.end - address) / page);
            let Ok(protected) = self.shared.pagemap.are_protected(address, page, &mut marks[..count]) else {
                return record.latch(Span { start: address, end: span.end });
            };
            let before = address;
            for is_protected in protected {
                if !is_protected && !record.ledger().is_written(address) {
                    record.latch(Span { start: address, end: address + page });
                }
                address += page;
            }
            if address == before {
                return record.latch(Span { start: address, end: span.end });
            }
        }
    }

    fn hold(&self, record: &Record, span: Span) -> Result<()> {
        self.holds.add(span);
        Ok(record.ledger().open_for_call(span, &self.shared.userfault)?)
    }

    fn end_hold(&self, span: Span) {
        self.holds.remove(span);
    }

    fn restart(&mut self) -> Result<()> {
        *self = Synchronous::open()?;
        Ok(())
    }
}
