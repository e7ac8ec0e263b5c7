//! What the command says, on standard output and standard error. Nothing here panics if nobody listens any more, as the macros of
//! the standard library do.

use std::fmt::Display;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::process::ExitCode;

use serde::Serialize;

use crate::NTUX_FAILED;
use crate::printable::{Filter, Form, printable_lines};

/// Writes a page to standard output, as all here without what would steer a terminal ([`printable`](crate::printable)). Returns `status`, or that of a failed command if the page could not be written: a disk was
/// full. A reader that closed the pipe early is no failure.
pub fn page(text: &str, status: ExitCode) -> ExitCode {
    pages(|out| out.write_all(text.as_bytes()), status)
}

/// As [`page`], of what is too long to be had at once.
pub fn pages(write: impl FnOnce(&mut dyn Write) -> io::Result<()>, status: ExitCode) -> ExitCode {
    written(Form::Text, write, status)
}

/// As [`page`], of a value as JSON.
pub fn json(value: &impl Serialize, status: ExitCode) -> ExitCode {
    let write = |out: &mut dyn Write| {
        serde_json::to_writer_pretty(&mut *out, value)?;
        writeln!(out)
    };
    written(Form::Json, write, status)
}

fn written(form: Form, write: impl FnOnce(&mut dyn Write) -> io::Result<()>, status: ExitCode) -> ExitCode {
    let mut out = Filter::new(BufWriter::new(io::stdout().lock()), form);
    ended(write(&mut out).and_then(|()| out.flush()), status)
}

/// What becomes of the status when everything was printed.
fn ended(printed: io::Result<()>, status: ExitCode) -> ExitCode {
    match printed {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            complain(format_args!("ntux: cannot write the output: {error}"));
            ExitCode::from(NTUX_FAILED)
        }
        _ => status,
    }
}

/// Writes a line to standard error, as far as anybody listens there.
pub fn complain(line: impl Display) {
    let _ = io::stderr().write_all(printable_lines(&format!("{line}\n")).as_bytes());
}

/// Says what is wrong with a command line, or the help or the version that it asks for. Returns the command's status.
pub fn usage(answer: &clap::Error) -> ExitCode {
    // It names what stood on the command line.
    let text = answer.render().to_string();
    let harmless = printable_lines(&text);
    let printed = match (harmless == text, answer.use_stderr()) {
        (true, _) => answer.print(),
        (false, true) => io::stderr().write_all(harmless.as_bytes()),
        (false, false) => io::stdout().write_all(harmless.as_bytes()),
    };
    if answer.use_stderr() { ExitCode::from(NTUX_FAILED) } else { ended(printed, ExitCode::SUCCESS) }
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
