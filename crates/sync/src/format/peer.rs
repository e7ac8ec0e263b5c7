//! The word of a process that takes part; what it means stands in [`crate::arena::peers`].
//!
//! ```text
//!   127    126              64 63         32 31          0
//! +-------+------------------+-------------+-------------+
//! |burying|    start time    |  namespace  |   process   |      0: empty
//! +-------+------------------+-------------+-------------+
//! ```

use ntux_platform::atomic::Pair;
use ntux_platform::liveness::Process;

use super::fields::{Bits, PEER, part};

const NAMESPACE: Bits = part(PEER, "namespace");

/// The word of this process.
pub(crate) fn pack(process: Process) -> Pair {
    Pair { low: u64::from(process.pid) | process.namespace << NAMESPACE.shift(), high: process.start }
}

/// Of the high half: what the slot owned before is still being given back.
pub(crate) const BURYING: u64 = part(PEER, "burying").flag();

/// The process that a word names; none if it is empty.
pub(crate) fn unpack(pair: Pair) -> Option<Process> {
    let process =
        Process { pid: pair.low as u32, start: pair.high & !BURYING, namespace: pair.low >> NAMESPACE.shift() };
    (pair != Pair::default()).then_some(process)
}
