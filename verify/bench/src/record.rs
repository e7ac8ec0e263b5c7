// SPDX-License-Identifier: MIT OR Apache-2.0
//! Measurements and their results.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::measure::Sample;

/// The chapters of a report.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Group {
    /// What the machine itself costs.
    Yardsticks,
    /// One thread, nobody in the way.
    Uncontended,
    /// Two or more threads or processes.
    Contended,
    /// As the figures of others were published.
    Definitions,
    /// Waits in which no thread sleeps, packets, and what event loops and tasks wait for.
    WithoutThread,
    /// The same with more objects, or more waiters.
    Growth,
    /// Bytes.
    Memory,
    /// What the drop-in device costs a program where it does not use it.
    Foreign,
    /// What a program pays for being seen.
    Observed,
    /// Counted, not timed.
    SystemCalls,
}

impl Group {
    pub(crate) const ALL: [Self; 10] = [
        Self::Yardsticks,
        Self::Uncontended,
        Self::Contended,
        Self::Definitions,
        Self::WithoutThread,
        Self::Growth,
        Self::Memory,
        Self::Foreign,
        Self::Observed,
        Self::SystemCalls,
    ];

    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Yardsticks => "Yardsticks: what the machine itself costs",
            Self::Uncontended => "Uncontended: one thread",
            Self::Contended => "Contended: threads and processes that wait for each other",
            Self::Definitions => "The rows of msync's published figures, by their definitions",
            Self::WithoutThread => "Waits without a thread: packets, event loops and tasks",
            Self::Growth => "Growth: the same operation among more objects, and with more waiters",
            Self::Memory => "Memory taken",
            Self::Foreign => "Descriptors that are not ntux's: without and through the preloaded library",
            Self::Observed => "Observed: waits that sleep and wakes, on one processor, beside ntux top and ntux trace",
            Self::SystemCalls => "System calls of the calling thread for each operation, counted under ptrace",
        }
    }
}

/// What a number counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Unit {
    Nanoseconds,
    Bytes,
    Calls,
}

/// How one scenario went for one peer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Outcome {
    Measured(Sample),
    /// The design has no such operation, or this machine does not let it.
    Impossible(String),
    /// It should have worked.
    Failed(String),
}

/// One cell of the report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) group: Group,
    pub(crate) scenario: String,
    pub(crate) peer: String,
    pub(crate) unit: Unit,
    pub(crate) outcome: Outcome,
    /// Which system calls, for [`Unit::Calls`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) detail: Option<String>,
}

impl Record {
    pub(crate) fn sample(&self) -> Option<&Sample> {
        match &self.outcome {
            Outcome::Measured(sample) => Some(sample),
            _ => None,
        }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Nanoseconds => "ns",
            Self::Bytes => "bytes",
            Self::Calls => "calls",
        })
    }
}
