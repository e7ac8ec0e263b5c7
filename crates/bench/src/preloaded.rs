//! The part of a run that happens in a child with the preloaded library.
//!
//! The child is this program again, with the same arguments and one more ([`ARGUMENT`]). It measures the device with
//! raw ioctls and writes its records to standard output, which is a pipe.

use std::env;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::record::Record;

/// The hidden argument that makes a run the child's part.
pub(crate) const ARGUMENT: &str = "--inside-device";
const LIBRARY: &str = "libntux_preload.so";
/// Names another library, as for `ntux run`.
const OVERRIDE: &str = "NTUX_PRELOAD";
/// Where `ntux run` looks, seen from the program's own directory: built together, or installed together.
const PLACES: [&str; 3] = [".", "../lib", "../lib/ntux"];

/// The records of a child under the library, or why there is none.
pub(crate) fn records() -> io::Result<Vec<Record>> {
    let output = Command::new(env::current_exe()?)
        .args(env::args_os().skip(1))
        .arg(ARGUMENT)
        .env("LD_PRELOAD", preload_list(library()?))
        .env("NTUX_DEVICE", "user")
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()?;
    if !output.status.success() {
        return Err(io::Error::other(format!("the child under {LIBRARY} ended with {}", output.status)));
    }
    serde_json::from_slice(&output.stdout).map_err(io::Error::other)
}

fn library() -> io::Result<PathBuf> {
    if let Some(path) = env::var_os(OVERRIDE) {
        return Ok(path.into());
    }
    let program = env::current_exe()?;
    let beside = program.parent().unwrap_or(&program);
    let places = PLACES.map(|place| beside.join(place).join(LIBRARY));
    places.into_iter().find(|path| path.exists()).ok_or_else(|| {
        let reason = format!("{LIBRARY} is not beside {}", program.display());
        io::Error::new(io::ErrorKind::NotFound, reason)
    })
}

/// Ours first, then what was there already.
fn preload_list(library: PathBuf) -> OsString {
    let mut list = library.into_os_string();
    if let Some(others) = env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
        list.push(":");
        list.push(others);
    }
    list
}
