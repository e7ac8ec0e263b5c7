// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests and measurements that stay on one processor.

use std::io;

/// The calling thread, and what it starts from here on, stays on the processor on which it runs.
///
/// A process that another one steps through must: each step is a switch between the two. From one idle processor to another that can
/// take longer than the instructions between two ticks of the clock: then who is stepped through a look at the clock finds the kernel's
/// page changed each time, and begins anew for ever.
pub fn stay_on_one_processor() -> io::Result<()> {
    // SAFETY: a call without arguments.
    stay_on(usize::try_from(unsafe { libc::sched_getcpu() }).map_err(|_| io::Error::last_os_error())?)
}

/// The same, on the processor with this number in the list of those that the calling thread may use; the list is a ring.
#[allow(dead_code, reason = "not all who share this file need it")]
pub fn stay_on_the(nth: usize) -> io::Result<()> {
    let allowed = allowed()?;
    allowed.get(nth % allowed.len().max(1)).map_or(Err(io::ErrorKind::NotFound.into()), |&processor| stay_on(processor))
}

/// How many processors the calling thread may use.
#[allow(dead_code, reason = "not all who share this file need it")]
pub fn processors() -> io::Result<usize> {
    allowed().map(|allowed| allowed.len())
}

/// The processors that the calling thread may use.
#[allow(dead_code, reason = "as above")]
pub fn allowed() -> io::Result<Vec<usize>> {
    // SAFETY: all zeros is the empty set; the kernel writes a set of the size that it is told.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        if libc::sched_getaffinity(0, size_of_val(&set), &mut set) != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok((0..libc::CPU_SETSIZE as usize).filter(|&processor| libc::CPU_ISSET(processor, &set)).collect())
    }
}

fn stay_on(processor: usize) -> io::Result<()> {
    const CALLER: libc::pid_t = 0;
    confine(CALLER, processor)
}

/// A thread stays on the processor with that number.
#[allow(dead_code, reason = "as above")]
pub fn confine(thread: libc::pid_t, processor: usize) -> io::Result<()> {
    if processor >= libc::CPU_SETSIZE as usize {
        return Err(io::Error::other(format!("a set of processors has no room for number {processor}")));
    }
    // SAFETY: all zeros is the empty set; the processor's bit is within it; the kernel reads a set of the size that it is told.
    let result = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(processor, &mut set);
        libc::sched_setaffinity(thread, size_of_val(&set), &set)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
