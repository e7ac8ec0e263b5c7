// SPDX-License-Identifier: MIT OR Apache-2.0
//! Futex domains: create, attach, descriptor, detach; wait, wake and requeue by place.

use core::ffi::{c_int, c_void};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use ntux_futex::{Capacity, Domain, Expected, Futex, MATCH_ANY, Scope, Size, VECTOR_MAX};

use crate::boundary::{self, Place, Refusal, call, call_for_number};
use crate::futex::{REALTIME, SIZE, absolute, expect, readable};

/// `struct ntux_futex_domain_word`.
#[repr(C)]
pub struct Word {
    place: u64,
    val: u64,
    uaddr: *mut c_void,
    flags: u32,
    bitset: u32,
}

/// The error number for a domain that could not be created or attached.
fn no_domain(error: io::Error) -> Refusal {
    Refusal(error.raw_os_error().unwrap_or(match error.kind() {
        io::ErrorKind::InvalidData => libc::ENOTTY,
        io::ErrorKind::Unsupported => libc::ENOSYS,
        _ => libc::EINVAL,
    }))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_futex_domain_create(waiters: u32, domain: *mut *mut Domain) -> c_int {
    /// As for an arena.
    const WAITERS_MAX: u32 = 65_536;
    call(|| {
        // SAFETY: the header asks for a place that may be written.
        let place = unsafe { Place::required(domain)? };
        if !(1..=WAITERS_MAX).contains(&waiters) {
            return Err(Refusal(libc::EINVAL));
        }
        place.put(hand_out(Domain::create(Capacity::for_waiters(waiters)).map_err(no_domain)?));
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_futex_domain_attach(fd: c_int, domain: *mut *mut Domain) -> c_int {
    call(|| {
        // SAFETY: the header asks for a place that may be written.
        let place = unsafe { Place::required(domain)? };
        if fd < 0 {
            return Err(Refusal(libc::EBADF));
        }
        // SAFETY: not -1; if it is not open the system says so, and it is borrowed for this call only.
        let fd = unsafe { BorrowedFd::borrow_raw(fd) };
        let own = fd.try_clone_to_owned().map_err(no_domain)?;
        place.put(hand_out(Domain::attach(own).map_err(no_domain)?));
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_futex_domain_fd(domain: *const Domain) -> c_int {
    call_for_number(|| {
        // SAFETY: the header asks for an attached domain.
        Ok(unsafe { boundary::domain(domain)? }.descriptor().as_raw_fd() as u32)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_futex_domain_detach(domain: *mut Domain) -> c_int {
    call(|| {
        // SAFETY: the header asks for an attached domain.
        unsafe { boundary::domain(domain)? };
        // SAFETY: it came from `hand_out`, and the header forbids to use it again.
        drop(unsafe { Box::from_raw(domain) });
        Ok(())
    })
}

/// Gives the domain to C, until `ntux_futex_domain_detach`.
fn hand_out(domain: Domain) -> *mut Domain {
    Box::into_raw(Box::new(domain))
}

fn size(flags: u32) -> Result<Size, Refusal> {
    Size::ALL.get(flags as usize).copied().filter(|_| flags & !SIZE == 0).ok_or(Refusal(libc::EINVAL))
}

/// The futex at a place, for operations that do not read its word.
fn at_place(domain: &Domain, place: u64, flags: u32) -> Result<Futex<'_>, Refusal> {
    /// Stands in for the word.
    static NOTHING: u64 = 0;
    // SAFETY: readable for ever, and as long as the longest word.
    let futex = unsafe { Futex::at((&raw const NOTHING).expose_provenance(), size(flags)?, Scope::Shared)? };
    Ok(futex.served_by(domain, place)?)
}

/// # Safety
///
/// If the word was readable once, it stays readable while threads wait for it or compare it.
unsafe fn expected<'a>(domain: &'a Domain, word: &Word) -> Result<Expected<'a>, Refusal> {
    // SAFETY: the caller's promise; C programs write futex words atomically.
    let futex = unsafe { Futex::at(word.uaddr.expose_provenance(), size(word.flags)?, Scope::Shared)? };
    expect(readable(futex)?.served_by(domain, word.place)?, word.val)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_futex_domain_wait(
    domain: *const Domain,
    words: *const Word,
    count: u32,
    flags: u32,
    timeout: *const libc::timespec,
) -> c_int {
    call_for_number(|| {
        if flags & !REALTIME != 0 || count == 0 || count as usize > VECTOR_MAX {
            return Err(Refusal(libc::EINVAL));
        }
        // SAFETY: the header asks for an attached domain, that many words, and a time.
        let (domain, words, deadline) = unsafe {
            (boundary::domain(domain)?, boundary::array(words, count)?, absolute(timeout, flags & REALTIME != 0)?)
        };
        let nothing = Expected::new(at_place(domain, 0, 0)?, 0)?;
        let mut blocks = [(nothing, MATCH_ANY); VECTOR_MAX];
        for (block, word) in blocks.iter_mut().zip(words) {
            // SAFETY: the header asks for words that stay.
            *block = (unsafe { expected(domain, word)? }, word.bitset);
        }
        Ok(ntux_futex::wait_multiple(&blocks[..words.len()], deadline)? as u32)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_futex_domain_wake(
    domain: *const Domain,
    place: u64,
    nr_wake: u32,
    flags: u32,
    bitset: u32,
) -> c_int {
    call_for_number(|| {
        // SAFETY: the header asks for an attached domain.
        let domain = unsafe { boundary::domain(domain)? };
        Ok(ntux_futex::wake(at_place(domain, place, flags)?, nr_wake, bitset)?)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_futex_domain_requeue(
    domain: *const Domain,
    from: *const Word,
    to_place: u64,
    to_flags: u32,
    nr_wake: u32,
    nr_requeue: u32,
) -> c_int {
    call_for_number(|| {
        // SAFETY: the header asks for an attached domain and a word that stays.
        let (domain, from) = unsafe {
            let domain = boundary::domain(domain)?;
            (domain, expected(domain, &boundary::array(from, 1)?[0])?)
        };
        Ok(ntux_futex::requeue(from, at_place(domain, to_place, to_flags)?, nr_wake, nr_requeue)?)
    })
}
