// SPDX-License-Identifier: MIT OR Apache-2.0
//! The names by which the promises find what was measured, if it was.

pub(crate) const BLOCKED_WAIT: &str = "blocked wait: the sleeper";
pub(crate) const BLOCKED_ANY: &str = "blocked wait-any of 64: the sleeper";
pub(crate) const SIGNAL: &str = "set with one sleeper: the signaler";
/// What never enters the kernel, if all is well.
pub(crate) const SATISFIED: [&str; 8] = [
    "mutex lock + unlock",
    "semaphore wait + release",
    "event set + wait",
    "event reset",
    "wait-any of 8",
    "wait-any of 64",
    "wait-all of 8",
    "set with nobody waiting",
];
