// SPDX-License-Identifier: MIT OR Apache-2.0
//! A page of shared memory at a second address, with a private one behind it.

use std::ptr::NonNull;

use super::Linux;
use crate::life::{MarksAtDeath, PAGE};

impl MarksAtDeath for Linux {
    fn map_again(page: *const u8) -> Option<NonNull<u8>> {
        let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: new memory at an address of the system's choice.
        let room = unsafe { libc::mmap(core::ptr::null_mut(), 2 * PAGE, access, flags, -1, 0) };
        if room == libc::MAP_FAILED {
            return None;
        }
        let pages = NonNull::new(room.cast::<u8>())?;
        // SAFETY: an old length of 0 leaves the old mapping as it is; the new one replaces a page that was mapped just now, and of which
        // nobody knows. The advice concerns these two pages.
        let is_mapped = unsafe {
            let how = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
            libc::mremap(page.cast_mut().cast(), 0, PAGE, how, room) == room
                && libc::madvise(room, 2 * PAGE, libc::MADV_DONTFORK) == 0
        };
        if !is_mapped {
            // SAFETY: nobody knows of them.
            unsafe { Self::unmap_again(pages) };
            return None;
        }
        Some(pages)
    }

    unsafe fn unmap_again(pages: NonNull<u8>) {
        // SAFETY: the caller's promise.
        unsafe { libc::munmap(pages.as_ptr().cast(), 2 * PAGE) };
    }
}

#[cfg(test)]
mod tests;
