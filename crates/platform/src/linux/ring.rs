// SPDX-License-Identifier: MIT OR Apache-2.0
//! A ring of io_uring that sleeps on one word. Its descriptor is readable while a result is in it.
//!
//! # Picture
//! ```text
//!  arm:   [cancel what sleeps]   sleep on the word, turn n  --linked-->  time of turn n        one call
//!         then: drop all results of earlier turns, which makes the ring unreadable
//!
//!  results:  | n - 1 cancelled | n - 1 time cancelled | n woken | n time cancelled |
//!                                                       ^ a result of turn n stays: readable
//! ```
//! # Rules
//! * Results of earlier turns are dropped by who arms, and only before the first one of its own turn. One that comes later makes the ring readable,
//!   although nothing has happened: whoever looks arms again.
//! * The sleep of the last turn serves for this one, too, if it goes on, for the same word and time: no call is made. The word is compared here
//!   then: a change before that is seen, and one after that wakes a sleeper, which this sleep is.
//! * At most one sleep of the ring goes on: who arms cancels all that do, unless the sleep of the last turn has its result, and that was the only
//!   one. A time can have its result while its sleep goes on (before Linux 6.16, if the thread that armed has ended), and a call that was
//!   refused may have begun a sleep. A sleep that was left would be in front of the next one, take a wake, and its result would be dropped.
//! * Nothing waits for a cancellation to be complete: a request is completed by the thread that has made it, which may be stopped.
//! * A request belongs to the thread that armed. If that ends, the kernel cancels the request, which is a result. Until it runs, there is no
//!   result, and the ring is unreadable.
//! * The kernel interrupts the thread that armed for a moment when the sleep ends, and each thread that ever armed some time after the ring was
//!   closed (`io_ring_exit_work`): calls that are not restarted (`epoll_wait`) can fail with `EINTR`.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::Linux;
use super::deadly::Call;
use crate::clock::Deadline;
use crate::futex;
use crate::wake_descriptor::{Awaited, Ring, Rings, WhyNot};

#[cfg(test)]
mod tests;

const SYS_IO_URING_SETUP: libc::c_long = 425;
const SYS_IO_URING_ENTER: libc::c_long = 426;

const SETUP_CQSIZE: u32 = 1 << 3;
const SETUP_SUBMIT_ALL: u32 = 1 << 7;
/// Linux 6.6. So an older one, which has no sleep on words, refuses the ring.
const SETUP_NO_SQARRAY: u32 = 1 << 16;
const OFFSET_RINGS: libc::off_t = 0;
const OFFSET_REQUESTS: libc::off_t = 0x1000_0000;
const ENTER_GETEVENTS: u32 = 1;

const OP_NOP: u8 = 0;
const OP_ASYNC_CANCEL: u8 = 14;
const OP_LINK_TIMEOUT: u8 = 15;
const OP_FUTEX_WAIT: u8 = 51;
/// The next request ends this one, or is ended by it.
const REQUEST_LINK: u8 = 1 << 2;
/// No result if it succeeds.
const REQUEST_NO_RESULT: u8 = 1 << 6;
const CANCEL_ALL: u32 = 1;
/// Whatever the request is.
const CANCEL_ANY: u32 = 1 << 2;
const TIMEOUT_ABSOLUTE: u32 = 1;
const TIMEOUT_REALTIME: u32 = 1 << 3;
/// 32 bits, shared.
const FUTEX_OF_PROCESSES: i32 = 2;
const MATCH_ANY: u64 = u32::MAX as u64;

/// The most requests of one call.
const REQUESTS: u32 = 4;
/// Room for results; more would wait in the kernel.
const RESULTS: u32 = 32;

/// `struct io_uring_params`
#[repr(C)]
#[derive(Default)]
struct Parameters {
    requests: u32,
    results: u32,
    flags: u32,
    thread: [u32; 2],
    features: u32,
    wq_fd: u32,
    reserved: [u32; 3],
    of_requests: RequestOffsets,
    of_results: ResultOffsets,
}

/// `struct io_sqring_offsets`
#[repr(C)]
#[derive(Default)]
struct RequestOffsets {
    head: u32,
    tail: u32,
    mask: u32,
    entries: u32,
    flags: u32,
    dropped: u32,
    array: u32,
    reserved: u32,
    address: u64,
}

/// `struct io_cqring_offsets`
#[repr(C)]
#[derive(Default)]
struct ResultOffsets {
    head: u32,
    tail: u32,
    mask: u32,
    entries: u32,
    overflow: u32,
    results: u32,
    flags: u32,
    reserved: u32,
    address: u64,
}

/// `struct io_uring_sqe`
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Request {
    operation: u8,
    flags: u8,
    priority: u16,
    fd: i32,
    offset: u64,
    address: u64,
    length: u32,
    operation_flags: u32,
    part: u64,
    buffer: u16,
    personality: u16,
    file: i32,
    third_address: u64,
    unused: u64,
}

/// `struct io_uring_cqe`
#[repr(C)]
#[derive(Clone, Copy)]
struct Outcome {
    part: u64,
    result: i32,
    flags: u32,
}

/// `struct __kernel_timespec`
#[repr(C)]
struct Time {
    seconds: i64,
    nanoseconds: i64,
}

const _: () = assert!(size_of::<Parameters>() == 120 && size_of::<Request>() == 64 && size_of::<Outcome>() == 16);

/// A ring.
pub struct IoUring {
    fd: OwnedFd,
    rings: Mapped,
    requests: Mapped,
    offsets: Parameters,
    state: Mutex<State>,
}

/// What was submitted last.
struct State {
    /// Counts the armings that made a call. 0 is the turn of cancellations.
    turn: u64,
    awaited: Option<Awaited>,
    /// The last call was refused, perhaps after it had begun a sleep.
    was_refused: bool,
}

/// A turn consists of a sleep, and perhaps of a time, which end by results of their own.
fn sleep_of(turn: u64) -> u64 {
    turn << 1
}

fn time_of(turn: u64) -> u64 {
    turn << 1 | 1
}

fn turn_of(part: u64) -> u64 {
    part >> 1
}

impl Rings for Linux {
    type Ring = IoUring;

    fn open_ring() -> Result<IoUring, WhyNot> {
        /// No such descriptor.
        const NONE: usize = usize::MAX;
        static CALLS: [Call; 2] = [Call::new(SYS_IO_URING_SETUP, [0, 0]), Call::new(SYS_IO_URING_ENTER, [NONE, 0])];
        if Call::any_is_deadly(&CALLS) {
            return Err(WhyNot::Deadly);
        }
        match IoUring::new().map_err(|error| error.raw_os_error().unwrap_or(libc::EIO)) {
            Ok(ring) => Ok(ring),
            Err(libc::EINVAL) => Err(WhyNot::NoSleep),
            Err(number) => Err(WhyNot::Refused(number)),
        }
    }
}

impl Ring for IoUring {
    unsafe fn arm(&self, awaited: Awaited) -> io::Result<()> {
        let mut state = self.lock();
        let State { turn: before, awaited: last, was_refused } = *state;
        let goes_on = !was_refused && !self.results().any(|(_, part)| turn_of(part) == before);
        if goes_on && last.is_some_and(|last| (last.word, last.due) == (awaited.word, awaited.due)) {
            self.drop_results_before(before);
            // SAFETY: mapped and aligned by the contract.
            if unsafe { awaited.holds() } {
                return Ok(());
            }
        }
        let turn = before + 1;
        let sleeps = was_refused || (last.is_some() && !self.results().any(|(_, part)| part == sleep_of(before)));
        // The time is read by the call.
        let time = time_at(awaited.due);
        let sleep = sleep(&awaited, turn, time.is_some());
        let until = time.as_ref().map(|(time, clock)| until(time, *clock, turn));
        let submitted = self.submit([sleeps.then(cancellation), Some(sleep), until]);
        *state = State { turn, awaited: Some(awaited), was_refused: submitted.is_err() };
        submitted?;
        self.drop_results_before(turn);
        Ok(())
    }

    fn raise(&self) -> io::Result<()> {
        let state = self.lock();
        // A result of this turn, which is not that of the sleep: who arms next cancels that.
        let nothing = Request { operation: OP_NOP, part: time_of(state.turn), ..Request::default() };
        self.submit([Some(nothing), None, None])
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Drop for IoUring {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(last) = state.awaited.take() {
            // From here on it does not sleep, also if a child has a copy of the descriptor.
            let _ = self.submit([Some(cancellation()), None, None]);
            // I-wakefd-3
            futex::wake(last.word, 1);
        }
    }
}

impl IoUring {
    fn new() -> io::Result<IoUring> {
        let flags = SETUP_CQSIZE | SETUP_SUBMIT_ALL | SETUP_NO_SQARRAY;
        let mut offsets = Parameters { results: RESULTS, flags, ..Parameters::default() };
        // SAFETY: the parameters are valid for reading and writing.
        let fd = unsafe { libc::syscall(SYS_IO_URING_SETUP, REQUESTS, &raw mut offsets) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: new, and nobody else has it. The kernel makes it close-on-exec.
        let fd = unsafe { OwnedFd::from_raw_fd(fd as i32) };
        let results_end = offsets.of_results.results as usize + offsets.results as usize * size_of::<Outcome>();
        let rings = Mapped::new(&fd, OFFSET_RINGS, results_end)?;
        let requests = Mapped::new(&fd, OFFSET_REQUESTS, offsets.requests as usize * size_of::<Request>())?;
        let state = Mutex::new(State { turn: 0, awaited: None, was_refused: false });
        Ok(IoUring { fd, rings, requests, offsets, state })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes these requests, in this order, in one call.
    fn submit(&self, requests: [Option<Request>; 3]) -> io::Result<()> {
        let (head, tail) =
            (self.rings.word(self.offsets.of_requests.head), self.rings.word(self.offsets.of_requests.tail));
        // All earlier ones were taken, or taken back.
        let first = head.load(Ordering::Acquire);
        let mut count = 0;
        for request in requests.into_iter().flatten() {
            let index = first.wrapping_add(count) & (self.offsets.requests - 1);
            self.requests.write(index, request);
            count += 1;
        }
        tail.store(first.wrapping_add(count), Ordering::Release);
        // SAFETY: numbers, and requests that name memory as the operations ask for: the word, and a time that outlives the call.
        let taken = unsafe {
            libc::syscall(
                SYS_IO_URING_ENTER,
                self.fd.as_raw_fd(),
                count,
                0,
                ENTER_GETEVENTS,
                core::ptr::null::<libc::sigset_t>(),
                0usize,
            )
        };
        if taken == libc::c_long::from(count) {
            return Ok(());
        }
        let error = if taken < 0 { io::Error::last_os_error() } else { io::Error::from_raw_os_error(libc::EAGAIN) };
        tail.store(head.load(Ordering::Acquire), Ordering::Release);
        Err(error)
    }

    /// What the results are of that nobody has dropped, with their places.
    fn results(&self) -> impl Iterator<Item = (u32, u64)> {
        let offsets = &self.offsets.of_results;
        let head = self.rings.word(offsets.head).load(Ordering::Relaxed);
        let tail = self.rings.word(offsets.tail).load(Ordering::Acquire);
        let count = tail.wrapping_sub(head).min(self.offsets.results);
        (0..count).map(move |step| {
            let place = head.wrapping_add(step);
            (place, self.rings.outcome(offsets.results, place & (self.offsets.results - 1)).part)
        })
    }

    /// Drops results up to the first one of this turn.
    fn drop_results_before(&self, turn: u64) {
        let dropped = self.results().take_while(|&(_, part)| turn_of(part) != turn).last();
        if let Some((place, _)) = dropped {
            self.rings.word(self.offsets.of_results.head).store(place.wrapping_add(1), Ordering::Release);
        }
    }
}

/// Ends all sleeps of the ring.
fn cancellation() -> Request {
    let operation_flags = CANCEL_ALL | CANCEL_ANY;
    Request { operation: OP_ASYNC_CANCEL, flags: REQUEST_NO_RESULT, fd: -1, operation_flags, ..Request::default() }
}

/// Sleeps on the word.
fn sleep(awaited: &Awaited, turn: u64, has_time: bool) -> Request {
    Request {
        operation: OP_FUTEX_WAIT,
        flags: if has_time { REQUEST_LINK } else { 0 },
        fd: FUTEX_OF_PROCESSES,
        address: awaited.word as u64,
        offset: awaited.expected.into(),
        third_address: MATCH_ANY,
        part: sleep_of(turn),
        ..Request::default()
    }
}

/// Ends the sleep before it at this time.
fn until(time: &Time, clock: u32, turn: u64) -> Request {
    Request {
        operation: OP_LINK_TIMEOUT,
        fd: -1,
        address: core::ptr::from_ref(time) as u64,
        length: 1,
        operation_flags: TIMEOUT_ABSOLUTE | clock,
        part: time_of(turn),
        ..Request::default()
    }
}

/// The time, and the flag of its clock.
fn time_at(due: Deadline) -> Option<(Time, u32)> {
    let time = |ns: u64| Time { seconds: (ns / 1_000_000_000) as i64, nanoseconds: (ns % 1_000_000_000) as i64 };
    match due {
        Deadline::Never => None,
        Deadline::Monotonic(ns) => Some((time(ns), 0)),
        Deadline::Realtime(ns) => Some((time(ns), TIMEOUT_REALTIME)),
    }
}

/// Memory that is shared with the kernel. A forked child does not have it.
struct Mapped {
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: memory of the process's, of which the words that change are accessed as such, and the rest under a lock.
unsafe impl Send for Mapped {}
// SAFETY: the same.
unsafe impl Sync for Mapped {}

impl Mapped {
    fn new(fd: &OwnedFd, offset: libc::off_t, length: usize) -> io::Result<Mapped> {
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_POPULATE);
        // SAFETY: a new mapping.
        let start = unsafe { libc::mmap(core::ptr::null_mut(), length, access, kind, fd.as_raw_fd(), offset) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast::<u8>()).ok_or(io::ErrorKind::OutOfMemory)?;
        let mapped = Mapped { start, length };
        // SAFETY: the mapping above.
        match unsafe { libc::madvise(start.as_ptr().cast(), length, libc::MADV_DONTFORK) } {
            0 => Ok(mapped),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// The address of a `T` at this offset.
    fn at<T>(&self, offset: usize) -> *mut T {
        assert!(offset.is_multiple_of(align_of::<T>()) && offset + size_of::<T>() <= self.length, "within the mapping");
        // SAFETY: within the mapping.
        unsafe { self.start.as_ptr().add(offset).cast() }
    }

    /// A word that the kernel reads or writes.
    fn word(&self, offset: u32) -> &AtomicU32 {
        // SAFETY: mapped as long as `self` lives, and aligned; both sides access it atomically.
        unsafe { AtomicU32::from_ptr(self.at(offset as usize)) }
    }

    /// Writes a request, under the lock.
    fn write(&self, index: u32, request: Request) {
        // SAFETY: in bounds and aligned; the kernel reads it only after the tail has passed it, nobody else.
        unsafe { self.at::<Request>(index as usize * size_of::<Request>()).write(request) }
    }

    /// A result, before whose place the kernel's tail is.
    fn outcome(&self, results: u32, index: u32) -> Outcome {
        // SAFETY: in bounds and aligned; the kernel writes it again only after the head has passed it, under the lock.
        unsafe { self.at::<Outcome>(results as usize + index as usize * size_of::<Outcome>()).read() }
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: mapped by `new`; nobody has a reference.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.length) };
    }
}
