// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tries system calls for which a filter may kill the program in a child process.
//!
//! Most filters (seccomp) refuse a call with an error, and then ntux works without it. Some kill the process or the
//! thread instead, for example those of systemd services with `SystemCallFilter=`. So if a filter is in force, a child
//! first makes each call that is unusual, and that ntux can do without. Without a filter there is no child.
//!
//! The child runs none of the program's code: no fork hooks, no handlers. It raises no SIGCHLD, the program's `wait`
//! does not see it, and it leaves no core. If it cannot be created (a filter, no memory), the call counts as deadly; it
//! also does if the filter raises SIGSYS, although the program may have a handler for that.
//!
//! The child borrows the program's memory, as after `vfork`, while the calling thread is blocked. Before Linux 5.16 it
//! has a copy, as after `fork`, because a core dump there killed every process that shared the memory.
//!
//! A result is kept for the life of the process: a filter installed later is not noticed.

// These words belong to no protocol, so a model checker ignores them.
use std::sync::atomic::{AtomicU8, Ordering};

const UNKNOWN: u8 = 0;
const HARMLESS: u8 = 1;
const DEADLY: u8 = 2;

/// A system call with harmless arguments.
pub(crate) struct Call {
    number: libc::c_long,
    arguments: [usize; 2],
    answer: AtomicU8,
}

impl Call {
    /// The first two arguments; the others are 0.
    pub const fn new(number: libc::c_long, arguments: [usize; 2]) -> Call {
        Call { number, arguments, answer: AtomicU8::new(UNKNOWN) }
    }

    /// Returns whether a filter would kill the program, or its thread, for it. Async-signal-safe; changes the error
    /// number.
    ///
    /// The first call reads a file of `/proc`, which takes 3 us, and creates the child if there is a filter, which
    /// takes 60 us. (A copy takes as long as a fork of the program: 0.3 ms, and 30 ms more for each gigabyte that it
    /// uses.)
    pub fn is_deadly(&self) -> bool {
        if self.is_unknown() {
            let deadly = !are_harmless(core::slice::from_ref(self));
            self.answer.store(if deadly { DEADLY } else { HARMLESS }, Ordering::Relaxed);
        }
        self.answer.load(Ordering::Relaxed) == DEADLY
    }

    /// Returns whether one of these is deadly. As [`Call::is_deadly`], but one child makes all calls if none of them
    /// kills it.
    pub fn any_is_deadly(calls: &[Call]) -> bool {
        if calls.iter().all(Call::is_unknown) && are_harmless(calls) {
            calls.iter().for_each(|call| call.answer.store(HARMLESS, Ordering::Relaxed));
        }
        calls.iter().any(Call::is_deadly)
    }

    fn is_unknown(&self) -> bool {
        self.answer.load(Ordering::Relaxed) == UNKNOWN
    }

    fn make(&self) {
        let [first, second] = self.arguments;
        // SAFETY: a call whose arguments name no memory (`new`), in a process that ends right after.
        unsafe { libc::syscall(self.number, first, second, 0usize, 0usize, 0usize, 0usize) };
    }
}

fn are_harmless(calls: &[Call]) -> bool {
    !is_filtered() || come_back(calls, Memory::for_children())
}

/// Returns whether a child that makes these calls survives. Its stack is mapped: the caller may have little of its own.
fn come_back(calls: &[Call], memory: Memory) -> bool {
    let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a new mapping.
    let stack = unsafe { libc::mmap(core::ptr::null_mut(), STACK, access, kind, -1, 0) };
    if stack == libc::MAP_FAILED {
        return false;
    }
    let ours = set_blocked(u64::MAX);
    // SAFETY: the stack is the child's alone, and stays until it has ended or is a copy; what it gets is shared and
    // stays. Its end raises no signal, and no signal reaches it.
    let child =
        unsafe { libc::clone(try_out, stack.byte_add(STACK), memory as i32, (&raw const calls).cast_mut().cast()) };
    let came_back = child > 0 && ended_well(child);
    // SAFETY: mapped above; the child has ended.
    unsafe { libc::munmap(stack, STACK) };
    set_blocked(ours);
    came_back
}

/// The child's stack: at least a page, on every system.
const STACK: usize = 64 << 10;

/// The memory of a child, as flags of `clone`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(i32)]
enum Memory {
    Copied = 0,
    Borrowed = libc::CLONE_VM | libc::CLONE_VFORK,
}

impl Memory {
    /// The cheapest that is safe here.
    fn for_children() -> Memory {
        let mut names = core::mem::MaybeUninit::<libc::utsname>::zeroed();
        // SAFETY: the place is valid for the answer: text that ends with a zero, or all zeros if the call fails.
        let names = unsafe {
            libc::uname(names.as_mut_ptr());
            names.assume_init()
        };
        if version(&names.release.map(|byte| byte as u8)) >= (5, 16) { Memory::Borrowed } else { Memory::Copied }
    }
}

/// The first two numbers of a kernel's release.
fn version(release: &[u8]) -> (u32, u32) {
    let number = |digits: &[u8]| {
        let digits = digits.iter().take_while(|byte| byte.is_ascii_digit());
        digits.fold(0, |number: u32, digit| number.saturating_mul(10).saturating_add(u32::from(digit - b'0')))
    };
    let mut parts = release.split(|&byte| byte == b'.').map(number);
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0))
}

/// Returns whether a filter decides about the calls of this thread, or `/proc` does not say.
fn is_filtered() -> bool {
    // SAFETY: a terminated path.
    let file = unsafe {
        libc::syscall(
            libc::SYS_openat,
            libc::AT_FDCWD,
            c"/proc/thread-self/status".as_ptr(),
            libc::O_RDONLY | libc::O_CLOEXEC,
        )
    };
    if file < 0 {
        return true;
    }
    let mut field = Field::default();
    let mode = loop {
        let mut part = [0u8; 256];
        // SAFETY: the place has this length.
        let read = unsafe { libc::syscall(libc::SYS_read, file, part.as_mut_ptr(), part.len()) };
        let Some(part @ [_, ..]) = usize::try_from(read).ok().and_then(|read| part.get(..read)) else { break None };
        if let Some(mode) = part.iter().find_map(|&byte| field.next(byte)) {
            break Some(mode);
        }
    };
    // SAFETY: the descriptor that was opened above.
    unsafe { libc::syscall(libc::SYS_close, file) };
    mode != Some(b'0')
}

/// Finds the seccomp mode in what the kernel says of a thread, byte for byte. Lines may be of any length.
#[derive(Default)]
struct Field {
    matched: usize,
}

impl Field {
    const NAME: &[u8] = b"\nSeccomp:\t";

    /// The mode, with the byte that it is.
    fn next(&mut self, byte: u8) -> Option<u8> {
        let Some(&expected) = Self::NAME.get(self.matched) else { return Some(byte) };
        self.matched = if byte == expected { self.matched + 1 } else { usize::from(byte == Self::NAME[0]) };
        None
    }
}

/// In the child.
extern "C" fn try_out(calls: *mut libc::c_void) -> libc::c_int {
    /// No core: with a limit of one byte the kernel writes none, not even to a core-handling program.
    static NO_CORE: libc::rlimit64 = libc::rlimit64 { rlim_cur: 1, rlim_max: 1 };
    // SAFETY: the calls that `come_back` passes; the limit is the child's own, and only read; the last call does not
    // return.
    unsafe {
        libc::syscall(libc::SYS_prlimit64, 0, libc::RLIMIT_CORE, &raw const NO_CORE, 0usize);
        (*calls.cast::<&[Call]>()).iter().for_each(Call::make);
        libc::syscall(libc::SYS_exit_group, 0);
    }
    0
}

fn ended_well(child: libc::c_int) -> bool {
    let mut status = 0;
    // SAFETY: a valid place for the answer; nothing is asked about what the child used.
    while unsafe { libc::syscall(libc::SYS_wait4, child, &raw mut status, libc::__WCLONE, 0usize) } != child.into() {
        if crate::errno() != libc::EINTR {
            return false;
        }
    }
    status == 0
}

/// Sets the blocked signals by system call. Returns the previous ones.
fn set_blocked(signals: u64) -> u64 {
    let mut before = 0u64;
    // SAFETY: both sets have the size that is named, the kernel's.
    unsafe {
        libc::syscall(
            libc::SYS_rt_sigprocmask,
            libc::SIG_SETMASK,
            &raw const signals,
            &raw mut before,
            size_of::<u64>(),
        )
    };
    before
}

#[cfg(test)]
#[path = "deadly/tests.rs"]
mod tests;
