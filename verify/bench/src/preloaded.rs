// SPDX-License-Identifier: MIT OR Apache-2.0
//! The part of a run that happens in a child with the preloaded library.
//!
//! The child is this program again, with the same arguments and one more ([`ARGUMENT`]). It measures the device with
//! raw ioctls and writes its records to standard output, which is a pipe.

use std::env;
use std::ffi::OsStr;
use std::io;
use std::process::{Command, Stdio};

use ntux_platform::environment::{DEVICE, text};

use crate::record::Record;

/// The hidden argument that makes a run the child's part.
pub(crate) const ARGUMENT: &str = "--inside-device";
/// The records of a child with this `LD_PRELOAD`.
pub(crate) fn records(preload: &OsStr) -> io::Result<Vec<Record>> {
    let output = Command::new(env::current_exe()?)
        .args(env::args_os().skip(1))
        .arg(ARGUMENT)
        .env("LD_PRELOAD", preload)
        .env(text(DEVICE), "user")
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()?;
    if !output.status.success() {
        return Err(io::Error::other(format!("the child under {} ended with {}", preload.display(), output.status)));
    }
    serde_json::from_slice(&output.stdout).map_err(io::Error::other)
}
