// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a user meets who names the wrong thing, may not look, or listens no longer.

use std::fs::File;
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use ntux_sync::{Arena, Capacity};

use crate::stage::{Stage, complained, finish, finish_child, said};
use crate::why::{CAPACITY, path_of, this_process};

/// No process has this number: it is larger than the kernel's largest.
const NOBODY: &str = "4194305";
/// A user that owns nothing.
const STRANGER: u32 = 65534;

/// The commands that look at a target.
const LOOKING: [&[&str]; 3] = [&["inspect"], &["why"], &["top", "--once", "--every", "0.05"]];

fn looks(stage: &Stage, target: &str) -> Vec<Output> {
    LOOKING.iter().map(|words| finish(stage.ntux(words).arg(target))).collect()
}

fn assert_refused(stage: &Stage, target: &str, words: &str) {
    for output in looks(stage, target) {
        assert_eq!((output.status.code(), said(&output).as_str()), (Some(125), ""), "{target}");
        let complaint = complained(&output);
        assert!(complaint.contains(words) && !complaint.contains("panicked"), "{target}: {complaint}");
    }
}

/// A file of this length that begins so.
fn file(stage: &Stage, name: &str, start: &[u8], length: u64) -> String {
    let path: PathBuf = stage.path(name);
    let file = File::create(&path).unwrap();
    file.write_all_at(start, 0).unwrap();
    file.set_len(length).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_wrong_target_is_named_with_what_is_wrong_with_it() {
    let stage = Stage::new();
    let arena = Arena::create(CAPACITY).unwrap();
    let bytes = std::fs::read(path_of(&arena)).unwrap();
    let other = [&bytes[..8], &[0xff; 8], &bytes[16..24]].concat();
    let fifo = stage.path("fifo").to_str().unwrap().to_owned();
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let pid = this_process();
    let no_arena = "is no arena: it must be";
    for (target, words) in [
        (NOBODY.to_owned(), "there is no process 4194305"),
        (format!("{NOBODY}/1"), "there is no process 4194305"),
        (format!("{NOBODY}:1"), "there is no process 4194305"),
        ("99999999999".to_owned(), "99999999999 is no process number"),
        ("0".to_owned(), "0 is no process number"),
        (format!("{pid}/1"), &format!("process {pid} has no thread 1")),
        (format!("{pid}:1048576"), &format!("process {pid} has no descriptor 1048576")),
        (String::new(), "cannot open ''"),
        ("/nowhere".to_owned(), "cannot open '/nowhere'"),
        ("firefox".to_owned(), "name a process by its number"),
        ("/".to_owned(), no_arena),
        ("/dev/null".to_owned(), no_arena),
        (fifo, no_arena),
        (file(&stage, "empty", b"", 0), no_arena),
        (file(&stage, "huge", b"", 8 << 40), no_arena),
        (file(&stage, "huge-other", b"ntuxsync", 8 << 40), "of another version"),
        (file(&stage, "other", &other, bytes.len() as u64), "of another version"),
        (file(&stage, "beginning", b"ntuxsync", 8), "is cut off"),
        (file(&stage, "head", &bytes[..24], 24), "is cut off"),
        (file(&stage, "half", &bytes[..bytes.len() / 2], bytes.len() as u64 / 2), "copy it again, whole"),
    ] {
        assert_refused(&stage, &target, words);
    }
    // A copy in a file that is too long is whole.
    let long = file(&stage, "long", &bytes, bytes.len() as u64 + (1 << 30));
    assert!(looks(&stage, &long).iter().all(|output| output.status.code() == Some(0)));
}

#[test]
fn what_a_report_or_a_trace_cannot_have_is_said_before_anything_is_written() {
    let stage = Stage::new();
    let archive = stage.path("r.tar.gz");
    let fifo = stage.path("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    for (arguments, words) in [
        (&["report", NOBODY, "-o"][..], "there is no process 4194305"),
        (&["report", "--log", fifo.to_str().unwrap(), "-o"], "it is no regular file"),
        (&["trace", NOBODY, "-o"], "'r.tar.gz' must end in .json, .svg or .html"),
    ] {
        let output = finish(stage.ntux(arguments).arg("r.tar.gz").current_dir(stage.path("")));
        assert_eq!(output.status.code(), Some(125), "{arguments:?}");
        assert!(complained(&output).contains(words) && !archive.exists(), "{}", complained(&output));
    }
    let trace = stage.path("t.json");
    for (arguments, status) in
        [(&["trace", "-o", "t.json", NOBODY][..], 125), (&["trace", "-o", "t.json", "--", "/nowhere/program"], 127)]
    {
        let output = finish(stage.ntux(arguments).current_dir(stage.path("")));
        assert_eq!(output.status.code(), Some(status), "{}", complained(&output));
        assert!(!trace.exists(), "{arguments:?}");
    }
    let output = finish(&mut stage.ntux(&["trace"]));
    assert_eq!(output.status.code(), Some(125));
    assert!(complained(&output).contains("ntux trace [OPTIONS] -- PROGRAM"), "{}", complained(&output));
}

#[test]
fn who_may_not_look_is_told_what_to_do() {
    let stage = Stage::new();
    let _arena = Arena::create(CAPACITY).unwrap();
    // Root becomes somebody else, and everybody else looks at root's first process.
    // SAFETY: no arguments, cannot fail.
    let is_root = unsafe { libc::geteuid() } == 0;
    let (command, pid) = (stage.path("ntux"), if is_root { this_process() } else { "1".to_owned() });
    std::fs::copy(env!("CARGO_BIN_EXE_ntux"), &command).unwrap();
    std::fs::set_permissions(stage.path(""), PermissionsExt::from_mode(0o755)).unwrap();
    let as_stranger = |words: &[&str]| {
        let mut stranger = Command::new(&command);
        stranger.args(words).current_dir("/");
        finish(if is_root { stranger.uid(STRANGER).gid(STRANGER) } else { &mut stranger })
    };
    for target in [pid.clone(), format!("{pid}/{pid}"), format!("{pid}:0")] {
        for words in LOOKING {
            let output = as_stranger(&[words, &[&target]].concat());
            let complaint = complained(&output);
            assert_eq!(output.status.code(), Some(125), "{words:?} {target}: {complaint}");
            assert!(complaint.contains(&format!("no permission to inspect process {pid}")), "{complaint}");
            assert!(complaint.contains("as the user of that process, or as root"), "{complaint}");
        }
    }
    let secret = stage.path("secret");
    std::fs::write(&secret, "").unwrap();
    std::fs::set_permissions(&secret, PermissionsExt::from_mode(0o000)).unwrap();
    for words in LOOKING {
        let output = as_stranger(&[words, &[secret.to_str().unwrap()]].concat());
        assert_eq!(output.status.code(), Some(125));
        assert!(complained(&output).contains("as a user who may read it, or as root"), "{}", complained(&output));
    }
    let traced = as_stranger(&["trace", &pid, "--seconds", "1"]);
    assert_eq!(traced.status.code(), Some(125));
    assert!(complained(&traced).contains("run ntux as its user, or as root"), "{}", complained(&traced));
    // Without a target they say how many they leave out.
    for words in [&["ps"][..], &["why"], &["top", "--once", "--every", "0.05"]] {
        let output = as_stranger(words);
        let all = said(&output) + &complained(&output);
        assert_eq!(output.status.code(), Some(0), "{all}");
        assert!(["may not inspect", " hidden"].iter().any(|words| all.contains(words)), "{all}");
    }
}

/// Nobody reads what it says any more, or the disk is full.
#[test]
fn nobody_has_to_listen() {
    let stage = Stage::new();
    let _arena = Arena::create(CAPACITY).unwrap();
    let (pid, archive) = (this_process(), stage.path("r.tar.gz").to_str().unwrap().to_owned());
    let (json, nowhere) = (["inspect", "--json", &pid], "/nowhere/program");
    let speaking: [&[&str]; 10] = [
        &["--version"],
        &["trace", "--help"],
        &["ps"],
        &json,
        &["why", &pid],
        &["top", "--once", "--every", "0.05", &pid],
        &["help"],
        &["help", "environment"],
        &["help", "why"],
        &["report", "-o", &archive],
    ];
    for words in speaking {
        let ends = |out: Stdio| {
            let child = stage.ntux(words).stdin(Stdio::null()).stdout(out).stderr(Stdio::piped()).spawn().unwrap();
            let output = finish_child(child);
            (output.status.code(), complained(&output))
        };
        assert_eq!(ends(closed_pipe()).0, Some(0), "{words:?}");
        let (status, complaint) = ends(File::create("/dev/full").unwrap().into());
        assert_eq!(status, Some(125), "{words:?}: {complaint}");
        assert!(complaint.contains("cannot write the output"), "{words:?}: {complaint}");
    }
    let complaining: [(&[&str], i32); 8] = [
        (&["inspect", NOBODY], 125),
        (&["why", NOBODY], 125),
        (&["top", NOBODY], 125),
        (&["report", NOBODY, "-o", &archive], 125),
        (&["trace", NOBODY], 125),
        (&["trace", "--", nowhere], 127),
        (&["run", nowhere], 127),
        (&["help", "nonsense"], 125),
    ];
    for (words, expected) in complaining {
        for error in [closed_pipe(), File::create("/dev/full").unwrap().into()] {
            let child = stage.ntux(words).stdin(Stdio::null()).stdout(Stdio::null()).stderr(error).spawn().unwrap();
            assert_eq!(finish_child(child).status.code(), Some(expected), "{words:?}");
        }
    }
}

/// A pipe from which nobody can read.
fn closed_pipe() -> Stdio {
    let mut ends = [0; 2];
    // SAFETY: a place for two descriptors.
    assert_eq!(unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) }, 0);
    // SAFETY: the call has just made both, and nobody else knows of them.
    let [reading, writing] = ends.map(|end| unsafe { OwnedFd::from_raw_fd(end) });
    drop(reading);
    writing.into()
}

#[test]
fn a_narrow_picture_leaves_whole_columns_out() {
    let stage = Stage::new();
    let arena = Arena::create(Capacity { objects: 64, waiters: 16 }).unwrap();
    let waiter = arena.waiter();
    arena.semaphore_create(&waiter, 12, 345).unwrap();
    let heads = |columns: &str, threads: bool| {
        let mut command = stage.ntux(&["top", "--once", "--every", "0.05", &path_of(&arena)]);
        if threads {
            command.arg("--threads");
        }
        let output = finish(command.env("COLUMNS", columns).env("LINES", "12"));
        assert_eq!(output.status.code(), Some(0), "{}", complained(&output));
        let text = said(&output);
        assert!(text.lines().all(|line| line.chars().count() <= columns.parse().unwrap()), "{text}");
        assert!(threads || columns.parse::<u32>().unwrap() < 30 || text.contains("12 of 345"), "{text}");
        text.lines().nth(2).unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(heads("80", false), "# KIND STATE CHANGES/S QUEUE AVER. PID:FD, or who waits");
    assert_eq!(heads("60", false), "# KIND STATE CHANGES/S QUEUE AVER.");
    assert_eq!(heads("40", false), "# KIND STATE QUEUE");
    assert_eq!(heads("20", false), "STATE QUEUE");
    assert_eq!(heads("80", true), "PID/TID NAME WAITING FOR WAITS FOR");
    assert_eq!(heads("40", true), "PID/TID WAITING FOR WAITS FOR");
}

#[test]
fn looking_leaves_no_trace_in_the_file() {
    let stage = Stage::new();
    let arena = Arena::create(CAPACITY).unwrap();
    let metadata = || std::fs::metadata(path_of(&arena)).unwrap();
    let before = (metadata().mtime_nsec(), metadata().blocks());
    looks(&stage, &this_process());
    assert_eq!((metadata().mtime_nsec(), metadata().blocks()), before);
}
