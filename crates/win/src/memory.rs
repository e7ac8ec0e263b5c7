// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory that is watched for writes: VirtualAlloc with MEM_WRITE_WATCH, and what is done with such memory. `ntux_watch` does the work; here
//! lies what Windows remembers of each page beside that, its protection.

use core::ffi::c_void;
use core::ptr;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use ntux_watch::{Protection, Range, Reset, Watcher, page_size};

use crate::boundary::{FALSE, TRUE, call, put};
use crate::last_error::{
    CALL_NOT_IMPLEMENTED, Error, GEN_FAILURE, INVALID_ADDRESS, INVALID_PARAMETER, NOACCESS, NOT_ENOUGH_MEMORY,
    NOT_SUPPORTED, Result,
};

const COMMIT: u32 = 0x1000;
const RESERVE: u32 = 0x2000;
const DECOMMIT: u32 = 0x4000;
const RELEASE: u32 = 0x8000;
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

/// The protection of each page, as Windows numbers it.
type Pages = Vec<u8>;

/// By the address of the first page. The lock is for what changes pages, not for queries.
static ALLOCATIONS: Mutex<BTreeMap<usize, Pages>> = Mutex::new(BTreeMap::new());

fn allocations() -> MutexGuard<'static, BTreeMap<usize, Pages>> {
    ALLOCATIONS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Errors: `NOT_SUPPORTED` if this system cannot watch.
fn watcher() -> Result<&'static Watcher> {
    static WATCHER: OnceLock<ntux_watch::Result<Watcher>> = OnceLock::new();
    WATCHER.get_or_init(Watcher::new).as_ref().map_err(|_| NOT_SUPPORTED)
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
fn protection(number: u32) -> Result<(u8, Protection)> {
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

/// The pages of a range that lies in one allocation.
///
/// Errors: `INVALID_ADDRESS`.
fn pages_of(allocations: &mut BTreeMap<usize, Pages>, range: Range) -> Result<&mut [u8]> {
    let (&base, pages) = allocations.range_mut(..=range.start).next_back().ok_or(INVALID_ADDRESS)?;
    let first = (range.start - base) / page_size();
    pages.get_mut(first..first + range.length / page_size()).ok_or(INVALID_ADDRESS)
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
        let protect = protection(protect)?;
        let range = whole_pages(address.addr(), bytes)?;
        let base = match (address.is_null(), how & RESERVE != 0) {
            (false, false) => commit(range, protect)?,
            // Other memory is the C library's to give, and addresses are the kernel's to choose.
            (false, true) => return Err(CALL_NOT_IMPLEMENTED),
            (true, _) if how & WRITE_WATCH == 0 => return Err(CALL_NOT_IMPLEMENTED),
            (true, _) => reserve(range.length, (how & COMMIT != 0).then_some(protect))?,
        };
        Ok(ptr::with_exposed_provenance_mut(base))
    })
}

fn reserve(bytes: usize, protect: Option<(u8, Protection)>) -> Result<usize> {
    let watcher = watcher()?;
    let region = watcher.reserve(bytes).map_err(refusal)?;
    let range = region.range();
    let kind = match protect {
        None => RESERVED,
        Some((kind, allowed)) => {
            watcher.commit(range, allowed).map_err(refusal)?;
            kind
        }
    };
    allocations().insert(range.start, vec![kind; range.length / page_size()]);
    Ok(region.keep().start)
}

fn commit(range: Range, (kind, allowed): (u8, Protection)) -> Result<usize> {
    let mut allocations = allocations();
    let pages = pages_of(&mut allocations, range)?;
    watcher()?.commit(range, allowed).map_err(refusal)?;
    pages.fill(kind);
    Ok(range.start)
}

/// # Safety
/// Nothing refers to the memory that is given back.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_VirtualFree(address: *mut c_void, bytes: usize, how: u32) -> i32 {
    call(FALSE, || {
        let mut allocations = allocations();
        match how {
            RELEASE if bytes != 0 => return Err(INVALID_PARAMETER),
            RELEASE => {
                let base = address.addr();
                allocations.get(&base).ok_or(INVALID_ADDRESS)?;
                // SAFETY: the same contract.
                unsafe { watcher()?.release(base) }.map_err(refusal)?;
                allocations.remove(&base);
            }
            DECOMMIT => {
                let whole = allocations.get(&address.addr()).filter(|_| bytes == 0);
                let bytes = whole.map_or(bytes, |pages| pages.len() * page_size());
                let range = whole_pages(address.addr(), bytes)?;
                let pages = pages_of(&mut allocations, range)?;
                // SAFETY: the same contract.
                unsafe { watcher()?.decommit(range) }.map_err(refusal)?;
                pages.fill(RESERVED);
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
        let (kind, allowed) = protection(protect)?;
        let range = whole_pages(address.addr(), bytes)?;
        let mut allocations = allocations();
        let pages = pages_of(&mut allocations, range)?;
        // SAFETY: the same contract.
        unsafe { watcher()?.protect(range, allowed) }.map_err(refusal)?;
        // SAFETY: the same contract.
        unsafe { put(before, pages[0].into()) };
        pages.fill(kind);
        Ok(TRUE)
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
