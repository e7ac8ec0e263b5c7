// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which paths mean the device.
//!
//! A path means the device if it ends with the name and leads there: directly, relative to `/dev`, through `..`, or
//! through symbolic links to `/dev` or to the device. A link to the device under another name is left to the kernel,
//! which finds nothing behind it: following it would cost a system call for every failing `open`.

use crate::c_library::next;
use core::ffi::{CStr, c_char, c_int};

const DIRECTORY: &CStr = c"/dev";

const NAME: &[u8] = b"ntsync";

/// True if a path can mean the device at all. Quickly false for almost every path.
#[inline(always)]
pub(crate) fn is_name(path: &[u8]) -> bool {
    path.ends_with(NAME)
}

/// Returns whether a path that ends with the name means the device, however it is written. `follow` says whether the path may
/// be a symbolic link to the device.
pub(crate) fn means_device(directory: c_int, path: &[u8], follow: bool) -> bool {
    let mut components = path.split(|byte| *byte == b'/').filter(|part| !part.is_empty() && *part != b".");
    let [first, second, third] = core::array::from_fn(|_| components.next());
    let written_out = path.starts_with(b"/") && (first, second, third) == (Some(b"dev"), Some(NAME), None);
    written_out || leads_to_device(directory, path, follow)
}

/// Returns whether a path that is not plain leads to the device: the kernel resolves its directory, and symbolic links at its
/// end are followed one by one.
#[cold]
#[inline(never)]
fn leads_to_device(directory: c_int, path: &[u8], follow: bool) -> bool {
    const LINKS_MAX: usize = 40;
    let mut room = [[0u8; libc::PATH_MAX as usize]; 2];
    let [place, link] = &mut room;
    let mut length = path.len();
    if length >= place.len() {
        return false;
    }
    place[..length].copy_from_slice(path);
    for _ in 0..=LINKS_MAX {
        let parent = place[..length].iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
        if place[parent..length] == *NAME && is_dev(directory, &mut place[..=parent]) {
            return true;
        }
        place[length] = 0;
        let target = if follow { read_link(directory, &place[..=length], link) } else { None };
        let Some(target) = target else { return false };
        let keep = if target.starts_with(b"/") { 0 } else { parent };
        if keep + target.len() >= place.len() {
            return false;
        }
        length = keep + target.len();
        place[keep..length].copy_from_slice(target);
    }
    false
}

/// Returns whether a directory is `/dev`. Its path is all but the last byte, and empty for the directory of the descriptor
/// itself. The last byte is restored afterwards.
fn is_dev(directory: c_int, parent: &mut [u8]) -> bool {
    let Some((last, path)) = parent.split_last_mut() else { return false };
    let (after, is_empty) = (core::mem::replace(last, 0), path.is_empty());
    let there = status(directory, if is_empty { c".".as_ptr() } else { parent.as_ptr().cast() });
    if let Some(last) = parent.last_mut() {
        *last = after;
    }
    let file = |status: libc::stat| (status.st_dev, status.st_ino);
    there.is_some() && there.map(file) == status(libc::AT_FDCWD, DIRECTORY.as_ptr()).map(file)
}

/// The kernel's `stat` of a path, which ends with a zero.
pub(crate) fn status(directory: c_int, path: *const c_char) -> Option<libc::stat> {
    let mut status = core::mem::MaybeUninit::<libc::stat>::uninit();
    let [path, room] = [path as usize, status.as_mut_ptr() as usize];
    // SAFETY: a string that ends with a zero, and a place for the answer, which is whole when the call returns 0.
    unsafe {
        let result = next::syscall(libc::SYS_newfstatat, directory as usize, path, room, 0, 0, 0);
        (result == 0).then(|| status.assume_init())
    }
}

/// Where a symbolic link leads, whose path ends with a zero.
fn read_link<'a>(directory: c_int, path: &[u8], room: &'a mut [u8]) -> Option<&'a [u8]> {
    // SAFETY: a string that ends with a zero, and room of the given length.
    let length = unsafe { libc::readlinkat(directory, path.as_ptr().cast(), room.as_mut_ptr().cast(), room.len()) };
    usize::try_from(length).ok().map(|length| &room[..length])
}

#[cfg(test)]
#[path = "../../tests/unit/device/path.rs"]
mod tests;
