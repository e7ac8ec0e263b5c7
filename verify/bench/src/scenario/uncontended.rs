// SPDX-License-Identifier: MIT OR Apache-2.0
//! One thread, without contention.

use std::io;

use crate::bench::Bench;
use crate::measure::{Sample, per_operation};
use crate::peer::{Peer, Reset};
use crate::record::Group;

pub(crate) const MUTEX: &str = "mutex lock + unlock";
pub(crate) const SEMAPHORE: &str = "semaphore wait + release";
pub(crate) const EVENT: &str = "auto-reset event set + wait";

/// More than any run takes out.
const PLENTY: u32 = i32::MAX as u32;

pub(crate) fn run<P: Peer>(bench: &mut Bench, open: &impl Fn() -> io::Result<P>) {
    let group = Group::Uncontended;
    bench.time(group, MUTEX, |effort| {
        let (peer, mut thread) = joined(open)?;
        let mutex = peer.mutex(&mut thread)?;
        per_operation(effort, || {
            peer.wait(&mut thread, mutex)?;
            peer.unlock(&mut thread, mutex)
        })
    });
    bench.time(group, SEMAPHORE, |effort| {
        let (peer, mut thread) = joined(open)?;
        let semaphore = peer.semaphore(&mut thread, 1, 1)?;
        per_operation(effort, || {
            peer.wait(&mut thread, semaphore)?;
            peer.release(&mut thread, semaphore, 1)
        })
    });
    bench.time(group, EVENT, |effort| {
        let (peer, mut thread) = joined(open)?;
        let event = peer.event(&mut thread, Reset::Auto)?;
        per_operation(effort, || {
            peer.set(&mut thread, event)?;
            peer.wait(&mut thread, event)
        })
    });
    for (count, signaled, name) in [
        (8, 0, "wait-any of 8, first signaled"),
        (8, 7, "wait-any of 8, last signaled"),
        (64, 0, "wait-any of 64, first signaled"),
        (64, 63, "wait-any of 64, last signaled"),
    ] {
        bench.time(group, name, |effort| any(effort, open, count, signaled));
    }
    bench.time(group, "wait-all of 8", |effort| {
        let (peer, mut thread) = joined(open)?;
        let semaphores = semaphores(&peer, &mut thread, 8, |_| PLENTY)?;
        per_operation(effort, || peer.wait_all(&mut thread, &semaphores))
    });
}

fn any<P: Peer>(
    effort: crate::measure::Effort,
    open: &impl Fn() -> io::Result<P>,
    count: usize,
    signaled: usize,
) -> io::Result<Sample> {
    let (peer, mut thread) = joined(open)?;
    let semaphores = semaphores(&peer, &mut thread, count, |index| if index == signaled { PLENTY } else { 0 })?;
    per_operation(effort, || match peer.wait_any(&mut thread, &semaphores)? {
        index if index == signaled => Ok(()),
        index => Err(io::Error::other(format!("object {index} was reported, {signaled} was signaled"))),
    })
}

fn semaphores<P: Peer>(
    peer: &P,
    thread: &mut P::Thread,
    count: usize,
    value: impl Fn(usize) -> u32,
) -> io::Result<Vec<P::Object>> {
    (0..count).map(|index| peer.semaphore(thread, value(index), PLENTY)).collect()
}

/// A fresh instance with the calling thread in it.
pub(crate) fn joined<P: Peer>(open: &impl Fn() -> io::Result<P>) -> io::Result<(P, P::Thread)> {
    let peer = open()?;
    let thread = peer.join(1)?;
    Ok((peer, thread))
}
