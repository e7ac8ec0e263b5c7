// SPDX-License-Identifier: MIT OR Apache-2.0
//! The parameters of a wait: owner, deadline, alert.

use std::time::Duration;

use ntux_platform::clock;
use ntux_sync::Deadline;

use crate::Object;

/// The owner for waits on semaphores and events, which ignore it; the core refuses only 0.
pub(crate) const OWNERLESS: u32 = u32::MAX;

/// How to wait in [`Arena::wait_any`](crate::Arena::wait_any) and [`Arena::wait_all`](crate::Arena::wait_all).
///
/// ```
/// use ntux::{Deadline, Wait, within};
/// use std::time::Duration;
///
/// let for_ever = Wait::by(7);
/// let at_most_a_second = Wait::by(7).until(within(Duration::from_secs(1)));
/// let not_at_all = Wait::by(7).until(Deadline::NOW);
/// # let _ = (for_ever, at_most_a_second, not_at_all);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use = "a description of a wait does not wait"]
pub struct Wait {
    pub(crate) owner: u32,
    pub(crate) alert: Option<Object>,
    pub(crate) deadline: Deadline,
}

impl Wait {
    /// A wait without deadline and alert. `owner` acquires mutexes; it is any number but 0, and should be unique among
    /// the threads that share the mutexes, in all processes.
    #[inline]
    pub const fn by(owner: u32) -> Wait {
        Wait { owner, alert: None, deadline: Deadline::Never }
    }

    /// Ends the wait with [`Error::TimedOut`](crate::Error::TimedOut) when `deadline` passes. A deadline in the past
    /// allows one attempt. [`within`] converts a duration to a deadline.
    #[inline]
    pub const fn until(self, deadline: Deadline) -> Wait {
        Wait { deadline, ..self }
    }

    /// Also ends the wait when `alert` is signaled, which is then acquired like any other object. Usually an event, but
    /// any object will do.
    #[inline]
    pub const fn alert(self, alert: Object) -> Wait {
        Wait { alert: Some(alert), ..self }
    }
}

/// The moment `duration` from now, on the monotonic clock. Zero reads no clock; more than 292 years means never.
///
/// Any thread, also in a signal handler.
///
/// ```
/// use ntux::{Deadline, within};
/// use std::time::Duration;
///
/// assert_eq!(within(Duration::ZERO), Deadline::NOW);
/// assert_eq!(within(Duration::MAX), Deadline::Never);
/// ```
pub fn within(duration: Duration) -> Deadline {
    if duration.is_zero() {
        return Deadline::NOW;
    }
    let end = duration.as_nanos().saturating_add(u128::from(clock::monotonic_ns()));
    i64::try_from(end).map_or(Deadline::Never, |ns| Deadline::Monotonic(ns.unsigned_abs()))
}
