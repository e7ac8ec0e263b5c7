// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the command says, on standard output and standard error. Nothing here panics if nobody listens any more, as the macros of
//! the standard library do.

use std::fmt::Display;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::process::ExitCode;

use serde::Serialize;

use crate::NTUX_FAILED;
use crate::printable::{Filter, Form, printable_lines};

/// Writes a page to standard output, without what would steer a terminal ([`printable`](crate::printable)).
///
/// Returns `status`, or [`NTUX_FAILED`] if the page could not be written: a disk was full. A reader that closed the pipe early is no
/// failure.
pub fn page(text: &str, status: ExitCode) -> ExitCode {
    pages(|out| out.write_all(text.as_bytes()), status)
}

/// Writes a page that is too long to be had at once; returns what [`page`] does.
pub fn pages(write: impl FnOnce(&mut dyn Write) -> io::Result<()>, status: ExitCode) -> ExitCode {
    written(Form::Text, write, status)
}

/// A document for programs. `docs/reference/schemas` describes each version of each.
#[derive(Serialize)]
struct Document<'a, T: Serialize> {
    /// Another number means that something is gone, or means something else. Keys may be added without.
    version: u32,
    #[serde(flatten)]
    contents: &'a T,
}

/// A document as one line of JSON.
pub fn line_of_json(version: u32, contents: &impl Serialize) -> String {
    serde_json::to_string(&Document { version, contents }).unwrap_or_default()
}

/// Writes a document as JSON to standard output; returns what [`page`] does.
pub fn json(version: u32, contents: &impl Serialize, status: ExitCode) -> ExitCode {
    let write = |out: &mut dyn Write| {
        serde_json::to_writer_pretty(&mut *out, &Document { version, contents })?;
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
        Err(error) if error.kind() != ErrorKind::BrokenPipe => failed(format_args!("cannot write the output: {error}")),
        _ => status,
    }
}

/// Writes a line to standard error, as far as anybody listens there.
pub fn complain(line: impl Display) {
    let _ = io::stderr().write_all(printable_lines(&format!("{line}\n")).as_bytes());
}

/// Says why the command fails. Returns its status.
pub fn failed(why: impl Display) -> ExitCode {
    complain(format_args!("ntux: {why}"));
    ExitCode::from(NTUX_FAILED)
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
