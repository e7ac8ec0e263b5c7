// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which glibc a library needs, and which one a program has.
//!
//! A library that needs a newer one is fatal: the loader kills any program into which it is loaded.

use std::fs::File;
use std::path::Path;

use object::elf;
use object::read::elf::{FileHeader, SectionHeader};
use object::read::{ReadCache, StringTable};

/// Two parts of a version suffice: no symbol that a program built today needs has a third part.
type Version = (u32, u32);

/// Returns whether the glibc of programs with this loader lacks symbols that the library needs; false if that is
/// unknown.
pub fn is_too_old(loader: &Path, library: &Path) -> bool {
    // Loader and C library belong to one package, and are in one directory once links are followed.
    let Some(beside) = loader.canonicalize().ok().map(|loader| loader.with_file_name("libc.so.6")) else {
        return false;
    };
    match (newest(&beside, Symbols::Given), newest(library, Symbols::Needed)) {
        (Some(given), Some(needed)) => given < needed,
        _ => false,
    }
}

#[derive(Clone, Copy)]
enum Symbols {
    Given,
    Needed,
}

/// The newest glibc version among the symbols of a file.
fn newest(path: &Path, which: Symbols) -> Option<Version> {
    let file = ReadCache::new(File::open(path).ok()?);
    let header = elf::FileHeader64::<object::Endianness>::parse(&file).ok()?;
    let endian = header.endian().ok()?;
    let sections = header.sections(endian, &file).ok()?;
    let mut found = Vec::new();
    match which {
        Symbols::Given => {
            let (mut definitions, strings) = sections.gnu_verdef(endian, &file).ok()??;
            let strings = whole(sections.section(strings).ok()?.data(endian, &file).ok()?);
            while let Some((_, mut names)) = definitions.next().ok()? {
                found.extend(names.next().ok()?.and_then(|name| version(name.name(endian, strings).ok()?)));
            }
        }
        Symbols::Needed => {
            let (mut libraries, strings) = sections.gnu_verneed(endian, &file).ok()??;
            let strings = whole(sections.section(strings).ok()?.data(endian, &file).ok()?);
            while let Some((_, mut names)) = libraries.next().ok()? {
                while let Some(name) = names.next().ok()? {
                    found.extend(version(name.name(endian, strings).ok()?));
                }
            }
        }
    }
    found.into_iter().max()
}

/// A table of strings that was read at once. By itself each string would be read from the file.
fn whole(bytes: &[u8]) -> StringTable<'_, &[u8]> {
    StringTable::new(bytes, 0, bytes.len() as u64)
}

/// Parses `GLIBC_2.17`; returns none for other names, such as `GLIBC_PRIVATE`.
fn version(name: &[u8]) -> Option<Version> {
    let mut parts = std::str::from_utf8(name).ok()?.strip_prefix("GLIBC_")?.split('.').map(str::parse);
    Some((parts.next()?.ok()?, parts.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_numbers() {
        assert_eq!(version(b"GLIBC_2.2.5"), Some((2, 2)));
        assert!(version(b"GLIBC_2.9") < version(b"GLIBC_2.17"));
        assert_eq!(version(b"GLIBC_PRIVATE"), None);
        assert_eq!(version(b"GCC_3.0"), None);
    }
}
