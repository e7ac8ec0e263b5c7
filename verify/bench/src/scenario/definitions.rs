// SPDX-License-Identifier: MIT OR Apache-2.0
//! The rows in which msync's figures were published, by the same definitions, as far as they are told. `wine/rows.c` asks them of
//! a Wine.

use std::io;
use std::sync::mpsc;
use std::thread;

use ntux_platform::clock::{monotonic_ns, process_ns};
use ntux_testkit::rival::Poll;
use ntux_testkit::task::Task;

use super::contended::{Guard, guarded};
use super::uncontended::joined as open_and_join;
use crate::asleep::{joined, start, until_asleep};
use crate::bench::Bench;
use crate::measure::{Effort, Sample, per_iteration, per_operation};
use crate::peer::{Peer, Reset};
use crate::record::Group;

const THREADS: u32 = 8;
/// More than any run takes out or puts in.
const PLENTY: u32 = i32::MAX as u32;

pub(crate) fn run<P: Peer>(bench: &mut Bench, open: &impl Fn() -> io::Result<P>) {
    let group = Group::Definitions;
    bench.time(group, "wait for a semaphore that has units", |effort| {
        let (peer, mut thread) = open_and_join(open)?;
        let semaphore = peer.semaphore(&mut thread, PLENTY, PLENTY)?;
        per_operation(effort, || peer.wait(&mut thread, semaphore))
    });
    bench.time(group, "release a semaphore for which nobody waits", |effort| {
        let (peer, mut thread) = open_and_join(open)?;
        let semaphore = peer.semaphore(&mut thread, 0, PLENTY)?;
        per_operation(effort, || peer.release(&mut thread, semaphore, 1))
    });
    bench.time(group, "wake of a wait for all of two", |effort| wake(effort, open, Mode::All));
    bench.time(group, "wake of a wait for any of two", |effort| wake(effort, open, Mode::Any));
    bench.time(group, "eight threads pass one auto-reset event", |effort| guarded(effort, open, Guard::Event, THREADS));
    bench.time(group, "processor time of one set beside 8 parked", |effort| beside_parked(effort, open));
}

/// For designs that can look without waiting.
pub(crate) fn poll<P: Poll>(bench: &mut Bench, peer: &str, open: impl Fn() -> io::Result<P>) {
    bench.peer(peer).time(Group::Definitions, "poll for all of two, one is not signaled", |effort| {
        let (peer, mut thread) = open_and_join(&open)?;
        let two = [peer.event(&mut thread, Reset::Manual)?, peer.event(&mut thread, Reset::Manual)?];
        peer.set(&mut thread, two[0])?;
        per_operation(effort, || match peer.try_all(&mut thread, &two)? {
            false => Ok(()),
            true => Err(io::Error::other("both were taken, although one is not signaled")),
        })
    });
}

/// What satisfies the wait of the other side.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    All,
    Any,
}

impl Mode {
    fn wait<P: Peer>(self, peer: &P, thread: &mut P::Thread, two: &[P::Object; 2]) -> io::Result<()> {
        match self {
            Mode::All => peer.wait_all(thread, two),
            Mode::Any => peer.wait_any(thread, two).map(|_| ()),
        }
    }
}

/// From the set that satisfies a wait to the moment when its answer has come back, halved.
fn wake<P: Peer>(effort: Effort, open: &impl Fn() -> io::Result<P>, mode: Mode) -> io::Result<Sample> {
    let (peer, mut thread) = open_and_join(open)?;
    let two = [peer.event(&mut thread, Reset::Auto)?, peer.event(&mut thread, Reset::Auto)?];
    let ready = peer.event(&mut thread, Reset::Auto)?;
    // A design that cannot wait for several objects says so here, before anybody waits for it.
    let needed = if mode == Mode::All { 2 } else { 1 };
    two[..needed].iter().try_for_each(|&event| peer.set(&mut thread, event))?;
    mode.wait(&peer, &mut thread, &two)?;
    per_iteration(effort, |iterations| {
        thread::scope(|scope| {
            let waiter = scope.spawn(|| {
                let mut thread = peer.join(2)?;
                for _ in 0..iterations {
                    mode.wait(&peer, &mut thread, &two)?;
                    peer.set(&mut thread, ready)?;
                }
                io::Result::Ok(())
            });
            let mut sum = 0;
            for _ in 0..iterations {
                if mode == Mode::All {
                    peer.set(&mut thread, two[0])?;
                }
                let begin = monotonic_ns();
                peer.set(&mut thread, two[1])?;
                peer.wait(&mut thread, ready)?;
                sum += monotonic_ns() - begin;
            }
            joined(waiter)?;
            Ok(sum / 2)
        })
    })
}

/// What this process computes for one set and the wake of its waiter, while seven other threads wait for other events, all of them
/// for one in common. A server's process is not counted.
fn beside_parked<P: Peer>(effort: Effort, open: &impl Fn() -> io::Result<P>) -> io::Result<Sample> {
    let (peer, mut thread) = open_and_join(open)?;
    let events: Vec<_> = (0..THREADS).map(|_| peer.event(&mut thread, Reset::Auto)).collect::<io::Result<_>>()?;
    let (over, ready) = (peer.event(&mut thread, Reset::Manual)?, peer.event(&mut thread, Reset::Auto)?);
    // As above.
    peer.set(&mut thread, over)?;
    peer.wait_any(&mut thread, &[events[0], over])?;
    per_iteration(effort, |iterations| {
        peer.reset(&mut thread, over)?;
        thread::scope(|scope| {
            let (report_id, ids) = mpsc::channel();
            let mut parked = Vec::new();
            for (owner, &event) in (2..).zip(&events) {
                let (peer, report_id) = (&peer, report_id.clone());
                parked.push(start(scope, move || {
                    let mut thread = peer.join(owner)?;
                    let _ = report_id.send(Task::current());
                    while peer.wait_any(&mut thread, &[event, over])? == 0 {
                        peer.set(&mut thread, ready)?;
                    }
                    io::Result::Ok(())
                })?);
            }
            let ids: Vec<_> = ids.into_iter().take(events.len()).collect();
            until_asleep(&ids)?;
            let begin = process_ns();
            for _ in 0..iterations {
                peer.set(&mut thread, events[0])?;
                peer.wait(&mut thread, ready)?;
            }
            let used = process_ns() - begin;
            peer.set(&mut thread, over)?;
            parked.into_iter().try_for_each(joined)?;
            Ok(used)
        })
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ntux_testkit::rival::Futex;

    use super::*;
    use crate::peer::planted::{Bug, Planted};

    /// Threads that never run at the same time cannot be in together: on a busy machine that takes a few runs.
    #[test]
    fn an_event_that_lets_two_of_eight_threads_in_is_caught() {
        let effort = Effort { rounds: 3, round: Duration::from_millis(20), long_steps: 1 };
        let open = || Ok(Planted { bug: Bug::EagerEvent, inner: Futex::open()? });
        let run = |_| guarded(effort, &open, Guard::Event, THREADS);
        let caught = (0..100).map(run).find_map(Result::err).expect("two threads ran at the same time");
        assert!(caught.to_string().contains("two threads were in"));
    }
}
