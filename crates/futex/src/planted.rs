// SPDX-License-Identifier: MIT OR Apache-2.0
//! Planted bugs: each breaks one rule, to show that the model checker catches it.
//!
//! They exist only in the configuration `ntux_explore`; otherwise [`planted`] is `false` at compile time. A bug that takes more than one
//! condition is not in this text: `verify/explored` applies it (`verify/planted`).

/// One broken rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(dead_code, reason = "only a checker plants bugs")]
pub enum Bug {
    /// A wait does not compare its words again after it has queued.
    NoCompare,
    /// A waker passes over a thread that is still arriving.
    PassArriving,
    /// A waker does not wake.
    NoWake,
    /// A waker that finds nobody on a woken thread's own word checks that word again, and not the gathering place.
    PassGathered,
    /// The head of a line passes somebody who is queued.
    PassQueued,
    /// The head of a line passes somebody who is queued in the next ring.
    PassNextRing,
    /// The head of a line passes a ticket whose entry is still to come.
    PassComing,
    /// A walk visits only the newest ring.
    NewRingOnly,
    /// A requeuer overwrites the place where another one has recorded a move.
    NoFold,
    /// The seat of a thread that dies in a wait is not marked.
    NoMark,
    /// A seat that is marked is not inherited.
    KeepDeadSeat,
    /// An heir does not end the wait of the dead thread before the seat is its own.
    EndLate,
    /// A waker registers no wake for the case of its death.
    NoWill,
    /// A 64-bit wait sleeps on the half first that nobody wakes.
    OtherHalfFirst,
    /// A 64-bit wait keeps a wake that arrived before it had compared both halves.
    KeepWake,
    /// A lane's wait sleeps with the bits of all lanes.
    AllLanes,
}

ntux_platform::planted!();
