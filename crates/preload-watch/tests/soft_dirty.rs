// SPDX-License-Identifier: MIT OR Apache-2.0
//! A C program that uses soft-dirty bits and knows nothing else, run with the library preloaded.
//!
//! It checks itself and ends itself after a while if it hangs; what it complains about is shown.
#![cfg(target_os = "linux")]

#[path = "../../preload/tests/built/c_program.rs"]
mod c_program;
#[path = "../../preload/tests/built/library.rs"]
mod library;
#[path = "../../platform/tests/skips/skips.rs"]
mod skips;

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

use c_program::compile;
use ntux_watch::Mechanism;
use skips::skip;

/// A user and group that owns nothing.
const NOBODY: u32 = 65534;

static LIBRARY: LazyLock<PathBuf> = LazyLock::new(library::plain);
static PROGRAM: LazyLock<PathBuf> = LazyLock::new(|| compile("c/soft_dirty.c", &[]));

fn run(scenario: &str, library: &Path, environment: &[(&str, &str)]) -> Output {
    let mut command = Command::new(&*PROGRAM);
    command.arg(scenario).env("LD_PRELOAD", library).env("NTUX_SOFT_DIRTY", "1").env_remove("NTUX_WATCH");
    command.envs(environment.iter().copied()).output().expect("the program starts")
}

fn complaints(output: &Output) -> String {
    format!("{}\n{}", output.status, String::from_utf8_lossy(&output.stderr))
}

fn succeeds(scenario: &str, environment: &[(&str, &str)]) -> Output {
    let output = run(scenario, &LIBRARY, environment);
    assert!(output.status.success(), "{scenario}: {}", complaints(&output));
    output
}

/// Returns whether this machine has what it takes; says so if not.
fn can_be_served() -> bool {
    let probed = Mechanism::Async.probe();
    if let Err(error) = probed {
        skip("mechanism-async", error);
    }
    probed.is_ok()
}

macro_rules! scenarios {
    ($($name:ident,)*) => {
        $(
            #[test]
            fn $name() {
                if can_be_served() {
                    let output = succeeds(stringify!($name), &[]);
                    assert!(output.stderr.is_empty(), "{}", complaints(&output));
                }
            }
        )*
    };
}

scenarios! {
    the_basics,
    reads_of_every_kind,
    writes_of_every_kind,
    every_way_to_open,
    c_streams,
    memory_of_every_kind,
    memory_that_is_moved,
    shared_memory,
    a_mapping_among_others,
    memory_that_is_not_there,
    system_calls_that_write,
    memory_that_is_watched_already,
    no_write_is_lost,
    a_copy_never_goes_stale,
    in_a_child,
    a_child_starts_dirty,
    after_exec,
    everything_is_closed,
    in_a_handler,
    threads_that_clear,
    a_thread_with_descriptors_of_its_own,
    the_first_thread_has_ended,
}

#[test]
fn the_text_of_the_mappings_is_enough() {
    if can_be_served() {
        for scenario in ["the_basics", "memory_of_every_kind", "in_a_handler", "threads_that_clear"] {
            succeeds(scenario, &[("NTUX_WITHOUT", "mapping_query")]);
        }
    }
}

#[test]
fn a_thread_finds_its_own_entry_by_its_number() {
    if can_be_served() {
        for scenario in ["the_basics", "a_thread_with_descriptors_of_its_own", "the_first_thread_has_ended"] {
            succeeds(scenario, &[("NTUX_WITHOUT", "thread_self")]);
        }
    }
}

/// Wherever it cannot be done, the user is told why, once, and the program sees what the kernel says.
#[test]
fn without_the_mechanism_the_program_sees_the_kernels_bits() {
    let told_in = |scenario: &str, environment: &[(&str, &str)], message: &str| {
        let output = succeeds(scenario, environment);
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(text.lines().count(), 1, "{text}");
        assert!(text.starts_with("ntux: soft-dirty bits ") && text.contains(message), "{text}");
    };
    let told = |environment, message| told_in("without_it", environment, message);
    told_in("under_a_filter", &[], "ntux doctor says why");
    told(&[("NTUX_WATCH", "mprotect")], "NTUX_WATCH=async");
    told(&[("NTUX_WATCH", "sync")], "NTUX_WATCH=async");
    told(&[("NTUX_WITHOUT", "userfaultfd")], "ntux doctor says why");
    told(&[("NTUX_WITHOUT", "pagemap_scan")], "ntux doctor says why");
}

/// No privilege is needed: neither to watch, nor to look.
#[test]
fn without_privileges() {
    // SAFETY: a call without arguments.
    if !can_be_served() || unsafe { libc::geteuid() } != 0 {
        return skip("root", "only root can become somebody else; the other tests have no privileges then");
    }
    // Where everybody can go.
    let directory = tempfile::tempdir().expect("a temporary directory");
    std::fs::set_permissions(directory.path(), PermissionsExt::from_mode(0o755)).expect("our own directory");
    let copy = |from: &Path, name: &str| {
        let to = directory.path().join(name);
        std::fs::copy(from, &to).expect("a copy");
        to
    };
    let (program, library) = (copy(&PROGRAM, "program"), copy(&LIBRARY, "library.so"));
    for scenario in ["the_basics", "reads_of_every_kind", "no_write_is_lost", "in_a_child"] {
        let mut command = Command::new(&program);
        command.arg(scenario).env("LD_PRELOAD", &library).env("NTUX_SOFT_DIRTY", "1").env_remove("NTUX_WATCH");
        let output = command.uid(NOBODY).gid(NOBODY).current_dir("/").output().expect("the program starts");
        assert!(output.status.success() && output.stderr.is_empty(), "{scenario}: {}", complaints(&output));
    }
}

#[test]
fn nobody_is_served_who_does_not_ask() {
    let output = succeeds("without_it", &[("NTUX_SOFT_DIRTY", "0")]);
    assert!(output.stderr.is_empty(), "{}", complaints(&output));
}

/// The harness is able to fail: a library that takes memory for clean that was mapped since must not pass.
#[test]
fn a_planted_bug_is_caught() {
    if !can_be_served() {
        return;
    }
    let library = library::variant("planted", &["--features", "planted"]);
    for scenario in ["the_basics", "memory_that_is_moved", "a_copy_never_goes_stale", "in_a_child"] {
        let output = run(scenario, &library, &[]);
        let failed_check = String::from_utf8_lossy(&output.stderr).contains("failed: ");
        assert!(!output.status.success() && failed_check, "{scenario}: {}", complaints(&output));
    }
}
