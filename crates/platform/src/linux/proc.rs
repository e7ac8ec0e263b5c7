// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which entry of /proc shows a process: its descriptors, its memory, its status.
//!
//! `/proc/self` and `/proc/PID` show a process as its first thread has it. That is wrong in two kinds of programs:
//!
//! * A thread has a table of descriptors of its own (`unshare(CLONE_FILES)`). In the table of the first thread the same number
//!   means another file, or none.
//! * The first thread has ended, and others live (`main` has called `pthread_exit`). It stays as a zombie, which has no
//!   descriptors and no memory: `fd`, `maps`, `pagemap`, `auxv` and `environ` are empty, `exe`, `cwd` and `root` lead nowhere.
//!
//! So a thread looks at its own process through its own entry, `/proc/thread-self` (Linux 3.17), and at another process through
//! the entry of a thread that lives. What `task/TID` has in common with the process (its numbers, its parent, its start) is the
//! same in every entry.
//!
//! Nothing here allocates; everything is async-signal-safe, also in a child of `vfork`.

use core::fmt::Arguments;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;

use crate::atomic::Word32;
use crate::memory::owned;
use crate::path::Path;
use crate::without::Feature;

/// The paths of a part of the calling thread's own entry, such as `maps`. If one is not there, the next may be.
pub fn own_paths(part: &'static str) -> impl Iterator<Item = Path> {
    own_entries().map(|entry| entry.with(part.as_bytes()))
}

/// Does what [`own_paths`] does, to what is behind a descriptor. In a /proc of another namespace the number of the calling thread
/// can be that of another thread of this process: it has the same memory, but perhaps other descriptors. So whoever opens one checks
/// what he got.
pub fn own_descriptor_paths(fd: libc::c_int) -> impl Iterator<Item = Path> {
    own_entries().map(move |entry| entry.with(b"fd/").with_number(fd.unsigned_abs()))
}

/// By name, and by number.
fn own_entries() -> impl Iterator<Item = Path> {
    let by_name = has_thread_self().then(|| Path::empty().with(b"/proc/thread-self/"));
    let number = || crate::liveness::thread_id() as u32;
    let by_number = move || Path::empty().with(b"/proc/self/task/").with_number(number()).with(b"/");
    by_name.into_iter().chain(core::iter::once_with(by_number))
}

/// Opens a part of the calling thread's own entry to read it.
pub(crate) fn open_own(part: &'static str) -> io::Result<File> {
    open_first(own_paths(part), libc::O_RDONLY).map(File::from)
}

/// Opens what is behind a descriptor of the calling thread, which is known to be its process's first thread: `/proc/self` is its
/// own entry, and takes a tenth less time.
pub(super) fn open_descriptor_of_first_thread(fd: libc::c_int, flags: libc::c_int) -> io::Result<OwnedFd> {
    open(&Path::empty().with(b"/proc/self/fd/").with_number(fd.unsigned_abs()), flags)
}

/// Does what [`open_descriptor_of_first_thread`] does, for any thread.
pub(super) fn open_descriptor(fd: libc::c_int, flags: libc::c_int) -> io::Result<OwnedFd> {
    open_first(own_descriptor_paths(fd), flags)
}

fn open_first(paths: impl Iterator<Item = Path>, flags: libc::c_int) -> io::Result<OwnedFd> {
    let mut opened = Err(io::Error::from_raw_os_error(libc::ENOENT));
    for path in paths {
        opened = open(&path, flags);
        if !matches!(&opened, Err(error) if error.raw_os_error() == Some(libc::ENOENT)) {
            break;
        }
    }
    opened
}

fn open(path: &Path, flags: libc::c_int) -> io::Result<OwnedFd> {
    // SAFETY: `path` is a terminated string that outlives the call.
    owned(unsafe { libc::open(path.as_ptr(), flags | libc::O_CLOEXEC) })
}

/// Returns whether the user has left `/proc/thread-self` in. Reads the environment once.
fn has_thread_self() -> bool {
    static HAS: Word32 = Word32::new(0);
    const NO: u32 = 1;
    const YES: u32 = 2;
    if HAS.load() == 0 {
        HAS.store(if Feature::ThreadSelf.is_left_out() { NO } else { YES });
    }
    HAS.load() == YES
}

/// A thread whose entry shows its process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry {
    process: u32,
    thread: u32,
}

impl Entry {
    /// A thread of a process.
    pub fn of_thread(process: u32, thread: u32) -> Entry {
        Entry { process, thread }
    }

    /// The first thread of a process, or another one that lives if the first has ended. The first also if none lives.
    pub fn of(process: u32) -> Entry {
        Entry::in_place_of_first(process).unwrap_or(Entry { process, thread: process })
    }

    /// A thread that lives, if the first thread of a process has ended.
    pub fn in_place_of_first(process: u32) -> Option<Entry> {
        // Not the process's own file, which QEMU's user mode makes up.
        let has_ended = |thread| has_ended(Path::new(format_args!("/proc/{process}/task/{thread}/stat")));
        if !has_ended(process)? {
            return None;
        }
        let mut found = None;
        each_thread(process, |thread| {
            found = (thread != process && has_ended(thread) == Some(false)).then_some(Entry { process, thread });
            found.is_none()
        });
        found
    }

    /// The thread's number.
    pub fn thread(self) -> u32 {
        self.thread
    }

    /// The path of a part of it.
    pub fn path(self, part: Arguments<'_>) -> Path {
        let Entry { process, thread } = self;
        match thread == process {
            true => Path::new(format_args!("/proc/{process}/{part}")),
            false => Path::new(format_args!("/proc/{process}/task/{thread}/{part}")),
        }
    }
}

impl Entry {
    /// Opens what is behind one of its descriptors, if that is the regular file with this inode. It is looked at first: what is opened
    /// could be a device.
    ///
    /// Errors: `ENOENT` if it is another file, or none; `EACCES`.
    pub(super) fn open_file(self, fd: u32, inode: u64, flags: libc::c_int) -> io::Result<OwnedFd> {
        let path = self.path(format_args!("fd/{fd}"));
        let is_it = |status: &std::fs::Metadata| status.is_file() && status.ino() == inode;
        let opened = match std::fs::metadata(path.to_path()) {
            Ok(status) if is_it(&status) => File::from(open(&path, flags)?),
            Ok(_) => return Err(io::ErrorKind::NotFound.into()),
            Err(error) => return Err(error),
        };
        if is_it(&opened.metadata()?) { Ok(opened.into()) } else { Err(io::ErrorKind::NotFound.into()) }
    }

    /// Opens a part of it to read it.
    pub(crate) fn open(self, part: &str) -> io::Result<File> {
        open(&self.path(format_args!("{part}")), libc::O_RDONLY).map(File::from)
    }
}

/// Returns whether a thread has ended, by its line in /proc; none if it is not there.
fn has_ended(stat: Path) -> Option<bool> {
    let mut room = [0; 512];
    let line = read_start(&stat, &mut room)?;
    // Before the state is the name, which may contain anything.
    let end = line.iter().rposition(|&byte| byte == b')')?;
    Some(matches!(line.get(end + 2)?, b'Z' | b'X'))
}

fn read_start<'a>(path: &Path, room: &'a mut [u8]) -> Option<&'a [u8]> {
    let file = open(path, libc::O_RDONLY).ok()?;
    // SAFETY: room of the given length.
    let length = unsafe { libc::read(file.as_raw_fd(), room.as_mut_ptr().cast(), room.len()) };
    room.get(..usize::try_from(length).ok()?)
}

/// Calls `visit` with the threads of a process, the first thread first, until it returns false.
pub fn each_thread(process: u32, mut visit: impl FnMut(u32) -> bool) {
    let tasks = Path::new(format_args!("/proc/{process}/task"));
    let Ok(directory) = open(&tasks, libc::O_RDONLY | libc::O_DIRECTORY) else { return };
    each_name(directory.as_raw_fd(), |name| match core::str::from_utf8(name).ok().and_then(|name| name.parse().ok()) {
        Some(thread) => visit(thread),
        None => true,
    });
}

/// Calls `visit` with the names in an open directory until it returns false.
pub fn each_name(directory: libc::c_int, mut visit: impl FnMut(&[u8]) -> bool) {
    /// The kernel's `linux_dirent64`: inode, offset, then the length of the whole, a type, and the name.
    const LENGTH_AT: usize = 16;
    const NAME_AT: usize = 19;
    let mut room = [0u8; 1024];
    loop {
        // SAFETY: a buffer of the given length.
        let length = unsafe { libc::syscall(libc::SYS_getdents64, directory, room.as_mut_ptr(), room.len()) };
        let Some(mut entries) = usize::try_from(length).ok().and_then(|length| room.get(..length)) else { return };
        if entries.is_empty() {
            return;
        }
        while let Some(&[low, high]) = entries.get(LENGTH_AT..LENGTH_AT + 2) {
            let size = usize::from(u16::from_ne_bytes([low, high]));
            let Some(name) = entries.get(NAME_AT..size) else { return };
            if !visit(name.split(|&byte| byte == 0).next().unwrap_or_default()) {
                return;
            }
            entries = &entries[size..];
        }
    }
}

#[cfg(test)]
#[path = "proc/tests.rs"]
mod tests;
