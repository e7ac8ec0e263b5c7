// SPDX-License-Identifier: MIT OR Apache-2.0
//! Places of the dead, given back at once because a supervisor says who is dead.
//!
//! # Role
//! Without a burial, the place of a dead thread is found only when the arena has no other left. A thread with a robust list
//! leaves its queues at the moment of its death in any case. A thread without one (macOS, sandboxes) can be given objects
//! until its place is found; a supervisor, which learns of every death, prevents that.
//!
//! # Transitions
//! The holder, as in [`super::waiter`]: taken by a dead thread; taken by the supervisor, which ends the dead thread's epoch as its owner
//! would have; free.
//!
//! # Death
//! If the supervisor dies after it took a place, that is a dead thread's place again.

use ntux_platform::liveness::{self, Process};

use super::detached::outlives;
use super::waiter::{Waiter, bury, end_epoch, take_from_dead};
use crate::arena::Arena;
use crate::arena::peers::is_known_alive;
use crate::format::holder::Holder;
use crate::planted::{Bug, planted};
use crate::{Error, Result};

/// Errors: `Alive`.
pub(crate) fn bury_thread(arena: &Arena, process: u32, thread: u64) -> Result<()> {
    let me = liveness::this_process();
    let undertaker = Waiter::new();
    let mine = Holder::new(arena.peer(bury)?, liveness::thread_id());
    let pool = arena.waiter_pool();
    let (mut is_alive, mut is_buried) = (false, false);
    for index in 0..pool.used() {
        let slot = arena.waiter_slot(index).ok_or(Error::Corrupt)?;
        let holder = Holder(slot.holder.load());
        let is_meant = |of: &Process| of.pid == process && !liveness::differs_in_numbers(*of, me);
        let of = arena.process(holder.peer()).filter(is_meant);
        // Thread 0 stands for a whole process.
        let is_its = holder.is_taken() && holder.thread() == thread && thread != 0;
        let Some(of) = of.filter(|_| is_its) else { continue };
        if is_thread_known_alive(of, thread, me) {
            is_alive = true;
            continue;
        }
        if outlives(arena, index, slot, holder) {
            is_buried = true;
            continue;
        }
        // Where the system says nothing, the supervisor's word counts.
        if take_from_dead(slot, holder, mine, || !is_thread_known_alive(of, thread, me)) {
            undertaker.budget.renew();
            let ended = if planted(Bug::BuryOpen) { Ok(()) } else { end_epoch(arena, &undertaker, index) };
            slot.holder.store(0);
            pool.hint(index);
            ended?;
            is_buried = true;
        }
    }
    if is_alive && !is_buried { Err(Error::Alive) } else { Ok(()) }
}

/// Returns true if the system says that this thread lives. False also where it has nothing to say.
fn is_thread_known_alive(process: Process, thread: u64, me: Process) -> bool {
    is_known_alive(process, me) && !liveness::is_thread_dead(process, thread, me)
}
