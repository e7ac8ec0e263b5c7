// SPDX-License-Identifier: MIT OR Apache-2.0
//! The choice of who serves a path: this library, or the kernel.

use super::ioctl::requests::CREATE_EVENT;
use super::path::means_device;
use super::{summary, wine};
use crate::c_library::next;
use crate::report::environment::{self, Device};
use core::ffi::c_int;
use ntux_platform::atomic::Word32;
use ntux_platform::interposition::own_stack::on_own_stack;
use ntux_platform::keeping_errno;

/// Returns whether this library would serve an open of this path if there is no node. Preserves the error number.
#[cold]
pub(crate) fn would_serve(directory: c_int, path: &[u8]) -> bool {
    let serves =
        || environment::device() != Device::Kernel && means_device(directory, path, true) && !wine::must_not_serve();
    on_own_stack(|| keeping_errno(serves)).unwrap_or(false)
}

/// Returns whether this library serves the file that was opened, or could not be opened. Preserves the error number.
#[cold]
pub(super) fn is_ours(result: c_int, directory: c_int, path: &[u8], follow: bool) -> bool {
    let is_ours = || {
        let choice = environment::device();
        let ours = choice != Device::Kernel && means_device(directory, path, follow);
        let usable = ours && choice == Device::Auto && result >= 0 && kernel_serves(result);
        if usable {
            summary::opened(true);
        }
        ours && !usable && !wine::must_not_serve()
    };
    on_own_stack(|| keeping_errno(is_ours)).unwrap_or(false)
}

/// Returns whether the kernel's driver works. The first call creates an event, because a node may open and still be unusable.
fn kernel_serves(device: c_int) -> bool {
    static SERVES: Word32 = Word32::new(0);
    const NO: u32 = 1;
    const YES: u32 = 2;
    if SERVES.load() == 0 {
        let mut arguments = [0u32; 2];
        let request = CREATE_EVENT.into();
        // SAFETY: the request reads two words.
        let event = unsafe { next::ioctl(device, request, arguments.as_mut_ptr().cast()) };
        if event >= 0 {
            // SAFETY: made just now.
            unsafe { next::close(event) };
        }
        SERVES.store(if event >= 0 { YES } else { NO });
    }
    SERVES.load() == YES
}
