// SPDX-License-Identifier: MIT OR Apache-2.0
//! Liveness, by /proc and signal 0.

use super::Linux;
use super::deadly::Call;
use crate::liveness::{Identity, Seen, kept_words};
use crate::path::Path;

impl Identity for Linux {
    fn thread_id() -> u64 {
        // SAFETY: a call without arguments.
        (unsafe { libc::syscall(libc::SYS_gettid) }) as u64
    }

    fn namespace() -> u64 {
        inode(c"/proc/thread-self/ns/pid").unwrap_or(0)
    }

    fn own_start(pid: u32) -> u64 {
        if is_clock_the_first() { start_in_proc(pid) } else { 0 }
    }

    fn look(pid: u32) -> Option<Seen> {
        Stat::read(pid).map(|stat| Seen { start: stat.start, is_corpse: stat.is_corpse() })
    }

    fn is_thread_gone(pid: u32, thread: u64) -> bool {
        /// Some filters allow it for the process itself only.
        static CALL: Call = Call::new(libc::SYS_tgkill, [usize::MAX, 0]);
        if CALL.is_deadly() {
            return false;
        }
        // SAFETY: signal 0 only asks whether the thread exists.
        let result = unsafe { libc::syscall(libc::SYS_tgkill, pid, thread, 0) };
        result != 0 && crate::errno() == libc::ESRCH
    }
}

/// Returns whether /proc shows this thread start times on the clock of the machine. To a reader in another time namespace it shows
/// them moved: there everybody would seem to have started at another time.
fn is_clock_the_first() -> bool {
    // The kernel's PROC_TIME_INIT_INO.
    const FIRST: u64 = 0xefff_fffa;
    match inode(c"/proc/thread-self/ns/time") {
        Ok(inode) => inode == FIRST,
        // A kernel without such namespaces (before 5.6).
        Err(error) => error == libc::ENOENT,
    }
}

/// The start time of this process, which has this number, as /proc shows it; 0 if that is not the /proc of its own namespace. It does not
/// change, so it is kept, for as long as /proc is the same file system: reading it takes much longer than looking which that is.
fn start_in_proc(pid: u32) -> u64 {
    let proc = status(c"/proc").map_or(0, |status| status.st_dev);
    let kept = kept_words();
    if let Some([of, start]) = kept
        && proc != 0
        && of.load() == proc
    {
        return start.load();
    }
    let start = if is_proc_ours(pid) { Stat::read(pid).map_or(0, |stat| stat.start) } else { 0 };
    if let (Some([of, kept]), true) = (kept, start != 0) {
        // O-start: whoever reads the file system reads the start time after it. It is the same in any /proc of the namespace.
        kept.store(start);
        of.store(proc);
    }
    start
}

/// The inode of what a path leads to, or the error number.
fn inode(path: &core::ffi::CStr) -> Result<u64, i32> {
    status(path).map(|status| status.st_ino)
}

/// What a path leads to, or the error number.
fn status(path: &core::ffi::CStr) -> Result<libc::stat, i32> {
    let mut status = core::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: a terminated path, and a valid place for the answer, which is whole when the call returns 0.
    unsafe {
        match libc::stat(path.as_ptr(), status.as_mut_ptr()) {
            0 => Ok(status.assume_init()),
            _ => Err(crate::errno()),
        }
    }
}

/// Returns whether the numbers in /proc are those of this process's own namespace. They are not in a new pid namespace
/// until somebody mounts a new /proc.
fn is_proc_ours(pid: u32) -> bool {
    let mut buffer = [0u8; 4096];
    let Some(length) = read_file(Path::new(format_args!("/proc/self/status")), &mut buffer) else { return false };
    is_sole_number(&buffer[..length], pid)
}

/// Returns whether this is the status of a process that has this number, and has no other number in a namespace below
/// that of /proc.
fn is_sole_number(status: &[u8], pid: u32) -> bool {
    let line = |name: &[u8]| {
        let line = status.split(|&byte| byte == b'\n').find_map(|line| line.strip_prefix(name))?;
        core::str::from_utf8(line).ok().map(str::trim)
    };
    let is_ours = |numbers: &str| numbers.parse() == Ok(pid);
    // The second line is missing on kernels without such namespaces, and after a long list of groups.
    line(b"Tgid:").is_some_and(is_ours) && line(b"NStgid:").is_none_or(is_ours)
}

/// The state of a process in /proc, by its first thread.
struct Stat {
    state: char,
    threads: u32,
    start: u64,
}

impl Stat {
    fn read(pid: u32) -> Option<Stat> {
        let mut buffer = [0u8; 1024];
        // The process's own file says the same, but QEMU's user mode makes up what a program reads of itself there, with another start
        // time for each thread.
        let length = read_file(Path::new(format_args!("/proc/{pid}/task/{pid}/stat")), &mut buffer)?;
        // The command may contain bytes that are not text; the rest is plain.
        let command_end = buffer[..length].iter().rposition(|&byte| byte == b')')?;
        let line = core::str::from_utf8(&buffer[command_end..length]).ok()?;
        let mut fields = line[1..].split_whitespace();
        let state = fields.next()?.chars().next()?;
        let threads = fields.nth(16)?.parse().ok()?;
        let start = fields.nth(1)?.parse().ok()?;
        Some(Stat { state, threads, start })
    }

    /// Dead, but its parent has not waited for it yet. (A leader that ended before its threads also looks dead, but
    /// counts them.)
    fn is_corpse(&self) -> bool {
        matches!(self.state, 'Z' | 'X') && self.threads <= 1
    }
}

/// Reads the beginning of a file, without touching the heap.
fn read_file(path: Path, buffer: &mut [u8]) -> Option<usize> {
    // SAFETY: the path is terminated and outlives the call; the buffer is valid for its length; the descriptor is ours.
    unsafe {
        let fd = libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        if fd < 0 {
            return None;
        }
        let length = libc::read(fd, buffer.as_mut_ptr().cast(), buffer.len());
        libc::close(fd);
        usize::try_from(length).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forked_child_has_a_start_of_its_own() {
        let kept = || kept_words().map(|words| words.each_ref().map(|word| word.load()));
        assert_ne!(Linux::own_start(std::process::id()), 0);
        assert!(kept().is_some_and(|kept| !kept.contains(&0)), "these tests run where a fork wipes pages");
        // SAFETY: the child takes no lock, and leaves by _exit.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let pid = std::process::id();
            let was_wiped = kept() == Some([0; 2]);
            let is_own = Stat::read(pid).is_some_and(|stat| stat.start == Linux::own_start(pid));
            // SAFETY: ends the child at once.
            unsafe { libc::_exit(i32::from(!(was_wiped && is_own))) };
        }
        let mut status = 0;
        // SAFETY: a child of this process, and a place for the answer.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        assert_eq!(status, 0);
    }

    #[test]
    fn a_process_has_one_number_in_its_own_proc() {
        let status = |numbers| format!("Name:\tTgid:\t7\nTgid:\t42\n{numbers}Seccomp:\t0\n").into_bytes();
        assert!(is_sole_number(&status("NStgid:\t42\n"), 42));
        assert!(is_sole_number(&status(""), 42), "the line was cut off");
        assert!(!is_sole_number(&status("NStgid:\t42\n"), 7));
        assert!(!is_sole_number(&status("NStgid:\t42\t3\n"), 3), "/proc is of the namespace above");
        assert!(!is_sole_number(&status("NStgid:\t42\t42\n"), 42), "... where it has the same number by chance");
        assert!(!is_sole_number(b"", 42));
        assert!(
            is_proc_ours(std::process::id()) && Linux::own_start(std::process::id()) != 0,
            "these tests have a /proc of their own"
        );
    }
}
