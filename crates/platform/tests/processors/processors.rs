//! Tests and measurements that stay on one processor.

use std::io;

/// The calling thread, and what it starts from here on, stays on the processor on which it runs.
///
/// A process that another one steps through must: each step is a switch between the two. From one idle processor to another that can
/// take longer than the instructions between two ticks of the clock: then who is stepped through a look at the clock finds the kernel's
/// page changed each time, and begins anew for ever.
pub fn stay_on_one_processor() -> io::Result<()> {
    // SAFETY: all zeros is the empty set; the processor's bit is within it; the kernel reads a set of the size that it is told.
    let result = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        let here = usize::try_from(libc::sched_getcpu()).map_err(|_| io::Error::last_os_error())?;
        if here >= libc::CPU_SETSIZE as usize {
            return Err(io::Error::other(format!("a set of processors has no room for number {here}")));
        }
        libc::CPU_SET(here, &mut set);
        libc::sched_setaffinity(0, size_of_val(&set), &set)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
