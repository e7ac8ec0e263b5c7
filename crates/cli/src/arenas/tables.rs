// SPDX-License-Identifier: MIT OR Apache-2.0
//! The tables of descriptors of a process. Nearly every process has one, which all its threads share; a thread can have its own
//! (`unshare(CLONE_FILES)`).
//!
//! `PID:FD` finds a table by a number: the number of the process, or of a thread that has its own table. Such a thread has an entry
//! in /proc, although no listing shows it. The process's own table is its first thread's; or, if this thread has ended, the table of
//! a thread that lives.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use ntux_platform::command::others::share_descriptors;
use ntux_platform::interposition::proc::{Entry, each_thread};
use ntux_sync::Object;

use super::proc::{self, is_there};

/// What the kernel calls a file that has no name in any directory.
const ANONYMOUS: &str = "/memfd:";
/// What it calls an arena.
pub const ARENA: &str = "/memfd:ntsync";

/// A table of descriptors.
#[derive(Clone, Copy)]
pub struct Table {
    /// What it is named by.
    pub number: u32,
    entry: Entry,
}

/// How often another thread is looked for if one has ended in the middle of a look.
const TRIES: usize = 10;

impl Table {
    /// The table of a process, or of a thread that has its own.
    pub fn named(number: u32) -> Table {
        Table { number, entry: Entry::of(number) }
    }

    /// What is behind a descriptor, as a path that can be opened.
    pub fn file(&self, fd: u32) -> PathBuf {
        self.entry.path(format_args!("fd/{fd}")).to_path().to_owned()
    }

    /// What the kernel tells of a descriptor.
    fn information(&self, fd: u32) -> PathBuf {
        self.entry.path(format_args!("fdinfo/{fd}")).to_path().to_owned()
    }

    /// Which object a descriptor of an arena names; none for the arena itself. None at all: it is not there any more.
    pub fn object(&self, fd: u32) -> Option<Option<Object>> {
        let offset = proc::number(self.information(fd), "pos:")?;
        Some((offset != 0).then_some(Object(offset)))
    }

    /// The tables of the process's threads that do not share this one.
    fn others(self) -> Vec<Table> {
        let mut tables = vec![self];
        each_thread(self.number, |thread| {
            // (The table of a thread that has ended is no table, and empty.)
            let is_another = |table: &Table| share_descriptors(table.entry.thread(), thread) == Some(false);
            if tables.iter().all(is_another) {
                tables.push(Table { number: thread, entry: Entry::of_thread(self.number, thread) });
            }
            true
        });
        tables.split_off(1)
    }

    fn list(&self) -> io::Result<Vec<u32>> {
        let directory = fs::read_dir(self.entry.path(format_args!("fd")).to_path())?;
        Ok(directory.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect())
    }
}

/// Calls `look` with all descriptors of a process.
///
/// Errors: the process is not there, or may not be inspected.
pub fn each_descriptor(process: u32, mut look: impl FnMut(&Table, u32)) -> io::Result<()> {
    let (own, descriptors) = own(process)?;
    descriptors.into_iter().for_each(|fd| look(&own, fd));
    for table in own.others() {
        table.list().unwrap_or_default().into_iter().for_each(|fd| look(&table, fd));
    }
    Ok(())
}

/// The process's own table, and the descriptors in it. The thread whose entry was chosen may end in the middle, and others live on.
fn own(process: u32) -> io::Result<(Table, Vec<u32>)> {
    let mut tries = 0..TRIES;
    let lives = || is_there(&format!("/proc/{process}"));
    loop {
        let table = Table::named(process);
        match table.list() {
            Err(error) if error.kind() == ErrorKind::NotFound && lives() && tries.next().is_some() => {}
            listed => return Ok((table, listed?)),
        }
    }
}

/// Returns true if a descriptor, by its path, is shared memory. Opening anything else can wait, or do things.
pub fn is_shared_memory(descriptor: &Path) -> bool {
    fs::read_link(descriptor).is_ok_and(|name| name.to_string_lossy().starts_with(ANONYMOUS))
}

/// Descriptors of a process that are shared memory, as paths that can be opened.
pub fn shared_memory(process: u32) -> io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    each_descriptor(process, |table, fd| paths.push(table.file(fd)))?;
    paths.retain(|path| is_shared_memory(path));
    Ok(paths)
}

/// A mapping of a file.
pub struct Mapping {
    /// A link to the file.
    pub path: PathBuf,
    pub inode: u64,
}

/// The mappings of arenas.
pub fn mapped_arenas(pid: u32) -> Vec<Mapping> {
    let entry = Entry::of(pid);
    let text = proc::text(entry.path(format_args!("maps")).to_path()).unwrap_or_default();
    let mapping = |line: &str| {
        let mut fields = line.split_whitespace();
        // The entry of a thread below its process's lacks this directory.
        let path = PathBuf::from(format!("/proc/{}/map_files/{}", entry.thread(), fields.next()?));
        let inode = fields.nth(3)?.parse().ok()?;
        fields.next()?.starts_with(ARENA).then_some(Mapping { path, inode })
    };
    text.lines().filter_map(mapping).collect()
}
