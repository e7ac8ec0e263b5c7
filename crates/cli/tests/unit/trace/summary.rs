// SPDX-License-Identifier: MIT OR Apache-2.0
//! The unit tests of `src/trace/summary.rs`.

use super::*;
use crate::trace::waits::Grant;
use ntux_sync::trace::Operation;

fn wait(thread: u32, from_ns: u64, to_ns: u64) -> Wait {
    Wait { thread, object: 5, count: 1, from_ns, to_ns, end: End::Object(5), by: None, stirs: 0 }
}

/// Threads from 10 on are another process's.
fn process(thread: u32) -> (u32, String) {
    if thread < 10 { (1, "game.exe 1".to_owned()) } else { (10, "services.exe 10".to_owned()) }
}

fn text(summary: &Summary, lost: u64) -> String {
    let account = summary.account(
        1_000_000,
        lost,
        |_, slot| format!("mutex {slot}"),
        |thread| format!("thread {thread}"),
        process,
    );
    account.text()
}

#[test]
fn a_lock_that_several_threads_wait_for_all_the_time_is_a_convoy() {
    let mut summary = Summary::default();
    for thread in 0..3 {
        summary.add_wait(0, &wait(thread, 0, 1_000_000));
    }
    let text = text(&summary, 0);
    assert!(text.contains("mutex 5") && text.contains("3.0 to  3") && text.contains("a convoy"), "{text}");
}

#[test]
fn a_lock_that_is_waited_for_now_and_then_is_none() {
    let mut summary = Summary::default();
    for thread in 0..3 {
        summary.add_wait(0, &wait(thread, u64::from(thread) * 1000, u64::from(thread) * 1000 + 1000));
    }
    let text = text(&summary, 0);
    assert!(text.contains("0.0 to  1") && !text.contains("convoy"), "{text}");
}

#[test]
fn herds_and_lost_events_are_told() {
    let mut summary = Summary::default();
    summary.add_wait(0, &wait(1, 0, 10));
    let signal = Signal { thread: 2, object: 5, operation: Operation::Set, from_ns: 0, to_ns: 1, granted: 8 };
    summary.add_signal(0, &signal);
    let text = text(&summary, 12);
    assert!(text.contains("8 woken at once") && text.contains("lost: 12 events"), "{text}");
}

#[test]
fn a_wait_whose_end_was_lost_is_counted_and_its_time_is_not() {
    let mut summary = Summary::default();
    summary.add_wait(0, &wait(1, 0, 1_000_000));
    summary.add_wait(0, &Wait { end: End::Unknown, to_ns: 0, ..wait(2, 0, 0) });
    let text = text(&summary, 1);
    let row = text.lines().find(|line| line.starts_with("mutex 5")).unwrap();
    let cells: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(cells[2..8], ["2", "1000", "us", "1000", "us", "1000"], "{text}");
    assert!(row.ends_with("of 1 the end was lost") && !text.contains("still wait"), "{text}");
}

#[test]
fn the_threads_of_each_process_stand_together() {
    let mut summary = Summary::default();
    let woken =
        |thread, by| Wait { by: Some(Grant { thread: by, at_ns: 0, object: Some(5) }), ..wait(thread, 0, 1_000) };
    for (thread, by) in [(11, 12), (11, 12), (1, 2), (12, 11)] {
        summary.add_wait(0, &woken(thread, by));
    }
    summary.add_wait(0, &wait(2, 0, 1_000_000));
    let text = text(&summary, 0);
    let place = |words: &str| text.find(words).unwrap_or_else(|| panic!("no {words:?} in {text}"));
    assert!(
        place("game.exe 1:") < place("thread 2 -> thread 1 ")
            && place("thread 2 -> thread 1 ") < place("services.exe 10:")
    );
    assert!(place("services.exe 10:") < place("thread 12 -> thread 11"), "{text}");
    let row = text.lines().find(|line| line.starts_with("services.exe 10 ")).unwrap();
    assert_eq!(row.split_whitespace().nth(2), Some("3"), "{text}");
}
