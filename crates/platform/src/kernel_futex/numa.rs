//! Futexes with a memory node (`FUTEX2_NUMA`, Linux 6.16): the word of 32 bits behind the futex says on which node the
//! kernel keeps who sleeps there.
//!
//! Both words together are aligned to 8 bytes. The node is the number of a node that the machine has, or [`ANY_NODE`]:
//! then the kernel takes that of the calling thread and *writes it there*, so that whoever wakes looks on the same one.
//! Only the newer calls of the kernel have this, one for each operation; they take absolute times and bitsets.

use super::{Answer, Scope};
use crate::clock::Deadline;

/// In place of a node: let the kernel choose, and write what it chose.
pub const ANY_NODE: i32 = -1;

/// As [`super::wait`].
///
/// Errors: as there; `EINVAL` also for a node that the machine has not, `EFAULT` for one that cannot be written.
pub fn wait(address: *const u32, expected: u32, mask: u32, scope: Scope, deadline: Deadline) -> Result<(), i32> {
    imp::wait(address, expected, mask, scope, deadline)
}

/// As [`super::wake`]. The memory must be there, for private futexes too.
pub fn wake(address: *const u32, count: u32, mask: u32, scope: Scope) -> Result<u32, i32> {
    imp::wake(address, count, mask, scope)
}

/// As [`super::requeue`], between two futexes with nodes.
pub fn requeue(
    from: *const u32,
    to: *const u32,
    scope: Scope,
    wake: u32,
    moved: u32,
    expected: u32,
) -> Result<u32, i32> {
    imp::requeue(from, to, scope, wake, moved, expected)
}

/// Whether there are such futexes: all calls are tried, once.
pub fn is_known() -> bool {
    static ANSWER: Answer = Answer::new();
    ANSWER.get_or_ask(|| !crate::without::Feature::FutexNuma.is_left_out() && calls_are_made())
}

/// Whether calls that have nothing to do are made.
fn calls_are_made() -> bool {
    #[repr(align(8))]
    struct Pair([u32; 2]);
    let pair = Pair([0, ANY_NODE as u32]);
    let word = pair.0.as_ptr();
    super::has_wait_any()
        && imp::may_be_tried()
        && wake(word, 0, super::MATCH_ANY, Scope::Private) == Ok(0)
        && wait(word, 1, super::MATCH_ANY, Scope::Private, Deadline::NOW) == Err(libc::EAGAIN)
        && requeue(word, word, Scope::Private, 0, 0, 1) == Err(libc::EAGAIN)
}

#[cfg(target_os = "linux")]
mod imp {
    use crate::clock::Deadline;
    use crate::deadly::Call;
    use crate::kernel_futex::Scope;
    use crate::kernel_futex::imp::answer;
    use crate::kernel_futex::interface::{self, SYS_FUTEX_REQUEUE, SYS_FUTEX_WAIT, SYS_FUTEX_WAKE, Until, Waitv};

    fn flags(scope: Scope) -> u32 {
        interface::flags(scope, true)
    }

    /// Whether no filter ends the program for one of the calls.
    pub(super) fn may_be_tried() -> bool {
        static CALLS: [Call; 3] = [
            Call::new(SYS_FUTEX_WAKE, [0, 0]),
            Call::new(SYS_FUTEX_WAIT, [0, 0]),
            Call::new(SYS_FUTEX_REQUEUE, [0, 0]),
        ];
        !CALLS.iter().any(Call::is_deadly)
    }

    pub(super) fn wait(
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

    pub(super) fn wake(address: *const u32, count: u32, mask: u32, scope: Scope) -> Result<u32, i32> {
        let (count, mask) = (count.min(i32::MAX as u32), u64::from(mask));
        // SAFETY: the kernel checks the address itself and writes nothing but the node.
        answer(unsafe { libc::syscall(SYS_FUTEX_WAKE, address, mask, count, flags(scope)) })
    }

    pub(super) fn requeue(
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

#[cfg(target_os = "macos")]
mod imp {
    use crate::clock::Deadline;
    use crate::kernel_futex::Scope;

    pub(super) fn may_be_tried() -> bool {
        false
    }

    pub(super) fn wait(_: *const u32, _: u32, _: u32, _: Scope, _: Deadline) -> Result<(), i32> {
        Err(libc::ENOSYS)
    }

    pub(super) fn wake(_: *const u32, _: u32, _: u32, _: Scope) -> Result<u32, i32> {
        Err(libc::ENOSYS)
    }

    pub(super) fn requeue(_: *const u32, _: *const u32, _: Scope, _: u32, _: u32, _: u32) -> Result<u32, i32> {
        Err(libc::ENOSYS)
    }
}
