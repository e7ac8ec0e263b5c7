// SPDX-License-Identifier: MIT OR Apache-2.0
//! Forked children that do not outlive their parent, and memory that they share with it.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

use crate::task::Task;

/// Exit status of a child whose work panicked.
pub const PANICKED: i32 = 101;

/// A forked child that nobody traces. Killed and collected when dropped; it does not outlive its parent either.
pub struct Child {
    pid: libc::pid_t,
    /// How it ended, once that was seen.
    status: OnceLock<i32>,
}

impl Child {
    /// Forks a child that does this and ends: with 0, or with [`PANICKED`].
    ///
    /// The child has no other thread than this one: what `body` needs must not be locked by a thread that stays behind.
    pub fn fork(body: impl FnOnce()) -> io::Result<Child> {
        let parent = std::process::id();
        // SAFETY: the caller vouches for the locks that `body` needs; the C library makes its allocator usable in the
        // child.
        match unsafe { libc::fork() } {
            0 => {
                die_with(parent);
                let done = catch_unwind(AssertUnwindSafe(body));
                // SAFETY: ends the child without running what the parent registered for its own exit.
                unsafe { libc::_exit(if done.is_ok() { 0 } else { PANICKED }) }
            }
            pid if pid > 0 => Ok(Child { pid, status: OnceLock::new() }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Its process number.
    pub fn id(&self) -> u32 {
        self.pid as u32
    }

    /// Its first thread, as the system sees it.
    pub fn task(&self) -> Task {
        Task::new(self.id())
    }

    /// Returns how it ended, as `waitpid` says it; `None` as long as it has not.
    pub fn status(&self) -> Option<i32> {
        self.reap(libc::WNOHANG);
        self.status.get().copied()
    }

    /// Waits for its end, and returns how it ended.
    pub fn wait(&self) -> io::Result<i32> {
        self.reap(0);
        self.status.get().copied().ok_or_else(io::Error::last_os_error)
    }

    /// Is told how it ended by who has collected it in this value's place, a tracer of several threads for one.
    pub fn collected(&self, status: i32) {
        let _ = self.status.set(status);
    }

    /// Sends a signal, unless its end was seen already.
    pub fn signal(&self, signal: i32) {
        if self.status.get().is_none() {
            // SAFETY: the child is not reaped, so the number is its own.
            unsafe { libc::kill(self.pid, signal) };
        }
    }

    /// Stops it, and returns when it stands still or has ended.
    pub fn stop(&self) {
        self.signal(libc::SIGSTOP);
        self.reap(libc::WUNTRACED);
    }

    /// Kills it, and returns when it is gone.
    pub fn kill(&self) {
        self.signal(libc::SIGKILL);
        self.reap(0);
    }

    fn reap(&self, flags: i32) {
        let mut status = 0;
        // SAFETY: a child of ours that was not reaped yet, and a place for the answer.
        let seen = self.status.get().is_none() && unsafe { libc::waitpid(self.pid, &mut status, flags) } == self.pid;
        if seen && !libc::WIFSTOPPED(status) {
            self.collected(status);
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Has the system kill this process when `parent` ends; ends it at once if that has happened already.
#[cfg(target_os = "linux")]
pub fn die_with(parent: u32) {
    // SAFETY: concerns this process only, and touches no memory; `_exit` runs nothing that the parent registered.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        if libc::getppid() as u32 != parent {
            libc::_exit(1);
        }
    }
}

/// macOS can be asked for no such thing: a timer ends this process. It ends at once if `parent` has ended already.
#[cfg(target_os = "macos")]
pub fn die_with(parent: u32) {
    const SECONDS: u32 = 600;
    // SAFETY: as above.
    unsafe {
        libc::alarm(SECONDS);
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
    // SAFETY: a fresh mapping of the right size at an address of the kernel's choice, page-aligned, never unmapped; the
    // rest is the caller's promise.
    unsafe {
        let page = libc::mmap(std::ptr::null_mut(), size_of::<T>(), access, kind, -1, 0);
        if page == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(&*page.cast::<T>()) }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::Duration;

    use super::*;
    use crate::task::until_asleep;

    fn forever() {
        loop {
            std::thread::park();
        }
    }

    #[test]
    fn a_child_says_how_it_ended_and_what_it_wrote() {
        // SAFETY: zero is a value of an atomic integer.
        let word: &AtomicU32 = unsafe { shared() }.expect("a page");
        let child = Child::fork(|| word.store(7, Ordering::SeqCst)).expect("a fork");
        assert_eq!((child.wait().expect("it ends"), word.load(Ordering::SeqCst)), (0, 7));
        assert_eq!(child.status(), Some(0));
        let panics = Child::fork(|| std::panic::resume_unwind(Box::new(()))).expect("a fork");
        assert_eq!(libc::WEXITSTATUS(panics.wait().expect("it ends")), PANICKED);
    }

    #[test]
    fn a_child_stops_goes_on_and_is_killed() {
        let child = Child::fork(forever).expect("a fork");
        assert!(until_asleep(&[child.task()], Duration::from_millis(1)));
        child.stop();
        #[cfg(target_os = "linux")]
        assert_eq!(child.task().asleep(), None);
        assert_eq!(child.status(), None);
        child.signal(libc::SIGCONT);
        assert!(until_asleep(&[child.task()], Duration::from_millis(1)));
        child.kill();
        assert_eq!(libc::WTERMSIG(child.status().expect("it is gone")), libc::SIGKILL);
        assert!(!until_asleep(&[child.task()], Duration::from_millis(1)));
    }

    #[test]
    fn no_child_outlives_its_value() {
        let child = Child::fork(forever).expect("a fork");
        let pid = child.id() as libc::pid_t;
        drop(child);
        // SAFETY: asks whether there is such a process.
        assert_eq!(unsafe { libc::kill(pid, 0) }, -1);
    }
}
