// SPDX-License-Identifier: MIT OR Apache-2.0
//! Does an operation cost more among many objects, or with many waiters, and how many bytes does each take?

use std::io;
use std::sync::mpsc;
use std::thread;

use ntux_platform::atomic::{Word32, Word64};
use ntux_platform::clock::{Deadline, monotonic_ns};
use ntux_platform::futex;
use ntux_testkit::task::Task;

use super::uncontended::joined as open_and_join;
use crate::asleep::{joined, start, until_asleep};
use crate::bench::Bench;
use crate::measure::{Effort, Sample, per_operation};
use crate::peer::{Peer, Reset, unsupported};
use crate::record::Group;

const OBJECT_COUNTS: [usize; 5] = [10, 100, 1_000, 10_000, 100_000];
const WAITER_COUNTS: [u32; 4] = [1, 10, 100, 1_000];
/// Objects that one pass touches, spread over all there are.
const TOUCHED_MAX: usize = 1_000;
/// Objects that are created in a round, beside those there are.
const CREATED: usize = 16;
/// Has no common divisor with any of the counts, so that its multiples visit every object, far apart.
const STRIDE: usize = 7_919;

pub(crate) fn run<P: Peer>(bench: &mut Bench, open: &impl Fn() -> io::Result<P>) {
    for count in OBJECT_COUNTS {
        let names = ["set", "wait", "create"].map(|operation| format!("{operation} among {count} objects"));
        bench.times(Group::Growth, names.each_ref().map(String::as_str), |effort| among_objects(effort, open, count));
    }
    for count in WAITER_COUNTS {
        let names = [
            format!("auto-reset set, {count} waiters: call"),
            format!("auto-reset set, {count} waiters: one ran"),
            format!("set + wait elsewhere beside {count} waiters"),
        ];
        bench.times(Group::Growth, names.each_ref().map(String::as_str), |effort| with_waiters(effort, open, count));
    }
}

/// Sets many events, then waits for each of them, then creates some more: the mean of each.
fn among_objects<P: Peer>(effort: Effort, open: &impl Fn() -> io::Result<P>, count: usize) -> io::Result<[Sample; 3]> {
    let (peer, mut thread) = open_and_join(open)?;
    let created = (effort.rounds + 1) * CREATED;
    if peer.objects_max() < count + created {
        return unsupported("a descriptor each: too many");
    }
    let events: Vec<_> = (0..count).map(|_| peer.event(&mut thread, Reset::Auto)).collect::<io::Result<_>>()?;
    let touched = count.min(TOUCHED_MAX);
    let mut place = 0;
    let mut rounds = [Vec::new(), Vec::new(), Vec::new()];
    for round in 0..=effort.rounds {
        let (mut set_ns, mut wait_ns, mut passes) = (0, 0, 0u64);
        while set_ns + wait_ns < effort.round_ns() {
            let places = (0..touched).map(|step| (place + step * STRIDE) % count);
            let begin = monotonic_ns();
            places.clone().try_for_each(|place| peer.set(&mut thread, events[place]))?;
            let middle = monotonic_ns();
            places.clone().try_for_each(|place| peer.wait(&mut thread, events[place]))?;
            set_ns += middle - begin;
            wait_ns += monotonic_ns() - middle;
            passes += 1;
            place = (place + touched * STRIDE) % count;
        }
        let begin = monotonic_ns();
        (0..CREATED).try_for_each(|_| peer.event(&mut thread, Reset::Auto).map(|_| ()))?;
        let create_ns = monotonic_ns() - begin;
        // The first is the warm-up.
        if round > 0 {
            let operations = (passes * touched as u64) as f64;
            rounds[0].push(set_ns as f64 / operations);
            rounds[1].push(wait_ns as f64 / operations);
            rounds[2].push(create_ns as f64 / CREATED as f64);
        }
    }
    let [set, wait, create] = rounds;
    let touched = touched as u64;
    Ok([Sample::of_rounds(set, touched), Sample::of_rounds(wait, touched), Sample::of_rounds(create, CREATED as u64)])
}

/// A woken thread reports when it ran.
struct Handover {
    ran_ns: Word64,
    count: Word32,
    stop: Word32,
}

impl Handover {
    fn report(&self) {
        self.ran_ns.store(monotonic_ns());
        self.count.fetch_add(1);
        futex::wake(self.count_address(), 1);
    }

    fn wait(&self, before: u32) -> u64 {
        while self.count.load() == before {
            futex::wait(self.count_address(), before, Deadline::Never);
        }
        self.ran_ns.load()
    }

    fn count_address(&self) -> *const u32 {
        core::ptr::from_ref(&self.count).cast()
    }
}

/// `count` threads sleep on one auto-reset event: what a set costs, how long until one ran, and what a set and a wait
/// of an event that nobody else uses cost beside them.
fn with_waiters<P: Peer>(effort: Effort, open: &impl Fn() -> io::Result<P>, count: u32) -> io::Result<[Sample; 3]> {
    let (peer, mut thread) = open_and_join(open)?;
    let event = peer.event(&mut thread, Reset::Auto)?;
    let other = peer.event(&mut thread, Reset::Auto)?;
    let handover = Handover { ran_ns: Word64::new(0), count: Word32::new(0), stop: Word32::new(0) };
    thread::scope(|scope| {
        let (report_id, ids) = mpsc::channel();
        let mut handles = Vec::new();
        for owner in 0..count {
            let (peer, handover, report_id) = (&peer, &handover, report_id.clone());
            handles.push(start(scope, move || {
                let mut thread = peer.join(owner + 2)?;
                let _ = report_id.send(Task::current());
                loop {
                    peer.wait(&mut thread, event)?;
                    if handover.stop.load() != 0 {
                        // One after the other: each is woken by the one before.
                        return peer.set(&mut thread, event);
                    }
                    handover.report();
                }
            })?);
        }
        drop(report_id);
        let ids: Vec<_> = ids.into_iter().take(count as usize).collect();
        until_asleep(&ids)?;
        let beside = per_operation(effort, || {
            peer.set(&mut thread, other)?;
            peer.wait(&mut thread, other)
        })?;
        let steps = effort.long_steps;
        let mut rounds = [Vec::new(), Vec::new()];
        for round in 0..=effort.rounds {
            let mut sums = [0u64; 2];
            for _ in 0..steps {
                until_asleep(&ids)?;
                let before = handover.count.load();
                let begin = monotonic_ns();
                peer.set(&mut thread, event)?;
                sums[0] += monotonic_ns() - begin;
                sums[1] += handover.wait(before) - begin;
            }
            // The first is the warm-up.
            if round > 0 {
                rounds.iter_mut().zip(sums).for_each(|(round, sum)| round.push(sum as f64 / steps as f64));
            }
        }
        until_asleep(&ids)?;
        handover.stop.store(1);
        peer.set(&mut thread, event)?;
        handles.into_iter().try_for_each(joined)?;
        let [call, ran] = rounds.map(|round| Sample::of_rounds(round, steps as u64));
        Ok([call, ran, beside])
    })
}
