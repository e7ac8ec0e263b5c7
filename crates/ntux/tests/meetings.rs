// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arenas by name: processes that open one name at the same time, that are killed while they do, and files that are no meeting places.
#![cfg(target_os = "linux")]

#[path = "../../platform/tests/skips/skips.rs"]
mod skips;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use skips::skip;

use ntux::{Arena, Capacity, Error, Event, Name, Reset};

const CAPACITY: Capacity = Capacity { objects: 64, waiters: 64 };
/// Tells this program that it is a child, and what it does.
const ROLE: &str = "NTUX_TEST_ROLE";

/// A runtime directory of its own.
struct Runtime(PathBuf);

impl Runtime {
    fn new(name: &str) -> Runtime {
        let path = std::env::temp_dir().join(format!("ntux-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Runtime(path)
    }

    fn place(&self, name: &str) -> PathBuf {
        self.0.join("ntux").join(name)
    }

    /// Another process that opens an arena and says what came of it.
    fn child(&self, role: &str) -> Child {
        self.start(Command::new(std::env::current_exe().unwrap()), role)
    }

    /// The program begins with this test as its first argument, or is it.
    fn start(&self, mut program: Command, role: &str) -> Child {
        program
            .args(["--exact", "what_a_child_does", "--nocapture", "--test-threads=1"])
            .env(ROLE, role)
            .env("XDG_RUNTIME_DIR", &self.0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// What a child says that has numbers of a namespace of its own, and the /proc of this one. None if the system allows no such child.
    fn said_by_a_blind_one(&self, role: &str) -> Option<String> {
        let mut unshare = Command::new("unshare");
        unshare.args(["--map-root-user", "--pid", "--fork", "--kill-child"]);
        if !Command::new("unshare")
            .args(["--map-root-user", "--pid", "--fork", "true"])
            .status()
            .is_ok_and(|it| it.success())
        {
            return None;
        }
        unshare.arg(std::env::current_exe().unwrap());
        let mut child = self.start(unshare, role);
        let said = line_of(&mut child);
        end(child);
        Some(said)
    }

    /// What a child says: whether the event existed, and the arena's inode; or its error.
    fn said(&self, role: &str) -> String {
        let mut child = self.child(role);
        let said = line_of(&mut child);
        end(child);
        said
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The line of a child that begins as those do.
fn line_of(child: &mut Child) -> String {
    let lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
    let mut found =
        lines.map_while(Result::ok).filter_map(|line| line.split_once("said: ").map(|(_, said)| said.to_owned()));
    found.next().expect("a child says something")
}

fn end(mut child: Child) {
    let _ = child.kill();
    child.wait().unwrap();
}

/// Opens the arena, and an event in it; says so; keeps both until it is killed or told to end.
#[test]
fn what_a_child_does() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let opened = Arena::open(&role, CAPACITY);
    let said = match &opened {
        Ok(arena) => {
            let event = Event::create_named(arena, Name::new("event").unwrap(), Reset::Manual, false);
            let (event, existed) = event.unwrap();
            event.keep();
            format!("{existed} {}", arena.core().file().inode)
        }
        Err(error) => format!("{error:?}"),
    };
    println!("\nsaid: {said}");
    std::io::stdout().flush().unwrap();
    let _ = std::io::stdin().read_line(&mut String::new());
}

#[test]
fn a_name_means_one_arena_as_long_as_a_process_has_it() {
    let runtime = Runtime::new("one");
    let mut first = runtime.child("session");
    let said = line_of(&mut first);
    assert!(said.starts_with("false "), "{said}");
    let mut second = runtime.child("session");
    let same = said.replace("false", "true");
    assert_eq!(line_of(&mut second), same);
    assert_ne!(runtime.said("another"), said);
    // The one that made it has ended.
    end(first);
    assert_eq!(runtime.said("session"), same);
    end(second);
    let new = runtime.said("session");
    assert!(new.starts_with("false ") && new != said, "{new}");
}

#[test]
fn many_that_open_a_name_at_the_same_time_get_one_arena() {
    let runtime = Runtime::new("many");
    for round in 0..5 {
        let mut children: Vec<Child> = (0..24).map(|_| runtime.child(&format!("round {round}"))).collect();
        let said: Vec<String> = children.iter_mut().map(line_of).collect();
        let inode = said[0].split_once(' ').unwrap().1;
        assert!(said.iter().all(|line| line.ends_with(&format!(" {inode}"))), "{said:?}");
        assert_eq!(said.iter().filter(|line| line.starts_with("false")).count(), 1, "{said:?}");
        children.into_iter().for_each(end);
    }
}

#[test]
fn what_is_no_meeting_place_is_refused_and_left_alone() {
    let runtime = Runtime::new("foreign");
    assert!(runtime.said("whole").starts_with("false"));
    let whole = fs::read(runtime.place("whole")).unwrap();
    let spoiled = |change: fn(&mut Vec<u8>)| {
        let mut bytes = whole.clone();
        change(&mut bytes);
        fs::write(runtime.place("spoiled"), &bytes).unwrap();
        assert_eq!(runtime.said("spoiled"), "NotAnArena");
        assert_eq!(fs::read(runtime.place("spoiled")).unwrap(), bytes);
    };
    spoiled(Vec::clear);
    spoiled(|bytes| bytes.truncate(4096));
    spoiled(|bytes| bytes.push(0));
    spoiled(|bytes| bytes[0] ^= 1);
    spoiled(|bytes| bytes[8] ^= 1);
    symlink(runtime.place("whole"), runtime.place("link")).unwrap();
    assert_eq!(runtime.said("link"), format!("Os({})", libc::ELOOP));
    fs::create_dir(runtime.place("directory")).unwrap();
    assert_eq!(runtime.said("directory"), format!("Os({})", libc::EISDIR));
}

/// Whatever the seats say: it is tried, and what is no arena is nobody's.
#[test]
fn rubbish_on_the_seats_does_no_harm() {
    let runtime = Runtime::new("rubbish");
    let mut child = runtime.child("session");
    let said = line_of(&mut child);
    let whole = fs::read(runtime.place("session")).unwrap();
    for step in [1, 3, 7, 16, 29] {
        let mut bytes = whole.clone();
        (32..bytes.len()).step_by(step).for_each(|at| bytes[at] = bytes[at].wrapping_add(at as u8 | 1));
        fs::write(runtime.place("rubbish"), &bytes).unwrap();
        let new = runtime.said("rubbish");
        assert!(
            new.starts_with("false ")
                || new == said.replace("false", "true")
                || new.starts_with("Os(")
                || new == "Exhausted",
            "{new}"
        );
    }
    end(child);
}

/// A process that cannot look for the others does not take them for gone, nor does it arrive where they could not find it.
#[test]
fn a_process_that_does_not_find_itself_gets_no_arena() {
    let runtime = Runtime::new("blind");
    let mut first = runtime.child("session");
    let said = line_of(&mut first);
    match runtime.said_by_a_blind_one("session") {
        Some(other) => assert_eq!(other, format!("Os({})", libc::EXDEV)),
        None => return skip("namespaces", "an arena by name where /proc shows other processes"),
    }
    // By whether this process may look at the one that has its number there.
    let refusals = [libc::ENOENT, libc::EACCES].map(|error| format!("Os({error})"));
    let alone = runtime.said_by_a_blind_one("alone").expect("it was allowed before");
    assert!(refusals.contains(&alone), "{alone}");
    assert_eq!(runtime.said("session"), said.replace("false", "true"));
    assert!(runtime.said("alone").starts_with("false "));
    end(first);
}

#[test]
fn a_directory_that_others_may_use_is_refused() {
    let runtime = Runtime::new("directory");
    let directory = runtime.0.join("ntux");
    fs::create_dir(&directory).unwrap();
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o777)).unwrap();
    assert_eq!(runtime.said("session"), format!("Os({})", libc::EPERM));
    fs::remove_dir(&directory).unwrap();
    symlink("/tmp", &directory).unwrap();
    assert_eq!(runtime.said("session"), format!("Os({})", libc::ENOTDIR));
    assert!(!Path::new("/tmp/session").exists());
}

#[test]
fn names_that_none_can_be_are_refused() {
    for name in ["", ".", "..", ".hidden", "a/b", "a\0b", &"x".repeat(201)] {
        assert_eq!(Arena::open(name, CAPACITY).err(), Some(Error::Invalid), "{name:?}");
    }
    assert_eq!(Arena::open("session", Capacity { objects: 0, waiters: 1 }).err(), Some(Error::Invalid));
}

/// Children are killed while they open a name; whoever comes after them gets an arena at once.
#[test]
fn a_process_that_is_killed_while_it_opens_a_name_spoils_nothing() {
    let runtime = Runtime::new("killed");
    for round in 0..60 {
        let child = runtime.child("session");
        std::thread::sleep(std::time::Duration::from_micros(round * 100));
        end(child);
        let said = runtime.said("session");
        assert!(said.starts_with("false "), "{said}");
    }
    let left: Vec<_> = fs::read_dir(runtime.0.join("ntux")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["session"]);
}
