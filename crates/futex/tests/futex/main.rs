// SPDX-License-Identifier: MIT OR Apache-2.0
//! The futex layer as a program meets it. Every case runs for every size and scope, and again in processes where other
//! mechanisms are forced (`forced.rs`).

#![allow(clippy::disallowed_types, reason = "the words of a program are the standard library's atomics")]

#[path = "../../../platform/tests/asleep/asleep.rs"]
mod asleep;
mod clock;
mod crowds;
mod forced;
mod histories;
mod inexact;
mod kind;
mod misaligned;
mod misuse;
#[path = "../model/mod.rs"]
mod model;
mod numa;
mod processes;
#[path = "../../../platform/tests/random/random.rs"]
mod random;
mod requeues;
mod rubbish;
#[path = "../../../platform/tests/seccomp/rule.rs"]
mod rule;
#[path = "../../../platform/tests/skips/skips.rs"]
mod skips;
mod sleepers;
mod vectors;
mod waits;
