//! The end of a program that ntux stood in front of.

use std::os::unix::process::ExitStatusExt;
use std::process::{ExitCode, ExitStatus};

use ntux_platform::command::child;

/// As shells report a signal.
const ENDED_BY_SIGNAL: u8 = 128;

/// Ends as the program did: with its exit status, or by the same signal.
pub fn as_it_did(status: ExitStatus) -> ExitCode {
    match (status.code(), status.signal()) {
        (Some(code), _) => ExitCode::from(code as u8),
        (None, signal) => {
            let signal = signal.unwrap_or(0);
            child::end_by(signal);
            ExitCode::from(ENDED_BY_SIGNAL + signal as u8)
        }
    }
}
