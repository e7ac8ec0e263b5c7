// SPDX-License-Identifier: MIT OR Apache-2.0
//! Environment variables: every one that ntux reads, and how it reads them.

use core::ffi::CStr;

/// The value of a variable; none if it is not set. Allocates nothing and takes no lock.
pub fn value(name: &CStr) -> Option<&'static CStr> {
    // SAFETY: the name ends with a zero; the answer is null or a string that stays, as the program must not change its
    // environment while others read it.
    unsafe {
        let value = libc::getenv(name.as_ptr());
        (!value.is_null()).then(|| CStr::from_ptr(value))
    }
}

/// A name below as the standard library and the command want it.
pub const fn text(name: &'static CStr) -> &'static str {
    match name.to_str() {
        Ok(text) => text,
        Err(_) => panic!("names are ASCII"),
    }
}

/// Which device a program gets.
pub const DEVICE: &CStr = c"NTUX_DEVICE";
/// How often a wait checks again.
pub const SPIN: &CStr = c"NTUX_SPIN";
/// Where a process says what it did.
pub const LOG: &CStr = c"NTUX_LOG";
/// Features to do without.
pub const WITHOUT: &CStr = c"NTUX_WITHOUT";
/// The mechanism of write watches.
pub const WATCH: &CStr = c"NTUX_WATCH";
/// The mechanism of private futexes.
pub const FUTEX_PRIVATE: &CStr = c"NTUX_FUTEX_PRIVATE";
/// Decides whether a program gets soft-dirty bits.
pub const SOFT_DIRTY: &CStr = c"NTUX_SOFT_DIRTY";
/// The library of the device.
pub const PRELOAD: &CStr = c"NTUX_PRELOAD";
/// The library of write watches.
pub const PRELOAD_WATCH: &CStr = c"NTUX_PRELOAD_WATCH";
/// Decides whether threads report, and to whom.
pub const TRACE: &CStr = c"NTUX_TRACE";
/// That a program got descriptors of the device.
pub const HANDED_ON: &CStr = c"NTUX_HANDED_ON";
/// Names what draws the writes.
pub const WATCH_BY: &CStr = c"NTUX_WATCH_BY";
/// How the benchmark gets the device.
pub const BENCH_PRELOAD: &CStr = c"NTUX_BENCH_PRELOAD";

/// How an assignment to [`DEVICE`] begins.
pub const DEVICE_IS: &[u8] = b"NTUX_DEVICE=";
/// What asks for ntux's own device.
pub const DEVICE_IS_USER: &CStr = c"NTUX_DEVICE=user";
/// What marks a program.
pub const HANDED_ON_IS_1: &CStr = c"NTUX_HANDED_ON=1";
/// How a log of every operation is asked for.
pub const LOG_IS_ALL: &[u8] = b"NTUX_LOG=all:";

/// For whom a variable is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Audience {
    /// Users set it.
    User,
    /// One part of ntux sets it for another. It can change or go with any version.
    Internal,
}

/// What there is to say of a variable. Only the command has these in its memory: the readers use the names.
#[derive(Clone, Copy, Debug)]
pub struct Variable {
    /// One of the names above.
    pub name: &'static CStr,
    /// What a value looks like.
    pub form: &'static str,
    /// For whom it is.
    pub audience: Audience,
    /// What it does.
    pub meaning: &'static str,
    /// Words that a value can consist of, and what each means.
    pub words: &'static [(&'static str, &'static str)],
}

/// All of them, in the order in which they are explained.
pub const ALL: [Variable; 13] = [
    Variable {
        name: DEVICE,
        form: "auto|user|kernel",
        audience: Audience::User,
        meaning: "Which device a program gets when it opens /dev/ntsync. The default is auto.",
        words: &[
            ("auto", "The kernel's driver if it exists and answers a real request; ntux's own device otherwise."),
            (
                "user",
                "Always ntux's own device, which lives in shared memory. Use it where the driver exists but is slower.",
            ),
            ("kernel", "Always the kernel's driver. Without a driver the program finds no device."),
        ],
    },
    Variable {
        name: SPIN,
        form: "N",
        audience: Audience::User,
        meaning: "How many times an unsatisfied wait checks again before its thread queues, and before it sleeps, whether \
                  that pays off or not; 0 for never. N is a whole number below 4294967295. By default a thread checks for \
                  as long as that is expected to pay off, and never for longer than a sleep and a wake take on this \
                  machine (docs/internals/waiting.md). For experiments.",
        words: &[],
    },
    Variable {
        name: LOG,
        form: "[LEVEL:]PATH",
        audience: Audience::User,
        meaning: "The file to which a process appends a line when it ends. The default is none. Several processes can \
                  share a file. The line says which device the process got, how many operations it made, and how many \
                  waits never entered the kernel. A process that is killed, or that ends by _exit, does not write it. The \
                  path 'stderr' means standard error; %p in the path stands for the number of the process.",
        words: &[
            (
                "waits:PATH",
                "Also a line for each wait that slept, and for each operation that failed, as soon as it has ended.",
            ),
            (
                "all:PATH",
                "Also a line for every other operation. This slows the program down: each line opens the file.",
            ),
        ],
    },
    Variable {
        name: WATCH,
        form: "async|sync|mprotect|cow",
        audience: Audience::User,
        meaning: "The mechanism of write watches. The default is the first of async, sync and mprotect that works; \
                  `ntux doctor` says which, and what it does not see.",
        words: &[(
            "cow",
            "Used only if it is named, here or by the program. It can be faster than mprotect where userfaultfd is \
             refused. But stores to a pinned page (O_DIRECT, io_uring's registered buffers) are lost if the page is reset \
             meanwhile, and written pages take twice the memory.",
        )],
    },
    Variable {
        name: FUTEX_PRIVATE,
        form: "native",
        audience: Audience::User,
        meaning: "Private futexes of the library are served by the kernel's calls, and not by the table in user space. \
                  For a program that mixes them with the kernel's own FUTEX_WAIT and FUTEX_WAKE on the same words. Any \
                  other value means the table.",
        words: &[],
    },
    Variable {
        name: WITHOUT,
        form: "NAME,...",
        audience: Audience::User,
        meaning: "Features of the system to do without although it has them, to test the fallbacks.",
        words: &[
            (
                "robust_list",
                "a killed thread stays in its queues until its slot is needed; a wake that it owed comes late",
            ),
            ("wipe_on_fork", "each wait that must queue asks for the process number"),
            ("memfd_noexec_seal", "shared memory without the no-exec seal"),
            ("userfaultfd", "write watches use page protection and a signal handler"),
            ("pagemap_scan", "write watches use a thread in the program"),
            ("mapping_query", "the text of /proc/PID/maps is read"),
            ("thread_self", "a thread finds its own entry of /proc by its number"),
            (
                "futex_waitv",
                "no thread sleeps on several shared words; operations that need this are refused, and the program's \
                 FUTEX_WAIT_MULTIPLE (operation 31 of futex) goes to the kernel unchanged",
            ),
            ("futex_numa", "futexes with a memory node are refused"),
            ("fsgsbase", "a signal handler trusts %fs if its selector is 0, as on old processors"),
            ("io_uring", "a thread sleeps for each descriptor of a queue or an object"),
            ("os_sync", "macOS: sleeps are the system calls below the functions of macOS 14.4"),
        ],
    },
    Variable {
        name: PRELOAD,
        form: "PATH",
        audience: Audience::Internal,
        meaning: "The library that `ntux run` loads into the program, instead of the one that it finds by itself: \
                  libntux_preload.so in the directory of the ntux command, or in ../lib/ntux/PLATFORM. Only the ntux \
                  command reads it. A library serves programs of one word size; ../lib/ntux has one for each, and \
                  LD_PRELOAD then contains $PLATFORM, which each program's loader replaces.",
        words: &[],
    },
    Variable {
        name: PRELOAD_WATCH,
        form: "PATH",
        audience: Audience::Internal,
        meaning: "The same for libntux_preload_watch.so, which `ntux run --soft-dirty` and `ntux watch` load.",
        words: &[],
    },
    Variable {
        name: SOFT_DIRTY,
        form: "1",
        audience: Audience::Internal,
        meaning: "Gives the program soft-dirty bits, if the library for them is loaded. `ntux run --soft-dirty` does both; \
                  `ntux watch` unsets the variable.",
        words: &[],
    },
    Variable {
        name: TRACE,
        form: "PATH",
        audience: Audience::Internal,
        meaning: "Set by `ntux trace` for the program that it runs: its threads report from the start, and each process \
                  sends a descriptor of its arena to the socket at PATH, without waiting. With nobody there, it goes on \
                  as it is.",
        words: &[("1", "Its threads report from the start, and nothing is sent.")],
    },
    Variable {
        name: HANDED_ON,
        form: "1",
        audience: Audience::Internal,
        meaning: "Set for a program that is started with descriptors of ntux's device, so that it checks what it passes on.",
        words: &[],
    },
    Variable {
        name: WATCH_BY,
        form: "PID",
        audience: Audience::Internal,
        meaning: "Set by `ntux watch` for the program that it runs: the process to which the program's library sends a \
                  userfaultfd.",
        words: &[],
    },
    Variable {
        name: BENCH_PRELOAD,
        form: "LIST",
        audience: Audience::Internal,
        meaning: "Set by `ntux bench` for the benchmark: the LD_PRELOAD of a program that is to have the device.",
        words: &[],
    },
];
