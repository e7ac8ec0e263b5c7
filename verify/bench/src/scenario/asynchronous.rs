// SPDX-License-Identifier: MIT OR Apache-2.0
//! Asynchronous waits, beside what async Rust has for the tasks of one process. All of them run in the same executor.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::thread;

use ntux::{Arena, Capacity, Reset};
use ntux_platform::clock::monotonic_ns;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Notify;

use crate::bench::Bench;
use crate::measure::{Effort, Sample, per_iteration};
use crate::record::Group;
use crate::report::{LISTENER, NOTIFY, RUST};

const ALONE: &str = "a task waits for an event, which the task sets";
const PASS: &str = "an event to a task that sleeps, and one back";

pub(crate) fn run(bench: &mut Bench) {
    let ours = || Ok((event()?, event()?));
    rows(bench, RUST, ours);
    rows(bench, NOTIFY, || Ok((Notify::new(), Notify::new())));
    rows(bench, LISTENER, || Ok((Listened::default(), Listened::default())));
}

fn rows<A: Awaited>(bench: &mut Bench, peer: &str, pair: impl Fn() -> io::Result<(A, A)>) {
    bench.peer(peer).time(Group::WithoutThread, ALONE, |effort| alone(effort, &pair()?.0));
    bench.time(Group::WithoutThread, PASS, |effort| passed(effort, &pair()?));
}

/// What an auto-reset event does.
trait Awaited: Sync {
    fn set(&self) -> io::Result<()>;
    fn wait(&self) -> impl Future<Output = io::Result<()>>;
}

/// An event of an arena of its own.
struct Event {
    _arena: Arena,
    event: ntux::Event,
}

fn event() -> io::Result<Event> {
    let arena = Arena::create(Capacity::default()).map_err(io::Error::other)?;
    let event = ntux::Event::create(&arena, Reset::Auto, false).map_err(io::Error::other)?;
    Ok(Event { _arena: arena, event })
}

impl Awaited for Event {
    fn set(&self) -> io::Result<()> {
        self.event.set().map(drop).map_err(io::Error::other)
    }

    async fn wait(&self) -> io::Result<()> {
        self.event.wait_async().await.map(drop).map_err(io::Error::other)
    }
}

impl Awaited for Notify {
    fn set(&self) -> io::Result<()> {
        self.notify_one();
        Ok(())
    }

    async fn wait(&self) -> io::Result<()> {
        self.notified().await;
        Ok(())
    }
}

/// A flag, and whom to wake when it was set: what the documentation of event-listener shows.
#[derive(Default)]
struct Listened {
    set: AtomicBool,
    event: event_listener::Event,
}

impl Awaited for Listened {
    fn set(&self) -> io::Result<()> {
        self.set.store(true, Ordering::SeqCst);
        self.event.notify(1);
        Ok(())
    }

    async fn wait(&self) -> io::Result<()> {
        loop {
            if self.set.swap(false, Ordering::SeqCst) {
                return Ok(());
            }
            let listener = self.event.listen();
            if self.set.swap(false, Ordering::SeqCst) {
                return Ok(());
            }
            listener.await;
        }
    }
}

fn executor() -> io::Result<Runtime> {
    Builder::new_current_thread().build()
}

/// A wait that has begun, a set, and the wait's end.
fn alone(effort: Effort, event: &impl Awaited) -> io::Result<Sample> {
    let executor = executor()?;
    per_iteration(effort, |iterations| {
        executor.block_on(async {
            let start = monotonic_ns();
            for _ in 0..iterations {
                let mut wait = pin!(event.wait());
                if poll_fn(|context| Poll::Ready(wait.as_mut().poll(context).is_ready())).await {
                    return Err(io::Error::other("the event is set"));
                }
                event.set()?;
                wait.await?;
            }
            Ok(monotonic_ns() - start)
        })
    })
}

fn passed<A: Awaited>(effort: Effort, (there, back): &(A, A)) -> io::Result<Sample> {
    per_iteration(effort, |iterations| {
        thread::scope(|scope| {
            let answering = scope.spawn(move || {
                executor()?.block_on(async {
                    for _ in 0..iterations {
                        there.wait().await?;
                        back.set()?;
                    }
                    Ok(())
                })
            });
            let took = executor()?.block_on(async {
                let start = monotonic_ns();
                for _ in 0..iterations {
                    there.set()?;
                    back.wait().await?;
                }
                Ok(monotonic_ns() - start)
            });
            answering.join().map_err(|_| io::Error::other("the other thread panicked"))?.and(took)
        })
    })
}
