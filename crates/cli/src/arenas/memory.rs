// SPDX-License-Identifier: MIT OR Apache-2.0
//! The memory of a program, read from outside; nothing in it is changed, and the program is not stopped. Any of it may be rubbish, or change
//! meanwhile.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;

use super::proc::Mapped;

pub const PAGE: usize = 4096;
const CHUNK: usize = 256 << 10;

/// The memory of a program.
pub struct Memory {
    memory: File,
    maps: Vec<Mapped>,
}

impl Memory {
    /// Returns None if the process is not there, or may not be traced.
    pub fn of(pid: u32) -> Option<Memory> {
        let memory = File::open(format!("/proc/{pid}/mem")).ok()?;
        let maps = fs::read(format!("/proc/{pid}/maps")).ok()?;
        Some(Memory { memory, maps: String::from_utf8_lossy(&maps).lines().filter_map(Mapped::parse).collect() })
    }

    /// What the process has mapped, as it was when this was made.
    pub fn maps(&self) -> &[Mapped] {
        &self.maps
    }

    /// Returns true if so many bytes lie in one mapping that the program alone has, to read and write.
    pub fn is_own(&self, at: u64, length: u64) -> bool {
        let has_it =
            |mapped: &Mapped| mapped.start <= at && at.checked_add(length).is_some_and(|end| end <= mapped.end);
        self.maps.iter().find(|mapped| has_it(mapped)).is_some_and(is_private)
    }

    /// The file of which this address is, if it is one: a program or a library.
    pub fn module(&self, address: u64) -> Option<String> {
        let mapped = self.maps.iter().find(|mapped| (mapped.start..mapped.end).contains(&address))?;
        Some(path(mapped)?.rsplit('/').next()?.to_owned())
    }

    pub fn word(&self, at: u64) -> Option<u64> {
        Some(u64::from_le_bytes(self.bytes(at)?))
    }

    pub fn half(&self, at: u64) -> Option<u32> {
        Some(u32::from_le_bytes(self.bytes(at)?))
    }

    pub fn bytes<const LENGTH: usize>(&self, at: u64) -> Option<[u8; LENGTH]> {
        let mut bytes = [0; LENGTH];
        self.memory.read_exact_at(&mut bytes, at).ok()?;
        Some(bytes)
    }

    /// So many bytes.
    pub fn block(&self, at: u64, length: usize) -> Option<Vec<u8>> {
        Some(self.what_is_there(at, length)).filter(|bytes| bytes.len() == length)
    }

    /// What can be read of so many bytes: up to the first page that cannot.
    pub fn what_is_there(&self, at: u64, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        let mut read = 0;
        while let Ok(more @ 1..) = self.memory.read_at(&mut bytes[read..], at.saturating_add(read as u64)) {
            read += more;
        }
        bytes.truncate(read);
        bytes
    }

    /// Calls `look` with what can be read, in order, until it returns true. (An entry that lies across two chunks is in the second one, too.)
    pub fn each_chunk(&self, start: u64, end: u64, mut look: impl FnMut(u64, &[u8]) -> bool) {
        let mut bytes = vec![0; CHUNK + PAGE];
        let mut at = start;
        while at < end {
            let length = (end - at).min((CHUNK + PAGE) as u64) as usize;
            // A page that cannot be read, such as the guard of a stack, ends what is read at once.
            let read = self.memory.read_at(&mut bytes[..length], at).unwrap_or(0);
            if look(at, &bytes[..read]) {
                return;
            }
            at += if read < PAGE { PAGE as u64 } else { (read.min(CHUNK) / PAGE * PAGE) as u64 };
        }
    }
}

/// What is noted of a process whose memory was asked for.
pub fn unreadable(pid: u32) -> String {
    format!("the memory of {pid} cannot be read: it may not be traced")
}

/// Returns true if it is memory of the program alone, which begins with what its file has: the data of a program or library.
pub fn is_data_of_file(mapped: &Mapped) -> bool {
    is_private(mapped) && path(mapped).is_some()
}

/// Returns true if it is memory of the program alone, which no file has.
pub fn is_private_data(mapped: &Mapped) -> bool {
    is_private(mapped) && path(mapped).is_none()
}

/// Returns true if it is memory that the program alone changes; a file may be what it begins with.
fn is_private(mapped: &Mapped) -> bool {
    mapped.access.starts_with("rw") && mapped.access.ends_with('p')
}

/// The file of a mapping.
fn path(mapped: &Mapped) -> Option<&str> {
    mapped.name.as_deref().filter(|name| name.starts_with('/'))
}

/// The number in the eight bytes at this place.
pub fn word_in(bytes: &[u8], place: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(place..place + 8)?.try_into().ok()?))
}

/// The number in the four bytes at this place.
pub fn half_in(bytes: &[u8], place: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(place..place + 4)?.try_into().ok()?))
}

#[cfg(test)]
#[path = "../../tests/unit/arenas/memory.rs"]
mod tests;
