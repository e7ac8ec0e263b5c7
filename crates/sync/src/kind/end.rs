// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ends: whether an owner of the arena has ended, and the code that was reported before. A wait leaves it signaled, and nothing makes it
//! unsignaled again.
//!
//! # Picture
//! ```text
//! value   the code, 0 if none was reported
//! level   bit 0: the owner has ended     bit 1: a code was reported
//! beside  63   0   32 31   owner   0     the same as long as the object lives
//! ```
//! A thread that has found that the owner has ended signals it ([`crate::protocol::owner`]).

use ntux_platform::atomic::Word64;

use super::{Kind, Start, Step};
use crate::format::object_word::{BROADCAST, ObjectWord, W};
use crate::format::owner::OwnerId;
use crate::planted::{Bug, planted};
use crate::{EndState, Error, Result};

const ENDED: u32 = 1;
const REPORTED: u32 = 2;

/// The end of this owner, which has not been noticed yet.
pub(super) fn start(owner: u32) -> Result<Start> {
    let id = OwnerId::of(owner).ok_or(Error::Invalid)?;
    Ok(Start { kind: Kind::End, value: 0, level: 0, flags: 0, extra: u64::from(id.number()) })
}

pub(super) fn is_signaled(word: ObjectWord) -> bool {
    word.level() & ENDED != 0
}

/// The owner whose end it is waiting for; 0 if that has come.
pub(super) fn awaited(word: ObjectWord, extra: &Word64) -> u32 {
    if is_signaled(word) { 0 } else { extra.load() as u32 }
}

/// The owner has ended: all who wait get it.
pub(super) fn finish(word: ObjectWord) -> Step {
    if is_signaled(word) {
        return Step::Unchanged(1);
    }
    let next = word.with_level(word.level() | ENDED);
    let next = if word.has(W) && !planted(Bug::EndToOne) { next.with(BROADCAST) } else { next };
    Step::Changed { next, previous: 0, offers: true }
}

/// The owner will end with this code, unless it has ended.
pub(super) fn report(word: ObjectWord, code: u32) -> Step {
    if is_signaled(word) {
        return Step::Unchanged(1);
    }
    let next = word.with_value(code).with_level(word.level() | REPORTED);
    Step::Changed { next, previous: 0, offers: false }
}

/// Its word when the operation is complete.
pub(super) fn rested(word: ObjectWord) -> ObjectWord {
    word.without(BROADCAST)
}

/// The end; none for rubbish.
pub(super) fn value(word: ObjectWord, extra: u64) -> Option<EndState> {
    let has_code = word.level() & REPORTED != 0;
    let owner = u32::try_from(extra).ok().and_then(OwnerId::of)?.number();
    let is_sound = word.level() & !(ENDED | REPORTED) == 0 && (has_code || word.value() == 0);
    is_sound.then_some(EndState { owner, ended: is_signaled(word), code: has_code.then_some(word.value()) })
}
