// SPDX-License-Identifier: MIT OR Apache-2.0
//! Events: signaled or not. A wait consumes an auto-reset event and leaves a manual-reset one signaled.

use super::{Kind, Start, Step};
use crate::format::object_word::{BROADCAST, ObjectWord, PULSE, W, WA};
use crate::spec;

/// A new event.
pub(super) fn start(manual: bool, signaled: bool) -> Start {
    let kind = if manual { Kind::ManualEvent } else { Kind::AutoEvent };
    Start { kind, value: u32::from(signaled), level: 0, flags: 0, extra: 0 }
}

/// Signals it: one waiter of an auto-reset event, all of a manual-reset one.
#[inline(always)]
pub(super) fn set(word: ObjectWord, kind: Kind) -> Step {
    if word.value() != 0 {
        return Step::Unchanged(1);
    }
    Step::Changed { next: offered(word.with_value(1), kind), previous: 0, offers: true }
}

/// Makes it unsignaled.
#[inline(always)]
pub(super) fn reset(word: ObjectWord) -> Step {
    if word.value() == 0 {
        return Step::Unchanged(0);
    }
    Step::Changed { next: word.with_value(0), previous: 1, offers: false }
}

/// Signals it for the current waiters; then it is unsignaled.
#[inline(always)]
pub(super) fn pulse(word: ObjectWord, kind: Kind) -> Step {
    // A signaled event at rest has no waiter that it could satisfy, so only the reset is left.
    if word.value() != 0 || !word.has(W | WA) {
        return reset(word);
    }
    // Even if the scan finds nobody, the word must change (C5): this proves that nobody registered meanwhile.
    Step::Changed { next: offered(word.with_value(1).with(PULSE), kind), previous: 0, offers: true }
}

fn offered(word: ObjectWord, kind: Kind) -> ObjectWord {
    if kind == Kind::ManualEvent && word.has(W) { word.with(BROADCAST) } else { word }
}

/// An auto-reset event after its waiter has taken it.
#[inline(always)]
pub(super) fn acquired(word: ObjectWord) -> ObjectWord {
    word.with_value(0).without(PULSE)
}

/// The word when the operation that offered it is complete: what is left of a pulse vanishes.
pub(super) fn rested(word: ObjectWord) -> ObjectWord {
    if word.has(PULSE) { word.with_value(0).without(PULSE | BROADCAST) } else { word.without(BROADCAST) }
}

/// Returns true if everybody is served.
pub(super) fn is_broadcast(word: ObjectWord) -> bool {
    word.has(BROADCAST)
}

/// The event.
pub(super) fn value(word: ObjectWord, manual: bool) -> Option<spec::Event> {
    let signaled = word.value() == 1;
    (word.value() <= 1).then_some(spec::Event { manual, signaled })
}
