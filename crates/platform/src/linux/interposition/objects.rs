// SPDX-License-Identifier: MIT OR Apache-2.0
//! The loaded objects, in the loader's order; and in another one for a runtime that wants to be the first of them.
//!
//! AddressSanitizer's shared runtime looks, when it starts, which object stands behind the program in the loader's list,
//! and ends the program if that is not itself: a library in front might keep its functions from the program. A preloaded
//! library stands in front, whatever the program was linked with. Ours pass on each call that they do not answer, to the
//! function that stands behind them, so the sanitizer misses nothing, and is told of them last.
//!
//! So a library of ours interposes on `dl_iterate_phdr` ([`iterate`]). It changes the order for that runtime alone, which
//! it knows by where the callback lies, and until its own constructor has run: the sanitizer's runs before. What it asks
//! itself, it asks the real function ([`each`]), which is looked up without the tables that are searched otherwise: they
//! are found by it.

use super::next::{Object, is_prepared};
use crate::atomic::Word64;
use core::ffi::{CStr, c_char, c_int, c_void};
use libc::dl_phdr_info;

/// What visits the objects; another value than 0 ends the visit.
pub type Visit = unsafe extern "C-unwind" fn(*mut dl_phdr_info, usize, *mut c_void) -> c_int;
type Iterate = unsafe extern "C-unwind" fn(Visit, *mut c_void) -> c_int;

/// Parts of the names of AddressSanitizer's runtime: gcc's, clang's.
const RUNTIMES: [&[u8]; 2] = [b"libasan.so", b"libclang_rt.asan"];
/// How the names of our libraries' files begin.
const OURS: &[u8] = b"libntux_";
/// More of our libraries than there are.
const OURS_MAX: usize = 4;
/// The name of the C library, by which the loader has it.
const C_LIBRARY: &CStr = if cfg!(target_env = "musl") { c"libc.so" } else { c"libc.so.6" };

/// Visits the objects in the loader's order.
///
/// # Safety
/// `visit` takes `data` for its last argument.
pub(super) unsafe fn each(visit: Visit, data: *mut c_void) -> c_int {
    // SAFETY: the caller's promise.
    real().map_or(0, |real| unsafe { real(visit, data) })
}

/// `dl_iterate_phdr`, for a library that interposes on it.
///
/// # Safety
/// As for the C library's function.
#[inline(always)]
pub unsafe fn iterate(visit: Visit, data: *mut c_void) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { if is_prepared() { each(visit, data) } else { iterate_early(visit, data) } }
}

#[cold]
unsafe fn iterate_early(visit: Visit, data: *mut c_void) -> c_int {
    let mut asker = Asker { callback: visit as *const () as usize, is_runtime: false };
    // SAFETY: each function takes what it is passed, and the caller's promise.
    unsafe {
        each(find_asker, (&raw mut asker).cast());
        if asker.is_runtime { ours_last(visit, data) } else { each(visit, data) }
    }
}

unsafe fn ours_last(visit: Visit, data: *mut c_void) -> c_int {
    let mut order = Order { visit, data, ours: [None; OURS_MAX] };
    // SAFETY: `all_but_ours` takes an order.
    let mut result = unsafe { each(all_but_ours, (&raw mut order).cast()) };
    for (mut info, size) in order.ours.into_iter().flatten() {
        if result == 0 {
            // SAFETY: the caller's promise.
            result = unsafe { visit(&mut info, size, data) };
        }
    }
    result
}

/// The library that asks.
struct Asker {
    callback: usize,
    is_runtime: bool,
}

unsafe extern "C-unwind" fn find_asker(info: *mut dl_phdr_info, _size: usize, asker: *mut c_void) -> c_int {
    // SAFETY: the loader describes a loaded object, and `iterate_early` passes its own value.
    let (object, asker) = unsafe { (Object::new(&*info), &mut *asker.cast::<Asker>()) };
    let asks = object.segments().any(|segment| segment.contains(&asker.callback));
    let name = object.name.to_bytes();
    asker.is_runtime = asks && RUNTIMES.iter().any(|runtime| name.windows(runtime.len()).any(|part| part == *runtime));
    asks.into()
}

/// A visit that leaves our libraries for the end.
struct Order {
    visit: Visit,
    data: *mut c_void,
    ours: [Option<(dl_phdr_info, usize)>; OURS_MAX],
}

unsafe extern "C-unwind" fn all_but_ours(info: *mut dl_phdr_info, size: usize, order: *mut c_void) -> c_int {
    // SAFETY: the loader describes a loaded object, and `iterate_early` passes its own value.
    let (object, order) = unsafe { (Object::new(&*info), &mut *order.cast::<Order>()) };
    let here = all_but_ours as *const () as usize;
    let is_ours = file_name(object.name).starts_with(OURS) || object.segments().any(|segment| segment.contains(&here));
    if let (true, Some(free)) = (is_ours, order.ours.iter_mut().find(|place| place.is_none())) {
        // SAFETY: the loader's description, which holds as long as the visit: objects are neither loaded nor unloaded.
        *free = Some((unsafe { *info }, size));
        return 0;
    }
    // SAFETY: the caller's own visit.
    unsafe { (order.visit)(info, size, order.data) }
}

fn file_name(path: &CStr) -> &[u8] {
    path.to_bytes().rsplit(|&byte| byte == b'/').next().unwrap_or_default()
}

/// The next `dl_iterate_phdr` behind this library.
#[inline(always)]
fn real() -> Option<Iterate> {
    static REAL: Word64 = Word64::new(0);
    if REAL.load() == 0 {
        REAL.store(find() as u64);
    }
    // SAFETY: null, or the C library's function of this name.
    unsafe { core::mem::transmute::<usize, Option<Iterate>>(REAL.load() as usize) }
}

/// By the visible `dlsym`. An overlay's own may search from where the overlay stands, and find ours; whom it asks for in the C
/// library by name, it finds there. Preserves the error number.
#[cold]
fn find() -> usize {
    const NAME: &CStr = c"dl_iterate_phdr";
    let own = libc::dl_iterate_phdr as *const () as usize;
    crate::keeping_errno(|| {
        // SAFETY: a string that ends with a zero.
        match unsafe { libc::dlsym(libc::RTLD_NEXT, NAME.as_ptr()) } as usize {
            found if found != 0 && found != own => found,
            _ => find_in_c_library(NAME),
        }
    })
}

fn find_in_c_library(name: &CStr) -> usize {
    type Dlopen = unsafe extern "C" fn(*const c_char, c_int) -> *mut c_void;
    // SAFETY: strings that end with a zero; the C library's function of this name, if there is one. The handle of the C library,
    // which is never unloaded, is not closed.
    unsafe {
        let Some(dlopen) = core::mem::transmute::<*mut c_void, Option<Dlopen>>(real_dlopen()) else { return 0 };
        let library = dlopen(C_LIBRARY.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
        if library.is_null() { 0 } else { libc::dlsym(library, name.as_ptr()) as usize }
    }
}

/// The C library's `dlopen`. A library of ours has one, too, which searches by the tables: it has no version.
fn real_dlopen() -> *mut c_void {
    type Dlvsym = unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char) -> *mut c_void;
    // SAFETY: strings that end with a zero; the C library's function of this name, if there is one.
    unsafe {
        let dlvsym = libc::dlsym(libc::RTLD_DEFAULT, c"dlvsym".as_ptr());
        match core::mem::transmute::<*mut c_void, Option<Dlvsym>>(dlvsym) {
            Some(dlvsym) => dlvsym(libc::RTLD_DEFAULT, c"dlopen".as_ptr(), FIRST_VERSION.as_ptr()),
            // musl has no versions, and ours are not in front there.
            None => libc::dlsym(libc::RTLD_DEFAULT, c"dlopen".as_ptr()),
        }
    }
}

/// glibc's name for the version in which `dlopen` came to this architecture.
const FIRST_VERSION: &CStr = if cfg!(target_arch = "x86_64") { c"GLIBC_2.2.5" } else { c"GLIBC_2.17" };

#[cfg(test)]
mod tests {
    use super::*;

    /// Names of the objects in the order in which they are told, and the place at which the visit ends.
    struct Told {
        names: Vec<String>,
        end: usize,
    }

    unsafe extern "C-unwind" fn note(info: *mut dl_phdr_info, _size: usize, told: *mut c_void) -> c_int {
        // SAFETY: the loader's description, and `told`'s own value.
        let (object, told) = unsafe { (Object::new(&*info), &mut *told.cast::<Told>()) };
        told.names.push(object.name.to_str().expect("a path").to_owned());
        (told.names.len() == told.end).into()
    }

    fn told(order: impl Fn(Visit, *mut c_void) -> c_int, end: usize) -> (Vec<String>, c_int) {
        let mut told = Told { names: Vec::new(), end };
        let result = order(note, (&raw mut told).cast());
        (told.names, result)
    }

    /// The object with this code is the test program.
    fn for_a_runtime(visit: Visit, data: *mut c_void) -> c_int {
        // SAFETY: `visit` takes `data`.
        unsafe { ours_last(visit, data) }
    }

    fn in_order(visit: Visit, data: *mut c_void) -> c_int {
        // SAFETY: `visit` takes `data`.
        unsafe { iterate_early(visit, data) }
    }

    #[test]
    fn only_a_runtime_is_told_of_us_last() {
        let (all, result) = told(in_order, 0);
        assert!(all.len() > 2 && result == 0, "{all:?}");
        let (others_first, result) = told(for_a_runtime, 0);
        assert_eq!((&others_first[..all.len() - 1], result), (&all[1..], 0));
        assert_eq!(others_first.last(), all.first(), "this code is in the first object");
    }

    #[test]
    fn a_visit_ends_where_it_says_so() {
        let all = told(in_order, 0).0.len();
        for end in 1..=all {
            assert_eq!((told(for_a_runtime, end).0.len(), told(for_a_runtime, end).1), (end, 1));
            assert_eq!((told(in_order, end).0.len(), told(in_order, end).1), (end, 1));
        }
    }

    #[test]
    fn the_c_library_has_the_function() {
        assert_ne!(find_in_c_library(c"dl_iterate_phdr"), 0);
        assert_eq!(find_in_c_library(c"there is no such function"), 0);
    }
}
