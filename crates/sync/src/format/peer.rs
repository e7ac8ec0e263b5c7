// SPDX-License-Identifier: MIT OR Apache-2.0
//! The word of a peer, a process that uses the arena; [`crate::arena::peers`] explains it.
//!
//! ```text
//!   127   126         103 102        64 63         32 31          0
//! +-------+--------------+------------+-------------+-------------+
//! |burying| incarnation  | start time |  namespace  |   process   |      0: empty
//! +-------+--------------+------------+-------------+-------------+
//! ```

use ntux_platform::atomic::Pair;
use ntux_platform::liveness::Process;

use super::fields::{Bits, PEER, part};

const NAMESPACE: Bits = part(PEER, "namespace");
const START: Bits = part(PEER, "start");
const INCARNATION: Bits = part(PEER, "incarnation");

/// The word of this process.
pub(crate) fn pack(process: Process) -> Pair {
    let incarnation = u64::from(process.incarnation) & INCARNATION.mask();
    Pair {
        low: u64::from(process.pid) | process.namespace << NAMESPACE.shift(),
        high: process.start & START.mask() | incarnation << INCARNATION.shift(),
    }
}

/// Set in the high half while the previous owner's resources are still being returned.
pub(crate) const BURYING: u64 = part(PEER, "burying").flag();

/// The process in a word; none if it is empty.
pub(crate) fn unpack(pair: Pair) -> Option<Process> {
    let process = Process {
        pid: pair.low as u32,
        start: pair.high & START.mask(),
        namespace: pair.low >> NAMESPACE.shift(),
        incarnation: (pair.high >> INCARNATION.shift() & INCARNATION.mask()) as u32,
    };
    (pair != Pair::default()).then_some(process)
}
