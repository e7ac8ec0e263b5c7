// SPDX-License-Identifier: MIT OR Apache-2.0
//! A watcher: a mechanism and its regions.

use std::collections::BTreeMap;
use std::sync::{Arc, RwLock, RwLockReadGuard, RwLockWriteGuard};

use ntux_platform::liveness::lineage;
use ntux_platform::protection::{self, Protection, page_size};

use crate::fork;
use crate::mechanism::{Engine, Mechanism};
use crate::record::{Origin, Record};
use crate::region::Region;
use crate::sink::Bitmap;
use crate::span::{Range, Span};
use crate::{Error, Reset, Result};

/// A mechanism and the memory that it watches. Copies are the same watcher.
///
/// In a child of fork everything is watched again from the child's first call on; until it is reset, every page counts
/// as written there. The fork has no effect on the parent's watches, unless the mechanism is [`Mechanism::Cow`].
#[derive(Clone)]
pub struct Watcher {
    inner: Arc<Inner>,
}

pub(crate) struct Inner {
    state: RwLock<State>,
}

/// A query locks it for reading; a change of what is watched locks it for writing.
pub(crate) struct State {
    pub engine: Box<dyn Engine>,
    pub records: BTreeMap<usize, Record>,
    /// The lineage of the process that the engine acts on.
    lineage: u64,
}

impl Watcher {
    /// Watches with the mechanism that `NTUX_WATCH` names, or with the best that works here (never [`Mechanism::Cow`]
    /// unless it is named).
    ///
    /// Errors: `Invalid` if `NTUX_WATCH` names no mechanism, `Unsupported` if none works.
    pub fn new() -> Result<Watcher> {
        Watcher::with(Mechanism::choose()?)
    }

    /// Watches with this mechanism. Errors: those of its probe.
    pub fn with(mechanism: Mechanism) -> Result<Watcher> {
        mechanism.probe()?;
        Watcher::open(mechanism)
    }

    /// As `with`, but without the probe.
    pub(crate) fn open(mechanism: Mechanism) -> Result<Watcher> {
        let state = State { engine: mechanism.engine()?, records: BTreeMap::new(), lineage: lineage() };
        let inner = Arc::new(Inner { state: RwLock::new(state) });
        fork::remember(&inner);
        Ok(Watcher { inner })
    }

    /// The watcher's mechanism.
    pub fn mechanism(&self) -> Result<Mechanism> {
        Ok(self.read()?.engine.mechanism())
    }

    /// Reserves watched memory: `length` bytes, rounded up to pages. No page is committed.
    ///
    /// Errors: `Invalid` for length 0, `Exhausted`.
    pub fn reserve(&self, length: usize) -> Result<Region> {
        let length = Range::new(0, length).pages()?.length();
        let base = protection::allocate(length, Protection::NONE)?;
        let span = Span { start: base, end: base + length };
        self.add(Record::new(span, Origin::Reserved), |_| Ok(())).inspect_err(|_| {
            // SAFETY: mapped just above, and nobody knows it yet.
            let _ = unsafe { protection::free(base, length) };
        })
    }

    /// Watches memory that the program has mapped: private or shared, anonymous or of a file. Its pages are clean at first.
    ///
    /// Only stores through *this* mapping are noticed, not those of another process, through another mapping of the
    /// same file, or by `write`. See [`Mechanism`] for what else each mechanism does not see.
    ///
    /// Errors: `Invalid` if the range is not whole pages, `Busy` if somebody watches part of it already, `Unsupported`,
    /// or the system's error for memory that cannot be watched.
    ///
    /// # Safety
    /// Until the region is dropped, only [`Region::protect`] changes its protection.
    pub unsafe fn watch(&self, range: Range) -> Result<Region> {
        let span = range.whole_pages()?;
        self.add(Record::new(span, Origin::Callers), |state| {
            let record = &state.records[&span.start];
            state.engine.arm(record, span)?;
            let (first, end) = record.pages(span);
            record.armed.raise(first, end);
            record.committed.raise(first, end);
            Ok(())
        })
    }

    /// Lists the written pages of a range in `addresses`, ascending, as many as there is room for. Returns their
    /// number.
    ///
    /// The range is rounded outwards to pages and must lie inside one region. Corresponds to `GetWriteWatch`. Errors:
    /// `Invalid` for an empty range or no room, `NotWatched`.
    pub fn get(&self, range: Range, addresses: &mut [usize], reset: Reset) -> Result<usize> {
        if addresses.is_empty() {
            return Err(Error::Invalid);
        }
        let mut sink = crate::sink::Addresses::new(addresses);
        self.list(range, reset, &mut sink)?;
        Ok(sink.count)
    }

    /// Makes the pages of a range clean. Writes since the last [`get`](Watcher::get) are forgotten; use [`Reset::Yes`]
    /// to list and reset in one step. Corresponds to `ResetWriteWatch`. Errors: those of `get`.
    pub fn reset(&self, range: Range) -> Result<()> {
        let span = range.pages()?;
        let state = self.read()?;
        state.clear(state.record_around(span)?, span)
    }

    /// Does what [`get`](Watcher::get) does, but fills a bitmap: the lowest bit of the first word is the range's first page.
    /// Errors: also `Invalid` if the words have fewer bits than the range has pages.
    pub fn get_bitmap(&self, range: Range, bitmap: &mut [u64], reset: Reset) -> Result<()> {
        let span = range.pages()?;
        if bitmap.len() < (span.length() / page_size()).div_ceil(u64::BITS as usize) {
            return Err(Error::Invalid);
        }
        self.read()?.record_around(span)?;
        bitmap.fill(0);
        self.list(range, reset, &mut Bitmap { into: bitmap, base: span.start, page: page_size() })
    }

    /// Returns whether anything is watched.
    pub fn has_regions(&self) -> Result<bool> {
        Ok(!self.read()?.records.is_empty())
    }

    pub(crate) fn read(&self) -> Result<RwLockReadGuard<'_, State>> {
        let state = self.inner.state.read().unwrap_or_else(|poisoned| poisoned.into_inner());
        if state.lineage == lineage() {
            return Ok(state);
        }
        drop(state);
        drop(self.write()?);
        Ok(self.inner.state.read().unwrap_or_else(|poisoned| poisoned.into_inner()))
    }

    pub(crate) fn write(&self) -> Result<RwLockWriteGuard<'_, State>> {
        let mut state = self.inner.lock();
        state.restart_in_child()?;
        Ok(state)
    }

    fn add(&self, mut record: Record, arm: impl FnOnce(&State) -> Result<()>) -> Result<Region> {
        let mut state = self.write()?;
        let span = record.span;
        if state.overlaps(span) {
            return Err(Error::Busy);
        }
        state.engine.attach(&mut record)?;
        state.records.insert(span.start, record);
        if let Err(error) = arm(&state) {
            state.remove(span.start);
            return Err(error);
        }
        Ok(Region::new(self.clone(), span))
    }
}

impl Inner {
    pub fn lock(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl State {
    /// The region that contains the whole span.
    pub fn record_around(&self, span: Span) -> Result<&Record> {
        let (_, record) = self.records.range(..=span.start).next_back().ok_or(Error::NotWatched)?;
        if record.span.contains(span) { Ok(record) } else { Err(Error::NotWatched) }
    }

    /// The regions that meet a span, ascending.
    pub fn records_within(&self, span: Span) -> impl Iterator<Item = &Record> {
        let first = self.records.range(..=span.start).next_back().map_or(span.start, |(start, _)| *start);
        self.records.range(first..span.end).map(|(_, record)| record).filter(move |record| record.span.end > span.start)
    }

    /// Stops watching a region; its memory stays.
    pub fn remove(&mut self, base: usize) -> Option<Record> {
        let record = self.records.remove(&base)?;
        self.engine.detach(&record);
        Some(record)
    }

    fn overlaps(&self, span: Span) -> bool {
        self.records.range(..span.end).next_back().is_some_and(|(_, record)| record.span.end > span.start)
    }

    /// See [`fork`].
    pub fn before_fork(&self) {
        self.records.values().for_each(|record| self.engine.before_fork(record));
    }

    /// Restarts the mechanism in a child of fork, where the inherited one acts on the parent, or on nothing.
    fn restart_in_child(&mut self) -> Result<()> {
        if self.lineage == lineage() {
            return Ok(());
        }
        self.engine.restart()?;
        for record in self.records.values_mut() {
            // Caller's memory that was unmapped cannot be watched; it stays latched.
            let _ = self.engine.attach(record);
            let parts: Vec<Span> = record.armed_parts(record.span).collect();
            for part in parts {
                let _ = self.engine.arm(record, part);
                record.latch(part);
            }
        }
        self.lineage = lineage();
        Ok(())
    }
}
