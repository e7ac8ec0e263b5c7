// SPDX-License-Identifier: MIT OR Apache-2.0
//! A wineserver whose Wine starts 32-bit processes gets no device: this library cannot be loaded into them, and Wine
//! cannot continue if a descriptor of the device fails in one of its processes. Without the device, Wine works in all
//! of them.
//!
//! `ntux run` makes the same decision in advance if it recognizes Wine (`crates/cli/src/wine.rs`), and can make all
//! processes 64-bit. This code is for a wineserver that something else started.

use crate::report::log;
use ntux_platform::atomic::Word32;
use ntux_platform::environment;
use ntux_platform::interposition::{proc, wine};
use ntux_platform::path::Path;

/// The longest path that the kernel returns.
const PATH_MAX: usize = 4096;

/// Returns whether this process is such a wineserver. Determined, and reported, once.
#[cold]
pub(crate) fn must_not_serve() -> bool {
    static VERDICT: Word32 = Word32::new(0);
    const NO: u32 = 1;
    const YES: u32 = 2;
    if VERDICT.load() == 0 {
        let narrow = narrow_libraries();
        let verdict = if narrow.is_some() { YES } else { NO };
        if VERDICT.compare_exchange(0, verdict).is_ok()
            && let Some(narrow) = narrow
        {
            log::say(format_args!(
                "ntux: process {}: no /dev/ntsync for this wineserver, which does without: its Wine starts 32-bit processes \
                 ({narrow} beside it), which ntux cannot serve; from Wine 11 on WINEARCH=wow64 makes them 64-bit\n",
                std::process::id(),
            ));
        }
    }
    VERDICT.load() == YES
}

fn narrow_libraries() -> Option<&'static str> {
    let mut path = [0u8; PATH_MAX];
    let mut read = |link: Path| {
        // SAFETY: a string that ends with a zero, and a buffer of the given length.
        let length = unsafe { libc::readlink(link.as_ptr(), path.as_mut_ptr().cast(), PATH_MAX) };
        usize::try_from(length).ok()
    };
    let length = proc::own_paths("exe").find_map(&mut read)?;
    let path = &path[..length];
    let slash = path.iter().rposition(|byte| *byte == b'/')?;
    let is_server = path[slash..].windows(SERVER.len()).any(|part| part == SERVER);
    let only_wide =
        environment::value(wine::VARIABLE).is_some_and(|arch| arch.to_bytes() == wine::ONLY_WIDE.as_bytes());
    if is_server && !only_wide { wine::narrow_libraries(&path[..slash]) } else { None }
}

/// With a suffix for the word size, or within a longer name, where a distribution calls it so.
const SERVER: &[u8] = b"wineserver";
