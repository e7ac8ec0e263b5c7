// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ntux inspect`: what it shows of this very process, and what it says when there is nothing to show.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use ntux_sync::inspect::View;
use ntux_sync::{Arena, Capacity, Deadline, New};
use serde_json::Value;

use crate::stage::{Stage, complained, document, finish, said};
use crate::why::{FailsFast, end, start};

const CAPACITY: Capacity = Capacity { objects: 64, waiters: 16 };

fn inspect(stage: &Stage, target: &str, options: &[&str]) -> Output {
    finish(stage.ntux(&["inspect"]).args(options).arg(target))
}

fn this_process() -> String {
    std::process::id().to_string()
}

/// What is said of this arena; other tests have others.
fn seen(output: &Output, arena: &Arena) -> Option<Value> {
    (!output.stdout.is_empty()).then_some(())?;
    let report = document("inspect", output);
    report["arenas"].as_array()?.iter().find(|seen| seen["inode"] == arena.file().inode).cloned()
}

fn sleepers(view: &View, count: usize) {
    let start = Instant::now();
    while view.snapshot().unwrap().waiters.iter().filter(|waiter| waiter.parked).count() != count {
        assert!(start.elapsed() < Duration::from_secs(60), "nobody falls asleep");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn objects_and_waiting_threads_are_shown_with_the_names_that_people_know() {
    let stage = Stage::new();
    let file = Arena::create_file(CAPACITY).unwrap();
    let arena = Arena::map_for_descriptors(file.as_fd()).unwrap();
    let waiter = arena.waiter();
    let make = |new| {
        let fd: OwnedFd = arena.descriptor_create(&waiter, file.as_fd(), new).unwrap().0;
        let object = Arena::identify(fd.as_fd()).unwrap().object.unwrap();
        (fd, object)
    };
    let (mutex_fd, mutex) = make(New::Mutex { owner: 77, count: 3 });
    let (_semaphore_fd, semaphore) = make(New::Semaphore { count: 2, max: 9 });
    let (_event_fd, event) = make(New::Event { manual: true, signaled: false });
    let view = View::open(file.as_fd()).unwrap();
    std::thread::scope(|scope| {
        let _fails_fast = FailsFast::new(&arena, file.as_fd());
        let sleeper = std::thread::Builder::new().name("the sleeper".to_owned());
        let arena = &arena;
        let wait = move || arena.wait_all(&arena.waiter(), &[mutex, semaphore], Some(event), 78, Deadline::Never);
        let sleeper = sleeper.spawn_scoped(scope, wait).unwrap();
        sleepers(&view, 1);

        let output = inspect(&stage, &this_process(), &["--json"]);
        assert_eq!(output.status.code(), Some(0), "{}", complained(&output));
        let seen = seen(&output, arena).expect("the arena is there");
        let object =
            |slot: u64| seen["objects"].as_array().unwrap().iter().find(|seen| seen["object"] == slot).unwrap();
        let (held, counted) = (object(mutex.0), object(semaphore.0));
        assert_eq!((&held["kind"], &held["owner"], &held["count"]), (&"mutex".into(), &77.into(), &3.into()));
        assert_eq!((&counted["kind"], &counted["count"], &counted["max"]), (&"semaphore".into(), &2.into(), &9.into()));
        assert_eq!((&held["creator"]["pid"], &held["creator"]["ended"]), (&std::process::id().into(), &false.into()));
        let descriptor = &held["descriptors"][0];
        let (pid, fd) = (&descriptor["pid"], &descriptor["fd"]);
        assert_eq!((pid, fd), (&std::process::id().into(), &mutex_fd.as_raw_fd().into()));
        let [thread] = &seen["threads"].as_array().unwrap()[..] else { panic!("{seen:#}") };
        assert_eq!((&thread["name"], &thread["asleep"]), (&"the sleeper".into(), &true.into()));
        assert_eq!((&thread["wait"]["mode"], &thread["wait"]["owner"]), (&"all".into(), &78.into()));
        assert_eq!(thread["wait"]["alert"], event.0);
        assert_eq!((&held["waiting"][0]["thread"], &held["waiting"][0]["all"]), (&thread["thread"], &true.into()));
        assert_eq!(seen["processes"][0]["state"], "alive");
        assert_eq!(seen["processes"][0]["devices"][0], file.as_raw_fd());

        let text = said(&inspect(&stage, &this_process(), &[]));
        let slot = |object: ntux_sync::Object| object.0 as u32;
        let expected = format!("all of #{} #{}, alert #{}; as", slot(mutex), slot(semaphore), slot(event));
        for words in ["owner 77, 3 times", "2 of 9", "not signaled", "the sleeper", &expected] {
            assert!(text.contains(words), "no {words:?} in\n{text}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");

        // Looking has moved nothing.
        assert_eq!(Arena::identify(mutex_fd.as_fd()).unwrap().object, Some(mutex));
        arena.event_set(&waiter, event).unwrap();
        assert_eq!(sleeper.join().unwrap().unwrap().index, 2);
    });
}

/// As under Wine, where a program shares its arena with all others of the prefix.
#[test]
fn of_a_process_that_shares_its_arena_what_others_have_is_counted_and_not_listed() {
    let stage = Stage::new();
    let arena = Arena::create(CAPACITY).unwrap();
    let waiter = arena.waiter();
    let [shared, ..] = [(); 4].map(|()| arena.semaphore_create(&waiter, 0, 9).unwrap());
    let (first, other) = (start(&arena, 5, &[shared]), start(&arena, 6, &[]));
    sleepers(&View::open(arena.fd().unwrap()).unwrap(), 2);
    let text = |pid: u32, options: &[&str]| said(&inspect(&stage, &pid.to_string(), options));
    let count = |text: &str, words: &str| text.lines().filter(|line| line.contains(words)).count();

    let (id, all) = (first.id(), text(first.id(), &["--all"]));
    assert_eq!((count(&all, "0 of 9"), count(&all, " auto "), count(&all, "; as owner")), (4, 1, 2), "{all}");
    let own = text(id, &[]);
    assert_eq!((count(&own, "0 of 9"), count(&own, " auto "), count(&own, "; as owner")), (1, 0, 1), "{own}");
    for left_out in ["4 objects", "1 thread"] {
        let words = format!("{left_out} with which process {id} has nothing to do: --all");
        assert_eq!(count(&own, &words), 1, "{own}");
    }
    assert_eq!(own.lines().next(), all.lines().next(), "the counts are the arena's");
    end(first);
    end(other);
}

#[test]
fn threads_of_a_killed_process_are_shown_and_do_not_wait() {
    let stage = Stage::new();
    let arena = Arena::create(CAPACITY).unwrap();
    let semaphore = arena.semaphore_create(&arena.waiter(), 0, 9).unwrap();
    let (survivor, killed) = (start(&arena, 5, &[semaphore]), start(&arena, 6, &[]));
    let view = View::open(arena.fd().unwrap()).unwrap();
    sleepers(&view, 2);
    let pid = survivor.id().to_string();
    let heads = || {
        let top = finish(stage.ntux(&["top", "--once", "--every", "0.05"]).arg(&pid));
        [said(&inspect(&stage, &pid, &["--all"])), said(&top)]
    };
    let [inspected, topped] = heads();
    assert!(inspected.contains("threads in waits 2,") && topped.contains(" 2 of "), "{inspected}\n{topped}");
    assert!(!inspected.contains("half-way"), "{inspected}");

    let place = killed.id();
    end(killed);
    sleepers(&view, 1);
    let [inspected, topped] = heads();
    assert!(inspected.contains("threads in waits 1,") && topped.contains(" 1 of "), "{inspected}\n{topped}");
    let (waiting, half_way) = inspected.split_once("Threads that do not wait, and are half-way").expect(&inspected);
    let of_the_killed = format!(" {place}/");
    assert!(waiting.contains("; as owner 5") && !waiting.contains(&of_the_killed), "{inspected}");
    assert!(half_way.contains("killed while it waited") && half_way.contains(&of_the_killed), "{inspected}");
    let report = document("inspect", &inspect(&stage, &pid, &["--json"]));
    let threads = report["arenas"][0]["threads"].as_array().unwrap();
    assert_eq!(threads.iter().filter(|thread| thread["waits"] == true).count(), 1, "{report:#}");
    end(survivor);
}

#[test]
fn an_arena_is_a_file_too() {
    let stage = Stage::new();
    let arena = Arena::create(CAPACITY).unwrap();
    arena.semaphore_create(&arena.waiter(), 1, 1).unwrap();
    let path = format!("/proc/{}/fd/{}", std::process::id(), arena.fd().unwrap().as_raw_fd());
    for target in [path.as_str(), "/dev/fd/9"] {
        let script = format!("exec {} inspect --json {target} 9<{path}", env!("CARGO_BIN_EXE_ntux"));
        let output = finish(Command::new("bash").args(["-c", &script]));
        assert_eq!(output.status.code(), Some(0), "{}", complained(&output));
        let objects = seen(&output, &arena).expect("it is the arena")["objects"].as_array().unwrap().len();
        assert_eq!(objects, 1, "{target}");
    }
    let file = stage.path("file");
    std::fs::write(&file, "nothing that ntux has made").unwrap();
    for target in [file.to_str().unwrap(), "/dev/null", "/proc/self/exe", "/"] {
        let output = inspect(&stage, target, &[]);
        assert_eq!((output.status.code(), said(&output).as_str()), (Some(125), ""), "{target}");
        assert!(complained(&output).contains("is no arena"), "{}", complained(&output));
    }
}

/// An ELF file of the kind of a core dump that has only this in its memory.
fn core_with(memory: &[u8]) -> Vec<u8> {
    const PLACE: usize = 4096;
    let mut core = vec![0; PLACE];
    core[..20].copy_from_slice(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x04\0\x3e\0");
    let mut put = |at: usize, bytes: &[u8]| core[at..at + bytes.len()].copy_from_slice(bytes);
    put(20, &1u32.to_le_bytes());
    put(32, &64u64.to_le_bytes()); // where the segments are listed
    put(52, &64u16.to_le_bytes());
    put(54, &56u16.to_le_bytes());
    put(56, &1u16.to_le_bytes());
    put(64, &1u32.to_le_bytes()); // a segment that is loaded
    put(72, &(PLACE as u64).to_le_bytes());
    put(80, &0x7000_0000u64.to_le_bytes());
    put(96, &(memory.len() as u64).to_le_bytes());
    put(104, &(memory.len() as u64).to_le_bytes());
    put(112, &4096u64.to_le_bytes());
    core.extend_from_slice(memory);
    core
}

/// Of another time: the threads in it may be gone, and their numbers may be others'.
#[test]
fn a_copy_of_an_arena_and_one_in_a_core_dump_are_looked_at_like_a_living_one() {
    let stage = Stage::new();
    let arena = Arena::create(CAPACITY).unwrap();
    let waiter = arena.waiter();
    let mutexes = [1, 2].map(|owner| arena.mutex_create(&waiter, owner, 1).unwrap());
    let path = format!("/proc/{}/fd/{}", std::process::id(), arena.fd().unwrap().as_raw_fd());
    let view = View::open(arena.fd().unwrap()).unwrap();
    let bytes = std::thread::scope(|scope| {
        let _fails_fast = FailsFast::new(&arena, arena.fd().unwrap());
        for (owner, mutex) in [(1, mutexes[1]), (2, mutexes[0])] {
            let arena = &arena;
            scope.spawn(move || arena.wait_any(&arena.waiter(), &[mutex], None, owner, Deadline::Never).unwrap());
        }
        sleepers(&view, 2);
        let bytes = std::fs::read(&path).unwrap();
        arena.mutex_kill(&waiter, mutexes[0], 1).unwrap();
        arena.mutex_kill(&waiter, mutexes[1], 2).unwrap();
        bytes
    });
    let files = [("copy", bytes.clone()), ("core", core_with(&bytes))];
    for (name, bytes) in files {
        let file = stage.path(name);
        std::fs::write(&file, &bytes).unwrap();
        let output = inspect(&stage, file.to_str().unwrap(), &["--json"]);
        assert_eq!(output.status.code(), Some(0), "{name}: {}", complained(&output));
        let report = document("inspect", &output);
        let seen = &report["arenas"][0];
        assert_eq!(seen["objects"].as_array().unwrap().len(), 2, "{name}");
        assert_eq!((&seen["processes"][0]["state"], &seen["threads"][0]["name"]), (&"unknown".into(), &Value::Null));
        let why = finish(stage.ntux(&["why"]).arg(&file));
        assert_eq!(why.status.code(), Some(1), "{name}: {}", complained(&why));
        assert!(said(&why).contains("DEADLOCK of 2 threads"), "{name}: {}", said(&why));
        // One that was cut off.
        std::fs::write(&file, &bytes[..bytes.len() - 4096]).unwrap();
        assert_eq!(inspect(&stage, file.to_str().unwrap(), &[]).status.code(), Some(125), "{name}");
    }
}

/// The mapping of a process whose descriptor is closed: only a privileged onlooker can open that.
#[test]
fn an_arena_without_a_descriptor_is_found_or_said_to_be_there() {
    let stage = Stage::new();
    let file = Arena::create_file(CAPACITY).unwrap();
    let arena = Arena::map(file.as_fd()).unwrap();
    drop(file);
    let output = inspect(&stage, &this_process(), &["--json"]);
    let said_so = complained(&output).contains("CAP_CHECKPOINT_RESTORE");
    assert!(seen(&output, &arena).is_some() || said_so, "{}", complained(&output));
}

#[test]
fn a_process_without_objects_or_that_is_none_is_said_to_be_so() {
    let stage = Stage::new();
    let child = Command::new("sleep").arg("300").spawn().unwrap();
    let pid = child.id().to_string();
    let output = inspect(&stage, &pid, &[]);
    end(child);
    assert_eq!(output.status.code(), Some(2));
    assert!(complained(&output).contains("uses no objects of ntux"), "{}", complained(&output));
    // A number that no process can have.
    let output = inspect(&stage, "4194305", &[]);
    assert_eq!(output.status.code(), Some(125));
    assert!(complained(&output).contains("there is no process 4194305"), "{}", complained(&output));
    assert_eq!(inspect(&stage, "0", &[]).status.code(), Some(125));
}
