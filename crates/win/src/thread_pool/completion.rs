// SPDX-License-Identifier: MIT OR Apache-2.0
//! How the program learns that what it has deleted or unregistered calls nothing any more.

use super::item::{self, Cause, Item, Until};
use super::slab::Id;
use super::state::state;
use super::wait_threads;
use crate::handle::{self, Handle};
use crate::last_error::{Error, INVALID_HANDLE, IO_PENDING, NOT_ENOUGH_MEMORY, Result};
use crate::record::{Kind, Target};
use crate::thread;

/// What the program asks for.
#[derive(Clone, Copy)]
pub enum Completion {
    Nothing,
    /// The function returns then.
    Blocks,
    /// This event is set then. Its record is held.
    Event(Target),
}

const BLOCKS: usize = usize::MAX;

impl Completion {
    /// What C passes: NULL, INVALID_HANDLE_VALUE or an event.
    ///
    /// Errors: those of an event's handle.
    pub fn of(completion: Handle) -> Result<Completion> {
        match completion.addr() {
            0 => Ok(Completion::Nothing),
            BLOCKS => Ok(Completion::Blocks),
            _ => {
                let event = handle::look_up_modifiable(completion, Kind::Event)?.entry.target();
                if event.hold() { Ok(Completion::Event(event)) } else { Err(INVALID_HANDLE) }
            }
        }
    }

    pub fn event(self) -> Option<Target> {
        match self {
            Completion::Event(event) => Some(event),
            Completion::Nothing | Completion::Blocks => None,
        }
    }

    /// It is not wanted any more.
    pub fn release(self) {
        if let Some(event) = self.event() {
            event.release();
        }
    }
}

/// Closes an item for good.
///
/// Errors: `refused` if it was closed already; `IO_PENDING` if functions of it run or are to come that this does not wait for. A function that
/// closes its own item is one of them, unless it is called by the thread that has waited.
pub fn close(id: Id<Item>, completion: Completion, refused: Error) -> Result<()> {
    let me = thread::id();
    {
        let mut state = state().ok_or(NOT_ENOUGH_MEMORY)?;
        if !state.close(id) {
            completion.release();
            return Err(refused);
        }
        if let Some(item) = state.items.get_mut(id) {
            item.completion = completion.event();
        }
    }
    wait_threads::until_left(id);
    if matches!(completion, Completion::Blocks) {
        item::wait(id, Until::Over);
    }
    let mut state = state().ok_or(NOT_ENOUGH_MEMORY)?;
    state.settle(id);
    let Some(item) = state.items.get(id) else { return Ok(()) };
    let is_in_wait_thread = matches!(&item.cause, Cause::Wait(wait) if wait.in_wait_thread);
    if is_in_wait_thread && item.is_over(me) { Ok(()) } else { Err(IO_PENDING) }
}
