// SPDX-License-Identifier: MIT OR Apache-2.0
//! The list on the C API: the functions of `ntux.h`, in the shared library that is installed. Twice: with the waits of an
//! arena, and with those of explicit waiters.

#[path = "../../testkit/tests/products/products.rs"]
mod products;

use std::env;
use std::ffi::{CStr, CString, c_void};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::ptr::null_mut;
use std::sync::OnceLock;

use libloading::Library;
use ntux_conformance::case::Kind;
use ntux_conformance::face::{
    Clock, Deadline, Delivered, EBADF, EINVAL, EOWNERDEAD, EPROTOTYPE, ESRCH, Errno, Event, Face, Mutex, Name, New,
    Object, Outcome, POISON, Queue, Registered, Registration, Satisfied, Semaphore, Timer, Wait,
};
use ntux_conformance::run::{self, Instantiation};
use ntux_testkit::c::{self, Arena, Create, Functions, NEVER, REALTIME, Read, Waiter};

const OBJECTS: u32 = 4096;
const WAITERS: u32 = 256;

fn main() -> ExitCode {
    if !run::one_case_is_asked() && given_library().is_none() {
        build_library();
    }
    if run::one_case_is_asked() {
        return list("C");
    }
    let results = [list("C"), {
        // SAFETY: this process has no other thread now.
        unsafe { env::set_var(EXPLICIT, "1") };
        list("C, explicit waiters")
    }];
    if results == [ExitCode::SUCCESS; 2] { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Set for the cases that wait with explicit waiters.
const EXPLICIT: &str = "NTUX_CONFORMANCE_EXPLICIT_WAITERS";

fn list(name: &'static str) -> ExitCode {
    run::main(&Instantiation {
        name,
        open: || Box::new(C::create()),
        without: &[(
            Kind::Device,
            "objects are numbers, other bad pointers than NULL are not detected, signals end no wait",
        )],
    })
}

fn string(name: Name<'_>) -> CString {
    CString::new(name.text).expect("a name without 0")
}

/// The library that `NTUX_C_LIBRARY` names, or the one that is built here.
fn library_path() -> PathBuf {
    given_library()
        .unwrap_or_else(|| target_directory().join("capi/libntux").with_extension(env::consts::DLL_EXTENSION))
}

fn given_library() -> Option<PathBuf> {
    env::var_os("NTUX_C_LIBRARY").map(PathBuf::from)
}

/// Below this directory Cargo, and the makefile, put what they build.
fn target_directory() -> PathBuf {
    let program = env::current_exe().expect("a path");
    products::products(program.ancestors().nth(3).expect("target/PROFILE/deps/PROGRAM"))
}

fn build_library() {
    let makefile = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/capi/install.mk");
    let built = Command::new("make")
        .args(["--silent", "capi", "-f"])
        .arg(makefile)
        .env("CARGO_TARGET_DIR", target_directory())
        .status()
        .expect("make runs");
    assert!(built.success(), "the C library does not build");
}

fn functions() -> &'static Functions {
    static FUNCTIONS: OnceLock<Functions> = OnceLock::new();
    FUNCTIONS.get_or_init(|| {
        let path = library_path();
        // SAFETY: the library has no initializers that ask for anything.
        let library = unsafe { Library::new(&path) }.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let library: &Library = Box::leak(Box::new(library));
        let find = |name: &CStr| {
            // SAFETY: only the address is taken.
            let symbol = unsafe { library.get::<*mut c_void>(name.to_bytes_with_nul()) };
            symbol.map_or(null_mut(), |symbol| *symbol)
        };
        // SAFETY: they are the functions of the header: the library is ours.
        unsafe { Functions::found(find) }
    })
}

/// 0 or a negative error number, as the functions give it; where they tell apart what the driver does not, the driver's.
fn outcome(result: i32) -> Outcome<()> {
    const TOLD_APART: [i32; 4] = [libc::EPROTOTYPE, libc::ESRCH, libc::E2BIG, libc::EEXIST];
    match result {
        0 => Ok(()),
        error if TOLD_APART.contains(&-error) => Err(EINVAL),
        error if error < 0 => Err(Errno(-error)),
        other => panic!("neither 0 nor a negative error number: {other}"),
    }
}

/// The same of a function for names, which tells another kind apart on every face.
fn outcome_of_name(result: i32) -> Outcome<()> {
    if result == -libc::EPROTOTYPE { Err(EPROTOTYPE) } else { outcome(result) }
}

/// `NTUX_QUEUE_ALL`.
const QUEUE_ALL: u32 = 1;

/// The same of a hold for a process, which may be none.
fn outcome_of_process(result: i32) -> Outcome<()> {
    if result == -libc::ESRCH { Err(ESRCH) } else { outcome(result) }
}

/// The flags and the nanoseconds of a deadline.
fn deadline_of(deadline: Deadline) -> (u32, u64) {
    match deadline {
        Deadline::Never => (0, NEVER),
        Deadline::Monotonic(ns) => (0, ns),
        Deadline::Realtime(ns) => (REALTIME, ns),
    }
}

/// `NTUX_BOOTTIME`.
const BOOTTIME: u32 = 2;

/// An attached arena.
struct C {
    arena: *mut Arena,
}

// SAFETY: the header allows every function in every thread at any time, except the detaching, which `drop` does alone.
unsafe impl Sync for C {}

impl Drop for C {
    fn drop(&mut self) {
        // SAFETY: the last use of the pointer.
        assert_eq!(outcome(unsafe { (functions().arena_detach)(self.arena) }), Ok(()));
    }
}

/// A waiter of the calling thread.
struct Explicit(*mut Waiter);

impl Explicit {
    fn create(arena: *const Arena) -> Explicit {
        let mut waiter = null_mut();
        // SAFETY: the arena is attached, and there is room for the pointer.
        assert_eq!(outcome(unsafe { (functions().waiter_create)(arena, &mut waiter) }), Ok(()));
        Explicit(waiter)
    }
}

impl Drop for Explicit {
    fn drop(&mut self) {
        // SAFETY: the last use of the pointer.
        assert_eq!(outcome(unsafe { (functions().waiter_destroy)(self.0) }), Ok(()));
    }
}

impl C {
    fn create() -> C {
        let mut arena = null_mut();
        // SAFETY: there is room for the pointer.
        outcome(unsafe { (functions().arena_create)(OBJECTS, WAITERS, &mut arena) }).expect("an arena");
        C { arena }
    }

    fn create_object(&self, function: Create, args: [u32; 2]) -> Outcome<Object> {
        let mut object = u64::from(POISON);
        // SAFETY: the arena is attached, and there is room for the object.
        let result = outcome(unsafe { function(self.arena, args[0], args[1], &mut object) });
        assert!(result.is_ok() || object == u64::from(POISON), "a refused creation writes nothing");
        result.map(|()| Object(object))
    }

    /// Runs `operation` with a place for the value before.
    fn previous(&self, operation: impl FnOnce(&Functions, *const Arena, *mut u32) -> i32) -> Outcome<u32> {
        let mut previous = POISON;
        let result = outcome(operation(functions(), self.arena, &mut previous));
        assert!(result.is_ok() || previous == POISON, "a refused operation writes nothing");
        result.map(|()| previous)
    }

    fn read(&self, function: Read, object: Object) -> (Outcome<()>, u32, u32) {
        let (mut first, mut second) = (POISON, POISON);
        // SAFETY: the arena is attached, and there is room for both values.
        let result = outcome(unsafe { function(self.arena, object.0, &mut first, &mut second) });
        if result.is_err_and(|error| error != EOWNERDEAD) {
            assert_eq!((first, second), (POISON, POISON), "a refused read writes nothing");
        }
        (result, first, second)
    }
}

impl Face for C {
    fn semaphore_create(&self, count: u32, max: u32) -> Outcome<Object> {
        self.create_object(functions().semaphore_create, [count, max])
    }

    fn semaphore_release(&self, semaphore: Object, add: u32) -> Outcome<u32> {
        // SAFETY: `previous` gives an attached arena and a place; so below.
        self.previous(|c, arena, place| unsafe { (c.semaphore_release)(arena, semaphore.0, add, place) })
    }

    fn semaphore_read(&self, semaphore: Object) -> Outcome<Semaphore> {
        let (result, count, max) = self.read(functions().semaphore_read, semaphore);
        result.map(|()| Semaphore { count, max })
    }

    fn mutex_create(&self, owner: u32, count: u32) -> Outcome<Object> {
        self.create_object(functions().mutex_create, [owner, count])
    }

    fn mutex_unlock(&self, mutex: Object, owner: u32) -> Outcome<u32> {
        // SAFETY: as above.
        self.previous(|c, arena, place| unsafe { (c.mutex_unlock)(arena, mutex.0, owner, place) })
    }

    fn mutex_kill(&self, mutex: Object, owner: u32) -> Outcome<()> {
        // SAFETY: the arena is attached.
        outcome(unsafe { (functions().mutex_kill)(self.arena, mutex.0, owner) })
    }

    fn mutex_read(&self, mutex: Object) -> Outcome<Mutex> {
        let (result, owner, count) = self.read(functions().mutex_read, mutex);
        match result {
            Ok(()) => Ok(Mutex { owner, count, abandoned: false }),
            Err(EOWNERDEAD) => Ok(Mutex { owner, count, abandoned: true }),
            Err(error) => Err(error),
        }
    }

    fn event_create(&self, manual: u32, signaled: u32) -> Outcome<Object> {
        self.create_object(functions().event_create, [manual, signaled])
    }

    fn event_set(&self, event: Object) -> Outcome<u32> {
        // SAFETY: as above.
        self.previous(|c, arena, place| unsafe { (c.event_set)(arena, event.0, place) })
    }

    fn event_reset(&self, event: Object) -> Outcome<u32> {
        // SAFETY: as above.
        self.previous(|c, arena, place| unsafe { (c.event_reset)(arena, event.0, place) })
    }

    fn event_pulse(&self, event: Object) -> Outcome<u32> {
        // SAFETY: as above.
        self.previous(|c, arena, place| unsafe { (c.event_pulse)(arena, event.0, place) })
    }

    fn event_read(&self, event: Object) -> Outcome<Event> {
        let (result, manual, signaled) = self.read(functions().event_read, event);
        result.map(|()| Event { manual, signaled })
    }

    fn timer_create(&self, manual: u32) -> Outcome<Object> {
        let mut timer = u64::MAX;
        // SAFETY: the arena is attached, and there is room for the object.
        outcome(unsafe { (functions().timer_create)(self.arena, manual, &mut timer) }).map(|()| Object(timer))
    }

    fn timer_set(&self, timer: Object, clock: Clock, due: u64, period: u64) -> Outcome<()> {
        let flags = match clock {
            Clock::Monotonic => 0,
            Clock::Wall => REALTIME,
            Clock::Boot => BOOTTIME,
        };
        // SAFETY: the arena is attached.
        outcome(unsafe { (functions().timer_set)(self.arena, timer.0, flags, due, period) })
    }

    fn timer_cancel(&self, timer: Object) -> Outcome<()> {
        // SAFETY: the arena is attached.
        outcome(unsafe { (functions().timer_cancel)(self.arena, timer.0) })
    }

    fn timer_read(&self, timer: Object) -> Outcome<Timer> {
        let (mut manual, mut signaled, mut flags) = (POISON, POISON, POISON);
        let (mut due, mut period) = (u64::MAX, u64::MAX);
        // SAFETY: the arena is attached, and there are places for everything.
        outcome(unsafe {
            let places = (&mut manual, &mut signaled, &mut flags);
            (functions().timer_read)(self.arena, timer.0, places.0, places.1, places.2, &mut due, &mut period)
        })?;
        let clock = match flags {
            0 => Clock::Monotonic,
            REALTIME => Clock::Wall,
            BOOTTIME => Clock::Boot,
            other => panic!("no clock: {other}"),
        };
        Ok(Timer { manual, signaled, due: (due != 0).then_some((clock, due)), period })
    }

    fn queue_create(&self) -> Outcome<Queue> {
        let mut queue = 0;
        // SAFETY: the arena is attached, and there is room for the queue.
        outcome(unsafe { (functions().queue_create)(self.arena, &mut queue) }).map(|()| Queue(queue))
    }

    fn queue_close(&self, queue: Queue) -> Outcome<()> {
        // SAFETY: the arena is attached.
        outcome(unsafe { (functions().queue_close)(self.arena, queue.0) })
    }

    fn queue_wait(&self, queue: Queue, wait: &Wait, key: u64) -> Outcome<Registered> {
        let objects: Vec<u64> = wait.objects.iter().map(|object| object.0).collect();
        let (mut registration, mut index) = (u64::MAX, POISON);
        // SAFETY: the arena is attached, the objects outlive the call, and there is room for the results.
        let result = outcome(unsafe {
            let (array, count, flags) = (objects.as_ptr(), objects.len() as u32, if wait.all { QUEUE_ALL } else { 0 });
            let (places, wait) = ((&mut registration, &mut index), (queue.0, wait.owner));
            (functions().queue_wait)(self.arena, wait.0, array, count, wait.1, flags, key, places.0, places.1)
        });
        match (result, registration) {
            (Ok(()) | Err(EOWNERDEAD), 0) => Ok(Registered::Satisfied(Satisfied { index, abandoned: result.is_err() })),
            (Ok(()), number) => {
                assert_eq!(index, POISON, "a wait that waits writes no index");
                Ok(Registered::Waits(Registration(number)))
            }
            (Err(error), number) => {
                assert_eq!((number, index), (u64::MAX, POISON), "a refused wait writes nothing");
                Err(if error == EBADF { EINVAL } else { error })
            }
        }
    }

    fn queue_post(&self, queue: Queue, key: u64) -> Outcome<()> {
        // SAFETY: the arena is attached.
        outcome(unsafe { (functions().queue_post)(self.arena, queue.0, key) })
    }

    fn queue_get(&self, queue: Queue, deadline: Deadline) -> Outcome<Delivered> {
        let untouched = c::Delivered { key: 1, registration: 2, index: 3, abandoned: 4 };
        let (mut got, (flags, deadline)) = (untouched, deadline_of(deadline));
        // SAFETY: the arena is attached, and there is room for one.
        let count = unsafe { (functions().queue_get)(self.arena, queue.0, flags, deadline, &mut got, 1) };
        if count < 0 {
            assert_eq!(got, untouched, "what fails writes nothing");
            return outcome(count).map(|()| unreachable!("an error"));
        }
        assert_eq!(count, 1);
        let registration = (got.registration != 0).then_some(Registration(got.registration));
        assert!(got.abandoned <= 1);
        let satisfied = Satisfied { index: got.index, abandoned: got.abandoned == 1 };
        Ok(Delivered { registration, key: got.key, satisfied })
    }

    fn queue_cancel(&self, registration: Registration) -> Outcome<Option<Satisfied>> {
        let mut index = POISON;
        // SAFETY: the arena is attached, and there is room for the index.
        let result = unsafe { (functions().queue_cancel)(self.arena, registration.0, &mut index) };
        let satisfied = |abandoned| Ok(Some(Satisfied { index, abandoned }));
        match result {
            1 => satisfied(false),
            0 => {
                assert_eq!(index, POISON, "there is none");
                Ok(None)
            }
            error if Errno(-error) == EOWNERDEAD => satisfied(true),
            error => outcome(error).map(|()| unreachable!("an error")),
        }
    }

    fn owner_of_thread(&self) -> Outcome<u32> {
        let mut owner = 0;
        // SAFETY: the arena is attached, and there is room for the id.
        outcome(unsafe { (functions().owner_of_thread)(self.arena, &mut owner) }).map(|()| owner)
    }

    fn owner_create(&self) -> Outcome<u32> {
        let mut owner = 0;
        // SAFETY: the arena is attached, and there is room for the id.
        outcome(unsafe { (functions().owner_create)(self.arena, &mut owner) }).map(|()| owner)
    }

    fn owner_end(&self, owner: u32) -> Outcome<()> {
        // SAFETY: the arena is attached.
        outcome(unsafe { (functions().owner_end)(self.arena, owner) })
    }

    fn end_create(&self, owner: u32) -> Outcome<Object> {
        let mut end = 0;
        // SAFETY: the arena is attached, and the place may be written.
        outcome(unsafe { (functions().end_create)(self.arena, owner, &mut end) }).map(|()| Object(end))
    }

    fn end_report(&self, end: Object, code: u32) -> Outcome<()> {
        // SAFETY: the arena is attached.
        outcome(unsafe { (functions().end_report)(self.arena, end.0, code) })
    }

    fn end_read(&self, end: Object) -> Outcome<(u32, bool, Option<u32>)> {
        let (mut owner, mut ended, mut code) = (0, 0, 0);
        // SAFETY: the arena is attached, and the places may be written.
        let read = outcome(unsafe { (functions().end_read)(self.arena, end.0, &mut owner, &mut ended, &mut code) });
        match read {
            Err(EOWNERDEAD) => Ok((owner, ended != 0, None)),
            // What was not reported is 0.
            _ => read.map(|()| (owner, ended != 0, Some(code).filter(|&code| code != 0))),
        }
    }

    fn close(&self, object: Object) -> Outcome<()> {
        // SAFETY: the arena is attached.
        outcome(unsafe { (functions().object_close)(self.arena, object.0) })
    }

    fn hold(&self, object: Object) -> Outcome<()> {
        // SAFETY: the arena is attached.
        outcome(unsafe { (functions().object_hold)(self.arena, object.0) })
    }

    fn hold_for(&self, object: Object, process: u32) -> Outcome<()> {
        // SAFETY: the arena is attached.
        outcome_of_process(unsafe { (functions().object_hold_for)(self.arena, object.0, process) })
    }

    fn holds(&self, object: Object) -> Outcome<u32> {
        let mut holds = u32::MAX;
        // SAFETY: the arena is attached, and there is a place.
        outcome(unsafe { (functions().object_holds)(self.arena, object.0, &mut holds) }).map(|()| holds)
    }

    fn let_go(&self, object: Object) -> Outcome<()> {
        // SAFETY: the arena is attached.
        outcome(unsafe { (functions().object_release)(self.arena, object.0) })
    }

    fn create_named(&self, name: Name<'_>, new: New) -> Outcome<(Object, bool)> {
        let (text, flags) = (string(name), name.ignores_case.into());
        let (mut object, mut existed) = (u64::MAX, u32::MAX);
        let (arena, name, c) = (self.arena, text.as_ptr(), functions());
        // SAFETY: the arena is attached, the string ends, and there are two places.
        let created = outcome_of_name(unsafe {
            match new {
                New::Semaphore { count, max } => {
                    (c.semaphore_create_named)(arena, name, flags, count, max, &mut object, &mut existed)
                }
                New::Mutex { owner, count } => {
                    (c.mutex_create_named)(arena, name, flags, owner, count, &mut object, &mut existed)
                }
                New::Event { manual, signaled } => {
                    let (manual, signaled) = (manual.into(), signaled.into());
                    (c.event_create_named)(arena, name, flags, manual, signaled, &mut object, &mut existed)
                }
                New::Timer { manual } => {
                    (c.timer_create_named)(arena, name, flags, manual.into(), &mut object, &mut existed)
                }
            }
        });
        assert_eq!(created.is_ok(), object != u64::MAX && existed <= 1, "what fails writes nothing");
        created.map(|()| (Object(object), existed == 1))
    }

    fn open_named(&self, name: Name<'_>, like: New) -> Outcome<Object> {
        let (text, flags) = (string(name), name.ignores_case.into());
        let mut object = u64::MAX;
        let kind = match like {
            New::Semaphore { .. } => 1,
            New::Mutex { .. } => 2,
            New::Event { .. } => 4,
            New::Timer { .. } => 6,
        };
        // SAFETY: the arena is attached, the string ends, and there is a place.
        let open = unsafe { (functions().object_open_named)(self.arena, text.as_ptr(), flags, kind, &mut object) };
        outcome_of_name(open).map(|()| Object(object))
    }

    fn set_permanent(&self, object: Object, permanent: bool) -> Outcome<()> {
        let c = functions();
        let change = if permanent { c.object_make_permanent } else { c.object_make_temporary };
        // SAFETY: the arena is attached.
        outcome(unsafe { change(self.arena, object.0) })
    }

    fn wait(&self, wait: &Wait) -> Outcome<Satisfied> {
        let objects: Vec<u64> = wait.objects.iter().map(|object| object.0).collect();
        let alert = wait.alert.map_or(0, |alert| alert.0);
        let (flags, deadline) = deadline_of(wait.deadline);
        let explicit = env::var_os(EXPLICIT).map(|_| Explicit::create(self.arena));
        let (array, count) = (objects.as_ptr(), objects.len() as u32);
        let mut index = POISON;
        // SAFETY: arena or waiter of this thread, the objects outlive the call, and there is room for the index.
        let result = outcome(unsafe {
            let (c, owner) = (functions(), wait.owner);
            match (&explicit, wait.all) {
                (None, false) => (c.wait_any)(self.arena, array, count, alert, owner, flags, deadline, &mut index),
                (None, true) => (c.wait_all)(self.arena, array, count, alert, owner, flags, deadline, &mut index),
                (Some(Explicit(waiter)), false) => {
                    (c.waiter_wait_any)(*waiter, array, count, alert, owner, flags, deadline, &mut index)
                }
                (Some(Explicit(waiter)), true) => {
                    (c.waiter_wait_all)(*waiter, array, count, alert, owner, flags, deadline, &mut index)
                }
            }
        });
        match result {
            Ok(()) => Ok(Satisfied { index, abandoned: false }),
            Err(EOWNERDEAD) => Ok(Satisfied { index, abandoned: true }),
            Err(error) => {
                assert_eq!(index, POISON, "a refused or timed-out wait writes nothing");
                // A wait tells a closed object apart: S-503.
                Err(if error == EBADF { EINVAL } else { error })
            }
        }
    }

    /// XNU does not end the waits of the dead.
    #[cfg(any(target_os = "macos", ntux_simulated_macos))]
    fn bury(&self, process: u32) {
        // SAFETY: the arena is attached.
        assert_eq!(outcome(unsafe { (functions().arena_bury_process)(self.arena, process) }), Ok(()));
    }

    /// Attaches the arena anew, as a process does that was handed its descriptor.
    fn in_child(&self) -> Box<dyn Face> {
        let mut arena = null_mut();
        // SAFETY: the arena is attached, and there is room for the new pointer.
        let attached = outcome(unsafe {
            let fd = (functions().arena_fd)(self.arena);
            (functions().arena_attach)(fd, &mut arena)
        });
        assert_eq!(attached, Ok(()));
        Box::new(C { arena })
    }
}
