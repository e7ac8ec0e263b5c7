// SPDX-License-Identifier: MIT OR Apache-2.0
//! The list on the core: `ntux_sync`, an arena and a waiter for each thread.
#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "a test is no part of the model")]

use std::cell::RefCell;
use std::collections::HashMap;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ntux_conformance::case;
use ntux_conformance::face::{
    self, Clock, Delivered, EBADF, EINVAL, Errno, Event, Face, Mutex, Name, New, Object, Outcome, Queue, Registered,
    Registration, Satisfied, Semaphore, Timer, Wait,
};
use ntux_conformance::run::{self, Instantiation};
use ntux_sync::{Arena, Capacity, Deadline, Kind, Waiter};

const CAPACITY: Capacity = Capacity { objects: 4096, waiters: 256 };

fn main() -> ExitCode {
    run::main(&Instantiation {
        name: "core",
        open: || Box::new(Core::new(Arena::create(CAPACITY).expect("an arena"))),
        without: &[(
            case::Kind::Device,
            "objects are numbers, arguments are checked by the compiler, signals end no wait",
        )],
    })
}

fn name_of(name: Name<'_>) -> ntux_sync::Result<ntux_sync::Name<'_>> {
    let exactly = ntux_sync::Name::new(name.text)?;
    Ok(if name.ignores_case { exactly.ignoring_case() } else { exactly })
}

fn new_of(new: New) -> ntux_sync::New {
    match new {
        New::Semaphore { count, max } => ntux_sync::New::Semaphore { count, max },
        New::Mutex { owner, count } => ntux_sync::New::Mutex { owner, count },
        New::Event { manual, signaled } => ntux_sync::New::Event { manual, signaled },
        New::Timer { manual } => ntux_sync::New::Timer { manual },
    }
}

struct Core {
    /// Tells instances apart, also the one of a forked child from its parent's.
    id: u64,
    arena: Arc<Arena>,
}

/// A thread's waiter in one instance.
struct Place {
    arena: Arc<Arena>,
    waiter: Waiter,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.arena.retire(&self.waiter);
    }
}

thread_local! {
    static PLACES: RefCell<HashMap<u64, Place>> = RefCell::default();
}

impl Core {
    fn new(arena: Arena) -> Core {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Core { id: NEXT.fetch_add(1, Ordering::Relaxed), arena: Arc::new(arena) }
    }

    fn run<T>(&self, operation: impl FnOnce(&Arena, &Waiter) -> ntux_sync::Result<T>) -> Outcome<T> {
        PLACES.with_borrow_mut(|places| {
            let place = places
                .entry(self.id)
                .or_insert_with(|| Place { arena: self.arena.clone(), waiter: self.arena.waiter() });
            operation(&self.arena, &place.waiter).map_err(|error| Errno(error.errno()))
        })
    }
}

fn inner(object: Object) -> ntux_sync::Object {
    ntux_sync::Object(object.0)
}

fn outer(object: ntux_sync::Object) -> Object {
    Object(object.0)
}

fn satisfied_of(satisfied: ntux_sync::Satisfied) -> Satisfied {
    Satisfied { index: satisfied.index, abandoned: satisfied.abandoned }
}

fn registration_of(registration: ntux_sync::Registration) -> Registration {
    Registration(registration.to_bits())
}

fn named(queue: Queue) -> ntux_sync::Result<ntux_sync::Queue> {
    ntux_sync::Queue::from_bits(queue.0).ok_or(ntux_sync::Error::Invalid)
}

/// The core has one error for what is out of range, and for what is no queue.
fn of_queue<T>(outcome: Outcome<T>) -> Outcome<T> {
    outcome.map_err(|error| if error == EINVAL { EBADF } else { error })
}

fn clock_of(clock: Clock) -> ntux_sync::Clock {
    match clock {
        Clock::Monotonic => ntux_sync::Clock::Monotonic,
        Clock::Wall => ntux_sync::Clock::Wall,
        Clock::Boot => ntux_sync::Clock::Boot,
    }
}

fn clock_back(clock: ntux_sync::Clock) -> Clock {
    match clock {
        ntux_sync::Clock::Monotonic => Clock::Monotonic,
        ntux_sync::Clock::Wall => Clock::Wall,
        ntux_sync::Clock::Boot => Clock::Boot,
    }
}

fn deadline_of(deadline: face::Deadline) -> Deadline {
    match deadline {
        face::Deadline::Never => Deadline::Never,
        face::Deadline::Monotonic(ns) => Deadline::Monotonic(ns),
        face::Deadline::Realtime(ns) => Deadline::Realtime(ns),
    }
}

impl Face for Core {
    fn semaphore_create(&self, count: u32, max: u32) -> Outcome<Object> {
        self.run(|arena, waiter| arena.semaphore_create(waiter, count, max)).map(outer)
    }

    fn semaphore_release(&self, semaphore: Object, add: u32) -> Outcome<u32> {
        self.run(|arena, waiter| arena.semaphore_release(waiter, inner(semaphore), add))
    }

    fn semaphore_read(&self, semaphore: Object) -> Outcome<Semaphore> {
        let (count, max) = self.run(|arena, waiter| arena.semaphore_read(waiter, inner(semaphore)))?;
        Ok(Semaphore { count, max })
    }

    fn mutex_create(&self, owner: u32, count: u32) -> Outcome<Object> {
        self.run(|arena, waiter| arena.mutex_create(waiter, owner, count)).map(outer)
    }

    fn mutex_unlock(&self, mutex: Object, owner: u32) -> Outcome<u32> {
        self.run(|arena, waiter| arena.mutex_unlock(waiter, inner(mutex), owner))
    }

    fn mutex_kill(&self, mutex: Object, owner: u32) -> Outcome<()> {
        self.run(|arena, waiter| arena.mutex_kill(waiter, inner(mutex), owner))
    }

    fn mutex_read(&self, mutex: Object) -> Outcome<Mutex> {
        let state = self.run(|arena, waiter| arena.mutex_read(waiter, inner(mutex)))?;
        Ok(Mutex { owner: state.owner, count: state.count, abandoned: state.abandoned })
    }

    fn event_create(&self, manual: u32, signaled: u32) -> Outcome<Object> {
        self.run(|arena, waiter| arena.event_create(waiter, manual != 0, signaled != 0)).map(outer)
    }

    fn event_set(&self, event: Object) -> Outcome<u32> {
        self.run(|arena, waiter| arena.event_set(waiter, inner(event))).map(u32::from)
    }

    fn event_reset(&self, event: Object) -> Outcome<u32> {
        self.run(|arena, waiter| arena.event_reset(waiter, inner(event))).map(u32::from)
    }

    fn event_pulse(&self, event: Object) -> Outcome<u32> {
        self.run(|arena, waiter| arena.event_pulse(waiter, inner(event))).map(u32::from)
    }

    fn event_read(&self, event: Object) -> Outcome<Event> {
        let (manual, signaled) = self.run(|arena, waiter| arena.event_read(waiter, inner(event)))?;
        Ok(Event { manual: manual.into(), signaled: signaled.into() })
    }

    fn timer_create(&self, manual: u32) -> Outcome<Object> {
        self.run(|arena, waiter| arena.timer_create(waiter, manual != 0)).map(outer)
    }

    fn timer_set(&self, timer: Object, clock: Clock, due: u64, period: u64) -> Outcome<()> {
        let due = ntux_sync::Due { clock: clock_of(clock), at_ns: due };
        self.run(|arena, waiter| arena.timer_set(waiter, inner(timer), due, period))
    }

    fn timer_cancel(&self, timer: Object) -> Outcome<()> {
        self.run(|arena, waiter| arena.timer_cancel(waiter, inner(timer)))
    }

    fn timer_read(&self, timer: Object) -> Outcome<Timer> {
        let state = self.run(|arena, waiter| arena.timer_read(waiter, inner(timer)))?;
        let due = state.due.map(|due| (clock_back(due.clock), due.at_ns));
        Ok(Timer { manual: state.manual.into(), signaled: state.signaled.into(), due, period: state.period_ns })
    }

    fn queue_create(&self) -> Outcome<Queue> {
        self.run(|arena, _| arena.queue_create()).map(|queue| Queue(queue.to_bits()))
    }

    fn queue_close(&self, queue: Queue) -> Outcome<()> {
        of_queue(self.run(|arena, waiter| arena.queue_close(waiter, named(queue)?)))
    }

    fn queue_wait(&self, queue: Queue, wait: &Wait, key: u64) -> Outcome<Registered> {
        let objects: Vec<ntux_sync::Object> = wait.objects.iter().copied().map(inner).collect();
        let wanted = ntux_sync::Detached { objects: &objects, all: wait.all, owner: wait.owner, key };
        self.run(|arena, waiter| arena.wait_detached(waiter, named(queue)?, wanted)).map(
            |registered| match registered {
                ntux_sync::Registered::Satisfied(satisfied) => Registered::Satisfied(satisfied_of(satisfied)),
                ntux_sync::Registered::Waits(registration) => Registered::Waits(registration_of(registration)),
            },
        )
    }

    fn queue_post(&self, queue: Queue, key: u64) -> Outcome<()> {
        of_queue(self.run(|arena, waiter| arena.post(waiter, named(queue)?, key)))
    }

    fn queue_get(&self, queue: Queue, deadline: face::Deadline) -> Outcome<Delivered> {
        let get = |arena: &Arena, waiter: &Waiter| arena.collect(waiter, named(queue)?, deadline_of(deadline));
        let ntux_sync::Delivered { registration, key, satisfied } = of_queue(self.run(get))?;
        Ok(Delivered { registration: registration.map(registration_of), key, satisfied: satisfied_of(satisfied) })
    }

    fn queue_cancel(&self, registration: Registration) -> Outcome<Option<Satisfied>> {
        let cancel =
            |arena: &Arena, waiter: &Waiter| arena.cancel(waiter, ntux_sync::Registration::from_bits(registration.0));
        self.run(cancel).map(|satisfied| satisfied.map(satisfied_of))
    }

    fn owner_of_thread(&self) -> Outcome<u32> {
        self.run(|arena, waiter| arena.owner_of_this_thread(waiter))
    }

    fn owner_create(&self) -> Outcome<u32> {
        self.run(|arena, waiter| arena.owner_create(waiter))
    }

    fn owner_end(&self, owner: u32) -> Outcome<()> {
        self.run(|arena, waiter| arena.owner_end(waiter, owner))
    }

    fn end_create(&self, owner: u32) -> Outcome<Object> {
        self.run(|arena, waiter| arena.end_create(waiter, owner)).map(outer)
    }

    fn end_report(&self, end: Object, code: u32) -> Outcome<()> {
        let in_time = self.run(|arena, waiter| arena.end_report(waiter, inner(end), code))?;
        if in_time { Ok(()) } else { Err(face::EALREADY) }
    }

    fn end_read(&self, end: Object) -> Outcome<(u32, bool, Option<u32>)> {
        self.run(|arena, waiter| arena.end_read(waiter, inner(end)).map(|end| (end.owner, end.ended, end.code)))
    }

    fn close(&self, object: Object) -> Outcome<()> {
        self.run(|arena, _| arena.close(inner(object)))
    }

    fn hold(&self, object: Object) -> Outcome<()> {
        self.run(|arena, _| arena.hold(inner(object)))
    }

    fn hold_for(&self, object: Object, process: u32) -> Outcome<()> {
        self.run(|arena, _| arena.hold_for(inner(object), process))
    }

    fn holds(&self, object: Object) -> Outcome<u32> {
        self.run(|arena, _| arena.holds(inner(object)))
    }

    fn let_go(&self, object: Object) -> Outcome<()> {
        self.run(|arena, _| arena.release(inner(object)))
    }

    fn create_named(&self, name: Name<'_>, new: New) -> Outcome<(Object, bool)> {
        let create = |arena: &Arena, waiter: &Waiter| arena.create_named(waiter, name_of(name)?, new_of(new));
        self.run(create).map(|(object, existed)| (outer(object), existed))
    }

    fn open_named(&self, name: Name<'_>, like: New) -> Outcome<Object> {
        let kind = match like {
            New::Semaphore { .. } => Kind::Semaphore,
            New::Mutex { .. } => Kind::Mutex,
            New::Event { .. } => Kind::ManualEvent,
            New::Timer { .. } => Kind::ManualTimer,
        };
        self.run(|arena, _| arena.open_named(name_of(name)?, kind)).map(outer)
    }

    fn set_permanent(&self, object: Object, permanent: bool) -> Outcome<()> {
        self.run(|arena, _| match permanent {
            true => arena.make_permanent(inner(object)),
            false => arena.make_temporary(inner(object)),
        })
    }

    fn wait(&self, wait: &Wait) -> Outcome<Satisfied> {
        let objects: Vec<ntux_sync::Object> = wait.objects.iter().copied().map(inner).collect();
        let (alert, owner, deadline) = (wait.alert.map(inner), wait.owner, deadline_of(wait.deadline));
        let satisfied = self.run(|arena, waiter| {
            if wait.all {
                arena.wait_all(waiter, &objects, alert, owner, deadline)
            } else {
                arena.wait_any(waiter, &objects, alert, owner, deadline)
            }
        })?;
        Ok(satisfied_of(satisfied))
    }

    /// XNU does not end the waits of the dead.
    #[cfg(any(target_os = "macos", ntux_simulated_macos))]
    fn bury(&self, process: u32) {
        self.arena.bury_process(process).expect("it has ended");
    }

    /// Attaches the arena anew, as a process does that was handed its descriptor.
    fn in_child(&self) -> Box<dyn Face> {
        let fd = self.arena.fd().expect("it was created here");
        Box::new(Core::new(Arena::attach(fd).expect("it is an arena")))
    }
}
