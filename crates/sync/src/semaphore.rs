//! Semaphores: a count between 0 and a maximum. Signaled while the count is above 0; a wait takes one.

use ntux_platform::atomic::Word64;

use crate::arena::meta::Kind;
use crate::arena::objects::Start;
use crate::signal::Step;
use crate::word::ObjectWord;
use crate::{Error, Result};

/// A new semaphore.
pub(crate) fn start(count: u32, max: u32) -> Result<Start> {
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
pub(crate) fn release(word: ObjectWord, extra: &Word64, count: u32) -> Step {
    let before = word.value();
    match before.checked_add(count) {
        Some(_) if count == 0 => Step::Unchanged(before),
        Some(after) if after <= max(extra) => {
            Step::Changed { next: word.with_value(after), previous: before, offers: true }
        }
        _ => Step::Refused(Error::Overflow),
    }
}
