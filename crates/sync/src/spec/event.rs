// SPDX-License-Identifier: MIT OR Apache-2.0
//! The model of an event.

/// Signaled or not.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Event {
    /// Stays signaled when a wait acquires it.
    pub manual: bool,
    /// True if a wait could acquire it.
    pub signaled: bool,
}

impl Event {
    /// Signals or clears the event. Returns the previous state.
    pub fn set(&mut self, signaled: bool) -> bool {
        std::mem::replace(&mut self.signaled, signaled)
    }

    /// A wait acquires it: this clears an auto-reset event.
    pub fn acquire(&mut self) {
        self.signaled = self.manual;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_auto_reset_event_is_cleared_by_a_wait() {
        for manual in [false, true] {
            let mut event = Event { manual, signaled: true };
            event.acquire();
            assert_eq!(event.signaled, manual);
        }
    }

    #[test]
    fn setting_reports_the_state_before() {
        let mut event = Event { manual: true, signaled: false };
        assert!(!event.set(true));
        assert!(event.set(true));
        assert!(event.set(false));
    }
}
