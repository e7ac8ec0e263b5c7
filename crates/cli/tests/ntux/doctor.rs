// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ntux doctor`: every key of the JSON, and what it says where a seccomp filter refuses calls.

use std::os::unix::process::CommandExt;
use std::process::Output;

use crate::rule::{Rule, under};
use crate::stage::{Stage, document, finish, said};
use serde_json::Value;

const CALLS: [&str; 12] = [
    "futex",
    "memfd_sealed",
    "reopen",
    "ofd_locks",
    "arena",
    "robust_list",
    "wipe_on_fork",
    "memfd_noexec_seal",
    "futex_waitv",
    "futex_wake",
    "futex_wait",
    "futex_requeue",
];

const SYS_FUTEX_WAITV: i64 = 449;
const SYS_FUTEX_WAKE: i64 = 454;

fn parse(output: &Output) -> Value {
    document("doctor", output)
}

fn keys(value: &Value) -> Vec<&str> {
    let mut keys: Vec<&str> = value.as_object().expect("an object").keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

/// `ntux doctor --json` under these rules.
fn doctor_under(stage: &Stage, rules: &[Rule]) -> Output {
    finish(under(&mut stage.ntux(&["doctor", "--json"]), rules.iter().copied()))
}

#[test]
fn the_json_says_what_is_here() {
    let stage = Stage::new();
    let output = finish(&mut stage.ntux(&["doctor", "--json"]));
    let report = parse(&output);
    let mut calls = CALLS.to_vec();
    calls.sort_unstable();
    assert_eq!(keys(&report["calls"]), calls);
    assert_eq!(report["library"], stage.library.to_str().expect("a plain path"));
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").expect("/proc");
    assert_eq!(report["kernel"]["release"], release.trim());
    assert!(report["processor"]["cores"].as_u64() >= Some(1));
    assert!(report["limits"]["descriptors_hard"].as_u64() >= report["limits"]["descriptors_soft"].as_u64());
}

#[test]
fn the_exit_status_says_whether_programs_can_be_served() {
    let stage = Stage::new();
    for device in ["auto", "user", "kernel"] {
        let output = finish(&mut stage.ntux(&["doctor", "--json", "--device", device]));
        let serves = parse(&output)["choice"]["can_serve"].as_bool().expect("yes or no");
        assert_eq!(output.status.code(), Some(if serves { 0 } else { 1 }), "{device}");
    }
    let output = finish(stage.ntux(&["doctor", "--json"]).env("NTUX_PRELOAD", "/nonexistent"));
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(parse(&output)["choice"]["can_serve"], false);
    assert_eq!(parse(&output)["library"], Value::Null);
}

#[test]
fn the_text_names_every_call_and_the_verdict() {
    let stage = Stage::new();
    let output = finish(&mut stage.ntux(&["doctor"]));
    let text = said(&output);
    for name in CALLS.into_iter().chain(["/dev/ntsync", "seccomp", "descriptors"]) {
        assert!(text.contains(name), "{name} in:\n{text}");
    }
    let verdict = if output.status.success() { "Programs can be served." } else { "Programs cannot be served." };
    assert!(text.ends_with(&format!("{verdict}\n")), "{text}");
}

/// Why a report says that something is done by `by`.
fn why(output: &Output, what: &str, by: &str) -> String {
    let report = parse(output);
    let [said, why] = ["by", "why"].map(|key| report[what][key].as_str().expect("text").to_owned());
    assert_eq!(said, by, "{why}");
    why
}

#[test]
fn what_sleeps_behind_descriptors_is_said_and_why() {
    /// `io_uring_setup`
    const SETUP: libc::c_long = 425;
    let stage = Stage::new();
    let said = |output: Output| why(&output, "wake_descriptors", "thread");
    let left_out = said(finish(stage.ntux(&["doctor", "--json"]).env("NTUX_WITHOUT", "io_uring")));
    assert!(left_out.contains("NTUX_WITHOUT disables io_uring"), "{left_out}");
    let refused = said(doctor_under(&stage, &[Rule::errno(SETUP, libc::EPERM)]));
    assert!(refused.contains("io_uring is refused"), "{refused}");
    let deadly = said(doctor_under(&stage, &[Rule::kill(SETUP)]));
    assert!(deadly.contains("a filter kills programs for io_uring"), "{deadly}");
}

#[test]
fn who_tells_of_an_owners_death_is_said_and_why() {
    /// `futex_waitv`
    const WAITV: libc::c_long = 449;
    let stage = Stage::new();
    let said = |output: Output| why(&output, "owner_deaths", "looks");
    let without = |what| said(finish(stage.ntux(&["doctor", "--json"]).env("NTUX_WITHOUT", what)));
    assert!(without("futex_waitv").contains("NTUX_WITHOUT disables futex_waitv"));
    assert!(without("robust_list").contains("NTUX_WITHOUT disables robust lists"));
    let refused = said(doctor_under(&stage, &[Rule::errno(WAITV, libc::ENOSYS)]));
    assert!(refused.contains("there is no futex_waitv"), "{refused}");
    let deadly = said(doctor_under(&stage, &[Rule::kill(WAITV)]));
    assert!(deadly.contains("a filter kills programs for futex_waitv"), "{deadly}");
}

#[test]
fn the_mechanisms_that_watch_writes_are_tried() {
    let stage = Stage::new();
    let mechanisms = |report: &Value| -> Vec<(String, bool)> {
        let list = report["watch"]["mechanisms"].as_array().expect("a list");
        list.iter().map(|entry| (entry["name"].as_str().unwrap().to_owned(), entry["works"] == true)).collect()
    };
    let filtered = parse(&doctor_under(
        &stage,
        &[
            Rule::errno(libc::SYS_userfaultfd, libc::EPERM),
            // Root has a device of the same name.
            Rule::errno(libc::SYS_ioctl, libc::EPERM).with_argument(0xaa00),
        ],
    ));
    let expected = [("async", false), ("sync", false), ("mprotect", true), ("cow", true)]
        .map(|(name, works)| (name.to_owned(), works));
    assert_eq!(mechanisms(&filtered), expected);
    assert_eq!(filtered["watch"]["chosen"], "mprotect", "cow must be asked for");
    let deadly = parse(&doctor_under(
        &stage,
        &[Rule::kill(libc::SYS_userfaultfd), Rule::errno(libc::SYS_ioctl, libc::EPERM).with_argument(0xaa00)],
    ));
    assert_eq!(mechanisms(&deadly), expected);
    let meaning = deadly["watch"]["mechanisms"][0]["meaning"].as_str().expect("text");
    assert!(meaning.contains("a filter kills programs for userfaultfd"), "{meaning}");
    let cow = filtered["watch"]["mechanisms"][3]["meaning"].as_str().expect("text");
    assert!(cow.contains("never chosen unless") && cow.contains("pinned pages"), "{cow}");
    for name in ["mprotect", "cow"] {
        let forced = parse(&finish(stage.ntux(&["doctor", "--json"]).env("NTUX_WATCH", name)));
        assert_eq!(forced["watch"]["chosen"], name);
    }
    let nonsense = parse(&finish(stage.ntux(&["doctor", "--json"]).env("NTUX_WATCH", "nonsense")));
    assert_eq!(nonsense["watch"]["chosen"], Value::Null);
}

#[test]
fn a_refused_call_is_reported_as_refused() {
    let stage = Stage::new();
    let fcntl = Rule::errno(libc::SYS_fcntl, libc::EPERM);
    // Rule, the calls that it must hit, and what they must answer.
    let cases: [(Rule, &[&str], &str); 10] = [
        (Rule::errno(libc::SYS_futex, libc::ENOSYS), &["futex"], "missing"),
        (Rule::errno(libc::SYS_futex, libc::EPERM), &["futex"], "forbidden"),
        (Rule::errno(SYS_FUTEX_WAITV, libc::ENOSYS), &["futex_waitv"], "missing"),
        (Rule::kill(SYS_FUTEX_WAITV), &["futex_waitv"], "kills"),
        (Rule::errno(SYS_FUTEX_WAKE, libc::EPERM), &["futex_wake"], "forbidden"),
        (Rule::errno(libc::SYS_get_robust_list, libc::EPERM), &["robust_list"], "forbidden"),
        (
            Rule::errno(libc::SYS_memfd_create, libc::ENOSYS),
            &["memfd_sealed", "memfd_noexec_seal", "reopen", "ofd_locks", "arena"],
            "missing",
        ),
        (fcntl.with_argument(libc::F_ADD_SEALS), &["memfd_sealed", "reopen", "ofd_locks", "arena"], "forbidden"),
        (fcntl.with_argument(libc::F_OFD_GETLK), &["ofd_locks"], "forbidden"),
        (Rule::errno(libc::SYS_madvise, libc::ENOMEM), &["wipe_on_fork"], "fails"),
    ];
    let free = parse(&finish(&mut stage.ntux(&["doctor", "--json"])));
    for (rule, hit, expected) in cases {
        let output = doctor_under(&stage, &[rule]);
        let report = parse(&output);
        assert_eq!(report["seccomp"]["mode"], "filter");
        for name in CALLS {
            let answer = &report["calls"][name]["answer"];
            if hit.contains(&name) {
                assert_eq!(answer, expected, "{name}");
                let listed = report["seccomp"]["refused"].as_array().expect("a list").contains(&Value::from(name));
                assert_eq!(listed, expected != "fails", "{name}");
            } else {
                assert_eq!(*answer, free["calls"][name]["answer"], "{name} is not what the filter is about");
            }
        }
        let required = hit.iter().any(|name| report["calls"][name]["role"] == "required");
        if free["choice"]["device"] == "user" {
            assert_eq!(report["choice"]["can_serve"], !required, "{hit:?}");
            assert_eq!(output.status.code(), Some(i32::from(required)), "{hit:?}");
        }
    }
}

#[test]
fn refused_calls_of_no_use_do_not_matter_and_say_so() {
    let stage = Stage::new();
    let output = doctor_under(&stage, &[Rule::errno(SYS_FUTEX_WAITV, libc::ENOSYS), Rule::kill(SYS_FUTEX_WAKE)]);
    let report = parse(&output);
    let others = report["choice"]["others"].as_array().expect("a list");
    for name in ["futex_waitv", "futex_wake"] {
        let other = others.iter().find(|other| other["mechanism"] == name).expect("it is explained");
        assert!(other["why_not"].as_str().expect("text").contains("also, "), "{other}");
    }
    assert_eq!(report["wait_multiple"]["by"], "kernel");
    assert_eq!(report["calls"]["futex_wake"]["signal"], libc::SIGSYS);
    let rows = report["futexes"].as_array().expect("rows");
    let numa = rows.iter().find(|row| row["operation"] == "32 bits with a memory node").expect("its row");
    assert_eq!(numa["answer"], "refused");
}

#[test]
fn limits_that_leave_no_room_for_a_device_are_reported() {
    let stage = Stage::new();
    let mut command = stage.ntux(&["doctor", "--json", "--device", "user"]);
    let limit = libc::rlimit { rlim_cur: 64 << 20, rlim_max: 64 << 20 };
    // SAFETY: between fork and exec one system call, which reads the limit.
    unsafe {
        command.pre_exec(move || {
            libc::setrlimit(libc::RLIMIT_AS, &limit);
            Ok(())
        })
    };
    let output = finish(&mut command);
    assert_eq!(output.status.code(), Some(1));
    let report = parse(&output);
    assert_eq!(report["calls"]["arena"]["answer"], "fails");
    assert_eq!(report["calls"]["memfd_sealed"]["answer"], "works");
}
