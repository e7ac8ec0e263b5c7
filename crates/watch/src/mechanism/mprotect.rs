//! Clean pages are made read-only, and a handler for SIGSEGV opens them: for kernels, and containers, without userfaultfd.
//!
//! The handler takes the lock of 64 pages and no other, so threads that write elsewhere do not wait for each other.
//!
//! Each run of written pages costs up to two mappings, of which a process may have so many (`vm.max_map_count`). When half
//! of them are used up, blocks of 64 pages are opened whole; when the kernel refuses a mapping, the region. What is opened
//! counts as written: a result then lists more than was written, never less.
//!
//! # What it needs from the program
//! * SIGSEGV is not blocked where clean pages are written: the kernel would end the process.
//! * A handler that the program has, or installs later, gets every signal that is not ours. One that is installed later is
//!   found, and put behind ours, the next time that a page becomes clean.
//! * System calls do not write to clean pages: they fail with `EFAULT`. See `calls`.

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
use crate::held::{self, Place};
use crate::holds::Holds;
use crate::ledger::{Gate, Ledger};
use crate::planted::{Bug, planted};
use crate::record::{Origin, Record};
use crate::span::Span;
use crate::visits::Visits;
use crate::{Error, Reset, Result};

static DIRECTORY: Directory = Directory::new();
static VISITS: Visits = Visits::new();
/// Runs of open pages, in all regions; and how many there may be.
static RUNS: Word64 = Word64::new(0);
static RUNS_MAX: Word64 = Word64::new(0);
/// The handlers behind ours: a [`Link`], or 0.
static BEHIND: Word64 = Word64::new(0);
static INSTALLING: Mutex<()> = Mutex::new(());

/// A handler that the program had when ours was put in front of it. Links stay for ever.
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

    /// What system calls are about to write to.
    pub(super) fn holds(&self) -> &Holds {
        &self.holds
    }
}

/// The handler finds the ledger of a region from here on.
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
        RUNS.load() < RUNS_MAX.load()
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
            // What cannot be opened now, because there is no mapping left for it, cannot be written any more.
            let _ = record.ledger().open_all(&Pages);
        }
        record.ledger().forget(&Pages);
        drop(quiet);
        DIRECTORY.remove(record.span);
        VISITS.wait_for_all();
    }

    fn collect(&self, record: &Record, span: Span, pages_max: usize, reset: Reset, chunk: &mut Chunk) -> usize {
        match reset {
            Reset::No => record.ledger().collect(span, pages_max, chunk),
            Reset::Yes if record.ledger().is_clean(span) => span.end,
            Reset::Yes => {
                // A handler that was installed meanwhile must not get what becomes clean now.
                let _ = put_in_front();
                record.ledger().collect_and_shut(span, pages_max, &self.holds.all(), chunk, &Pages)
            }
        }
    }

    fn clear(&self, record: &Record, span: Span) -> Result<()> {
        super::clear_by_collecting(self, record, span);
        Ok(())
    }

    /// Protection stays with the address whatever happens to the memory. (Mapping over it takes it away, unseen.)
    fn latch_lost(&self, _record: &Record, _span: Span, _reset: Reset) {}

    fn protect(&self, record: &Record, span: Span, protection: Protection) -> Result<()> {
        let shut = Protection { write: false, ..protection };
        Ok(record.ledger().protect(span, protection, &Pages, || set(span, shut))?)
    }

    fn hold(&self, record: &Record, span: Span) -> Result<()> {
        self.holds.add(span);
        Ok(record.ledger().open_for_call(span, &Pages)?)
    }

    fn let_go(&self, span: Span) {
        self.holds.remove(span);
    }

    fn restart(&mut self) -> Result<()> {
        VISITS.forget();
        self.holds = Holds::default();
        Ok(())
    }
}

/// Sees to it that the kernel joins the mappings again that we split. It joins only what has one root for its pages, and a
/// mapping gets one with its first page: parts that are written for the first time after they were split would never be
/// joined. So one page is written before, and given back.
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

/// What the program may do with memory that it mapped itself.
fn note_protection(ledger: &Ledger, span: Span) -> Result<()> {
    let mut covered = span.start;
    for mapped in mappings::within(span.start, span.end)? {
        let part = Span { start: mapped.start.max(span.start), end: mapped.end.min(span.end) };
        if mapped.protection.write {
            // As `give_root` does; where it fails mappings are not joined again, and that is all.
            protection::is_writable_now(part.start);
        }
        ledger.allow(part, mapped.protection);
        covered += part.length();
    }
    if covered == span.end { Ok(()) } else { Err(Error::Exhausted) }
}

/// Sees to it that our handler is the first to get the signal.
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
    // SAFETY: 0, or a link, which stays for ever.
    unsafe { (BEHIND.load() as *const Link).as_ref() }
}

extern "C" fn on_segv(number: c_int, info: *mut segv::Info, context: *mut c_void) {
    // SAFETY: the kernel calls this, and these are its arguments.
    let signal = unsafe { Signal::new(number, info, context) };
    if !keeping_errno(|| is_ours(&signal)) {
        pass_on(&signal);
    }
}

/// How often a handler looks whose memory it is while regions come and go. Then the access is tried again.
const ATTEMPTS: u32 = 1000;

/// Whether the access may be tried again: a page was shut, or another thread has just opened it.
fn is_ours(signal: &Signal) -> bool {
    let Some(address) = signal.address() else { return false };
    if signal.is_store() == Some(false) {
        return false;
    }
    let admit = |ledger: *const Ledger| {
        // SAFETY: found during this visit, so it stays until the visit is over.
        let ledger = unsafe { &*ledger };
        ledger.let_resets_pass();
        ledger.admit(address, &Pages)
    };
    for _ in 0..ATTEMPTS {
        let changes = DIRECTORY.changes();
        held::at(Place::FindLedger);
        if VISITS.visit(|| DIRECTORY.find(address).is_some_and(admit)) {
            return true;
        }
        held::at(Place::AskKernel);
        if signal.is_store() == Some(true) && protection::is_writable_now(address & !(page_size() - 1)) {
            return true;
        }
        // Between the two looks the memory may have been watched again, and shut.
        if DIRECTORY.changes() == changes || planted(Bug::LookOnce) {
            return false;
        }
    }
    true
}

/// A signal that is being passed on. A handler behind ours may call ours for what it does not know, and gets the next one.
struct Passing {
    /// The signal, by the address of its context on the thread's stack; where our handler's frame was then; the link.
    context: Word64,
    frame: Word64,
    link: Word64,
}

static PASSING: [Passing; 64] =
    [const { Passing { context: Word64::new(0), frame: Word64::new(0), link: Word64::new(0) } }; 64];

fn pass_on(signal: &Signal) {
    let frame = core::ptr::from_ref(&signal) as u64;
    let passing = &PASSING[(signal.identity() / 64) as usize % PASSING.len()];
    // Called from deeper on the stack than the last time, for the same signal: it came back. (A handler that left by
    // longjmp leaves an entry behind, but the next signal's frame is then as high as that one's.)
    let came_back = passing.context.load() == signal.identity() && frame < passing.frame.load();
    // SAFETY: 0, or a link, which stays for ever.
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
mod tests;
