// SPDX-License-Identifier: MIT OR Apache-2.0
//! Futexes with a memory node (`FUTEX2_NUMA`, Linux 6.16): the 32-bit word after the futex says on which node the
//! kernel keeps the sleepers.
//!
//! Both words together are aligned to 8 bytes. The node is the number of an existing node, or [`ANY_NODE`]: then the
//! kernel uses the node of the calling thread and *writes it there*, so that a waker uses the same one. Only the
//! kernel's newer calls support this, one for each operation; they take absolute times and bitsets.

use super::{Answer, Nodes, Scope};
use crate::Here;
use crate::clock::Deadline;

/// Lets the kernel choose the node, and write its choice.
pub const ANY_NODE: i32 = -1;

/// Does what [`super::wait`] does, for a futex with a node.
///
/// Errors: those of [`super::wait`]; `EINVAL` also for a node that does not exist, `EFAULT` for one that cannot be
/// written.
pub fn wait(address: *const u32, expected: u32, mask: u32, scope: Scope, deadline: Deadline) -> Result<(), i32> {
    Here::wait_at_node(address, expected, mask, scope, deadline)
}

/// Does what [`super::wake`] does, but the memory must be mapped for private futexes, too.
pub fn wake(address: *const u32, count: u32, mask: u32, scope: Scope) -> Result<u32, i32> {
    Here::wake_at_node(address, count, mask, scope)
}

/// Does what [`super::requeue`] does, between two futexes with nodes.
pub fn requeue(
    from: *const u32,
    to: *const u32,
    scope: Scope,
    wake: u32,
    moved: u32,
    expected: u32,
) -> Result<u32, i32> {
    Here::requeue_at_node(from, to, scope, wake, moved, expected)
}

/// Returns whether such futexes exist. Tries all calls, once.
pub fn is_known() -> bool {
    static ANSWER: Answer = Answer::new();
    ANSWER.get_or_ask(|| !crate::without::Feature::FutexNuma.is_left_out() && calls_are_made())
}

/// Returns whether calls without effect succeed.
fn calls_are_made() -> bool {
    #[repr(align(8))]
    struct Pair([u32; 2]);
    let pair = Pair([0, ANY_NODE as u32]);
    let word = pair.0.as_ptr();
    super::has_wait_any()
        && Here::nodes_may_be_tried()
        && wake(word, 0, super::MATCH_ANY, Scope::Private) == Ok(0)
        && wait(word, 1, super::MATCH_ANY, Scope::Private, Deadline::NOW) == Err(libc::EAGAIN)
        && requeue(word, word, Scope::Private, 0, 0, 1) == Err(libc::EAGAIN)
}
