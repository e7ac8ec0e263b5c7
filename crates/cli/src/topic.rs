//! `ntux help`: the subcommands, and topics that concern several of them.

use std::process::ExitCode;

use crate::{NTUX_FAILED, say};

const ENVIRONMENT: &str = "\
Environment variables that ntux reads

The options --device, --spin and --log of `ntux run` set NTUX_DEVICE, NTUX_SPIN and NTUX_LOG for the program and for every
program that it starts. Without the option, a variable that is already set keeps its value.

NTUX_DEVICE=auto|user|kernel    Which device a program gets when it opens /dev/ntsync. The default is auto.
    auto      The kernel's driver if it exists and answers a real request; ntux's own device otherwise.
    user      Always ntux's own device, which lives in shared memory. Use it where the driver exists but is slower.
    kernel    Always the kernel's driver. Without a driver the program finds no device.

NTUX_SPIN=N    How many times an unsatisfied wait checks again before its thread queues, and before it sleeps, whether that
    pays off or not; 0 for never. N is a whole number below 4294967295. By default a thread checks for as long as that is
    expected to pay off, and never for longer than a sleep and a wake take on this machine (docs/internals/waiting.md).

NTUX_WITHOUT=NAME,...    Kernel features to do without although the kernel has them, to test the fallbacks.
    robust_list        a killed thread stays in its queues until its slot is needed; a wake that it owed comes late
    wipe_on_fork       each wait that must queue asks for the process number
    memfd_noexec_seal  shared memory without the no-exec seal
    userfaultfd        write watches use page protection and a signal handler
    pagemap_scan       write watches use a thread in the program
    mapping_query      the text of /proc/PID/maps is read
    futex_waitv        no thread sleeps on several shared words; operations that need this are refused, and the
                       program's FUTEX_WAIT_MULTIPLE (operation 31 of futex) goes to the kernel unchanged
    futex_numa         futexes with a memory node are refused
    thread_self        a thread finds its own entry of /proc by its number
    fsgsbase           a signal handler trusts %fs if its selector is 0, as on old processors

NTUX_WATCH=async|sync|mprotect|cow    The mechanism of write watches. The default is the first of async, sync and
    mprotect that works; ntux doctor says which, and what it does not see.
    cow       Used only if it is named, here or by the program. It can be faster than mprotect where userfaultfd is
              refused. But stores to a pinned page (O_DIRECT, io_uring's registered buffers) are lost if the page is
              reset meanwhile, and written pages take twice the memory.

NTUX_SOFT_DIRTY=1    Gives the program soft-dirty bits, if the library for them is loaded. `ntux run --soft-dirty` does
    both; `ntux watch` unsets the variable.

NTUX_HANDED_ON=1    ntux sets this itself for a program that is started with descriptors of its device.

NTUX_LOG=[LEVEL:]PATH    The file to which a process appends a line when it ends. The default is none. Several processes
    can share a file. The line says which device the process got, how many operations it made, and how many waits never
    entered the kernel. A process that is killed, or that ends by _exit, does not write it. The path 'stderr' means
    standard error; %p in the path stands for the number of the process.
    waits:PATH    Also a line for each wait that slept, and for each operation that failed, as soon as it has ended.
    all:PATH      Also a line for every other operation. This slows the program down: each line opens the file.

NTUX_TRACE=PATH    Set by `ntux trace` for the program that it runs: its threads report from the start, and each process
    sends a descriptor of its arena to the socket at PATH, without waiting. With nobody there, it goes on as it is.
    1         Its threads report from the start, and nothing is sent.

NTUX_PRELOAD=PATH    The library that `ntux run` loads into the program, instead of the one that it finds by itself:
    libntux_preload.so in the directory of the ntux command, or in ../lib/ntux/PLATFORM. Only `ntux run` reads it. A
    library serves programs of one word size; ../lib/ntux has one for each, and LD_PRELOAD then contains $PLATFORM,
    which each program's loader replaces.

NTUX_PRELOAD_WATCH=PATH    The same for libntux_preload_watch.so, which `ntux run --soft-dirty` and `ntux watch` load.

LD_PRELOAD    `ntux run` puts its library in front of the existing list.
";

const EXIT_STATUS: &str = "\
Exit status

ntux run replaces itself by PROGRAM, so no ntux process remains: signals reach the program directly, and the caller sees
the program's exit status, or the signal that ended it. Only if the program could not be started:

    125    ntux itself failed: wrong options, or its library was not found.
    126    PROGRAM was found, but cannot be started: for instance, it may not be executed.
    127    PROGRAM was not found.

A program into which nothing can be loaded still runs, and ntux says why on standard error: one that is statically linked,
made for another kind of processor, set-user-id, set-group-id, or has file capabilities.

ntux watch with a program uses the same statuses, except that it refuses such a program with 126. ntux keeps running, to
draw: it passes on signals sent to it alone, and ends as the program ends, by the same signal if it was one.

ntux inspect returns 0 if it showed objects, 1 if the process has none, and 125 if it could not inspect the target: there is
no such process, or you may not, or the file is not an arena of this version.

ntux why returns 0 if nothing is wrong, 1 if it found a deadlock or something else that will not pass by itself, 2 if the
process has no objects of ntux, and 125 if it could not inspect the target.

ntux ps returns 0, and 125 if an arena could not be read.

ntux trace with a program uses the same statuses as ntux run; with PID it returns 0, 1 if the process has no objects of ntux,
and 125 if it could not be traced.

A command that cannot write a file leaves what was there before, and returns 125. ntux trace and ntux watch with a program
return that only if the program itself succeeded.

ntux top returns 0, 2 if the process has no objects of ntux, and 125 if it could not inspect the target.

ntux doctor returns 0 if programs on this machine, or the given program, can be served, 1 otherwise.
";

/// Prints what `topic` means.
pub fn explain(mut line: clap::Command, topic: Option<&str>) -> ExitCode {
    line.build();
    let page = match topic {
        None => format!("{}\n", line.render_long_help()),
        Some("environment") => ENVIRONMENT.to_owned(),
        Some("exit-status") => EXIT_STATUS.to_owned(),
        Some(other) => match line.find_subcommand_mut(other) {
            Some(subcommand) => format!("{}\n", subcommand.render_long_help()),
            None => {
                say::complain(format_args!("ntux: there is no help on '{other}'; try: ntux help"));
                return ExitCode::from(NTUX_FAILED);
            }
        },
    };
    say::page(&page, ExitCode::SUCCESS)
}
