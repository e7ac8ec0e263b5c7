// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a shared library exports. The tests of the Win32 face include this file, too.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use crate::commands::output;

/// The table of dynamic symbols, as `readelf` prints it.
pub fn dynamic_symbols(library: &Path) -> String {
    output(Command::new("readelf").args(["--dyn-syms", "-W"]).arg(library))
}

/// The functions and variables that a table of dynamic symbols defines, without their versions.
pub fn exported(table: &str) -> BTreeSet<String> {
    table
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .filter(|words| words.len() >= 8 && !["UND", "ABS", "Ndx"].contains(&words[6]))
        .map(|words| words[7].split('@').next().unwrap().to_owned())
        .collect()
}
