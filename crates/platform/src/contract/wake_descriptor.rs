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
//!   taken is always seen by whoever polls. It can be readable for nothing; never unreadable for something, but for the limit below.
//! * I-wakefd-3: a descriptor that is dropped sleeps no more, and wakes another sleeper, as it may have taken a wake that nobody saw.
//!
//! # Limits of a ring
//! The kernel completes a request on the thread that has made it, whose other work it interrupts for that. A thread has no such limits.
//! * *While the thread that armed cannot run, the descriptor stays unreadable*, though its sleep has ended: while a debugger has stopped that
//!   thread, while it waits for a child of `vfork`, in an uninterruptible sleep. Others who poll the descriptor sleep as long.
//! * Calls that are not restarted (`epoll_wait`) can fail with `EINTR` in a thread that has armed it: when it becomes readable, when another
//!   thread arms it, and, once more, after it was dropped.
//!
//! # Death, fork
//! The sleep ends with the process, or earlier: that of a ring ends with the thread that has armed it, and then the descriptor is readable. A
//! forked child has no part in it: there it cannot be armed, and dropping it closes the child's copy only.

mod pump;

use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
// These words belong to no protocol of an arena's, so a model checker ignores them.
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::clock::Deadline;
use crate::Here;
use crate::liveness::lineage;
use crate::without::Feature;
use pump::Pump;

/// What a descriptor sleeps for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Awaited {
    /// The word.
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
    ///
    /// # Safety
    /// The word is mapped, and aligned.
    pub(crate) unsafe fn holds(&self) -> bool {
        // SAFETY: by the contract; the word is only read, as one that others change meanwhile.
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
    ///
    /// # Safety
    /// That of [`WakeDescriptor::arm`].
    unsafe fn arm(&self, awaited: Awaited) -> io::Result<()>;
    /// Implements [`WakeDescriptor::raise`].
    fn raise(&self) -> io::Result<()>;
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

/// Why [`WakeDescriptor::new`] makes no ring; none if it makes one. Found out once, unless the answer may be another one soon.
pub fn why_no_ring() -> Option<WhyNot> {
    match Answer::known() {
        Some(answer) => answer.err(),
        None => try_out().err(),
    }
}

/// The first ring that falls asleep.
fn try_out() -> Result<<Here as Rings>::Ring, WhyNot> {
    let tried = open_ring().and_then(|ring| falls_asleep(&ring).map(|()| ring));
    Answer::note(tried.as_ref().map(drop).map_err(|why_not| *why_not));
    tried
}

fn open_ring() -> Result<<Here as Rings>::Ring, WhyNot> {
    if Feature::IoUring.is_left_out() { Err(WhyNot::LeftOut) } else { Here::open_ring() }
}

/// Tries out that the ring sleeps: a kernel that does not know the operation refuses it at once, as if it were woken.
fn falls_asleep(ring: &impl Ring) -> Result<(), WhyNot> {
    static WORD: AtomicU32 = AtomicU32::new(0);
    let refused = |error: io::Error| WhyNot::Refused(error.raw_os_error().unwrap_or(libc::EIO));
    // SAFETY: the word lives for ever.
    unsafe { ring.arm(Awaited { word: WORD.as_ptr(), expected: 0, due: Deadline::Never }) }.map_err(refused)?;
    if is_readable(ring.fd()) { Err(WhyNot::NoSleep) } else { Ok(()) }
}

/// What is known of rings in this process: a number for each answer, 0 for none. Threads that find it out at the same time note the same. A
/// lock, or a `OnceLock`, could be held for ever in a forked child.
struct Answer;

static ANSWER: AtomicU64 = AtomicU64::new(0);

impl Answer {
    const YES: u64 = 1;
    /// With an error number.
    const REFUSED: u64 = 1 << 32;
    /// The other answers, from 2 on.
    const OTHERS: [WhyNot; 4] = [WhyNot::LeftOut, WhyNot::NoSuchSystem, WhyNot::Deadly, WhyNot::NoSleep];

    fn known() -> Option<Result<(), WhyNot>> {
        match ANSWER.load(Ordering::Relaxed) {
            0 => None,
            Answer::YES => Some(Ok(())),
            refused @ Answer::REFUSED.. => Some(Err(WhyNot::Refused(refused as u32 as i32))),
            other => Some(Err(Answer::OTHERS[other as usize - 2])),
        }
    }

    fn note(answer: Result<(), WhyNot>) {
        let number = match answer {
            Ok(()) => Answer::YES,
            // There may be some again soon.
            Err(WhyNot::Refused(libc::EMFILE | libc::ENFILE | libc::ENOMEM | libc::EAGAIN)) => return,
            Err(WhyNot::Refused(number)) => Answer::REFUSED | u64::from(number as u32),
            Err(why_not) => 2 + Answer::OTHERS.iter().position(|&other| other == why_not).unwrap_or(0) as u64,
        };
        ANSWER.store(number, Ordering::Relaxed);
    }
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
        let ring = match Answer::known() {
            // Not closed after the attempt: that would interrupt this thread later.
            None => try_out(),
            Some(answer) => answer.and_then(|()| open_ring()),
        };
        let sleeper = match ring {
            Ok(ring) => Sleeper::Ring(ring),
            Err(_) => Sleeper::Thread(Pump::new()?),
        };
        Ok(WakeDescriptor { lineage: lineage(), sleeper: ManuallyDrop::new(sleeper) })
    }

    /// Makes it unreadable until the word has another value, a wake reaches it, or something is due: perhaps at once. What it was armed with
    /// before no longer counts, but may still make it readable. Any thread; threads that arm it at the same time have armed it one after the
    /// other.
    ///
    /// Errors: `EPERM` in a forked child; `ENOMEM`, `EAGAIN` if the system has no memory, or no thread; `EPERM`, `ENOSYS` if a filter was
    /// installed that refuses io_uring: it cannot be armed any more, but a new one can. It is not armed then.
    ///
    /// # Safety
    /// The word is aligned, and mapped until the descriptor was dropped.
    pub unsafe fn arm(&self, awaited: Awaited) -> io::Result<()> {
        self.ours()?;
        match &*self.sleeper {
            // SAFETY: the same contract.
            Sleeper::Ring(ring) => unsafe { ring.arm(awaited) }.inspect_err(note_refusal),
            // SAFETY: the same contract.
            Sleeper::Thread(pump) => unsafe { pump.arm(awaited) },
        }
    }

    /// Makes it readable, until it is armed.
    ///
    /// Errors: those of [`WakeDescriptor::arm`].
    pub fn raise(&self) -> io::Result<()> {
        self.ours()?;
        match &*self.sleeper {
            Sleeper::Ring(ring) => ring.raise().inspect_err(note_refusal),
            Sleeper::Thread(pump) => {
                pump.raise();
                Ok(())
            }
        }
    }

    fn ours(&self) -> io::Result<()> {
        if self.is_ours() { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::EPERM)) }
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

/// A filter that was installed after the answer had been found refuses rings: threads sleep from now on.
fn note_refusal(error: &io::Error) {
    if let Some(number @ (libc::EPERM | libc::ENOSYS)) = error.raw_os_error() {
        Answer::note(Err(WhyNot::Refused(number)));
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
