//! System calls for which a filter may end the program, tried in its place by a child process.
//!
//! Most filters (seccomp) refuse a call with an error, and then ntux does without it. Some end the process instead, or the
//! thread: services that systemd starts with `SystemCallFilter=`, for one. So where a filter is in force, a call that not
//! every program makes, and that ntux can do without, is made in a child first. Without a filter nobody can be ended, and
//! there is no child.
//!
//! The child is a copy that runs none of the program's code: no hooks for forks, no handlers (but the program's own for
//! SIGSYS, if the filter raises that and the program has one); no SIGCHLD comes of it, and the program's `wait` does not see
//! it. It leaves no core. Where it cannot be made (a filter, no memory for a copy), the call counts as deadly.
//!
//! What is found holds as long as the process lives: a filter that is installed later is not noticed.

// Not the words of a protocol: a model checker has nothing to decide here.
use std::sync::atomic::{AtomicU8, Ordering};

const UNKNOWN: u8 = 0;
const HARMLESS: u8 = 1;
const DEADLY: u8 = 2;

/// A system call, with arguments that make it do no harm.
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

    /// Whether it would end the program, or its thread, by a filter. Async-signal-safe; the error number changes.
    ///
    /// The first time it reads a file of `/proc`, some 3 us; and makes the child if there is a filter, which takes as long as
    /// a fork of the program (0.7 ms, and 30 ms more for each gigabyte that it uses).
    pub fn is_deadly(&self) -> bool {
        if self.answer.load(Ordering::Relaxed) == UNKNOWN {
            let deadly = is_filtered() && !comes_back(self);
            self.answer.store(if deadly { DEADLY } else { HARMLESS }, Ordering::Relaxed);
        }
        self.answer.load(Ordering::Relaxed) == DEADLY
    }

    fn make(&self) {
        let [first, second] = self.arguments;
        // SAFETY: a call whose arguments name no memory (`new`), in a process that ends right after.
        unsafe { libc::syscall(self.number, first, second, 0usize, 0usize, 0usize, 0usize) };
    }
}

/// Whether a filter decides about the calls of this thread, or `/proc` does not say.
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
        let mut part = [0u8; 1024];
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

/// Whether a child that makes the call lives on.
fn comes_back(call: &Call) -> bool {
    let ours = block_all_but_sigsys();
    // A copy of the process, as fork makes one; no signal tells of its end.
    // SAFETY: the child runs `try_out` on a copy of this stack, and ends there.
    let child = unsafe { libc::syscall(libc::SYS_clone, 0usize, 0usize, 0usize, 0usize, 0usize) };
    if child == 0 {
        try_out(call);
    }
    set_blocked(ours);
    child > 0 && ended_well(child)
}

/// In the child.
fn try_out(call: &Call) -> ! {
    // SAFETY: calls without pointers; the last does not return.
    unsafe {
        libc::syscall(libc::SYS_prctl, libc::PR_SET_DUMPABLE, 0usize, 0usize, 0usize, 0usize);
        call.make();
        loop {
            libc::syscall(libc::SYS_exit_group, 0);
        }
    }
}

fn ended_well(child: libc::c_long) -> bool {
    let mut status = 0;
    // SAFETY: a valid place for the answer; nothing is asked about what the child used.
    while unsafe { libc::syscall(libc::SYS_wait4, child, &raw mut status, libc::__WCLONE, 0usize) } != child {
        if crate::errno() != libc::EINTR {
            return false;
        }
    }
    status == 0
}

/// A handler of the program must not run in the child. What the kernel's set of signals was.
fn block_all_but_sigsys() -> u64 {
    set_blocked(!(1 << (libc::SIGSYS - 1)))
}

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
