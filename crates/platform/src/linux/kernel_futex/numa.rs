// SPDX-License-Identifier: MIT OR Apache-2.0
//! Futexes with a memory node: the newer calls, one for each operation.

use super::answer;
use super::interface::{self, SYS_FUTEX_REQUEUE, SYS_FUTEX_WAIT, SYS_FUTEX_WAKE, Until, Waitv};
use crate::clock::Deadline;
use crate::kernel_futex::{Nodes, Scope};
use crate::linux::Linux;
use crate::linux::deadly::Call;

fn flags(scope: Scope) -> u32 {
    interface::flags(scope, true)
}

impl Nodes for Linux {
    fn nodes_may_be_tried() -> bool {
        static CALLS: [Call; 3] = [
            Call::new(SYS_FUTEX_WAKE, [0, 0]),
            Call::new(SYS_FUTEX_WAIT, [0, 0]),
            Call::new(SYS_FUTEX_REQUEUE, [0, 0]),
        ];
        !Call::any_is_deadly(&CALLS)
    }

    fn wait_at_node(
        address: *const u32,
        expected: u32,
        mask: u32,
        scope: Scope,
        deadline: Deadline,
    ) -> Result<(), i32> {
        let until = Until::new(deadline);
        let (time, clock) = (until.time(), until.clock);
        let (expected, mask) = (u64::from(expected), u64::from(mask));
        // SAFETY: the kernel checks the address itself, reads the word and the time, which outlives the call, and writes
        // the node, which the word's owner has put there for it.
        answer(unsafe { libc::syscall(SYS_FUTEX_WAIT, address, expected, mask, flags(scope), time, clock) }).map(drop)
    }

    fn wake_at_node(address: *const u32, count: u32, mask: u32, scope: Scope) -> Result<u32, i32> {
        let (count, mask) = (count.min(i32::MAX as u32), u64::from(mask));
        // SAFETY: the kernel checks the address itself and writes nothing but the node.
        answer(unsafe { libc::syscall(SYS_FUTEX_WAKE, address, mask, count, flags(scope)) })
    }

    fn requeue_at_node(
        from: *const u32,
        to: *const u32,
        scope: Scope,
        wake: u32,
        moved: u32,
        expected: u32,
    ) -> Result<u32, i32> {
        let both = [Waitv::new(from, expected, flags(scope)), Waitv::new(to, 0, flags(scope))];
        let (wake, moved) = (wake.min(i32::MAX as u32), moved.min(i32::MAX as u32));
        // SAFETY: two entries that outlive the call; the kernel checks the addresses, reads the first word and writes
        // nothing but nodes.
        answer(unsafe { libc::syscall(SYS_FUTEX_REQUEUE, both.as_ptr(), 0, wake, moved) })
    }
}
