// SPDX-License-Identifier: MIT OR Apache-2.0
//! Standing in front of a program: signals that are meant for it reach it, and ntux ends as it does.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitCode, ExitStatus};

use ntux_platform::command::child::{self, Signals};

use crate::run;

/// Shells add the number of the signal to this.
const ENDED_BY_SIGNAL: u8 = 128;

/// Starts the program, which its user calls `name`. From here on this process keeps signals for it.
///
/// Errors: what to exit with; why was said. `complain` says what is not the program's fault.
pub fn start(
    mut command: Command,
    name: &OsString,
    complain: impl Fn(&str) -> ExitCode,
) -> Result<(Child, Signals), ExitCode> {
    // The program itself begins with the default actions, or ignores what was ignored.
    let signals = Signals::catch().map_err(|error| complain(&format!("cannot pass signals on: {error}")))?;
    let program = command.spawn().map_err(|error| run::cannot_start(name, &error))?;
    Ok((program, signals))
}

/// Ends as the program did: with its exit status, or by the same signal. If the program was well and what was to be written about it
/// was not, with the status of that.
pub fn end_like(status: ExitStatus, written: Result<(), ExitCode>) -> ExitCode {
    if let (true, Err(failed)) = (status.success(), written) {
        return failed;
    }
    match (status.code(), status.signal()) {
        (Some(code), _) => ExitCode::from(code as u8),
        (None, signal) => {
            let signal = signal.unwrap_or(0);
            child::end_by(signal);
            ExitCode::from(ENDED_BY_SIGNAL + signal as u8)
        }
    }
}
