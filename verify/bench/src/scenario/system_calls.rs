// SPDX-License-Identifier: MIT OR Apache-2.0
//! How many system calls the calling thread makes for each operation.

use std::io;
use std::sync::mpsc;
use std::thread;

use ntux_testkit::task::Task;

use super::names::{BLOCKED_ANY, BLOCKED_WAIT, SATISFIED, SIGNAL};
use super::uncontended::joined as open_and_join;
use crate::asleep::until_asleep;
use crate::bench::{Bench, refusal};
use crate::measure::Sample;
use crate::peer::{Peer, Reset};
use crate::record::{Group, Outcome, Unit};
use crate::trace::{self, Calls, Region};

const REPETITIONS: u64 = 64;
const PLENTY: u32 = i32::MAX as u32;

/// What is counted for one name: it runs in a forked child and marks its region.
type Program<P> = fn(&P, &mut <P as Peer>::Thread) -> io::Result<()>;

const REGION: Region = Region(1);

pub(crate) fn run<P: Peer>(bench: &mut Bench, open: &impl Fn() -> io::Result<P>) {
    let satisfied: [Program<P>; 8] = [
        |peer, thread| {
            let mutex = peer.mutex(thread)?;
            repeat(|| {
                peer.wait(thread, mutex)?;
                peer.unlock(thread, mutex)
            })
        },
        |peer, thread| {
            let semaphore = peer.semaphore(thread, 1, 1)?;
            repeat(|| {
                peer.wait(thread, semaphore)?;
                peer.release(thread, semaphore, 1)
            })
        },
        |peer, thread| {
            let event = peer.event(thread, Reset::Auto)?;
            repeat(|| {
                peer.set(thread, event)?;
                peer.wait(thread, event)
            })
        },
        |peer, thread| {
            let event = peer.event(thread, Reset::Auto)?;
            repeat(|| peer.reset(thread, event))
        },
        |peer, thread| any(peer, thread, 8),
        |peer, thread| any(peer, thread, 64),
        |peer, thread| {
            let semaphores = semaphores(peer, thread, 8, PLENTY)?;
            repeat(|| peer.wait_all(thread, &semaphores))
        },
        |peer, thread| {
            let event = peer.event(thread, Reset::Manual)?;
            repeat(|| peer.set(thread, event))
        },
    ];
    for (name, program) in SATISFIED.into_iter().zip(satisfied) {
        count(bench, name, open, program);
    }
    count(bench, BLOCKED_WAIT, open, |peer, thread| blocked(peer, thread, 1, true));
    count(bench, BLOCKED_ANY, open, |peer, thread| blocked(peer, thread, 64, true));
    count(bench, SIGNAL, open, |peer, thread| blocked(peer, thread, 1, false));
}

fn count<P: Peer>(bench: &mut Bench, name: &str, open: &impl Fn() -> io::Result<P>, program: Program<P>) {
    if !bench.wanted(name) {
        return;
    }
    bench.announce(name);
    // A program that is refused is told apart from one that fails by trying it untraced first.
    let counted = tried(open, program).and_then(|()| trace::count(|| tried(open, program)));
    let (outcome, detail) = match counted.map(|mut regions| regions.remove(&REGION)) {
        Ok(Some(calls)) => (Outcome::Measured(mean(&calls)), Some(describe(&calls))),
        Ok(None) => (Outcome::Failed("the program never came to the operation".into()), None),
        Err(error) => (refusal(&error), None),
    };
    bench.at_rest();
    bench.record(Group::SystemCalls, Unit::Calls, name, outcome, detail);
}

fn tried<P: Peer>(open: &impl Fn() -> io::Result<P>, program: Program<P>) -> io::Result<()> {
    let (peer, mut thread) = open_and_join(open)?;
    program(&peer, &mut thread)
}

/// Once outside the region (first use may set something up), then counted.
fn repeat(mut operation: impl FnMut() -> io::Result<()>) -> io::Result<()> {
    operation()?;
    REGION.mark(|| (0..REPETITIONS).try_for_each(|_| operation()))
}

fn any<P: Peer>(peer: &P, thread: &mut P::Thread, count: usize) -> io::Result<()> {
    let mut semaphores = semaphores(peer, thread, count - 1, 0)?;
    semaphores.push(peer.semaphore(thread, PLENTY, PLENTY)?);
    repeat(|| peer.wait_any(thread, &semaphores).map(|_| ()))
}

fn semaphores<P: Peer>(peer: &P, thread: &mut P::Thread, count: usize, value: u32) -> io::Result<Vec<P::Object>> {
    (0..count).map(|_| peer.semaphore(thread, value, PLENTY)).collect()
}

/// A second thread sleeps on `count` events, the last of which this one sets when it is asleep; one of the two is
/// counted.
fn blocked<P: Peer>(peer: &P, thread: &mut P::Thread, count: usize, count_sleeper: bool) -> io::Result<()> {
    let events: Vec<_> = (0..count).map(|_| peer.event(thread, Reset::Auto)).collect::<io::Result<_>>()?;
    let last = events[count - 1];
    // A design that cannot wait for several objects says so here, before anybody waits for it.
    peer.set(thread, last)?;
    peer.wait_any(thread, &events)?;
    thread::scope(|scope| {
        let (report, reports) = mpsc::channel();
        let sleeper = scope.spawn(move || {
            let mut thread = peer.join(2)?;
            for step in 0..=REPETITIONS {
                let _ = report.send(Task::current());
                // The first time may set something up.
                let counted = count_sleeper && step > 0;
                REGION.mark_if(counted, || peer.wait_any(&mut thread, &events))?;
            }
            io::Result::Ok(())
        });
        for (step, id) in reports.into_iter().enumerate() {
            until_asleep(&[id])?;
            let counted = !count_sleeper && step > 0;
            REGION.mark_if(counted, || peer.set(thread, last))?;
        }
        crate::asleep::joined(sleeper)
    })
}

fn mean(calls: &Calls) -> Sample {
    Sample::exact(calls.values().sum::<u64>() as f64 / REPETITIONS as f64, REPETITIONS)
}

/// "1 futex", "2 poll + read"; calls that do not happen every time are marked.
fn describe(calls: &Calls) -> String {
    let parts: Vec<String> = calls
        .iter()
        .map(|(&number, &count)| match (count / REPETITIONS, count % REPETITIONS) {
            (1, 0) => trace::name(number),
            (each, 0) => format!("{each} {}", trace::name(number)),
            _ => format!("{:.2} {}", count as f64 / REPETITIONS as f64, trace::name(number)),
        })
        .collect();
    parts.join(" + ")
}
