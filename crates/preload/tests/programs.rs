// SPDX-License-Identifier: MIT OR Apache-2.0
//! C programs that know nothing but the kernel's interface, run with the library preloaded.
//!
//! Each program checks itself and ends itself after a while if it hangs; what it complains about is shown.
#![cfg(target_os = "linux")]

#[path = "built/c_program.rs"]
mod c_program;
#[path = "built/preloaded.rs"]
mod preloaded;
#[path = "../../platform/tests/seccomp/rule.rs"]
mod rule;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use c_program::compile;
use preloaded::{command, complaints, succeeds, tested, tested_optimized, variant};
use rule::{Rule, under};

/// How a program ends that left something out, which it said and counted (`skips.h`).
const SAID_WHY_NOT: i32 = 77;

static LIBRARY: LazyLock<PathBuf> = LazyLock::new(tested);

static ARGUMENTS: LazyLock<PathBuf> = LazyLock::new(|| compile("c/arguments.c", &[]));
static SIGNALS: LazyLock<PathBuf> = LazyLock::new(|| compile("c/signals.c", &[]));
#[cfg(target_arch = "x86_64")]
static FOREIGN_CODE: LazyLock<PathBuf> = LazyLock::new(|| compile("c/foreign_code.c", &[]));
static DOOR: LazyLock<PathBuf> = LazyLock::new(|| compile("c/door.c", &[]));
static MASKS: LazyLock<PathBuf> = LazyLock::new(|| compile("c/masks.c", &[]));
static PROCESSES: LazyLock<PathBuf> = LazyLock::new(|| compile("c/processes.c", &[]));
static LEAVING: LazyLock<PathBuf> = LazyLock::new(|| compile("c/leaving.c", &[]));
static MANY: LazyLock<PathBuf> = LazyLock::new(|| compile("c/many.c", &[]));
static LIMITS: LazyLock<PathBuf> = LazyLock::new(|| compile("c/limits.c", &[]));
static MULTIPLE: LazyLock<PathBuf> = LazyLock::new(|| compile("c/multiple.c", &[]));
static OPENING: LazyLock<PathBuf> = LazyLock::new(|| compile("c/opening.c", &[]));
// Older C libraries have some of the functions in libraries of their own.
static CLOSING: LazyLock<PathBuf> = LazyLock::new(|| compile("c/closing.c", &["-Wl,--no-as-needed", "-lrt", "-lutil"]));
static SURROUNDINGS: LazyLock<PathBuf> = LazyLock::new(|| compile("c/surroundings.c", &[]));
static ODD_THREADS: LazyLock<PathBuf> = LazyLock::new(|| compile("c/odd_threads.c", &[]));
static PRIORITIES: LazyLock<PathBuf> = LazyLock::new(|| compile("c/priorities.c", &[]));

macro_rules! scenarios {
    ($program:ident: $($name:ident,)*) => {
        $(
            #[test]
            fn $name() {
                succeeds(command(&$program, &LIBRARY).arg(stringify!($name)));
            }
        )*
    };
}

#[test]
fn arguments() {
    succeeds(&mut command(&ARGUMENTS, &LIBRARY));
}

scenarios! {
    MASKS:
    by_jump,
    by_context,
    by_swap,
    by_return,
    by_number,
    by_bare_call,
    by_waiting,
    in_threads,
}

scenarios! {
    SIGNALS:
    blocking_handler,
    pulse_in_handler,
    blocked_thread_holds_up_nobody,
    reentrant_handler,
    restart_or_not,
    restarts_at_the_tail,
    thread_ends_in_handler,
    jumps_out_of_waits,
    tokens_are_conserved,
    values_arrive_in_order,
    masks_stacks_and_flags,
    actions_as_the_program_sees_them,
    defaults, many_different_handlers,
    other_calls,
}

// The cases that explicit waiters must pass, too (`crates/capi/tests`).
scenarios! {
    DOOR:
    out_of_all_queues,
    starts_again_at_the_end,
    handlers_wait,
    ends_in_a_handler,
    jumps_out_of_handlers,
    the_mask_is_the_one_before,
    numbers_arrive_in_order,
    nothing_is_lost_in_a_storm,
    threads_that_never_wait,
}

/// One instruction at a time: a library that is built for debugging has too many.
#[test]
fn signals_come_at_each_step() {
    let library = tested_optimized();
    for case in ["a_signal_at_each_step", "two_signals_at_each_step"] {
        succeeds(command(&DOOR, &library).arg(case));
    }
}

scenarios! {
    PROCESSES:
    tables_are_small,
    cache_is_mapped,
    numbers_and_flags,
    looking_first,
    copies_mean_the_same,
    numbers_are_used_again,
    closing_during_a_wait,
    fork_and_wait,
    exec_keeps_descriptors,
    passed_over_a_socket,
    out_of_descriptors,
    opened_in_a_loop,
    many_devices,
    owner_is_killed,
    objects_of_the_killed,
    killed_in_the_middle,
    threads_come_and_go,
    cancelled_in_a_wait,
    cancelled_at_any_instruction,
    children_that_borrow_memory,
    forked_in_the_middle,
    numbers_among_threads,
    foreign_calls,
}

#[test]
fn the_end_of_the_descriptors_is_said_once() {
    let output = succeeds(command(&PROCESSES, &LIBRARY).arg("out_of_descriptors"));
    let text = complaints(&output);
    let lines: Vec<&str> = text.lines().filter(|line| line.contains("no descriptor left")).collect();
    assert!(matches!(lines[..], [line] if line.contains("its limit is 1") && line.contains("(ulimit -")), "{text}");
}

/// A line that ntux adds must not end the program.
#[test]
fn the_end_of_the_descriptors_is_said_to_nobody() {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let mut program = command(&PROCESSES, &LIBRARY);
    let status = program.arg("out_of_descriptors").stderr(writer).status().expect("the program starts");
    assert!(status.success(), "{status}");
}

scenarios! {
    LEAVING:
    every_way_out,
    messages_of_all_kinds,
    children_that_close_everything,
    forks_before_the_first_use,
    killed_creators_leave_nothing,
    what_arrives_is_not_counted,
    locks_do_not_pile_up,
    sole_copies_need_no_lock,
    copies_elsewhere_last,
    inherited_copies,
    kept_by_what_is_started,
    borrowed_copies,
    jumps_out_of_copies,
    a_server_with_clients,
    kept_by_a_program,
    starts_without_a_child,
    a_receiver_is_looked_at_once,
}

/// What a step costs does not depend on how many objects there are: no pattern leaves locks. (What is on its way has one each.)
#[test]
fn locks_do_not_pile_up_in_any_pattern() {
    const PATTERNS: [&str; 12] = [
        "send_to_itself",
        "send_to_itself_kept",
        "send_twice",
        "send_refused",
        "send_all",
        "duplicate_kept",
        "duplicate_closed",
        "duplicate_onto",
        "child_uses",
        "child_closes",
        "child_makes",
        "fork_often",
    ];
    for pattern in PATTERNS {
        succeeds(command(&MANY, &LIBRARY).args([pattern, "300"]));
    }
}

scenarios! {
    OPENING:
    opened_by_number,
    opened_under_other_names,
    opened_as_a_stream,
    spelled_otherwise,
    described,
    looked_at,
}

scenarios! {
    CLOSING:
    closed_by_number,
    numbers_are_used_again_by_number,
    closed_by_functions,
    foreign_streams,
    replaced_by_daemon,
    replaced_by_login,
    processes_in_our_memory,
    borrowed_memory_remembers_nothing,
}

#[test]
fn threads_with_their_own_descriptors() {
    for way in ["0", "1", "2", "3"] {
        succeeds(command(&CLOSING, &LIBRARY).arg("threads_with_their_own_descriptors").arg(way));
    }
}

/// What the system does around a program, as far as it lets this process arrange it.
#[test]
fn surroundings() {
    for scenario in ["hidden_processes", "memory_is_short", "frozen", "ring", "come_and_go", "namesakes"] {
        let output = command(&SURROUNDINGS, &LIBRARY).arg(scenario).output().expect("the program starts");
        let passed = matches!(output.status.code(), Some(0 | SAID_WHY_NOT));
        assert!(passed, "{scenario}: {}", complaints(&output));
    }
}

/// The ways to find a thread's own entry in /proc.
const WITHOUT_NOTHING_AND_NAME: [&str; 2] = ["", "thread_self"];

/// In the table that `/proc/self/fd` shows, the number of the device means something else, or nothing.
#[test]
fn a_thread_uses_its_own_descriptors() {
    for without in WITHOUT_NOTHING_AND_NAME {
        for found in ["nothing", "text", "null", "pipe", "another"] {
            let mut command = command(&ODD_THREADS, &LIBRARY);
            let output = succeeds(command.args(["descriptors_of_its_own", found]).env("NTUX_WITHOUT", without));
            assert_eq!(complaints(&output), "exit status: 0\n", "{found}, without {without:?}");
        }
    }
}

#[test]
fn a_number_that_changes_leads_to_no_foreign_file() {
    succeeds(command(&ODD_THREADS, &LIBRARY).arg("a_number_that_changes"));
}

/// `main` has called `pthread_exit`.
#[test]
fn a_process_whose_first_thread_has_ended_is_served() {
    let scenarios = [
        "all_of_the_device",
        "exec_without_environment",
        "fexec_without_environment",
        "a_receiver_without_first_thread",
    ];
    for without in WITHOUT_NOTHING_AND_NAME {
        for scenario in scenarios {
            let output = succeeds(command(&ODD_THREADS, &LIBRARY).arg(scenario).env("NTUX_WITHOUT", without));
            assert_eq!(complaints(&output), "exit status: 0\n", "{scenario}, without {without:?}");
        }
    }
}

/// A thread that waits for the lock must not keep its holder from the processor.
#[test]
fn threads_of_different_priority() {
    let output = command(&PRIORITIES, &LIBRARY).arg("2000").output().expect("the program starts");
    assert!(output.status.success() || output.status.code() == Some(SAID_WHY_NOT), "{}", complaints(&output));
}

/// Another library stands in front of `dlsym`, before this one and behind it.
#[test]
fn the_real_functions_are_found_past_others() {
    let version = if cfg!(target_arch = "x86_64") { "2.2.5" } else { "2.17" };
    let shim = compile("c/dlsym_shim.c", &["-shared", "-fPIC", &format!("-DFIRST_VERSION=\"GLIBC_{version}\"")]);
    for order in [[&shim, &*LIBRARY], [&LIBRARY, &shim]] {
        let both = std::env::join_paths(order).expect("paths without colons");
        let run = |program, scenario| succeeds(command(program, Path::new(&both)).arg(scenario));
        run(&PROCESSES, "numbers_and_flags");
        let output = run(&OPENING, "opened_under_other_names");
        assert!(complaints(&output).contains("the shim was asked"), "it is in front: {}", complaints(&output));
    }
}

/// Another library has some of the functions, before this one and behind it; with a table that is searched at the first use of each
/// function, and with one that only the loader searches, so that all are looked up at the start. A library in front sees what the
/// program calls; one behind also sees what this library closes for itself: the second program closes nothing.
#[test]
fn the_functions_of_other_libraries_are_called() {
    for style in ["gnu", "sysv"] {
        let other = compile("c/other_functions.c", &["-shared", "-fPIC", &format!("-Wl,--hash-style={style}")]);
        let closing = (&*PROCESSES, "numbers_and_flags");
        let orders = [
            ([&other, &*LIBRARY], vec![closing]),
            ([&LIBRARY, &other], vec![closing, (&*LEAVING, "messages_of_all_kinds")]),
        ];
        for (order, programs) in orders {
            let both = std::env::join_paths(order).expect("paths without colons");
            for (program, scenario) in programs {
                let output = succeeds(command(program, Path::new(&both)).arg(scenario));
                assert!(complaints(&output).contains("the others were called"), "{style}: {}", complaints(&output));
            }
        }
    }
}

scenarios! {
    LIMITS:
    files_are_limited,
    future_memory_is_locked,
    core_is_dumped,
}

scenarios! {
    MULTIPLE:
    is_there,
    satisfied_at_once,
    times_out,
    woken_by_thread,
    private_and_shared,
    woken_by_process,
    interrupted,
    never_comes_back,
    bad_arguments,
    everything_else,
    not_cancelled,
    no_token_is_lost,
    absent_if_vectors_are_missing,
    absent_if_vectors_are_forbidden,
    absent_if_vectors_are_deadly,
    absent_if_reading_memory_is_deadly,
    absent_if_memory_cannot_be_read,
}

#[test]
fn waiting_for_multiple_words_can_be_left_out() {
    succeeds(command(&MULTIPLE, &LIBRARY).arg("absent").env("NTUX_WITHOUT", "futex_waitv"));
}

/// The harness is able to fail: without the library there is no such operation.
#[test]
fn waiting_for_multiple_words_needs_the_library() {
    succeeds(Command::new(&*MULTIPLE).arg("absent"));
    for scenario in ["is_there", "satisfied_at_once", "woken_by_thread", "no_token_is_lost"] {
        let output = Command::new(&*MULTIPLE).arg(scenario).output().expect("the program starts");
        assert_eq!(output.status.code(), Some(1), "{scenario}: {}", complaints(&output));
    }
}

/// Runs a scenario with its thread in each state in which Wine has one while Windows code runs.
#[cfg(target_arch = "x86_64")]
fn in_every_state(scenario: &str, command: impl Fn() -> Command) {
    for state in ["plain", "dispatch", "segment", "both"] {
        let output = command().args([scenario, state]).output().expect("the program starts");
        let passed = matches!(output.status.code(), Some(0 | SAID_WHY_NOT));
        assert!(passed, "{scenario}, {state}: {}", complaints(&output));
    }
}

#[cfg(target_arch = "x86_64")]
mod foreign_code {
    use super::*;

    macro_rules! in_every_state {
        ($($name:ident,)*) => {
            $(
                #[test]
                fn $name() {
                    in_every_state(stringify!($name), || command(&FOREIGN_CODE, &LIBRARY));
                }
            )*
        };
    }

    in_every_state! {
        asynchronous,
        a_fault,
        in_waits,
        runs_once,
        raw_clone,
        tiny_stack,
        tiny_stack_in_a_wait,
    }

    /// As on processors that do not tell a program its thread pointer.
    #[test]
    fn without_the_thread_pointer() {
        for scenario in ["asynchronous", "a_fault", "in_waits", "raw_clone"] {
            in_every_state(scenario, || {
                let mut command = command(&FOREIGN_CODE, &LIBRARY);
                command.env("NTUX_WITHOUT", "fsgsbase");
                command
            });
        }
    }

    /// The harness is able to fail: a library that counts on the C library's state before the handler must not pass.
    #[test]
    fn a_planted_bug_is_caught() {
        let library = variant("planted-early", &["--features", "planted-early"]);
        let ended = |state| command(&FOREIGN_CODE, &library).args(["a_fault", state]).status().expect("it starts");
        assert!(ended("plain").success());
        assert!(!ended("dispatch").success() && !ended("segment").success());
    }
}

/// Below an emulator, which calls handlers with frames of its own, and may know no syscall user dispatch.
#[cfg(target_arch = "x86_64")]
mod emulated {
    use super::*;

    static EMULATOR: LazyLock<PathBuf> =
        LazyLock::new(|| compile("c/emulator.c", &["-shared", "-fPIC", "-fno-stack-protector"]));

    /// The library, and behind it what stands in for the system.
    fn emulated(program: &Path, library: &Path) -> Command {
        let both = std::env::join_paths([library, &**EMULATOR]).expect("paths without colons");
        command(program, Path::new(&both))
    }

    /// As a Wine that goes on when the call fails.
    fn refused(library: &Path, scenario: &str, state: &str, error: i32) -> Command {
        let mut command = emulated(&FOREIGN_CODE, library);
        command.args([scenario, state]).env("EMULATED_PRCTL", error.to_string());
        command
    }

    #[test]
    fn syscall_user_dispatch_is_refused() {
        for error in [libc::ENOSYS, libc::EINVAL] {
            for scenario in ["asynchronous", "a_fault", "in_waits", "runs_once", "raw_clone"] {
                for state in ["refused", "refused-segment"] {
                    let output = refused(&LIBRARY, scenario, state, error).output().expect("the program starts");
                    let passed = matches!(output.status.code(), Some(0 | SAID_WHY_NOT));
                    assert!(passed, "{scenario}, {state}, error {error}: {}", complaints(&output));
                }
            }
        }
    }

    #[test]
    fn frames_of_an_emulator() {
        let signals = [
            "blocking_handler",
            "pulse_in_handler",
            "blocked_thread_holds_up_nobody",
            "reentrant_handler",
            "restart_or_not",
            "restarts_at_the_tail",
            "thread_ends_in_handler",
            "jumps_out_of_waits",
            "tokens_are_conserved",
            "values_arrive_in_order",
            "masks_stacks_and_flags",
            "actions_as_the_program_sees_them",
            "defaults",
            "many_different_handlers",
        ];
        let door = [
            "out_of_all_queues",
            "starts_again_at_the_end",
            "handlers_wait",
            "ends_in_a_handler",
            "jumps_out_of_handlers",
            "the_mask_is_the_one_before",
            "numbers_arrive_in_order",
            "nothing_is_lost_in_a_storm",
            "threads_that_never_wait",
        ];
        for scenario in signals {
            succeeds(emulated(&SIGNALS, &LIBRARY).arg(scenario));
        }
        for scenario in door {
            succeeds(emulated(&DOOR, &LIBRARY).arg(scenario));
        }
    }

    /// The harness is able to fail: neither a library that calls handlers on top of a queued wait passes, nor one that counts on
    /// the C library's state before the handler.
    #[test]
    fn planted_bugs_are_caught() {
        let library = variant("planted", &["--features", "planted"]);
        for scenario in ["blocking_handler", "pulse_in_handler"] {
            let output = emulated(&SIGNALS, &library).arg(scenario).output().expect("the program starts");
            let failed_check = String::from_utf8_lossy(&output.stderr).contains("failed: ");
            assert!(!output.status.success() && failed_check, "{scenario}: {}", complaints(&output));
        }
        let early = variant("planted-early", &["--features", "planted-early"]);
        let ended = |state| refused(&early, "a_fault", state, libc::ENOSYS).status().expect("it starts");
        assert!(ended("refused").success() && !ended("refused-segment").success());
        // Nor is an emulator taken for one that puts back the mask.
        let mut lost = emulated(&DOOR, &LIBRARY);
        let output = lost.arg("the_mask_is_the_one_before").env("EMULATED_MASK", "lost").output();
        assert!(!output.expect("the program starts").status.success());
    }
}

/// What some kernels lack is replaced by something else.
#[test]
fn everything_holds_without_what_old_kernels_lack() {
    const WITHOUT: &str = "robust_list,wipe_on_fork,memfd_noexec_seal";
    const PROCESSES_TOO: [&str; 6] = [
        "fork_and_wait",
        "exec_keeps_descriptors",
        "owner_is_killed",
        "objects_of_the_killed",
        "children_that_borrow_memory",
        "forked_in_the_middle",
    ];
    for scenario in PROCESSES_TOO {
        succeeds(command(&PROCESSES, &LIBRARY).arg(scenario).env("NTUX_WITHOUT", WITHOUT));
    }
    succeeds(command(&LEAVING, &LIBRARY).arg("children_that_close_everything").env("NTUX_WITHOUT", WITHOUT));
    succeeds(command(&SIGNALS, &LIBRARY).arg("tokens_are_conserved").env("NTUX_WITHOUT", WITHOUT));
}

/// The program cannot map 16 MiB, which is what the cache of descriptors needs.
fn without_cache(command: &mut Command) -> &mut Command {
    const LENGTH: i32 = 16 << 20;
    under(command, [Rule::errno(libc::SYS_mmap, libc::ENOMEM).with_argument(LENGTH)])
}

#[test]
fn without_memory_for_the_cache_every_call_asks_its_descriptor() {
    let ended = without_cache(command(&PROCESSES, &LIBRARY).arg("cache_is_mapped")).output().expect("it starts");
    assert!(complaints(&ended).contains("found == 1"), "the filter has no effect: {}", complaints(&ended));
    let scenarios = [
        "numbers_and_flags",
        "copies_mean_the_same",
        "numbers_are_used_again",
        "closing_during_a_wait",
        "fork_and_wait",
        "exec_keeps_descriptors",
        "passed_over_a_socket",
        "many_devices",
        "children_that_borrow_memory",
        "numbers_among_threads",
    ];
    for scenario in scenarios {
        succeeds(without_cache(command(&PROCESSES, &LIBRARY).arg(scenario)));
    }
}

/// The harness is able to fail: a library that calls handlers on top of a queued wait must not pass.
#[test]
fn a_planted_bug_is_caught() {
    let library = variant("planted", &["--features", "planted"]);
    let scenarios =
        [(&SIGNALS, ["blocking_handler", "pulse_in_handler"]), (&DOOR, ["out_of_all_queues", "handlers_wait"])];
    for (program, scenario) in scenarios.iter().flat_map(|(program, names)| names.map(|name| (*program, name))) {
        let output = command(program, &library).arg(scenario).output().expect("the program starts");
        let failed_check = String::from_utf8_lossy(&output.stderr).contains("failed: ");
        assert!(!output.status.success() && failed_check, "{scenario}: {}", complaints(&output));
    }
}

#[test]
fn the_log_says_what_was_served() {
    let log = Path::new(env!("CARGO_TARGET_TMPDIR")).join("served.log");
    let _ = std::fs::remove_file(&log);
    succeeds(command(&PROCESSES, &LIBRARY).arg("many_devices").env("NTUX_LOG", &log));
    let text = std::fs::read_to_string(&log).expect("the log was written");
    let expected = "served in user space; opened 101 times; 1000 operations; 300 waits, 300 of them never entered";
    assert!(text.contains(expected), "{text}");
}

/// The lines of single operations in a log, without times.
fn operations(log: &str) -> Vec<String> {
    let is_operation = |line: &&str| line.split_whitespace().nth(1).is_some_and(|who| who.contains('/'));
    let told = |line: &str| line.split_whitespace().skip(2).collect::<Vec<_>>().join(" ");
    log.lines().filter(is_operation).map(told).collect()
}

#[test]
fn the_log_says_each_operation_with_its_result_if_it_is_asked_to() {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("told");
    let _ = std::fs::remove_dir_all(&directory);
    std::fs::create_dir(&directory).expect("a directory of our own");
    let log = format!("all:{}/%p.log", directory.display());
    succeeds(command(&PROCESSES, &LIBRARY).arg("many_devices").env("NTUX_LOG", log));
    let mut logs = std::fs::read_dir(&directory).expect("it is there");
    let path = logs.next().expect("a log was written").expect("it can be read").path();
    let pid: u32 = path.file_stem().and_then(|name| name.to_str()?.parse().ok()).expect("named by the process");
    let text = std::fs::read_to_string(path).expect("the log was written");
    let told = operations(&text);
    assert_eq!(told.len(), 1000, "{text}");
    assert!(text.lines().next().is_some_and(|line| line.contains(&format!(" {pid}/{pid} "))), "{text}");
    let starts = ["create-event manual", "set ", "wait-any "];
    for start in starts {
        assert!(told.iter().any(|line| line.starts_with(start)), "no {start} in {:?}", &told[..20]);
    }
    let satisfied = |line: &&String| line.starts_with("wait-any ") && line.contains("-> index 0");
    let wait = told.iter().find(satisfied).expect("there is one");
    assert!(wait.contains("=event#") && wait.contains(" owner "), "{wait}");
}

#[test]
fn the_log_can_be_of_sleeps_and_failures_only() {
    let log = Path::new(env!("CARGO_TARGET_TMPDIR")).join("waits.log");
    let _ = std::fs::remove_file(&log);
    succeeds(command(&PROCESSES, &LIBRARY).arg("many_devices").env("NTUX_LOG", format!("waits:{}", log.display())));
    let text = std::fs::read_to_string(&log).expect("the log was written");
    // No wait of this program sleeps; it hands each device an object of another one, which is refused.
    let told = operations(&text);
    assert!(!told.is_empty() && told.iter().all(|line| line.ends_with("-> EINVAL")), "{:?}", told.first());
    assert!(told.len() < 1000 && text.contains("1000 operations"), "{} lines", told.len());

    let _ = std::fs::remove_file(&log);
    succeeds(command(&SIGNALS, &LIBRARY).arg("blocking_handler").env("NTUX_LOG", format!("waits:{}", log.display())));
    let text = std::fs::read_to_string(&log).expect("the log was written");
    assert!(operations(&text).iter().any(|line| line.contains(", slept ")), "{text}");
}

#[test]
fn the_kernel_can_be_asked_for() {
    let served = Path::new("/dev/ntsync").exists();
    let output = command(&PROCESSES, &LIBRARY).arg("many_devices").env("NTUX_DEVICE", "kernel").output();
    assert_eq!(output.expect("the program starts").status.success(), served);
}

#[test]
fn a_bad_setting_is_reported_and_ignored() {
    let mut bad = command(&PROCESSES, &LIBRARY);
    let output = succeeds(bad.arg("owner_is_killed").env("NTUX_DEVICE", "yes").env("NTUX_SPIN", "-1"));
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("NTUX_DEVICE must be") && text.contains("NTUX_SPIN must be"), "{text}");
}
