// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random programs on the drop-in device: a part of `make test-kernel` that needs no kernel, but uses the driver's
//! recorded transcripts.

#[path = "../../../crates/preload/tests/built/c_program.rs"]
mod c_program;
mod library;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;
use std::sync::LazyLock;

use library::PROGRAM;
use ntux_conformance::device::number;
use ntux_conformance::random::program::Action;
use ntux_conformance::random::transcript::{self, Report, Transcripts};
use ntux_conformance::random::{Kind, shrink};

/// What the driver does with the programs of the first seeds.
static RECORDED: LazyLock<Transcripts> =
    LazyLock::new(|| transcript::parse(include_str!("driver.transcripts")).expect("a file of transcripts"));

static LIBRARY: LazyLock<PathBuf> = LazyLock::new(library::build);

/// A library that passes every call on to the one after it, with one mistake; see `planted_device.c`.
static PLANTED: LazyLock<PathBuf> = LazyLock::new(|| c_program::compile("planted_device.c", &["-shared", "-fPIC"]));

/// Each mistake, with the kind of programs that must find it.
const MISTAKES: [(&str, Kind); 13] = [
    ("overflow_is_invalid", Kind::Single),
    ("release_gives_the_count_after", Kind::Single),
    ("unlock_writes_the_owner", Kind::Single),
    ("refused_unlock_writes", Kind::Single),
    ("read_hides_the_abandoned", Kind::Single),
    ("pad_is_ignored", Kind::Single),
    ("a_bad_pointer_has_no_effect", Kind::Single),
    ("a_past_deadline_is_no_attempt", Kind::Single),
    ("alert_has_the_last_index", Kind::Together),
    ("pulse_only_resets", Kind::Together),
    ("all_of_one_is_any", Kind::Together),
    ("kill_is_unlock", Kind::Together),
    ("handlers_end_every_wait", Kind::Together),
];

/// So many programs find every one of them.
const FEW: u64 = 60;

/// `env` with what loads the library, and the planted one before it if there is a mistake to make.
fn environment(mistake: Option<&str>) -> Command {
    let mut libraries = LIBRARY.display().to_string();
    if mistake.is_some() {
        libraries = format!("{}:{libraries}", PLANTED.display());
    }
    let mut command = Command::new("env");
    command.args(["NTUX_DEVICE=user", &format!("PLANTED={}", mistake.unwrap_or_default())]);
    command.arg(format!("LD_PRELOAD={libraries}"));
    command
}

/// The recorded programs of one kind, those of seeds below `end`, performed, and compared with what was recorded.
fn judge(kind: Kind, end: u64, mistake: Option<&str>) -> Report {
    let asked = RECORDED.iter().filter(|((of, seed), _)| *of == kind && *seed < end);
    let right: Transcripts = asked.map(|(key, recorded)| (*key, recorded.clone())).collect();
    let mut command = environment(mistake);
    command.args([PROGRAM, "random", "--kind", kind.name(), "--count", &right.len().to_string()]);
    let output = command.output().expect("it starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let judged = transcript::parse(&String::from_utf8_lossy(&output.stdout)).expect("transcripts");
    transcript::compare(&right, &judged).expect("the same programs")
}

#[test]
fn the_drop_in_device_gives_the_transcripts_of_the_driver() {
    for kind in [Kind::Single, Kind::Together] {
        let report = judge(kind, u64::MAX, None);
        assert!(report.compared >= 100, "only {} programs are recorded", report.compared);
        for (kind, seed, text) in &report.different {
            eprintln!("{} {seed} differs:\n{text}", kind.name());
        }
        assert_eq!(report.different.len(), 0, "of {} programs", report.compared);
    }
}

#[test]
fn every_planted_mistake_is_found() {
    let missed: Vec<_> = MISTAKES.iter().filter(|(mistake, kind)| !is_found(mistake, *kind)).collect();
    assert!(missed.is_empty(), "not found: {missed:?}");
}

/// Some programs must differ; not all, for a mistake that spoils everything would be no proof.
fn is_found(mistake: &str, kind: Kind) -> bool {
    let report = judge(kind, FEW, Some(mistake));
    println!("{mistake}: {} of {} programs differ", report.different.len(), report.compared);
    (1..report.compared).contains(&report.different.len())
}

#[test]
fn a_difference_is_shrunk_to_what_it_takes() {
    let first = &judge(Kind::Single, 10, Some("overflow_is_invalid")).different[0];
    let planted = environment(Some("overflow_is_invalid"));
    let output = environment(None)
        .args([PROGRAM, "shrink", "--kind", "single", "--seed", &first.1.to_string(), "--"])
        .arg("env")
        .args(planted.get_args())
        .arg(PROGRAM)
        .output()
        .expect("it starts");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("differs, 2 of "), "a creation and a release: {text}");
    assert!(text.contains("here: EOVERFLOW") && text.contains("other: EINVAL"), "{text}");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn shrinking_keeps_what_is_needed_together() {
    let program = Kind::Single.program(1);
    let needed = [3, 11];
    let small = shrink::shrink(&program, |part| needed.iter().all(|place| part.places().contains(place)));
    assert_eq!(small.places(), needed);
}

#[test]
fn a_transcript_of_another_program_is_refused() {
    let line = "single 0 00000000 0";
    let right = transcript::parse(line).expect("a line");
    assert!(transcript::compare(&right, &right).is_err());
    assert!(transcript::parse("single x 0 0").is_err());
}

#[test]
fn what_is_recorded_reaches_every_ioctl_and_every_error() {
    let mut succeeded = BTreeSet::new();
    let mut errors = BTreeSet::new();
    let mut woken = 0;
    for ((kind, seed), (_, transcript)) in RECORDED.iter() {
        for (step, entry) in kind.program(*seed).steps.iter().zip(transcript.split("; ")) {
            let outcome = entry.split(' ').next().expect("an outcome");
            match &step.action {
                Action::Call(call) if outcome == "0" || outcome.starts_with("fd") => {
                    succeeded.insert(call.number);
                }
                _ => errors.extend(outcome.starts_with('E').then_some(outcome)),
            }
            let ends = |thread: usize| thread != step.by && entry.contains(&format!(" t{thread}: 0"));
            woken += (1..=5).filter(|thread| ends(*thread)).count();
        }
    }
    for number in number::OF_DEVICE.iter().chain(&number::OF_OBJECT) {
        assert!(succeeded.contains(&u64::from(*number)), "{number:#x} never succeeds");
    }
    for error in ["EBADF", "EFAULT", "EINTR", "EINVAL", "ENOTTY", "EOVERFLOW", "EOWNERDEAD", "EPERM", "ETIMEDOUT"] {
        assert!(errors.contains(error), "no call gives {error}");
    }
    assert!(woken > 100, "only {woken} threads are woken by another one");
}
