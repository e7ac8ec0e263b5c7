// SPDX-License-Identifier: MIT OR Apache-2.0
//! Futexes, with the arguments of the futex2 proposal (version 4) and of the one before it (`FUTEX_WAIT_MULTIPLE`).
//! Flags are translated here, and never passed on, because the kernel's own futex2 calls give the same bits other
//! meanings.

use core::cell::Cell;
use core::ffi::{c_int, c_void};

use ntux_futex::{Deadline, Error, Expected, Futex, MATCH_ANY, Scope, Size, VECTOR_MAX};

use crate::boundary::{self, Refusal, call_for_number};

pub const SIZE: u32 = 3;
const BITS32: u32 = 2;
const SHARED: u32 = 8;
const NUMA: u32 = 16;
pub const REALTIME: u32 = 256;
/// Not in the proposal: the relative timeout of `FUTEX_WAIT_MULTIPLE` in patched kernels.
const RELATIVE: u32 = 512;

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

/// `struct ntux_futex_wait_block`.
#[repr(C)]
pub struct Block {
    uaddr: *mut c_void,
    val: u32,
    bitset: u32,
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        Refusal(error.errno())
    }
}

/// # Safety
///
/// If the word was readable once, it stays readable while threads wait for it or compare it.
unsafe fn futex<'a>(uaddr: *mut c_void, flags: u32) -> Result<Futex<'a>, Refusal> {
    if flags & !(SIZE | SHARED | NUMA) != 0 {
        return Err(Refusal(libc::EINVAL));
    }
    let (address, size) = (uaddr.expose_provenance(), Size::ALL[(flags & SIZE) as usize]);
    let scope = if flags & SHARED != 0 { Scope::Shared } else { Scope::Private };
    // SAFETY: the caller's promise; C programs write futex words atomically.
    let futex = unsafe {
        match size {
            _ if flags & NUMA == 0 => Futex::at(address, size, scope),
            Size::Bits32 => Futex::numa_at(address, scope),
            // No kernel supports these.
            _ => Err(Error::Refused),
        }
    };
    Ok(futex?)
}

/// # Safety
///
/// What [`futex`] demands.
unsafe fn expected<'a>(uaddr: *mut c_void, val: u64, flags: u32) -> Result<Expected<'a>, Refusal> {
    // SAFETY: the caller's promise.
    expect(readable(unsafe { futex(uaddr, flags)? })?, val)
}

/// A value that does not fit into the word differs from any that it can hold.
pub fn expect(futex: Futex<'_>, val: u64) -> Result<Expected<'_>, Refusal> {
    Expected::new(futex, val).map_err(|_| Refusal(libc::EAGAIN))
}

/// The futex, if its word can be read. Pages that this thread has already checked are not checked again.
pub fn readable(futex: Futex<'_>) -> Result<Futex<'_>, Refusal> {
    const PAGE: usize = 4096;
    const REMEMBERED: usize = 16;
    thread_local! {
        static PAGES: [Cell<usize>; REMEMBERED] = const { [const { Cell::new(0) }; REMEMBERED] };
    }
    let page = futex.address() / PAGE;
    if (futex.address() + futex.size().bytes() - 1) / PAGE != page {
        futex.probe()?;
        return Ok(futex);
    }
    PAGES.with(|pages| {
        let known = &pages[page % REMEMBERED];
        if known.get() != page {
            futex.probe()?;
            known.set(page);
        }
        Ok::<(), Error>(())
    })?;
    Ok(futex)
}

/// # Safety
///
/// `timeout` is null, misaligned, or points to a time.
pub unsafe fn absolute(timeout: *const libc::timespec, realtime: bool) -> Result<Deadline, Refusal> {
    // SAFETY: the caller's promise.
    Ok(match unsafe { nanoseconds(timeout)? } {
        None => Deadline::Never,
        Some(ns) if realtime => Deadline::Realtime(ns),
        Some(ns) => Deadline::Monotonic(ns),
    })
}

/// # Safety
///
/// `timeout` is null, misaligned, or points to a time.
unsafe fn nanoseconds(timeout: *const libc::timespec) -> Result<Option<u64>, Refusal> {
    if timeout.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller's promise.
    let time = unsafe { &boundary::array(timeout, 1)?[0] };
    let (Ok(seconds), nanoseconds @ 0..1_000_000_000) = (u64::try_from(time.tv_sec), time.tv_nsec) else {
        return Err(Refusal(libc::EINVAL));
    };
    Ok(Some(seconds.saturating_mul(1_000_000_000).saturating_add(nanoseconds as u64)))
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
            unsafe { (expected(uaddr, val, flags & !REALTIME)?, absolute(timeout, flags & REALTIME != 0)?) };
        ntux_futex::wait(expected, MATCH_ANY, deadline)?;
        Ok(0)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_futex_wait_spin(
    uaddr: *mut c_void,
    val: u64,
    flags: u32,
    timeout: *const libc::timespec,
) -> c_int {
    call_for_number(|| {
        // SAFETY: the header asks for a word that stays and a time.
        let (expected, deadline) =
            unsafe { (expected(uaddr, val, flags & !REALTIME)?, absolute(timeout, flags & REALTIME != 0)?) };
        ntux_futex::wait_after_spin(expected, MATCH_ANY, deadline)?;
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
            unsafe { (boundary::array(waiters, nr_waiters)?, absolute(timeout, flags & REALTIME != 0)?) };
        let nothing = Expected::new(Futex::private(&NOTHING), 0)?;
        let mut entries = [nothing; VECTOR_MAX];
        for (entry, waiter) in entries.iter_mut().zip(waiters) {
            // SAFETY: the header asks for words that stay.
            *entry = unsafe { expected(waiter.uaddr, waiter.val, waiter.flags)? };
        }
        Ok(ntux_futex::wait_any(&entries[..waiters.len()], deadline)? as u32)
    })
}

/// Fills the unused part of a vector.
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

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_futex_wait_multiple(
    blocks: *const Block,
    count: u32,
    flags: u32,
    timeout: *const libc::timespec,
) -> c_int {
    call_for_number(|| {
        let is_relative = match flags & (REALTIME | RELATIVE) {
            _ if flags & !(SHARED | REALTIME | RELATIVE) != 0 => return Err(Refusal(libc::EINVAL)),
            RELATIVE => true,
            0 | REALTIME => false,
            _ => return Err(Refusal(libc::EINVAL)),
        };
        if count == 0 || count as usize > VECTOR_MAX {
            return Err(Refusal(libc::EINVAL));
        }
        // SAFETY: the header asks for that many blocks and a time.
        let (blocks, deadline) = unsafe {
            let deadline = match is_relative {
                true => nanoseconds(timeout)?.map_or(Deadline::Never, Deadline::after_ns),
                false => absolute(timeout, flags & REALTIME != 0)?,
            };
            (boundary::array(blocks, count)?, deadline)
        };
        let nothing = Expected::new(Futex::private(&NOTHING), 0)?;
        let mut entries = [(nothing, MATCH_ANY); VECTOR_MAX];
        for (entry, block) in entries.iter_mut().zip(blocks) {
            // SAFETY: the header asks for words that stay.
            let expected = unsafe { expected(block.uaddr, block.val.into(), BITS32 | flags & SHARED)? };
            *entry = (expected, block.bitset);
        }
        Ok(ntux_futex::wait_multiple(&entries[..blocks.len()], deadline)? as u32)
    })
}
