// SPDX-License-Identifier: MIT OR Apache-2.0
//! Clean pages are read-only, and a handler for SIGSEGV opens them. For kernels and containers without userfaultfd.
//!
//! The handler takes only the lock of 64 pages, so threads that write elsewhere do not wait for each other.
//!
//! Each run of written pages costs up to two mappings, whose number is limited (`vm.max_map_count`). When half of them
//! are used, the handler opens blocks of 64 pages at once; when the kernel refuses a mapping, the whole region. Opened
//! pages count as written, so a result then lists more pages than were written, never fewer.
//!
//! # What it needs from the program
//! * SIGSEGV must not be blocked while clean pages are written: the kernel would kill the process.
//! * A handler that the program has, or installs later, gets every signal that is not ours. A handler installed later
//!   is put behind ours the next time a page becomes clean.
//! * System calls must not write to clean pages: they fail with `EFAULT`. See `calls`.

use core::ffi::{c_int, c_void};
use std::io;
use std::sync::Mutex;

use ntux_platform::atomic::Word64;
use ntux_platform::keeping_errno;
use ntux_platform::protection::{self, Protection, page_size};
use ntux_platform::watching::mappings;
use ntux_platform::watching::segv::{self, Before, Blocked, Signal};

use super::{Chunk, Engine, Mechanism};
use crate::directory::Directory;
use crate::grace::Grace;
use crate::holds::Holds;
use crate::ledger::{Gate, Ledger};
use crate::pause::{self, Place};
use crate::planted::{Bug, planted};
use crate::record::{Origin, Record};
use crate::span::Span;
use crate::{Error, Reset, Result};

static DIRECTORY: Directory = Directory::new();
static GRACE: Grace = Grace::new();
/// Runs of open pages in all regions, and their limit. The number may be below zero: for a moment, because bits change before
/// they are counted; and by a few in a child of fork, whose parent's threads had changed bits that they had yet to count.
static RUNS: Word64 = Word64::new(0);
static RUNS_MAX: Word64 = Word64::new(0);
/// The handlers behind ours: a [`Link`], or 0.
static BEHIND: Word64 = Word64::new(0);
static INSTALLING: Mutex<()> = Mutex::new(());

/// A handler that the program had when ours was put in front of it. Links are never freed.
struct Link {
    before: Before,
    older: Option<&'static Link>,
}

pub(crate) struct Mprotect {
    holds: Holds,
}

/// Opens and shuts pages by their protection.
pub(super) struct Pages;

impl Mprotect {
    pub fn open() -> Result<Mprotect> {
        let (limit, _) = mappings::limit_and_count()?;
        RUNS_MAX.store(limit as u64 / 4);
        put_in_front()?;
        Ok(Mprotect { holds: Holds::default() })
    }

    /// The holds of system calls.
    pub(super) fn holds(&self) -> &Holds {
        &self.holds
    }
}

/// Makes the ledger of a region visible to the handler.
pub(super) fn enter(record: &mut Record, ledger: Box<Ledger>) {
    DIRECTORY.insert(record.span, &*ledger);
    record.ledger = Some(ledger);
}

impl Gate for Pages {
    const GAP_MAX: usize = usize::MAX;

    fn open(&self, span: Span, executable: bool) -> io::Result<()> {
        set(span, Protection { read: true, write: true, execute: executable })
    }

    fn shut(&self, span: Span, executable: bool) -> io::Result<()> {
        set(span, Protection { read: true, write: false, execute: executable })
    }

    fn account(&self, before: u32, after: u32) {
        RUNS.fetch_add(u64::from(after).wrapping_sub(u64::from(before)));
    }

    fn has_room(&self) -> bool {
        RUNS.load().cast_signed() < RUNS_MAX.load().cast_signed()
    }
}

pub(super) fn set(span: Span, protection: Protection) -> io::Result<()> {
    // SAFETY: only stores are forbidden and allowed again, to pages that the program may write; one that is forbidden
    // raises the signal, whose handler allows it.
    unsafe { protection::protect(span.start, span.length(), protection) }
}

impl Engine for Mprotect {
    fn mechanism(&self) -> Mechanism {
        Mechanism::Mprotect
    }

    fn attach(&mut self, record: &mut Record) -> Result<()> {
        if record.ledger.is_some() {
            // In a child of fork: pages, ledger and handler were inherited as they are.
            return Ok(());
        }
        let ledger = Box::new(Ledger::new(record.span));
        match record.origin {
            Origin::Reserved => give_root(record.span)?,
            Origin::Callers => note_protection(&ledger, record.span)?,
        }
        enter(record, ledger);
        Ok(())
    }

    fn arm(&self, record: &Record, span: Span) -> Result<()> {
        put_in_front()?;
        record.ledger().arm(span, &Pages);
        Ok(())
    }

    fn detach(&mut self, record: &Record) {
        let quiet = Blocked::all();
        if record.origin == Origin::Callers {
            // A page that cannot be opened, because no mapping is left, stays read-only.
            let _ = record.ledger().open_all(&Pages);
        }
        record.ledger().forget(&Pages);
        drop(quiet);
        DIRECTORY.remove(record.span);
        GRACE.wait();
    }

    fn collect(&self, record: &Record, span: Span, pages_max: usize, reset: Reset, chunk: &mut Chunk) -> usize {
        match reset {
            Reset::No => record.ledger().collect(span, pages_max, chunk),
            Reset::Yes if record.ledger().is_clean(span) => span.end,
            Reset::Yes => {
                // A handler installed meanwhile must not get the faults of pages that become clean now.
                let _ = put_in_front();
                record.ledger().collect_and_shut(span, pages_max, &self.holds.all(), chunk, &Pages)
            }
        }
    }

    fn clear(&self, record: &Record, span: Span) -> Result<()> {
        super::clear_by_collecting(self, record, span);
        Ok(())
    }

    /// Protection stays with the address whatever happens to the memory. (Mapping over it removes the protection
    /// unnoticed.)
    fn latch_lost(&self, _record: &Record, _span: Span, _reset: Reset) {}

    fn protect(&self, record: &Record, span: Span, protection: Protection) -> Result<()> {
        let shut = Protection { write: false, ..protection };
        Ok(record.ledger().protect(span, protection, &Pages, || set(span, shut))?)
    }

    fn hold(&self, record: &Record, span: Span) -> Result<()> {
        self.holds.add(span);
        Ok(record.ledger().open_for_call(span, &Pages)?)
    }

    fn end_hold(&self, span: Span) {
        self.holds.remove(span);
    }

    fn restart(&mut self) -> Result<()> {
        GRACE.forget();
        self.holds = Holds::default();
        Ok(())
    }
}

/// Lets the kernel merge the mappings that we split. It merges only mappings with the same `anon_vma`, and a mapping
/// gets that with its first page: parts first written after a split would never be merged. So this writes one page, and
/// discards it.
fn give_root(span: Span) -> Result<()> {
    let first = Span { start: span.start, end: span.start + page_size() };
    set(span, Protection::READ_WRITE)?;
    // SAFETY: reserved just now, writable, and nobody knows it yet.
    unsafe {
        (first.start as *mut u8).write_volatile(0);
        protection::discard(first.start, first.length())?;
    }
    Ok(set(span, Protection::NONE)?)
}

/// Records the protection of memory that the program mapped itself.
fn note_protection(ledger: &Ledger, span: Span) -> Result<()> {
    let mut covered = span.start;
    for mapped in mappings::within(span.start, span.end)? {
        let part = Span { start: mapped.start.max(span.start), end: mapped.end.min(span.end) };
        if mapped.protection.write {
            // As in `give_root`. If this fails, mappings are not merged; nothing else is lost.
            protection::is_writable_now(part.start);
        }
        ledger.allow(part, mapped.protection);
        covered += part.length();
    }
    if covered == span.end { Ok(()) } else { Err(Error::Exhausted) }
}

/// Makes our handler the first to get the signal.
pub(super) fn put_in_front() -> io::Result<()> {
    if segv::is_installed(on_segv) {
        return Ok(());
    }
    let _alone = INSTALLING.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some(before) = segv::install(on_segv)? {
        let link: &'static Link = Box::leak(Box::new(Link { before, older: behind() }));
        BEHIND.store(core::ptr::from_ref(link) as u64);
    }
    Ok(())
}

fn behind() -> Option<&'static Link> {
    // SAFETY: 0, or a link, which is never freed.
    unsafe { (BEHIND.load() as *const Link).as_ref() }
}

extern "C" fn on_segv(number: c_int, info: *mut segv::Info, context: *mut c_void) {
    // SAFETY: the kernel calls this, and these are its arguments.
    let signal = unsafe { Signal::new(number, info, context) };
    if !keeping_errno(|| is_ours(&signal)) {
        pass_on(&signal);
    }
}

/// How often a handler searches for the ledger while regions come and go. Then the access is retried.
const ATTEMPTS: u32 = 1000;

/// Returns whether the access can be retried: a page was shut, or another thread has just opened it.
fn is_ours(signal: &Signal) -> bool {
    let Some(address) = signal.address() else { return false };
    if signal.is_store() == Some(false) {
        return false;
    }
    let admit = |ledger: *const Ledger| {
        // SAFETY: found inside `Grace::read`, so it is not freed before that returns.
        let ledger = unsafe { &*ledger };
        ledger.let_resets_pass();
        ledger.admit(address, &Pages)
    };
    for _ in 0..ATTEMPTS {
        let changes = DIRECTORY.changes();
        pause::at(Place::FindLedger);
        if GRACE.read(|| DIRECTORY.find(address).is_some_and(admit)) {
            return true;
        }
        pause::at(Place::AskKernel);
        if signal.is_store() == Some(true) && protection::is_writable_now(address & !(page_size() - 1)) {
            return true;
        }
        // Between the two checks the memory may have been watched again, and shut.
        if DIRECTORY.changes() == changes || planted(Bug::LookOnce) {
            return false;
        }
    }
    true
}

/// A signal that is being passed on. If a handler behind ours calls ours back, ours calls the next one.
struct Passing {
    /// The signal, identified by the address of its context on the thread's stack; our handler's frame at that time;
    /// the link.
    context: Word64,
    frame: Word64,
    link: Word64,
}

static PASSING: [Passing; 64] =
    [const { Passing { context: Word64::new(0), frame: Word64::new(0), link: Word64::new(0) } }; 64];

fn pass_on(signal: &Signal) {
    let frame = core::ptr::from_ref(&signal) as u64;
    let passing = &PASSING[(signal.identity() / 64) as usize % PASSING.len()];
    // A call for the same signal, from deeper on the stack than the last: it came back. (A handler that left by longjmp
    // leaves an entry behind, but the next signal's frame is then no deeper.)
    let came_back = passing.context.load() == signal.identity() && frame < passing.frame.load();
    // SAFETY: 0, or a link, which is never freed.
    let last = || unsafe { (passing.link.load() as *const Link).as_ref() };
    let link = if came_back { last().and_then(|link| link.older) } else { behind() };
    if !came_back {
        passing.frame.store(frame);
        passing.context.store(signal.identity());
    }
    passing.link.store(link.map_or(0, |link| core::ptr::from_ref(link) as u64));
    link.map_or(Before::nothing(), |link| link.before).handle(*signal);
}

#[cfg(test)]
#[path = "../../tests/unit/mechanism/mprotect.rs"]
mod tests;
