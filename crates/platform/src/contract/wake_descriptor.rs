// SPDX-License-Identifier: MIT OR Apache-2.0
//! Wake descriptors: file descriptors that sleep on a word, for threads that sleep in `poll`, `epoll_wait` or io_uring.
//!
//! # Role
//! A descriptor is *armed* with a word, a value, and a time when something is due. From then on it is one of the sleepers on that word: it
//! becomes readable when the word holds another value, when a wake reaches it, or when the time has come. It stays readable until it is armed
//! again. So who arms it, and finds it unreadable, may sleep on it as it would have slept on the word.
//!
//! # Mechanisms
//! | | sleeps on the word | descriptor |
//! | --- | --- | --- |
//! | ring | the kernel, for a ring of io_uring (Linux 6.7) | that of the ring |
//! | thread | a thread of the process, which starts at the first arming ([`pump`]) | an eventfd, or a pipe |
//!
//! # Picture
//! ```text
//!              arm                            the word changes, a wake, or due
//!  readable  -------->  armed, unreadable  --------------------------------------> readable
//!                         ^       |
//!                         +-------+  arm: for another value or time
//! ```
//! # Invariants
//! * I-wakefd-1: the word is compared with the value by who falls asleep, after the descriptor was made unreadable. So a change before that is
//!   seen, and one after that wakes.
//! * I-wakefd-2: a sleep that ends makes the descriptor readable, whatever ended it, also one that was to be replaced. So a wake that it has
//!   taken is always seen by whoever polls. It can be readable for nothing; never unreadable for something.
//! * I-wakefd-3: a descriptor that is dropped sleeps no more, and wakes another sleeper, as it may have taken a wake that nobody saw.
//!
//! # Death, fork
//! The sleep ends with the process, or earlier: that of a ring ends with the thread that has armed it, and then the descriptor is readable. A
//! forked child has no part in it: there it cannot be armed, and dropping it closes the child's copy only.

mod pump;

use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::OnceLock;
// These words belong to no protocol of an arena's, so a model checker ignores them.
use std::sync::atomic::{AtomicU32, Ordering};

use super::clock::Deadline;
use crate::Here;
use crate::liveness::lineage;
use crate::without::Feature;
use pump::Pump;

/// What a descriptor sleeps for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Awaited {
    /// The word, which is mapped until the descriptor is dropped.
    pub word: *const u32,
    /// It sleeps while the word has this value...
    pub expected: u32,
    /// ... at most until then.
    pub due: Deadline,
}

// SAFETY: the address is only passed on to the kernel, and read as a word that anybody may change.
unsafe impl Send for Awaited {}

impl Awaited {
    /// Returns true if the word has the value now.
    pub(crate) fn holds(&self) -> bool {
        // SAFETY: mapped and aligned by the contract; the word is only read, as one that others change meanwhile.
        unsafe { AtomicU32::from_ptr(self.word.cast_mut()) }.load(Ordering::SeqCst) == self.expected
    }
}

/// Rings of io_uring, of which each is a descriptor that sleeps on a word. A system may lack these.
pub trait Rings {
    /// One.
    type Ring: Ring;
    /// Makes one.
    fn open_ring() -> Result<Self::Ring, WhyNot>;
}

/// A descriptor that sleeps without a thread. Dropped, it sleeps no more.
pub trait Ring: Send + Sync {
    /// Implements [`WakeDescriptor::arm`].
    fn arm(&self, awaited: Awaited) -> io::Result<()>;
    /// The descriptor.
    fn fd(&self) -> BorrowedFd<'_>;
}

/// Descriptors that a thread makes readable and unreadable. Every system has these.
pub trait Flags {
    /// One.
    type Flag: Flag;
    /// Makes one, which is unreadable and close-on-exec.
    fn flag() -> io::Result<Self::Flag>;
}

/// A descriptor that is readable from a [`Flag::raise`] to the next [`Flag::lower`].
pub trait Flag: Send + Sync + 'static {
    /// Makes it readable.
    fn raise(&self);
    /// Makes it unreadable.
    fn lower(&self);
    /// The descriptor that is polled.
    fn fd(&self) -> BorrowedFd<'_>;
}

/// Why a thread sleeps, and no ring.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WhyNot {
    /// `NTUX_WITHOUT` disables it.
    LeftOut,
    /// The system has no such thing.
    NoSuchSystem,
    /// A filter (seccomp) would kill the program for the call.
    Deadly,
    /// The system refused, with this error number.
    Refused(i32),
    /// It has rings, but these do not sleep on words (before Linux 6.7).
    NoSleep,
}

impl core::fmt::Display for WhyNot {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            WhyNot::LeftOut => formatter.write_str("NTUX_WITHOUT disables io_uring"),
            WhyNot::NoSuchSystem => formatter.write_str("this system has no io_uring"),
            WhyNot::Deadly => formatter.write_str("a filter kills programs for io_uring"),
            WhyNot::Refused(number) => {
                write!(formatter, "io_uring is refused: {}", io::Error::from_raw_os_error(*number))
            }
            WhyNot::NoSleep => formatter.write_str("io_uring does not sleep on words here (Linux 6.7 does)"),
        }
    }
}

/// Why [`WakeDescriptor::new`] makes no ring; none if it makes one. Found out once.
pub fn why_no_ring() -> Option<WhyNot> {
    static ANSWER: OnceLock<Option<WhyNot>> = OnceLock::new();
    *ANSWER.get_or_init(|| ring().and_then(|ring| falls_asleep(&ring)).err())
}

fn ring() -> Result<<Here as Rings>::Ring, WhyNot> {
    if Feature::IoUring.is_left_out() { Err(WhyNot::LeftOut) } else { Here::open_ring() }
}

/// Tries out that the ring sleeps: a kernel that does not know the operation refuses it at once, as if it were woken.
fn falls_asleep(ring: &impl Ring) -> Result<(), WhyNot> {
    static WORD: AtomicU32 = AtomicU32::new(0);
    let refused = |error: io::Error| WhyNot::Refused(error.raw_os_error().unwrap_or(libc::EIO));
    ring.arm(Awaited { word: WORD.as_ptr(), expected: 0, due: Deadline::Never }).map_err(refused)?;
    if is_readable(ring.fd()) { Err(WhyNot::NoSleep) } else { Ok(()) }
}

/// Returns true if the descriptor is readable now.
pub fn is_readable(fd: BorrowedFd<'_>) -> bool {
    poll(&mut [Polled::new(fd.as_raw_fd(), Polled::READABLE)], Patience::None).is_ok_and(|ready| ready == 1)
}

/// `struct pollfd`: a descriptor, what is asked of it, and what was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Polled {
    /// The descriptor; a negative one is passed over.
    pub fd: i32,
    /// What is asked.
    pub asked: i16,
    /// What was found; 0: nothing of this.
    pub found: i16,
}

const _: () = assert!(size_of::<Polled>() == size_of::<libc::pollfd>());
const _: () = assert!(core::mem::offset_of!(Polled, found) == core::mem::offset_of!(libc::pollfd, revents));

impl Polled {
    /// `POLLIN`
    pub const READABLE: i16 = libc::POLLIN;
    /// `POLLOUT`
    pub const WRITABLE: i16 = libc::POLLOUT;

    /// A descriptor, and what is asked.
    pub fn new(fd: i32, asked: i16) -> Polled {
        Polled { fd, asked, found: 0 }
    }
}

/// How long a [`poll`] waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Patience {
    /// It does not.
    None,
    /// Until something is found.
    Endless,
}

/// Waits until something is found of one of these. Returns of how many.
///
/// Errors: `EINTR`, `EINVAL` for more than the process may have open, `ENOMEM`.
pub fn poll(polled: &mut [Polled], patience: Patience) -> io::Result<usize> {
    let time_ms = if patience == Patience::None { 0 } else { -1 };
    // SAFETY: so many entries, laid out as the call asks for, which outlive it.
    let ready = unsafe { libc::poll(polled.as_mut_ptr().cast(), polled.len() as libc::nfds_t, time_ms) };
    usize::try_from(ready).map_err(|_| io::Error::last_os_error())
}

/// A descriptor that sleeps on a word. It is close-on-exec.
pub struct WakeDescriptor {
    lineage: u64,
    sleeper: ManuallyDrop<Sleeper>,
}

enum Sleeper {
    Ring(<Here as Rings>::Ring),
    Thread(Pump),
}

impl WakeDescriptor {
    /// A new one, which is not readable.
    ///
    /// Errors: `EMFILE`, `ENFILE`, `ENOMEM`.
    pub fn new() -> io::Result<WakeDescriptor> {
        let ring = if why_no_ring().is_none() { ring().ok() } else { None };
        let sleeper = match ring {
            Some(ring) => Sleeper::Ring(ring),
            None => Sleeper::Thread(Pump::new()?),
        };
        Ok(WakeDescriptor { lineage: lineage(), sleeper: ManuallyDrop::new(sleeper) })
    }

    /// Makes it unreadable until the word has another value, a wake reaches it, or something is due: perhaps at once. What it was armed with
    /// before no longer counts, but may still make it readable. Any thread; threads that arm it at the same time have armed it one after the
    /// other.
    ///
    /// Errors: `EPERM` in a forked child; `ENOMEM`, `EAGAIN` if the system has no memory, or no thread. It is not armed then.
    pub fn arm(&self, awaited: Awaited) -> io::Result<()> {
        if !self.is_ours() {
            return Err(io::Error::from_raw_os_error(libc::EPERM));
        }
        match &*self.sleeper {
            Sleeper::Ring(ring) => ring.arm(awaited),
            Sleeper::Thread(pump) => pump.arm(awaited),
        }
    }

    /// Makes it readable, until it is armed.
    ///
    /// Errors: those of [`WakeDescriptor::arm`].
    pub fn raise(&self) -> io::Result<()> {
        static WORD: AtomicU32 = AtomicU32::new(0);
        if !self.is_ours() {
            return Err(io::Error::from_raw_os_error(libc::EPERM));
        }
        match &*self.sleeper {
            // A word that differs ends the sleep.
            Sleeper::Ring(ring) => ring.arm(Awaited { word: WORD.as_ptr(), expected: 1, due: Deadline::Never }),
            Sleeper::Thread(pump) => {
                pump.raise();
                Ok(())
            }
        }
    }

    /// False in a forked child, which has no part in it.
    pub fn is_ours(&self) -> bool {
        self.lineage == lineage()
    }

    /// The descriptor, to be polled for reading.
    pub fn fd(&self) -> BorrowedFd<'_> {
        match &*self.sleeper {
            Sleeper::Ring(ring) => ring.fd(),
            Sleeper::Thread(pump) => pump.fd(),
        }
    }
}

impl Drop for WakeDescriptor {
    fn drop(&mut self) {
        if self.is_ours() {
            // SAFETY: dropped once, here.
            unsafe { ManuallyDrop::drop(&mut self.sleeper) };
        } else {
            // The rest is the parent's: its ring, or its thread. (Its other end of a pipe stays.)
            // SAFETY: a copy of the descriptor that nobody closes again: the sleeper is not dropped.
            drop(unsafe { OwnedFd::from_raw_fd(self.fd().as_raw_fd()) });
        }
    }
}
