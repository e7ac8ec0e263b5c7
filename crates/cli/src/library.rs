// SPDX-License-Identifier: MIT OR Apache-2.0
//! Finds the libraries that ntux loads into programs.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use ntux_platform::command::probe;
use ntux_platform::environment::{PRELOAD, PRELOAD_WATCH, text};

/// A library that can be loaded into a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Library {
    /// Serves /dev/ntsync.
    Device,
    /// Serves soft-dirty bits, and shows `ntux watch` the written pages.
    Watch,
}

impl Library {
    fn file_name(self) -> &'static str {
        match self {
            Library::Device => "libntux_preload.so",
            Library::Watch => "libntux_preload_watch.so",
        }
    }

    /// The variable that names a file to use instead of the one beside the command.
    fn variable(self) -> &'static str {
        match self {
            Library::Device => text(PRELOAD),
            Library::Watch => text(PRELOAD_WATCH),
        }
    }
}

/// The name in `LD_PRELOAD` of the directory for each word size. Each program's loader replaces it with its own
/// platform, so a 32-bit program finds the library made for it.
const LOADERS_CHOICE: &str = "$PLATFORM";

/// The values that glibc's loaders of this word size have for `$PLATFORM`, the usual one first. (Until 2.36 they name
/// some processors.)
const PLATFORMS: &[&str] =
    if cfg!(target_arch = "x86_64") { &["x86_64", "haswell", "xeon_phi"] } else { &[std::env::consts::ARCH] };

/// The value of a 32-bit loader on x86-64.
const NARROW_PLATFORM: &str = "i686";

/// The parent of the directories for each word size, relative to the directory of the `ntux` command.
const TREE: &str = "../lib/ntux";

/// The words in a path that the loader replaces, with and without braces.
const REPLACED: [&str; 6] = ["$ORIGIN", "$LIB", "$PLATFORM", "${ORIGIN}", "${LIB}", "${PLATFORM}"];

/// A library that was found.
#[derive(Debug, PartialEq, Eq)]
pub struct Found {
    /// The file for programs of the command's own word size.
    pub file: PathBuf,
    /// What `LD_PRELOAD` calls it.
    pub entry: OsString,
    /// Musl's loader finds a library of its own under this name; or the user chose the file.
    pub serves_musl: bool,
    /// A 32-bit program finds a companion that says why it is not served.
    pub explains_itself: bool,
}

impl Found {
    /// Each program's loader finds the library made for it.
    pub fn is_for_loaders_to_choose(&self) -> bool {
        self.entry.as_bytes().windows(LOADERS_CHOICE.len()).any(|part| part == LOADERS_CHOICE.as_bytes())
    }
}

/// Why no library can be loaded.
#[derive(Debug, PartialEq, Eq)]
pub enum NoLibrary {
    /// None of these files exists.
    NotFound(Vec<PathBuf>),
    /// `LD_PRELOAD` cannot express this path: a space or a colon ends an entry, and the loader replaces some words
    /// after a dollar sign.
    Unspeakable(PathBuf),
    /// The system does not say where the `ntux` command is.
    CommandUnknown,
}

impl std::fmt::Display for NoLibrary {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            NoLibrary::NotFound(places) => {
                write!(out, "cannot find the library to load into the program; looked for")?;
                places.iter().try_for_each(|place| write!(out, "\n  {}", place.display()))
            }
            NoLibrary::Unspeakable(path) => write!(
                out,
                "the path '{}' has a space, a colon, $ORIGIN, $LIB or $PLATFORM, which LD_PRELOAD cannot express; \
                 install ntux elsewhere",
                path.display()
            ),
            NoLibrary::CommandUnknown => write!(out, "cannot find out where the ntux command is (is /proc mounted?)"),
        }
    }
}

/// The library.
pub fn find(library: Library) -> Result<Found, NoLibrary> {
    match std::env::var_os(library.variable()) {
        Some(path) => {
            let path = PathBuf::from(path);
            let found = alone(&path)?.ok_or(NoLibrary::NotFound(vec![path]))?;
            Ok(Found { serves_musl: true, ..found })
        }
        None => beside(&std::env::current_exe().map_err(|_| NoLibrary::CommandUnknown)?, library),
    }
}

/// Searches beside the command, where Cargo builds the library, then in the tree for all word sizes.
fn beside(command: &Path, library: Library) -> Result<Found, NoLibrary> {
    let directory = command.parent().unwrap_or(Path::new("/"));
    let neighbour = directory.join(library.file_name());
    if let Some(found) = alone(&neighbour)? {
        return Ok(found);
    }
    let tree = directory.join(TREE);
    let file = |platform: &str| tree.join(platform).join(library.file_name());
    let own = file(PLATFORMS[0]);
    match own.canonicalize() {
        Ok(_) if probe::names_platform() && PLATFORMS.iter().all(|platform| file(platform).is_file()) => {
            let tree = tree.canonicalize().map_err(|_| NoLibrary::NotFound(vec![tree.clone()]))?;
            let entry = speakable(&tree)?.join(LOADERS_CHOICE).join(library.file_name());
            // musl's loader replaces nothing: it uses the name as it is.
            let serves_musl = entry.is_file();
            let file = |platform| tree.join(platform).join(library.file_name());
            let explains_itself = file(NARROW_PLATFORM).is_file();
            Ok(Found { file: file(PLATFORMS[0]), entry: entry.into_os_string(), serves_musl, explains_itself })
        }
        _ => alone(&own)?.ok_or(NoLibrary::NotFound(vec![neighbour, own])),
    }
}

/// A file for programs of one word size, if it is there.
fn alone(path: &Path) -> Result<Option<Found>, NoLibrary> {
    let Some(file) = path.canonicalize().ok().filter(|path| path.is_file()) else { return Ok(None) };
    let entry = speakable(&file)?.as_os_str().to_owned();
    Ok(Some(Found { file, entry, serves_musl: false, explains_itself: false }))
}

fn speakable(path: &Path) -> Result<&Path, NoLibrary> {
    let text = path.as_os_str().as_bytes();
    let replaced = |word: &&str| text.windows(word.len()).any(|part| part == word.as_bytes());
    if text.iter().any(|byte| matches!(byte, b' ' | b':')) || REPLACED.iter().any(replaced) {
        return Err(NoLibrary::Unspeakable(path.to_owned()));
    }
    Ok(path)
}

/// The value of `LD_PRELOAD` with `library` in front of what was there.
pub fn preload_list(library: &Found, already_there: Option<&OsStr>) -> OsString {
    let mut list = library.entry.clone();
    if let Some(rest) = already_there.filter(|rest| !rest.is_empty()) {
        list.push(":");
        list.push(rest);
    }
    list
}

#[cfg(test)]
#[path = "../tests/unit/library.rs"]
mod tests;
