// SPDX-License-Identifier: MIT OR Apache-2.0
//! Counts the system calls of a program with ptrace, which stops at every one, so none is estimated.
//!
//! The program runs in a forked child and brackets the counted part with two calls of [`Region::mark`]. Calls of its
//! other threads are not counted, unless they are in their own region.

use std::collections::{BTreeMap, HashMap};
use std::io;

use ntux_testkit::child::Child;

/// First argument of the marking call; no other caller passes it.
const MARK: u64 = 0x6e74_7578;
const BEGIN: u64 = 1;
const END: u64 = 2;

/// A named stretch of a traced program.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Region(pub(crate) u32);

impl Region {
    /// Counts the calls that the calling thread makes in `program`.
    pub(crate) fn mark<T>(self, program: impl FnOnce() -> T) -> T {
        self.signal(BEGIN);
        let result = program();
        self.signal(END);
        result
    }

    /// The same if `counted`; otherwise just runs `program`.
    pub(crate) fn mark_if<T>(self, counted: bool, program: impl FnOnce() -> T) -> T {
        if counted { self.mark(program) } else { program() }
    }

    fn signal(self, edge: u64) {
        // SAFETY: getppid takes no argument; the tracer reads the registers.
        unsafe { libc::syscall(libc::SYS_getppid, MARK, u64::from(self.0), edge) };
    }
}

/// Calls by number.
pub(crate) type Calls = BTreeMap<u64, u64>;

/// Runs `program` in a traced child; the calls of each region.
pub(crate) fn count(program: impl FnOnce() -> io::Result<()>) -> io::Result<HashMap<Region, Calls>> {
    let child = Child::fork(|| {
        // SAFETY: asks to be traced by the parent, then stops until it is ready.
        unsafe {
            libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0);
            libc::raise(libc::SIGSTOP);
        }
        program().expect("the counted program");
    })?;
    Tracer { leader: child.id() as libc::pid_t, regions: HashMap::new(), current: HashMap::new() }
        .run(|status| child.collected(status))
}

struct Tracer {
    leader: libc::pid_t,
    regions: HashMap<Region, Calls>,
    /// The region that each thread is in.
    current: HashMap<libc::pid_t, Region>,
}

impl Tracer {
    /// Returns what was counted. Calls `collected` with the leader's status once that has ended.
    fn run(mut self, collected: impl FnOnce(i32)) -> io::Result<HashMap<Region, Calls>> {
        self.start()?;
        loop {
            let mut status = 0;
            // Whom this thread traces, and nobody else's children.
            let whom = libc::__WALL | libc::__WNOTHREAD;
            // SAFETY: the kernel writes `status`.
            let thread = unsafe { libc::waitpid(-1, &mut status, whom) };
            if thread < 0 {
                return Err(io::Error::last_os_error());
            }
            if libc::WIFSTOPPED(status) {
                self.stopped(thread, libc::WSTOPSIG(status))?;
            } else if thread == self.leader {
                collected(status);
                return match status {
                    0 => Ok(self.regions),
                    _ => Err(io::Error::other(format!("the counted program failed: wait status {status:#x}"))),
                };
            }
        }
    }

    fn start(&self) -> io::Result<()> {
        let mut status = 0;
        // SAFETY: the kernel writes `status`.
        unsafe { libc::waitpid(self.leader, &mut status, 0) };
        let options = libc::PTRACE_O_TRACESYSGOOD | libc::PTRACE_O_TRACECLONE | libc::PTRACE_O_EXITKILL;
        // SAFETY: sets options of our own stopped child.
        if unsafe { libc::ptrace(libc::PTRACE_SETOPTIONS, self.leader, 0, options as libc::c_long) } != 0 {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "ptrace is refused here"));
        }
        self.resume(self.leader, 0)
    }

    fn stopped(&mut self, thread: libc::pid_t, signal: i32) -> io::Result<()> {
        match signal {
            signal if signal == libc::SIGTRAP | 0x80 => {
                self.system_call(thread)?;
                self.resume(thread, 0)
            }
            // A new thread starts stopped; SIGTRAP announces it to us. Neither is the program's own.
            libc::SIGSTOP | libc::SIGTRAP => self.resume(thread, 0),
            signal => self.resume(thread, signal),
        }
    }

    fn system_call(&mut self, thread: libc::pid_t) -> io::Result<()> {
        // SAFETY: all zeros is a valid value.
        let mut info: libc::ptrace_syscall_info = unsafe { core::mem::zeroed() };
        let size = size_of_val(&info);
        // SAFETY: the kernel writes at most `size` bytes into `info`; the thread is stopped.
        if unsafe { libc::ptrace(libc::PTRACE_GET_SYSCALL_INFO, thread, size, &mut info) } < 0 {
            return Err(io::Error::last_os_error());
        }
        if info.op != libc::PTRACE_SYSCALL_INFO_ENTRY {
            return Ok(());
        }
        // SAFETY: `op` says that this is the member that is set.
        let entry = unsafe { info.u.entry };
        if entry.nr == libc::SYS_getppid as u64 && entry.args[0] == MARK {
            self.edge(thread, Region(entry.args[1] as u32), entry.args[2]);
        } else if let Some(region) = self.current.get(&thread) {
            *self.regions.entry(*region).or_default().entry(entry.nr).or_default() += 1;
        }
        Ok(())
    }

    fn edge(&mut self, thread: libc::pid_t, region: Region, edge: u64) {
        if edge == BEGIN {
            // A region without any call is a result too.
            self.regions.entry(region).or_default();
            self.current.insert(thread, region);
        } else {
            self.current.remove(&thread);
        }
    }

    fn resume(&self, thread: libc::pid_t, signal: i32) -> io::Result<()> {
        // SAFETY: continues a thread that is stopped for us.
        let result = unsafe { libc::ptrace(libc::PTRACE_SYSCALL, thread, 0, signal as libc::c_long) };
        // A thread that was killed meanwhile is gone; its end is reported next.
        if result == 0 || ntux_platform::errno() == libc::ESRCH {
            return Ok(());
        }
        Err(io::Error::last_os_error())
    }
}

/// The call's name, or its number.
pub(crate) fn name(number: u64) -> String {
    let known = [
        (libc::SYS_futex, "futex"),
        (449, "futex_waitv"),
        (libc::SYS_read, "read"),
        (libc::SYS_write, "write"),
        (libc::SYS_sendto, "sendto"),
        (libc::SYS_recvfrom, "recvfrom"),
        (libc::SYS_ppoll, "ppoll"),
        (libc::SYS_ioctl, "ioctl"),
        (libc::SYS_fcntl, "fcntl"),
        (libc::SYS_clock_gettime, "clock_gettime"),
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_poll, "poll"),
    ];
    let found = known.into_iter().find(|&(known, _)| known as u64 == number);
    found.map_or_else(|| format!("call {number}"), |(_, name)| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_of_a_region_is_counted_and_none_outside() {
        let calls = count(|| {
            empty_call();
            Region(1).mark(|| (0..3).for_each(|_| empty_call()));
            empty_call();
            Region(2).mark(|| ());
            Ok(())
        })
        .unwrap();
        assert_eq!(calls[&Region(1)], Calls::from([(libc::SYS_getuid as u64, 3)]));
        assert_eq!(calls[&Region(2)], Calls::new());
    }

    #[test]
    fn a_thread_in_a_region_of_its_own_is_counted_apart() {
        let calls = count(|| {
            std::thread::scope(|scope| {
                Region(1).mark(empty_call);
                scope.spawn(|| Region(2).mark(|| (0..2).for_each(|_| empty_call()))).join().unwrap();
            });
            Ok(())
        })
        .unwrap();
        let of = |region| calls[&Region(region)][&(libc::SYS_getuid as u64)];
        assert_eq!((of(1), of(2)), (1, 2));
    }

    #[test]
    fn a_counted_program_that_fails_gives_no_count() {
        assert!(count(|| Err(io::ErrorKind::Other.into())).is_err());
    }

    fn empty_call() {
        // SAFETY: takes no argument and changes nothing.
        unsafe { libc::syscall(libc::SYS_getuid) };
    }
}
