// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cleanup groups: items that are closed together.
//!
//! # Role
//! The members of a group are closed by a thread that first takes all of them out, and cancels what is pending, if that is asked for. Then,
//! one after the other, it waits for the calls that run, and closes the item, unless the program has closed it meanwhile. If pending calls
//! were to be cancelled, the function of the item's group is called for each item that is closed so, and for each simple callback that was
//! cancelled.

use core::ffi::c_void;
use std::collections::{BTreeSet, VecDeque};

use super::item::{self, Cause, Item, Until};
use super::slab::{Id, Numbered};
use super::state::{State, state};
use super::wait_threads;
use crate::boundary::call;
use crate::last_error::{INVALID_PARAMETER, NOT_ENOUGH_MEMORY, Result};
use crate::planted::{Bug, planted};

/// What is called for an item: its context, and what the function that closes the members was given.
pub type CancelCallback = extern "C-unwind" fn(*mut c_void, *mut c_void);

/// See the module.
#[derive(Default)]
pub struct Group {
    pub members: BTreeSet<Id<Item>>,
    /// Former members, which are being closed, each with the call for what was cancelled of a simple callback.
    leaving: VecDeque<(Id<Item>, Option<Cancelled>)>,
}

impl Numbered for Group {
    const KIND: u64 = 3;
}

/// A call of a group's function.
#[derive(Clone, Copy)]
struct Cancelled {
    function: CancelCallback,
    context: usize,
}

/// Closing members, step by step: functions of the program come between.
#[derive(Clone, Copy)]
enum Step {
    Call(Cancelled),
    Again,
    Over,
}

fn cancelled(item: &Item) -> Option<Cancelled> {
    item.environment.cancel.map(|function| Cancelled { function, context: item.context })
}

/// Takes all members out of the group: none of them is submitted by a timer or a wait any more, and what is pending is cancelled, if that
/// is asked for.
fn begin(id: Id<Group>, cancel: bool) -> Result<()> {
    let members = {
        let mut state = state().ok_or(NOT_ENOUGH_MEMORY)?;
        let members = core::mem::take(&mut state.groups.get_mut(id).ok_or(INVALID_PARAMETER)?.members);
        for &member in members.iter().filter(|_| !planted(Bug::StaysArmed)) {
            state.unset(member);
        }
        members
    };
    members.iter().for_each(|&member| wait_threads::until_left(member));
    let mut state = state().ok_or(NOT_ENOUGH_MEMORY)?;
    for member in members {
        let leaving = state.leave_group(member, cancel);
        state.groups.get_mut(id).ok_or(INVALID_PARAMETER)?.leaving.extend(leaving);
    }
    Ok(())
}

impl State {
    /// One is no member any more.
    fn leave_group(&mut self, id: Id<Item>, cancel: bool) -> Option<(Id<Item>, Option<Cancelled>)> {
        let item = self.items.get_mut(id)?;
        item.group = None;
        let was_simple = cancel && matches!(item.cause, Cause::Simple) && item.pending > 0;
        let cancelled = if was_simple { cancelled(item) } else { None };
        if cancel {
            self.cancel(id);
        }
        Some((id, cancelled))
    }

    /// Closes a former member whose calls have returned. None if the program has closed it.
    fn close_member(&mut self, id: Id<Item>) -> Option<Cancelled> {
        let cancelled = cancelled(self.items.get(id).filter(|item| item.is_open)?);
        self.close(id);
        self.settle(id);
        cancelled
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn ntw_CreateThreadpoolCleanupGroup() -> *mut c_void {
    call(core::ptr::null_mut(), || {
        let mut state = state().ok_or(NOT_ENOUGH_MEMORY)?;
        state.groups.insert(Group::default()).map(Id::pointer).ok_or(NOT_ENOUGH_MEMORY)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn ntw_CloseThreadpoolCleanupGroup(group: *mut c_void) {
    call((), || {
        let id = Id::<Group>::of(group).ok_or(INVALID_PARAMETER)?;
        let mut state = state().ok_or(NOT_ENOUGH_MEMORY)?;
        let Group { members, .. } = state.groups.remove(id).ok_or(INVALID_PARAMETER)?;
        for member in members {
            if let Some(item) = state.items.get_mut(member) {
                item.group = None;
            }
        }
        Ok(())
    });
}

/// Functions of the program come between; nothing here is to be cleaned up.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn ntw_CloseThreadpoolCleanupGroupMembers(group: *mut c_void, cancel: i32, context: *mut c_void) {
    let cancel = cancel != 0;
    call((), || begin(Id::of(group).ok_or(INVALID_PARAMETER)?, cancel));
    loop {
        match call(Step::Over, || step(Id::of(group).ok_or(INVALID_PARAMETER)?, cancel)) {
            Step::Call(Cancelled { function, context: of_item }) => {
                function(core::ptr::with_exposed_provenance_mut(of_item), context);
            }
            Step::Again => {}
            Step::Over => return,
        }
    }
}

/// Closes one former member.
fn step(id: Id<Group>, cancel: bool) -> Result<Step> {
    let leaving = {
        let mut state = state().ok_or(NOT_ENOUGH_MEMORY)?;
        state.groups.get_mut(id).and_then(|group| group.leaving.pop_front())
    };
    let Some((member, simple)) = leaving else { return Ok(Step::Over) };
    item::wait(member, Until::Over);
    let closed = state().ok_or(NOT_ENOUGH_MEMORY)?.close_member(member).filter(|_| cancel);
    Ok(simple.or(closed).map_or(Step::Again, Step::Call))
}
