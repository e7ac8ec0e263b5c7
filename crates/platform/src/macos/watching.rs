// SPDX-License-Identifier: MIT OR Apache-2.0
//! macOS's means to watch memory: the protection of pages, and the list of regions. The rest is absent.

use std::io;

use super::calls::{self, Region};
use crate::protection::Protection;
use crate::watching::mappings::Mapped;

pub use crate::absent::watching::{Mappings, Pagemap, Userfault};

/// XNU limits a process's regions by its own memory only. As many as Linux allows.
const REGIONS_MAX: usize = 65_530;

fn regions(start: usize, end: usize) -> impl Iterator<Item = Region> {
    let mut next = start;
    core::iter::from_fn(move || {
        let region = calls::region(next).filter(|region| next < end && region.start < end)?;
        next = region.end;
        Some(region)
    })
}

/// The mappings of the calling process that meet the range, ascending.
pub fn within(start: usize, end: usize) -> io::Result<Vec<Mapped>> {
    let mapped = |region: Region| Mapped {
        start: region.start,
        end: region.end,
        protection: Protection {
            read: region.can(libc::PROT_READ),
            write: region.can(libc::PROT_WRITE),
            execute: region.can(libc::PROT_EXEC),
        },
        is_private: !region.is_shared,
    };
    Ok(regions(start, end).map(mapped).collect())
}

/// How many mappings this process should have at most, and how many it has.
pub fn limit_and_count() -> io::Result<(usize, usize)> {
    Ok((REGIONS_MAX, regions(0, usize::MAX).count()))
}

/// Returns whether all of these pages are mapped, and may be written. Async-signal-safe.
pub(super) fn are_writable(start: usize, length: usize) -> bool {
    let end = start.saturating_add(length);
    let mut next = start;
    for region in regions(start, end) {
        if region.start > next || !region.can(libc::PROT_WRITE) {
            return false;
        }
        next = region.end;
    }
    next >= end
}
