//! Where the libraries are that ntux loads into programs.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A library that can be loaded into a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Library {
    /// Serves /dev/ntsync.
    Device,
    /// Serves soft-dirty bits, and shows `ntux watch` what is written.
    Watch,
}

impl Library {
    fn file_name(self) -> &'static str {
        match self {
            Library::Device => "libntux_preload.so",
            Library::Watch => "libntux_preload_watch.so",
        }
    }

    /// The variable that names another file than the one found beside the command.
    fn variable(self) -> &'static str {
        match self {
            Library::Device => "NTUX_PRELOAD",
            Library::Watch => "NTUX_PRELOAD_WATCH",
        }
    }
}

/// Where they lie seen from the directory of the `ntux` command: a build tree, an installed tree, a distribution.
const PLACES: [&str; 3] = [".", "../lib", "../lib/ntux"];

/// Why there is no library to load.
#[derive(Debug, PartialEq, Eq)]
pub enum NoLibrary {
    /// None of these files exists.
    NotFound(Vec<PathBuf>),
    /// The loader takes a space or a colon in this path for the end of it.
    Unspeakable(PathBuf),
    /// The system does not say where the `ntux` command lies.
    CommandUnknown,
}

impl std::fmt::Display for NoLibrary {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            NoLibrary::NotFound(places) => {
                write!(out, "cannot find the library to load into the program; looked for")?;
                places.iter().try_for_each(|place| write!(out, "\n  {}", place.display()))
            }
            NoLibrary::Unspeakable(path) => {
                write!(out, "the path '{}' has a space or a colon, which LD_PRELOAD cannot express", path.display())
            }
            NoLibrary::CommandUnknown => write!(out, "cannot find out where the ntux command lies (is /proc mounted?)"),
        }
    }
}

/// The library, by its absolute path.
pub fn find(library: Library) -> Result<PathBuf, NoLibrary> {
    let candidates = match std::env::var_os(library.variable()) {
        Some(path) => vec![PathBuf::from(path)],
        None => beside(&std::env::current_exe().map_err(|_| NoLibrary::CommandUnknown)?, library),
    };
    let Some(found) = candidates.iter().find_map(|place| place.canonicalize().ok().filter(|path| path.is_file()))
    else {
        return Err(NoLibrary::NotFound(candidates));
    };
    if found.as_os_str().as_bytes().iter().any(|byte| matches!(byte, b' ' | b':')) {
        return Err(NoLibrary::Unspeakable(found));
    }
    Ok(found)
}

fn beside(command: &Path, library: Library) -> Vec<PathBuf> {
    let directory = command.parent().unwrap_or(Path::new("/"));
    PLACES.iter().map(|place| directory.join(place).join(library.file_name())).collect()
}

/// The value of `LD_PRELOAD` with `library` in front of what was there.
pub fn preload_list(library: &Path, already_there: Option<&OsStr>) -> OsString {
    let mut list = library.as_os_str().to_owned();
    if let Some(rest) = already_there.filter(|rest| !rest.is_empty()) {
        list.push(":");
        list.push(rest);
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_comes_first_and_the_rest_stays() {
        let library = Path::new("/lib/a.so");
        assert_eq!(preload_list(library, None), "/lib/a.so");
        assert_eq!(preload_list(library, Some(OsStr::new(""))), "/lib/a.so");
        assert_eq!(preload_list(library, Some(OsStr::new("b.so c.so"))), "/lib/a.so:b.so c.so");
    }

    #[test]
    fn it_is_looked_for_beside_the_command_and_in_the_library_directories() {
        let places = beside(Path::new("/opt/bin/ntux"), Library::Device);
        assert_eq!(places[0], Path::new("/opt/bin/./libntux_preload.so"));
        assert_eq!(places[1], Path::new("/opt/bin/../lib/libntux_preload.so"));
        assert_eq!(places[2], Path::new("/opt/bin/../lib/ntux/libntux_preload.so"));
        let places = beside(Path::new("/opt/bin/ntux"), Library::Watch);
        assert_eq!(places[1], Path::new("/opt/bin/../lib/libntux_preload_watch.so"));
    }
}
