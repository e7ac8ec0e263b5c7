//! `ntux help`: the subcommands, and what belongs to no single one of them.

use std::process::ExitCode;

use crate::NTUX_FAILED;

const ENVIRONMENT: &str = "\
What ntux reads from the environment

Under `ntux run` the options --device, --spin and --log set the first three variables for the program and for every
program that it starts. Without such an option a variable that is already set stays as it is.

NTUX_DEVICE=auto|user|kernel    Which device a program gets that opens /dev/ntsync. The default is auto.
    auto      The kernel's driver if it is there and answers a real request; ntux's own device otherwise.
    user      Always ntux's own device, which lives in shared memory. Choose it where the driver is there but slower.
    kernel    Always the kernel's driver; ntux stands aside. Without a driver the program finds no device.

NTUX_SPIN=N    How many times a wait that is not satisfied looks again before its thread queues for a mutex, and before
    it goes to sleep. N is a whole number below 4294967295, the most that a thread looks; below that it adapts to
    whether looking was worth it. By default a thread looks 100 times before it queues for a mutex, and not at all
    before it sleeps: on two processors that costs more than it gives. With four or more, try 500.

NTUX_WITHOUT=NAME,...    What to do without, though the kernel has it: to see how ntux fares on kernels that have not.
    robust_list        a killed thread stays in its queues until its place is needed; a wake that it owed comes late
    wipe_on_fork       the process number is asked for with each wait that has to queue
    memfd_noexec_seal  ordinary shared memory
    userfaultfd        writes are watched by page protection and a signal handler
    pagemap_scan       writes are watched by a thread of the program
    mapping_query      the text of /proc/PID/maps is read
    futex_waitv        no thread sleeps on several shared words; what needs that is refused, and
                       FUTEX_WAIT_MULTIPLE of a program (operation 31 of futex) goes to the kernel as it is
    futex_numa         futexes with a memory node are refused
    fsgsbase           a signal handler takes %fs for the thread's own if its selector is 0, as on old processors

NTUX_WATCH=async|sync|mprotect|cow    How writes to memory are watched. The default is the first of async, sync and
    mprotect that works; ntux doctor says which, and what it does not see.
    cow       Used only if it is named, here or by the program. It can be faster than mprotect where userfaultfd is
              refused; but what is stored to a pinned page (O_DIRECT, io_uring's registered buffers) is lost if the
              page is reset meanwhile, and pages that were written take twice the memory.

NTUX_SOFT_DIRTY=1    The program is given soft-dirty bits, if the library for them is loaded: `ntux run --soft-dirty` does
    both. `ntux watch` takes it away.

NTUX_HANDED_ON=1    ntux sets this itself for a program that is started with descriptors of its device.

NTUX_LOG=PATH    Where to write, when a process ends, what the device did for it. The default is nowhere.
    One line for each process is appended to the file, so that several can share one: which device was served, how
    many operations there were, and how many waits never entered the kernel. A process that is killed, or that ends
    by _exit, writes nothing. 'stderr' in place of a path means standard error.

NTUX_PRELOAD=PATH    The library that `ntux run` loads into the program, instead of the one that it finds by itself:
    libntux_preload.so in the directory of the ntux command, or in ../lib/ntux/PLATFORM. Only `ntux run` reads it. It
    serves programs of one word size; in ../lib/ntux there is one for each, and LD_PRELOAD then holds $PLATFORM, which
    the loader of each program replaces by a name of its own.

NTUX_PRELOAD_WATCH=PATH    The same for what `ntux run --soft-dirty` and `ntux watch` load: libntux_preload_watch.so.

LD_PRELOAD    `ntux run` puts its library in front of what is there, and keeps the rest.
";

const EXIT_STATUS: &str = "\
The exit status of `ntux run`

ntux run replaces itself by PROGRAM, so from then on there is no ntux process: signals reach the program directly, and
its exit status, or the signal that ended it, is what the caller sees. Only if the program could not be started:

    125    ntux itself failed: wrong options, or its library was not found.
    126    PROGRAM was found, but cannot be started: no permission to execute it, for instance.
    127    PROGRAM was not found.

A program into which nothing can be loaded is started all the same, and ntux says why on standard error: one that is statically
linked, made for another kind of processor, set-user-id, set-group-id, or has file capabilities.

The same holds for `ntux watch` with a program, except that it refuses such a program with 126, and that ntux stays, to draw: it passes on the signals that are sent to it
alone, and ends as the program ends, by the same signal if it was one.

The exit status of `ntux inspect` is 0 if objects were shown, 1 if the process has none of ntux, and 125 if it could not be looked
at: there is no such process, or you may not, or the file is no arena of this version.

The exit status of `ntux why` is 0 if nothing is wrong, 1 if it has found a deadlock or something else that will not pass by
itself, 2 if the process has no objects of ntux, and 125 if it could not be looked at.

The exit status of `ntux doctor` is 0 if programs can be served on this machine, or the program that it is given, 1 if not.
";

/// Prints what `topic` means.
pub fn explain(mut line: clap::Command, topic: Option<&str>) -> ExitCode {
    line.build();
    match topic {
        None => println!("{}", line.render_long_help()),
        Some("environment") => print!("{ENVIRONMENT}"),
        Some("exit-status") => print!("{EXIT_STATUS}"),
        Some(other) => match line.find_subcommand_mut(other) {
            Some(subcommand) => println!("{}", subcommand.render_long_help()),
            None => {
                eprintln!("ntux: there is no help on '{other}'; try: ntux help");
                return ExitCode::from(NTUX_FAILED);
            }
        },
    }
    ExitCode::SUCCESS
}
