// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads and processes that wait for each other. Each scenario checks its assumptions: a design that lets two threads
//! into a mutex, or wakes the wrong one, fails instead of being fast.

use std::cell::UnsafeCell;
use std::io;
use std::sync::Barrier;
use std::sync::mpsc;
use std::thread;

use ntux_platform::atomic::{Word32, Word64};
use ntux_platform::clock::{Deadline, monotonic_ns};
use ntux_platform::futex;
use ntux_testkit::child::Child;
use ntux_testkit::task::Task;

use super::uncontended::joined as open_and_join;
use crate::asleep::{joined, start, until_asleep};
use crate::bench::Bench;
use crate::measure::{Effort, Sample, per_iteration};
use crate::peer::{Peer, Reset, unsupported};
use crate::record::Group;

pub(crate) const MUTEX: &str = "mutex lock + unlock, two threads";
pub(crate) const SEMAPHORE: &str = "semaphore wait + release, two threads";
pub(crate) const EVENT: &str = "auto-reset event wait + set, two threads";
pub(crate) const ZIGZAG: &str = "zigzag round trip, two threads";
pub(crate) const PING_PONG: &str = "ping-pong round trip, two processes";

const WAIT_COUNT: usize = 64;

pub(crate) fn run<P: Peer>(bench: &mut Bench, open: &impl Fn() -> io::Result<P>) {
    let group = Group::Contended;
    for guard in [Guard::Mutex, Guard::Semaphore, Guard::Event] {
        bench.time(group, guard.scenario(), |effort| guarded(effort, open, guard, 2));
    }
    bench.time(group, ZIGZAG, |effort| zigzag(effort, open));
    bench.time(group, PING_PONG, |effort| ping_pong(effort, open));
    for waiters in [1, 8, 64, 512] {
        let set = format!("manual-reset set, {waiters} waiters: call");
        let all = format!("manual-reset set, {waiters} waiters: all ran");
        bench.times(group, [set.as_str(), all.as_str()], |effort| broadcast(effort, open, waiters));
    }
    for (name, signaled) in [
        ("blocked wait-any of 64, 1st signaled", 0),
        ("blocked wait-any of 64, 32nd signaled", 31),
        ("blocked wait-any of 64, 64th signaled", 63),
    ] {
        bench.time(group, name, |effort| any(effort, open, signaled));
    }
}

/// A counter without any protection of its own.
struct Unprotected(UnsafeCell<u64>);

// SAFETY: `add_one` is volatile and the scenario brackets each call with the mutex under test. If that mutex is broken
// the count comes out wrong, which is what it is for; no reference to the inside exists.
unsafe impl Sync for Unprotected {}

impl Unprotected {
    fn add_one(&self) {
        let place = self.0.get();
        // SAFETY: the place is valid for the life of `self`; see `Sync` above about other threads.
        unsafe { place.write_volatile(place.read_volatile() + 1) };
    }
}

/// What lets one thread in at a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Guard {
    Mutex,
    /// With one unit.
    Semaphore,
    /// Auto-reset; a thread that leaves sets it.
    Event,
}

impl Guard {
    fn scenario(self) -> &'static str {
        match self {
            Guard::Mutex => MUTEX,
            Guard::Semaphore => SEMAPHORE,
            Guard::Event => EVENT,
        }
    }

    fn create<P: Peer>(self, peer: &P, thread: &mut P::Thread) -> io::Result<P::Object> {
        match self {
            Guard::Mutex => peer.mutex(thread),
            Guard::Semaphore => peer.semaphore(thread, 1, 1),
            Guard::Event => {
                let event = peer.event(thread, Reset::Auto)?;
                peer.set(thread, event)?;
                Ok(event)
            }
        }
    }

    #[inline(always)]
    fn leave<P: Peer>(self, peer: &P, thread: &mut P::Thread, object: P::Object) -> io::Result<()> {
        match self {
            Guard::Mutex => peer.unlock(thread, object),
            Guard::Semaphore => peer.release(thread, object, 1),
            Guard::Event => peer.set(thread, object),
        }
    }
}

/// Several threads add to one plain counter under one guard.
pub(crate) fn guarded<P: Peer>(
    effort: Effort,
    open: &impl Fn() -> io::Result<P>,
    guard: Guard,
    threads: u32,
) -> io::Result<Sample> {
    let (peer, mut thread) = open_and_join(open)?;
    let object = guard.create(&peer, &mut thread)?;
    per_iteration(effort, |iterations| {
        let (counter, barrier) = (Unprotected(UnsafeCell::new(0)), Barrier::new(threads as usize));
        let times = thread::scope(|scope| {
            let running = (2..2 + threads).map(|owner| {
                let (peer, counter, barrier) = (&peer, &counter, &barrier);
                scope.spawn(move || {
                    let thread = peer.join(owner);
                    barrier.wait();
                    let mut thread = thread?;
                    let begin = monotonic_ns();
                    for _ in 0..iterations {
                        peer.wait(&mut thread, object)?;
                        counter.add_one();
                        guard.leave(peer, &mut thread, object)?;
                    }
                    io::Result::Ok((begin, monotonic_ns()))
                })
            });
            // All have begun before the first is waited for.
            running.collect::<Vec<_>>().into_iter().map(joined).collect::<io::Result<Vec<_>>>()
        })?;
        let (found, expected) = (counter.0.into_inner(), u64::from(threads) * iterations);
        if found != expected {
            return Err(io::Error::other(format!("the counter is {found}, not {expected}: two threads were in")));
        }
        let begin = times.iter().map(|time| time.0).min().unwrap_or_default();
        let end = times.iter().map(|time| time.1).max().unwrap_or_default();
        Ok((end - begin) / u64::from(threads))
    })
}

/// Two threads hand a token to and fro by two auto-reset events: wait for mine, reset mine (it changes nothing, but it
/// is a call), check and flip the state, set the other's. As many round trips as fit into the time.
fn zigzag<P: Peer>(effort: Effort, open: &impl Fn() -> io::Result<P>) -> io::Result<Sample> {
    let (peer, mut thread) = open_and_join(open)?;
    let mut rounds = Vec::new();
    let mut trips = 0;
    for round in 0..=effort.rounds {
        let begin = monotonic_ns();
        trips = zigzag_round(effort, &peer, &mut thread)?;
        let result = (monotonic_ns() - begin) as f64 / trips as f64;
        // The first is the warm-up.
        if round > 0 {
            rounds.push(result);
        }
    }
    Ok(Sample::of_rounds(rounds, trips))
}

fn zigzag_round<P: Peer>(effort: Effort, peer: &P, thread: &mut P::Thread) -> io::Result<u64> {
    let events = [peer.event(thread, Reset::Auto)?, peer.event(thread, Reset::Auto)?];
    let (state, stop) = (Word32::new(0), Word32::new(0));
    thread::scope(|scope| {
        let threads = [0, 1].map(|side| {
            let (state, stop) = (&state, &stop);
            scope.spawn(move || zigzag_side(peer, events, side, state, stop))
        });
        peer.set(thread, events[0])?;
        thread::sleep(effort.round);
        stop.store(1);
        let [first, second] = threads.map(joined);
        match (first?, second?) {
            (first, second) if first == second || first == second + 1 => Ok(first.max(1)),
            (first, second) => Err(io::Error::other(format!("one side ran {first} times, the other {second}"))),
        }
    })
}

fn zigzag_side<P: Peer>(
    peer: &P,
    events: [P::Object; 2],
    side: usize,
    state: &Word32,
    stop: &Word32,
) -> io::Result<u64> {
    let mut thread = peer.join(side as u32 + 2)?;
    let mut count = 0;
    let result = loop {
        peer.wait(&mut thread, events[side])?;
        if stop.load() != 0 {
            break Ok(count);
        }
        peer.reset(&mut thread, events[side])?;
        if state.load() != side as u32 {
            stop.store(1);
            break Err(io::Error::other("a side was woken when it was not its turn"));
        }
        state.store(1 - side as u32);
        peer.set(&mut thread, events[1 - side])?;
        count += 1;
    };
    // The other side must learn that it is over.
    peer.set(&mut thread, events[1 - side])?;
    result
}

/// The same between two processes, without the checks: set, and wait for the answer.
fn ping_pong<P: Peer>(effort: Effort, open: &impl Fn() -> io::Result<P>) -> io::Result<Sample> {
    let (mut peer, mut thread) = open_and_join(open)?;
    if !peer.is_shared() {
        return unsupported("its objects belong to one process");
    }
    let (ping, pong) = (peer.event(&mut thread, Reset::Auto)?, peer.event(&mut thread, Reset::Auto)?);
    let _other = Child::fork(|| {
        let mut answer = || -> io::Result<()> {
            peer.after_fork()?;
            let mut thread = peer.join(2)?;
            loop {
                peer.wait(&mut thread, ping)?;
                peer.set(&mut thread, pong)?;
            }
        };
        answer().expect("the other process answers");
    })?;
    per_iteration(effort, |iterations| {
        let begin = monotonic_ns();
        for _ in 0..iterations {
            peer.set(&mut thread, ping)?;
            peer.wait(&mut thread, pong)?;
        }
        Ok(monotonic_ns() - begin)
    })
}

/// A thread sleeps on 64 events, another signals one of them and sleeps until it is told that it arrived.
fn any<P: Peer>(effort: Effort, open: &impl Fn() -> io::Result<P>, signaled: usize) -> io::Result<Sample> {
    let (peer, mut thread) = open_and_join(open)?;
    let events: Vec<_> = (0..WAIT_COUNT).map(|_| peer.event(&mut thread, Reset::Auto)).collect::<io::Result<_>>()?;
    let arrived = peer.event(&mut thread, Reset::Auto)?;
    // A design that cannot wait for several objects says so here, before anybody waits for it.
    peer.set(&mut thread, events[signaled])?;
    peer.wait_any(&mut thread, &events)?;
    per_iteration(effort, |iterations| {
        thread::scope(|scope| {
            let waiter = scope.spawn(|| {
                let mut thread = peer.join(2)?;
                let mut wrong = 0;
                for _ in 0..iterations {
                    wrong += u64::from(peer.wait_any(&mut thread, &events)? != signaled);
                    peer.set(&mut thread, arrived)?;
                }
                io::Result::Ok(wrong)
            });
            let begin = monotonic_ns();
            for _ in 0..iterations {
                peer.set(&mut thread, events[signaled])?;
                peer.wait(&mut thread, arrived)?;
            }
            let elapsed = monotonic_ns() - begin;
            match joined(waiter)? {
                0 => Ok(elapsed),
                wrong => Err(io::Error::other(format!("{wrong} times another object was reported than was signaled"))),
            }
        })
    })
}

/// The waiters of a broadcast report here; the last one tells the signaler when it ran.
struct Arrivals {
    count: Word32,
    expected: u32,
    last_ns: Word64,
    done: Word32,
}

impl Arrivals {
    fn report(&self) {
        let now = monotonic_ns();
        if self.count.fetch_add(1) + 1 == self.expected {
            self.count.store(0);
            self.last_ns.store(now);
            self.done.fetch_add(1);
            futex::wake(self.done_address(), 1);
        }
    }

    /// Sleeps until all reported for the time after `before`; when the last one did.
    fn wait(&self, before: u32) -> u64 {
        while self.done.load() == before {
            futex::wait(self.done_address(), before, Deadline::Never);
        }
        self.last_ns.load()
    }

    fn done_address(&self) -> *const u32 {
        core::ptr::from_ref(&self.done).cast()
    }
}

/// One set wakes all of `waiters`, which all sleep: how long the call takes, and until the last of them ran.
fn broadcast<P: Peer>(effort: Effort, open: &impl Fn() -> io::Result<P>, waiters: u32) -> io::Result<[Sample; 2]> {
    let (peer, mut thread) = open_and_join(open)?;
    // All sleep on one of the two while the other is reset.
    let events = [peer.event(&mut thread, Reset::Manual)?, peer.event(&mut thread, Reset::Manual)?];
    let steps = effort.long_steps * if waiters > 64 { 1 } else { 4 };
    let total = (effort.rounds + 1) * steps;
    let arrivals = Arrivals { count: Word32::new(0), expected: waiters, last_ns: Word64::new(0), done: Word32::new(0) };
    thread::scope(|scope| {
        let (report_id, ids) = mpsc::channel();
        let mut handles = Vec::new();
        for owner in 0..waiters {
            let (peer, arrivals, report_id) = (&peer, &arrivals, report_id.clone());
            handles.push(start(scope, move || {
                let mut thread = peer.join(owner + 2)?;
                let _ = report_id.send(Task::current());
                for step in 0..total {
                    peer.wait(&mut thread, events[step % 2])?;
                    arrivals.report();
                }
                io::Result::Ok(())
            })?);
        }
        drop(report_id);
        let ids: Vec<_> = ids.into_iter().take(waiters as usize).collect();
        let mut rounds = [Vec::new(), Vec::new()];
        for round in 0..=effort.rounds {
            let mut sums = [0u64; 2];
            for step in round * steps..(round + 1) * steps {
                until_asleep(&ids)?;
                let before = arrivals.done.load();
                let begin = monotonic_ns();
                peer.set(&mut thread, events[step % 2])?;
                sums[0] += monotonic_ns() - begin;
                sums[1] += arrivals.wait(before) - begin;
                peer.reset(&mut thread, events[step % 2])?;
            }
            // The first is the warm-up.
            if round > 0 {
                rounds.iter_mut().zip(sums).for_each(|(round, sum)| round.push(sum as f64 / steps as f64));
            }
        }
        handles.into_iter().try_for_each(joined)?;
        Ok(rounds.map(|round| Sample::of_rounds(round, steps as u64)))
    })
}

#[cfg(test)]
mod tests {
    use ntux_testkit::rival::{AdaptiveFutex, Futex};

    use super::*;
    use crate::peer::parking::Parking;
    use crate::peer::planted::{Bug, Planted};

    const LONG_ENOUGH: Effort = Effort { rounds: 3, round: std::time::Duration::from_millis(20), long_steps: 1 };

    fn planted(bug: Bug) -> impl Fn() -> io::Result<Planted> {
        move || Ok(Planted { bug, inner: Futex::open()? })
    }

    fn complaint(result: io::Result<Sample>) -> String {
        result.expect_err("the planted bug was not seen").to_string()
    }

    /// Two threads that never run at the same time cannot be in together: on a busy machine that takes a few runs.
    #[test]
    fn a_mutex_that_lets_two_threads_in_is_caught() {
        let run = |_| guarded(LONG_ENOUGH, &planted(Bug::OpenMutex), Guard::Mutex, 2);
        let caught = (0..100).map(run).find(Result::is_err).expect("two threads ran at the same time");
        assert!(complaint(caught).contains("two threads were in"));
    }

    #[test]
    fn a_wait_that_does_not_wait_is_caught() {
        assert!(complaint(zigzag(LONG_ENOUGH, &planted(Bug::EagerEvent))).contains("not its turn"));
    }

    #[test]
    fn a_wrong_index_is_caught() {
        assert!(complaint(any(LONG_ENOUGH, &planted(Bug::WrongIndex), 63)).contains("another object"));
    }

    #[test]
    fn a_peer_without_a_bug_passes() {
        for guard in [Guard::Mutex, Guard::Semaphore, Guard::Event] {
            assert!(guarded(LONG_ENOUGH, &Futex::open, guard, 2).is_ok());
            assert!(guarded(LONG_ENOUGH, &AdaptiveFutex::open, guard, 2).is_ok());
            assert!(guarded(LONG_ENOUGH, &Parking::open, guard, 2).is_ok());
        }
        assert!(zigzag(LONG_ENOUGH, &Futex::open).is_ok());
        assert!(zigzag(LONG_ENOUGH, &AdaptiveFutex::open).is_ok());
        assert!(zigzag(LONG_ENOUGH, &Parking::open).is_ok());
    }
}
