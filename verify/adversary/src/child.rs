//! Forked children, and the memory that they share.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Exit status of a child whose work panicked.
const PANICKED: i32 = 101;

/// A forked child that nobody traces. Killed when dropped; it does not outlive the harness either.
pub struct Child {
    pid: libc::pid_t,
    /// How it ended, once that was seen.
    status: Option<i32>,
}

impl Child {
    /// Forks a child that does this and ends. This process must have one thread.
    pub fn fork(body: impl FnOnce()) -> io::Result<Child> {
        let parent = std::process::id();
        // SAFETY: this process has one thread, so nothing that the child uses is held by a thread that it lacks.
        match unsafe { libc::fork() } {
            0 => {
                die_with(parent);
                let done = catch_unwind(AssertUnwindSafe(body));
                // SAFETY: ends the child without running what the parent registered for its own exit.
                unsafe { libc::_exit(if done.is_ok() { 0 } else { PANICKED }) }
            }
            pid if pid > 0 => Ok(Child { pid, status: None }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Its process number.
    pub fn id(&self) -> u32 {
        self.pid as u32
    }

    /// How it ended, as `waitpid` says it; none as long as it has not.
    pub fn status(&mut self) -> Option<i32> {
        self.reap(libc::WNOHANG);
        self.status
    }

    /// Waits for its end; how it ended.
    pub fn wait(&mut self) -> io::Result<i32> {
        self.reap(0);
        self.status.ok_or_else(io::Error::last_os_error)
    }

    /// Sends a signal, unless its end was seen already.
    pub fn signal(&self, signal: i32) {
        if self.status.is_none() {
            // SAFETY: the child is not reaped, so the number is its own.
            unsafe { libc::kill(self.pid, signal) };
        }
    }

    /// Whether it sleeps.
    pub fn is_asleep(&self) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.pid)).unwrap_or_default();
        stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('S'))
    }

    fn reap(&mut self, flags: i32) {
        let mut status = 0;
        // SAFETY: a child of ours that was not reaped yet, and a place for the answer.
        if self.status.is_none() && unsafe { libc::waitpid(self.pid, &mut status, flags) } == self.pid {
            self.status = Some(status);
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.signal(libc::SIGKILL);
        self.reap(0);
    }
}

/// Has the system kill this process when `parent` ends; ends it at once if that has happened already.
pub fn die_with(parent: u32) {
    // SAFETY: concerns this process only, and touches no memory; `_exit` runs nothing that the parent registered.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        if libc::getppid() as u32 != parent {
            libc::_exit(1);
        }
    }
}

/// Zeroed memory that forked children share with this process. Never unmapped.
///
/// # Safety
/// Zero bytes are a valid `T`, except in cells that are written before they are read; several processes may use a `T`.
pub unsafe fn shared<T>() -> io::Result<&'static T> {
    let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
    // SAFETY: a fresh mapping of the right size at an address of the kernel's choice, page-aligned, never unmapped; the rest
    // is the caller's promise.
    unsafe {
        let page = libc::mmap(std::ptr::null_mut(), size_of::<T>(), access, kind, -1, 0);
        if page == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(&*page.cast::<T>()) }
    }
}
