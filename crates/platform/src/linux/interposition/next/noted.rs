// SPDX-License-Identifier: MIT OR Apache-2.0
//! The objects that the program was started with, noted so that a function is found at any instruction.
//!
//! The constructor notes where the symbol tables of these objects lie. A function is then looked up at its first use, by
//! reading alone: no lock is taken and no memory is asked for, so this may be done in a signal handler and in a child of
//! `vfork`. Two threads that look up the same function write the same answer. The loader never unloads what a program
//! was started with, and never writes to the tables.
//!
//! Most processes start, call a dozen of the functions, and end. To look up all in the constructor, or to have the loader
//! bind all that a library imports, would cost them more than all else that the library does.

use super::super::objects;
use super::loader::{Found, Object, Tables, hash_of};
use crate::atomic::Word32;
use core::cell::UnsafeCell;
use core::ffi::{c_int, c_void};
use libc::dl_phdr_info;

/// The most objects that are noted. A program with more takes longer to start than all look-ups together.
const ROOM: usize = 48;

/// The objects in the loader's order, up to the C library.
pub(super) struct Noted {
    count: usize,
    /// The first one behind the library that looks functions up, once that was passed.
    behind: Option<usize>,
    state: State,
    tables: [Tables; ROOM],
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// The C library was not passed.
    Searching,
    /// The last one noted is the C library.
    Complete,
    /// Only `dlsym` can tell what is where.
    Unclear,
}

struct Shared {
    is_taken: Word32,
    is_valid: Word32,
    noted: UnsafeCell<Noted>,
}

// SAFETY: `noted` is written by the first who takes it, before `is_valid` is set; then it is only read.
unsafe impl Sync for Shared {}

static SHARED: Shared =
    Shared { is_taken: Word32::new(0), is_valid: Word32::new(0), noted: UnsafeCell::new(Noted::NONE) };

/// The objects; none before the constructor has noted them, and where it could not.
pub(super) fn noted() -> Option<&'static Noted> {
    // SAFETY: written before the word was set, and never again.
    (SHARED.is_valid.load() != 0).then(|| unsafe { &*SHARED.noted.get() })
}

/// Notes the objects, for a constructor. Returns whether functions can be looked up in them from now on.
pub(super) fn note() -> bool {
    // Written before it is read: of a page that is read first, the kernel makes two faults.
    if SHARED.is_taken.fetch_add(1) == 0 {
        // SAFETY: nobody reads it before the word is set, and only the first caller comes here.
        let all = unsafe { &mut *SHARED.noted.get() };
        all.look();
        SHARED.is_valid.store(u32::from(all.state == State::Complete));
    }
    noted().is_some()
}

/// Returns whether a constructor has noted the objects, or found that it could not.
#[inline(always)]
pub(in super::super) fn is_prepared() -> bool {
    SHARED.is_taken.load() != 0
}

impl Noted {
    const NONE: Noted = Noted { count: 0, behind: None, state: State::Searching, tables: [Tables::NONE; ROOM] };

    fn look(&mut self) {
        // SAFETY: `visit` takes exactly this for its last argument, and nobody else uses it meanwhile.
        unsafe { objects::each(visit, (&raw mut *self).cast()) };
    }

    /// The first function of this name behind the library.
    pub(super) fn next(&self, name: &str) -> Found {
        self.first_of(self.behind.unwrap_or(self.count), name)
    }

    /// The function of this name that the loader would bind an import of the library to.
    pub(super) fn any(&self, name: &str) -> Found {
        self.first_of(0, name)
    }

    /// The variable of this name that the loader would bind an import to: a copy of the C library's, if the program has one.
    pub(super) fn variable(&self, name: &str) -> Option<usize> {
        let hash = hash_of(name);
        self.tables[..self.count].iter().find_map(|tables| tables.variable(name.as_bytes(), hash))
    }

    #[unsafe(link_section = ".text.ntux_start")]
    fn first_of(&self, start: usize, name: &str) -> Found {
        let hash = hash_of(name);
        let mut found = self.tables[start..self.count].iter().map(|tables| tables.newest(name.as_bytes(), hash));
        found.find(|found| *found != Found::Nowhere).unwrap_or(Found::Nowhere)
    }

    fn add(&mut self, object: &Object<'_>) {
        let here = visit as *const () as usize;
        if object.segments().any(|segment| segment.contains(&here)) {
            self.behind = Some(self.count);
            return;
        }
        let Some(tables) = object.tables().filter(|tables| !tables.is_kernels()) else { return };
        let Some(place) = self.tables.get_mut(self.count).filter(|_| tables.can_be_searched()) else {
            self.state = State::Unclear;
            return;
        };
        *place = tables;
        self.count += 1;
        if tables.is_c_library(object.name) {
            // Where threads are a library of their own (glibc up to 2.33), functions lie in several, in any order.
            let is_whole = self.behind.is_some() && tables.has(THREADS);
            self.state = if is_whole { State::Complete } else { State::Unclear };
        }
    }
}

const THREADS: &str = "pthread_cancel\0";

unsafe extern "C-unwind" fn visit(info: *mut dl_phdr_info, _size: usize, noted: *mut c_void) -> c_int {
    // SAFETY: the loader describes a loaded object, and `look` hands its own `Noted` in.
    let (object, noted) = unsafe { (Object::new(&*info), &mut *noted.cast::<Noted>()) };
    noted.add(&object);
    c_int::from(noted.state != State::Searching)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interposition::next::loader::Dlsym;
    use core::ffi::CStr;

    /// The objects behind the test program, up to the C library.
    fn objects() -> Noted {
        let mut all = Noted::NONE;
        all.look();
        assert!(all.state == State::Complete && all.behind == Some(0), "a program of this project, and its libraries");
        all
    }

    /// What the C library's functions are, by the tables (`found`) and by `dlsym`: how many are the same, and how many are not.
    fn compared(all: &Noted, found: impl Fn(&str) -> Found) -> (usize, usize) {
        let library = all.tables[all.count - 1];
        let names: std::collections::BTreeSet<&CStr> = library.names().collect();
        let (mut same, mut different) = (0, 0);
        for name in names {
            let Found::At(address) = found(core::str::from_utf8(name.to_bytes_with_nul()).unwrap()) else { continue };
            let dlsym: Dlsym = libc::dlsym;
            // SAFETY: a string that ends with a zero.
            let known = unsafe { dlsym(libc::RTLD_DEFAULT, name.as_ptr()) } as usize;
            *(if address == known { &mut same } else { &mut different }) += 1;
        }
        (same, different)
    }

    #[test]
    fn the_tables_say_of_each_function_what_dlsym_says() {
        let all = objects();
        let (same, different) = compared(&all, |name| all.any(name));
        assert_eq!(different, 0, "of {same}");
        assert!(same > 1000, "the C library has more functions than {same}");
        assert_eq!(compared(&all, |name| all.next(name)), (same, 0), "the test program has none of its own");
    }

    /// glibc has functions in several versions; musl has none, and cannot show the bug.
    #[test]
    #[cfg(target_env = "gnu")]
    fn a_planted_search_for_any_version_is_caught() {
        let mut all = objects();
        for tables in &mut all.tables[..all.count] {
            *tables = tables.without_versions();
        }
        let (same, different) = compared(&all, |name| all.any(name));
        assert!(different > 0, "all {same} are the same");
    }

    #[test]
    fn what_only_the_loader_can_search_is_not_searched() {
        for (number, is_clear) in [(0, true), (ROOM - 1, false)] {
            let mut all = Noted { count: number, ..Noted::NONE };
            all.look();
            assert_eq!(all.state == State::Complete, is_clear, "room is left for {} objects", ROOM - number);
        }
    }
}
