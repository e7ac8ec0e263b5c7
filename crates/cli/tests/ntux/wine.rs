// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ntux doctor --wine`, with programs that hold what processes of Wine hold. The device itself: `trees`.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::skips::skip;
use crate::stage::{Stage, compile, complained, finish, said};

/// A program that holds what it is told to, until it is dropped.
struct Holder(Child);

impl Holder {
    fn start(program: &Path, prefix: &Path, words: &[&str]) -> Holder {
        let mut command = Command::new(program);
        command.args(words).current_dir(prefix).env("WINEPREFIX", prefix).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).expect("it says that it is ready");
        assert_eq!(line, "held\n", "{words:?}");
        Holder(child)
    }

    fn pid(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// The program, as a wineserver whose file holds these words, and as a client.
fn programs(stage: &Stage, contents: &str) -> (PathBuf, PathBuf) {
    let source = include_str!("../c/wine.c");
    let client = compile(&stage.path("."), "game.exe", source, &[]);
    let words = format!("{source}\n__attribute__((used)) static const char named[] = \"{contents}\";\n");
    (compile(&stage.path("."), "wineserver64", &words, &[]), client)
}

/// What is said of the processes of a prefix: number, role, synchronization, why.
fn looked(stage: &Stage, prefix: &Path) -> Vec<(u64, String, String, String)> {
    let output = finish(&mut stage.ntux(&["doctor", "--wine", "--json"]));
    let report: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", complained(&output)));
    let text = |process: &Value, key: &str| process[key].as_str().unwrap_or_default().to_owned();
    let processes = report["processes"].as_array().expect("a list").iter();
    processes
        .filter(|process| process["prefix"].as_str() == prefix.to_str())
        .map(|process| {
            let number = process["pid"].as_u64().expect("a number");
            (number, text(process, "role"), text(process, "synchronization"), text(process, "why"))
        })
        .collect()
}

#[test]
fn each_way_to_synchronize_is_told_by_what_a_process_holds() {
    let stage = Stage::new();
    let (server, client) = programs(&stage, "\\0Wine 11.10\\0/dev/ntsync");
    let prefix = stage.path("prefix");
    std::fs::create_dir(&prefix).expect("our own directory");
    let shared = |kind: &str| format!("/dev/shm/wine-{:x}-{kind}", std::process::id());
    let (fsync, esync) = (shared("fsync"), shared("esync"));
    let cases: [(&[&str], &str); 6] = [
        (&[], "server"),
        (&["memory", "libntux_preload.so"], "device"),
        (&["memory", "libntux.so.0"], "back-end"),
        (&["memory"], "unserved"),
        (&[&fsync], "fsync"),
        (&[&esync], "esync"),
    ];
    for (words, expected) in cases {
        let server = Holder::start(&server, &prefix, words);
        let client = Holder::start(&client, &prefix, &[words, &["ntdll.so"]].concat());
        let found = looked(&stage, &prefix);
        let places: Vec<(u64, &str, &str)> =
            found.iter().map(|(pid, role, how, _)| (*pid, &role[..], &how[..])).collect();
        let both = [(server.pid().into(), "server", expected), (client.pid().into(), "client", expected)];
        for one in both {
            assert!(places.contains(&one), "{one:?} of {words:?} in {found:?}");
        }
        assert_eq!(places.len(), 2, "{found:?}");
        let text = finish(&mut stage.ntux(&["doctor", "--wine"]));
        assert!(said(&text).contains("game.exe") && said(&text).contains(prefix.to_str().expect("plain letters")));
        if ["device", "back-end"].contains(&expected) {
            assert!(said(&text).contains("MangoHud"), "{words:?}: {}", said(&text));
        } else {
            assert_eq!(text.status.code(), Some(1), "{words:?}: {}", said(&text));
        }
    }
    for file in [fsync, esync] {
        std::fs::remove_file(file).expect("our own file");
    }
}

#[test]
fn a_wineserver_that_was_built_without_the_header_is_named() {
    let stage = Stage::new();
    let prefix = stage.path("prefix");
    std::fs::create_dir(&prefix).expect("our own directory");
    for (contents, words) in [("\\0Wine 11.10", "linux/ntsync.h"), ("\\0Wine 9.0 (Staging)", "10.16 is the first")] {
        let (server, _) = programs(&stage, contents);
        let server = Holder::start(&server, &prefix, &[]);
        let found = looked(&stage, &prefix);
        let [(pid, _, how, why)] = &found[..] else { panic!("{found:?}") };
        assert_eq!((*pid, &how[..]), (server.pid().into(), "server"));
        assert!(why.contains(words), "{why}");
    }
}

/// In a sandbox: there no other Wine runs, and `/dev/ntsync` can be a file.
#[test]
fn the_exit_status_says_that_all_of_wine_is_served() {
    let stage = Stage::new();
    let (server, _) = programs(&stage, "\\0Wine 11.10\\0/dev/ntsync");
    let (device, ntux) = (stage.path("device"), env!("CARGO_BIN_EXE_ntux"));
    std::fs::write(&device, "").expect("our own file");
    let sandbox = |script: &str| {
        let mut command = Command::new("bwrap");
        command.args([
            "--ro-bind",
            "/",
            "/",
            "--unshare-pid",
            "--die-with-parent",
            "--proc",
            "/proc",
            "--dev",
            "/dev",
            "--bind",
        ]);
        command.arg(&device).args(["/dev/ntsync", "sh", "-c", script, ntux]).arg(&server);
        command
    };
    match sandbox("exit 0").output() {
        Ok(output) if output.status.success() => {}
        Ok(output) => return skip("sandbox", format_args!("bwrap cannot make one here: {}", complained(&output))),
        Err(error) => return skip("sandbox", format_args!("no bwrap here ({error}); .ci/packages names Debian's")),
    }
    let look = |words: &str| {
        let held =
            format!("sleep 60 | \"$1\" {words} > /dev/shm/said & until [ -s /dev/shm/said ]; do sleep 0.01; done;");
        finish(&mut sandbox(&format!("{held} \"$0\" doctor --wine")))
    };
    let served = look("open /dev/ntsync");
    assert!(said(&served).contains("the kernel's driver"), "{}{}", said(&served), complained(&served));
    assert_eq!(served.status.code(), Some(0));
    assert!(!said(&served).contains("MangoHud"), "nothing here is ntux's: {}", said(&served));
    let alone = look("");
    assert!(said(&alone).contains("start it again") && said(&alone).contains("wineserver -k"), "{}", said(&alone));
    assert_eq!(alone.status.code(), Some(1));
    let none = finish(&mut sandbox("\"$0\" doctor --wine"));
    assert_eq!((said(&none).as_str(), none.status.code()), ("No Wine runs here that you may inspect.\n", Some(1)));
}
