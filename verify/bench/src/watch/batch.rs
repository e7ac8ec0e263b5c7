// SPDX-License-Identifier: MIT OR Apache-2.0
//! A thousand regions, with one page written in every tenth: queried one by one, and in one call.

use std::io;

use ntux_platform::clock::monotonic_ns;
use ntux_watch::{Range, Reset, Run, Watcher};
use serde::Serialize;

use super::subject::Subject;
use super::{Spread, progress};

const REGIONS: usize = 1000;
const PAGES: usize = 8;

/// How one mechanism did.
#[derive(Debug, Serialize)]
pub(crate) struct Batched {
    pub(crate) subject: &'static str,
    pub(crate) layout: &'static str,
    /// Microseconds for a thousand calls, and for one.
    pub(crate) one_by_one_us: Spread,
    pub(crate) at_once_us: Spread,
}

pub(crate) fn run(quick: bool) -> io::Result<Vec<Batched>> {
    let mut all = Vec::new();
    for mechanism in ntux_watch::Mechanism::ALL {
        progress(&format!("batch, {}", mechanism.name()));
        let Ok(watcher) = Watcher::with(mechanism) else { continue };
        let page = ntux_watch::page_size();
        let reserved: io::Result<Vec<_>> =
            (0..REGIONS).map(|_| watcher.reserve(PAGES * page).map_err(io::Error::other)).collect();
        let reserved = reserved?;
        for region in &reserved {
            region.commit(region.range(), ntux_watch::Protection::READ_WRITE).map_err(io::Error::other)?;
        }
        all.push(measure(mechanism.name(), "reserved", &watcher, reserved.iter().map(|r| r.range()), quick)?);
        drop(reserved);
        // Every second stretch of one mapping.
        let mapping = Subject::open(super::subject::UNTRACKED, 2 * REGIONS * PAGES)?;
        let range = |index| Range::new(mapping.range().start + 2 * index * PAGES * page, PAGES * page);
        // SAFETY: the mapping is this function's, and only written from here on.
        let added: Result<Vec<_>, _> = (0..REGIONS).map(|index| unsafe { watcher.watch(range(index)) }).collect();
        let added = added.map_err(io::Error::other)?;
        all.push(measure(mechanism.name(), "added, with gaps", &watcher, added.iter().map(|r| r.range()), quick)?);
    }
    Ok(all)
}

fn measure(
    subject: &'static str,
    layout: &'static str,
    watcher: &Watcher,
    ranges: impl Iterator<Item = Range>,
    quick: bool,
) -> io::Result<Batched> {
    let mut ranges: Vec<Range> = ranges.collect();
    ranges.sort_by_key(|range| range.start);
    let (mut one_by_one, mut at_once) = (Vec::new(), Vec::new());
    let mut addresses = [0; PAGES];
    let mut runs: Vec<Run> = Vec::with_capacity(REGIONS * PAGES);
    for _ in 0..if quick { 3 } else { 100 } {
        write_some(&ranges);
        let start = monotonic_ns();
        for &range in &ranges {
            watcher.get(range, &mut addresses, Reset::Yes).map_err(io::Error::other)?;
        }
        one_by_one.push((monotonic_ns() - start) as f64 / 1000.0);
        write_some(&ranges);
        runs.clear();
        let start = monotonic_ns();
        watcher.get_batch(&ranges, Reset::Yes, &mut runs).map_err(io::Error::other)?;
        at_once.push((monotonic_ns() - start) as f64 / 1000.0);
        if runs.len() < REGIONS / 10 {
            return Err(io::Error::other(format!("{subject} listed {} runs", runs.len())));
        }
    }
    Ok(Batched { subject, layout, one_by_one_us: Spread::of(one_by_one), at_once_us: Spread::of(at_once) })
}

/// One page of every tenth region.
fn write_some(ranges: &[Range]) {
    for range in ranges.iter().step_by(10) {
        // SAFETY: watched, writable memory of the caller's.
        unsafe { (range.start as *mut u64).write_volatile(1) };
    }
}
