// SPDX-License-Identifier: MIT OR Apache-2.0
//! What takes part in a check: shared memory, threads, processes.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use super::failed;
use ntux_platform::atomic::Word32;
use ntux_platform::contract::System;
use ntux_platform::protection::page_size;

/// A page of shared memory.
pub(super) struct Page<S> {
    pub fd: OwnedFd,
    pub view: View<S>,
}

/// One mapping of it. Unmapped on drop.
pub(super) struct View<S> {
    base: NonNull<u8>,
    length: usize,
    system: core::marker::PhantomData<S>,
}

// SAFETY: only words are reached through it.
unsafe impl<S> Sync for View<S> {}
// SAFETY: as above.
unsafe impl<S> Send for View<S> {}

impl<S: System> Page<S> {
    pub fn new() -> Result<Page<S>, String> {
        let fd = S::create(c"contract", page_size() as u64).map_err(failed("create"))?;
        let view = View::new(&fd)?;
        Ok(Page { fd, view })
    }
}

impl<S: System> View<S> {
    pub fn new(fd: &OwnedFd) -> Result<View<S>, String> {
        let (length, access) = (page_size(), libc::PROT_READ | libc::PROT_WRITE);
        let base = S::map(length, access, libc::MAP_SHARED, fd.as_raw_fd()).map_err(failed("map"))?;
        Ok(View { base, length, system: core::marker::PhantomData })
    }

    pub fn base(&self) -> NonNull<u8> {
        self.base
    }

    /// Its word with this number.
    pub fn word(&self, number: usize) -> &Word32 {
        assert!(number < self.length / size_of::<Word32>());
        // SAFETY: within the mapping, aligned, and any bytes are a value.
        unsafe { self.base.cast::<Word32>().add(number).as_ref() }
    }

    pub fn address(&self, number: usize) -> *const u32 {
        core::ptr::from_ref(self.word(number)).cast()
    }
}

impl<S> Drop for View<S> {
    fn drop(&mut self) {
        // SAFETY: mapped by `new`, and no word of it is borrowed any more.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.length) };
    }
}

/// A forked child. Killed on drop.
pub(super) struct Child {
    pub pid: u32,
    is_waited_for: bool,
}

impl Child {
    /// The child runs `body`, which touches no heap and takes no lock, and ends with what it returns.
    pub fn start(body: impl FnOnce() -> i32) -> Result<Child, String> {
        // SAFETY: the child makes system calls only, and ends without running what belongs to the parent.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            let code = body();
            // SAFETY: as above.
            unsafe { libc::_exit(code) };
        }
        let pid = u32::try_from(pid).map_err(|_| failed("fork")(io::Error::last_os_error()))?;
        Ok(Child { pid, is_waited_for: false })
    }

    pub fn kill(&self) {
        // SAFETY: a child that nobody has waited for.
        unsafe { libc::kill(self.pid as i32, libc::SIGKILL) };
    }

    /// Waits for its end, which it leaves as it is: whoever asks finds a corpse.
    pub fn wait_for_corpse(&self) {
        let mut information = core::mem::MaybeUninit::<libc::siginfo_t>::zeroed();
        // SAFETY: a place for the answer.
        unsafe { libc::waitid(libc::P_PID, self.pid as _, information.as_mut_ptr(), libc::WEXITED | libc::WNOWAIT) };
    }

    /// Waits for its end, and how it ended: the code, or -1 for a signal. Kills it if it takes too long.
    pub fn end(mut self, limit: Duration) -> Result<i32, String> {
        let start = Instant::now();
        let mut status = 0;
        loop {
            // SAFETY: a place for the answer.
            match unsafe { libc::waitpid(self.pid as i32, &mut status, libc::WNOHANG) } {
                0 if start.elapsed() > limit => return Err("a process hangs".into()),
                0 => std::thread::sleep(Duration::from_millis(1)),
                _ => break,
            }
        }
        self.is_waited_for = true;
        Ok(if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { -1 })
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if !self.is_waited_for {
            self.kill();
            // SAFETY: our own child.
            unsafe { libc::waitpid(self.pid as i32, core::ptr::null_mut(), 0) };
        }
    }
}

/// Runs `body` in a thread of its own. A thread that hangs stays behind, so it owns what it uses.
pub(super) fn in_thread<T: Send + 'static>(body: impl FnOnce() -> T + Send + 'static) -> Running<T> {
    let (tell, told) = channel();
    std::thread::spawn(move || {
        // Nobody listens any more to a thread that was given up.
        let _ = tell.send(body());
    });
    Running(told)
}

/// A thread, and what it will return.
pub(super) struct Running<T>(Receiver<T>);

impl<T> Running<T> {
    pub fn result(&self, limit: Duration) -> Result<T, String> {
        self.0.recv_timeout(limit).map_err(|error| match error {
            RecvTimeoutError::Timeout => "a thread hangs".into(),
            RecvTimeoutError::Disconnected => "a thread panicked".into(),
        })
    }
}

/// Waits until the word is not 0.
pub(super) fn appears(word: &Word32, limit: Duration) -> Result<u32, String> {
    let start = Instant::now();
    loop {
        match word.load() {
            0 if start.elapsed() > limit => return Err("nothing was written".into()),
            0 => std::thread::sleep(Duration::from_millis(1)),
            value => return Ok(value),
        }
    }
}

/// Returns whether a descriptor is closed in a program that is executed.
pub(super) fn is_close_on_exec(fd: &OwnedFd) -> bool {
    // SAFETY: an open descriptor, and no memory.
    let flags = unsafe { libc::fcntl(fd.as_fd().as_raw_fd(), libc::F_GETFD) };
    flags >= 0 && flags & libc::FD_CLOEXEC != 0
}
