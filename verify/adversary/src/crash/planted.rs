// SPDX-License-Identifier: MIT OR Apache-2.0
//! Operations that do not survive a kill or a stop, which the harness must find.

use std::os::fd::BorrowedFd;

use ntux_platform::memory;
use ntux_sync::spec::{Answer, Outcome};
use ntux_sync::{Deadline, Error, Object, Result};

use super::board::Board;
use super::operation::{Performer, system};

/// What is planted in the core of a victim.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum Bug {
    /// A thread that takes results does not tell the kernel to wake another one
    TakerUnwilled,
    /// A thread that delivers a result names no bell to the kernel
    DeliveryUnwilled,
}

/// Plants a bug of the core in all that this thread does from now on.
pub fn plant(bug: Option<Bug>) {
    #[cfg(ntux_planted)]
    {
        use ntux_sync::planted;
        planted::set(bug.map(|bug| match bug {
            Bug::TakerUnwilled => planted::Bug::TakerUnwilled,
            Bug::DeliveryUnwilled => planted::Bug::DeliveryUnwilled,
        }));
    }
    // Nothing can be planted in the core that ships.
    #[cfg(not(ntux_planted))]
    let _ = bug;
}

/// Looks at the lock before a thread gives up: some tenths of a second.
const LOOKS: u32 = 1 << 22;

/// A lock in shared memory, as one would write it first. A thread that dies or stops with it holds up all others.
pub fn count_under_the_lock(board: &Board) -> Outcome {
    for _ in 0..LOOKS {
        if board.lock.compare_exchange(0, 1).is_ok() {
            board.counter.fetch_add(1);
            board.lock.store(0);
            return Ok(Answer::Done);
        }
        std::hint::spin_loop();
    }
    Err(Error::Corrupt)
}

/// Takes a unit of a semaphore and gives it back: at a kill in between it is lost.
pub fn lend(performer: &Performer<'_>, number: u8) -> Outcome {
    let semaphore = performer.board.object(number);
    performer.arena.wait_any(&performer.waiter, &[semaphore], None, 1, Deadline::NOW)?;
    performer.arena.semaphore_release(&performer.waiter, semaphore, 1).map(|_| Answer::Done)
}

/// The second of the two bytes that stand for an object is its message's (`arena/descriptor.rs`).
pub fn release_the_flight(fd: BorrowedFd<'_>, object: Object) -> Result<()> {
    let flight = (1 << 62) + 2 * (object.0 & u64::from(u32::MAX)) + 1;
    memory::let_go(fd, flight).map_err(system)
}
