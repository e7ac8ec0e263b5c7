//! Futexes, with the arguments of the futex2 proposal (version 4). Its flags are translated here, and never passed on: the
//! kernel's own futex2 calls give the same bits other meanings.

use core::cell::Cell;
use core::ffi::{c_int, c_void};

use ntux_futex::{Deadline, Error, Expected, Futex, MATCH_ANY, Scope, Size, VECTOR_MAX};

use crate::boundary::{self, Refusal, call_for_number};

const SIZE: u32 = 3;
const SHARED: u32 = 8;
const REALTIME: u32 = 256;

/// `struct ntux_futex_waitv`.
#[repr(C)]
pub struct Waitv {
    val: u64,
    uaddr: *mut c_void,
    flags: u32,
}

/// `struct ntux_futex_requeue`.
#[repr(C)]
pub struct Requeue {
    uaddr: *mut c_void,
    flags: u32,
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        Refusal(error.errno())
    }
}

/// # Safety
///
/// If somebody waits for the word, or compares it, it stays readable meanwhile, once it was.
unsafe fn futex<'a>(uaddr: *mut c_void, flags: u32) -> Result<Futex<'a>, Refusal> {
    if flags & !(SIZE | SHARED) != 0 {
        return Err(Refusal(libc::EINVAL));
    }
    let size = Size::ALL[(flags & SIZE) as usize];
    let scope = if flags & SHARED != 0 { Scope::Shared } else { Scope::Private };
    // SAFETY: says the caller; C programs write futex words atomically.
    Ok(unsafe { Futex::at(uaddr.expose_provenance(), size, scope) }?)
}

/// The word that is to be compared, if it can be read: pages that this thread has met are not looked at again.
///
/// # Safety
///
/// As [`futex`].
unsafe fn expected<'a>(uaddr: *mut c_void, val: u64, flags: u32) -> Result<Expected<'a>, Refusal> {
    const PAGE: usize = 4096;
    const REMEMBERED: usize = 16;
    thread_local! {
        static PAGES: [Cell<usize>; REMEMBERED] = const { [const { Cell::new(0) }; REMEMBERED] };
    }
    // SAFETY: says the caller.
    let futex = unsafe { futex(uaddr, flags)? };
    let page = futex.address() / PAGE;
    PAGES.with(|pages| {
        let known = &pages[page % REMEMBERED];
        if known.get() != page {
            futex.probe()?;
            known.set(page);
        }
        Ok::<(), Error>(())
    })?;
    // A value that does not fit into the word differs from whatever it holds.
    Expected::new(futex, val).map_err(|_| Refusal(libc::EAGAIN))
}

/// # Safety
///
/// `timeout` is null, misaligned, or points to a time.
unsafe fn deadline(timeout: *const libc::timespec, realtime: bool) -> Result<Deadline, Refusal> {
    if timeout.is_null() {
        return Ok(Deadline::Never);
    }
    // SAFETY: says the caller.
    let time = unsafe { &boundary::array(timeout, 1)?[0] };
    let (Ok(seconds), nanoseconds @ 0..1_000_000_000) = (u64::try_from(time.tv_sec), time.tv_nsec) else {
        return Err(Refusal(libc::EINVAL));
    };
    let ns = seconds.saturating_mul(1_000_000_000).saturating_add(nanoseconds as u64);
    Ok(if realtime { Deadline::Realtime(ns) } else { Deadline::Monotonic(ns) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_futex_wait(
    uaddr: *mut c_void,
    val: u64,
    flags: u32,
    timeout: *const libc::timespec,
) -> c_int {
    call_for_number(|| {
        // SAFETY: the header asks for a word that stays and a time.
        let (expected, deadline) =
            unsafe { (expected(uaddr, val, flags & !REALTIME)?, deadline(timeout, flags & REALTIME != 0)?) };
        ntux_futex::wait(expected, MATCH_ANY, deadline)?;
        Ok(0)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_futex_wake(uaddr: *mut c_void, nr_wake: u32, flags: u32) -> c_int {
    call_for_number(|| {
        // SAFETY: the word is not read.
        let futex = unsafe { futex(uaddr, flags)? };
        Ok(ntux_futex::wake(futex, nr_wake, MATCH_ANY)?)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_futex_waitv(
    waiters: *const Waitv,
    nr_waiters: u32,
    flags: u32,
    timeout: *const libc::timespec,
) -> c_int {
    call_for_number(|| {
        if flags & !REALTIME != 0 || nr_waiters == 0 || nr_waiters as usize > VECTOR_MAX {
            return Err(Refusal(libc::EINVAL));
        }
        // SAFETY: the header asks for that many entries and a time.
        let (waiters, deadline) =
            unsafe { (boundary::array(waiters, nr_waiters)?, deadline(timeout, flags & REALTIME != 0)?) };
        let nothing = Expected::new(Futex::private(&NOTHING), 0)?;
        let mut entries = [nothing; VECTOR_MAX];
        for (entry, waiter) in entries.iter_mut().zip(waiters) {
            // SAFETY: the header asks for words that stay.
            *entry = unsafe { expected(waiter.uaddr, waiter.val, waiter.flags)? };
        }
        Ok(ntux_futex::wait_any(&entries[..waiters.len()], deadline)? as u32)
    })
}

/// Fills what a vector does not use.
static NOTHING: std::sync::atomic::AtomicU8 = std::sync::atomic::AtomicU8::new(0);

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_futex_requeue(
    from: *const Requeue,
    to: *const Requeue,
    nr_wake: u32,
    nr_requeue: u32,
    cmpval: u64,
    flags: u32,
) -> c_int {
    call_for_number(|| {
        if flags != 0 {
            return Err(Refusal(libc::EINVAL));
        }
        // SAFETY: the header asks for two words that stay; the second is not read.
        let (from, to) = unsafe {
            let (from, to) = (&boundary::array(from, 1)?[0], &boundary::array(to, 1)?[0]);
            (expected(from.uaddr, cmpval, from.flags)?, futex(to.uaddr, to.flags)?)
        };
        Ok(ntux_futex::requeue(from, to, nr_wake, nr_requeue)?)
    })
}
