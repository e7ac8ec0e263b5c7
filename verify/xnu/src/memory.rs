//! Pages of 16 KiB over Linux's of 4 KiB, and what XNU's calls for memory do otherwise.
//!
//! An address in a call that names no page of that size is refused, and every length is rounded up. The C library's own
//! calls, for stacks and its heap, do not come here.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use libc::{c_int, c_long, c_void, off_t};

use crate::faults::{Deviation, is, variable};
use crate::refuse;
use crate::shm::{is_object, why_not_mapped};

const USUAL: usize = 16384;

pub(crate) fn page_size() -> usize {
    static PAGE: AtomicUsize = AtomicUsize::new(0);
    if PAGE.load(Relaxed) == 0 {
        let asked = variable(c"XNU_PAGE").is_some_and(|page| page == c"4096");
        PAGE.store(if asked { 4096 } else { USUAL }, Relaxed);
    }
    PAGE.load(Relaxed)
}

fn is_page(address: usize) -> bool {
    address.is_multiple_of(page_size())
}

fn whole(length: usize) -> usize {
    length.saturating_add(page_size() - 1) & !(page_size() - 1)
}

unsafe fn map_at(start: usize, length: usize, access: c_int, flags: c_int, fd: c_int, offset: off_t) -> *mut c_void {
    // SAFETY: the caller's.
    unsafe { libc::syscall(libc::SYS_mmap, start, length, access, flags, fd, offset) as *mut c_void }
}

unsafe fn unmap(start: usize, length: usize) {
    if length > 0 {
        // SAFETY: the caller's range.
        unsafe { libc::syscall(libc::SYS_munmap, start, length) };
    }
}

unsafe fn map(start: *mut c_void, length: usize, access: c_int, flags: c_int, fd: c_int, offset: off_t) -> *mut c_void {
    let failed = |error| {
        refuse(error);
        libc::MAP_FAILED
    };
    let is_fixed = flags & libc::MAP_FIXED != 0;
    if length == 0 || is_fixed && !is_page(start as usize) || !is_page(offset as usize) {
        return failed(libc::EINVAL);
    }
    let mut flags = flags;
    if flags & libc::MAP_ANONYMOUS == 0 && is_object(fd) {
        match why_not_mapped(fd, length, flags, offset) {
            0 if is(Deviation::Copies) => flags = flags & !libc::MAP_SHARED | libc::MAP_PRIVATE,
            0 => {}
            error => return failed(error),
        }
    }
    let length = whole(length);
    // SAFETY: what the caller asks for; what is reserved here is nobody else's until it returns.
    unsafe {
        if is_fixed || page_size() == 4096 {
            return map_at(start as usize, length, access, flags, fd, offset);
        }
        let empty = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let Some(room) = length.checked_add(page_size()) else { return failed(libc::ENOMEM) };
        let reserved = map_at(start as usize, room, libc::PROT_NONE, empty, -1, 0);
        if reserved == libc::MAP_FAILED {
            return reserved;
        }
        let first = reserved as usize;
        let aligned = whole(first);
        let mapped = map_at(aligned, length, access, flags | libc::MAP_FIXED, fd, offset);
        if mapped == libc::MAP_FAILED {
            let error = crate::errno();
            unmap(first, room);
            return failed(error);
        }
        unmap(first, aligned - first);
        unmap(aligned + length, first + room - (aligned + length));
        mapped
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn mmap(
    start: *mut c_void,
    length: usize,
    access: c_int,
    flags: c_int,
    fd: c_int,
    offset: off_t,
) -> *mut c_void {
    // SAFETY: what the caller asks for.
    unsafe { map(start, length, access, flags, fd, offset) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn mmap64(
    start: *mut c_void,
    length: usize,
    access: c_int,
    flags: c_int,
    fd: c_int,
    offset: off_t,
) -> *mut c_void {
    // SAFETY: what the caller asks for.
    unsafe { map(start, length, access, flags, fd, offset) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn munmap(start: *mut c_void, length: usize) -> c_int {
    if !is_page(start as usize) {
        return refuse(libc::EINVAL);
    }
    // SAFETY: the caller's range.
    unsafe { libc::syscall(libc::SYS_munmap, start, whole(length)) as c_int }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn mprotect(start: *mut c_void, length: usize, access: c_int) -> c_int {
    if !is_page(start as usize) {
        return refuse(libc::EINVAL);
    }
    // SAFETY: the caller's range.
    unsafe { libc::syscall(libc::SYS_mprotect, start, whole(length), access) as c_int }
}

/// Advice is advice: the contents stay. Linux's own is unknown.
#[unsafe(no_mangle)]
pub extern "C" fn madvise(_start: *mut c_void, _length: usize, advice: c_int) -> c_int {
    match advice {
        libc::MADV_NORMAL | libc::MADV_RANDOM | libc::MADV_SEQUENTIAL | libc::MADV_WILLNEED | libc::MADV_DONTNEED => 0,
        _ => refuse(libc::EINVAL),
    }
}

#[unsafe(no_mangle)]
pub static mach_task_self_: u32 = 0x103;

/// `KERN_INVALID_ADDRESS`.
const INVALID_ADDRESS: c_int = 1;

/// Copies memory of this process, which may be unmapped.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mach_vm_read_overwrite(
    _task: u32,
    from: u64,
    length: u64,
    to: u64,
    copied: *mut u64,
) -> c_int {
    let part = |start: u64| libc::iovec { iov_base: start as *mut c_void, iov_len: length as usize };
    // SAFETY: the kernel checks both, and writes the caller's place only.
    let result = unsafe { libc::process_vm_readv(libc::getpid(), &part(to), 1, &part(from), 1, 0) };
    if result != length as isize {
        return INVALID_ADDRESS;
    }
    // SAFETY: the caller's place.
    unsafe { *copied = length };
    0
}

/// Of the inheritances, a copy and none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn minherit(start: *mut c_void, length: usize, inherit: c_int) -> c_int {
    let advice = match inherit {
        1 => libc::MADV_DOFORK,
        2 => libc::MADV_DONTFORK,
        _ => return refuse(libc::EINVAL),
    };
    let (first, end) = (start as usize & !(page_size() - 1), whole(start as usize + length));
    // SAFETY: the caller's range, whose contents stay.
    unsafe { libc::syscall(libc::SYS_madvise, first, end - first, advice) as c_int }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn sysconf(name: c_int) -> c_long {
    unsafe extern "C" {
        fn __sysconf(name: c_int) -> c_long;
    }
    match name {
        libc::_SC_PAGESIZE => page_size() as c_long,
        // SAFETY: the C library's function, under its other name.
        _ => unsafe { __sysconf(name) },
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn getpagesize() -> c_int {
    page_size() as c_int
}
