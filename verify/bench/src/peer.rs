// SPDX-License-Identifier: MIT OR Apache-2.0
//! The measured designs for NT synchronization objects, behind one trait: those of [`ntux_testkit::rival`], and ours.
//!
//! Ours stay here: they are written so that nothing is timed but the call.

pub(crate) mod arena;
pub(crate) mod c_face;
#[cfg(linux_calls)]
pub(crate) mod device;
pub(crate) mod parking;
#[cfg(test)]
pub(crate) mod planted;

pub(crate) use ntux_testkit::rival::{Peer, Reset, descriptors_max, unsupported};
