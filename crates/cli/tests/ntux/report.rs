// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ntux report`: the archive holds what it says, and nothing personal.

use std::process::Command;

use crate::stage::{Stage, complained, finish, said};

#[test]
fn the_archive_has_what_a_bug_report_needs() {
    let stage = Stage::new();
    let (archive, log) = (stage.path("r.tar.gz"), stage.path("log"));
    std::fs::write(&log, "1.000000 4711/4711 set 7=event#0 -> was 0 in /home/marie/x\n").unwrap();
    let pid = std::process::id().to_string();
    let mut command = stage.ntux(&["report", &pid, "--log", log.to_str().unwrap(), "-o"]);
    let output = finish(command.arg(&archive).env("HOME", "/data/marie").env("WINEPREFIX", "/data/marie/.wine"));
    assert!(output.status.success(), "{}", complained(&output));
    assert_eq!(said(&output).trim_end(), archive.to_str().unwrap());

    let mut unpack = Command::new("tar");
    let unpacked = finish(unpack.arg("-xzvf").arg(&archive).arg("-C").arg(stage.path("")));
    assert!(unpacked.status.success(), "{}", complained(&unpacked));
    let text = |name: &str| std::fs::read_to_string(stage.path("ntux-report").join(name)).expect("it is in there");
    assert!(text("versions.txt").contains("Linux") && text("versions.txt").contains("WINEPREFIX=~/.wine"));
    assert!(text("doctor.txt").contains("/dev/ntsync"), "{}", text("doctor.txt"));
    assert!(text("log-1.txt").contains("/home/USER/x"), "{}", text("log-1.txt"));
    for name in ["ps.txt".to_owned(), format!("inspect-{pid}.json"), format!("why-{pid}.txt")] {
        assert!(!text(&name).is_empty(), "{name}");
    }
    for name in said(&unpacked).lines().filter(|name| !name.ends_with('/')) {
        let text = std::fs::read_to_string(stage.path(name)).expect("text");
        assert!(!text.contains("marie"), "{name}: {text}");
    }
}

#[test]
fn a_log_that_is_not_there_is_said_before_anything_is_written() {
    let stage = Stage::new();
    let archive = stage.path("r.tar.gz");
    let mut command = stage.ntux(&["report", "--log", "/nowhere/log", "-o"]);
    let output = finish(command.arg(&archive));
    assert_eq!(output.status.code(), Some(125));
    assert!(complained(&output).contains("/nowhere/log") && !archive.exists(), "{}", complained(&output));
}
