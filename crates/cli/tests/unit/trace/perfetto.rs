// SPDX-License-Identifier: MIT OR Apache-2.0
//! The unit tests of `src/trace/perfetto.rs`.

use super::*;
use ntux_sync::trace::{Event, Operation, What};

use super::super::waits::{Completed, Waits};

fn written(finish: bool) -> String {
    let mut bytes = Vec::new();
    let mut perfetto = Perfetto::begin(&mut bytes);
    let (mut waits, objects) = (Waits::default(), Objects::default());
    perfetto.thread(1, &Thread { pid: 1, name: "a \"quoted\" one".to_owned(), program: "game".to_owned() });
    let events = [
        (1, What::Sleeps { object: 5, count: 1 }),
        (2, What::Grants { object: 5, thread: 1 }),
        (2, What::Signals { object: 5, operation: Operation::Set }),
        (1, What::Acquires { object: 5 }),
    ];
    for (number, (thread, what)) in (0..).zip(events) {
        match waits.take(Event { number, time_ns: 1_000 + number * 500, thread, what }) {
            Some(Completed::Wait(wait)) => perfetto.wait(&wait, &objects, |_| 1),
            Some(Completed::Signal(signal)) => perfetto.signal(&signal, &objects, |_| 1),
            None => {}
        }
    }
    if finish {
        perfetto.finish(3);
    }
    String::from_utf8(bytes).unwrap()
}

#[test]
fn a_whole_trace_is_json_with_slices_and_an_arrow_inside_them() {
    let events: Vec<serde_json::Value> = serde_json::from_str(&written(true)).unwrap();
    let of = |key: &str, value: &str| events.iter().find(|event| event[key] == value).unwrap().clone();
    let (wait, signal, from, to) = (of("cat", "wait"), of("cat", "signal"), of("ph", "s"), of("ph", "f"));
    assert_eq!((wait["ts"].as_f64(), wait["dur"].as_f64()), (Some(1.0), Some(1.5)));
    let (begin, end) =
        (signal["ts"].as_f64().unwrap(), signal["ts"].as_f64().unwrap() + signal["dur"].as_f64().unwrap());
    let leaves = from["ts"].as_f64().unwrap();
    assert!(begin <= leaves && leaves <= end, "{signal} {from}");
    assert_eq!((from["tid"].as_u64(), to["tid"].as_u64(), from["id"].clone()), (Some(2), Some(1), to["id"].clone()));
    assert_eq!(events.last().unwrap()["args"]["lost events"], 3);
}

#[test]
fn what_a_killed_tracer_leaves_lacks_only_its_end() {
    let text = written(false);
    let events = text.trim_end().strip_suffix(',').unwrap().to_owned() + "]";
    assert!(serde_json::from_str::<Vec<serde_json::Value>>(&events).is_ok(), "{text}");
}
