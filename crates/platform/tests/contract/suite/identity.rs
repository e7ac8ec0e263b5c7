// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbers of processes and threads.

use std::collections::HashSet;
use std::sync::mpsc::channel;
use std::time::Duration;

use super::stage::{Child, Page, appears};
use super::{Outcome, ensure};
use ntux_platform::contract::System;
use ntux_platform::liveness::{Process, THREAD_BITS, is_dead};

const THREADS: usize = 32;

/// A process as this system describes it.
fn process<S: System>(pid: u32, start: u64) -> Process {
    Process { pid, start, namespace: S::namespace(), incarnation: 0 }
}

pub(super) fn thread_numbers<S: System>(limit: Duration) -> Outcome {
    let mut numbers = HashSet::new();
    let mut note = |number: u64, whose: &str| {
        ensure!(number != 0 && number >> THREAD_BITS == 0, "{whose} has the number {number}");
        ensure!(numbers.insert(number), "{whose} has a number that another thread had: {number}");
        Ok(())
    };
    note(S::thread_id(), "this thread")?;
    ensure!(S::thread_id() == S::thread_id(), "the number of a thread changes");
    // All at once, so that none is used again.
    std::thread::scope(|scope| {
        let (tell, told) = channel();
        let threads: Vec<_> = (0..THREADS)
            .map(|_| {
                let (tell, (stay, go)) = (tell.clone(), channel::<()>());
                scope.spawn(move || {
                    let _ = tell.send(S::thread_id());
                    // Until the other end is dropped.
                    let _ = go.recv();
                });
                stay
            })
            .collect();
        let noted = (0..THREADS).try_for_each(|_| note(told.recv_timeout(limit).unwrap_or(0), "a thread"));
        drop(threads);
        noted
    })?;
    // Neither that of the parent, nor each other's.
    let page = Page::<S>::new()?;
    for child in [0, 2] {
        Child::start(|| tell_number::<S>(&page, child))?.end(limit)?;
        note(told_number(&page, child), "the thread of a forked child")?;
    }
    Ok(())
}

/// Writes the calling thread's number into two words.
fn tell_number<S: System>(page: &Page<S>, place: usize) -> i32 {
    let number = S::thread_id();
    page.view.word(place + 1).store((number >> 32) as u32);
    page.view.word(place).store(number as u32);
    0
}

fn told_number<S: System>(page: &Page<S>, place: usize) -> u64 {
    u64::from(page.view.word(place + 1).load()) << 32 | u64::from(page.view.word(place).load())
}

pub(super) fn processes<S: System>(limit: Duration) -> Outcome {
    let pid = std::process::id();
    let me = process::<S>(pid, S::own_start(pid));
    ensure!(me.namespace != 0, "the namespace is not known");
    ensure!(me.start != 0, "it is not known when this process started");
    let seen = S::look(pid);
    ensure!(seen.is_some_and(|seen| seen.start == me.start && !seen.is_corpse), "this process is seen as {seen:?}");
    ensure!(!is_dead::<S>(me, me), "this process is said to be dead");
    let earlier = Process { start: me.start + 1, ..me };
    ensure!(is_dead::<S>(earlier, me), "a number that was used again is not told from the one before");
    // SAFETY: waits to be killed.
    let child = Child::start(|| unsafe { libc::pause() })?;
    let start = S::look(child.pid).map_or(0, |seen| seen.start);
    let it = process::<S>(child.pid, start);
    ensure!(start != 0, "it is not known when a child started");
    ensure!(!is_dead::<S>(it, me), "a living child is said to be dead");
    child.kill();
    child.wait_for_corpse();
    ensure!(is_dead::<S>(it, me), "a corpse is said to live");
    child.end(limit)?;
    ensure!(is_dead::<S>(it, me), "a process that is gone is said to live");
    starts_differ::<S>(me.start, limit)
}

/// The clock may be coarse: another process starts later at some time.
fn starts_differ<S: System>(start: u64, limit: Duration) -> Outcome {
    let begin = std::time::Instant::now();
    loop {
        // SAFETY: waits to be killed.
        let child = Child::start(|| unsafe { libc::pause() })?;
        if S::look(child.pid).is_some_and(|seen| seen.start != start) {
            break;
        }
        ensure!(begin.elapsed() < limit, "processes that start later are said to have started at the same time");
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

pub(super) fn ends_of_threads<S: System>(limit: Duration) -> Outcome {
    let pid = std::process::id();
    ensure!(!S::is_thread_gone(pid, S::thread_id()), "this thread is said to be gone");
    let number = std::thread::scope(|scope| {
        let (tell, told) = channel();
        let (stay, go) = channel::<()>();
        scope.spawn(move || {
            let _ = tell.send(S::thread_id());
            let _ = go.recv();
        });
        let number = told.recv_timeout(limit).map_err(|_| "a thread hangs".to_string())?;
        let is_gone = S::is_thread_gone(pid, number);
        drop(stay);
        if is_gone { Err("a living thread is said to be gone".to_string()) } else { Ok(number) }
    })?;
    // Joined, but the system may take a moment to forget it.
    let start = std::time::Instant::now();
    while !S::is_thread_gone(pid, number) {
        ensure!(start.elapsed() < limit, "a thread that has ended is said to live");
        std::thread::sleep(Duration::from_millis(1));
    }
    let page = Page::<S>::new()?;
    let child = Child::start(|| {
        tell_number::<S>(&page, 0);
        // SAFETY: waits to be killed.
        unsafe { libc::pause() }
    })?;
    appears(page.view.word(0), limit)?;
    let number = told_number(&page, 0);
    ensure!(!S::is_thread_gone(child.pid, number), "a living thread of another process is said to be gone");
    let pid = child.pid;
    child.kill();
    child.end(limit)?;
    ensure!(S::is_thread_gone(pid, number), "a thread of a process that was killed is said to live");
    Ok(())
}
