// SPDX-License-Identifier: MIT OR Apache-2.0
//! The crate `ntux` as a face. Its waits are those of threads, or what a test program has in their place.

use std::sync::{Arc, Mutex as Lock};
use std::time::Duration;

use ntux::{Arena, Capacity, Deadline, Reset};
use ntux_conformance::face::{
    self, Clock, Delivered, EBADF, EINVAL, Errno, Event, Face, Mutex, Name, New, Object, Outcome, Queue, Registered,
    Registration, Satisfied, Semaphore, Timer, Wait,
};

const CAPACITY: Capacity = Capacity { objects: 4096, waiters: 256 };

/// Why the cases of the device are left out.
pub const NO_DEVICE: &str = "objects are numbers, arguments are checked by the compiler, signals end no wait";

/// How a face waits instead of its threads. Returns `None` if such a wait is a thread's all the same.
pub type Instead = fn(&Arena, &[ntux::Object], &Wait) -> Option<ntux::Result<ntux::Satisfied>>;

/// The face on a new arena.
pub fn open(instead: Option<Instead>) -> Box<dyn Face> {
    Box::new(Rust { arena: Arena::create(CAPACITY).expect("an arena"), queues: Queues::default(), instead })
}

struct Rust {
    arena: Arena,
    queues: Queues,
    instead: Option<Instead>,
}

/// Handles of queues, which the cases know by numbers.
#[derive(Clone, Default)]
struct Queues(Arc<Lock<Vec<ntux::Queue>>>);

impl Queues {
    fn of(&self, queue: Queue) -> Outcome<ntux::Queue> {
        let queues = self.0.lock().expect("a panic ends the process at once");
        queues.get((queue.0 as usize).wrapping_sub(1)).cloned().ok_or(EBADF)
    }

    fn keep(&self, queue: ntux::Queue) -> Queue {
        let mut queues = self.0.lock().expect("a panic ends the process at once");
        queues.push(queue);
        Queue(queues.len() as u64)
    }

    /// Any of them.
    fn any(&self) -> Outcome<ntux::Queue> {
        let queues = self.0.lock().expect("a panic ends the process at once");
        queues.first().cloned().ok_or(EBADF)
    }
}

/// The crate has one error for what is out of range, and for a queue that is none.
fn of_queue(error: ntux::Error) -> Errno {
    if error == ntux::Error::Invalid { EBADF } else { errno(error) }
}

fn satisfied_of(satisfied: ntux::Satisfied) -> Satisfied {
    Satisfied { index: satisfied.index, abandoned: satisfied.abandoned }
}

fn registration_of(registration: ntux::Registration) -> Registration {
    Registration(registration.to_bits())
}

fn errno(error: ntux::Error) -> Errno {
    Errno(error.errno())
}

fn deadline_of(deadline: face::Deadline) -> Deadline {
    match deadline {
        face::Deadline::Never => Deadline::Never,
        face::Deadline::Monotonic(ns) => Deadline::Monotonic(ns),
        face::Deadline::Realtime(ns) => Deadline::Realtime(ns),
    }
}

fn clock_of(clock: Clock) -> ntux::Clock {
    match clock {
        Clock::Monotonic => ntux::Clock::Monotonic,
        Clock::Wall => ntux::Clock::Wall,
        Clock::Boot => ntux::Clock::Boot,
    }
}

fn clock_back(clock: ntux::Clock) -> Clock {
    match clock {
        ntux::Clock::Monotonic => Clock::Monotonic,
        ntux::Clock::Wall => Clock::Wall,
        ntux::Clock::Boot => Clock::Boot,
    }
}

fn name_of(name: Name<'_>) -> ntux::Result<ntux::Name<'_>> {
    let exactly = ntux::Name::new(name.text)?;
    Ok(if name.ignores_case { exactly.ignoring_case() } else { exactly })
}

/// The face has numbers of which 0 is none.
fn named(object: Object) -> Outcome<ntux::Object> {
    ntux::Object::new(object.0).ok_or(EBADF)
}

fn only_index_0(result: ntux::Result<()>) -> ntux::Result<ntux::Satisfied> {
    result.map(|()| ntux::Satisfied { index: 0, abandoned: false })
}

/// The parameters of a wait.
pub fn how(wait: &Wait) -> Outcome<ntux::Wait> {
    let how = ntux::Wait::by(wait.owner).until(deadline_of(wait.deadline));
    Ok(match wait.alert {
        Some(alert) => how.alert(named(alert)?),
        None => how,
    })
}

impl Rust {
    fn semaphore(&self, object: Object) -> Outcome<ntux::Semaphore> {
        ntux::Semaphore::from_object(&self.arena, named(object)?).map_err(errno)
    }

    fn mutex(&self, object: Object) -> Outcome<ntux::MutexObject> {
        ntux::MutexObject::from_object(&self.arena, named(object)?).map_err(errno)
    }

    fn event(&self, object: Object) -> Outcome<ntux::Event> {
        ntux::Event::from_object(&self.arena, named(object)?).map_err(errno)
    }

    fn timer(&self, object: Object) -> Outcome<ntux::Timer> {
        ntux::Timer::from_object(&self.arena, named(object)?).map_err(errno)
    }

    /// A wait for one object goes through its handle, as programs do it.
    fn wait_through_handle(&self, wait: &Wait) -> Option<ntux::Result<ntux::Satisfied>> {
        let (&[object], false, None) = (&wait.objects[..], wait.all, wait.alert) else { return None };
        let deadline = deadline_of(wait.deadline);
        if let Ok(mutex) = self.mutex(object) {
            return Some(mutex.lock(wait.owner, deadline));
        }
        if wait.owner == 0 {
            return None;
        }
        if let Ok(semaphore) = self.semaphore(object) {
            return Some(only_index_0(semaphore.wait(deadline)));
        }
        if let Ok(timer) = self.timer(object) {
            return Some(only_index_0(timer.wait(deadline)));
        }
        self.event(object).ok().map(|event| only_index_0(event.wait(deadline)))
    }

    fn wait_instead(&self, wait: &Wait) -> Option<ntux::Result<ntux::Satisfied>> {
        let objects = wait.objects.iter().map(|object| named(*object)).collect::<Outcome<Vec<_>>>().ok()?;
        self.instead?(&self.arena, &objects, wait)
    }

    fn wait_through_arena(&self, wait: &Wait) -> Outcome<ntux::Satisfied> {
        let objects = wait.objects.iter().map(|object| named(*object)).collect::<Outcome<Vec<_>>>()?;
        let how = how(wait)?;
        let ended = if wait.all { self.arena.wait_all(&objects, how) } else { self.arena.wait_any(&objects, how) };
        ended.map_err(errno)
    }
}

impl Face for Rust {
    fn semaphore_create(&self, count: u32, max: u32) -> Outcome<Object> {
        let semaphore = ntux::Semaphore::create(&self.arena, count, max).map_err(errno)?;
        Ok(Object(semaphore.keep().get()))
    }

    fn semaphore_release(&self, semaphore: Object, add: u32) -> Outcome<u32> {
        self.semaphore(semaphore)?.release(add).map_err(errno)
    }

    fn semaphore_read(&self, semaphore: Object) -> Outcome<Semaphore> {
        let state = self.semaphore(semaphore)?.read().map_err(errno)?;
        Ok(Semaphore { count: state.count, max: state.max })
    }

    fn mutex_create(&self, owner: u32, count: u32) -> Outcome<Object> {
        let mutex = ntux::MutexObject::create_with(&self.arena, owner, count).map_err(errno)?;
        Ok(Object(mutex.keep().get()))
    }

    fn mutex_unlock(&self, mutex: Object, owner: u32) -> Outcome<u32> {
        self.mutex(mutex)?.unlock(owner).map_err(errno)
    }

    fn mutex_kill(&self, mutex: Object, owner: u32) -> Outcome<()> {
        self.mutex(mutex)?.kill(owner).map_err(errno)
    }

    fn mutex_read(&self, mutex: Object) -> Outcome<Mutex> {
        let state = self.mutex(mutex)?.read().map_err(errno)?;
        Ok(Mutex { owner: state.owner, count: state.count, abandoned: state.abandoned })
    }

    fn event_create(&self, manual: u32, signaled: u32) -> Outcome<Object> {
        let reset = if manual != 0 { Reset::Manual } else { Reset::Auto };
        let event = ntux::Event::create(&self.arena, reset, signaled != 0).map_err(errno)?;
        Ok(Object(event.keep().get()))
    }

    fn event_set(&self, event: Object) -> Outcome<u32> {
        self.event(event)?.set().map(u32::from).map_err(errno)
    }

    fn event_reset(&self, event: Object) -> Outcome<u32> {
        self.event(event)?.reset().map(u32::from).map_err(errno)
    }

    fn event_pulse(&self, event: Object) -> Outcome<u32> {
        self.event(event)?.pulse().map(u32::from).map_err(errno)
    }

    fn event_read(&self, event: Object) -> Outcome<Event> {
        let state = self.event(event)?.read().map_err(errno)?;
        Ok(Event { manual: (state.reset == Reset::Manual).into(), signaled: state.signaled.into() })
    }

    fn timer_create(&self, manual: u32) -> Outcome<Object> {
        let reset = if manual != 0 { Reset::Manual } else { Reset::Auto };
        let timer = ntux::Timer::create(&self.arena, reset).map_err(errno)?;
        Ok(Object(timer.keep().get()))
    }

    fn timer_set(&self, timer: Object, clock: Clock, due: u64, period: u64) -> Outcome<()> {
        let due = ntux::Due { clock: clock_of(clock), at_ns: due };
        self.timer(timer)?.set(due, Duration::from_nanos(period)).map_err(errno)
    }

    fn timer_cancel(&self, timer: Object) -> Outcome<()> {
        self.timer(timer)?.cancel().map_err(errno)
    }

    fn timer_read(&self, timer: Object) -> Outcome<Timer> {
        let state = self.timer(timer)?.read().map_err(errno)?;
        let due = state.due.map(|due| (clock_back(due.clock), due.at_ns));
        Ok(Timer { manual: state.manual.into(), signaled: state.signaled.into(), due, period: state.period_ns })
    }

    fn queue_create(&self) -> Outcome<Queue> {
        ntux::Queue::create(&self.arena).map(|queue| self.queues.keep(queue)).map_err(errno)
    }

    fn queue_close(&self, queue: Queue) -> Outcome<()> {
        self.queues.of(queue)?.close().map_err(of_queue)
    }

    fn queue_wait(&self, queue: Queue, wait: &Wait, key: u64) -> Outcome<Registered> {
        let named = |objects: &[Object]| objects.iter().map(|object| named(*object)).collect::<Outcome<Vec<_>>>();
        let invalid = |error| if error == EBADF { EINVAL } else { error };
        let (queue, objects) = (self.queues.of(queue).map_err(invalid)?, named(&wait.objects).map_err(invalid)?);
        let how = ntux::DetachedWait::by(wait.owner).key(key);
        let registered = if wait.all { queue.register_all(&objects, how) } else { queue.register_any(&objects, how) };
        match registered.map_err(errno).map_err(invalid)? {
            ntux::Registered::Satisfied(satisfied) => Ok(Registered::Satisfied(satisfied_of(satisfied))),
            ntux::Registered::Waits(registration) => Ok(Registered::Waits(registration_of(registration))),
        }
    }

    fn queue_post(&self, queue: Queue, key: u64) -> Outcome<()> {
        self.queues.of(queue)?.post(key).map_err(of_queue)
    }

    fn queue_get(&self, queue: Queue, deadline: face::Deadline) -> Outcome<Delivered> {
        let delivered = self.queues.of(queue)?.next(deadline_of(deadline)).map_err(of_queue)?;
        let ntux::Delivered { registration, key, satisfied } = delivered;
        Ok(Delivered { registration: registration.map(registration_of), key, satisfied: satisfied_of(satisfied) })
    }

    fn queue_cancel(&self, registration: Registration) -> Outcome<Option<Satisfied>> {
        let cancelled = self.queues.any()?.cancel(ntux::Registration::from_bits(registration.0)).map_err(errno)?;
        Ok(cancelled.map(satisfied_of))
    }

    fn owner_of_thread(&self) -> Outcome<u32> {
        self.arena.owner_of_this_thread().map_err(errno)
    }

    fn owner_create(&self) -> Outcome<u32> {
        self.arena.create_owner().map_err(errno)
    }

    fn owner_end(&self, owner: u32) -> Outcome<()> {
        self.arena.end_owner(owner).map_err(errno)
    }

    fn end_create(&self, owner: u32) -> Outcome<Object> {
        ntux::End::of(&self.arena, owner).map(|end| Object(end.keep().get())).map_err(errno)
    }

    fn end_report(&self, end: Object, code: u32) -> Outcome<()> {
        let in_time =
            ntux::End::from_object(&self.arena, named(end)?).and_then(|end| end.report(code)).map_err(errno)?;
        if in_time { Ok(()) } else { Err(face::EALREADY) }
    }

    fn end_read(&self, end: Object) -> Outcome<(u32, bool, Option<u32>)> {
        let end = ntux::End::from_object(&self.arena, named(end)?).and_then(|end| end.read()).map_err(errno)?;
        Ok((end.owner, end.ended, end.code))
    }

    fn close(&self, object: Object) -> Outcome<()> {
        self.arena.close(named(object)?).map_err(errno)
    }

    fn hold(&self, object: Object) -> Outcome<()> {
        self.arena.hold(named(object)?).map_err(errno)
    }

    fn hold_for(&self, object: Object, process: u32) -> Outcome<()> {
        self.arena.hold_for(named(object)?, process).map_err(errno)
    }

    fn holds(&self, object: Object) -> Outcome<u32> {
        self.arena.holds(named(object)?).map_err(errno)
    }

    fn let_go(&self, object: Object) -> Outcome<()> {
        self.arena.release(named(object)?).map_err(errno)
    }

    fn create_named(&self, name: Name<'_>, new: New) -> Outcome<(Object, bool)> {
        let (arena, name) = (&self.arena, name_of(name).map_err(errno)?);
        let named = match new {
            New::Semaphore { count, max } => {
                ntux::Semaphore::create_named(arena, name, count, max).map(|(made, existed)| (made.keep(), existed))
            }
            New::Mutex { owner, count } => {
                ntux::MutexObject::create_named(arena, name, owner, count).map(|(made, existed)| (made.keep(), existed))
            }
            New::Event { manual, signaled } => {
                let reset = if manual { Reset::Manual } else { Reset::Auto };
                ntux::Event::create_named(arena, name, reset, signaled).map(|(made, existed)| (made.keep(), existed))
            }
            New::Timer { manual } => {
                let reset = if manual { Reset::Manual } else { Reset::Auto };
                ntux::Timer::create_named(arena, name, reset).map(|(made, existed)| (made.keep(), existed))
            }
        };
        named.map(|(object, existed)| (Object(object.get()), existed)).map_err(errno)
    }

    fn open_named(&self, name: Name<'_>, like: New) -> Outcome<Object> {
        let (arena, name) = (&self.arena, name_of(name).map_err(errno)?);
        let opened = match like {
            New::Semaphore { .. } => ntux::Semaphore::open_named(arena, name).map(|semaphore| semaphore.keep()),
            New::Mutex { .. } => ntux::MutexObject::open_named(arena, name).map(|mutex| mutex.keep()),
            New::Event { .. } => ntux::Event::open_named(arena, name).map(|event| event.keep()),
            New::Timer { .. } => ntux::Timer::open_named(arena, name).map(|timer| timer.keep()),
        };
        opened.map(|object| Object(object.get())).map_err(errno)
    }

    fn set_permanent(&self, object: Object, permanent: bool) -> Outcome<()> {
        let object = named(object)?;
        let changed = if permanent { self.arena.make_permanent(object) } else { self.arena.make_temporary(object) };
        changed.map_err(errno)
    }

    fn wait(&self, wait: &Wait) -> Outcome<Satisfied> {
        let ended = self.wait_instead(wait).or_else(|| self.wait_through_handle(wait));
        let ended = ended.map(|ended| ended.map_err(errno)).unwrap_or_else(|| self.wait_through_arena(wait));
        // A wait tells a closed object apart: S-503.
        let satisfied = ended.map_err(|error| if error == EBADF { EINVAL } else { error })?;
        Ok(satisfied_of(satisfied))
    }

    /// XNU does not end the waits of the dead.
    #[cfg(any(target_os = "macos", ntux_simulated_macos))]
    fn bury(&self, process: u32) {
        self.arena.core().bury_process(process).expect("it has ended");
    }

    /// A child goes on with what it inherited.
    fn in_child(&self) -> Box<dyn Face> {
        Box::new(Rust { arena: self.arena.clone(), queues: self.queues.clone(), instead: self.instead })
    }
}
