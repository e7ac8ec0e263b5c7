// SPDX-License-Identifier: MIT OR Apache-2.0
//! Futexes have no memory nodes.

use crate::clock::Deadline;
use crate::kernel_futex::{Nodes, Scope};

/// Marks a system without [`Nodes`].
pub trait NoNodes {}

impl<S: NoNodes> Nodes for S {
    fn nodes_may_be_tried() -> bool {
        false
    }

    fn wait_at_node(_: *const u32, _: u32, _: u32, _: Scope, _: Deadline) -> Result<(), i32> {
        Err(libc::ENOSYS)
    }

    fn wake_at_node(_: *const u32, _: u32, _: u32, _: Scope) -> Result<u32, i32> {
        Err(libc::ENOSYS)
    }

    fn requeue_at_node(_: *const u32, _: *const u32, _: Scope, _: u32, _: u32, _: u32) -> Result<u32, i32> {
        Err(libc::ENOSYS)
    }
}
