// SPDX-License-Identifier: MIT OR Apache-2.0
//! A full disk: what a command was to write is said to be missing, the status is that of a failure, and no half file stands in the
//! place of what was there before.

use std::process::Command;

use crate::skips::skip;
use crate::stage::{Stage, complained, finish, said};
use crate::trace::ping_pong;
use crate::trees::{INSTALLED, clean};

/// Mounts a disk with 4 KiB left, runs the words in it, and says how that ended, and what is there.
const ON_A_FULL_DISK: &str = r#"
    mount -t tmpfs -o size=64k none "$0" && cd "$0" || exit 90
    for file in a.json a.svg a.html a.txt a.tar.gz; do echo old > $file || exit 91; done
    head -c 40960 /dev/zero > filler || exit 92
    "$@" > /dev/null
    echo "status $?"
    cat a.*
    ls -A
"#;

/// A program that writes other pages again and again.
const BUSY: &str = "i=0; while [ $i -lt 100 ]; do i=$((i+1)); x=\"$x $i\"; sleep 0.01; done";

#[test]
fn nothing_half_is_left_on_a_full_disk_and_the_status_says_so() {
    let stage = Stage::new();
    let (disk, play) = (stage.path("disk"), ping_pong(&stage));
    std::fs::create_dir(&disk).expect("our own directory");
    let in_namespace = |words: &[&str]| {
        let mut command = clean(Command::new("unshare"));
        // Each turn sleeps, and is written.
        command
            .env("NTUX_SPIN", "0")
            .args(["--user", "--map-root-user", "--mount", "sh", "-c", ON_A_FULL_DISK])
            .arg(&disk)
            .args(words);
        finish(&mut command)
    };
    let tried = in_namespace(&["true"]);
    if said(&tried).lines().next() != Some("status 0") {
        return skip("namespaces", complained(&tried));
    }
    let untouched = said(&tried).split_once('\n').expect("lines").1.to_owned();
    let ntux = INSTALLED.join("bin/ntux");
    let ntux = ntux.to_str().expect("a plain path");
    // A log that does not compress to nothing: a program.
    let log = play.as_str();
    let (quiet, failing) = (format!("{play} 3000; true"), format!("{play} 3000"));
    let commands: [(&[&str], i32, &str); 8] = [
        (&["trace", "-o", "a.json", "--", "sh", "-c", &quiet], 125, "a.json"),
        (&["trace", "-o", "a.svg", "-o", "a.html", "--", "sh", "-c", &quiet], 125, "a.svg"),
        // A program that fails says more than that.
        (&["trace", "-o", "a.json", "--", "sh", "-c", &failing], 7, "a.json"),
        (&["report", "--log", log, "-o", "a.tar.gz"], 125, "a.tar.gz"),
        (&["watch", "--svg", "a.svg", "--interval", "5", "--columns", "400", "--", "sh", "-c", BUSY], 125, "a.svg"),
        (&["watch", "--output", "a.txt", "--interval", "1", "--", "sh", "-c", "sleep 3"], 125, "a.txt"),
        (&["pages", "pages"], 1, ""),
        (&["trace", "-o", "missing/a.json", "--", "true"], 125, "missing/a.json"),
    ];
    for (words, status, file) in commands {
        let output = in_namespace(&[&[ntux], words].concat());
        let (told, complaint) = (said(&output), complained(&output));
        let (first, rest) = told.split_once('\n').expect("lines");
        assert_eq!(first, format!("status {status}"), "{words:?}: {complaint}");
        assert!(complaint.contains(&format!("cannot write '{file}")), "{words:?}: {complaint}");
        if words[0] != "pages" {
            assert_eq!(rest, untouched, "{words:?}");
        }
    }
}
