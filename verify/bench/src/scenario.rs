// SPDX-License-Identifier: MIT OR Apache-2.0
//! The scenarios. Each is one question, asked of every design.

#[cfg(linux_calls)]
pub(crate) mod asynchronous;
pub(crate) mod contended;
pub(crate) mod definitions;
#[cfg(linux_calls)]
pub(crate) mod foreign;
pub(crate) mod growth;
pub(crate) mod guarded;
#[cfg(linux_calls)]
pub(crate) mod held;
#[cfg(linux_calls)]
pub(crate) mod memory;
#[cfg(linux_calls)]
pub(crate) mod named;
pub(crate) mod names;
#[cfg(linux_calls)]
pub(crate) mod observed;
#[cfg(linux_calls)]
pub(crate) mod owners;
#[cfg(linux_calls)]
pub(crate) mod queues;
#[cfg(linux_calls)]
pub(crate) mod shared;
#[cfg(linux_calls)]
pub(crate) mod system_calls;
#[cfg(linux_calls)]
pub(crate) mod timers;
pub(crate) mod uncontended;
pub(crate) mod yardsticks;

use std::io;

use crate::bench::Bench;
use crate::peer::Peer;

/// Every scenario that any peer can be asked, for `peer`. Each gets a fresh instance from `open`.
pub(crate) fn all<P: Peer>(bench: &mut Bench, peer: &str, open: impl Fn() -> io::Result<P>) {
    bench.peer(peer);
    uncontended::run(bench, &open);
    contended::run(bench, &open);
    definitions::run(bench, &open);
    growth::run(bench, &open);
    #[cfg(linux_calls)]
    system_calls::run(bench, &open);
}

/// The scenarios for a peer that is there because its waits spin.
pub(crate) fn meetings<P: Peer>(bench: &mut Bench, peer: &str, open: impl Fn() -> io::Result<P>) {
    bench.peer(peer);
    uncontended::run(bench, &open);
    contended::run(bench, &open);
}
