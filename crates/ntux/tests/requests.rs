// SPDX-License-Identifier: MIT OR Apache-2.0
//! What people have asked other libraries for in public, as programs that start each other and have nothing in common but a name.
#![cfg(target_os = "linux")]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use ntux::{Arena, Capacity, Deadline, Event, MutexObject, Name, Object, Reset, Semaphore, Wait, within};

const CAPACITY: Capacity = Capacity { objects: 64, waiters: 64 };
/// Tells this program that it is one of the programs, and which.
const ROLE: &str = "NTUX_TEST_ROLE";
const FOR_LONG: Duration = Duration::from_secs(60);

/// What a program says when it has done its part. It lives until it is killed.
fn says(what: &str) {
    println!("\nsaid: {what}");
    std::io::stdout().flush().unwrap();
}

/// Acquires the lock and says how it went: also whether its owner before has died.
fn acquires(arena: &Arena, lock: &MutexObject, deadline: Deadline) -> String {
    match lock.lock(arena.owner_of_this_thread().unwrap(), deadline) {
        Ok(locked) if locked.abandoned => "after a death".to_owned(),
        Ok(_) => "acquired".to_owned(),
        Err(error) => format!("{error:?}"),
    }
}

#[test]
fn what_a_program_does() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let arena = Arena::open("requests", CAPACITY).unwrap();
    let name = |name| Name::new(name).unwrap();
    let (lock, _) = MutexObject::create_named(&arena, name("lock"), 0, 0).unwrap();
    match role.as_str() {
        "acquires" => {
            says("waits");
            says(&acquires(&arena, &lock, within(FOR_LONG)));
        }
        "tries" => says(&acquires(&arena, &lock, Deadline::NOW)),
        "waits for the event" => {
            let (event, existed) = Event::create_named(&arena, name("event"), Reset::Auto, false).unwrap();
            says(&format!("existed: {existed}"));
            says(&format!("{:?}", event.wait(within(FOR_LONG))));
        }
        "sets the event" => {
            let (event, existed) = Event::create_named(&arena, name("event"), Reset::Auto, false).unwrap();
            says(&format!("existed: {existed}, was set: {}", event.set().unwrap()));
        }
        "waits for one of three" => {
            let three = three(&arena);
            says("waits");
            let me = Wait::by(arena.owner_of_this_thread().unwrap()).until(within(FOR_LONG));
            says(&format!("{:?}", arena.wait_any(&three, me).map(|satisfied| satisfied.index)));
        }
        "releases the semaphore" => {
            let semaphore = Semaphore::open_named(&arena, name("semaphore")).unwrap();
            says(&format!("{:?}", semaphore.release(1)));
        }
        "has the mutex of three" => {
            let me = arena.owner_of_this_thread().unwrap();
            let (mutex, _) = MutexObject::create_named(&arena, name("mutex"), 0, 0).unwrap();
            mutex.lock(me, Deadline::NOW).unwrap();
            says("has it");
        }
        other => panic!("no role {other}"),
    }
    let _ = std::io::stdin().read_line(&mut String::new());
}

/// A mutex, an event and a semaphore, by their names.
fn three(arena: &Arena) -> [Object; 3] {
    let name = |name| Name::new(name).unwrap();
    let (mutex, _) = MutexObject::create_named(arena, name("mutex"), 0, 0).unwrap();
    let (event, _) = Event::create_named(arena, name("event"), Reset::Auto, false).unwrap();
    let (semaphore, _) = Semaphore::create_named(arena, name("semaphore"), 0, 5).unwrap();
    [mutex.keep(), event.keep(), semaphore.keep()]
}

/// Programs of one test, which find each other in a directory of their own.
struct Programs(PathBuf);

impl Programs {
    fn new(test: &str) -> Programs {
        let path = std::env::temp_dir().join(format!("ntux-{test}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Programs(path)
    }

    fn start(&self, role: &str) -> Program {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "what_a_program_does", "--nocapture", "--test-threads=1"])
            .env(ROLE, role)
            .env("XDG_RUNTIME_DIR", &self.0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Program { child, stdout }
    }
}

impl Drop for Programs {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

struct Program {
    child: Child,
    stdout: BufReader<std::process::ChildStdout>,
}

impl Program {
    fn said(&mut self) -> String {
        let lines = (&mut self.stdout).lines().map_while(Result::ok);
        let mut said = lines.filter_map(|line| line.split_once("said: ").map(|(_, said)| said.to_owned()));
        said.next().expect("a program says something")
    }

    fn killed(self) {}
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// boostorg/interprocess #65: after a process has died that had a named mutex, every other one blocks for ever. Here who waits gets it,
/// and so does who comes later, and each of them learns that the data may be half changed.
#[test]
fn boost_interprocess_65_a_named_mutex_outlives_who_died_with_it() {
    let programs = Programs::new("boost");
    let mut first = programs.start("acquires");
    assert_eq!((first.said(), first.said()), ("waits".to_owned(), "acquired".to_owned()));
    assert_eq!(programs.start("tries").said(), "TimedOut");
    let mut second = programs.start("acquires");
    assert_eq!(second.said(), "waits");
    std::thread::sleep(Duration::from_millis(20));
    first.killed();
    assert_eq!(second.said(), "after a death");
    let mut third = programs.start("tries");
    assert_eq!(third.said(), "TimedOut");
    second.killed();
    assert_eq!(programs.start("tries").said(), "after a death");
    third.killed();
}

/// raw_sync-rs #17: a lock in shared memory whose holder has died cannot be had any more, and nobody can tell. Here a poll gets it.
#[test]
fn raw_sync_17_a_lock_whose_holder_died_can_be_had() {
    let programs = Programs::new("raw-sync");
    let mut witness = programs.start("waits for the event");
    assert_eq!(witness.said(), "existed: false");
    for round in 0..3 {
        let mut holder = programs.start("tries");
        assert_eq!(holder.said(), if round == 0 { "acquired" } else { "after a death" });
        holder.killed();
    }
    witness.killed();
}

/// dotnet/coreclr #1237: named events, and waits for several named objects, which .NET has on Windows only.
#[test]
fn coreclr_1237_a_named_event_wakes_another_process() {
    let programs = Programs::new("coreclr");
    let mut waits = programs.start("waits for the event");
    assert_eq!(waits.said(), "existed: false");
    assert_eq!(programs.start("sets the event").said(), "existed: true, was set: false");
    assert_eq!(waits.said(), "Ok(())");
    let mut has_it = programs.start("has the mutex of three");
    assert_eq!(has_it.said(), "has it");
    let mut any = programs.start("waits for one of three");
    assert_eq!(any.said(), "waits");
    assert_eq!(programs.start("releases the semaphore").said(), "Ok(0)");
    assert_eq!(any.said(), "Ok(2)");
    let mut any = programs.start("waits for one of three");
    assert_eq!(any.said(), "waits");
    has_it.killed();
    assert_eq!(any.said(), "Ok(0)", "the mutex of who was killed");
    for program in [waits, any] {
        program.killed();
    }
}

/// A name that nobody has is none.
#[test]
fn a_name_ends_with_the_last_process_that_has_it() {
    let programs = Programs::new("names");
    let mut first = programs.start("waits for the event");
    assert_eq!(first.said(), "existed: false");
    first.killed();
    assert_eq!(programs.start("sets the event").said(), "existed: false, was set: false");
}
