//! Forked children that do not outlive the benchmark.

use std::io;

/// A forked child; killed and collected when dropped.
pub(crate) struct Child(libc::pid_t);

impl Child {
    /// Forks. The child runs `program`, then exits with 0, or with 1 when it failed.
    ///
    /// The child has no other thread: what `program` needs must not be locked by a thread that stayed behind.
    pub(crate) fn fork(program: impl FnOnce() -> io::Result<()>) -> io::Result<Self> {
        // SAFETY: the caller vouches for the locks that `program` needs; libc makes its allocator usable in the child.
        match unsafe { libc::fork() } {
            0 => {
                die_with_parent();
                let status = i32::from(program().is_err());
                // SAFETY: ends the child without running what the parent registered for its own end.
                unsafe { libc::_exit(status) }
            }
            pid if pid > 0 => Ok(Self(pid)),
            _ => Err(io::Error::last_os_error()),
        }
    }

    pub(crate) fn pid(&self) -> libc::pid_t {
        self.0
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let mut status = 0;
        // SAFETY: the pid is our own child, not collected before, so the number cannot mean another process.
        unsafe {
            libc::kill(self.0, libc::SIGKILL);
            libc::waitpid(self.0, &mut status, 0);
        }
    }
}

fn die_with_parent() {
    // SAFETY: sets a number in the calling process.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
}
