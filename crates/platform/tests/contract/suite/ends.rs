// SPDX-License-Identifier: MIT OR Apache-2.0
//! Processes behind descriptors, and their ends.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

use super::stage::{Child, in_thread, is_close_on_exec};
use super::{Outcome, ensure, failed};
use ntux_platform::clock::Deadline;
use ntux_platform::contract::System;
use ntux_platform::processes::End;

/// Returns true if there are descriptors of processes. Their lack is no fault.
pub fn has_descriptors<S: System>() -> Result<bool, String> {
    match S::open(std::process::id()) {
        Ok(_) => Ok(true),
        Err(error) if error.raw_os_error() == Some(libc::ENOSYS) => Ok(false),
        Err(error) => Err(failed("open")(error)),
    }
}

/// Waits for the end of a child that `body` ends, and compares how it ended.
fn ends<S: System>(body: fn() -> i32, kill: bool, expected: End, limit: Duration) -> Outcome {
    let child = Child::start(body)?;
    let process = Arc::new(S::open(child.pid).map_err(failed("open"))?);
    let bell = S::bell().map_err(failed("bell"))?;
    ensure!(is_close_on_exec(&process) && is_close_on_exec(&bell), "descriptors are inherited by programs");
    if kill {
        ensure!(!S::has_ended(process.as_fd()).map_err(failed("has_ended"))?, "a living process is said to have ended");
        let end = S::end(process.as_fd()).map_err(failed("end"))?;
        ensure!(end.is_none(), "a living process is said to have ended with {end:?}");
        child.kill();
    }
    let waited = process.clone();
    let wait = in_thread(move || {
        while !S::has_ended(waited.as_fd())? {
            S::wait_for_end(bell.as_fd(), &[waited.as_fd()], Deadline::Never)?;
        }
        Ok(())
    });
    wait.result(limit)?.map_err(failed("wait"))?;
    for _ in 0..2 {
        let end = S::end(process.as_fd()).map_err(failed("end"))?;
        ensure!(end == Some(expected), "a process that ended with {expected:?} is said to have ended with {end:?}");
    }
    let pid = child.pid;
    child.end(limit)?;
    ensure!(S::has_ended(process.as_fd()).is_ok_and(|ended| ended), "a process that is gone is said to live");
    match S::end(process.as_fd()) {
        Ok(end) => ensure!(end == Some(expected), "a process that is gone is said to have ended with {end:?}"),
        Err(error) => ensure!(error.raw_os_error() == Some(libc::EACCES), "the end of a process that is gone: {error}"),
    }
    let again = S::open(pid).map(drop).map_err(|error| error.raw_os_error());
    ensure!(again == Err(Some(libc::ESRCH)), "the number of a process that is gone: {again:?}");
    Ok(())
}

pub(super) fn of_children<S: System>(limit: Duration) -> Outcome {
    if !has_descriptors::<S>()? {
        return Ok(());
    }
    ends::<S>(|| 7, false, End::Exited(7), limit)?;
    // SAFETY: waits to be killed.
    ends::<S>(|| unsafe { libc::pause() }, true, End::Killed(libc::SIGKILL as u32), limit)
}

pub(super) fn bells<S: System>(limit: Duration) -> Outcome {
    if !has_descriptors::<S>()? {
        return Ok(());
    }
    let process = S::open(std::process::id()).map_err(failed("open"))?;
    let bell = S::bell().map_err(failed("bell"))?;
    S::ring(bell.as_fd());
    S::ring(bell.as_fd());
    let wait = in_thread(move || {
        S::wait_for_end(bell.as_fd(), &[process.as_fd()], Deadline::Never)?;
        // It was heard.
        let begun = std::time::Instant::now();
        S::wait_for_end(bell.as_fd(), &[process.as_fd()], Deadline::after_ns(5_000_000))?;
        Ok(begun.elapsed())
    });
    let second = wait.result(limit)?.map_err(failed("wait"))?;
    ensure!(second >= Duration::from_millis(5), "a bell that was heard ends another wait");
    Ok(())
}
