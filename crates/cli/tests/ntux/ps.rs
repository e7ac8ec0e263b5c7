// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ntux ps`: every arena that can be seen, with who shares it and what is in it.

use ntux_sync::{Arena, Capacity};

use crate::stage::{Stage, complained, document, finish, said};

#[test]
fn an_arena_is_listed_with_its_processes_and_what_is_in_it() {
    let stage = Stage::new();
    let arena = Arena::create(Capacity { objects: 64, waiters: 16 }).unwrap();
    let waiter = arena.waiter();
    arena.semaphore_create(&waiter, 1, 1).unwrap();
    arena.mutex_create(&waiter, 0, 0).unwrap();
    arena.mutex_create(&waiter, 7, 1).unwrap();
    for manual in [false, true, true] {
        arena.event_create(&waiter, manual, false).unwrap();
    }
    let output = finish(&mut stage.ntux(&["ps", "--json"]));
    assert_eq!(output.status.code(), Some(0), "{}", complained(&output));
    let list = document("ps", &output);
    let inode = arena.file().inode;
    let seen = list["arenas"].as_array().unwrap().iter().find(|seen| seen["inode"] == inode).expect("it is listed");
    let objects = &seen["objects"];
    let counts = ["semaphores", "mutexes", "events", "other"].map(|kind| objects[kind].as_u64().unwrap());
    assert_eq!(counts, [1, 2, 3, 0]);
    assert_eq!((&seen["waiting"], &seen["processes"][0]["pid"]), (&0.into(), &std::process::id().into()));
    assert!(seen["age_s"].as_u64().unwrap() < 3600, "{seen:#}");
    let text = said(&finish(&mut stage.ntux(&["ps"])));
    let line = text.lines().find(|line| line.trim_start().starts_with(&inode.to_string())).expect(&text);
    let words: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(words[2..7], ["1", "2", "3", "0", &std::process::id().to_string()], "{line}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}
