// SPDX-License-Identifier: MIT OR Apache-2.0
//! Locks of open file descriptions, on files.

use std::fs::File;
use std::os::fd::AsFd;
use std::time::Duration;

use super::stage::{Child, Page, appears};
use super::{Outcome, ensure, failed};
use ntux_platform::atomic::Word32;
use ntux_platform::contract::System;

const BYTE: u64 = 1 << 40;

/// Two open file descriptions of one file.
fn two_descriptions() -> Result<[File; 2], String> {
    static COUNT: Word32 = Word32::new(0);
    let name = format!("ntux-locks-{}-{}", std::process::id(), COUNT.fetch_add(1));
    let path = std::env::temp_dir().join(name);
    let open = |new| File::options().read(true).write(true).create_new(new).open(&path).map_err(failed("a file"));
    let files = [open(true)?, open(false)?];
    std::fs::remove_file(&path).map_err(failed("a file"))?;
    Ok(files)
}

pub(super) fn of_descriptions<S: System>(_limit: Duration) -> Outcome {
    let [one, other] = two_descriptions()?;
    let is_held = |byte| S::is_held(other.as_fd(), byte, 1).map_err(failed("is_held"));
    ensure!(!is_held(BYTE)?, "held before anybody held it");
    S::hold(one.as_fd(), BYTE).map_err(failed("hold"))?;
    ensure!(is_held(BYTE)?, "another description does not see that it is held");
    ensure!(!is_held(BYTE + 1)?, "the next byte is held");
    ensure!(!S::is_held(one.as_fd(), BYTE, 1).map_err(failed("is_held"))?, "its own lock is somebody else's");
    S::hold(other.as_fd(), BYTE).map_err(failed("a second hold"))?;
    let alone = S::hold_alone(other.as_fd(), BYTE).map_err(failed("hold_alone"))?;
    ensure!(!alone, "held alone by two");
    let range = S::is_held(other.as_fd(), BYTE - 3, 8).map_err(failed("is_held"))?;
    ensure!(range, "a range does not show that one of its bytes is held");
    S::let_go(other.as_fd(), BYTE).map_err(failed("let_go"))?;
    ensure!(!S::is_held(one.as_fd(), BYTE, 1).map_err(failed("is_held"))?, "held after it was let go");
    // All copies are one description: the end of one of them frees nothing.
    let copy = one.try_clone().map_err(failed("dup"))?;
    drop(one);
    ensure!(is_held(BYTE)?, "freed though a copy is open");
    drop(copy);
    ensure!(!is_held(BYTE)?, "held though every copy is closed");
    let alone = S::hold_alone(other.as_fd(), BYTE).map_err(failed("hold_alone"))?;
    ensure!(alone, "not to be held alone though nobody else holds it");
    Ok(())
}

pub(super) fn of_the_killed<S: System>(limit: Duration) -> Outcome {
    let [one, other] = two_descriptions()?;
    let page = Page::<S>::new()?;
    let holds = S::hold(one.as_fd(), BYTE);
    holds.map_err(failed("hold"))?;
    let child = Child::start(|| {
        page.view.word(0).store(1);
        // SAFETY: waits to be killed.
        unsafe { libc::pause() }
    })?;
    appears(page.view.word(0), limit)?;
    drop(one);
    let is_held = || S::is_held(other.as_fd(), BYTE, 1).map_err(failed("is_held"));
    ensure!(is_held()?, "freed though a child has a copy");
    child.kill();
    child.end(limit)?;
    ensure!(!is_held()?, "held by a process that was killed");
    Ok(())
}
