// SPDX-License-Identifier: MIT OR Apache-2.0
//! The same programs many times, more at once than there are processors: what one run in a hundred does wrong. A run that does not end is
//! killed, and a failure.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use ntux_platform::atomic::Word32;

use crate::calls::ALL;
use crate::install::{As, build, prefix, run_for, scratch};

/// Runs at the same time.
const AT_ONCE: usize = 12;
/// A run takes a second or two, and more beside eleven others; no run may take that long.
const SECONDS: u32 = 120;

/// Runs each program so often. Returns what went wrong.
fn wrong(programs: &[PathBuf], times: usize, seconds: u32) -> Vec<String> {
    prefix();
    let (next, wrong) = (Word32::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                // One after the other, so that different programs disturb each other.
                loop {
                    let turn = next.fetch_add(1) as usize;
                    if turn >= programs.len() * times {
                        break;
                    }
                    let program = &programs[turn % programs.len()];
                    let (result, text) = run_for(program, seconds);
                    if !result.status.success() || !text.ends_with(" checks, 0 failures\n") {
                        wrong.lock().unwrap().push(format!("{}, {}: {text}", program.display(), result.status));
                    }
                }
            });
        }
    });
    wrong.into_inner().unwrap()
}

/// Built for these tests alone: the word makes another directory, and no other difference.
fn programs() -> Vec<PathBuf> {
    ALL.iter().map(|file| build(file, As::C, &["-DSTRESS"])).collect()
}

#[test]
fn every_program_passes_side_by_side_with_the_others() {
    assert_eq!(wrong(&programs(), 6, SECONDS), Vec::<String>::new());
}

#[test]
#[ignore = "make test-win32 runs it: minutes"]
fn every_program_passes_hundreds_of_times() {
    assert_eq!(wrong(&programs(), 600, SECONDS), Vec::<String>::new());
}

#[test]
fn a_run_that_fails_and_one_that_hangs_are_noticed() {
    let directory = scratch("stress");
    let script = |name: &str, text: &str| script(&directory.join(name), text);
    let programs =
        [script("fails", "exit 3"), script("hangs", "sleep 1000"), script("good", "echo '7 checks, 0 failures'")];
    let found = wrong(&programs, 2, 1);
    let count = |name: &str| found.iter().filter(|line| line.contains(name)).count();
    assert_eq!((found.len(), count("fails"), count("hangs")), (4, 2, 2), "{found:?}");
}

fn script(path: &Path, text: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    std::fs::write(path, format!("#!/bin/sh\n{text}\n")).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path.to_owned()
}
