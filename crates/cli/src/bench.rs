// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ntux bench`: measures ntux beside its rivals, which are in a program of their own. This process replaces itself by
//! that program, `ntux-bench`.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use clap::Args;
use ntux_platform::environment::{BENCH_PRELOAD, text};

use crate::say;

const PROGRAM: &str = "ntux-bench";
/// Where it is, relative to the directory of the `ntux` command: where Cargo builds it, or where it is installed.
const PLACES: [&str; 2] = [".", "../lib/ntux"];

/// Measure ntux beside the other ways to do the same: bench sync; on Linux also bench waiting, bench futex, bench watch.
#[derive(Args)]
#[command(disable_help_flag = true)]
pub struct Arguments {
    /// What to measure, and how; see `ntux bench --help`.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENT")]
    arguments: Vec<OsString>,
}

/// Replaces this process by the benchmark; returns only on failure. `preload` is the `LD_PRELOAD` with which it gets the
/// drop-in device.
pub fn bench(arguments: &Arguments, preload: Option<OsString>) -> ExitCode {
    let Some(program) = find() else {
        return say::failed(format_args!(
            "cannot find {PROGRAM} beside the ntux command or in ../lib/ntux; `make bench` in ntux's source builds it"
        ));
    };
    let error =
        Command::new(&program).args(&arguments.arguments).envs(preload.map(|list| (text(BENCH_PRELOAD), list))).exec();
    say::failed(format_args!("cannot start {}: {error}", program.display()))
}

fn find() -> Option<PathBuf> {
    let command = std::env::current_exe().ok()?;
    let directory = command.parent().unwrap_or(Path::new("/"));
    PLACES.iter().map(|place| directory.join(place).join(PROGRAM)).find(|path| path.is_file())
}
