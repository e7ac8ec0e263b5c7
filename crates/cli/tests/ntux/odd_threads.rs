// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs that `/proc/PID` does not show, and `ntux` does: the first thread has ended, or a thread has its own descriptors.

use std::io::{BufRead, BufReader};
use std::os::fd::{AsFd, AsRawFd};
use std::process::{Command, Output, Stdio};
use std::sync::Barrier;

use ntux_sync::{Arena, Deadline, New};
use serde_json::Value;

use crate::first_thread::end_first_thread;
use crate::stage::{Stage, complained, document, finish, said};
use crate::why::{Actor, CAPACITY, end, kinds, until};

/// Tells this program, started again, what to be.
const PART: &str = "NTUX_TEST_ODD_THREADS";
const HEADLESS: &str = "headless";
const APART: &str = "apart";

/// Only this program, started again by the tests below.
#[test]
fn actor() {
    let Ok(part) = std::env::var(PART) else { return };
    if part == APART {
        // SAFETY: this thread's own table.
        assert_eq!(unsafe { libc::unshare(libc::CLONE_FILES) }, 0);
    }
    let file = Arena::create_file(CAPACITY).unwrap();
    let arena = Arena::map_for_descriptors(file.as_fd()).unwrap();
    let make = || arena.descriptor_create(&arena.waiter(), file.as_fd(), New::Mutex { owner: 0, count: 0 }).unwrap();
    let mutexes = [make(), make()];
    if part == HEADLESS {
        end_first_thread();
    }
    println!("\n{} {}", mutexes[0].0.as_raw_fd(), ntux_platform::liveness::thread_id());
    let both_own = Barrier::new(2);
    std::thread::scope(|scope| {
        for own in 0..2 {
            let (arena, mutexes, both_own) = (&arena, [&mutexes[own].1, &mutexes[1 - own].1], &both_own);
            let acquire = move |at: usize| {
                arena.wait_any(&arena.waiter(), &[*mutexes[at]], None, own as u32 + 1, Deadline::Never).unwrap()
            };
            scope.spawn(move || {
                acquire(0);
                both_own.wait();
                acquire(1);
            });
        }
    });
}

/// A process with two threads in a deadlock, a descriptor of the first mutex, and the number of the thread that made it.
fn start(part: &str) -> (Actor, i32, u32) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "odd_threads::actor", "--nocapture"]).env(PART, part).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let numbers = |line: String| {
        let (fd, thread) = line.split_once(' ')?;
        Some((fd.parse().ok()?, thread.parse().ok()?))
    };
    let (fd, thread) = lines.map_while(Result::ok).find_map(numbers).expect("it says what it has");
    (child.into(), fd, thread)
}

/// What a subcommand prints as JSON.
fn json(stage: &Stage, arguments: &[&str]) -> Value {
    document(arguments[0], &ntux(stage, arguments))
}

fn ntux(stage: &Stage, arguments: &[&str]) -> Output {
    finish(&mut stage.ntux(arguments))
}

/// All of `ntux` sees the deadlock of this process, and names a mutex by a descriptor of `table`.
fn is_seen(stage: &Stage, process: &Actor, table: u32, fd: i32) {
    let pid = process.id().to_string();
    until(|| {
        let report = json(stage, &["inspect", &pid, "--json"]);
        let asleep = |threads: &Vec<Value>| threads.iter().filter(|thread| thread["asleep"] == true).count();
        report["arenas"][0]["threads"].as_array().map(asleep) == Some(2)
    });
    let output = ntux(stage, &["why", &pid, "--json"]);
    let seen = &document("why", &output)["arenas"][0];
    assert_eq!((output.status.code(), kinds(seen)), (Some(1), vec!["deadlock"]), "{seen:#}");
    let everywhere = json(stage, &["why", "--json"]);
    let inode = &seen["inode"];
    assert!(everywhere["arenas"].as_array().unwrap().iter().any(|arena| arena["inode"] == *inode), "{everywhere:#}");

    let report = &json(stage, &["inspect", &pid, "--json"])["arenas"][0];
    let named = |object: &&Value| object["descriptors"][0]["fd"] == fd;
    let mutex = report["objects"].as_array().unwrap().iter().find(named).unwrap_or_else(|| panic!("{report:#}"));
    assert_eq!((&mutex["kind"], &mutex["descriptors"][0]["pid"]), (&"mutex".into(), &table.into()));
    let one = ntux(stage, &["inspect", &format!("{table}:{fd}")]);
    assert!(
        one.status.success() && said(&one).contains(&format!("{table}:{fd}")),
        "{}{}",
        said(&one),
        complained(&one)
    );

    let list = json(stage, &["ps", "--json"]);
    let line = list["arenas"].as_array().unwrap().iter().find(|line| line["inode"] == *inode);
    assert_eq!(line.unwrap_or_else(|| panic!("{list:#}"))["processes"][0]["pid"], process.id());
}

#[test]
fn a_process_whose_first_thread_has_ended_is_seen() {
    let stage = Stage::new();
    let (process, fd, _) = start(HEADLESS);
    is_seen(&stage, &process, process.id(), fd);
    end(process);
}

#[test]
fn the_descriptors_that_a_thread_has_for_itself_are_seen() {
    let stage = Stage::new();
    let (process, fd, thread) = start(APART);
    is_seen(&stage, &process, thread, fd);
    end(process);
}
