// SPDX-License-Identifier: MIT OR Apache-2.0
//! The first use of the device in this process: handlers are wrapped from then on.

#[cfg(not(target_env = "musl"))]
use super::loading;
use crate::descriptors;
use crate::report::environment::{self, Device};
use crate::thread::{actions, handlers};
use core::ffi::c_int;
use ntux_platform::keeping_errno;

/// Returns whether a descriptor that `open` returned is an instance of this library's. Preserves the error number.
pub(crate) fn is_instance(fd: c_int) -> bool {
    keeping_errno(|| descriptors::identify(fd).is_ok())
}

/// Called before the device was first used. Returns whether this descriptor is ours after all, received or inherited from
/// another process; if so, handlers are wrapped from now on.
#[cold]
pub(crate) fn meet(fd: c_int) -> bool {
    let ours = keeping_errno(|| environment::device() != Device::Kernel && descriptors::identify(fd).is_ok());
    if ours {
        begin_use();
    }
    ours
}

/// This process uses the device from now on.
#[cold]
pub(super) fn begin_use() {
    handlers::activate();
    #[cfg(not(target_env = "musl"))]
    loading::device_is_used();
}

/// Returns whether a descriptor is one of this library's, which is in use from now on if it is.
pub(crate) fn uses(fd: c_int) -> bool {
    if actions::active() { is_instance(fd) } else { meet(fd) }
}
