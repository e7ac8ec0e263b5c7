// SPDX-License-Identifier: MIT OR Apache-2.0
//! The schedules of timers: a table beside the objects, of which only timers use memory.
//!
//! `docs/internals/timers.md` draws the word, and says who changes it. A schedule stays with its object slot: the next timer
//! there continues its number.

use ntux_platform::atomic::Word128;

use super::Arena;
use crate::format::limits::RETRIES;
use crate::format::schedule::Schedule;
use crate::{Error, Result};

/// The schedule of one timer.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a>(&'a Word128);

impl Place<'_> {
    pub(crate) fn load(self) -> Schedule {
        Schedule(self.0.load())
    }

    pub(crate) fn exchange(self, seen: Schedule, next: Schedule) -> bool {
        self.0.compare_exchange(seen.0, next.0).is_ok()
    }
}

impl Arena {
    /// The schedule of the timer in this slot.
    pub(crate) fn schedule(&self, index: u32) -> Option<Place<'_>> {
        self.schedule_word(index).map(Place)
    }

    /// Makes the schedule of a slot that of a new timer, which is not armed, and allocates its memory. Returns the number of its last turn.
    ///
    /// Errors: `Exhausted`.
    pub(crate) fn begin_schedule(&self, index: u32) -> Result<u32> {
        if !self.provide_schedule(index) {
            return Err(Error::Exhausted);
        }
        let place = self.schedule(index).ok_or(Error::Corrupt)?;
        for _ in 0..RETRIES {
            let seen = place.load();
            let next = seen.cancelled();
            // A thread that completes a turn of the last timer here fails by this.
            if place.exchange(seen, next) {
                return Ok(next.number());
            }
        }
        Err(Error::Corrupt)
    }
}
