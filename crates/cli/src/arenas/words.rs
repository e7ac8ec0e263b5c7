// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the enums of `ntux_sync::inspect` are called, in JSON and in text. A word of the JSON is an interface:
//! `docs/reference/schemas` lists it, and scripts compare it. Code here compares the enums.

use ntux_sync::inspect::why::{Condition, Finding, Obstacle};
use ntux_sync::inspect::{Life, Mode, Phase, Presence, WaitState};
use serde::Serializer;

/// An enum whose variants have words.
pub trait Word {
    /// All of them.
    #[cfg(test)]
    const WORDS: &[&str];

    fn word(&self) -> &'static str;
}

macro_rules! words {
    ($of:ty { $($variant:pat => $word:literal,)* }) => {
        impl Word for $of {
            #[cfg(test)]
            const WORDS: &[&str] = &[$($word),*];

            fn word(&self) -> &'static str {
                match self {
                    $($variant => $word,)*
                }
            }
        }
    };
}

words!(Finding {
    Finding::Deadlock { .. } => "deadlock",
    Finding::OwnerGone { .. } => "owner gone",
    Finding::OwnerStopped { .. } => "owner stopped",
    Finding::Closed { .. } => "closed",
    Finding::StillAsleep { .. } => "still asleep",
    Finding::Unfinished { .. } => "unfinished",
    Finding::HalfWay { .. } => "half-way",
    Finding::Stopped { .. } => "stopped",
    Finding::LacksOne { .. } => "lacks one",
});

words!(Obstacle {
    Obstacle::Owned(_) => "owned",
    Obstacle::NotSignaled => "not signaled",
    Obstacle::Closed => "closed",
    Obstacle::Nothing => "available",
    Obstacle::Unclear => "changing",
});

words!(Condition {
    Condition::Ended => "ended",
    Condition::Stopped => "stopped",
    Condition::Waiting => "waiting",
    Condition::WakeOwed => "not woken yet",
    Condition::Signaling => "signaling",
    Condition::Elsewhere => "in no wait",
});

words!(WaitState {
    WaitState::Idle => "idle",
    WaitState::Queueing => "joining its queues",
    WaitState::Waiting => "waiting",
    WaitState::Died => "killed while it waited",
    WaitState::Satisfied { .. } => "satisfied",
    WaitState::Withdrawn => "withdrawn",
    WaitState::Requesting(_) => "signaling",
    WaitState::Done => "has signaled",
    WaitState::Probing => "looking",
});

words!(Mode {
    Mode::Any => "any",
    Mode::All => "all",
    Mode::Unknown => "unknown",
});

words!(Life {
    Life::Building => "being made",
    Life::Live => "live",
    Life::Closed => "closed",
    Life::Rubbish => "rubbish",
});

words!(Presence {
    Presence::Alive => "alive",
    Presence::Dead => "dead",
    Presence::Unknown => "unknown",
});

words!(Phase {
    Phase::Idle => "idle",
    Phase::Apply => "a signal takes effect",
    Phase::Scan => "looking for a waiter",
    Phase::Try => "trying a waiter",
    Phase::End => "offering what is left",
    Phase::Rubbish => "rubbish",
});

/// For `#[serde(serialize_with = "words::word")]`.
pub fn word<T: Word, S: Serializer>(of: &T, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(of.word())
}

/// The same of what may be none.
pub fn word_if_any<T: Word, S: Serializer>(of: &Option<T>, serializer: S) -> Result<S::Ok, S::Error> {
    match of {
        Some(of) => word(of, serializer),
        None => serializer.serialize_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words that a schema lists in a place.
    fn listed(document: &str, place: &str) -> Vec<String> {
        let path = format!("{}/../../docs/reference/schemas/{document}.json", env!("CARGO_MANIFEST_DIR"));
        let schema: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        let list = schema.pointer(&format!("/$defs/{place}/enum")).unwrap_or_else(|| panic!("{place} is not there"));
        list.as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn the_schemas_list_every_word_once() {
        assert_eq!(Finding::WORDS, listed("why", "finding/properties/kind"));
        assert_eq!(Obstacle::WORDS, listed("why", "step/properties/obstacle"));
        assert_eq!(Condition::WORDS, listed("why", "chain/properties/condition"));
        assert_eq!(WaitState::WORDS, listed("inspect", "thread/properties/state"));
        assert_eq!(Mode::WORDS, listed("inspect", "wait/properties/mode"));
        assert_eq!(Mode::WORDS, listed("top", "wait/properties/mode"));
        assert_eq!(Life::WORDS, listed("inspect", "object/properties/life"));
        assert_eq!(Phase::WORDS, listed("inspect", "wait_all/properties/phase"));
        assert_eq!([Presence::WORDS, &["taking over"]].concat(), listed("inspect", "process/properties/state"));
    }
}
