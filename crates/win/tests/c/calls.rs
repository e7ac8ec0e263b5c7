// SPDX-License-Identifier: MIT OR Apache-2.0
//! Each family of functions called by a program, as C90 with the shared library and as C++98 with the static one; and the proof that each
//! program can fail.

use crate::install::{As, build_and_run};

macro_rules! families {
    ($($name:ident: $file:literal;)*) => {
        $(
            #[test]
            fn $name() {
                passes($file);
            }
        )*

        /// Every program, with one expectation wrong.
        pub const ALL: &[&str] = &[$($file),*];
    };
}

families! {
    events_are_set_reset_and_pulsed: "events.c";
    mutexes_are_owned_and_abandoned: "mutexes.c";
    semaphores_count: "semaphores.c";
    waits_for_any_and_for_all: "waits.c";
    handles_are_closed_and_duplicated: "handles.c";
    threads_begin_and_end: "threads.c";
    asynchronous_calls_run_in_alertable_waits: "apcs.c";
    locks_in_memory_exclude: "locks.c";
    what_is_done_once_and_together: "once.c";
    names_are_of_the_process: "names.c";
    names_are_of_a_session: "sessions.c";
    handles_are_made_for_other_processes: "handed_over.c";
    memory_says_which_pages_were_written: "memory.c";
    killed_and_stopped_processes_block_nobody: "kills.c";
    processes_end_with_exit_codes: "processes.c";
    timers_are_due_and_call: "timers.c";
    pools_call_work: "pools.c";
    registered_waits_fire: "registered.c";
    timers_of_queues_and_pools_are_due: "queues.c";
    forked_children_are_others: "forks.c";
    packets_are_posted_and_taken: "ports.c";
    threads_meet_by_keys: "keyed.c";
    functions_of_ntdll_say_what_was: "nt.c";
    descriptors_are_waited_for_and_polled: "descriptors.c";
    locks_have_names_of_ntdll: "rtl.c";
    lists_are_pushed_and_popped: "lists.c";
    words_are_changed_in_one_step: "interlocked.c";
    what_is_not_there_says_so: "refused.c";
}

/// What differs between systems does not differ between languages: where macOS is simulated one is enough.
const LANGUAGES: &[As] = if cfg!(ntux_simulated_macos) { &[As::C] } else { &[As::C, As::Cxx] };

fn passes(file: &str) {
    for &language in LANGUAGES {
        let (result, text) = build_and_run(file, language, &[]);
        let passed = result.status.success() && text.ends_with(" checks, 0 failures\n");
        assert!(passed, "{file} as {language:?}: {text}{}", result.status);
    }
}

/// Those whose expectations are noticed: where macOS is simulated, those that are other programs there.
const PLANTED: &[&str] = if cfg!(ntux_simulated_macos) { &["sessions.c", "handed_over.c", "processes.c"] } else { ALL };

#[test]
fn a_planted_wrong_expectation_is_noticed() {
    for file in PLANTED {
        let (result, text) = build_and_run(file, As::C, &["-DPLANTED"]);
        assert_eq!(result.status.code(), Some(1), "{file}: {text}");
        assert!(text.ends_with(", 1 failures\n"), "{file}: {text}");
    }
}

#[test]
fn every_program_is_run() {
    let mut files: Vec<String> = std::fs::read_dir(crate::install::crate_dir().join("tests/c"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".c"))
        .collect();
    files.sort();
    let mut known = ALL.to_vec();
    known.sort_unstable();
    assert_eq!(files, known);
}
