// SPDX-License-Identifier: MIT OR Apache-2.0
//! How many bytes of an arena each object and each waiting thread takes.

use std::io;
use std::sync::mpsc;
use std::thread;

use ntux_testkit::task::Task;

use crate::asleep::{joined, start, until_asleep};
use crate::bench::Bench;
use crate::measure::Sample;
use crate::peer::arena::RustArena;
use crate::peer::{Peer, Reset};
use crate::record::{Group, Unit};

const OBJECT_BYTES: &str = "bytes for each object";
const WAITER_BYTES: &str = "bytes for each waiting thread";

/// Bytes of an arena; the other designs have no one place where theirs could be counted.
pub(crate) fn run(bench: &mut Bench) {
    bench.run(Group::Memory, Unit::Bytes, [OBJECT_BYTES], |_| object_bytes().map(|sample| [sample]));
    bench.run(Group::Memory, Unit::Bytes, [WAITER_BYTES], |_| waiter_bytes().map(|sample| [sample]));
}

fn object_bytes() -> io::Result<Sample> {
    const COUNT: u64 = 100_000;
    let peer = RustArena::open()?;
    let mut thread = peer.join(1)?;
    peer.event(&mut thread, Reset::Auto)?;
    let before = peer.bytes()?;
    for _ in 0..COUNT {
        peer.event(&mut thread, Reset::Auto)?;
    }
    Ok(Sample::exact((peer.bytes()? - before) as f64 / COUNT as f64, COUNT))
}

fn waiter_bytes() -> io::Result<Sample> {
    const COUNT: u32 = 1_000;
    let peer = RustArena::open()?;
    let mut thread = peer.join(1)?;
    let event = peer.event(&mut thread, Reset::Manual)?;
    let before = peer.bytes()?;
    let after = thread::scope(|scope| {
        let (report_id, ids) = mpsc::channel();
        let mut handles = Vec::new();
        for owner in 0..COUNT {
            let (peer, report_id) = (&peer, report_id.clone());
            handles.push(start(scope, move || {
                let mut thread = peer.join(owner + 2)?;
                let _ = report_id.send(Task::current());
                peer.wait(&mut thread, event)
            })?);
        }
        drop(report_id);
        let ids: Vec<_> = ids.into_iter().take(COUNT as usize).collect();
        until_asleep(&ids)?;
        let after = peer.bytes()?;
        peer.set(&mut thread, event)?;
        handles.into_iter().try_for_each(joined)?;
        io::Result::Ok(after)
    })?;
    Ok(Sample::exact((after - before) as f64 / f64::from(COUNT), u64::from(COUNT)))
}
