// SPDX-License-Identifier: MIT OR Apache-2.0
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

/// `KERN_INVALID_ADDRESS`, `KERN_INVALID_ARGUMENT`.
const INVALID_ADDRESS: c_int = 1;
const INVALID_ARGUMENT: c_int = 4;

/// Copies memory of this process, which may be unmapped.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vm_read_overwrite(_task: u32, from: u64, length: u64, to: u64, copied: *mut u64) -> c_int {
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

/// `struct vm_region_basic_info_64`, in numbers of four bytes.
const REGION_NUMBERS: usize = 9;
const VM_REGION_BASIC_INFO_64: c_int = 9;

/// The region that contains the address, or the next one. For signal handlers: neither locks
/// nor memory of the heap.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vm_region_64(
    _task: u32,
    address: *mut u64,
    size: *mut u64,
    flavor: c_int,
    info: *mut c_int,
    count: *mut u32,
    object: *mut u32,
) -> c_int {
    // SAFETY: the caller's places.
    let (asked, count) = unsafe { (*address, &mut *count) };
    if flavor != VM_REGION_BASIC_INFO_64 || (*count as usize) < REGION_NUMBERS {
        return INVALID_ARGUMENT;
    }
    let Some(found) = region(asked) else { return INVALID_ADDRESS };
    let start = if is(Deviation::RegionsWithoutHoles) { found.start.min(asked) } else { found.start };
    let writable = if is(Deviation::RegionsAreWritable) { libc::PROT_WRITE } else { 0 };
    // SAFETY: as above; so many numbers.
    unsafe {
        (*address, *size, *object, *count) = (start, found.end - start, 0, REGION_NUMBERS as u32);
        let numbers = std::slice::from_raw_parts_mut(info, REGION_NUMBERS);
        numbers.fill(0);
        numbers[0] = found.protection | writable;
        numbers[3] = found.is_shared.into();
    }
    0
}

/// From a page of XNU's on. One that Linux has mapped in several ways, as it does for stacks and data, is a region of its own.
fn region(asked: u64) -> Option<maps::Map> {
    let size = page_size() as u64;
    let first = maps::containing_or_next(asked & !(size - 1))?;
    let page = (asked & !(size - 1)).max(first.start & !(size - 1));
    if first.start <= page && first.end >= page + size {
        return Some(maps::Map { start: page, end: first.end & !(size - 1), ..first });
    }
    let mut whole = maps::Map { start: page, end: page + size, ..first };
    let mut end = first.end;
    while end < page + size {
        let Some(next) = maps::containing_or_next(end).filter(|next| next.start < page + size) else { break };
        whole.protection |= next.protection;
        end = next.end;
    }
    Some(whole)
}

mod maps {
    use libc::c_int;

    pub struct Map {
        pub start: u64,
        pub end: u64,
        pub protection: c_int,
        pub is_shared: bool,
    }

    /// `PROCMAP_QUERY` of Linux 6.11: flags, the address, and what the answer begins with.
    const QUERY: libc::c_ulong = 0xc068_6611;
    const CONTAINING_OR_NEXT: u64 = 0x10;

    /// By a query, or else from the text, in which only the beginning of a line is looked at.
    #[inline(never)]
    pub fn containing_or_next(address: u64) -> Option<Map> {
        // SAFETY: a terminated name.
        let fd =
            unsafe { libc::syscall(libc::SYS_openat, libc::AT_FDCWD, c"/proc/self/maps".as_ptr(), libc::O_CLOEXEC) };
        let mut query = [0u64; 13];
        query[..3].copy_from_slice(&[8 * 13, CONTAINING_OR_NEXT, address]);
        // SAFETY: a question of the size that it names, which the answer has, too.
        let answer = unsafe { libc::syscall(libc::SYS_ioctl, fd, QUERY, &raw mut query) };
        if answer == 0 {
            // SAFETY: the descriptor from above.
            unsafe { libc::syscall(libc::SYS_close, fd) };
            // Three of the last bits are those of PROT_READ, PROT_WRITE and PROT_EXEC.
            let (protection, is_shared) = ((query[5] & 7) as c_int, query[5] & 8 != 0);
            return Some(Map { start: query[3], end: query[4], protection, is_shared });
        }
        let mut file = File { fd: fd as c_int, bytes: [0; 256], next: 0, length: 0 };
        let mut found = None;
        while let Some(map) = file.line() {
            if map.end > address {
                found = Some(map);
                break;
            }
        }
        // SAFETY: the descriptor from above.
        unsafe { libc::syscall(libc::SYS_close, fd) };
        found
    }

    struct File {
        fd: c_int,
        /// Few: the stack of a signal handler may be small.
        bytes: [u8; 256],
        next: usize,
        length: usize,
    }

    impl File {
        fn byte(&mut self) -> Option<u8> {
            if self.next == self.length {
                // SAFETY: a place of this length.
                let read = unsafe { libc::syscall(libc::SYS_read, self.fd, self.bytes.as_mut_ptr(), self.bytes.len()) };
                self.length = usize::try_from(read).ok().filter(|&length| length > 0)?;
                self.next = 0;
            }
            self.next += 1;
            Some(self.bytes[self.next - 1])
        }

        /// A number, and the byte after it.
        fn number(&mut self) -> Option<u64> {
            let mut number = 0;
            loop {
                match char::from(self.byte()?).to_digit(16) {
                    Some(digit) => number = number << 4 | u64::from(digit),
                    None => return Some(number),
                }
            }
        }

        fn line(&mut self) -> Option<Map> {
            let (start, end) = (self.number()?, self.number()?);
            let letters = [self.byte()?, self.byte()?, self.byte()?, self.byte()?];
            while self.byte()? != b'\n' {}
            let allows = |number: usize, access| if letters[number] == b'-' { 0 } else { access };
            let protection = allows(0, libc::PROT_READ) | allows(1, libc::PROT_WRITE) | allows(2, libc::PROT_EXEC);
            Some(Map { start, end, protection, is_shared: letters[3] == b's' })
        }
    }
}

/// Two of the inheritances: a copy, and none.
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
