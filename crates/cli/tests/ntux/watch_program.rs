// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ntux watch -- PROGRAM`: the program's memory is drawn, and the program notices nothing.

use std::io::Read;
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use ntux_watch::Mechanism;

use crate::products::built;
use crate::skips::skip;
use crate::stage::{Stage, compile, complained, finish, finish_child, said};

/// The real library: here something must introduce itself.
static LIBRARY: LazyLock<PathBuf> = LazyLock::new(|| built(&["ntux-preload-watch"]).join("libntux_preload_watch.so"));

/// Writes its first argument's number of pages of the heap, and with a second one as many in a child; says so, and ends with 7.
const WRITER: &str = "
    #include <stdio.h>
    #include <stdlib.h>
    #include <string.h>
    #include <sys/wait.h>
    #include <unistd.h>
    int main(int count, char **arguments) {
        size_t pages = atoi(arguments[1]);
        char *heap = sbrk(pages * 4096);
        if (count < 3 || fork() == 0) memset(heap, 1, pages * 4096);
        else wait(NULL);
        if (count < 3) puts(\"written\");
        return 7;
    }";

/// A stage where programs can be watched; none, with the reason, where this machine cannot.
fn stage() -> Option<Stage> {
    if let Err(error) = Mechanism::Async.probe() {
        skip("mechanism-async", error);
        return None;
    }
    Some(Stage::new())
}

fn watch(stage: &Stage, arguments: &[&str]) -> Command {
    let mut command = stage.ntux(&["watch"]);
    command.args(arguments).env("NTUX_PRELOAD_WATCH", &*LIBRARY).env_remove("NTUX_WATCH");
    command
}

fn writer(stage: &Stage) -> String {
    compile(&stage.path(""), "writer", WRITER, &[]).to_str().expect("a plain path").to_owned()
}

/// The number of pages in the last words of a line of the map.
fn pages(line: &str) -> Option<usize> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let place = words.iter().position(|word| *word == "pages")?;
    words[place - 1].parse().ok().filter(|_| words[1] == "s")
}

fn all_pages(map: &str) -> usize {
    map.lines().filter_map(pages).sum()
}

#[test]
fn the_heap_is_drawn_and_the_program_is_as_ever() {
    let Some(stage) = stage() else { return };
    let (writer, picture) = (writer(&stage), stage.path("a.svg"));
    let picture_path = picture.to_str().expect("a plain path");
    let output = finish(&mut watch(&stage, &["--interval", "60000", "--svg", picture_path, "--", &writer, "300"]));
    let map = complained(&output);
    assert_eq!((output.status.code(), said(&output).as_str()), (Some(7), "written\n"), "{map}");
    // It has ended long before the first line was due: the last look sees all of it.
    assert!((300..400).contains(&all_pages(&map)), "{map}");
    assert!(map.contains("(writer), a line for 60000 ms") && map.contains("heap 1.") && map.contains('█'), "{map}");
    assert!(!map.contains('\u{1b}'), "no colours in a file");
    let svg = std::fs::read_to_string(picture).expect("the picture");
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n") && svg.contains(">heap "), "{svg}");
}

#[test]
fn lines_come_while_it_runs_until_there_are_enough() {
    let Some(stage) = stage() else { return };
    let drawn = stage.path("map");
    let path = drawn.to_str().expect("a plain path");
    let script = "i=0; while [ $i -lt 60 ]; do i=$((i+1)); x=\"$x $i\"; sleep 0.01; done";
    let options = ["--interval", "20", "--lines", "5", "--columns", "40", "--output", path, "--", "sh", "-c", script];
    let output = finish(&mut watch(&stage, &options));
    assert_eq!((output.status.code(), complained(&output).as_str()), (Some(0), ""));
    let map = std::fs::read_to_string(drawn).expect("the map");
    assert_eq!(map.lines().filter(|line| pages(line).is_some()).count(), 5, "{map}");
    let cells = |line: &str| line.chars().filter(|letter| "·░▒▓█".contains(*letter)).count();
    assert!(map.lines().filter(|line| pages(line).is_some()).all(|line| cells(line) == 40), "{map}");
}

#[test]
fn what_it_executes_is_drawn_and_what_it_starts_is_not() {
    let Some(stage) = stage() else { return };
    let writer = writer(&stage);
    let output = finish(&mut watch(&stage, &["--", &writer, "300", "in a child"]));
    assert_eq!(output.status.code(), Some(7));
    assert!(all_pages(&complained(&output)) < 200, "{}", complained(&output));
    let output = finish(&mut watch(&stage, &["--", "sh", "-c", &format!("sleep 0.01; exec {writer} 300")]));
    let map = complained(&output);
    assert_eq!(output.status.code(), Some(7));
    assert!(map.contains("(sh)") && map.contains("(writer)") && all_pages(&map) >= 300, "{map}");
}

#[test]
fn the_signal_that_ends_the_program_ends_ntux() {
    let Some(stage) = stage() else { return };
    let output = finish(&mut watch(&stage, &["--", "sh", "-c", "kill -KILL $$"]));
    assert_eq!(output.status.signal(), Some(libc::SIGKILL), "{}", complained(&output));
    assert!(complained(&output).contains("pages in"), "the map is finished: {}", complained(&output));
}

/// The first bytes of what a child says.
fn wait_for(child: &mut std::process::Child, word: &str) {
    let mut said = vec![0; word.len()];
    child.stdout.as_mut().expect("piped").read_exact(&mut said).expect("the program runs");
    assert_eq!(said, word.as_bytes());
}

#[test]
fn a_signal_for_ntux_is_passed_on() {
    let Some(stage) = stage() else { return };
    let script = "trap 'echo caught; exit 5' TERM; echo ready; while :; do sleep 0.01; done";
    let mut command = watch(&stage, &["--interval", "60000", "--", "sh", "-c", script]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    wait_for(&mut child, "ready\n");
    // SAFETY: our own child, which was not waited for yet.
    assert_eq!(unsafe { libc::kill(child.id() as i32, libc::SIGTERM) }, 0);
    let output = finish_child(child);
    assert_eq!((output.status.code(), said(&output).as_str()), (Some(5), "caught\n"), "{}", complained(&output));
}

#[test]
fn control_c_ends_the_program_once_and_the_map_tidily() {
    let Some(stage) = stage() else { return };
    let (mut keyboard, mut terminal) = (-1, -1);
    let none = core::ptr::null_mut();
    // SAFETY: places for two descriptors, and nothing else.
    let result = unsafe { libc::openpty(&mut keyboard, &mut terminal, none, none.cast(), none.cast()) };
    assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
    // SAFETY: made just now.
    let (keyboard, terminal) = unsafe { (OwnedFd::from_raw_fd(keyboard), OwnedFd::from_raw_fd(terminal)) };
    let script =
        "n=0; trap 'n=$((n+1))' INT; echo ready; while [ $n = 0 ]; do sleep 0.05; done; sleep 0.3; echo $n; exit 6";
    let mut command = watch(&stage, &["--interval", "60000", "--", "sh", "-c", script]);
    command.stdin(terminal).stdout(Stdio::piped()).stderr(Stdio::piped());
    // SAFETY: three calls that a signal handler may make.
    unsafe {
        command.pre_exec(|| {
            // A shell that runs this in the background ignores it, and its children keep that.
            libc::signal(libc::SIGINT, libc::SIG_DFL);
            let is_ours = libc::setsid() >= 0 && libc::ioctl(0, libc::TIOCSCTTY, 0) == 0;
            if is_ours { Ok(()) } else { Err(std::io::Error::last_os_error()) }
        })
    };
    let mut child = command.spawn().expect("it starts");
    wait_for(&mut child, "ready\n");
    std::io::Write::write_all(&mut std::fs::File::from(keyboard), b"\x03").expect("a key");
    let output = finish_child(child);
    assert_eq!((output.status.code(), said(&output).as_str()), (Some(6), "1\n"), "{}", complained(&output));
    assert!(complained(&output).contains("pages in"), "{}", complained(&output));
}

#[test]
fn what_cannot_be_watched_is_said() {
    let Some(stage) = stage() else { return };
    let output = finish(watch(&stage, &["--", "true"]).env("NTUX_WITHOUT", "userfaultfd"));
    assert_eq!(output.status.code(), Some(125));
    assert!(complained(&output).contains("ntux doctor says"), "{}", complained(&output));
    let output = finish(&mut watch(&stage, &["--", "no-such-program"]));
    assert_eq!(output.status.code(), Some(127), "{}", complained(&output));
    // A library that does not introduce itself: the program runs, and nothing is drawn.
    let output = finish(watch(&stage, &["--", "sh", "-c", "exit 3"]).env("NTUX_PRELOAD_WATCH", &stage.library));
    assert_eq!(output.status.code(), Some(3));
    assert!(complained(&output).contains("nothing to draw"), "{}", complained(&output));
}
