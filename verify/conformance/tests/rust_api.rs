//! The list on the Rust API: the crate `ntux`.

use std::process::ExitCode;

use ntux::{Arena, Capacity, Deadline, Reset};
use ntux_conformance::case::Kind;
use ntux_conformance::face::{self, Errno, Event, Face, Mutex, Object, Outcome, Satisfied, Semaphore, Wait};
use ntux_conformance::run::{self, Instantiation};

const CAPACITY: Capacity = Capacity { objects: 4096, waiters: 256 };

fn main() -> ExitCode {
    run::main(&Instantiation {
        name: "Rust",
        open: || Box::new(Rust { arena: Arena::create(CAPACITY).expect("an arena") }),
        without: &[(Kind::Device, "objects are numbers, arguments are checked by the compiler, signals end no wait")],
    })
}

struct Rust {
    arena: Arena,
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

fn only_index_0(result: ntux::Result<()>) -> ntux::Result<ntux::Satisfied> {
    result.map(|()| ntux::Satisfied { index: 0, abandoned: false })
}

impl Rust {
    fn semaphore(&self, object: Object) -> Outcome<ntux::Semaphore> {
        ntux::Semaphore::from_object(&self.arena, ntux::Object(object.0)).map_err(errno)
    }

    fn mutex(&self, object: Object) -> Outcome<ntux::Mutex> {
        ntux::Mutex::from_object(&self.arena, ntux::Object(object.0)).map_err(errno)
    }

    fn event(&self, object: Object) -> Outcome<ntux::Event> {
        ntux::Event::from_object(&self.arena, ntux::Object(object.0)).map_err(errno)
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
        self.event(object).ok().map(|event| only_index_0(event.wait(deadline)))
    }

    fn wait_through_arena(&self, wait: &Wait) -> ntux::Result<ntux::Satisfied> {
        let objects: Vec<ntux::Object> = wait.objects.iter().map(|object| ntux::Object(object.0)).collect();
        let mut how = ntux::Wait::by(wait.owner).until(deadline_of(wait.deadline));
        if let Some(alert) = wait.alert {
            how = how.alert(ntux::Object(alert.0));
        }
        if wait.all { self.arena.wait_all(&objects, how) } else { self.arena.wait_any(&objects, how) }
    }
}

impl Face for Rust {
    fn semaphore_create(&self, count: u32, max: u32) -> Outcome<Object> {
        let semaphore = ntux::Semaphore::create(&self.arena, count, max).map_err(errno)?;
        Ok(Object(semaphore.object().0))
    }

    fn semaphore_release(&self, semaphore: Object, add: u32) -> Outcome<u32> {
        self.semaphore(semaphore)?.release(add).map_err(errno)
    }

    fn semaphore_read(&self, semaphore: Object) -> Outcome<Semaphore> {
        let state = self.semaphore(semaphore)?.read().map_err(errno)?;
        Ok(Semaphore { count: state.count, max: state.max })
    }

    fn mutex_create(&self, owner: u32, count: u32) -> Outcome<Object> {
        let mutex = ntux::Mutex::create_with(&self.arena, owner, count).map_err(errno)?;
        Ok(Object(mutex.object().0))
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
        Ok(Object(event.object().0))
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

    fn close(&self, object: Object) -> Outcome<()> {
        self.arena.close(ntux::Object(object.0)).map_err(errno)
    }

    fn wait(&self, wait: &Wait) -> Outcome<Satisfied> {
        let result = self.wait_through_handle(wait).unwrap_or_else(|| self.wait_through_arena(wait));
        let satisfied = result.map_err(errno)?;
        Ok(Satisfied { index: satisfied.index, abandoned: satisfied.abandoned })
    }

    /// XNU does not end the waits of the dead.
    #[cfg(any(target_os = "macos", ntux_simulated_macos))]
    fn bury(&self, process: u32) {
        self.arena.core().bury_process(process).expect("it has ended");
    }

    /// A child goes on with what it inherited.
    fn in_child(&self) -> Box<dyn Face> {
        Box::new(Rust { arena: self.arena.clone() })
    }
}
