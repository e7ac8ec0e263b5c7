// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names that others chose, in what the commands print: nothing steers a terminal, turns text around, or begins a line.

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::stage::{Stage, compile, finish, said};
use crate::trees::{INSTALLED, clean, run};

/// A process and a thread with names of all kinds, of which the thread waits until standard input ends.
const NAMED: &str = r#"
    #define _GNU_SOURCE
    #include <fcntl.h>
    #include <pthread.h>
    #include <stdint.h>
    #include <sys/ioctl.h>
    #include <sys/prctl.h>
    #include <unistd.h>
    struct wait { uint64_t timeout, objs; uint32_t count, index, flags, owner, alert, pad; };
    struct event { uint32_t manual, signaled; };
    static int device, event;
    static void *sleeper(void *argument) {
        struct wait wait = {.timeout = UINT64_MAX, .objs = (uintptr_t)&event, .count = 1, .owner = 1};
        prctl(PR_SET_NAME, "b\xe2\x80\xaegpj.exe\xff");
        return (void *)(long)ioctl(device, _IOWR('N', 0x82, struct wait), &wait);
    }
    int main(void) {
        struct event made = {0, 0};
        uint32_t before;
        pthread_t thread;
        char byte;
        prctl(PR_SET_NAME, "a\n\x1b[31m\xc2\x9b\xe2\x81\xa6z");
        if ((device = open("/dev/ntsync", O_RDWR)) < 0) return 1;
        if ((event = ioctl(device, _IOW('N', 0x87, struct event), &made)) < 0) return 1;
        pthread_create(&thread, 0, sleeper, 0);
        usleep(50000);
        write(1, "\n", 1);
        read(0, &byte, 1);
        if (ioctl(event, _IOR('N', 0x88, uint32_t), &before)) return 1;
        return pthread_join(thread, 0);
    }"#;

/// What the names are in text. Of each, the kernel keeps 15 bytes.
const SHOWN: [&str; 2] = ["a??[31m??z", "b?gpj.exe\u{fffd}"];

fn ntux(arguments: &[&str]) -> Output {
    finish(clean(Command::new(INSTALLED.join("bin/ntux"))).args(arguments))
}

/// Neither output has what steers; the others are not looked at, which may belong to anybody.
fn assert_harmless(text: &str, what: &str) {
    let turning = ('\u{202a}'..='\u{202e}').chain('\u{2066}'..='\u{2069}').chain('\u{200b}'..='\u{200f}');
    let harmful = |letter: char| letter.is_control() && letter != '\n' || turning.clone().any(|other| other == letter);
    let found = text.find(harmful);
    assert_eq!(found, None, "{what}: {text:?}");
    assert!(!text.lines().any(|line| line.starts_with("?[31m")), "{what}: a name began a line: {text:?}");
}

fn text(output: &Output, what: &str) -> String {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap_or_else(|error| panic!("{what}: {error}"));
    text(&output.stdout) + &text(&output.stderr)
}

#[test]
fn no_name_steers_a_terminal_whatever_prints_it() {
    let stage = Stage::new();
    let program = compile(&stage.path("."), "named", NAMED, &["-w", "-lpthread"]);
    let mut child = run(&[&program]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("it says that it waits");
    let pid = child.id().to_string();

    for command in ["ps", "inspect", "why"] {
        let arguments: &[&str] = if command == "ps" { &["ps"] } else { &[command, &pid] };
        let shown = text(&ntux(arguments), command);
        assert_harmless(&shown, command);
        let names = if command == "inspect" {
            &SHOWN[..]
        } else if command == "ps" {
            &SHOWN[..1]
        } else {
            &SHOWN[1..]
        };
        assert!(names.iter().all(|name| shown.contains(name)), "{command}: {shown}");
        // The JSON has the names as they are, and steers nothing either.
        let output = ntux(&[arguments, &["--json"]].concat());
        assert_harmless(&text(&output, command), command);
        // (Beside it `ps` may complain of arenas of others.)
        let json = said(&output);
        assert!(serde_json::from_str::<serde_json::Value>(&json).is_ok(), "{command}: {json}");
        if command != "ps" {
            assert!(json.contains("b\\u202egpj.exe"), "{command}: {json}");
        }
    }
    for arguments in [&["top", "--once", &pid][..], &["why"], &["top", "--once"]] {
        assert_harmless(&text(&ntux(arguments), arguments[0]), &arguments.join(" "));
    }
    drop(child.stdin.take());
    assert!(child.wait().expect("our own child").success());
}

#[test]
fn no_name_steers_a_trace_or_its_reader() {
    let stage = Stage::new();
    let program = compile(&stage.path("."), "named", NAMED, &["-w", "-lpthread"]);
    let files = ["trace.json", "trace.svg", "trace.html"].map(|name| stage.path(name));
    let mut command = clean(Command::new(INSTALLED.join("bin/ntux")));
    command.arg("trace").args(files.iter().flat_map(|file| [Path::new("-o"), file])).arg("--").arg(&program);
    let output = finish(command.arg("\u{202e}\u{1b}[2J"));
    let shown = text(&output, "trace");
    assert_harmless(&shown, "trace");
    assert!(SHOWN.iter().all(|name| shown.contains(name)), "{shown}");
    for file in files {
        assert_harmless(&std::fs::read_to_string(&file).expect("it was written"), &file.display().to_string());
    }
}

#[test]
fn no_path_steers_what_complains_about_it() {
    let stage = Stage::new();
    let strange = stage.path("x").with_file_name(OsString::from_vec(b"\xe2\x80\xae\x1b[31m\x9b\xff".to_vec()));
    std::fs::write(&strange, "no program").expect("our own file");
    for arguments in
        [&["run", "--"][..], &["doctor", "--"], &["trace", "--"], &["inspect"], &["why"], &["help"], &["watch", "--"]]
    {
        let output = finish(clean(Command::new(INSTALLED.join("bin/ntux"))).args(arguments).arg(&strange));
        assert!(!output.status.success(), "{arguments:?}");
        assert_harmless(&text(&output, arguments[0]), arguments[0]);
    }
    for option in ["--\u{202e}", "\u{202e}"] {
        let output = ntux(&[option]);
        assert!(!output.status.success());
        assert_harmless(&text(&output, option), option);
    }
    // A report of a log with anything in it.
    let (log, archive) = (stage.path("log"), stage.path("report.tar.gz"));
    std::fs::write(&log, b"one\xe2\x80\xae\ntwo\x1b[31m\xff\n").expect("our own file");
    let mut command = clean(Command::new(INSTALLED.join("bin/ntux")));
    let output = finish(command.arg("report").arg("--log").arg(&log).arg("-o").arg(&archive));
    assert!(output.status.success());
    let unpacked = finish(Command::new("tar").arg("xzOf").arg(&archive));
    assert_harmless(&text(&unpacked, "report"), "report");
}
