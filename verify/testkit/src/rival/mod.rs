// SPDX-License-Identifier: MIT OR Apache-2.0
//! The other ways to have NT synchronization objects in user space, behind one trait.
//!
//! Each is the simplest honest form of its design, written from its public description, without code of others. So the
//! measurements show what the *design* allows, not what a particular version of a program does. A design refuses what
//! it cannot do ([`io::ErrorKind::Unsupported`]). `ntux bench` measures the same code that `ntux-adversary rivals`
//! kills at every instruction.
//!
//! | design | known from | file |
//! | --- | --- | --- |
//! | the objects' values as futex words, taken one by one | fsync, msync | `waitv` over `words` |
//! | the same with waits for one object only: the floor | every futex lock | `futex` over `words` |
//! | the same, and spins for a while before it sleeps | glibc's `PTHREAD_MUTEX_ADAPTIVE_NP` | `adaptive` over `futex` |
//! | an eventfd for each object, read one by one | esync | `eventfd` |
//! | a server that does everything | wineserver | `server` |

#[cfg(target_os = "linux")]
mod linux;

use std::io;

#[cfg(target_os = "linux")]
pub use linux::{AdaptiveFutex, EventFd, Futex, Server, WaitV};

/// What happens to an event when it satisfies a wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reset {
    /// It is cleared: one wait for each set.
    Auto,
    /// It stays signaled until somebody resets it.
    Manual,
}

/// One design of synchronization objects that processes can share.
pub trait Peer: Sized + Sync {
    /// What one thread holds while it takes part.
    type Thread;
    /// Names an object, in every thread and in every forked child.
    type Object: Copy + Send + Sync;

    /// How many objects there can be at a time.
    fn objects_max(&self) -> usize {
        usize::MAX
    }
    /// Returns whether forked children can use its objects.
    fn is_shared(&self) -> bool {
        true
    }
    /// Called once in a forked child, before it takes part.
    fn after_fork(&mut self) -> io::Result<()> {
        Ok(())
    }
    /// The calling thread takes part. `owner` is its name as an owner of mutexes: not 0, its own.
    fn join(&self, owner: u32) -> io::Result<Self::Thread>;

    /// A free mutex.
    fn mutex(&self, thread: &mut Self::Thread) -> io::Result<Self::Object>;
    /// A semaphore.
    fn semaphore(&self, thread: &mut Self::Thread, count: u32, max: u32) -> io::Result<Self::Object>;
    /// An event that is not signaled.
    fn event(&self, thread: &mut Self::Thread, reset: Reset) -> io::Result<Self::Object>;

    /// Waits for ever for one of `objects`; which one it was.
    fn wait_any(&self, thread: &mut Self::Thread, objects: &[Self::Object]) -> io::Result<usize>;
    /// Waits for ever until all of `objects` are signaled.
    fn wait_all(&self, thread: &mut Self::Thread, objects: &[Self::Object]) -> io::Result<()>;
    /// Waits for ever for one object.
    #[inline(always)]
    fn wait(&self, thread: &mut Self::Thread, object: Self::Object) -> io::Result<()> {
        self.wait_any(thread, &[object]).map(|_| ())
    }

    /// Gives up a mutex.
    fn unlock(&self, thread: &mut Self::Thread, mutex: Self::Object) -> io::Result<()>;
    /// Adds `count` to a semaphore.
    fn release(&self, thread: &mut Self::Thread, semaphore: Self::Object, count: u32) -> io::Result<()>;
    /// Signals an event.
    fn set(&self, thread: &mut Self::Thread, event: Self::Object) -> io::Result<()>;
    /// Clears an event.
    fn reset(&self, thread: &mut Self::Thread, event: Self::Object) -> io::Result<()>;
}

/// What can be asked without sleeping.
pub trait Poll: Peer {
    /// Takes all of `objects` if all of them are signaled; returns whether it did.
    fn try_all(&self, thread: &mut Self::Thread, objects: &[Self::Object]) -> io::Result<bool>;
    /// Returns whether an event is signaled.
    fn is_signaled(&self, thread: &mut Self::Thread, event: Self::Object) -> io::Result<bool>;
}

/// The refusal of a design that has no such operation.
pub fn unsupported<T>(reason: &'static str) -> io::Result<T> {
    Err(io::Error::new(io::ErrorKind::Unsupported, reason))
}

/// Returns how many descriptors this process may have; a few are taken already.
pub fn descriptors_max() -> usize {
    const TAKEN: usize = 64;
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the kernel writes `limit`.
    let result = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) };
    if result == 0 { (limit.rlim_cur as usize).saturating_sub(TAKEN) } else { usize::MAX }
}
