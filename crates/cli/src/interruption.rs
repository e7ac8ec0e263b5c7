// SPDX-License-Identifier: MIT OR Apache-2.0
//! Notices that somebody wants the command to end, so that it ends in good order.

use std::io;
use std::sync::Arc;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// Catches Ctrl-C, a request to end, and the end of the terminal; the result says whether one of them came.
#[expect(clippy::disallowed_types, reason = "the interface of the library that catches signals")]
pub fn catch() -> io::Result<impl Fn() -> bool> {
    let flag = Arc::new(std::sync::atomic::AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&flag))?;
    }
    Ok(move || flag.load(std::sync::atomic::Ordering::Relaxed))
}
