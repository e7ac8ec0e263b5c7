// SPDX-License-Identifier: MIT OR Apache-2.0
//! The schemas in `docs/reference/schemas`: every document that a test parses is compared with its own (`stage::document`); here, that
//! the comparison notices what is wrong, and the documents that no other test parses.

use ntux_platform::clock::monotonic_ns;
use ntux_sync::{Arena, Deadline};
use serde_json::{Value, json};

use crate::schema::{assert_conforms, faults};
use crate::stage::{Stage, complained, document, finish};
use crate::trace::{ntux, ping_pong};
use crate::why::{CAPACITY, PATIENCE, sleepers, this_process};

/// A wait that fails the test ends then.
fn soon() -> Deadline {
    Deadline::Monotonic(monotonic_ns() + PATIENCE.as_nanos() as u64)
}

/// Where something can be changed in a document, as pointers.
fn places(value: &Value, place: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                places(member, &format!("{place}/{name}"), found);
            }
        }
        Value::Array(elements) => {
            for (number, element) in elements.iter().enumerate() {
                places(element, &format!("{place}/{number}"), found);
            }
        }
        _ => {}
    }
    found.push(place.to_owned());
}

/// A document with this value at a place; none: the key is not there.
fn planted(document: &Value, place: &str, value: Option<Value>) -> Value {
    let mut document = document.clone();
    match (value, place.rsplit_once('/')) {
        (None, Some((above, name))) => {
            document.pointer_mut(above).and_then(Value::as_object_mut).expect("an object").remove(name);
        }
        (value, _) => *document.pointer_mut(place).expect("it is there") = value.unwrap_or_default(),
    }
    document
}

#[test]
fn whatever_is_wrong_with_a_document_is_found() {
    let stage = Stage::new();
    let arena = Arena::create(CAPACITY).unwrap();
    let waiter = arena.waiter();
    let mutex = arena.mutex_create(&waiter, 7, 1).unwrap();
    arena.semaphore_create(&waiter, 1, 2).unwrap();
    let event = arena.event_create(&waiter, true, false).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| arena.wait_all(&arena.waiter(), &[mutex, event], None, 8, soon()));
        sleepers(&arena, 1);
        for name in ["ps", "inspect", "why"] {
            let pid = this_process();
            let arguments = if name == "ps" { vec![name, "--json"] } else { vec![name, "--json", &pid] };
            assert_found(name, &document(name, &finish(&mut stage.ntux(&arguments))));
        }
        arena.event_set(&waiter, event).unwrap();
        arena.mutex_unlock(&waiter, mutex, 7).unwrap();
    });
}

/// Plants a key too many, a key too few and a value of another kind wherever there is room.
fn assert_found(name: &str, document: &Value) {
    let mut found = Vec::new();
    places(document, "", &mut found);
    assert!(found.len() > 10, "this test notices nothing");
    for place in &found {
        let now = document.pointer(place).expect("it is there");
        let mut wrong = vec![planted(document, place, Some(json!({"rubbish": [1]})))];
        if let Value::Object(members) = now {
            let more = members.clone().into_iter().chain([("rubbish".to_owned(), json!(1))]).collect();
            wrong.push(planted(document, place, Some(Value::Object(more))));
            wrong.extend(members.keys().map(|key| planted(document, &format!("{place}/{key}"), None)));
        }
        for wrong in wrong {
            assert!(!faults(name, &wrong).is_empty(), "{name}: what is planted at '{place}' is not found: {wrong:#}");
        }
    }
}

#[test]
fn a_word_that_no_schema_lists_is_found() {
    let finding = |kind: &str| {
        let empty = json!([]);
        let finding = json!({
            "kind": kind, "fault": true, "text": [], "threads": empty, "objects": empty, "behind": empty, "stopped": empty,
        });
        json!({"version": 1, "arenas": [{
            "device": 1, "inode": 2, "processes": [], "waiting": 0, "findings": [finding], "chains": [], "more": 0,
            "address_waits": [], "stacks": [],
        }]})
    };
    assert_conforms("why", &finding("deadlock"));
    assert_eq!(faults("why", &finding("dead lock")).len(), 1);
    let mut later = finding("deadlock");
    later["version"] = json!(2);
    assert_eq!(faults("why", &later).len(), 1);
}

#[test]
fn the_lists_of_top_are_printed_as_json() {
    let stage = Stage::new();
    let arena = Arena::create(CAPACITY).unwrap();
    let waiter = arena.waiter();
    let mutex = arena.mutex_create(&waiter, 7, 1).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| arena.wait_any(&arena.waiter(), &[mutex], None, 8, soon()));
        sleepers(&arena, 1);
        let output = finish(&mut stage.ntux(&["top", "--once", "--json", "--every", "0.1", &this_process()]));
        arena.mutex_unlock(&waiter, mutex, 7).unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", complained(&output));
        let printed = document("top", &output);
        let seen = printed["arenas"].as_array().unwrap().iter().find(|seen| seen["inode"] == arena.file().inode);
        let seen = seen.expect("the arena is there");
        let waits = |thread: &&Value| !thread["wait"].is_null();
        let (object, thread) = (&seen["objects"][0], seen["threads"].as_array().unwrap().iter().find(waits).unwrap());
        assert_eq!((&object["kind"], &object["waiting"], &object["owner"]), (&json!("mutex"), &json!(1), &json!(7)));
        assert_eq!((&thread["share_waiting"], &thread["wait"]["objects"][0]), (&json!(1.0), &object["object"]));
    });
    let output = finish(&mut stage.ntux(&["top", "--json"]));
    assert_eq!(output.status.code(), Some(125), "without --once there is nothing to print");
}

#[test]
fn a_trace_is_summed_up_in_one_line_of_json() {
    let stage = Stage::new();
    let last_line = |arguments: &[&str], status| {
        let output = finish(ntux(&stage, &["trace", "--json", "--"]).args(arguments));
        assert_eq!(output.status.code(), Some(status), "{}", complained(&output));
        let line = complained(&output).lines().last().unwrap_or_default().to_owned();
        let printed: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert_conforms("trace", &printed);
        printed
    };
    let printed = last_line(&[&ping_pong(&stage), "40"], 7);
    assert!(printed["waits"].as_u64() >= Some(2) && printed["problem"].is_null(), "{printed:#}");
    assert_eq!(printed["objects"].as_array().unwrap().len(), 2);
    assert!(printed["pairs"][0]["times"].as_u64() >= Some(1), "{printed:#}");
    let printed = last_line(&["sh", "-c", "echo noise >&2; exit 3"], 3);
    assert!(printed["problem"].as_str().is_some_and(|problem| problem.contains("no arena was found")), "{printed:#}");
}
