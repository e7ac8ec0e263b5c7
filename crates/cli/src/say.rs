//! What the command says, on standard output and standard error. Nothing here panics if nobody listens any more, as the macros of
//! the standard library do.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

use crate::NTUX_FAILED;

/// Writes a page to standard output. Returns `status`, or that of a failed command if the page could not be written: a disk was
/// full. A reader that closed the pipe early is no failure.
pub fn page(text: &str, status: ExitCode) -> ExitCode {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            complain(format_args!("ntux: cannot write the output: {error}"));
            ExitCode::from(NTUX_FAILED)
        }
        _ => status,
    }
}

/// Writes a line to standard error, as far as anybody listens there.
pub fn complain(line: impl Display) {
    let _ = io::stderr().write_all(format!("{line}\n").as_bytes());
}

/// Says what is wrong with a command line, or the help or the version that it asks for. Returns the command's status.
pub fn usage(answer: &clap::Error) -> ExitCode {
    // A reader that closed the pipe early is no reason to complain.
    let _ = answer.print();
    if answer.use_stderr() { ExitCode::from(NTUX_FAILED) } else { ExitCode::SUCCESS }
}

/// Says why something failed, if it did. Returns the command's status.
pub fn succeeded(result: io::Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(format_args!("ntux: {error}"));
            ExitCode::FAILURE
        }
    }
}
