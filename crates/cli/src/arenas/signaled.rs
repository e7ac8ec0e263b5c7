// SPDX-License-Identifier: MIT OR Apache-2.0
//! When an object was last signaled, as far as that can be known without a log.

use ntux_sync::Object;
use ntux_sync::inspect::{LastSignal, Value};
use serde::Serialize;

use super::scene::{Scene, long_at_least, long_at_most};

/// Bounds of that time.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct When {
    /// True: it was while the thread waited that is spoken of. None: unknown, or the object alone is spoken of.
    pub during_wait: Option<bool>,
    pub more_than_s_ago: Option<f64>,
    pub at_most_s_ago: Option<f64>,
}

impl When {
    /// Also returns what the object's waiters tell of it. Both are unknown if it is a mutex.
    pub fn of(scene: &Scene, object: Object) -> (LastSignal, When) {
        let seen = scene.snapshot.seen(object);
        // The word of a mutex names the thread that acquired it.
        let Some(seen) = seen.filter(|seen| !matches!(seen.value, Value::Mutex(_))) else { return Default::default() };
        let last = scene.snapshot.last_signal(seen);
        let more_than_s_ago = last.before.map(|before| scene.ago_s(before));
        // A wake is noted with a time before the signal that sent it.
        let at_most_s_ago = scene.last_wake(object).map(|wake| scene.ago_s(wake.at));
        let is_rubbish = more_than_s_ago.zip(at_most_s_ago).is_some_and(|(least, most)| least > most);
        let when = When { during_wait: None, more_than_s_ago, at_most_s_ago };
        (last, if is_rubbish { When::default() } else { when })
    }

    /// The rest of a sentence that begins with "last signaled by somebody".
    pub fn text(&self) -> String {
        let relation = match self.during_wait {
            Some(true) => ", since this wait began",
            Some(false) => ", before this wait began",
            None => "",
        };
        let bounds = match (self.more_than_s_ago, self.at_most_s_ago) {
            (Some(least), Some(most)) => format!("between {} and {} ago", long_at_least(least), long_at_most(most)),
            (Some(least), None) => format!("more than {} ago", long_at_least(least)),
            (None, Some(most)) => format!("at most {} ago", long_at_most(most)),
            (None, None) => return relation.to_owned(),
        };
        format!("{relation}{} {bounds}", if relation.is_empty() { "," } else { ":" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_never_rounded_to_what_is_not_so() {
        let when = |during_wait, more_than_s_ago, at_most_s_ago| When { during_wait, more_than_s_ago, at_most_s_ago };
        let said = [
            (when(Some(false), Some(12.39), None), ", before this wait began: more than 12.3s ago"),
            (when(Some(false), Some(3.19), Some(3.21)), ", before this wait began: between 3.1s and 3.3s ago"),
            (when(Some(true), None, Some(119.0)), ", since this wait began: at most 2m ago"),
            (when(None, Some(119.0), None), ", more than 1m ago"),
            (when(Some(true), None, None), ", since this wait began"),
            (When::default(), ""),
        ];
        for (when, text) in said {
            assert_eq!(when.text(), text);
        }
    }
}
