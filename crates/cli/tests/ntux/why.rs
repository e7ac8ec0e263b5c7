// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ntux why`: what it finds in processes that hang, and that it finds nothing in those that do not.

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use ntux_platform::atomic::Word32;
use ntux_sync::inspect::{Value as State, View};
use ntux_sync::{Arena, Capacity, Deadline, Object};
use serde_json::Value;

use crate::stage::{Stage, compile, complained, document, finish, said};

pub const CAPACITY: Capacity = Capacity { objects: 64, waiters: 16 };
pub const PATIENCE: Duration = Duration::from_secs(60);
/// Tells this program, started again, what to do with which arena.
const PART: &str = "NTUX_TEST_WHY";
/// Tells this program, started again, to fail.
const FAILS: &str = "NTUX_TEST_WHY_FAILS";

pub fn why(stage: &Stage, options: &[&str]) -> Output {
    finish(stage.ntux(&["why"]).args(options))
}

pub fn this_process() -> String {
    std::process::id().to_string()
}

/// What `ntux why` says of an arena of this process.
pub fn look(stage: &Stage, arena: &Arena) -> Value {
    told(&why(stage, &[&this_process(), "--json"]), arena)
}

/// A process of the test, which ends with it: also if the test fails, whose output would be waited for until then.
pub struct Actor(pub Child);

impl Drop for Actor {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl std::ops::Deref for Actor {
    type Target = Child;

    fn deref(&self) -> &Child {
        &self.0
    }
}

/// Kills a process of the test.
pub fn end(actor: impl Into<Actor>) {
    drop(actor.into());
}

impl From<Child> for Actor {
    fn from(child: Child) -> Actor {
        Actor(child)
    }
}

/// Ends every wait of this process if the test fails: the threads of a scope sleep, and the scope would wait for them for ever.
pub struct FailsFast<'a> {
    arena: &'a Arena,
    view: View,
}

impl Drop for FailsFast<'_> {
    fn drop(&mut self) {
        let start = Instant::now();
        while std::thread::panicking() && self.end_waits() {
            if start.elapsed() > PATIENCE {
                eprintln!("a test has failed, and its threads cannot be ended");
                std::process::abort();
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl<'a> FailsFast<'a> {
    pub fn new(arena: &'a Arena, file: BorrowedFd<'_>) -> FailsFast<'a> {
        FailsFast { arena, view: View::open(file).unwrap() }
    }

    /// Signals everything for which somebody waits. Returns whether there was anything.
    fn end_waits(&self) -> bool {
        let Ok(snapshot) = self.view.snapshot() else { return false };
        let (arena, waiter) = (self.arena, self.arena.waiter());
        for seen in snapshot.objects.iter().filter(|seen| seen.waiting().next().is_some()) {
            let _ = match &seen.value {
                State::Mutex(mutex) => arena.mutex_kill(&waiter, seen.object, mutex.owner),
                State::Semaphore(_) => arena.semaphore_release(&waiter, seen.object, 1).map(drop),
                _ => arena.event_set(&waiter, seen.object).map(drop),
            };
        }
        arena.retire(&waiter);
        snapshot.waiting().next().is_some()
    }
}

/// Only this program, started again by the next test, fails here.
#[test]
fn fails() {
    if std::env::var_os(FAILS).is_none() {
        return;
    }
    let arena = Arena::create(CAPACITY).unwrap();
    let waiter = arena.waiter();
    let mutex = arena.mutex_create(&waiter, 1, 1).unwrap();
    let events = [false, true].map(|manual| arena.event_create(&waiter, manual, false).unwrap());
    let semaphore = arena.semaphore_create(&waiter, 0, 1).unwrap();
    std::thread::scope(|scope| {
        let arena = &arena;
        let _fails_fast = FailsFast::new(arena, arena.fd().unwrap());
        for (owner, object) in (2..).zip([mutex, events[0], events[1], semaphore]) {
            scope.spawn(move || arena.wait_any(&arena.waiter(), &[object], None, owner, Deadline::Never).unwrap());
        }
        scope.spawn(move || arena.wait_all(&arena.waiter(), &events, None, 9, Deadline::Never).unwrap());
        sleepers(arena, 5);
        panic!("on purpose");
    });
}

#[test]
fn a_test_that_fails_does_not_hang() {
    let mut command = Command::new(std::env::current_exe().unwrap());
    let output = finish(command.args(["--exact", "why::fails", "--nocapture"]).env(FAILS, "yes"));
    assert_eq!(output.status.code(), Some(101), "{}{}", said(&output), complained(&output));
    assert!(complained(&output).contains("on purpose"), "{}", complained(&output));
}

/// What is said of this arena; other tests have others.
pub fn told(output: &Output, arena: &Arena) -> Value {
    let report = document("why", output);
    let arenas = report["arenas"].as_array().unwrap();
    arenas.iter().find(|seen| seen["inode"] == arena.file().inode).expect("the arena is there").clone()
}

pub fn kinds(told: &Value) -> Vec<&str> {
    told["findings"].as_array().unwrap().iter().map(|finding| finding["kind"].as_str().unwrap()).collect()
}

pub fn sleepers(arena: &Arena, count: usize) {
    let view = View::open(arena.fd().unwrap()).unwrap();
    let start = Instant::now();
    while view.snapshot().unwrap().waiters.iter().filter(|waiter| waiter.parked).count() != count {
        assert!(start.elapsed() < PATIENCE, "nobody falls asleep");
        std::thread::sleep(Duration::from_millis(1));
    }
}

pub fn slot(object: Object) -> u64 {
    object.0 & 0xffff_ffff
}

#[test]
fn two_threads_that_wait_for_each_other_are_a_deadlock_with_both_names_and_both_mutexes() {
    let stage = Stage::new();
    let arena = Arena::create(CAPACITY).unwrap();
    let waiter = arena.waiter();
    let mutexes = [1, 2].map(|owner| arena.mutex_create(&waiter, owner, 1).unwrap());
    let [first, second] = mutexes;
    std::thread::scope(|scope| {
        let arena = &arena;
        let _fails_fast = FailsFast::new(arena, arena.fd().unwrap());
        let lock = move |name: &str, owner, mutex| {
            let lock = move || arena.wait_any(&arena.waiter(), &[mutex], None, owner, Deadline::Never).unwrap();
            std::thread::Builder::new().name(name.to_owned()).spawn_scoped(scope, lock).unwrap();
        };
        lock("the left", 1, second);
        lock("the right", 2, first);
        lock("the third", 3, first);
        sleepers(arena, 3);

        let output = why(&stage, &[&this_process(), "--json"]);
        assert_eq!(output.status.code(), Some(1), "{}", complained(&output));
        let seen = told(&output, arena);
        assert_eq!(kinds(&seen), ["deadlock"], "{seen:#}");
        let deadlock = &seen["findings"][0];
        let names = |of: &str| -> Vec<String> {
            let threads = deadlock[of].as_array().unwrap();
            let mut names: Vec<_> = threads.iter().map(|thread| thread["name"].as_str().unwrap().to_owned()).collect();
            names.sort_unstable();
            names
        };
        assert_eq!(names("threads"), ["the left", "the right"]);
        assert_eq!(names("behind"), ["the third"]);
        let mut slots: Vec<_> =
            deadlock["objects"].as_array().unwrap().iter().map(|object| object["slot"].as_u64().unwrap()).collect();
        slots.sort_unstable();
        assert_eq!(slots, mutexes.map(slot));
        assert_eq!(seen["chains"].as_array().unwrap().len(), 3, "{seen:#}");

        // Everything on this machine, and one thread alone.
        let output = why(&stage, &["--json"]);
        assert_eq!((output.status.code(), kinds(&told(&output, arena))), (Some(1), vec!["deadlock"]));
        let third = &deadlock["behind"][0]["thread"];
        let output = why(&stage, &[&format!("{}/{third}", this_process())]);
        let text = said(&output);
        let left = deadlock["threads"].as_array().unwrap().iter().find(|thread| thread["name"] == "the left").unwrap();
        for words in [
            "DEADLOCK of 2 threads:".to_owned(),
            format!(
                "{}/{} the left (owner 1) waits for mutex #{} of owner 2",
                left["pid"],
                left["thread"],
                slot(second)
            ),
            "cannot continue until it is resolved".to_owned(),
            format!("  mutex #{}: owned by\n", slot(first)),
            format!("{}/{third} the third (owner 3) has waited ", this_process()),
            "the left (owner 1): see above".to_owned(),
        ] {
            assert!(text.contains(&words), "no {words:?} in\n{text}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");

        // In any order: nobody knows which of two queued first.
        let mut owners = vec![(first, 1), (second, 2), (first, 2), (first, 3)];
        while !owners.is_empty() {
            owners.retain(|&(mutex, owner)| arena.mutex_kill(&waiter, mutex, owner).is_err());
            std::thread::yield_now();
        }
    });
    let output = why(&stage, &[&this_process(), "--json"]);
    assert_eq!(kinds(&told(&output, &arena)), [""; 0]);
}

/// One of them will give up.
#[test]
fn a_cycle_that_a_deadline_ends_is_no_deadlock() {
    let stage = Stage::new();
    let arena = Arena::create(CAPACITY).unwrap();
    let waiter = arena.waiter();
    let [first, second] = [1, 2].map(|owner| arena.mutex_create(&waiter, owner, 1).unwrap());
    std::thread::scope(|scope| {
        let arena = &arena;
        let _fails_fast = FailsFast::new(arena, arena.fd().unwrap());
        let lock = move |owner, mutex, deadline| {
            scope.spawn(move || arena.wait_any(&arena.waiter(), &[mutex], None, owner, deadline).unwrap());
        };
        lock(1, second, Deadline::after_ns(3_600_000_000_000));
        lock(2, first, Deadline::Never);
        sleepers(arena, 2);
        let output = why(&stage, &[&this_process(), "--json"]);
        assert_eq!((output.status.code(), kinds(&told(&output, arena)).len()), (Some(0), 0));
        let text = said(&why(&stage, &[&this_process()]));
        assert!(text.contains("60m more at most") && text.contains("see above"), "{text}");
        for (mutex, owner) in [(first, 1), (second, 2)] {
            arena.mutex_kill(&waiter, mutex, owner).unwrap();
        }
    });
}

/// An event can be set by anybody, and a wait for one of two ends with either.
#[test]
fn who_waits_for_what_can_still_happen_is_not_deadlocked() {
    let stage = Stage::new();
    let arena = Arena::create(CAPACITY).unwrap();
    let waiter = arena.waiter();
    let mutexes = [1, 2].map(|owner| arena.mutex_create(&waiter, owner, 1).unwrap());
    let event = arena.event_create(&waiter, true, false).unwrap();
    std::thread::scope(|scope| {
        let arena = &arena;
        let _fails_fast = FailsFast::new(arena, arena.fd().unwrap());
        let wait = move |owner, objects: [Object; 2]| {
            scope.spawn(move || arena.wait_any(&arena.waiter(), &objects, None, owner, Deadline::Never).unwrap());
        };
        wait(1, [mutexes[1], event]);
        wait(2, [mutexes[0], event]);
        sleepers(arena, 2);
        let output = why(&stage, &[&this_process()]);
        let text = said(&output);
        assert!(text.contains("s for any of 2:") && text.contains("not signaled; nobody has signaled"), "{text}");
        let output = why(&stage, &[&this_process(), "--json"]);
        assert_eq!(kinds(&told(&output, arena)), [""; 0]);
        arena.event_set(&waiter, event).unwrap();
    });
}

#[test]
fn a_wait_for_all_that_lacks_one_object_is_named_and_not_called_wrong() {
    let stage = Stage::new();
    let arena = Arena::create(CAPACITY).unwrap();
    let waiter = arena.waiter();
    let objects = [true, false, true].map(|signaled| arena.event_create(&waiter, true, signaled).unwrap());
    std::thread::scope(|scope| {
        let arena = &arena;
        let _fails_fast = FailsFast::new(arena, arena.fd().unwrap());
        scope.spawn(move || arena.wait_all(&arena.waiter(), &objects, None, 7, Deadline::Never).unwrap());
        sleepers(arena, 1);
        let output = why(&stage, &[&format!("{}:{}", this_process(), arena.fd().unwrap().as_raw_fd()), "--json"]);
        assert_eq!(output.status.code(), Some(0), "{}", complained(&output));
        let seen = told(&output, arena);
        assert_eq!(kinds(&seen), ["lacks one"]);
        assert_eq!(seen["findings"][0]["objects"][0]["slot"], slot(objects[1]));
        arena.event_set(&waiter, objects[1]).unwrap();
    });
}

#[test]
fn who_waits_for_a_closed_object_waits_in_vain() {
    let stage = Stage::new();
    let arena = Arena::create(CAPACITY).unwrap();
    let waiter = arena.waiter();
    let [event, other] = [(); 2].map(|()| arena.event_create(&waiter, false, false).unwrap());
    std::thread::scope(|scope| {
        let arena = &arena;
        let _fails_fast = FailsFast::new(arena, arena.fd().unwrap());
        scope.spawn(move || arena.wait_any(&arena.waiter(), &[event], Some(other), 7, Deadline::Never).unwrap());
        scope.spawn(move || {
            let deadline = Deadline::after_ns(3_000_000_000);
            arena.wait_any(&arena.waiter(), &[event], None, 8, deadline).unwrap_err()
        });
        sleepers(arena, 2);
        arena.close(event).unwrap();
        let output = why(&stage, &[&this_process(), "--json"]);
        let seen = told(&output, arena);
        assert!(kinds(&seen).len() <= 1, "who has an alert can go on: {seen:#}");
        arena.event_set(&waiter, other).unwrap();
    });
}

/// Does its part if it is told to: another process that takes part in an arena.
#[test]
fn actor() {
    let Ok(part) = std::env::var(PART) else { return };
    let (path, part) = part.split_once(' ').unwrap();
    let arena = Arena::attach(File::options().read(true).write(true).open(path).unwrap().as_fd()).unwrap();
    let words: Vec<u64> = part.split_whitespace().map(|word| word.parse().unwrap()).collect();
    let [owner, objects @ ..] = &words[..] else { panic!("{part}") };
    let waiter = arena.waiter();
    handle_signals();
    // Registers this process.
    arena.close(arena.event_create(&waiter, false, false).unwrap()).unwrap();
    let made = objects.is_empty().then(|| arena.event_create(&waiter, false, false).unwrap());
    if let Some(event) = made {
        arena.wait_any(&waiter, &[event], None, *owner as u32, Deadline::Never).unwrap();
    }
    for &object in objects {
        arena.wait_any(&waiter, &[Object(object)], None, *owner as u32, Deadline::Never).unwrap();
    }
    loop {
        std::thread::park();
    }
}

/// SIGUSR1 has a thread sleep elsewhere, until SIGUSR2.
fn handle_signals() {
    extern "C" fn sleep(_: libc::c_int) {
        // SAFETY: takes no memory.
        unsafe { libc::pause() };
    }
    extern "C" fn wake(_: libc::c_int) {}
    // SAFETY: handlers that may run at any time.
    unsafe {
        libc::signal(libc::SIGUSR1, sleep as extern "C" fn(_) as usize);
        libc::signal(libc::SIGUSR2, wake as extern "C" fn(_) as usize);
    }
}

/// Where another process finds the arena.
pub fn path_of(arena: &Arena) -> String {
    format!("/proc/{}/fd/{}", std::process::id(), arena.fd().unwrap().as_raw_fd())
}

/// Another process that acquires these objects, one after the other, in the name of `owner`. Without any, it creates an event
/// that nobody sets, and waits for it.
pub fn start(arena: &Arena, owner: u32, objects: &[Object]) -> Actor {
    start_as(&std::env::current_exe().unwrap(), arena, owner, objects)
}

/// The same, under the name by which the program is started.
pub fn start_as(program: &Path, arena: &Arena, owner: u32, objects: &[Object]) -> Actor {
    let path = path_of(arena);
    let objects: Vec<String> = objects.iter().map(|object| object.0.to_string()).collect();
    let mut command = Command::new(program);
    command.args(["--exact", "why::actor"]).env(PART, format!("{path} {owner} {}", objects.join(" ")));
    command.stdout(Stdio::null()).spawn().unwrap().into()
}

pub fn until(condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < PATIENCE, "it does not come");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn send(child: &Child, signal: i32) {
    // SAFETY: a signal to a child of our own that was not waited for.
    assert_eq!(unsafe { libc::kill(child.id() as i32, signal) }, 0);
}

#[test]
fn of_a_thread_that_waits_for_nothing_that_is_said() {
    let stage = Stage::new();
    let arena = Arena::create(CAPACITY).unwrap();
    let actor = start(&arena, 5, &[]);
    let view = View::open(arena.fd().unwrap()).unwrap();
    until(|| view.snapshot().unwrap().waiting().count() == 1);
    // Another thread than the one that waits: the test's.
    let first = format!("{0}/{0}", actor.id());
    let output = why(&stage, &[&first]);
    assert_eq!(output.status.code(), Some(0), "{}", complained(&output));
    let words = format!("{first} waits for no object of ntux.");
    assert!(said(&output).contains(&words), "{}", said(&output));
    assert!(!said(&why(&stage, &[&actor.id().to_string()])).contains("waits for no object"));
    end(actor);
}

#[test]
fn a_mutex_of_a_killed_process_is_found_and_named() {
    let stage = Stage::new();
    let arena = Arena::create(CAPACITY).unwrap();
    let waiter = arena.waiter();
    let gate = arena.event_create(&waiter, false, false).unwrap();
    let mutex = arena.mutex_create(&waiter, 0, 0).unwrap();
    let owner = start(&arena, 5, &[gate, mutex]);
    sleepers(&arena, 1);
    arena.event_set(&waiter, gate).unwrap();
    until(|| arena.mutex_read(&waiter, mutex).unwrap().owner == 5);
    let pid = owner.id();
    let other = start(&arena, 6, &[mutex]);
    sleepers(&arena, 1);
    let seen = look(&stage, &arena);
    assert_eq!(kinds(&seen), [""; 0], "its owner is there: {seen:#}");

    send(&owner, libc::SIGSTOP);
    until_stopped(pid);
    let seen = look(&stage, &arena);
    assert_eq!(kinds(&seen), ["owner stopped"], "{seen:#}");

    end(owner);
    let output = why(&stage, &[&this_process(), "--json"]);
    assert_eq!(output.status.code(), Some(1), "{}", complained(&output));
    let seen = told(&output, &arena);
    assert_eq!(kinds(&seen), ["owner gone"], "{seen:#}");
    let gone = &seen["findings"][0];
    assert_eq!((&gone["threads"][0]["pid"], &gone["objects"][0]["slot"]), (&pid.into(), &slot(mutex).into()));
    assert_eq!(gone["behind"][0]["pid"], other.id());
    arena.mutex_kill(&waiter, mutex, 5).unwrap();
    until(|| arena.mutex_read(&waiter, mutex).unwrap().owner == 6);
    assert_eq!(kinds(&look(&stage, &arena)), [""; 0]);
    end(other);
}

/// Wine gives the number of a thread that has ended to another one, which may have had no need to wait.
#[test]
fn an_owner_is_not_taken_for_an_earlier_one_of_its_name_that_has_ended() {
    let stage = Stage::new();
    let arena = Arena::create(CAPACITY).unwrap();
    let waiter = arena.waiter();
    let gate = arena.event_create(&waiter, false, false).unwrap();
    let mutex = arena.mutex_create(&waiter, 0, 0).unwrap();
    let earlier = start(&arena, 5, &[gate]);
    sleepers(&arena, 1);
    arena.event_set(&waiter, gate).unwrap();
    sleepers(&arena, 0);
    end(earlier);
    let owner = start(&arena, 5, &[mutex]);
    until(|| arena.mutex_read(&waiter, mutex).unwrap().owner == 5);
    let other = start(&arena, 6, &[mutex]);
    sleepers(&arena, 1);
    let seen = look(&stage, &arena);
    assert_eq!(kinds(&seen), [""; 0], "{seen:#}");
    end(owner);
    let seen = look(&stage, &arena);
    assert_eq!(kinds(&seen), ["owner gone"], "{seen:#}");
    end(other);
}

/// What `ntux why` says while something else happens a moment later. None: that was too late for it to see.
fn look_while(stage: &Stage, arena: &Arena, happens: impl FnOnce() + Send) -> Option<Value> {
    const A_MOMENT: Duration = Duration::from_millis(500);
    // It looks for longer than this.
    const IN_TIME: Duration = Duration::from_millis(900);
    let begin = Instant::now();
    std::thread::scope(|scope| {
        let moment = scope.spawn(|| {
            std::thread::sleep(A_MOMENT);
            happens();
            begin.elapsed()
        });
        let seen = look(stage, arena);
        (moment.join().unwrap() < IN_TIME).then_some(seen)
    })
}

/// As Wine's server does it, once it gets a processor and learns that the thread has ended.
#[test]
fn an_owner_that_has_ended_is_not_accused_if_its_mutex_is_abandoned_a_moment_later() {
    let stage = Stage::new();
    let arena = Arena::create(CAPACITY).unwrap();
    let waiter = arena.waiter();
    for _ in 0..3 {
        let mutex = arena.mutex_create(&waiter, 0, 0).unwrap();
        let owner = start(&arena, 5, &[mutex]);
        until(|| arena.mutex_read(&waiter, mutex).unwrap().owner == 5);
        let other = start(&arena, 6, &[mutex]);
        sleepers(&arena, 1);
        end(owner);
        let seen = look_while(&stage, &arena, || arena.mutex_kill(&arena.waiter(), mutex, 5).unwrap());
        assert_eq!(seen.as_ref().map_or(vec![], kinds), [""; 0], "{seen:#?}");
        end(other);
    }
}

/// As at the end of a process of Wine: its objects are closed while threads of it have still to end.
#[test]
fn who_waits_for_a_closed_object_and_is_ended_a_moment_later_is_not_accused() {
    let stage = Stage::new();
    let arena = Arena::create(CAPACITY).unwrap();
    let waiter = arena.waiter();
    for _ in 0..3 {
        let event = arena.event_create(&waiter, false, false).unwrap();
        let actor = start(&arena, 5, &[event]);
        sleepers(&arena, 1);
        arena.close(event).unwrap();
        let seen = look_while(&stage, &arena, || end(actor));
        assert_eq!(seen.as_ref().map_or(vec![], kinds), [""; 0], "{seen:#?}");
    }
}

/// Ends what another thread does, also if the test fails.
struct Ends<'a>(&'a Word32);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(1);
    }
}

/// As strace does it all the time.
#[test]
fn an_owner_that_is_stopped_for_moments_is_not_accused() {
    let stage = Stage::new();
    let arena = Arena::create(CAPACITY).unwrap();
    let waiter = arena.waiter();
    let mutex = arena.mutex_create(&waiter, 0, 0).unwrap();
    let owner = start(&arena, 5, &[mutex]);
    until(|| arena.mutex_read(&waiter, mutex).unwrap().owner == 5);
    let other = start(&arena, 6, &[mutex]);
    sleepers(&arena, 1);
    let (moments, over) = (Word32::new(0), Word32::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while over.load() == 0 {
                send(&owner, libc::SIGSTOP);
                std::thread::sleep(Duration::from_millis(30));
                send(&owner, libc::SIGCONT);
                std::thread::sleep(Duration::from_millis(10));
                moments.fetch_add(1);
            }
        });
        let _ends = Ends(&over);
        let mut accused = 0;
        for _ in 0..5 {
            let before = moments.load();
            let seen = look(&stage, &arena);
            // Else it may have stood all the time.
            let were_moments = moments.load() - before > 8;
            accused += u32::from(were_moments && !kinds(&seen).is_empty());
        }
        assert_eq!(accused, 0);
    });
    end(owner);
    end(other);
}

/// Its threads stop one after the other.
fn until_stopped(pid: u32) {
    let is_stopped = |task: std::io::Result<std::fs::DirEntry>| {
        std::fs::read_to_string(task.unwrap().path().join("stat")).unwrap().contains(") T ")
    };
    until(|| std::fs::read_dir(format!("/proc/{pid}/task")).unwrap().all(is_stopped));
}

/// It took a mutex that was free.
#[test]
fn a_mutex_of_a_killed_thread_that_never_waited_is_found_and_named() {
    let stage = Stage::new();
    let arena = Arena::create(CAPACITY).unwrap();
    let waiter = arena.waiter();
    let mutex = arena.mutex_create(&waiter, 0, 0).unwrap();
    let owner = start(&arena, 5, &[mutex]);
    until(|| arena.mutex_read(&waiter, mutex).unwrap().owner == 5);
    let other = start(&arena, 6, &[mutex]);
    sleepers(&arena, 1);
    let pid = owner.id();
    assert_eq!(kinds(&look(&stage, &arena)), [""; 0], "its owner is there");
    let text = said(&why(&stage, &[&other.id().to_string()])).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains(&format!("owned by {pid}/")) && text.contains("never had to wait"), "{text}");

    send(&owner, libc::SIGSTOP);
    until_stopped(pid);
    let seen = look(&stage, &arena);
    assert_eq!((kinds(&seen), &seen["findings"][0]["threads"][0]["pid"]), (vec!["owner stopped"], &pid.into()));

    end(owner);
    let output = why(&stage, &[&this_process(), "--json"]);
    let seen = told(&output, &arena);
    assert_eq!((output.status.code(), kinds(&seen)), (Some(1), vec!["owner gone"]), "{seen:#}");
    let gone = &seen["findings"][0];
    assert_eq!((&gone["threads"][0]["pid"], &gone["objects"][0]["slot"]), (&pid.into(), &slot(mutex).into()));
    assert_eq!(gone["behind"][0]["pid"], other.id());
    end(other);
}

#[test]
fn who_created_an_event_for_which_another_process_waits_is_named() {
    let stage = Stage::new();
    let arena = Arena::create(CAPACITY).unwrap();
    let creator = start(&arena, 5, &[]);
    sleepers(&arena, 1);
    let event = View::open(arena.fd().unwrap()).unwrap().snapshot().unwrap().objects[0].object;
    let other = start(&arena, 6, &[event]);
    sleepers(&arena, 2);
    let (pid, all) = (creator.id(), [path_of(&arena)]);
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap().trim().to_owned();
    let created_by = |text: &Output| {
        // The name may be broken at its hyphen.
        let text: String = said(text).split_whitespace().collect();
        text.split_once("createdby").map(|(_, by)| by.to_owned()).unwrap_or_default()
    };
    let ask = |command| finish(stage.ntux(&[command]).args(&all));
    let said_by = created_by(&ask("inspect"));
    assert!(said_by.starts_with(&format!("{pid}{name}")), "{said_by}");
    let why_other = created_by(&why(&stage, &[&other.id().to_string()]));
    assert!(why_other.starts_with(&format!("{pid}{name}")), "{why_other}");
    let why_creator = created_by(&why(&stage, &[&pid.to_string()]));
    assert_eq!(why_creator, "", "it waits for an event of its own");

    end(creator);
    let said_by = created_by(&ask("inspect"));
    assert!(said_by.starts_with(&format!("{pid},whichhasended")), "{said_by}");
    end(other);
}

#[test]
fn a_process_that_was_stopped_while_it_waits_is_named() {
    let stage = Stage::new();
    let arena = Arena::create(CAPACITY).unwrap();
    let waiter = arena.waiter();
    let gate = arena.event_create(&waiter, false, false).unwrap();
    let child = start(&arena, 5, &[gate]);
    sleepers(&arena, 1);
    send(&child, libc::SIGSTOP);
    let pid = child.id();
    until_stopped(pid);
    let output = why(&stage, &[&this_process(), "--json"]);
    let seen = told(&output, &arena);
    assert_eq!((output.status.code(), kinds(&seen)), (Some(1), vec!["stopped"]), "{seen:#}");
    assert_eq!(seen["findings"][0]["threads"][0]["pid"], pid);
    end(child);
}

#[test]
fn a_process_without_objects_or_that_is_none_is_said_to_be_so() {
    let stage = Stage::new();
    let child = Command::new("sleep").arg("300").spawn().unwrap();
    let output = why(&stage, &[&child.id().to_string()]);
    end(child);
    assert_eq!(output.status.code(), Some(2));
    assert!(complained(&output).contains("uses no objects of ntux"), "{}", complained(&output));
    // A number that no process can have.
    let output = why(&stage, &["4194305/1"]);
    assert_eq!(output.status.code(), Some(125));
    assert!(complained(&output).contains("there is no process 4194305"), "{}", complained(&output));
}

/// An event is set, and reset, before a thread waits for it.
const LOST: &str = "
    #define _GNU_SOURCE
    #include <fcntl.h>
    #include <pthread.h>
    #include <stdint.h>
    #include <stdio.h>
    #include <stdlib.h>
    #include <sys/ioctl.h>
    #include <unistd.h>
    struct wait { uint64_t timeout, objs; uint32_t count, index, flags, owner, alert, pad; };
    struct event { uint32_t manual, signaled; };
    static int device, event;
    static _Atomic int done;
    static void *produce(void *nothing) {
        uint32_t before;
        pthread_setname_np(pthread_self(), \"producer\");
        if (ioctl(event, _IOR('N', 0x88, uint32_t), &before)) abort();
        if (ioctl(event, _IOR('N', 0x89, uint32_t), &before)) abort();
        done = 1;
        pause();
        return nothing;
    }
    int main(void) {
        pthread_t producer;
        struct event args = {1, 0};
        if ((device = open(\"/dev/ntsync\", O_RDWR)) < 0) return 1;
        if ((event = ioctl(device, _IOW('N', 0x87, struct event), &args)) < 0) return 1;
        pthread_create(&producer, 0, produce, 0);
        while (!done) usleep(1000);
        struct wait wait = {.timeout = UINT64_MAX, .objs = (uintptr_t)&event, .count = 1, .owner = 1};
        return ioctl(device, _IOWR('N', 0x82, struct wait), &wait);
    }";

#[test]
fn who_signaled_an_event_when_nobody_slept_is_told_and_from_a_log_when_that_was() {
    let stage = Stage::new();
    let program = compile(&stage.path(""), "lost", LOST, &["-pthread"]);
    let log = stage.path("log");
    let every_operation = format!("all:{}", log.display());
    for options in [&["run", "--log", &every_operation, "--"][..], &["run", "--"]] {
        let child = crate::trace::ntux(&stage, options).arg(&program).stdout(Stdio::null()).spawn().unwrap();
        let child = Actor(child);
        let pid = child.id().to_string();
        let look = || said(&why(&stage, &[&pid]));
        until(|| look().contains("not signaled"));
        let text = look().split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(&format!("not signaled; last signaled by {pid}/")), "{text}");
        // It was before the program began to wait; how long before, nobody knows.
        assert!(text.contains(" producer, before this wait began: more than "), "{text}");
        let told = document("why", &why(&stage, &[&pid, "--json"]));
        let step = &told["arenas"][0]["chains"][0]["waits_for"][0];
        let (when, asleep_s) = (&step["last_signal"], told["arenas"][0]["chains"][0]["asleep_s"].as_f64().unwrap());
        assert_eq!((&when["during_wait"], &when["at_most_s_ago"]), (&false.into(), &Value::Null), "{step:#}");
        let more_than_s = when["more_than_s_ago"].as_f64().unwrap();
        assert!(more_than_s < asleep_s && asleep_s - more_than_s < 0.011, "{step:#}");
        let item = finish(stage.ntux(&["inspect"]).args([&pid, "--json"]));
        let item = document("inspect", &item);
        let item = &item["arenas"][0]["objects"][0]["last_signal"];
        assert!(item["more_than_s_ago"].as_f64().unwrap() >= more_than_s && item["during_wait"].is_null(), "{item:#}");
        let is_logged = options.len() > 2;
        assert_eq!(text.contains("; says the log: set "), is_logged, "{text}");
        assert_eq!(text.contains("is recorded only by a program that runs with a log"), !is_logged, "{text}");
        if is_logged {
            assert_eq!(text.matches(&format!("ago by {pid}/")).count(), 2, "{text}");
            assert!(text.contains(" producer, reset "), "{text}");
        }
        assert_eq!(text.matches("producer").count(), if is_logged { 3 } else { 1 }, "{text}");
        end(child);
    }
}

/// Each signal wakes somebody, or satisfies nobody, while two threads wait.
#[test]
fn between_which_times_an_object_was_last_signaled_is_told_without_a_log() {
    let stage = Stage::new();
    let arena = Arena::create(CAPACITY).unwrap();
    let waiter = arena.waiter();
    let semaphore = arena.semaphore_create(&waiter, 0, 9).unwrap();
    let [gate, never] = [false, true].map(|manual| arena.event_create(&waiter, manual, false).unwrap());
    std::thread::scope(|scope| {
        let arena = &arena;
        let _fails_fast = FailsFast::new(arena, arena.fd().unwrap());
        let consume = move |owner, until: Object| {
            let waiter = arena.waiter();
            while arena.wait_any(&waiter, &[semaphore, until], None, owner, Deadline::Never).unwrap().index == 0 {}
        };
        scope.spawn(move || consume(5, never));
        sleepers(arena, 1);
        let step = || {
            let seen = look(&stage, arena);
            let chain = seen["chains"].as_array().unwrap().iter().find(|chain| chain["owner"] == 5).unwrap().clone();
            chain["waits_for"][0].clone()
        };
        let text = || said(&why(&stage, &[&this_process()])).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(step()["is_new"].as_bool().unwrap() && text().contains("nobody has signaled it since it was created"));

        // It wakes the thread, which waits again at once: so both bounds are known.
        arena.semaphore_release(&waiter, semaphore, 1).unwrap();
        sleepers(arena, 1);
        let (step, said) = (step(), text());
        assert!(!step["last_by"].is_null(), "{step:#}");
        let when = &step["last_signal"];
        let bounds = when["more_than_s_ago"].as_f64().zip(when["at_most_s_ago"].as_f64());
        assert!(bounds.is_some_and(|(least, most)| least < most) && when["during_wait"] == false, "{step:#}");
        assert!(
            said.contains(", before this wait began: between ") && said.contains("it last woke somebody "),
            "{said}"
        );

        // Two wait, and the first one gets it: the other one has missed that.
        let [first, second] = [6, 7].map(|owner| {
            scope.spawn(move || arena.wait_any(&arena.waiter(), &[gate], None, owner as u32, Deadline::Never).unwrap());
            sleepers(arena, owner - 4);
            owner
        });
        arena.event_set(&waiter, gate).unwrap();
        sleepers(arena, 2);
        let seen = look(&stage, arena);
        let owned_by = |owner: usize| seen["chains"].as_array().unwrap().iter().find(|chain| chain["owner"] == owner);
        assert!(owned_by(first).is_none());
        let when = &owned_by(second).unwrap()["waits_for"][0]["last_signal"];
        assert!(when["during_wait"] == true && when["at_most_s_ago"].as_f64().is_some(), "{seen:#}");
        assert!(text().contains(", since this wait began: at most "), "{}", text());
        arena.event_set(&waiter, gate).unwrap();
        arena.event_set(&waiter, never).unwrap();
    });
}
