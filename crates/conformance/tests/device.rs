//! The list on the drop-in device: the program that would judge the real driver, with the library preloaded.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Knows nothing of ntux: it opens `/dev/ntsync` and issues ioctls.
const PROGRAM: &str = env!("CARGO_BIN_EXE_ntsync-conformance");

/// Where the drop-in differs from the driver, and why. Each of these cases must fail, else it is to be struck out.
const KNOWN_DIFFERENCES: &[(&str, &str)] = &[
    ("the_device_opened_as_a_path_serves_nothing", "there is no such path, and nothing to do with a descriptor of it"),
    ("a_descriptor_says_read_write_and_close_on_exec", AN_OPEN_FILE),
    ("a_descriptor_calls_itself_ntsync", AN_OPEN_FILE),
    ("an_object_cannot_be_opened_again_by_its_name", AN_OPEN_FILE),
    ("fstat_of_an_object_shows_no_file", AN_OPEN_FILE),
    ("fstat_of_the_device_shows_a_character_device", AN_OPEN_FILE),
    ("reading_and_writing_an_object_is_refused", AN_OPEN_FILE),
    ("reading_and_writing_the_device_is_refused", AN_OPEN_FILE),
    ("seeking_is_refused", AN_OPEN_FILE),
    ("mapping_truncating_and_syncing_are_refused", AN_OPEN_FILE),
    ("other_ioctls_are_served_by_the_system", AN_OPEN_FILE),
    ("a_stopped_process_is_in_no_queue", "nothing runs in a stopped thread that could take it out of its queues"),
];

const AN_OPEN_FILE: &str = "the descriptor is an open file of shared memory, and only ioctls are intercepted";

fn main() -> ExitCode {
    let library = build_library();
    let mut program = Command::new(PROGRAM);
    program.args(env::args_os().skip(1)).env("LD_PRELOAD", &library);
    for (case, reason) in KNOWN_DIFFERENCES {
        println!("known difference: {case}: {reason}");
        program.args(["--skip", case]);
    }
    let passed = program.status().expect("the program starts").success();
    let stale = KNOWN_DIFFERENCES.iter().filter(|(case, _)| passes(&library, case)).count();
    if passed && stale == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn passes(library: &Path, case: &str) -> bool {
    let output = Command::new(PROGRAM).args(["--exact", case]).env("LD_PRELOAD", library).output().expect("it starts");
    if output.status.success() {
        println!("{case} passes now: strike it out of KNOWN_DIFFERENCES");
    }
    output.status.success()
}

/// Builds the preloaded library in the profile that the program was built in.
fn build_library() -> PathBuf {
    let profile = Path::new(PROGRAM).parent().expect("target/PROFILE/PROGRAM");
    let mut cargo = Command::new(env::var_os("CARGO").expect("Cargo runs the tests"));
    cargo.args(["build", "--quiet", "--package", "ntux-preload", "--target-dir"]).arg(profile.join(".."));
    if profile.ends_with("release") {
        cargo.arg("--release");
    }
    assert!(cargo.status().expect("cargo runs").success(), "the preloaded library does not build");
    profile.join("libntux_preload.so")
}
