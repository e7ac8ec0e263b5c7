// SPDX-License-Identifier: MIT OR Apache-2.0
//! The scribbler's view of the arena's file: named words, written without regard for their users.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

use ntux_platform::memory::Mapping;
use ntux_sync::Capacity;
use ntux_sync::fields::{self, Field, Table};

/// One word of the file.
#[derive(Clone, Copy, Debug)]
pub struct Word {
    /// Bytes from the start of the file.
    pub offset: usize,
    /// What it is.
    pub field: Field,
}

/// The file, mapped a second time.
pub struct ArenaFile {
    fd: OwnedFd,
    mapping: Mapping,
    tables: Vec<Table>,
    /// What its creator asked for.
    pub capacity: Capacity,
}

impl ArenaFile {
    /// Maps the file of an arena whose capacity is known: what the header says may be rubbish already.
    pub fn open(fd: BorrowedFd<'_>, capacity: Capacity) -> io::Result<ArenaFile> {
        let tables = fields::tables(capacity).ok_or(io::ErrorKind::InvalidInput)?;
        let end = tables.iter().map(|table| table.start + table.stride * u64::from(table.count)).max();
        let end = end.ok_or(io::ErrorKind::InvalidInput)?;
        let mapping = Mapping::new(fd, end.next_multiple_of(4096) as usize)?;
        Ok(ArenaFile { fd: fd.try_clone_to_owned()?, mapping, tables: tables.to_vec(), capacity })
    }

    /// Bytes that are mapped: the whole file.
    pub fn length(&self) -> usize {
        self.mapping.length()
    }

    /// Everything in it.
    pub fn tables(&self) -> &[Table] {
        &self.tables
    }

    /// How many of them a table has. Panics if there is none.
    pub fn count(&self, table: &str) -> u32 {
        self.tables.iter().find(|candidate| candidate.name == table).expect("a table").count
    }

    /// A word by its names. Panics if there is none: that is a mistake in the harness.
    pub fn word(&self, table: &str, index: u32, field: &str, place: usize) -> Word {
        let table = self.tables.iter().find(|candidate| candidate.name == table).expect("a table");
        let field = table.fields.iter().find(|candidate| candidate.name == field).expect("a field");
        self.word_of(table, index, field, place)
    }

    /// A word of a table. Panics if there is none.
    pub fn word_of(&self, table: &Table, index: u32, field: &Field, place: usize) -> Word {
        assert!(index < table.count && place < field.count, "{} {index}, {} {place}", table.name, field.name);
        let offset = table.start + table.stride * u64::from(index);
        Word { offset: offset as usize + field.offset + field.width * place, field: *field }
    }

    /// What a word holds; one of 16 bytes is read in two steps.
    pub fn load(&self, word: Word) -> u128 {
        let low = self.load_half(word.offset, word.field.width.min(8));
        let high = if word.field.width == 16 { self.load_half(word.offset + 8, 8) } else { 0 };
        u128::from(high) << 64 | u128::from(low)
    }

    /// Writes a word; one of 16 bytes in two steps, as nobody in the core would.
    pub fn store(&self, word: Word, value: u128) {
        self.store_half(word.offset, word.field.width.min(8), value as u64);
        if word.field.width == 16 {
            self.store_half(word.offset + 8, 8, (value >> 64) as u64);
        }
    }

    /// A part of a word, by its name.
    pub fn part(&self, word: Word, name: &str) -> u128 {
        let bits = bits(word, name);
        self.load(word) >> bits.first & mask(bits.width)
    }

    /// Changes parts of a word.
    pub fn set(&self, word: Word, parts: &[(&str, u128)]) {
        let merge = |value: u128, (name, part): &(&str, u128)| {
            let bits = bits(word, name);
            value & !(mask(bits.width) << bits.first) | (part & mask(bits.width)) << bits.first
        };
        self.store(word, parts.iter().fold(self.load(word), merge));
    }

    /// Overwrites bytes, at most up to the end of the file.
    pub fn fill(&self, offset: usize, bytes: impl Iterator<Item = u8>) {
        for (place, byte) in (offset..self.length()).zip(bytes) {
            // SAFETY: inside the mapping.
            unsafe { self.mapping.base().add(place).write_volatile(byte) };
        }
    }

    /// Gives pages back to the system: whoever reads them finds zeros. The seals do not forbid it.
    pub fn punch(&self, offset: usize, length: usize) {
        let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
        // SAFETY: a descriptor of our own; the mapping's addresses stay valid.
        let done = unsafe { libc::fallocate(self.fd.as_raw_fd(), mode, offset as i64, length as i64) };
        assert_eq!(done, 0, "a hole: {}", io::Error::last_os_error());
    }

    /// Does what [`ArenaFile::punch`] does, by the mapping's address.
    pub fn remove(&self, offset: usize, length: usize) {
        assert!(offset + length <= self.length());
        // SAFETY: pages of our own mapping, which stays valid: they read as zero afterwards.
        let done = unsafe { libc::madvise(self.mapping.base().add(offset).as_ptr().cast(), length, libc::MADV_REMOVE) };
        assert_eq!(done, 0, "a hole: {}", io::Error::last_os_error());
    }

    /// A copy of the whole file. If a thread writes meanwhile, it is a mixture of before and after.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.length()];
        // SAFETY: both ranges are valid for so many bytes, and apart. The bytes are copied, never looked at as values.
        unsafe { std::ptr::copy_nonoverlapping(self.mapping.base().as_ptr(), bytes.as_mut_ptr(), bytes.len()) };
        bytes
    }

    /// Overwrites the beginning of the file.
    pub fn write_back(&self, bytes: &[u8]) {
        let length = bytes.len().min(self.length());
        // SAFETY: as in `bytes`.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.mapping.base().as_ptr(), length) };
    }

    /// Tries to change the file's length, which the seals forbid.
    pub fn resize(&self, length: usize) {
        // SAFETY: a descriptor of our own.
        let done = unsafe { libc::ftruncate(self.fd.as_raw_fd(), length as i64) };
        assert!(done != 0 || length == self.length(), "the file has changed its length");
        // SAFETY: as above.
        let done = unsafe { libc::fallocate(self.fd.as_raw_fd(), 0, self.length() as i64, 4096) };
        assert_ne!(done, 0, "the file has grown");
    }

    fn load_half(&self, offset: usize, width: usize) -> u64 {
        assert!(offset + width <= self.length());
        // SAFETY: inside the mapping, at its natural alignment, like every word of the layout.
        unsafe {
            let address = self.mapping.base().add(offset);
            if width == 4 { address.cast::<u32>().read_volatile().into() } else { address.cast().read_volatile() }
        }
    }

    fn store_half(&self, offset: usize, width: usize, value: u64) {
        assert!(offset + width <= self.length());
        // SAFETY: as in `load_half`.
        unsafe {
            let address = self.mapping.base().add(offset);
            match width {
                4 => address.cast().write_volatile(value as u32),
                _ => address.cast().write_volatile(value),
            }
        }
    }
}

fn bits(word: Word, name: &str) -> fields::Bits {
    *word.field.bits.iter().find(|bits| bits.name == name).expect("a part of the word")
}

fn mask(width: u32) -> u128 {
    u128::MAX >> (128 - width)
}
