// SPDX-License-Identifier: MIT OR Apache-2.0
//! The C library's own functions, for a preloaded library that interposes on them.
//!
//! Each is looked up once, at its first use, in the tables of the loaded objects, which the constructor has noted
//! (`noted`). Where the tables leave it unclear what `dlsym` would find, the constructor looks all functions up (`loader`);
//! what is called before it ran, and what no table has, is left to the C library's own `dlsym`. A result that is one of the
//! interposing library's own functions counts as none, because calling it would recurse endlessly.
//!
//! `late` does the same with what the library itself calls.

mod late;
mod loader;
mod noted;

use crate::atomic::Word64;
use core::ffi::{c_char, c_void};
pub use late::{bind, bind_all};
pub(super) use loader::Object;
pub use loader::Wanted;
use loader::{Dlsym, Found, Loaded};
pub(super) use noted::is_prepared;

/// Returns the address of the next function called `name` (which ends with a zero) after this library, or `None` if no
/// later library has one. `cache` keeps the answer.
#[inline(always)]
pub fn address(cache: &Word64, name: &str) -> Option<usize> {
    match cache.load() {
        0 => look_up(cache, name),
        known => Some(known as usize),
    }
}

/// Does what [`address`] does, for a function that has a substitute: one that no later library has is not looked for again, so a caller
/// does not pay for a search at each call.
#[inline(always)]
pub fn address_or_absent(cache: &Word64, name: &str) -> Option<usize> {
    match cache.load() {
        0 => look_up_once(cache, name),
        ABSENT => None,
        known => Some(known as usize),
    }
}

/// No address: the function was looked for, and no later library has it.
const ABSENT: u64 = 1;

#[cold]
#[unsafe(link_section = ".text.ntux_start")]
fn look_up_once(cache: &Word64, name: &str) -> Option<usize> {
    let found = look_up(cache, name);
    if found.is_none() {
        cache.store(ABSENT);
    }
    found
}

/// Notes where functions are found at their first use, for a constructor. Returns false if they must be looked up now.
pub fn prepare() -> bool {
    noted::note()
}

/// Looks functions up, for a constructor. One that no object has is looked up again at its first use.
#[cold]
pub fn look_up_all(wanted: &mut [Wanted<'_>]) {
    know(&Loaded::look(wanted));
    for wanted in wanted {
        match wanted.found {
            Found::At(address) => wanted.cache.store(address as u64),
            Found::Unclear => {
                look_up(wanted.cache, wanted.name);
            }
            Found::Nowhere => {}
        }
    }
}

/// Does what [`address`] does, but looks it up again.
#[cold]
#[unsafe(link_section = ".text.ntux_start")]
pub fn look_up(cache: &Word64, name: &str) -> Option<usize> {
    if let Some(Found::At(address)) = noted::noted().map(|noted| noted.next(name)) {
        cache.store(address as u64);
        return Some(address);
    }
    let newest = SEVERAL_VERSIONS.iter().find(|(several, _)| *several == name);
    let found = newest.and_then(|(_, version)| next_of_version(name, version)).or_else(|| next(name));
    cache.store(found.unwrap_or(0) as u64);
    found
}

/// Where the variable of this name is (which ends with a zero) that the C library and the program use. None also where the tables
/// of the loaded objects cannot be searched.
pub fn variable(name: &str) -> Option<usize> {
    noted::noted()?.variable(name)
}

/// Does what [`address`] does, for an old version of the function if the C library has that, for callers that may have
/// been built for it.
#[cold]
pub fn address_of_version(cache: &Word64, name: &str, version: &str) -> Option<usize> {
    match cache.load() {
        0 => {
            let found = next_of_version(name, version).or_else(|| next(name));
            cache.store(found.unwrap_or(0) as u64);
            found
        }
        known => Some(known as usize),
    }
}

/// Functions of which glibc has several versions with different behaviour, with the newest version. Up to glibc 2.35 a
/// lookup of the next function returns the oldest one.
const SEVERAL_VERSIONS: &[(&str, &str)] = &[
    ("glob\0", "GLIBC_2.27\0"),
    ("glob64\0", "GLIBC_2.27\0"),
    #[cfg(target_arch = "x86_64")]
    ("posix_spawn\0", "GLIBC_2.15\0"),
    #[cfg(target_arch = "x86_64")]
    ("posix_spawnp\0", "GLIBC_2.15\0"),
    #[cfg(target_arch = "x86_64")]
    ("realpath\0", "GLIBC_2.3\0"),
];

/// The address of the next function of this name, unless that is ourselves.
fn next(name: &str) -> Option<usize> {
    debug_assert!(name.ends_with('\0'), "a name for the C library ends with a zero");
    // SAFETY: the name ends with a zero; asking for a symbol has no other precondition.
    not_ours(unsafe { dlsym()(libc::RTLD_NEXT, name.as_ptr().cast()) })
}

/// Does what [`next`] does, of one version; none also where there are no versions (musl).
fn next_of_version(name: &str, version: &str) -> Option<usize> {
    type Dlvsym = unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char) -> *mut c_void;
    static DLVSYM: Word64 = Word64::new(0);
    debug_assert!(name.ends_with('\0') && version.ends_with('\0'), "strings for the C library end with a zero");
    // SAFETY: the C library's function of this name.
    let dlvsym =
        address(&DLVSYM, "dlvsym\0").map(|address| unsafe { core::mem::transmute::<usize, Dlvsym>(address) })?;
    // SAFETY: both strings end with a zero; asking for a symbol has no other precondition.
    not_ours(unsafe { dlvsym(libc::RTLD_NEXT, name.as_ptr().cast(), version.as_ptr().cast()) })
}

/// The address range of the object that contains this code; both 0 until known.
static OWN_START: Word64 = Word64::new(0);
static OWN_END: Word64 = Word64::new(0);
/// The C library's `dlsym`; 0 until it is known.
static DLSYM: Word64 = Word64::new(0);

/// The C library's own `dlsym`, or the visible one.
fn dlsym() -> Dlsym {
    if DLSYM.load() == 0 {
        know(&Loaded::look(&mut []));
    }
    // SAFETY: a function of this kind, stored above.
    unsafe { core::mem::transmute::<usize, Dlsym>(DLSYM.load() as usize) }
}

fn know(loaded: &Loaded<'_, '_>) {
    OWN_START.store(loaded.own.start as u64);
    OWN_END.store(loaded.own.end as u64);
    DLSYM.store(loaded.dlsym.unwrap_or(libc::dlsym) as *const () as u64);
}

/// Returns what was found unless it is our own function. If nothing was found, clears the C library's error, so that
/// the program does not see it.
fn not_ours(found: *mut c_void) -> Option<usize> {
    if found.is_null() {
        // SAFETY: has no precondition.
        unsafe { libc::dlerror() };
    }
    let own = OWN_START.load() as usize..OWN_END.load() as usize;
    (!found.is_null() && !own.contains(&(found as usize))).then_some(found as usize)
}

/// The result of a call if the C library has no such function.
pub trait Absent {
    /// -1, 0 for a count, null for a pointer, with the error number `ENOSYS`; or nothing.
    fn absent() -> Self;
}

impl Absent for i32 {
    fn absent() -> i32 {
        crate::set_errno(libc::ENOSYS);
        -1
    }
}

impl Absent for isize {
    fn absent() -> isize {
        i32::absent() as isize
    }
}

impl Absent for usize {
    fn absent() -> usize {
        i32::absent();
        0
    }
}

impl<T> Absent for *mut T {
    fn absent() -> *mut T {
        i32::absent();
        core::ptr::null_mut()
    }
}

impl Absent for () {
    fn absent() {}
}

/// Declares functions that call the real ones of these names, and `resolve`, which arranges that they are found. A function
/// returns an `int` unless said otherwise. After an arrow comes the replacement if the C library has no such function.
///
/// `open`, `openat`, `fcntl` and `ioctl` are variadic in C. On x86-64 and aarch64 Linux their integer and pointer
/// arguments are passed in the same registers as those of functions with fixed arguments, which are declared here.
#[macro_export]
macro_rules! next_functions {
    (@result) => { core::ffi::c_int };
    (@result $result:ty) => { $result };
    (@find) => { $crate::interposition::next::address };
    (@find $instead:expr) => { $crate::interposition::next::address_or_absent };
    (@absent) => { $crate::interposition::next::Absent::absent() };
    // SAFETY: the promise of the caller of the function that is absent.
    (@absent $instead:expr) => { unsafe { $instead } };
    ($(fn $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)? $(=> $instead:expr)?;)*) => {
        $(
            /// The real function of this name.
            ///
            /// # Safety
            /// As for the function itself.
            #[inline(always)]
            pub(crate) unsafe fn $name($($argument: $type),*) -> $crate::next_functions!(@result $($result)?) {
                let find = $crate::next_functions!(@find $($instead)?);
                let Some(address) = find(&cache::$name, concat!(stringify!($name), "\0")) else {
                    return $crate::next_functions!(@absent $($instead)?);
                };
                type Function = unsafe extern "C-unwind" fn($($type),*) -> $crate::next_functions!(@result $($result)?);
                // SAFETY: the C library's function of this name, which takes these arguments.
                let function = unsafe { core::mem::transmute::<usize, Function>(address) };
                // SAFETY: the caller's promise.
                unsafe { function($($argument),*) }
            }
        )*

        #[allow(non_upper_case_globals, reason = "named after the functions")]
        mod cache {
            use $crate::atomic::Word64;
            $(pub(super) static $name: Word64 = Word64::new(0);)*
        }

        /// Arranges that they are found: at the first use of each, or now.
        pub(crate) fn resolve() {
            if !$crate::interposition::next::prepare() {
                resolve_now();
            }
        }

        #[cold]
        #[inline(never)]
        fn resolve_now() {
            use $crate::interposition::next::{Wanted, look_up_all};
            look_up_all(&mut [$(Wanted::new(&cache::$name, concat!(stringify!($name), "\0")),)*]);
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The linker uses the newest version for this program.
    #[test]
    fn the_newest_version_is_found() {
        unsafe extern "C" {
            fn realpath();
            fn glob();
            fn posix_spawn();
        }
        let cache = || Word64::new(0);
        assert_eq!(look_up(&cache(), "realpath\0"), Some(realpath as *const () as usize));
        assert_eq!(look_up(&cache(), "glob\0"), Some(glob as *const () as usize));
        assert_eq!(look_up(&cache(), "posix_spawn\0"), Some(posix_spawn as *const () as usize));
    }

    #[test]
    fn the_tables_say_what_dlsym_says() {
        const NAMES: [&str; 9] = [
            "close\0",
            "open64\0",
            "sigaction\0",
            "recvmsg\0",
            "pthread_cancel\0",
            "realpath\0",
            "glob\0",
            "posix_spawn\0",
            "there is no such function\0",
        ];
        let caches = NAMES.map(|_| Word64::new(0));
        let mut wanted: Vec<_> = caches.iter().zip(NAMES).map(|(cache, name)| Wanted::new(cache, name)).collect();
        look_up_all(&mut wanted);
        let clear = wanted.iter().filter(|wanted| matches!(wanted.found, Found::At(_))).count();
        assert_eq!(clear, NAMES.len() - 1, "the C library's tables tell");
        for (cache, name) in caches.iter().zip(NAMES) {
            assert_eq!(cache.load(), look_up(&Word64::new(0), name).unwrap_or(0) as u64, "{name:?}");
        }
    }

    #[test]
    fn a_variable_is_where_dlsym_finds_it() {
        assert!(noted::note(), "the test program's objects can be searched");
        for name in ["environ\0", "stdout\0", "there is no such variable\0", "close\0"] {
            // SAFETY: a string that ends with a zero.
            let known = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr().cast()) } as usize;
            let expected = Some(known).filter(|&known| known != 0 && name != "close\0");
            assert_eq!(variable(name), expected, "{name:?}");
        }
    }

    #[test]
    fn what_is_not_there_is_none() {
        let cache = Word64::new(7);
        assert_eq!(look_up(&cache, "there is no such function\0"), None);
        assert_eq!(cache.load(), 0, "a library that is loaded later may have it");
        for _ in 0..2 {
            assert_eq!(address_or_absent(&cache, "there is no such function\0"), None);
            assert_eq!(cache.load(), ABSENT);
        }
        cache.store(0);
        assert_eq!(
            address_of_version(&cache, "close\0", "there is no such version\0"),
            address(&Word64::new(0), "close\0")
        );
        assert_ne!(cache.load(), 0);
    }
}
