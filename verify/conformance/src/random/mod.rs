// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random programs: a seed gives a program, and the server of `/dev/ntsync` gives the program a transcript.
//!
//! The driver is the oracle. A replacement is right if the same programs give the same transcripts.
//!
//! * [`program`] defines programs; [`single`] and [`together`] generate one from a seed: with one thread, every edge of
//!   every ioctl; with several, who is satisfied when and in which order.
//! * [`perform`](mod@perform) runs one and writes the transcript, with the threads of `crew` and the memory of
//!   `memory`. [`isolate`] does that in a separate process, so that a program that dies or hangs has a transcript, too.
//! * [`transcript`] compares two transcripts, [`shrink`] finds a minimal program that shows a difference.
//!
//! The outcome of a program with several threads is deterministic, because one thing happens at a time: before the next
//! step every thread has completed its call, or is asleep in it.

mod crew;
mod dice;
pub mod isolate;
mod memory;
pub mod perform;
pub mod program;
pub mod shrink;
mod single;
mod together;
pub mod transcript;

use program::Program;

/// What kind of program a seed gives.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// One thread, all ioctls, every edge value.
    Single,
    /// Several threads that sleep and wake each other.
    Together,
}

impl Kind {
    /// Its name in a file and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Single => "single",
            Kind::Together => "together",
        }
    }

    /// The kind of this name.
    pub fn named(name: &str) -> Option<Kind> {
        [Kind::Single, Kind::Together].into_iter().find(|kind| kind.name() == name)
    }

    /// The program of a seed.
    pub fn program(self, seed: u64) -> Program {
        match self {
            Kind::Single => single::program(seed),
            Kind::Together => together::program(seed),
        }
    }
}
