// SPDX-License-Identifier: MIT OR Apache-2.0
//! Timers: signaled or not, like an event, and the number of the last turn of the schedule beside it that has taken effect
//! (`docs/internals/timers.md`). A wait consumes a synchronization timer and leaves a manual-reset one signaled.

use super::{Kind, Start, Step};
use crate::format::object_word::{BROADCAST, FIRED, ObjectWord, W, WA};
use crate::format::schedule::{NS_PER_US, NUMBER_BITS, Schedule, Turn};
use crate::{TimerState, spec};

const SIGNALED: u32 = 1;
const NUMBER_SHIFT: u32 = 1;
const NUMBER_MASK: u32 = (1 << NUMBER_BITS) - 1;

/// A new timer, which is not armed.
pub(super) fn start(manual: bool) -> Start {
    let kind = if manual { Kind::ManualTimer } else { Kind::SyncTimer };
    Start { kind, value: 0, level: 0, flags: 0, extra: 0 }
}

/// The number of the last turn that has taken effect.
pub(crate) fn number(word: ObjectWord) -> u32 {
    word.value() >> NUMBER_SHIFT & NUMBER_MASK
}

/// The value of a timer that has this number, and is not signaled.
pub(crate) fn value_at_start(number: u32) -> u32 {
    number << NUMBER_SHIFT
}

pub(super) fn is_signaled(word: ObjectWord) -> bool {
    word.value() & SIGNALED != 0
}

fn with_signaled(word: ObjectWord, signaled: bool) -> ObjectWord {
    word.with_value(word.value() & !SIGNALED | u32::from(signaled))
}

fn turned(word: ObjectWord, number: u32) -> ObjectWord {
    word.with_value(number << NUMBER_SHIFT | word.value() & SIGNALED)
}

/// The word after an arming with this number.
pub(crate) fn armed(word: ObjectWord, number: u32) -> ObjectWord {
    with_signaled(turned(word, number), false)
}

/// The word after a cancellation with this number.
pub(crate) fn cancelled(word: ObjectWord, number: u32) -> ObjectWord {
    turned(word, number)
}

/// A firing with this number, unless that has taken effect.
pub(super) fn fire(word: ObjectWord, kind: Kind, number: u32) -> Step {
    let signaled = is_signaled(word);
    if Schedule::number_after(self::number(word)) != number {
        return Step::Unchanged(u32::from(signaled));
    }
    let next = turned(word, number);
    if signaled {
        // At rest and available: nobody waits who could take it.
        return Step::Changed { next, previous: 1, offers: false };
    }
    let flags = if word.has(W | WA) { FIRED } else { 0 };
    Step::Changed { next: offered(next, kind).with(flags), previous: 0, offers: true }
}

/// Signals it again, for a wait that has got it in vain.
pub(super) fn give_back(word: ObjectWord, kind: Kind) -> Step {
    if is_signaled(word) {
        return Step::Unchanged(1);
    }
    Step::Changed { next: offered(word, kind), previous: 0, offers: true }
}

fn offered(word: ObjectWord, kind: Kind) -> ObjectWord {
    let word = with_signaled(word, true);
    if kind == Kind::ManualTimer && word.has(W) { word.with(BROADCAST) } else { word }
}

/// A wait takes it.
pub(super) fn acquired(word: ObjectWord) -> ObjectWord {
    with_signaled(word, false)
}

/// Its word when the operation is complete.
pub(super) fn rested(word: ObjectWord) -> ObjectWord {
    word.without(FIRED | BROADCAST)
}

/// The number of a turn that was announced, and has not taken effect. None of an object of another kind.
pub(crate) fn pending(kind: Kind, word: ObjectWord, schedule: Schedule) -> Option<u32> {
    let is_pending = kind.is_timer() && schedule.number() == Schedule::number_after(number(word));
    is_pending.then(|| schedule.number())
}

/// What its word and its schedule say together; none for rubbish. A turn that is pending counts as complete: nobody finds out anything else.
pub(crate) fn state(kind: Kind, word: ObjectWord, schedule: Schedule) -> Option<TimerState> {
    let spec::Timer { manual, signaled, .. } = value(word, kind == Kind::ManualTimer)?;
    let number = number(word);
    let signaled = match schedule.turn() {
        _ if schedule.number() == number => signaled,
        _ if schedule.number() != Schedule::number_after(number) => return None,
        Turn::Fire => true,
        Turn::Arm | Turn::Postpone => false,
        Turn::Cancel => signaled,
    };
    Some(TimerState { manual, signaled, due: schedule.due(), period_ns: schedule.period_us() * NS_PER_US })
}

/// What the word alone says of it: if it is signaled. Its schedule has the due time.
pub(super) fn value(word: ObjectWord, manual: bool) -> Option<spec::Timer> {
    (word.value() >> NUMBER_SHIFT <= NUMBER_MASK).then(|| spec::Timer::unarmed(manual, is_signaled(word)))
}
