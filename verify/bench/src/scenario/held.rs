// SPDX-License-Identifier: MIT OR Apache-2.0
//! Objects that end with their last hold, beside descriptors that end with their last close.

use std::io;

use ntux_sync::{Arena, Capacity};
use ntux_testkit::reopened::owned;

use crate::bench::Bench;
use crate::measure::{Effort, Sample, per_operation};
use crate::record::Group;
use crate::report::{EVENTFD, RUST};

const ONE: &str = "create + release";
const TWO: &str = "create + hold + release both";

pub(crate) fn run(bench: &mut Bench) {
    bench.peer(RUST).times(Group::Growth, [ONE, TWO], objects);
    bench.peer(EVENTFD).times(Group::Growth, [ONE, TWO], descriptors);
}

fn objects(effort: Effort) -> io::Result<[Sample; 2]> {
    let arena = Arena::create(Capacity { objects: 64, waiters: 4 }).map_err(io::Error::other)?;
    let waiter = arena.waiter();
    let new = || arena.event_create(&waiter, false, false).map_err(io::Error::other);
    let release = |object| arena.release(object).map_err(io::Error::other);
    Ok([
        per_operation(effort, || release(new()?))?,
        per_operation(effort, || {
            let event = new()?;
            arena.hold(event).map_err(io::Error::other)?;
            release(event)?;
            release(event)
        })?,
    ])
}

fn descriptors(effort: Effort) -> io::Result<[Sample; 2]> {
    // SAFETY: a call without pointers; what it returns is new.
    let new = || unsafe { owned(libc::eventfd(0, libc::EFD_CLOEXEC)) };
    Ok([
        per_operation(effort, || new().map(drop))?,
        per_operation(effort, || {
            let event = new()?;
            event.try_clone().map(drop)
        })?,
    ])
}
