// SPDX-License-Identifier: MIT OR Apache-2.0
//! The loader's own `dlsym`, even if another library interposes on it; and what it would find, read from the same tables.
//!
//! Overlays and tracers often export their own `dlsym`, which forwards the call. The C library then searches from
//! *their* position in the list of loaded objects, and the next function after them may be one of ours. So this finds
//! the real `dlsym` in the symbol table of the C library itself, as the loader mapped it. (Up to glibc 2.33 it is in a
//! separate library; musl has it in its loader.)
//!
//! A library's constructor notes where the tables lie ([`super::noted`]). Where that does not do, it searches them for all
//! functions in one pass ([`Wanted`]), when the loader has mapped everything that the program was started with.

use super::super::objects;
use crate::atomic::Word64;
use core::ffi::{CStr, c_char, c_int, c_void};
use core::ops::Range;
use libc::{Elf64_Phdr, Elf64_Sym, PT_DYNAMIC, PT_LOAD, dl_phdr_info};

/// What `dlsym` is.
pub(super) type Dlsym = unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void;

/// A function to be found in the objects after this one.
pub struct Wanted<'a> {
    pub(super) cache: &'a Word64,
    /// Ends with a zero.
    pub(super) name: &'static str,
    hash: u32,
    pub(super) found: Found,
}

/// Where a function is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Found {
    /// In no object that was loaded when the search was made.
    Nowhere,
    /// At this address: `dlsym` would return it.
    At(usize),
    /// Only `dlsym` can tell.
    Unclear,
}

impl<'a> Wanted<'a> {
    /// A function of this name, which ends with a zero, and whose address `cache` is to keep.
    pub fn new(cache: &'a Word64, name: &'static str) -> Self {
        Wanted { cache, name, hash: hash_of(name), found: Found::Nowhere }
    }
}

/// What was found in the loaded objects.
#[derive(Default)]
pub(super) struct Loaded<'a, 'b> {
    /// The C library's `dlsym`; none where it is not found.
    pub(super) dlsym: Option<Dlsym>,
    /// The address range of the object that contains this code.
    pub(super) own: Range<usize>,
    /// What is searched for in the objects behind that one.
    wanted: &'b mut [Wanted<'a>],
    /// The C library was passed: what stands behind it may not be what `dlsym` searches.
    is_past: bool,
}

impl<'a, 'b> Loaded<'a, 'b> {
    /// Searches all loaded objects.
    pub(super) fn look(wanted: &'b mut [Wanted<'a>]) -> Self {
        let mut loaded = Loaded { wanted, ..Loaded::default() };
        // SAFETY: `visit` takes exactly this for its last argument, and nobody else uses it meanwhile.
        unsafe { objects::each(visit, (&raw mut loaded).cast()) };
        loaded
    }
}

unsafe extern "C-unwind" fn visit(info: *mut dl_phdr_info, _size: usize, loaded: *mut c_void) -> c_int {
    // SAFETY: the loader describes a loaded object, and `look` hands its own `Loaded` in.
    let (object, loaded) = unsafe { (Object::new(&*info), &mut *loaded.cast::<Loaded<'_, '_>>()) };
    let here = visit as *const () as usize;
    if let Some(own) = object.segments().find(|segment| segment.contains(&here)) {
        loaded.own = object.segments().fold(own, |all, next| all.start.min(next.start)..all.end.max(next.end));
        return 0;
    }
    let Some(tables) = object.tables() else { return 0 };
    if !loaded.own.is_empty() {
        tables.search(loaded.wanted, loaded.is_past);
    }
    if tables.is_c_library(object.name) {
        loaded.is_past = true;
        let dlsym = loaded.dlsym.map_or_else(|| tables.function(c"dlsym"), |known| Some(known as usize));
        // SAFETY: the C library's function of this name.
        loaded.dlsym = dlsym.map(|address| unsafe { core::mem::transmute::<usize, Dlsym>(address) });
    }
    0
}

/// A loaded object, as the loader describes it.
pub(in super::super) struct Object<'a> {
    base: usize,
    pub(in super::super) name: &'a CStr,
    headers: &'a [Elf64_Phdr],
}

impl<'a> Object<'a> {
    /// # Safety
    /// The loader's own description.
    pub(in super::super) unsafe fn new(info: &'a dl_phdr_info) -> Self {
        // SAFETY: the loader's array of headers, and its string for the name, if it has one.
        unsafe {
            let headers = core::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into());
            let name = if info.dlpi_name.is_null() { c"" } else { CStr::from_ptr(info.dlpi_name) };
            Object { base: info.dlpi_addr as usize, name, headers }
        }
    }

    pub(in super::super) fn segments(&self) -> impl Iterator<Item = Range<usize>> {
        let loaded = self.headers.iter().filter(|header| header.p_type == PT_LOAD);
        loaded.map(|header| {
            let start = self.base.wrapping_add(header.p_vaddr as usize);
            start..start.wrapping_add(header.p_memsz as usize)
        })
    }

    /// Returns the object's symbol tables, or `None` if it has no dynamic section.
    pub(super) fn tables(&self) -> Option<Tables> {
        let dynamic = self.headers.iter().find(|header| header.p_type == PT_DYNAMIC)?;
        let mut entry = self.base.wrapping_add(dynamic.p_vaddr as usize) as *const [u64; 2];
        let mut tables = Tables { base: self.base, ..Tables::NONE };
        loop {
            // SAFETY: the dynamic section of a loaded object, which ends with an entry of kind 0.
            let [kind, value] = unsafe { *entry };
            // glibc stores addresses here if the section is writable; others leave the values of the file. A table too far away
            // counts as missing.
            let offset = u32::try_from((value as usize).checked_sub(self.base).unwrap_or(value as usize)).unwrap_or(0);
            match kind {
                0 => break,
                4 => tables.hash = offset,
                5 => tables.strings = offset,
                6 => tables.symbols = offset,
                14 => tables.soname = value as u32,
                0x6fff_fef5 => tables.gnu_hash = offset,
                0x6fff_fff0 => tables.versions = offset,
                _ => {}
            }
            entry = entry.wrapping_add(1);
        }
        (tables.strings != 0 && tables.symbols != 0).then_some(tables)
    }
}

/// Where an object's tables are, from its base on, 0 for missing ones; `soname` is an offset into its strings, 0 for none. Small, because
/// many are kept.
#[derive(Clone, Copy)]
pub(super) struct Tables {
    base: usize,
    strings: u32,
    symbols: u32,
    hash: u32,
    gnu_hash: u32,
    versions: u32,
    soname: u32,
}

impl Tables {
    pub(super) const NONE: Tables =
        Tables { base: 0, strings: 0, symbols: 0, hash: 0, gnu_hash: 0, versions: 0, soname: 0 };

    /// The address of a table.
    fn at(&self, table: u32) -> usize {
        self.base.wrapping_add(table as usize)
    }

    /// Returns whether the kernel put this into the program. The loader lists it, and finds nothing in it.
    pub(super) fn is_kernels(&self) -> bool {
        self.soname != 0 && self.string(self.soname).to_bytes().starts_with(b"linux-vdso.")
    }

    /// Returns whether there is GNU's kind of table, the only kind that is searched.
    pub(super) fn can_be_searched(&self) -> bool {
        self.gnu_hash != 0
    }

    /// Returns whether this is the library that contains `dlsym`, by its own name or its file's.
    pub(super) fn is_c_library(&self, path: &CStr) -> bool {
        let own = if self.soname == 0 { c"" } else { self.string(self.soname) };
        let file = path.to_bytes().rsplit(|&byte| byte == b'/').next().unwrap_or_default();
        [own.to_bytes(), file].into_iter().any(|name| {
            matches!(name, b"libc.so.6" | b"libdl.so.2" | b"libc.so")
                || name.starts_with(b"ld-musl-")
                || name.starts_with(b"libc.musl-")
        })
    }

    /// The address of the function that the object exports under this name.
    fn function(&self, name: &CStr) -> Option<usize> {
        const FUNCTION: u8 = 2;
        let is_it = |index: &u32| {
            let symbol = self.symbol(*index);
            symbol.st_shndx != 0 && symbol.st_info & 15 == FUNCTION && self.string(symbol.st_name) == name
        };
        let index = match (self.gnu_hash, self.hash) {
            (0, 0) => None,
            (0, _) => self.chain(name).find(is_it),
            _ => self.gnu_chain(gnu_hash(name.to_bytes())).find(is_it),
        };
        index.map(|index| self.base.wrapping_add(self.symbol(index).st_value as usize))
    }

    /// Finds what is still wanted and here. `is_past`: whether it is unclear if `dlsym` would search this object.
    fn search(&self, wanted: &mut [Wanted<'_>], is_past: bool) {
        for wanted in wanted.iter_mut().filter(|wanted| wanted.found == Found::Nowhere) {
            wanted.found = match self.gnu_hash {
                0 => Found::Unclear,
                _ => self.newest(wanted.name.as_bytes(), wanted.hash),
            };
            if is_past && wanted.found != Found::Nowhere {
                wanted.found = Found::Unclear;
            }
        }
    }

    /// Returns whether a function of this name, which ends with a zero, is here.
    pub(super) fn has(&self, name: &str) -> bool {
        self.newest(name.as_bytes(), hash_of(name)) != Found::Nowhere
    }

    /// Where the newest version of a function is that a linker would choose; the table is GNU's.
    #[unsafe(link_section = ".text.ntux_start")]
    pub(super) fn newest(&self, name: &[u8], hash: u32) -> Found {
        const FUNCTION: u8 = 2;
        match self.newest_symbol(name, hash) {
            None => Found::Nowhere,
            Some(symbol) if symbol.st_info & 15 == FUNCTION && symbol.st_value != 0 => {
                Found::At(self.base.wrapping_add(symbol.st_value as usize))
            }
            Some(_) => Found::Unclear,
        }
    }

    /// Does what [`Tables::newest`] does, for a variable.
    pub(super) fn variable(&self, name: &[u8], hash: u32) -> Option<usize> {
        const VARIABLE: u8 = 1;
        let is_one = |symbol: &&Elf64_Sym| symbol.st_info & 15 == VARIABLE && symbol.st_value != 0;
        let symbol = self.newest_symbol(name, hash).filter(is_one)?;
        Some(self.base.wrapping_add(symbol.st_value as usize))
    }

    fn newest_symbol(&self, name: &[u8], hash: u32) -> Option<&Elf64_Sym> {
        /// The bit of a version that only programs of its time use; the lowest versions are none of their own.
        const OLD: u16 = 1 << 15;
        if !self.may_have(hash) {
            return None;
        }
        let is_it = |index: &u32| {
            let (symbol, version) = (self.symbol(*index), self.version(*index));
            let is_one = symbol.st_shndx != 0 && version & OLD == 0 && version != 0;
            is_one && self.string(symbol.st_name).to_bytes_with_nul() == name
        };
        self.gnu_chain(hash).find(is_it).map(|index| self.symbol(index))
    }

    /// The names of the object's own functions, some several times; the table is GNU's.
    #[cfg(test)]
    pub(super) fn names(&self) -> impl Iterator<Item = &CStr> {
        const FUNCTION: u8 = 2;
        let word = |index: usize| {
            // SAFETY: as in `gnu_chain`.
            unsafe { *(self.at(self.gnu_hash) as *const u32).add(index) }
        };
        let [bucket_count, first_symbol, filter] = [word(0) as usize, word(1) as usize, word(2) as usize];
        let buckets = 4 + 2 * filter;
        let last = (0..bucket_count).map(|bucket| word(buckets + bucket) as usize).max().unwrap_or(0);
        let ends = |&index: &usize| word(buckets + bucket_count + index - first_symbol) & 1 != 0;
        let end = (last.max(first_symbol)..).find(ends).map_or(first_symbol, |index| index + 1);
        let symbols = (first_symbol..end).map(|index| self.symbol(index as u32));
        symbols.filter(|symbol| symbol.st_info & 15 == FUNCTION).map(|symbol| self.string(symbol.st_name))
    }

    #[cfg(test)]
    pub(super) fn without_versions(&self) -> Tables {
        Tables { versions: 0, ..*self }
    }

    /// The version of a symbol; 1 in an object without versions.
    fn version(&self, index: u32) -> u16 {
        match self.versions {
            0 => 1,
            // SAFETY: the object's own table, with an entry for each symbol.
            table => unsafe { *(self.at(table) as *const u16).add(index as usize) },
        }
    }

    fn string(&self, offset: u32) -> &CStr {
        // SAFETY: the offset is the object's own, and leads to one of its strings.
        unsafe { CStr::from_ptr((self.at(self.strings) + offset as usize) as *const c_char) }
    }

    fn symbol(&self, index: u32) -> &Elf64_Sym {
        // SAFETY: the number of a symbol from the object's own hash table.
        unsafe { &*(self.at(self.symbols) as *const Elf64_Sym).add(index as usize) }
    }

    /// Numbers of symbols that may have this name, by the old kind of table.
    fn chain(&self, name: &CStr) -> impl Iterator<Item = u32> {
        let hash = name.to_bytes().iter().fold(0u32, |hash, &byte| {
            let hash = (hash << 4).wrapping_add(byte.into());
            let high = hash & 0xf000_0000;
            (hash ^ high >> 24) & !high
        });
        let table = self.at(self.hash) as *const u32;
        // SAFETY: the table: two counts, as many buckets as the first says, as many links as the second says.
        let word = move |index: usize| unsafe { *table.add(index) };
        let buckets = word(0);
        let first = word(2 + (hash % buckets) as usize);
        let next = move |index: &u32| Some(word(2 + (buckets + index) as usize));
        core::iter::successors(Some(first), next).take_while(|&index| index != 0)
    }

    /// Returns whether a symbol with this hash can be in GNU's kind of table.
    fn may_have(&self, hash: u32) -> bool {
        let table = self.at(self.gnu_hash) as *const u32;
        // SAFETY: the table's head, and its filter, of whose words there is a power of two.
        unsafe {
            let (words, shift) = (*table.add(2), *table.add(3));
            let word = *table.add(4).cast::<u64>().add(((hash / u64::BITS) & (words - 1)) as usize);
            let bits = 1 << (hash % u64::BITS) | 1 << (hash.wrapping_shr(shift) % u64::BITS);
            word & bits == bits
        }
    }

    /// Numbers of symbols that may have this name, by GNU's kind of table.
    fn gnu_chain(&self, hash: u32) -> impl Iterator<Item = u32> {
        let table = self.at(self.gnu_hash) as *const u32;
        // SAFETY: the table: four counts, a filter of 8-byte words, buckets, and for each symbol from the first one on
        // its hash, of which the lowest bit marks the last one of a bucket.
        let word = move |index: usize| unsafe { *table.add(index) };
        let [bucket_count, first_symbol, filter] = [word(0), word(1), word(2)];
        let buckets = 4 + 2 * filter as usize;
        let hashes = buckets + bucket_count as usize;
        let first = word(buckets + (hash % bucket_count) as usize);
        let at = move |index: u32| word(hashes + (index - first_symbol) as usize);
        let next = move |&index: &u32| (at(index) & 1 == 0).then_some(index + 1);
        core::iter::successors((first >= first_symbol).then_some(first), next)
            .filter(move |&index| at(index) | 1 == hash | 1)
    }
}

/// The hash of a name that ends with a zero.
pub(super) fn hash_of(name: &str) -> u32 {
    debug_assert!(name.ends_with('\0'), "a name for the C library ends with a zero");
    gnu_hash(&name.as_bytes()[..name.len() - 1])
}

fn gnu_hash(name: &[u8]) -> u32 {
    let times_33 = |hash: u32, &byte: &u8| hash.wrapping_mul(33).wrapping_add(byte.into());
    name.iter().fold(5381, times_33)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_c_librarys_function_is_found_in_its_tables() {
        let loaded = Loaded::look(&mut []);
        assert_eq!(loaded.dlsym.expect("there is one") as usize, libc::dlsym as *const () as usize);
        assert!(loaded.own.contains(&(gnu_hash as *const () as usize)));
        assert!(!loaded.own.contains(&(libc::dlsym as *const () as usize)));
    }

    /// Both kinds of hash tables lead to the same function, in every object that has both.
    #[test]
    fn both_tables_agree() {
        unsafe extern "C" fn compare(info: *mut dl_phdr_info, _size: usize, compared: *mut c_void) -> c_int {
            // SAFETY: the loader describes a loaded object, and the test hands its counter in.
            let (object, compared) = unsafe { (Object::new(&*info), &mut *compared.cast::<u32>()) };
            let Some(tables) = object.tables() else { return 0 };
            for name in [c"dlsym", c"open", c"_Unwind_Resume", c"there_is_no_such_function"] {
                let old = Tables { gnu_hash: 0, ..tables };
                if tables.gnu_hash != 0 && tables.hash != 0 {
                    assert_eq!(old.function(name), tables.function(name), "{:?} {name:?}", object.name);
                    *compared += 1;
                }
            }
            0
        }
        let mut compared = 0u32;
        // SAFETY: `compare` takes exactly this for its last argument.
        unsafe { libc::dl_iterate_phdr(Some(compare), (&raw mut compared).cast()) };
        println!("{compared} look-ups compared; 0 where no library was linked with both kinds of tables");
    }
}
