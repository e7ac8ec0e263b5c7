// SPDX-License-Identifier: MIT OR Apache-2.0
//! Planted bugs: each breaks one rule of the lock, to show that the model checker catches it.
//!
//! They exist only in the configuration `ntux_explore`; otherwise [`planted`] is `false` at compile time.

/// One broken rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(dead_code, reason = "only a checker plants bugs")]
pub enum Bug {
    /// A woken thread takes the lock as if nobody else slept.
    ForgetsOthers,
    /// A thread whose deadline has passed does not say that others sleep.
    GivesUpSilently,
    /// The thread that hands the lock over does not count it.
    HandsOverSilently,
}

ntux_platform::planted!();
