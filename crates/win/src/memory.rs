// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory of VirtualAlloc. With MEM_WRITE_WATCH it is watched for writes, which is `ntux_watch`'s work; other memory is the system's, mapped
//! here. Of both lies here what Windows remembers of each page, its protection.

use core::ffi::c_void;
use core::ptr;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ntux_platform::once::Once;
use ntux_platform::protection;
use ntux_watch::{Protection, Range, Reset, Watcher, page_size};

use crate::boundary::{FALSE, TRUE, call, put};
use crate::last_error::{
    BAD_LENGTH, CALL_NOT_IMPLEMENTED, Error, GEN_FAILURE, INVALID_ADDRESS, INVALID_PARAMETER, NOACCESS,
    NOT_ENOUGH_MEMORY, NOT_SUPPORTED, Result,
};

const COMMIT: u32 = 0x1000;
const RESERVE: u32 = 0x2000;
const DECOMMIT: u32 = 0x4000;
const RELEASE: u32 = 0x8000;
const PRIVATE: u32 = 0x2_0000;
const TOP_DOWN: u32 = 0x10_0000;
const WRITE_WATCH: u32 = 0x20_0000;

const FLAG_RESET: u32 = 1;
/// What GetWriteWatch and ResetWriteWatch return if they fail.
const FAILED: u32 = u32::MAX;

const NOACCESS_PAGE: u8 = 0x01;
const READONLY: u8 = 0x02;
const READWRITE: u8 = 0x04;
const EXECUTE: u8 = 0x10;
const EXECUTE_READ: u8 = 0x20;
const EXECUTE_READWRITE: u8 = 0x40;

/// A page that is reserved only.
const RESERVED: u8 = 0;

/// Where memory begins that is not watched: at a multiple of it, which programs rely on.
const GRANULARITY: usize = 1 << 16;

/// What was reserved by one call.
struct Allocation {
    /// The protection of each page, as Windows numbers it.
    pages: Vec<u8>,
    /// The first one, which was asked for with the reservation.
    protect: u8,
    is_watched: bool,
}

type Allocations = BTreeMap<usize, Allocation>;

/// By the address of the first page. The lock is for what changes pages, not for queries of watches.
static ALLOCATIONS: Mutex<Allocations> = Mutex::new(BTreeMap::new());

fn allocations() -> MutexGuard<'static, Allocations> {
    ALLOCATIONS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Pages of one allocation.
struct Part<'a> {
    range: Range,
    pages: &'a mut [u8],
    is_watched: bool,
}

impl Part<'_> {
    /// The pages of a range that lies in one allocation.
    ///
    /// Errors: `INVALID_ADDRESS`.
    fn of(allocations: &mut Allocations, range: Range) -> Result<Part<'_>> {
        let (&base, allocation) = allocations.range_mut(..=range.start).next_back().ok_or(INVALID_ADDRESS)?;
        let first = (range.start - base) / page_size();
        let pages = allocation.pages.get_mut(first..first + range.length / page_size());
        Ok(Part { range, pages: pages.ok_or(INVALID_ADDRESS)?, is_watched: allocation.is_watched })
    }

    fn commit(self, (kind, allowed): (u8, Protection)) -> Result<()> {
        match self.is_watched {
            true => watcher()?.commit(self.range, allowed).map_err(refusal)?,
            // SAFETY: what was committed keeps its content, and only a caller that the contract of VirtualAlloc allows it changes its
            // protection; nothing refers to the rest.
            false => unsafe { protection::protect(self.range.start, self.range.length, allowed) }.map_err(of_system)?,
        }
        self.pages.fill(kind);
        Ok(())
    }

    /// # Safety
    /// Nothing refers to the memory.
    unsafe fn decommit(self) -> Result<()> {
        // SAFETY: the same contract; the range is this library's.
        unsafe {
            match self.is_watched {
                true => watcher()?.decommit(self.range).map_err(refusal)?,
                false => protection::renew(self.range.start, self.range.length).map_err(of_system)?,
            }
        }
        self.pages.fill(RESERVED);
        Ok(())
    }

    /// Returns how the first page was protected.
    ///
    /// Errors: `INVALID_ADDRESS` if a page is not committed.
    ///
    /// # Safety
    /// References into the memory are used only as the new protection allows.
    unsafe fn protect(self, (kind, allowed): (u8, Protection)) -> Result<u8> {
        if self.pages.contains(&RESERVED) {
            return Err(INVALID_ADDRESS);
        }
        // SAFETY: the same contract; the range is this library's.
        unsafe {
            match self.is_watched {
                true => watcher()?.protect(self.range, allowed).map_err(refusal)?,
                false => protection::protect(self.range.start, self.range.length, allowed).map_err(of_system)?,
            }
        }
        let before = self.pages[0];
        self.pages.fill(kind);
        Ok(before)
    }
}

/// A refusal of memory that is mapped here: the system has no more of it, or of mappings.
fn of_system(_: std::io::Error) -> Error {
    NOT_ENOUGH_MEMORY
}

/// Errors: `NOT_SUPPORTED` if this system cannot watch.
fn watcher() -> Result<&'static Watcher> {
    static WATCHER: Once<ntux_watch::Result<Watcher>> = Once::new();
    WATCHER.get_or_make(Watcher::new).as_ref().map_err(|_| NOT_SUPPORTED)
}

fn refusal(error: ntux_watch::Error) -> Error {
    match error {
        ntux_watch::Error::Invalid | ntux_watch::Error::NotWatched => INVALID_PARAMETER,
        ntux_watch::Error::NotCommitted => INVALID_ADDRESS,
        ntux_watch::Error::Exhausted => NOT_ENOUGH_MEMORY,
        ntux_watch::Error::Unsupported => NOT_SUPPORTED,
        _ => GEN_FAILURE,
    }
}

/// Errors: `INVALID_PARAMETER` for what is no protection of private memory, `CALL_NOT_IMPLEMENTED` for guard pages and cache modes.
fn protection_of(number: u32) -> Result<(u8, Protection)> {
    const MODIFIERS: u32 = 0x700;
    if number & MODIFIERS != 0 {
        return Err(CALL_NOT_IMPLEMENTED);
    }
    let kind = u8::try_from(number).map_err(|_| INVALID_PARAMETER)?;
    let allowed = |read, write, execute| Protection { read, write, execute };
    let of_processor = match kind {
        NOACCESS_PAGE => Protection::NONE,
        READONLY => Protection::READ,
        READWRITE => Protection::READ_WRITE,
        EXECUTE => allowed(false, false, true),
        EXECUTE_READ => allowed(true, false, true),
        EXECUTE_READWRITE => allowed(true, true, true),
        _ => return Err(INVALID_PARAMETER),
    };
    Ok((kind, of_processor))
}

/// The whole pages of a range.
///
/// Errors: `INVALID_PARAMETER` if it is empty or beyond the address space.
fn whole_pages(address: usize, bytes: usize) -> Result<Range> {
    let mask = page_size() - 1;
    let end = address.checked_add(bytes).and_then(|end| end.checked_add(mask)).ok_or(INVALID_PARAMETER)? & !mask;
    let start = address & !mask;
    if bytes == 0 { Err(INVALID_PARAMETER) } else { Ok(Range::new(start, end - start)) }
}

/// # Safety
/// Memory that is committed again keeps its content; nobody relies on a protection that this changes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_VirtualAlloc(address: *mut c_void, bytes: usize, how: u32, protect: u32) -> *mut c_void {
    call(ptr::null_mut(), || {
        if how & !(COMMIT | RESERVE | WRITE_WATCH | TOP_DOWN) != 0 {
            return Err(CALL_NOT_IMPLEMENTED);
        }
        if how & (COMMIT | RESERVE) == 0 || how & (WRITE_WATCH | RESERVE) == WRITE_WATCH {
            return Err(INVALID_PARAMETER);
        }
        let protect = protection_of(protect)?;
        let range = whole_pages(address.addr(), bytes)?;
        let base = match (address.is_null(), how & RESERVE != 0) {
            (false, false) => {
                Part::of(&mut allocations(), range)?.commit(protect)?;
                range.start
            }
            // Addresses are the kernel's to choose.
            (false, true) => return Err(CALL_NOT_IMPLEMENTED),
            (true, _) => {
                let committed = (how & COMMIT != 0).then_some(protect);
                reserve(range.length, protect.0, committed, how & WRITE_WATCH != 0)?
            }
        };
        Ok(ptr::with_exposed_provenance_mut(base))
    })
}

fn reserve(bytes: usize, protect: u8, committed: Option<(u8, Protection)>, is_watched: bool) -> Result<usize> {
    let start = match is_watched {
        true => watcher()?.reserve(bytes).map_err(refusal)?.keep().start,
        false => map(bytes)?,
    };
    let mut allocations = allocations();
    allocations.insert(start, Allocation { pages: vec![RESERVED; bytes / page_size()], protect, is_watched });
    if let Some(protection) = committed {
        let committed = Part::of(&mut allocations, Range::new(start, bytes))?.commit(protection);
        // SAFETY: nobody knows of it yet.
        committed.or_else(|error| unsafe { release(&mut allocations, start) }.and(Err(error)))?;
    }
    Ok(start)
}

/// Maps memory at a multiple of [`GRANULARITY`] that nobody may access.
fn map(bytes: usize) -> Result<usize> {
    let spare = GRANULARITY.saturating_sub(page_size());
    let mapped = bytes.checked_add(spare).ok_or(NOT_ENOUGH_MEMORY)?;
    let first = protection::allocate(mapped, Protection::NONE).map_err(of_system)?;
    let start = first.next_multiple_of(GRANULARITY.max(page_size()));
    for (from, to) in [(first, start), (start + bytes, first + mapped)] {
        if from < to {
            // SAFETY: mapped above, and nobody knows of it. A part that the system does not take back stays mapped.
            let _ = unsafe { protection::free(from, to - from) };
        }
    }
    Ok(start)
}

/// Errors: `INVALID_ADDRESS` if no allocation begins there.
///
/// # Safety
/// Nothing refers to the memory.
unsafe fn release(allocations: &mut Allocations, base: usize) -> Result<()> {
    let allocation = allocations.get(&base).ok_or(INVALID_ADDRESS)?;
    // SAFETY: the same contract; the range is this library's.
    unsafe {
        match allocation.is_watched {
            true => watcher()?.release(base).map_err(refusal)?,
            false => protection::free(base, allocation.pages.len() * page_size()).map_err(of_system)?,
        }
    }
    allocations.remove(&base);
    Ok(())
}

/// # Safety
/// Nothing refers to the memory that is given back.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_VirtualFree(address: *mut c_void, bytes: usize, how: u32) -> i32 {
    call(FALSE, || {
        let mut allocations = allocations();
        match how {
            RELEASE if bytes != 0 => return Err(INVALID_PARAMETER),
            // SAFETY: the same contract.
            RELEASE => unsafe { release(&mut allocations, address.addr()) }?,
            DECOMMIT => {
                let whole = allocations.get(&address.addr()).filter(|_| bytes == 0);
                let bytes = whole.map_or(bytes, |allocation| allocation.pages.len() * page_size());
                let part = Part::of(&mut allocations, whole_pages(address.addr(), bytes)?)?;
                // SAFETY: the same contract.
                unsafe { part.decommit() }?;
            }
            _ => return Err(INVALID_PARAMETER),
        }
        Ok(TRUE)
    })
}

/// # Safety
/// References into the memory are used only as the new protection allows; `before` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_VirtualProtect(address: *mut c_void, bytes: usize, protect: u32, before: *mut u32) -> i32 {
    call(FALSE, || {
        if before.is_null() {
            return Err(NOACCESS);
        }
        let protect = protection_of(protect)?;
        let mut allocations = allocations();
        let part = Part::of(&mut allocations, whole_pages(address.addr(), bytes)?)?;
        // SAFETY: the same contract.
        unsafe { put(before, part.protect(protect)?.into()) };
        Ok(TRUE)
    })
}

/// MEMORY_BASIC_INFORMATION
#[repr(C)]
pub struct Information {
    base: usize,
    allocation: usize,
    allocation_protect: u32,
    partition: u16,
    bytes: usize,
    state: u32,
    protect: u32,
    kind: u32,
}

/// # Safety
/// `information` is NULL or may be written, for as many bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_VirtualQuery(
    address: *const c_void,
    information: *mut Information,
    bytes: usize,
) -> usize {
    call(0, || {
        let size = size_of::<Information>();
        if bytes < size {
            return Err(BAD_LENGTH);
        }
        if information.is_null() {
            return Err(NOACCESS);
        }
        let base = address.addr() & !(page_size() - 1);
        let allocations = allocations();
        let (&start, allocation) = allocations.range(..=base).next_back().ok_or(INVALID_ADDRESS)?;
        let alike = allocation.pages.get((base - start) / page_size()..).filter(|pages| !pages.is_empty());
        let alike = alike.and_then(|pages| pages.chunk_by(|one, next| one == next).next()).ok_or(INVALID_ADDRESS)?;
        let protect = alike[0];
        let found = Information {
            base,
            allocation: start,
            allocation_protect: allocation.protect.into(),
            partition: 0,
            bytes: alike.len() * page_size(),
            state: if protect == RESERVED { RESERVE } else { COMMIT },
            protect: protect.into(),
            kind: PRIVATE,
        };
        // SAFETY: the same contract: so much room.
        unsafe { put(information, found) };
        Ok(size)
    })
}

/// # Safety
/// `addresses` points to room for `*count` addresses; each pointer is NULL or may be read and written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_GetWriteWatch(
    flags: u32,
    address: *mut c_void,
    bytes: usize,
    addresses: *mut usize,
    count: *mut usize,
    granularity: *mut u32,
) -> u32 {
    call(FAILED, || {
        if count.is_null() || granularity.is_null() {
            return Err(NOACCESS);
        }
        // SAFETY: the same contract.
        let room = unsafe { count.read_unaligned() };
        if room == 0 || bytes == 0 || flags & !FLAG_RESET != 0 {
            return Err(INVALID_PARAMETER);
        }
        if addresses.is_null() {
            return Err(NOACCESS);
        }
        // No more can be listed than there are pages.
        let room = room.min(bytes / page_size() + 2);
        // SAFETY: the same contract: so much room, of numbers, for which what lies there is valid.
        let listed = unsafe { core::slice::from_raw_parts_mut(addresses, room) };
        let reset = if flags == FLAG_RESET { Reset::Yes } else { Reset::No };
        let found = watcher()?.get(Range::new(address.addr(), bytes), listed, reset).map_err(refusal)?;
        // SAFETY: the same contract.
        unsafe {
            put(count, found);
            put(granularity, page_size() as u32);
        }
        Ok(0)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn ntw_ResetWriteWatch(address: *mut c_void, bytes: usize) -> u32 {
    call(FAILED, || {
        watcher()?.reset(Range::new(address.addr(), bytes)).map_err(refusal)?;
        Ok(0)
    })
}
