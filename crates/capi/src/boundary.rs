// SPDX-License-Identifier: MIT OR Apache-2.0
//! The boundary to C: every pointer is checked here, and no panic crosses it.

use core::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};

use ntux::{Arena, Error};
use ntux_sync::{Object, Signal};

/// Why a call fails: a positive error number.
#[derive(Clone, Copy)]
pub struct Refusal(pub c_int);

impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        Refusal(error.errno())
    }
}

/// The object is of another kind than the function is for.
pub const ANOTHER_KIND: Refusal = Refusal(libc::EPROTOTYPE);
/// There is no such owner.
pub const NO_OWNER: Refusal = Refusal(libc::ESRCH);

/// Why an operation on one object failed whose other arguments are right.
#[cold]
pub fn of_object(error: Error) -> Refusal {
    if error == Error::Invalid { ANOTHER_KIND } else { error.into() }
}

/// Refuses 0, which nobody is.
#[inline]
pub fn owner(owner: u32) -> Result<u32, Refusal> {
    if owner == 0 { Err(NO_OWNER) } else { Ok(owner) }
}

/// An operation on one object that takes one exchange, and nothing else. `None` if nothing has happened, whatever the reason: then
/// the body of the function does it, and says why not. Nothing here can panic, so it is before [`call`], whose frame costs as much
/// as the operation.
///
/// # Safety
///
/// What [`arena`] and [`Place::optional`] demand.
#[inline(always)]
pub unsafe fn signal_at_once(pointer: *const Arena, object: u64, signal: Signal, previous: *mut u32) -> Option<c_int> {
    // SAFETY: by the contract.
    let (arena, place) = unsafe { (arena(pointer).ok()?, Place::optional(previous).ok()?) };
    place.put(arena.at_once(|core, waiter| core.signal_at_once(waiter, Object(object), signal))?);
    Some(0)
}

/// Runs the body of one function of the header. Returns 0, or the negative error number.
///
/// A panic is a bug in ntux; C gets `ENOTRECOVERABLE`, which nothing else returns.
#[inline]
pub fn call(body: impl FnOnce() -> Result<(), Refusal>) -> c_int {
    call_for_number(|| body().map(|()| 0))
}

/// Runs the body of one function of the header that returns a number. Returns it, clamped to the largest `int`, or the negative error
/// number. Not inlined: so what a function does at once, before it, saves no registers for it.
#[inline(never)]
pub fn call_for_number(body: impl FnOnce() -> Result<u32, Refusal>) -> c_int {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(number)) => number.min(c_int::MAX as u32) as c_int,
        Ok(Err(Refusal(errno))) => -errno,
        Err(_) => -libc::ENOTRECOVERABLE,
    }
}

/// Checks a pointer that C passed: `EFAULT` if it is null, `EINVAL` if it is misaligned.
#[inline]
fn check<T>(pointer: *const T) -> Result<(), Refusal> {
    if pointer.is_null() {
        return Err(Refusal(libc::EFAULT));
    }
    if !pointer.is_aligned() {
        return Err(Refusal(libc::EINVAL));
    }
    Ok(())
}

/// # Safety
///
/// `pointer` is null, misaligned, or came from this library and is not detached during `'a`.
#[inline]
pub unsafe fn arena<'a>(pointer: *const Arena) -> Result<&'a Arena, Refusal> {
    check(pointer)?;
    // SAFETY: neither null nor misaligned, so by the contract an attached arena that outlives `'a`.
    Ok(unsafe { &*pointer })
}

/// # Safety
///
/// `pointer` is null, misaligned, or points to `count` values that nobody writes during `'a`.
#[inline]
pub unsafe fn array<'a, T>(pointer: *const T, count: u32) -> Result<&'a [T], Refusal> {
    if count == 0 {
        return Ok(&[]);
    }
    check(pointer)?;
    // SAFETY: neither null nor misaligned, so by the contract it points to that many values.
    Ok(unsafe { core::slice::from_raw_parts(pointer, count as usize) })
}

/// The bytes of a string before its end, or one more than `most` of them.
///
/// # Safety
///
/// `pointer` is null, or points to bytes that nobody writes during `'a`: up to one that is 0, or more than `most`.
pub unsafe fn string<'a>(pointer: *const core::ffi::c_char, most: usize) -> Result<&'a [u8], Refusal> {
    check(pointer)?;
    // SAFETY: not null, so by the contract the bytes up to the first 0 may be read, or the first `most + 1`.
    let length = (0..=most).take_while(|at| unsafe { *pointer.add(*at) } != 0).count();
    // SAFETY: the same.
    Ok(unsafe { core::slice::from_raw_parts(pointer.cast(), length) })
}

/// # Safety
///
/// `pointer` is null, misaligned, or came from `ntux_watch_open` and is not closed during `'a`.
pub unsafe fn watcher<'a>(pointer: *const ntux_watch::Watcher) -> Result<&'a ntux_watch::Watcher, Refusal> {
    check(pointer)?;
    // SAFETY: neither null nor misaligned, so by the contract an open watcher that outlives `'a`.
    Ok(unsafe { &*pointer })
}

/// # Safety
///
/// `pointer` is null, misaligned, or came from this library and is not detached during `'a`.
pub unsafe fn domain<'a>(pointer: *const ntux_futex::Domain) -> Result<&'a ntux_futex::Domain, Refusal> {
    check(pointer)?;
    // SAFETY: neither null nor misaligned, so by the contract an attached domain that outlives `'a`.
    Ok(unsafe { &*pointer })
}

/// Room for results.
///
/// # Safety
///
/// `pointer` is null, misaligned, or has room for `count` values, which are integers and which nobody else uses during
/// `'a`. The memory need not be writable before it is written.
pub unsafe fn room<'a, T>(pointer: *mut T, count: usize) -> Result<&'a mut [T], Refusal> {
    if count == 0 {
        return Ok(&mut []);
    }
    check(pointer)?;
    if count > isize::MAX as usize / size_of::<T>() {
        return Err(Refusal(libc::EINVAL));
    }
    // SAFETY: neither null nor misaligned, and not longer than a slice may be, so by the contract there is room.
    Ok(unsafe { core::slice::from_raw_parts_mut(pointer, count) })
}

/// A place for a result. It is checked before the operation, so that a bad one changes nothing.
pub struct Place<T>(*mut T);

impl<T> Place<T> {
    /// Checks a place that the caller must provide.
    ///
    /// # Safety
    ///
    /// `pointer` is null, misaligned, or may be written as long as the place exists.
    #[inline]
    pub unsafe fn required(pointer: *mut T) -> Result<Place<T>, Refusal> {
        check(pointer)?;
        Ok(Place(pointer))
    }

    /// Checks a place that may be null, if the caller does not want the result.
    ///
    /// # Safety
    ///
    /// Null, or what [`Place::required`] demands.
    #[inline]
    pub unsafe fn optional(pointer: *mut T) -> Result<Place<T>, Refusal> {
        if !pointer.is_null() {
            check(pointer)?;
        }
        Ok(Place(pointer))
    }

    #[inline]
    pub fn put(self, value: T) {
        if !self.0.is_null() {
            // SAFETY: aligned, and the creator of this place promised that it may be written.
            unsafe { self.0.write(value) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_error_number() {
        assert_eq!(call(|| panic!("planted, to be caught")), -libc::ENOTRECOVERABLE);
        assert_eq!(call(|| Err(Refusal(libc::EPERM))), -libc::EPERM);
        assert_eq!(call(|| Ok(())), 0);
    }
}
