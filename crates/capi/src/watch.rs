// SPDX-License-Identifier: MIT OR Apache-2.0
//! Write watches.

use core::ffi::{CStr, c_char, c_int, c_void};
use std::io::{self, IoSliceMut};
use std::os::fd::BorrowedFd;

use ntux_platform::protection;
use ntux_platform::watching::transfer;
use ntux_watch::{Error, Mechanism, Protection, Range, Reset, Run, Watcher, page_size};

use crate::boundary::{self, Place, Refusal, call};

impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        Refusal(error.errno())
    }
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Refusal {
        Refusal(error.raw_os_error().unwrap_or(libc::EIO))
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_watch_open(mechanism: *const c_char, watcher: *mut *mut Watcher) -> c_int {
    call(|| {
        // SAFETY: the header asks for a place that may be written.
        let place = unsafe { Place::required(watcher)? };
        let opened = if mechanism.is_null() {
            Watcher::new()?
        } else {
            // SAFETY: not null, so by the header a terminated string.
            let name = unsafe { CStr::from_ptr(mechanism) }.to_str().map_err(|_| Refusal(libc::EINVAL))?;
            Watcher::with(Mechanism::named(name).ok_or(Refusal(libc::EINVAL))?)?
        };
        place.put(Box::into_raw(Box::new(opened)));
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_watch_close(watcher: *mut Watcher) -> c_int {
    call(|| {
        // SAFETY: the header asks for an open watcher.
        if unsafe { boundary::watcher(watcher)? }.has_regions()? {
            return Err(Refusal(libc::EBUSY));
        }
        // SAFETY: it came from `ntux_watch_open`, and the header forbids to use it again.
        drop(unsafe { Box::from_raw(watcher) });
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_watch_reserve(watcher: *const Watcher, length: usize, base: *mut *mut c_void) -> c_int {
    call(|| {
        // SAFETY: the header asks for an open watcher and a place that may be written.
        let (watcher, place) = unsafe { (boundary::watcher(watcher)?, Place::required(base)?) };
        place.put(watcher.reserve(length)?.keep().start as *mut c_void);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_watch_add(watcher: *const Watcher, base: *mut c_void, length: usize) -> c_int {
    call(|| {
        // SAFETY: the header asks for an open watcher.
        let watcher = unsafe { boundary::watcher(watcher)? };
        // SAFETY: the header asks that the protection is left alone.
        unsafe { watcher.watch(Range::new(base as usize, length)) }?.keep();
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_watch_release(watcher: *const Watcher, base: *mut c_void) -> c_int {
    // SAFETY: the header asks for an open watcher, and says that the memory is unmapped.
    call(|| unsafe { Ok(boundary::watcher(watcher)?.release(base as usize)?) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_watch_commit(
    watcher: *const Watcher,
    base: *mut c_void,
    length: usize,
    protection: u32,
) -> c_int {
    call(|| {
        // SAFETY: the header asks for an open watcher.
        let watcher = unsafe { boundary::watcher(watcher)? };
        Ok(watcher.commit(Range::new(base as usize, length), allowed(protection)?)?)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_watch_decommit(watcher: *const Watcher, base: *mut c_void, length: usize) -> c_int {
    // SAFETY: the header asks for an open watcher, and says that the contents are lost.
    call(|| unsafe { Ok(boundary::watcher(watcher)?.decommit(Range::new(base as usize, length))?) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_watch_protect(
    watcher: *const Watcher,
    base: *mut c_void,
    length: usize,
    protection: u32,
) -> c_int {
    call(|| {
        // SAFETY: the header asks for an open watcher.
        let watcher = unsafe { boundary::watcher(watcher)? };
        // SAFETY: the C program answers for its own memory.
        Ok(unsafe { watcher.protect(Range::new(base as usize, length), allowed(protection)?) }?)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_watch_get(
    watcher: *const Watcher,
    flags: u32,
    base: *const c_void,
    length: usize,
    addresses: *mut usize,
    count: *mut usize,
    granularity: *mut u32,
) -> c_int {
    call(|| {
        // SAFETY: the header asks for an open watcher and places that may be written.
        let watcher = unsafe { boundary::watcher(watcher)? };
        // SAFETY: as above.
        let (listed, bytes) = unsafe { (Place::required(count)?, Place::required(granularity)?) };
        // SAFETY: neither null nor misaligned, so by the header it holds the number.
        let room = unsafe { count.read() };
        if room == 0 || length == 0 {
            return Err(Refusal(libc::EINVAL));
        }
        let reset = reset(flags)?;
        let room = room.min(length / page_size() + 2);
        // SAFETY: the header asks for so much room.
        let addresses = unsafe { boundary::room(addresses, room)? };
        writable(watcher, addresses)?;
        listed.put(watcher.get(Range::new(base as usize, length), addresses, reset)?);
        bytes.put(page_size() as u32);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_watch_reset(watcher: *const Watcher, base: *const c_void, length: usize) -> c_int {
    // SAFETY: the header asks for an open watcher.
    call(|| Ok(unsafe { boundary::watcher(watcher)? }.reset(Range::new(base as usize, length))?))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_watch_get_runs(
    watcher: *const Watcher,
    flags: u32,
    ranges: *const Run,
    range_count: usize,
    runs: *mut Run,
    count: *mut usize,
) -> c_int {
    call(|| {
        // SAFETY: the header asks for an open watcher, so many ranges, and places that may be written.
        let (watcher, listed) = unsafe { (boundary::watcher(watcher)?, Place::required(count)?) };
        let range_count = u32::try_from(range_count).map_err(|_| Refusal(libc::EINVAL))?;
        // SAFETY: as above.
        let (ranges, room) = unsafe { (boundary::array(ranges, range_count)?, *count) };
        if room == 0 {
            return Err(Refusal(libc::EINVAL));
        }
        let reset = reset(flags)?;
        // SAFETY: as above.
        let runs = unsafe { boundary::room(runs, room)? };
        writable(watcher, runs)?;
        let ranges: Vec<Range> = ranges.iter().map(|range| Range::new(range.start, range.length)).collect();
        listed.put(watcher.get_batch_into(&ranges, reset, runs)?);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_watch_get_bitmap(
    watcher: *const Watcher,
    flags: u32,
    base: *const c_void,
    length: usize,
    bitmap: *mut u64,
    words: usize,
) -> c_int {
    call(|| {
        // SAFETY: the header asks for an open watcher.
        let watcher = unsafe { boundary::watcher(watcher)? };
        if length == 0 || words == 0 {
            return Err(Refusal(libc::EINVAL));
        }
        let reset = reset(flags)?;
        // SAFETY: the header asks for so many words.
        let bitmap = unsafe { boundary::room(bitmap, words)? };
        writable(watcher, bitmap)?;
        Ok(watcher.get_bitmap(Range::new(base as usize, length), bitmap, reset)?)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_watch_read(
    watcher: *const Watcher,
    fd: c_int,
    buffer: *mut u8,
    length: usize,
    done: *mut usize,
) -> c_int {
    // SAFETY: the header asks for an open watcher, a valid buffer and a place that may be written.
    unsafe { transfer_into(watcher, fd, buffer, length, done, |watcher, fd, buffer| watcher.read_into(fd, buffer)) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_watch_recv(
    watcher: *const Watcher,
    fd: c_int,
    buffer: *mut u8,
    length: usize,
    flags: c_int,
    done: *mut usize,
) -> c_int {
    // SAFETY: the header asks for an open watcher, a valid buffer and a place that may be written.
    unsafe {
        transfer_into(watcher, fd, buffer, length, done, |watcher, fd, buffer| watcher.receive_into(fd, buffer, flags))
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_watch_readv(
    watcher: *const Watcher,
    fd: c_int,
    buffers: *const libc::iovec,
    buffer_count: c_int,
    done: *mut usize,
) -> c_int {
    call(|| {
        // SAFETY: the header asks for an open watcher, so many buffers, and a place that may be written.
        let (watcher, done) = unsafe { (boundary::watcher(watcher)?, Place::required(done)?) };
        let count = u32::try_from(buffer_count).map_err(|_| Refusal(libc::EINVAL))?;
        // SAFETY: as above.
        let buffers = unsafe { boundary::array(buffers, count)? };
        let mut slices = Vec::with_capacity(buffers.len());
        for buffer in buffers {
            // SAFETY: each names valid memory, as readv asks.
            slices.push(IoSliceMut::new(unsafe { boundary::room(buffer.iov_base.cast(), buffer.iov_len)? }));
        }
        done.put(watcher.read_into_several(open(fd)?, &mut slices)?);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_watch_recvmsg(
    watcher: *const Watcher,
    fd: c_int,
    message: *mut transfer::Message,
    flags: c_int,
    done: *mut usize,
) -> c_int {
    call(|| {
        // SAFETY: the header asks for an open watcher and a place that may be written.
        let (watcher, done) = unsafe { (boundary::watcher(watcher)?, Place::required(done)?) };
        // SAFETY: one message, as recvmsg asks.
        let message = &mut unsafe { boundary::room(message, 1)? }[0];
        // SAFETY: as recvmsg asks.
        done.put(unsafe { watcher.receive_message(open(fd)?, message, flags) }?);
        Ok(())
    })
}

/// # Safety
///
/// `watcher` is null, misaligned or open; `buffer` may be written for `length` bytes and `done` may be written.
unsafe fn transfer_into(
    watcher: *const Watcher,
    fd: c_int,
    buffer: *mut u8,
    length: usize,
    done: *mut usize,
    transfer: impl FnOnce(&Watcher, BorrowedFd<'_>, &mut [u8]) -> io::Result<usize>,
) -> c_int {
    call(|| {
        // SAFETY: the caller's promise.
        let (watcher, done, buffer) =
            unsafe { (boundary::watcher(watcher)?, Place::required(done)?, boundary::room(buffer, length)?) };
        done.put(transfer(watcher, open(fd)?, buffer)?);
        Ok(())
    })
}

fn open<'a>(fd: c_int) -> Result<BorrowedFd<'a>, Refusal> {
    if fd < 0 {
        return Err(Refusal(libc::EBADF));
    }
    // SAFETY: not -1; if it is not open the system says so, and it is borrowed for one call only.
    Ok(unsafe { BorrowedFd::borrow_raw(fd) })
}

fn reset(flags: u32) -> Result<Reset, Refusal> {
    match flags {
        0 => Ok(Reset::No),
        1 => Ok(Reset::Yes),
        _ => Err(Refusal(libc::EINVAL)),
    }
}

fn allowed(bits: u32) -> Result<Protection, Refusal> {
    if bits > 7 {
        return Err(Refusal(libc::EINVAL));
    }
    Ok(Protection { read: bits & 1 != 0, write: bits & 2 != 0, execute: bits & 4 != 0 })
}

/// Checks that a result can be stored, before anything is reset: `EFAULT` if not. If the kernel cannot tell (before
/// Linux 5.14), a result that cannot be stored kills the program.
fn writable<T>(watcher: &Watcher, place: &mut [T]) -> Result<(), Refusal> {
    let start = place.as_ptr() as usize & !(page_size() - 1);
    let end = place.as_ptr_range().end as usize;
    let pages = (end - start).next_multiple_of(page_size());
    if protection::are_writable_now(start, pages) != Some(false) {
        return Ok(());
    }
    // It may be watched memory, which is read-only because it is clean.
    let _hold = watcher.hold(&[Range::new(start, pages)])?;
    if protection::are_writable_now(start, pages) == Some(false) { Err(Refusal(libc::EFAULT)) } else { Ok(()) }
}
