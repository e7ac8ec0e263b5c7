// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a supervisor says of the dead.

use crate::arena::Arena;
use crate::kind::Kind;
use crate::protocol::burial;
use crate::protocol::waiter::{Waiter, bury};
use crate::{Error, Result};

impl Arena {
    /// A thread has ended, says the caller: it waits no more, and its place is free. `process` and `thread` are the numbers that
    /// the system knows it by in the caller's namespace: who has them in another one is left alone. What it was given before stays
    /// with it.
    ///
    /// Errors: `Alive` if the system still knows this thread, and nobody dead had its numbers. (If it cannot tell, the caller's word
    /// counts.)
    pub fn bury_thread(&self, process: u32, thread: u64) -> Result<()> {
        burial::bury_thread(self, process, thread)
    }

    /// A process has ended, says the caller: its threads wait no more, and its places and objects are free. `process` is the
    /// number that the system knows it by in the caller's namespace: who has it in another one is left alone.
    ///
    /// Errors: `Alive` if the system still knows this process, and nobody dead had its number. (If it cannot tell, the caller's word
    /// counts.)
    pub fn bury_process(&self, process: u32) -> Result<()> {
        self.bury_dead(process, bury)
    }

    /// Declares an owner dead: every mutex that it owns becomes unowned and abandoned ([`Arena::mutex_kill`]). How many.
    ///
    /// Looks at every object once. A mutex that it acquires meanwhile may be missed: its threads must have ended, or their
    /// waits ([`Arena::bury_thread`]).
    ///
    /// Errors: `Invalid` (owner 0), `Corrupt` (after all others).
    pub fn mutex_kill_all(&self, waiter: &Waiter, owner: u32) -> Result<u32> {
        if owner == 0 {
            return Err(Error::Invalid);
        }
        let (mut killed, mut corrupt) = (0, false);
        for index in 0..self.objects_used() {
            let Some(slot) = self.object_slot(index) else { break };
            let word = slot.load();
            let object = slot.resident(index);
            // A claim may be about to make it this owner's.
            let may_be_theirs = word.is_claimed() || word.value() == owner;
            if slot.kind_if_live(object) != Some(Kind::Mutex) || !may_be_theirs {
                continue;
            }
            match self.mutex_kill(waiter, object, owner) {
                Ok(()) => killed += 1,
                Err(Error::Corrupt) => corrupt = true,
                Err(_) => {}
            }
        }
        if corrupt { Err(Error::Corrupt) } else { Ok(killed) }
    }
}
