// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the server of a Wine with ntux's back end shows of its objects: types, names, and a handle of each. It keeps that in a file of shared memory
//! of its own (`server/ntux.c` of the patches), which is found among its descriptors and only read.
//!
//! | where | layout, in the order of bytes of the machine |
//! | --- | --- |
//! | 0 | `ntuxnam2`, the number of objects and of names in 4 bytes each |
//! | 64, for each slot of the arena 64 bytes | 0: the object, 8: its process here, 12: the same in Windows, 16: the handle, 20: the place of its name, 24: the thread or process that it is, 28: its type, 60: the access of the handle |
//! | behind those, for each name 256 bytes | 4: its length in bytes, 8: the name |
//!
//! An entry tells something only if the object is the one that is looked for before and after it is read.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use ntux_platform::interposition::proc::Entry;
use ntux_sync::Object;
use serde::Serialize;

use crate::printable::printable;

const FILE: &str = "/memfd:ntux-names";
const MAGIC: &[u8; 8] = b"ntuxnam2";
const HEADER: u64 = 64;
const OBJECT: usize = 64;
const NAME: usize = 256;

/// What the server of a Wine shows.
pub struct Shown {
    file: File,
    objects: u32,
    names: u32,
}

/// An object, as Windows has it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct WindowsObject {
    /// Such as `Mutant` or `Thread`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The whole path. None: it has no name.
    pub name: Option<String>,
    /// The thread or process that it is, by its number in Windows.
    pub is: Option<u32>,
    /// The first handle that was used for it, and of which process: here, and in Windows. It may have been closed since.
    pub handle: u32,
    /// What that handle allows.
    pub access: u32,
    pub pid: u32,
    pub process: u32,
    /// The name of the process. None: it is not there any more.
    pub program: Option<String>,
}

/// Types whose objects are what their names in ntux say.
const PLAIN: [&str; 3] = ["Mutant", "Semaphore", "Event"];

impl WindowsObject {
    /// Such as `\BaseNamedObjects\journal, handle 0x54 with access 0x1f0001 in process 0020 game.exe`.
    pub fn text(&self) -> String {
        let kind = match self.is {
            Some(number) => Some(format!("{} {number:04x}", printable(&self.kind).to_lowercase())),
            None => Some(printable(&self.kind).to_lowercase()).filter(|_| !PLAIN.contains(&self.kind.as_str())),
        };
        let program = self.program.as_deref().map_or(String::new(), |program| format!(" {}", printable(program)));
        let (handle, access, process) = (self.handle, self.access, self.process);
        let handle = format!("handle {handle:#x} with access {access:#x} in process {process:04x}{program}");
        let name = self.name.as_deref().map(printable);
        [kind, name, Some(handle)].into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

impl Shown {
    /// Returns None if this server shows nothing, as without the patches, or may not be inspected.
    pub fn of(server: u32) -> Option<Shown> {
        let descriptors = fs::read_dir(Entry::of(server).path(format_args!("fd")).to_path()).ok()?;
        let is_it = |path: &PathBuf| fs::read_link(path).is_ok_and(|file| file.to_string_lossy().starts_with(FILE));
        let path = descriptors.filter_map(|entry| Some(entry.ok()?.path())).find(is_it)?;
        Shown::read(File::open(path).ok()?)
    }

    fn read(file: File) -> Option<Shown> {
        let mut header = [0; 16];
        file.read_exact_at(&mut header, 0).ok()?;
        header.starts_with(MAGIC).then(|| Shown { file, objects: half(&header, 8), names: half(&header, 12) })
    }

    /// What is shown of an object, but for the name of the program. None: nothing.
    pub fn object(&self, object: Object) -> Option<WindowsObject> {
        let at = HEADER + u64::from(object.index()) * OBJECT as u64;
        let entry = || {
            let mut entry = [0; OBJECT];
            let is_its = |entry: &[u8]| entry.starts_with(&object.0.to_ne_bytes());
            self.file.read_exact_at(&mut entry, at).ok()?;
            (object.index() < self.objects && is_its(&entry)).then_some(entry)
        };
        let seen = entry()?;
        let name = self.name(half(&seen, 20));
        (entry()? == seen).then(|| WindowsObject {
            kind: text(&seen[28..60]),
            name,
            is: Some(half(&seen, 24)).filter(|&number| number != 0),
            handle: half(&seen, 16),
            access: half(&seen, 60),
            pid: half(&seen, 8),
            process: half(&seen, 12),
            program: None,
        })
    }

    fn name(&self, place: u32) -> Option<String> {
        let mut bytes = [0; NAME];
        let at = HEADER + u64::from(self.objects) * OBJECT as u64 + u64::from(place) * NAME as u64;
        self.file.read_exact_at(&mut bytes, at).ok().filter(|()| (1..self.names).contains(&place))?;
        Some(text(bytes.get(8..8 + half(&bytes, 4) as usize)?)).filter(|name| !name.is_empty())
    }
}

/// The number in these four bytes.
fn half(bytes: &[u8], place: usize) -> u32 {
    bytes.get(place..place + 4).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_ne_bytes)
}

/// What stands there up to a zero.
fn text(bytes: &[u8]) -> String {
    let letters = bytes.chunks_exact(2).map(|pair| u16::from_ne_bytes([pair[0], pair[1]]));
    String::from_utf16_lossy(&letters.take_while(|&letter| letter != 0).collect::<Vec<_>>())
}

#[cfg(test)]
#[path = "../../tests/unit/arenas/shown.rs"]
mod tests;
