// SPDX-License-Identifier: MIT OR Apache-2.0
//! A quick run: every scenario has a row for every design, and every row a number. Times are ignored.

#[path = "../../../crates/cli/tests/schema/schema.rs"]
mod schema;
#[path = "../../../crates/platform/tests/skips/skips.rs"]
mod skips;

use std::process::{Command, Stdio};

use schema::assert_conforms;
use serde_json::Value;
use skips::skip;

const DEVICE: &str = "ntux device";
/// The peers that take part everywhere. The kernel's driver and the preloaded library depend on the machine and the build.
const PEERS: [&str; 7] =
    ["raw futex", "eventfd", "futex_waitv", "futex_waitv counted", "server", "ntux Rust", "ntux C"];

/// The scenarios of every peer, by group; `#` stands for each of the numbers.
const SCENARIOS: [(&str, &[&str], &[u32]); 8] = [
    (
        "uncontended",
        &["mutex lock + unlock", "semaphore wait + release", "auto-reset event set + wait", "wait-all of 8"],
        &[],
    ),
    ("uncontended", &["wait-any of #, first signaled", "wait-any of #, last signaled"], &[8, 64]),
    (
        "contended",
        &[
            "mutex lock + unlock, two threads",
            "semaphore wait + release, two threads",
            "auto-reset event wait + set, two threads",
            "zigzag round trip, two threads",
            "ping-pong round trip, two processes",
            "blocked wait-any of 64, 1st signaled",
            "blocked wait-any of 64, 32nd signaled",
            "blocked wait-any of 64, 64th signaled",
        ],
        &[],
    ),
    ("contended", &["manual-reset set, # waiters: call", "manual-reset set, # waiters: all ran"], &[1, 8, 64, 512]),
    (
        "definitions",
        &[
            "wait for a semaphore that has units",
            "release a semaphore for which nobody waits",
            "wake of a wait for all of two",
            "wake of a wait for any of two",
            "eight threads pass one auto-reset event",
            "processor time of one set beside 8 parked",
        ],
        &[],
    ),
    (
        "growth",
        &["set among # objects", "wait among # objects", "create among # objects"],
        &[10, 100, 1_000, 10_000, 100_000],
    ),
    (
        "growth",
        &[
            "auto-reset set, # waiters: call",
            "auto-reset set, # waiters: one ran",
            "set + wait elsewhere beside # waiters",
        ],
        &[1, 10, 100, 1_000],
    ),
    (
        "system_calls",
        &[
            "mutex lock + unlock",
            "semaphore wait + release",
            "event set + wait",
            "event reset",
            "wait-any of 8",
            "wait-any of 64",
            "wait-all of 8",
            "set with nobody waiting",
            "blocked wait: the sleeper",
            "blocked wait-any of 64: the sleeper",
            "set with one sleeper: the signaler",
        ],
        &[],
    ),
];

/// The rows of one peer only: group, scenario, peer.
const SINGLE: [(&str, &str, &str); 41] = [
    ("contended", "mutex lock + unlock, two threads", "adaptive futex"),
    ("contended", "ping-pong round trip, two processes", "adaptive futex"),
    ("contended", "mutex lock + unlock, two threads", "parking_lot"),
    ("contended", "zigzag round trip, two threads", "parking_lot"),
    ("definitions", "poll for all of two, one is not signaled", "server"),
    ("definitions", "poll for all of two, one is not signaled", "ntux Rust"),
    ("yardsticks", "one empty system call", "machine"),
    ("yardsticks", "one 64-bit compare-exchange", "machine"),
    ("yardsticks", "one 128-bit compare-exchange", "machine"),
    ("memory", "bytes for each object", "ntux Rust"),
    ("memory", "bytes for each waiting thread", "ntux Rust"),
    ("growth", "named open + close", "ntux Rust"),
    ("growth", "named open + close", "shm_open + pthread"),
    ("growth", "named open + close, another process has it", "ntux Rust"),
    ("growth", "named open + close, another process has it", "shm_open + pthread"),
    ("growth", "arm + cancel a timer, 10,000 are armed", "ntux Rust"),
    ("growth", "arm + cancel a timer, 10,000 are armed", "timerfd"),
    ("growth", "arm a timer for 100 us + wait for it", "ntux Rust"),
    ("growth", "arm a timer for 100 us + wait for it", "timerfd"),
    ("without_thread", "post a packet + take it", "ntux Rust"),
    ("without_thread", "post a packet + take it", "eventfd + epoll"),
    ("without_thread", "post a packet + take it", "crossbeam-channel"),
    ("without_thread", "a packet to a thread that sleeps, and one back", "ntux Rust"),
    ("without_thread", "a packet to a thread that sleeps, and one back", "eventfd + epoll"),
    ("without_thread", "a packet to a thread that sleeps, and one back", "crossbeam-channel"),
    ("without_thread", "wait without a thread: register, signal, take", "ntux Rust"),
    ("without_thread", "wait without a thread: register, signal, take", "eventfd + epoll"),
    ("without_thread", "an object in an epoll: signal, wait, take", "ntux Rust"),
    ("without_thread", "an object in an epoll: signal, wait, take", "eventfd + epoll"),
    ("without_thread", "an object in an epoll: signal, wait, take", "pump thread + epoll"),
    ("without_thread", "one of 10,000 is signaled: wait, take", "ntux Rust"),
    ("without_thread", "one of 10,000 is signaled: wait, take", "eventfd + epoll"),
    ("without_thread", "a task waits for an event, which the task sets", "ntux Rust"),
    ("without_thread", "a task waits for an event, which the task sets", "tokio Notify"),
    ("without_thread", "a task waits for an event, which the task sets", "event-listener"),
    ("without_thread", "an event to a task that sleeps, and one back", "ntux Rust"),
    ("without_thread", "an event to a task that sleeps, and one back", "tokio Notify"),
    ("without_thread", "an event to a task that sleeps, and one back", "event-listener"),
    ("foreign", "ioctl of a socket", "without ntux"),
    ("foreign", "fcntl of a socket", "without ntux"),
    ("foreign", "close of a socket's duplicate", "without ntux"),
];

#[test]
fn every_scenario_has_a_row_for_every_peer() {
    let mut report = quick_report(&[]);
    let mut peers = PEERS.to_vec();
    match absence_of(&report, DEVICE) {
        Some(reason) => skip("bench-device", format_args!("the rows of {DEVICE}, which took no part: {reason}")),
        None => peers.push(DEVICE),
    }
    assert_eq!(flaws(&report, &peers), Vec::<String>::new());

    // The check itself must see a row that is missing and one without a number.
    let records = report["records"].as_array_mut().unwrap();
    let zigzag = place_of(records, "zigzag round trip, two threads", "server");
    records.remove(zigzag);
    let pair = place_of(records, "wait-any of 8, last signaled", "ntux Rust");
    records[pair]["outcome"]["measured"]["median"] = 0.into();
    let expected = ["zigzag round trip, two threads: server", "wait-any of 8, last signaled: ntux Rust"];
    let mut found = flaws(&report, &peers);
    found.sort_by_key(|flaw| expected.iter().position(|name| flaw == name));
    assert_eq!(found, expected);
}

#[test]
fn only_the_scenarios_that_were_asked_for_are_measured() {
    let report = quick_report(&["--only", "zigzag"]);
    let records = report["records"].as_array().unwrap();
    assert!(records.len() >= PEERS.len());
    assert!(records.iter().all(|record| record["scenario"] == "zigzag round trip, two threads"));
}

#[test]
fn the_first_screen_is_short_and_the_pictures_are_drawn() {
    let directory = std::env::temp_dir().join(format!("ntux-bench-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let [svg, html] = ["times.svg", "times.html"].map(|name| directory.join(name));
    let output = Command::new(env!("CARGO_BIN_EXE_ntux-bench"))
        .args(["sync", "--quick", "--only", "two threads", "--svg"])
        .arg(&svg)
        .arg("--html")
        .arg(&html)
        .output()
        .expect("the benchmark starts");
    let screen = String::from_utf8(output.stdout).unwrap();
    assert!(screen.lines().count() <= 40 && screen.contains("zigzag"), "{screen}");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!errors.contains("zigzag"), "progress is for terminals: {errors}");
    let [svg, html] = [svg, html].map(|file| std::fs::read_to_string(file).unwrap());
    assert!(svg.contains("zigzag round trip, two threads") && html.contains(svg.trim_end()), "{svg}");
    std::fs::remove_dir_all(directory).unwrap();
}

#[test]
fn what_cannot_come_to_anything_is_refused_before_it_is_measured() {
    for (arguments, complaint) in [
        (["sync", "--only", "zigzig"], "nothing that it measures contains \"zigzig\""),
        (["waiting", "--only", "zigzig"], "nothing that it measures contains \"zigzig\""),
        (["sync", "--svg", "/nowhere/times.svg"], "/nowhere/times.svg': No such file"),
        (["sync", "--html", "/nowhere/times.html"], "/nowhere/times.html': No such file"),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_ntux-bench")).args(arguments).output().expect("it starts");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && errors.contains(complaint), "{arguments:?}: {errors}");
        assert!(output.stdout.is_empty(), "{arguments:?} printed a report");
    }
}

#[test]
fn what_an_earlier_run_printed_is_shown_again() {
    let stored = concat!(env!("CARGO_MANIFEST_DIR"), "/../../benchmarks/2026-11-23-xeon/sync.json");
    let show = |file: &str| {
        let arguments = ["sync", "--from", file, "--full"];
        Command::new(env!("CARGO_BIN_EXE_ntux-bench")).args(arguments).output().expect("it starts")
    };
    let output = show(stored);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && text.contains("Intel Xeon") && text.contains("zigzag round trip"), "{text}");
    let output = show(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"));
    assert!(!output.status.success() && String::from_utf8_lossy(&output.stderr).contains("Cargo.toml: "));
}

fn quick_report(arguments: &[&str]) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_ntux-bench"))
        .args(["sync", "--quick", "--json"])
        .args(arguments)
        .stderr(Stdio::piped())
        .output()
        .expect("the benchmark starts");
    let report = String::from_utf8(output.stdout).unwrap();
    if let Some(reason) = absence_of(&serde_json::from_str(&report).unwrap_or_default(), DEVICE) {
        println!("{DEVICE} took no part: {reason}");
    } else {
        let progress = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}\n{progress}\n{report}", output.status);
    }
    let report = serde_json::from_str(&report).expect("one JSON document");
    assert_conforms("bench-sync", &report);
    report
}

#[test]
fn every_other_report_is_as_its_schema_says() {
    let reports: [(&str, &[&str]); 3] =
        [("futex", &["--threads", "8"]), ("watch", &[]), ("waiting", &["--only", "quiet: mutex, 2"])];
    for (name, options) in reports {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ntux-bench"));
        let output = command.args([name, "--quick", "--json"]).args(options).output().expect("the benchmark starts");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{name}: {errors}");
        assert_conforms(&format!("bench-{name}"), &serde_json::from_slice(&output.stdout).expect("one JSON document"));
    }
}

fn absence_of(report: &Value, peer: &str) -> Option<String> {
    let absent = report["absent"].as_array()?;
    let found = absent.iter().find(|absent| absent["peer"] == peer)?;
    Some(found["reason"].to_string())
}

/// The rows that are missing, failed, or have no number where one is possible.
fn flaws(report: &Value, peers: &[&str]) -> Vec<String> {
    let mut flaws = Vec::new();
    for (group, scenarios, numbers) in SCENARIOS {
        for scenario in scenarios.iter().flat_map(|scenario| each_number(scenario, numbers)) {
            let missing = peers.iter().filter(|peer| !sound(report, group, &scenario, peer));
            flaws.extend(missing.map(|peer| format!("{scenario}: {peer}")));
        }
    }
    let missing = SINGLE.iter().filter(|(group, scenario, peer)| !sound(report, group, scenario, peer));
    flaws.extend(missing.map(|(_, scenario, peer)| format!("{scenario}: {peer}")));
    flaws
}

fn each_number(scenario: &str, numbers: &[u32]) -> Vec<String> {
    match numbers {
        [] => vec![scenario.to_owned()],
        _ => numbers.iter().map(|number| scenario.replace('#', &number.to_string())).collect(),
    }
}

fn sound(report: &Value, group: &str, scenario: &str, peer: &str) -> bool {
    let records = report["records"].as_array().unwrap();
    let Some(record) = records
        .iter()
        .find(|record| record["group"] == group && record["scenario"] == scenario && record["peer"] == peer)
    else {
        return false;
    };
    // Ours can do everything; a descriptor for each of 100,000 objects may be more than this machine allows.
    if !record["outcome"]["impossible"].is_null() {
        return peer != "ntux Rust" && peer != "ntux C";
    }
    let median = record["outcome"]["measured"]["median"].as_f64();
    median.is_some_and(|median| median > 0.0 || group == "system_calls")
}

fn place_of(records: &[Value], scenario: &str, peer: &str) -> usize {
    records.iter().position(|record| record["scenario"] == scenario && record["peer"] == peer).unwrap()
}
