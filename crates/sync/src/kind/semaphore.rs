// SPDX-License-Identifier: MIT OR Apache-2.0
//! Semaphores: a count between 0 and a maximum. Signaled while the count is above 0; a wait takes one.

use ntux_platform::atomic::Word64;

use super::{Kind, Start, Step};
use crate::format::object_word::ObjectWord;
use crate::{Error, Result, spec};

/// A new semaphore.
pub(super) fn start(count: u32, max: u32) -> Result<Start> {
    if count > max {
        return Err(Error::Invalid);
    }
    Ok(Start { kind: Kind::Semaphore, value: count, level: 0, flags: 0, extra: u64::from(max) })
}

/// The largest count.
pub(crate) fn max(extra: &Word64) -> u32 {
    extra.load() as u32
}

/// Adds `count`, unless that exceeds the maximum.
#[inline(always)]
pub(super) fn release(word: ObjectWord, extra: &Word64, count: u32) -> Step {
    let before = word.value();
    match before.checked_add(count) {
        Some(_) if count == 0 => Step::Unchanged(before),
        Some(after) if after <= max(extra) => {
            Step::Changed { next: word.with_value(after), previous: before, offers: true }
        }
        _ => Step::Refused(Error::Overflow),
    }
}

/// One unit less.
#[inline(always)]
pub(super) fn acquired(word: ObjectWord) -> ObjectWord {
    word.with_value(word.value().wrapping_sub(1))
}

/// The result of a release that an admitted operation has performed, or refused.
pub(super) fn released(word: ObjectWord, count: u32, offered: bool) -> Result<u32> {
    match count {
        _ if offered => Ok(word.value().wrapping_sub(count)),
        0 => Ok(word.value()),
        _ => Err(Error::Overflow),
    }
}

/// The semaphore.
pub(super) fn value(word: ObjectWord, extra: u64) -> Option<spec::Semaphore> {
    let (count, max) = (word.value(), extra as u32);
    (count <= max).then_some(spec::Semaphore { count, max })
}
