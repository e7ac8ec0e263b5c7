// SPDX-License-Identifier: MIT OR Apache-2.0
//! Inspecting what is far away, very large, of another version, or no longer who it was.

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{TryRecvError, channel};
use std::time::Duration;

use ntux_platform::clock::monotonic_ns;
use ntux_sync::{Arena, Capacity, Deadline};
use serde_json::Value;

use crate::first_thread::end_first_thread;
use crate::schema::assert_conforms;
use crate::skips::skip;
use crate::stage::{Stage, complained, document, finish, said};
use crate::why::{
    Actor, CAPACITY, FailsFast, PATIENCE, end, kinds, look, path_of, sleepers, start, this_process, until, why,
};
use random::Random;

#[path = "../../../platform/tests/random/random.rs"]
mod random;

/// Tells this program, started again, to hang.
const HANGS: &str = "NTUX_TEST_ELSEWHERE";
/// Tells it to wait.
const WAITS: &str = "NTUX_TEST_WAITS";
const WITHOUT_FIRST_THREAD: &str = "without-first-thread";
const HOUR_NS: u64 = 3_600_000_000_000;
const UNSHARE: &str = "unshare --user --map-root-user --mount --pid --fork --kill-child --mount-proc";
/// Where the version of an arena stands.
const VERSION: u64 = 8;
const MANY: u32 = 200_000;
/// Address space of a command that looks at so many, in KiB.
const ROOM: u32 = 250_000;

/// A bash script; none if this system lets nobody make namespaces.
fn bash_elsewhere(script: &str) -> Option<Child> {
    let tried = finish(Command::new("bash").args(["-c", &format!("{UNSHARE} true")]));
    if !tried.status.success() {
        skip("namespaces", complained(&tried));
        return None;
    }
    let mut command = Command::new("bash");
    command.args(["-c", script]).env("NTUX", env!("CARGO_BIN_EXE_ntux"));
    command.env("TESTS", std::env::current_exe().unwrap());
    Some(command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap())
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// Two threads wait for each other's mutexes, if it is told to.
#[test]
fn hangs() {
    if std::env::var_os(HANGS).is_none() {
        return;
    }
    let arena = Arena::create(CAPACITY).unwrap();
    let waiter = arena.waiter();
    let [first, second] = [1, 2].map(|owner| arena.mutex_create(&waiter, owner, 1).unwrap());
    std::thread::scope(|scope| {
        for (name, owner, mutex) in [("inner left", 1, second), ("inner right", 2, first)] {
            let arena = &arena;
            let lock = move || arena.wait_any(&arena.waiter(), &[mutex], None, owner, Deadline::Never).unwrap();
            std::thread::Builder::new().name(name.to_owned()).spawn_scoped(scope, lock).unwrap();
        }
    });
}

/// Waits for an event that nobody sets, for an hour at most, if it is told to; also after the first thread of its process has ended,
/// if it is told that.
#[test]
fn waits_for_an_hour() {
    let Some(how) = std::env::var_os(WAITS) else { return };
    if how == WITHOUT_FIRST_THREAD {
        end_first_thread();
    }
    let arena = Arena::create(CAPACITY).unwrap();
    let waiter = arena.waiter();
    let event = arena.event_create(&waiter, false, false).unwrap();
    let deadline = Deadline::Monotonic(monotonic_ns() + HOUR_NS);
    let wait = move || arena.wait_any(&arena.waiter(), &[event], None, 7, deadline).unwrap();
    std::thread::Builder::new().name("an hour".to_owned()).spawn(wait).unwrap().join().unwrap();
}

/// In a time namespace the monotonic clock is another one.
#[test]
fn times_of_another_time_namespace_are_put_on_the_clock_of_here() {
    let stage = Stage::new();
    for (offset, how) in [("864000", "yes"), ("-20", "yes"), ("864000", WITHOUT_FIRST_THREAD)] {
        let script = format!(
            "{WAITS}={how} exec {UNSHARE} --time --monotonic {offset} \"$TESTS\" --exact elsewhere::waits_for_an_hour"
        );
        let Some(child) = bash_elsewhere(&script) else { return };
        let unshare = child.id();
        let child = Actor::from(child);
        let look = || -> Option<Value> {
            let waits = std::fs::read_to_string(format!("/proc/{unshare}/task/{unshare}/children")).ok()?;
            let report = finish(&mut stage.ntux(&["inspect", "--json", waits.trim()]));
            (!report.stdout.is_empty()).then_some(())?;
            let report = document("inspect", &report);
            report["arenas"][0]["threads"].as_array()?.iter().find(|thread| thread["name"] == "an hour").cloned()
        };
        until(|| look().is_some_and(|thread| thread["asleep_s"].is_number()));
        let seen = look().unwrap();
        let (asleep, ends_in) = (seen["asleep_s"].as_f64().unwrap(), seen["ends_in_s"].as_f64().unwrap());
        assert!(asleep < PATIENCE.as_secs_f64() && (1800.0..=3600.0).contains(&ends_in), "{offset}: {seen:#}");
        end(child);
    }
}

/// In a container the arena is in no directory, and the processes have other numbers there.
#[test]
fn a_deadlock_in_other_namespaces_is_found_with_the_numbers_of_here() {
    let stage = Stage::new();
    let script = format!("{HANGS}=yes exec {UNSHARE} \"$TESTS\" --exact elsewhere::hangs");
    let Some(child) = bash_elsewhere(&script) else { return };
    let is_it = |arena: &Value| {
        let findings = arena["findings"].as_array().unwrap();
        findings
            .iter()
            .any(|finding| finding["threads"][0]["name"].as_str().is_some_and(|name| name.starts_with("inner ")))
    };
    let look = || -> Option<Value> {
        let report = document("why", &why(&stage, &["--json"]));
        report["arenas"].as_array().unwrap().iter().find(|arena| is_it(arena)).cloned()
    };
    until(|| look().is_some());
    let seen = look().unwrap();
    assert_eq!(kinds(&seen), ["deadlock"], "{seen:#}");
    for thread in seen["findings"][0]["threads"].as_array().unwrap() {
        let comm = format!("/proc/{}/task/{}/comm", thread["pid"], thread["thread"]);
        assert_eq!(std::fs::read_to_string(&comm).unwrap().trim_end(), thread["name"].as_str().unwrap(), "{comm}");
    }
    let pid = seen["findings"][0]["threads"][0]["pid"].to_string();
    let text = said(&why(&stage, &[&pid]));
    assert!(text.contains("DEADLOCK of 2 threads") && text.contains(&format!("{pid}/")), "{text}");
    assert!(said(&finish(&mut stage.ntux(&["ps"]))).contains(&pid), "ntux ps lists it");
    end(child);
}

/// The kernel gives a number again; the time at which the process began tells the two apart.
#[test]
fn a_process_that_has_the_number_of_a_dead_owner_is_not_the_owner() {
    let stage = Stage::new();
    let arena = Arena::create(CAPACITY).unwrap();
    let waiter = arena.waiter();
    let (gate, mutex) =
        (arena.event_create(&waiter, false, false).unwrap(), arena.mutex_create(&waiter, 0, 0).unwrap());
    let (go, result) = (stage.path("go"), stage.path("result"));
    let script = format!(
        "exec 9<>{}; exec {UNSHARE} bash -c '
            NTUX_TEST_WHY=\"/proc/self/fd/9 5 {} {}\" \"$TESTS\" --exact why::actor & a=$!
            while [ ! -e {go} ]; do sleep 0.01; done
            kill -KILL $a; wait $a
            echo $((a - 1)) > /proc/sys/kernel/ns_last_pid || exit
            sleep 300 & b=$!
            \"$NTUX\" why --json $$ > {result}.part
            [ $a = $b ] && mv {result}.part {result} || touch {result}'",
        path_of(&arena),
        gate.0,
        mutex.0,
        go = go.display(),
        result = result.display()
    );
    let Some(child) = bash_elsewhere(&script) else { return };
    std::thread::scope(|scope| {
        let arena = &arena;
        let _fails_fast = FailsFast::new(arena, arena.fd().unwrap());
        sleepers(arena, 1);
        arena.event_set(&waiter, gate).unwrap();
        until(|| arena.mutex_read(&waiter, mutex).unwrap().owner == 5);
        scope.spawn(move || arena.wait_any(&arena.waiter(), &[mutex], None, 6, Deadline::Never).unwrap());
        sleepers(arena, 1);
        std::fs::write(&go, "").unwrap();
        until(|| result.exists());
        arena.mutex_kill(&waiter, mutex, 5).unwrap();
    });
    end(child);
    if std::fs::read(&result).unwrap().is_empty() {
        return skip("namespaces", "no process was given the number of the dead one");
    }
    let report = json(&result);
    assert_conforms("why", &report);
    assert_eq!(kinds(&report["arenas"][0]), ["owner gone"], "{report:#}");
}

#[test]
fn very_many_objects_are_looked_at_in_bounded_memory() {
    let stage = Stage::new();
    let arena = Arena::create(Capacity { objects: MANY + 64, waiters: 16 }).unwrap();
    let waiter = arena.waiter();
    for number in 0..MANY {
        arena.event_create(&waiter, number % 2 == 0, false).unwrap();
    }
    for words in ["why --json", "ps --json", "top --once --every 0.1", "inspect", "inspect --json"] {
        let pid = if words.starts_with("ps") { String::new() } else { this_process() };
        let script = format!("ulimit -v {ROOM} && exec \"$0\" {words} {pid}");
        let output = finish(Command::new("bash").args(["-c", &script, env!("CARGO_BIN_EXE_ntux")]));
        assert_eq!(output.status.code(), Some(0), "{words}: {}", complained(&output));
        assert!(output.stdout.len() > 100, "{words}");
    }
    let seen = look(&stage, &arena);
    assert_eq!((kinds(&seen).len(), &seen["waiting"]), (0, &0.into()));
}

/// Runs each command so often.
fn each_command(stage: &Stage, rounds: usize, is_right: impl Fn(&str, &Output)) {
    let pid = this_process();
    for round in 0..rounds {
        for words in [&["why"][..], &["why", &pid], &["inspect", &pid], &["inspect", "--json", &pid], &["ps"]] {
            is_right(&format!("round {round}, {words:?}"), &finish(&mut stage.ntux(words)));
        }
        let top = finish(&mut stage.ntux(&["top", "--once", "--every", "0.05", &pid]));
        is_right(&format!("round {round}, top"), &top);
    }
}

#[test]
fn rubbish_that_is_written_while_they_look_harms_no_command() {
    let stage = Stage::new();
    let file = File::from(Arena::create_file(CAPACITY).unwrap());
    let length = file.metadata().unwrap().len();
    let (stop, is_over) = channel::<()>();
    std::thread::scope(|scope| {
        let file = &file;
        scope.spawn(move || {
            let mut random = Random(1);
            while is_over.try_recv() == Err(TryRecvError::Empty) {
                // All but what says that it is an arena.
                let at = 24 + random.next() % (length - 32) / 8 * 8;
                let word = if random.next().is_multiple_of(2) { random.next() % 80 } else { random.next() };
                file.write_all_at(&word.to_ne_bytes(), at).unwrap();
            }
        });
        each_command(&stage, 5, |what, output| {
            assert!(matches!(output.status.code(), Some(0 | 1)), "{what}: {} {}", output.status, complained(output));
        });
        drop(stop);
    });
}

#[test]
fn processes_that_end_while_they_are_looked_at_harm_no_command() {
    let stage = Stage::new();
    let arena = Arena::create(CAPACITY).unwrap();
    let event = arena.event_create(&arena.waiter(), false, false).unwrap();
    let (stop, is_over) = channel::<()>();
    std::thread::scope(|scope| {
        let arena = &arena;
        scope.spawn(move || {
            while is_over.try_recv() == Err(TryRecvError::Empty) {
                let children = [1, 2, 3].map(|owner| start(arena, owner, &[event]));
                std::thread::sleep(Duration::from_millis(30));
                children.into_iter().for_each(end);
            }
        });
        each_command(&stage, 5, |what, output| {
            let no_fault = !said(output).contains("DEADLOCK of") || what.contains("[\"why\"]");
            assert!(matches!(output.status.code(), Some(0 | 1)), "{what}: {} {}", output.status, complained(output));
            assert!(no_fault, "{what}: {}", said(output));
        });
        drop(stop);
    });
}

#[test]
fn an_arena_of_another_version_is_named_once_however_many_descriptors_there_are() {
    let stage = Stage::new();
    let file = File::from(Arena::create_file(CAPACITY).unwrap());
    file.write_all_at(&u32::MAX.to_ne_bytes(), VERSION).unwrap();
    let copies = [&file, &file].map(|file| file.as_fd().try_clone_to_owned().unwrap());
    let output = why(&stage, &[&this_process()]);
    assert_eq!(output.status.code(), Some(125));
    let said = complained(&output);
    let descriptor = copies.iter().map(AsRawFd::as_raw_fd).fold(file.as_raw_fd(), i32::min);
    let named = |file: &File, fd| format!("{} (/proc/{}/fd/{fd})", file.metadata().unwrap().ino(), this_process());
    let note =
        format!("process {} has an arena of another version of ntux, {}: ", this_process(), named(&file, descriptor));
    assert_eq!(said.matches("another version of ntux").count(), 1, "{said}");
    assert!(said.contains(&note), "{said}");

    let others: Vec<File> = (0..9).map(|_| File::from(Arena::create_file(CAPACITY).unwrap())).collect();
    others.iter().for_each(|other| other.write_all_at(&u32::MAX.to_ne_bytes(), VERSION).unwrap());
    let said = complained(&why(&stage, &[&this_process()]));
    assert_eq!(said.matches("another version of ntux").count(), 1, "{said}");
    let count = others.iter().filter(|other| said.contains(&named(other, other.as_raw_fd()))).count();
    assert!(said.contains(" and 2 more: ") && count >= 7, "{said}");
}

#[test]
fn a_command_that_says_more_than_a_pipe_holds_does_not_hang() {
    let output = finish(Command::new("head").args(["-c", "300000", "/dev/zero"]));
    assert_eq!(output.stdout.len(), 300_000);
}
