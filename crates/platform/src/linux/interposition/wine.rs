// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which processes a Wine starts, and which process serves a prefix. 32-bit Windows programs run in 32-bit processes if
//! Wine has Unix libraries for them (*old-style WoW64*), and in 64-bit ones otherwise.

use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The variable that, set to [`ONLY_WIDE`], makes Wine 11 and later start 64-bit processes only.
pub const VARIABLE: &core::ffi::CStr = c"WINEARCH";
/// See [`VARIABLE`].
pub const ONLY_WIDE: &str = "wow64";

/// Files of a Wine that starts 32-bit processes, relative to the directory of `wine` and `wineserver`: as Wine installs
/// itself, as distributions split it, and in a build directory.
const NARROW: [&str; 8] = [
    "../lib/wine/i386-unix/ntdll.so",
    "../lib32/wine/i386-unix/ntdll.so",
    "../lib64/wine/i386-unix/ntdll.so",
    "../lib/i386-linux-gnu/wine/i386-unix/ntdll.so",
    "i386-unix/ntdll.so",
    "../i386-linux-gnu/wine/i386-unix/ntdll.so",
    "../loader-wow64",
    "../../loader-wow64",
];

/// The longest path that the kernel takes, with its zero byte.
const PATH_MAX: usize = 4096;

/// The libraries for 32-bit processes of the Wine whose `wine` or `wineserver` is in `directory`, relative to that;
/// none if it starts no such processes. Touches only the stack. Preserves the error number.
pub fn narrow_libraries(directory: &[u8]) -> Option<&'static str> {
    crate::keeping_errno(|| NARROW.into_iter().find(|place| is_there(directory, place)))
}

fn is_there(directory: &[u8], place: &str) -> bool {
    let mut path = [0u8; PATH_MAX];
    let length = directory.len() + 1 + place.len();
    if length >= PATH_MAX {
        return false;
    }
    path[..directory.len()].copy_from_slice(directory);
    path[directory.len()] = b'/';
    path[directory.len() + 1..length].copy_from_slice(place.as_bytes());
    // SAFETY: a string that ends with a zero.
    unsafe { libc::access(path.as_ptr().cast(), libc::F_OK) == 0 }
}

/// Returns the process that serves the prefix in this directory, or `None` if no server runs. A wineserver holds a
/// lock in a directory named after the prefix's device and inode numbers.
pub fn server(prefix: &Path) -> Option<i32> {
    let status = std::fs::metadata(prefix).ok()?;
    // SAFETY: no arguments, cannot fail.
    let user = unsafe { libc::getuid() };
    let lock = format!("/tmp/.wine-{user}/server-{:x}-{:x}/lock", status.dev(), status.ino());
    let file = std::fs::File::open(lock).ok()?;
    // SAFETY: all bytes zero is a value.
    let mut found: libc::flock = unsafe { core::mem::zeroed() };
    (found.l_type, found.l_whence, found.l_len) = (libc::F_WRLCK as libc::c_short, libc::SEEK_SET as libc::c_short, 1);
    // SAFETY: an open descriptor, and a place for the question and the answer.
    let result = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETLK, &mut found) };
    (result == 0 && found.l_type == libc::F_WRLCK as libc::c_short && found.l_pid > 0).then_some(found.l_pid)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn narrow_libraries_are_found_from_where_wine_lies() {
        let root = std::env::temp_dir().join(format!("ntux-wine-{}", std::process::id()));
        let bin = root.join("bin");
        std::fs::create_dir_all(&bin).unwrap();
        assert_eq!(narrow_libraries(bin.as_os_str().as_bytes()), None);
        std::fs::create_dir_all(root.join("lib/wine/i386-unix")).unwrap();
        std::fs::write(root.join("lib/wine/i386-unix/ntdll.so"), "").unwrap();
        assert_eq!(narrow_libraries(bin.as_os_str().as_bytes()), Some("../lib/wine/i386-unix/ntdll.so"));
        assert_eq!(narrow_libraries(&[b'/'; PATH_MAX]), None);
        std::fs::remove_dir_all(&root).unwrap();
    }
}
