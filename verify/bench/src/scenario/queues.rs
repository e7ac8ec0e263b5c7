// SPDX-License-Identifier: MIT OR Apache-2.0
//! Waits without a thread, and packets; beside descriptors of the kernel in an epoll, and a channel.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::thread;

use ntux::{Arena, Capacity, Deadline, DetachedWait, Event, ObjectFd, Queue, Registered, Reset, Wait, WaitSet};
use ntux_platform::clock::monotonic_ns;

use crate::bench::Bench;
use crate::measure::{Effort, Sample, per_iteration, per_operation};
use crate::record::Group;
use crate::report::{CHANNEL, EPOLL, PUMP, RUST};

/// Objects of the largest set.
const MANY: usize = 10_000;

const POST: &str = "post a packet + take it";
const PASS: &str = "a packet to a thread that sleeps, and one back";
const DETACHED: &str = "wait without a thread: register, signal, take";
const IN_EPOLL: &str = "an object in an epoll: signal, wait, take";
const SET: &str = "one of 10,000 is signaled: wait, take";

pub(crate) fn run(bench: &mut Bench) {
    bench.peer(RUST).time(Group::WithoutThread, POST, posted);
    bench.time(Group::WithoutThread, PASS, passed);
    bench.time(Group::WithoutThread, DETACHED, detached);
    bench.time(Group::WithoutThread, IN_EPOLL, in_epoll);
    bench.time(Group::WithoutThread, SET, one_of_many);
    bench.peer(EPOLL).time(Group::WithoutThread, POST, |effort| through_epoll(effort, 1));
    bench.time(Group::WithoutThread, PASS, passed_through_epoll);
    bench.time(Group::WithoutThread, DETACHED, |effort| through_epoll(effort, 1));
    bench.time(Group::WithoutThread, IN_EPOLL, |effort| through_epoll(effort, 1));
    bench.time(Group::WithoutThread, SET, |effort| through_epoll(effort, MANY));
    bench.peer(PUMP).time(Group::WithoutThread, IN_EPOLL, through_pump);
    bench.peer(CHANNEL).time(Group::WithoutThread, POST, sent);
    bench.time(Group::WithoutThread, PASS, passed_through_channels);
}

fn arena() -> io::Result<Arena> {
    Arena::create(Capacity { objects: 2 * MANY as u32, ..Capacity::default() }).map_err(io::Error::other)
}

fn posted(effort: Effort) -> io::Result<Sample> {
    let queue = Queue::create(&arena()?).map_err(io::Error::other)?;
    per_operation(effort, || {
        queue.post(1).map_err(io::Error::other)?;
        queue.next(Deadline::NOW).map(drop).map_err(io::Error::other)
    })
}

/// The time of `iterations` exchanges between two threads; `answer` does one half of each, `ask` the other.
fn exchanged(
    iterations: u64,
    answer: impl Fn() -> io::Result<()> + Send,
    ask: impl Fn() -> io::Result<()>,
) -> io::Result<u64> {
    thread::scope(|scope| {
        let answering = scope.spawn(move || (0..iterations).try_for_each(|_| answer()));
        let start = monotonic_ns();
        (0..iterations).try_for_each(|_| ask())?;
        let took = monotonic_ns() - start;
        answering.join().map_err(|_| io::Error::other("the other thread panicked"))??;
        Ok(took)
    })
}

fn passed(effort: Effort) -> io::Result<Sample> {
    let arena = arena()?;
    let (there, back) =
        (Queue::create(&arena).map_err(io::Error::other)?, Queue::create(&arena).map_err(io::Error::other)?);
    let take = |queue: &Queue| queue.next(Deadline::Never).map(drop).map_err(io::Error::other);
    let post = |queue: &Queue| queue.post(1).map_err(io::Error::other);
    per_iteration(effort, |iterations| {
        exchanged(iterations, || take(&there).and_then(|()| post(&back)), || post(&there).and_then(|()| take(&back)))
    })
}

fn detached(effort: Effort) -> io::Result<Sample> {
    let arena = arena()?;
    let queue = Queue::create(&arena).map_err(io::Error::other)?;
    let event = Event::create(&arena, Reset::Auto, false).map_err(io::Error::other)?;
    per_operation(effort, || {
        match queue.register_any(&[event.object()], DetachedWait::by(1)).map_err(io::Error::other)? {
            Registered::Waits(_) => {}
            Registered::Satisfied(_) => return Err(io::Error::other("the event is set")),
        }
        event.set().map_err(io::Error::other)?;
        queue.next(Deadline::NOW).map(drop).map_err(io::Error::other)
    })
}

fn in_epoll(effort: Effort) -> io::Result<Sample> {
    let arena = arena()?;
    let event = Event::create(&arena, Reset::Auto, false).map_err(io::Error::other)?;
    let object = ObjectFd::create(&arena, event.object(), 1).map_err(io::Error::other)?;
    let epoll = Epoll::create()?;
    epoll.add(object.as_fd().as_raw_fd(), 0)?;
    let is_armed = |object: &ObjectFd| object.take() == Err(ntux::Error::TimedOut);
    per_operation(effort, || {
        if !is_armed(&object) {
            return Err(io::Error::other("the event is set"));
        }
        event.set().map_err(io::Error::other)?;
        epoll.wait()?;
        object.take().map(drop).map_err(io::Error::other)
    })
}

/// What a program does that has waits for threads alone: a thread waits for the object, and writes to an eventfd when it has it.
fn through_pump(effort: Effort) -> io::Result<Sample> {
    let arena = arena()?;
    let [event, end] = [(); 2].map(|()| Event::create(&arena, Reset::Auto, false).map_err(io::Error::other));
    let (event, end, file, epoll) = (event?, end?, eventfd()?, Epoll::create()?);
    epoll.add(file.as_raw_fd(), 0)?;
    thread::scope(|scope| {
        let pump = scope.spawn(|| {
            let both = [event.object(), end.object()];
            loop {
                match arena.wait_any(&both, Wait::by(1)).map_err(io::Error::other)?.index {
                    0 => signal(&file)?,
                    _ => return Ok(()),
                }
            }
        });
        let sample = per_operation(effort, || {
            event.set().map_err(io::Error::other)?;
            epoll.wait()?;
            take(&file)
        });
        end.set().map_err(io::Error::other)?;
        pump.join().map_err(|_| io::Error::other("the pump thread panicked"))?.and(sample)
    })
}

fn one_of_many(effort: Effort) -> io::Result<Sample> {
    let arena = arena()?;
    let mut set = WaitSet::create(&arena).map_err(io::Error::other)?;
    let event = |_| Event::create(&arena, Reset::Auto, false).map_err(io::Error::other);
    let events = (0..MANY).map(event).collect::<io::Result<Vec<_>>>()?;
    for (key, event) in (0..).zip(&events) {
        set.add(key, event.object(), 1).map_err(io::Error::other)?;
    }
    let mut next = (0..MANY).cycle();
    per_operation(effort, || {
        events[next.next().unwrap_or(0)].set().map_err(io::Error::other)?;
        set.next(Deadline::Never).map(drop).map_err(io::Error::other)
    })
}

/// Writes to one of so many eventfds, waits for all of them, and reads it.
fn through_epoll(effort: Effort, count: usize) -> io::Result<Sample> {
    let epoll = Epoll::create()?;
    let files = (0..count).map(|_| eventfd()).collect::<io::Result<Vec<_>>>()?;
    for (key, file) in (0..).zip(&files) {
        epoll.add(file.as_raw_fd(), key)?;
    }
    let mut next = (0..count).cycle();
    per_operation(effort, || {
        signal(&files[next.next().unwrap_or(0)])?;
        take(&files[epoll.wait()? as usize])
    })
}

fn passed_through_epoll(effort: Effort) -> io::Result<Sample> {
    let (there, back) = (eventfd()?, eventfd()?);
    let (at_there, at_back) = (Epoll::create()?, Epoll::create()?);
    at_there.add(there.as_raw_fd(), 0)?;
    at_back.add(back.as_raw_fd(), 0)?;
    let receive = |epoll: &Epoll, file: &File| epoll.wait().and_then(|_| take(file));
    per_iteration(effort, |iterations| {
        exchanged(
            iterations,
            || receive(&at_there, &there).and_then(|()| signal(&back)),
            || signal(&there).and_then(|()| receive(&at_back, &back)),
        )
    })
}

fn sent(effort: Effort) -> io::Result<Sample> {
    let (sender, receiver) = crossbeam_channel::bounded(1024);
    per_operation(effort, || {
        sender.try_send(1).map_err(io::Error::other)?;
        receiver.try_recv().map(drop).map_err(io::Error::other)
    })
}

fn passed_through_channels(effort: Effort) -> io::Result<Sample> {
    let (there, at_there) = crossbeam_channel::bounded(1024);
    let (back, at_back) = crossbeam_channel::bounded(1024);
    per_iteration(effort, |iterations| {
        let (back, at_there) = (back.clone(), at_there.clone());
        exchanged(
            iterations,
            move || {
                at_there.recv().map_err(io::Error::other)?;
                back.send(1).map_err(io::Error::other)
            },
            || {
                there.send(1).map_err(io::Error::other)?;
                at_back.recv().map(drop).map_err(io::Error::other)
            },
        )
    })
}

fn eventfd() -> io::Result<File> {
    // SAFETY: makes a descriptor, and touches no memory.
    opened(unsafe { libc::eventfd(0, libc::EFD_CLOEXEC) }).map(File::from)
}

fn signal(mut file: &File) -> io::Result<()> {
    file.write_all(&1u64.to_ne_bytes())
}

fn take(mut file: &File) -> io::Result<()> {
    file.read_exact(&mut [0; 8])
}

fn opened(fd: RawFd) -> io::Result<OwnedFd> {
    match fd {
        -1 => Err(io::Error::last_os_error()),
        // SAFETY: a new descriptor, which is nobody else's.
        fd => Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
    }
}

struct Epoll(OwnedFd);

impl Epoll {
    fn create() -> io::Result<Epoll> {
        // SAFETY: makes a descriptor, and touches no memory.
        opened(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) }).map(Epoll)
    }

    fn add(&self, fd: RawFd, key: u64) -> io::Result<()> {
        let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: key };
        // SAFETY: two descriptors, and a value to read.
        match unsafe { libc::epoll_ctl(self.0.as_raw_fd(), libc::EPOLL_CTL_ADD, fd, &raw mut event) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Returns the key of one that is readable.
    fn wait(&self) -> io::Result<u64> {
        let mut event = libc::epoll_event { events: 0, u64: 0 };
        // SAFETY: a descriptor, and a place for one event.
        match unsafe { libc::epoll_wait(self.0.as_raw_fd(), &raw mut event, 1, -1) } {
            1 => Ok(event.u64),
            _ => Err(io::Error::last_os_error()),
        }
    }
}
