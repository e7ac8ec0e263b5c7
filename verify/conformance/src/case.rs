// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cases, and the list of all.

use crate::cases;
use crate::face::Face;

/// One conformance case.
#[derive(Clone, Copy)]
pub struct Case {
    /// A sentence: what is so.
    pub name: &'static str,
    /// The clauses of `docs/reference/semantics.md` that it checks.
    pub clauses: &'static [&'static str],
    /// What to do.
    pub body: Body,
}

/// The steps of a case, by what they need.
#[derive(Clone, Copy)]
pub enum Body {
    /// Runs on every face.
    Everywhere(fn(&dyn Face)),
    /// Forks: runs on a face whose objects several processes share.
    Processes(fn(&dyn Face)),
    /// Forks, and holds objects, or uses timers or queues: runs on a face whose objects are numbers that processes hold.
    Holds(fn(&dyn Face)),
    /// Makes a time namespace: runs where several processes share the objects and the system permits it.
    TimeNamespace(fn(&dyn Face)),
    /// Sets the wall clock of the whole machine: runs where that was asked for.
    WallClock(fn(&dyn Face)),
    /// Is about descriptors, ioctl numbers, user pointers or signals: runs on a device.
    Device(fn()),
}

/// What a body needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// See [`Body::Everywhere`].
    Everywhere,
    /// See [`Body::Processes`].
    Processes,
    /// See [`Body::Holds`].
    Holds,
    /// See [`Body::TimeNamespace`].
    TimeNamespace,
    /// See [`Body::WallClock`].
    WallClock,
    /// See [`Body::Device`].
    Device,
}

impl Case {
    /// What the case needs.
    pub fn kind(&self) -> Kind {
        match self.body {
            Body::Everywhere(_) => Kind::Everywhere,
            Body::Processes(_) => Kind::Processes,
            Body::Holds(_) => Kind::Holds,
            Body::TimeNamespace(_) => Kind::TimeNamespace,
            Body::WallClock(_) => Kind::WallClock,
            Body::Device(_) => Kind::Device,
        }
    }
}

/// `case!(Everywhere, the_function, "S-101")`: the function's name is the case's name.
macro_rules! case {
    ($kind:ident, $function:ident, $($clause:literal),+) => {
        $crate::case::Case {
            name: stringify!($function),
            clauses: &[$($clause),+],
            body: $crate::case::Body::$kind($function),
        }
    };
}
pub(crate) use case;

/// All cases, in the order of the clauses.
pub fn all() -> impl Iterator<Item = Case> {
    cases::LISTS.iter().chain(cases::OF_THE_DEVICE).flat_map(|list| list.iter().copied())
}
