// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ntux` in sandboxes as launchers make them (docs/wine/launchers.md): the device behaves as outside, or there is none and
//! `ntux` says why.
//!
//! The sandboxes are bubblewrap's. Where it cannot make them, each test says so and does nothing.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

mod built;
mod profile;
mod sandbox;
#[path = "../../../platform/tests/skips/skips.rs"]
mod skips;
mod steam;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::LazyLock;

use built::BUILT;
use profile::Profile;
use sandbox::{PLAIN, Sandbox, available, options, texts};
use serde_json::Value;
use skips::skip;

/// Scenarios of the C programs that stand for the rest: descriptors that travel, processes that die, threads that wait.
const PROCESSES: &[&str] = &[
    "numbers_and_flags",
    "looking_first",
    "copies_mean_the_same",
    "numbers_are_used_again",
    "fork_and_wait",
    "exec_keeps_descriptors",
    "passed_over_a_socket",
    "many_devices",
    "owner_is_killed",
    "objects_of_the_killed",
    "children_that_borrow_memory",
];
const SIGNALS: &[&str] = &["blocking_handler", "reentrant_handler", "tokens_are_conserved", "masks_stacks_and_flags"];
const LEAVING: &[&str] = &["messages_of_all_kinds", "children_that_close_everything", "killed_creators_leave_nothing"];

/// Scenarios that look up in `/proc` whether another thread sleeps: they need one that knows the thread by its number.
const LOOKING_INTO_PROC: &[&str] =
    &["fork_and_wait", "owner_is_killed", "blocking_handler", "reentrant_handler", "tokens_are_conserved"];

/// What the list of cases says outside of any sandbox.
static OUTSIDE: LazyLock<Verdicts> = LazyLock::new(|| {
    let mut command = Command::new(&BUILT.ntux);
    command.args(["run", "--device", "user", "--"]).arg(&BUILT.conformance);
    Verdicts::of(&command.output().expect("the program starts"))
});

/// Which cases passed, and which did not.
struct Verdicts {
    passed: BTreeSet<String>,
    failed: BTreeSet<String>,
}

impl Verdicts {
    fn of(output: &Output) -> Verdicts {
        let (text, _) = texts(output);
        let named = |end: &str| {
            let line =
                |line: &str| line.strip_prefix("test ")?.strip_suffix(end)?.trim_end().strip_suffix("...").map(name);
            text.lines().filter_map(line).collect()
        };
        Verdicts { passed: named(" ok"), failed: named(" FAILED") }
    }
}

fn name(column: &str) -> String {
    column.trim_end().to_owned()
}

/// `ntux doctor --json` in the sandbox, and whether it said that programs can be served.
fn doctor(sandbox: &Sandbox) -> (Value, bool) {
    let output = sandbox.command(&BUILT.ntux).args(["doctor", "--json"]).output().expect("bubblewrap starts");
    let (text, complaints) = texts(&output);
    let report: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {complaints}"));
    assert_eq!(report["choice"]["can_serve"], output.status.success(), "{text}");
    (report, output.status.success())
}

/// What is wrong with a scenario in the sandbox.
fn difference(sandbox: &Sandbox, program: &Path, scenario: &str) -> Option<String> {
    let output = sandbox.served(&BUILT.ntux, program).arg(scenario).output().expect("bubblewrap starts");
    let text = || format!("{scenario}: {}: {}", output.status, texts(&output).1.trim());
    (!output.status.success()).then(text)
}

/// What is different in the sandbox, in a line for each scenario.
fn differences(sandbox: &Sandbox, skipped: &[&str]) -> Vec<String> {
    let programs = [(&BUILT.processes, PROCESSES), (&BUILT.signals, SIGNALS), (&BUILT.leaving, LEAVING)];
    let scenarios = programs.iter().flat_map(|(program, names)| names.iter().map(move |name| (program, name)));
    let wanted = scenarios.filter(|(_, name)| !skipped.contains(name));
    wanted.filter_map(|(program, name)| difference(sandbox, program, name)).collect()
}

/// What is different in the sandbox, in a line for each case of the whole list.
fn differing_cases(sandbox: &Sandbox) -> Vec<String> {
    let output = sandbox.served(&BUILT.ntux, &BUILT.conformance).output().expect("bubblewrap starts");
    let inside = Verdicts::of(&output);
    let text = texts(&output).0;
    let why = |case: &str| text.split("---- ").find(|part| part.starts_with(case)).unwrap_or(case).trim().to_owned();
    let worse = inside.failed.difference(&OUTSIDE.failed).map(|case| why(case));
    let mut found: Vec<String> = worse.collect();
    // Cases about other clocks need rights that a sandbox may lack; they say so and are left out.
    let missing = OUTSIDE.passed.len().saturating_sub(inside.passed.len());
    if OUTSIDE.passed.len() < 200 || missing > 2 {
        let counts = format!("{} cases pass, outside {}", inside.passed.len(), OUTSIDE.passed.len());
        found.push(format!("{counts}: {}", texts(&output).1));
    }
    found
}

/// The device is as outside, and `ntux doctor` says so.
fn is_served(sandbox: &Sandbox) -> Value {
    let (report, serves) = doctor(sandbox);
    assert!(serves, "{report:#}");
    assert_eq!(differences(sandbox, &[]), Vec::<String>::new());
    report
}

/// The same, and every case says what it says outside.
fn is_served_in_every_case(sandbox: &Sandbox) -> Value {
    let report = is_served(sandbox);
    assert_eq!(differing_cases(sandbox), Vec::<String>::new());
    report
}

/// Which calls `ntux doctor` found refused.
fn refused(report: &Value) -> Vec<&str> {
    report["seccomp"]["refused"].as_array().expect("a list").iter().map(|name| name.as_str().expect("a name")).collect()
}

const OWN_NAMESPACES: &[&str] = &[
    "--ro-bind",
    "/",
    "/",
    "--dev",
    "/dev",
    "--proc",
    "/proc",
    "--tmpfs",
    "/tmp",
    "--unshare-all",
    "--cap-drop",
    "ALL",
    "--die-with-parent",
];

/// As a container: namespaces of its own, its own /proc, no capabilities.
const fn container(profile: Profile) -> Sandbox {
    Sandbox { made_of: OWN_NAMESPACES, profile: Some(profile), ..PLAIN }
}

#[test]
fn docker() {
    if available() {
        let report = is_served_in_every_case(&container(profile::DOCKER));
        assert_eq!(report["seccomp"]["mode"], "filter");
        assert_eq!(refused(&report), [""; 0], "Docker permits all that ntux tries");
        assert_eq!(report["wait_multiple"]["by"], "futex_waitv");
        assert_eq!(report["watch"]["mechanisms"][0]["works"], false, "userfaultfd is refused");
    }
}

#[test]
fn podman() {
    if available() {
        let report = is_served_in_every_case(&container(profile::PODMAN));
        assert_eq!(refused(&report), ["futex_waitv", "futex_wake", "futex_wait", "futex_requeue"]);
        assert_eq!(report["wait_multiple"]["by"], "kernel");
    }
}

#[test]
fn flatpak() {
    if available() {
        let report = is_served(&container(profile::FLATPAK));
        assert_eq!(report["seccomp"]["mode"], "filter");
        assert_eq!(refused(&report), [""; 0]);
    }
}

/// As systemd starts a hardened service: what is not permitted ends the process.
const SERVICE: Sandbox = Sandbox {
    made_of: &["--ro-bind", "/", "/", "--dev", "/dev", "--tmpfs", "/tmp", "--tmpfs", "/proc/sys", "--die-with-parent"],
    profile: Some(profile::SYSTEMD),
    limits: &[(libc::RLIMIT_MEMLOCK, 64 << 10), (libc::RLIMIT_NOFILE, 4096)],
    no_writable_code: true,
};

#[test]
fn systemd_service() {
    if available() {
        let report = is_served_in_every_case(&SERVICE);
        assert_eq!(report["seccomp"]["mode"], "filter");
        assert_ne!(report["kernel"]["release"], "", "it does not need /proc/sys");
        assert_eq!(refused(&report), ["futex_wake", "futex_wait", "futex_requeue"]);
        assert_eq!(report["calls"]["futex_wake"]["signal"], libc::SIGSYS, "the filter ends who calls it");
    }
}

#[test]
fn read_only_root_without_shared_memory_directory() {
    if available() {
        // The devices that the programs open, and nothing to write to.
        let made_of = &[
            "--ro-bind",
            "/",
            "/",
            "--tmpfs",
            "/dev",
            "--dev-bind",
            "/dev/null",
            "/dev/null",
            "--dev-bind",
            "/dev/zero",
            "/dev/zero",
            "--dev-bind",
            "/dev/urandom",
            "/dev/urandom",
            "--remount-ro",
            "/dev",
            "--die-with-parent",
        ];
        let sandbox = Sandbox { made_of, ..PLAIN };
        let output = sandbox.command("test").args(["-e", "/dev/shm", "-o", "-w", "/tmp"]).output().expect("it starts");
        assert_eq!(output.status.code(), Some(1), "the sandbox has a place for shared memory");
        is_served_in_every_case(&sandbox);
    }
}

#[test]
fn own_process_numbers_and_own_proc() {
    if available() {
        is_served(&Sandbox { made_of: OWN_NAMESPACES, ..PLAIN });
    }
}

/// `/proc` there tells of processes by the numbers that they have outside.
#[test]
fn own_process_numbers_and_the_proc_of_others() {
    if available() {
        let made_of = &["--ro-bind", "/", "/", "--dev", "/dev", "--unshare-pid", "--die-with-parent"];
        let sandbox = Sandbox { made_of, ..PLAIN };
        assert!(doctor(&sandbox).1);
        let reason = format!("{LOOKING_INTO_PROC:?} and the list of cases find no thread in that /proc");
        skip("proc-of-others", reason);
        assert_eq!(differences(&sandbox, LOOKING_INTO_PROC), Vec::<String>::new());
    }
}

const WITHOUT_PROC: Sandbox =
    Sandbox { made_of: &["--ro-bind", "/", "/", "--dev", "/dev", "--tmpfs", "/proc", "--die-with-parent"], ..PLAIN };

/// Without `/proc` no object can get a descriptor of its own.
#[test]
fn without_proc_there_is_no_device_and_everybody_says_why() {
    if !available() {
        return;
    }
    let output = WITHOUT_PROC.command(&BUILT.ntux).arg("doctor").output().expect("bubblewrap starts");
    let (text, _) = texts(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("not ntux's own device: reopen:") && text.contains("is /proc mounted?"), "{text}");
    let output = WITHOUT_PROC.served(&BUILT.ntux, &BUILT.processes).output().expect("bubblewrap starts");
    assert_eq!(output.status.code(), Some(125));
    assert!(texts(&output).1.contains("is /proc mounted?"), "{}", texts(&output).1);
    // A program that comes there with the library finds no device, as without the library, and is told.
    let mut command = WITHOUT_PROC.command(&BUILT.processes);
    let output = command.arg("many_devices").env("LD_PRELOAD", &BUILT.library).env("NTUX_DEVICE", "user").output();
    let (_, complaints) = texts(&output.expect("bubblewrap starts"));
    assert!(complaints.contains("gets no /dev/ntsync: /proc/thread-self/fd cannot be opened"), "{complaints}");
    assert!(complaints.contains("failed: device >= 0 (errno 2)"), "{complaints}");
}

/// Under limits that leave no room for a device, every command says so; no process is killed by a signal.
#[test]
fn limits_of_a_service() {
    if !available() {
        return;
    }
    let limits: [(&[_], _); 2] =
        [(&[(libc::RLIMIT_FSIZE, 1 << 20)], "LimitFSIZE="), (&[(libc::RLIMIT_AS, 96 << 20)], "ulimit -v")];
    for (limits, word) in limits {
        let sandbox = Sandbox { limits, ..SERVICE };
        let (report, serves) = doctor(&sandbox);
        assert!(!serves, "{word}: {report:#}");
        assert_eq!(report["calls"]["arena"]["answer"], "fails", "{word}");
        let found = difference(&sandbox, &BUILT.processes, "many_devices").expect("there is no device");
        assert!(found.contains("gets no /dev/ntsync: ") && found.contains(word), "{found}");
        assert!(found.contains("failed: device >= 0"), "{found}");
    }
}

/// What `pressure-vessel` does: of ntux it shows a container the directory of the library that the loader chose, and for what
/// lies below /usr another path.
#[test]
fn the_directory_of_the_library_is_enough() {
    if !available() {
        return;
    }
    for place in [BUILT.directory.as_path(), Path::new("/run/host/usr/lib/ntux/x86_64")] {
        let mut command = Command::new("bwrap");
        command.args(options(OWN_NAMESPACES)).args(["--tmpfs", "/run", "--tmpfs"]).arg(&BUILT.prefix).arg("--ro-bind");
        command.arg(&BUILT.directory).arg(place).arg("--").arg(&BUILT.processes).arg("owner_is_killed");
        command.env("LD_PRELOAD", place.join("libntux_preload.so")).env("NTUX_DEVICE", "user");
        let output = command.output().expect("bubblewrap starts");
        assert!(output.status.success(), "{}: {}", place.display(), texts(&output).1);
    }
}

/// A launcher under `ntux run` that makes the sandbox itself.
#[test]
fn the_launcher_runs_under_ntux_and_the_program_in_its_sandbox() {
    if !available() {
        return;
    }
    let launched = |hidden: &[&str]| {
        let mut command = Command::new(&BUILT.ntux);
        command.args(["run", "--device", "user", "--", "bwrap"]).args(options(OWN_NAMESPACES)).args(hidden);
        let output = command.arg("--").arg(&BUILT.processes).arg("owner_is_killed").output();
        output.expect("the command starts")
    };
    let output = launched(&[]);
    assert!(output.status.success(), "{}", texts(&output).1);
    // Where the sandbox does not show ntux, the loader says so, and the program runs as without.
    let prefix = BUILT.prefix.to_str().expect("a plain path");
    let output = launched(&["--tmpfs", prefix]);
    let (_, complaints) = texts(&output);
    assert!(complaints.contains("libntux_preload.so") && complaints.contains("cannot be preloaded"), "{complaints}");
    assert!(!output.status.success(), "there is a device without the library");
}

/// The tests are able to fail: with filters as no launcher has them, `ntux doctor` names the call, and the programs differ.
#[test]
fn a_planted_fault_is_noticed() {
    if !available() {
        return;
    }
    let faults = [
        (profile::WITHOUT_MEMORY, "memfd_sealed", &BUILT.processes, "numbers_and_flags"),
        (profile::WITHOUT_FUTEX, "futex", &BUILT.signals, "restart_or_not"),
        (profile::WITHOUT_LOCKS, "ofd_locks", &BUILT.processes, "numbers_and_flags"),
    ];
    for (fault, call, program, scenario) in faults {
        let sandbox = container(fault);
        let (report, serves) = doctor(&sandbox);
        assert!(!serves, "{call} is refused, and doctor did not notice");
        assert!(refused(&report).contains(&call), "{call}: {report:#}");
        let found = difference(&sandbox, program, scenario).expect("a scenario that needs the call");
        // The C library itself cannot do without this one.
        assert!(call == "futex" || found.contains("gets no /dev/ntsync: "), "{call}: {found}");
    }
    assert_ne!(differing_cases(&container(profile::WITHOUT_MEMORY)), Vec::<String>::new());
}
