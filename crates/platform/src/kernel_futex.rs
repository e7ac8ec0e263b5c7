//! The kernel's futex calls as they are: one function for each, the error number when it refuses.
//!
//! [`crate::futex`] is the little of this that the synchronization core sleeps on. Here is the rest: private and shared
//! words, bitsets, counts, vectors, requeue. All words have 32 bits; no kernel has futexes of another size.

use core::sync::atomic::{AtomicU8, Ordering};

use crate::clock::Deadline;
use crate::without::Feature;

#[cfg(target_os = "linux")]
pub(crate) mod interface;
pub mod numa;

/// Most entries of one [`wait_any`].
pub const VECTOR_MAX: usize = 128;

/// Matches every bitset.
pub const MATCH_ANY: u32 = u32::MAX;

/// Who may sleep on a word: the kernel keeps the two apart, so both sides must say the same.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Scope {
    /// Threads of this process; the word is known by its address.
    Private,
    /// Every process that maps the memory; the word is known by its place in there.
    Shared,
}

/// One word of a vector.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Where it is.
    pub address: *const u32,
    /// What it is expected to hold.
    pub expected: u32,
    /// Who may wake it.
    pub scope: Scope,
    /// Whether a node stands behind it ([`numa`]).
    pub numa: bool,
}

impl Entry {
    /// Stands where no word is yet.
    pub const NOWHERE: Entry = Entry { address: core::ptr::null(), expected: 0, scope: Scope::Private, numa: false };
}

/// Sleeps while the word holds `expected`, until a wake whose mask meets this one, or the deadline.
///
/// Errors: `EAGAIN` the word differs, also when the deadline has passed; `ETIMEDOUT`; `EINTR`; `EFAULT` no such memory;
/// `EINVAL` not aligned, or an empty mask.
pub fn wait(address: *const u32, expected: u32, mask: u32, scope: Scope, deadline: Deadline) -> Result<(), i32> {
    #[cfg(ntux_explore)]
    if let Some(kernel) = kernel() {
        let entry = Entry { address, expected, scope, numa: false };
        return kernel.wait_any(&[(entry, mask)], deadline != Deadline::Never).map(drop);
    }
    imp::wait(address, expected, mask, scope, deadline)
}

/// Wakes at most `count` sleepers on the word whose masks meet this one; how many.
///
/// Errors: `EFAULT` no such memory (shared only); `EINVAL` not aligned, or an empty mask.
pub fn wake(address: *const u32, count: u32, mask: u32, scope: Scope) -> Result<u32, i32> {
    #[cfg(ntux_explore)]
    if let Some(kernel) = kernel() {
        return Ok(kernel.wake(address as usize, count, mask));
    }
    imp::wake(address, count, mask, scope)
}

/// Sleeps while every word holds what is expected of it; the index of one that was woken: the highest, if several were
/// before the thread ran.
///
/// Errors: as [`wait`]; `ENOSYS` or `EPERM` where the kernel has no such call (before Linux 5.16; macOS); `EINVAL` also
/// for no entries or more than [`VECTOR_MAX`].
pub fn wait_any(entries: &[Entry], deadline: Deadline) -> Result<usize, i32> {
    #[cfg(ntux_explore)]
    if let Some(kernel) = kernel() {
        const ENTRY: (Entry, u32) = (Entry::NOWHERE, MATCH_ANY);
        let mut vector = [ENTRY; VECTOR_MAX];
        vector.iter_mut().zip(entries).for_each(|(place, &entry)| place.0 = entry);
        return kernel.wait_any(&vector[..entries.len()], deadline != Deadline::Never);
    }
    imp::wait_any(entries, deadline)
}

/// How often this thread has fallen asleep in its life. If a wait did not change it, the thread never slept in it.
pub fn times_asleep() -> u64 {
    #[cfg(ntux_explore)]
    if let Some(kernel) = kernel() {
        return kernel.times_asleep();
    }
    imp::times_asleep()
}

/// The futexes that a checker plays for the calling thread.
#[cfg(ntux_explore)]
fn kernel() -> Option<&'static dyn crate::explore::Kernel> {
    crate::explore::current().and_then(|scheduler| scheduler.kernel())
}

/// If the word `from` holds `expected`, wakes at most `wake` of its sleepers and lets at most `moved` others sleep on
/// the word `to` instead; how many both are together. Bitsets do not matter, and go with the sleepers.
///
/// Errors: `EAGAIN` the word differs; `EFAULT`, `EINVAL` as in [`wake`]; `ENOSYS` where there is no such call (macOS).
pub fn requeue(
    from: *const u32,
    to: *const u32,
    scope: Scope,
    wake: u32,
    moved: u32,
    expected: u32,
) -> Result<u32, i32> {
    #[cfg(ntux_explore)]
    if let Some(kernel) = kernel() {
        assert_eq!(wake, 0, "the kernel that is played wakes nobody in a requeue");
        return kernel.requeue(from as usize, to as usize, moved, expected);
    }
    imp::requeue(from, to, scope, wake, moved, expected)
}

/// Whether there is [`wait_any`]. Asks the kernel once.
pub fn has_wait_any() -> bool {
    static ANSWER: Answer = Answer::new();
    ANSWER.get_or_ask(try_wait_any)
}

/// What is found out once. Who comes while another thread finds it out does so too: nobody waits, least of all a forked
/// child for a thread that it does not have.
struct Answer(AtomicU8);

impl Answer {
    const UNKNOWN: u8 = 2;

    const fn new() -> Answer {
        Answer(AtomicU8::new(Answer::UNKNOWN))
    }

    fn get_or_ask(&self, ask: impl FnOnce() -> bool) -> bool {
        match self.0.load(Ordering::Relaxed) {
            Answer::UNKNOWN => {
                let answer = ask();
                self.0.store(u8::from(answer), Ordering::Relaxed);
                answer
            }
            known => known == u8::from(true),
        }
    }
}

/// As [`has_wait_any`], but asks each time. Async-signal-safe.
pub fn try_wait_any() -> bool {
    // Without an entry the call is invalid, where there is one.
    !Feature::FutexWaitv.is_left_out()
        && imp::wait_any_may_be_tried()
        && imp::wait_any(&[], Deadline::NOW) == Err(libc::EINVAL)
}

#[cfg(target_os = "linux")]
mod imp {
    use super::interface::{SYS_FUTEX_WAITV, Until, Waitv, flags};
    use super::{Entry, Scope, VECTOR_MAX};
    use crate::clock::Deadline;
    use crate::deadly::Call;

    const FUTEX_CMP_REQUEUE: i32 = 4;
    const FUTEX_WAIT_BITSET: i32 = 9;
    const FUTEX_WAKE_BITSET: i32 = 10;
    const FUTEX_PRIVATE_FLAG: i32 = 128;
    const FUTEX_CLOCK_REALTIME: i32 = 256;
    const NOBODY: *const u32 = core::ptr::null();

    fn private(scope: Scope) -> i32 {
        if scope == Scope::Private { FUTEX_PRIVATE_FLAG } else { 0 }
    }

    pub(super) fn answer(result: libc::c_long) -> Result<u32, i32> {
        u32::try_from(result).map_err(|_| crate::errno())
    }

    pub(super) fn times_asleep() -> u64 {
        let mut usage = core::mem::MaybeUninit::<libc::rusage>::uninit();
        // SAFETY: a valid place for the answer, which is whole when the call returns 0.
        unsafe {
            match libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()) {
                0 => usage.assume_init().ru_nvcsw as u64,
                _ => 0,
            }
        }
    }

    pub(super) fn wait(
        address: *const u32,
        expected: u32,
        mask: u32,
        scope: Scope,
        deadline: Deadline,
    ) -> Result<(), i32> {
        let until = Until::new(deadline);
        let realtime = if until.clock == libc::CLOCK_REALTIME { FUTEX_CLOCK_REALTIME } else { 0 };
        let operation = FUTEX_WAIT_BITSET | private(scope) | realtime;
        // SAFETY: the kernel checks the address itself and only reads the word and the time, which outlives the call.
        answer(unsafe { libc::syscall(libc::SYS_futex, address, operation, expected, until.time(), NOBODY, mask) })
            .map(drop)
    }

    pub(super) fn wake(address: *const u32, count: u32, mask: u32, scope: Scope) -> Result<u32, i32> {
        if count == 0 {
            // This old call would wake one.
            return Ok(0);
        }
        let (operation, count) = (FUTEX_WAKE_BITSET | private(scope), count.min(i32::MAX as u32));
        // SAFETY: a wake reads no memory; a bad address is an error that changes nothing.
        answer(unsafe { libc::syscall(libc::SYS_futex, address, operation, count, 0usize, NOBODY, mask) })
    }

    /// Whether no filter ends the program for it.
    pub(super) fn wait_any_may_be_tried() -> bool {
        static CALL: Call = Call::new(SYS_FUTEX_WAITV, [0, 0]);
        !CALL.is_deadly()
    }

    pub(super) fn wait_any(entries: &[Entry], deadline: Deadline) -> Result<usize, i32> {
        let mut vector = [Waitv::NOWHERE; VECTOR_MAX];
        let Some(vector) = vector.get_mut(..entries.len()) else { return Err(libc::EINVAL) };
        for (waitv, entry) in vector.iter_mut().zip(entries) {
            *waitv = Waitv::new(entry.address, entry.expected, flags(entry.scope, entry.numa));
        }
        let until = Until::new(deadline);
        // SAFETY: the vector and the time outlive the call; the kernel checks the addresses, only reads the words, and
        // writes nothing but nodes, which are there for it.
        let woken =
            unsafe { libc::syscall(SYS_FUTEX_WAITV, vector.as_ptr(), vector.len(), 0, until.time(), until.clock) };
        answer(woken).map(|index| index as usize)
    }

    pub(super) fn requeue(
        from: *const u32,
        to: *const u32,
        scope: Scope,
        wake: u32,
        moved: u32,
        expected: u32,
    ) -> Result<u32, i32> {
        let operation = FUTEX_CMP_REQUEUE | private(scope);
        let (wake, moved) = (wake.min(i32::MAX as u32), moved.min(i32::MAX as u32) as usize);
        // SAFETY: the kernel checks both addresses and only reads the first word.
        answer(unsafe { libc::syscall(libc::SYS_futex, from, operation, wake, moved, to, expected) })
    }
}

#[cfg(target_os = "macos")]
mod imp {
    /// Nobody asks where there are no vectors.
    pub(super) fn times_asleep() -> u64 {
        0
    }

    use super::{Entry, Scope};
    use crate::clock::Deadline;
    use crate::futex::{self, Woken};

    pub(super) fn wait(
        address: *const u32,
        expected: u32,
        _mask: u32,
        _scope: Scope,
        deadline: Deadline,
    ) -> Result<(), i32> {
        // SAFETY: the caller's word is mapped and aligned, as in every wait.
        if unsafe { crate::atomic::load_foreign(address as usize, 4) } != u64::from(expected) {
            return Err(libc::EAGAIN);
        }
        match futex::wait(address, expected, deadline) {
            Woken::LookAgain => Ok(()),
            Woken::TimedOut => Err(libc::ETIMEDOUT),
        }
    }

    /// This system does not count.
    pub(super) fn wake(address: *const u32, count: u32, _mask: u32, _scope: Scope) -> Result<u32, i32> {
        if count > 0 {
            futex::wake(address, count);
        }
        Ok(count.min(1))
    }

    pub(super) fn wait_any_may_be_tried() -> bool {
        false
    }

    pub(super) fn wait_any(_entries: &[Entry], _deadline: Deadline) -> Result<usize, i32> {
        Err(libc::ENOSYS)
    }

    pub(super) fn requeue(
        _from: *const u32,
        _to: *const u32,
        _scope: Scope,
        _wake: u32,
        _moved: u32,
        _expected: u32,
    ) -> Result<u32, i32> {
        Err(libc::ENOSYS)
    }
}
