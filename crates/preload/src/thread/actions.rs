// SPDX-License-Identifier: MIT OR Apache-2.0
//! The program's actions for signals: a table that is only added to.
//!
//! Each distinct request of the program is an [`Action`], and each action has its own stub ([`super::arrival`]), so the kernel's table is the
//! only state: nothing must be kept consistent with it, there is no lock, and a `vfork` child, which has its own actions in the kernel but its
//! parent's memory, is no special case.
//!
//! # A full table
//! A program has few different actions, but one that makes its handlers as it runs can have any number. When the first
//! [`FREELY`] places are taken, an action is *made again*: the contents of another one are replaced, which is for the
//! same signal, of the same kind ([`Action::is_alike`]), and not the one that the kernel has now. A thread may still be
//! in the stub of the replaced action, because its signal was delivered before the handler was changed. It then runs
//! the new handler, as if the signal had been delivered after the change. Nothing that the stub decides differs between
//! actions that are alike, and it reads the handler once.
//!
//! So that there is always another one, the places from [`FREELY`] on are for signals and kinds that have less than two.
//! A child of `vfork`, whose kernel has other actions than the table's owner, makes none again.
//!
//! Two threads that change the handler of one signal at once, with a full table, may see each other's as the one before.
//!
//! # An action
//!
//! | state | | who changes it |
//! | --- | --- | --- |
//! | free | beyond [`USED`] | the thread that takes the place: one addition to [`USED`] |
//! | being made | `made` is 0 | the thread that took the place, which then stores 1 |
//! | made | `made` is 1: all but `spent` stays | |
//! | spent | `SA_RESETHAND`, and one signal was delivered | the stub, by one exchange; the next `sigaction` with the same contents undoes it |
//! | being made again | `made` is 0 | the thread that exchanged 1 for 0, which then stores 1; nobody finds the action meanwhile |
//!
//! A thread that dies while it makes an action, or makes it again, leaves a place unused. Two threads that make the same action at once
//! make two.

use super::lineage;
use super::mask::GUARDED;
use crate::c_library::cancellation::without_cancellation;
use crate::c_library::next;
use crate::report::log;
use core::ffi::c_int;
use core::mem::offset_of;
use ntux_platform::atomic::{Word32, Word64};
use ntux_platform::interposition::own_stack::on_own_stack;
use ntux_platform::keeping_errno;
use ntux_platform::protection::{self, Protection};
use ntux_platform::to_self::{FAULTS, Mask, bit};

/// The program's action for one signal.
#[repr(C, align(64))]
pub(crate) struct Action {
    /// The program's handler, or `SIG_DFL`, or `SIG_IGN`.
    handler: Word64,
    /// Flags for the stub: [`CAN_BE_FAULT`] and so on.
    pub(crate) notes: u32,
    /// 1 after a handler that runs once has run.
    pub(super) spent: Word32,
    mask: Word64,
    flags: Word32,
    signal: c_int,
    /// 1 after the fields above were written.
    made: Word32,
}

impl Action {
    /// Where the stub finds the handler.
    pub(crate) const HANDLER: usize = offset_of!(Action, handler);

    pub(crate) fn handler(&self) -> usize {
        self.handler.load() as usize
    }

    pub(crate) fn flags(&self) -> c_int {
        self.flags.load() as c_int
    }

    /// True if a stub does the same for both, but for the handler to which it jumps: either both have one or neither.
    fn is_alike(&self, signal: c_int, handler: usize, notes: u32) -> bool {
        (self.signal, self.notes, has_handler(self.handler())) == (signal, notes, has_handler(handler))
    }
}

// SAFETY: one thread writes the fields that are not atomic, before `made`; others read them after it.
unsafe impl Sync for Action {}

/// An instruction can cause the signal.
pub(crate) const CAN_BE_FAULT: u32 = 1 << 0;

/// The guarded copy can cause the signal.
pub(crate) const CAN_BE_GUARDED: u32 = 1 << 1;

/// There is no handler, or it runs once.
pub(crate) const NO_PLAIN_HANDLER: u32 = 1 << 2;

/// Most different actions of a process at a time.
pub(crate) const ACTIONS_MAX: usize = 2048;

/// From here on, a place is only for a signal and a kind that has less than two. There are at most four kinds for each signal.
const FREELY: usize = ACTIONS_MAX - 2 * 4 * SIGNALS as usize;

pub(super) const SIGNALS: c_int = 64;

/// Address of [`ACTIONS_MAX`] actions; 0 before handlers are wrapped. Mapped, because collectors read tables of a
/// library.
pub(crate) static TABLE: Word64 = Word64::new(0);

/// How many places of the table were taken. It exceeds their number if there was no room.
static USED: Word32 = Word32::new(0);

/// 1 if handlers are wrapped.
static ACTIVE: Word32 = Word32::new(0);

/// True if handlers are wrapped, and so a thread may go inside.
#[inline(always)]
pub(crate) fn active() -> bool {
    ACTIVE.load() != 0
}

/// From now on handlers are wrapped.
pub(super) fn begin() {
    if TABLE.load() == 0 {
        let table = protection::allocate(ACTIONS_MAX * size_of::<Action>(), Protection::READ_WRITE)
            .map_or(0, |table| table as u64);
        // If another thread was faster, this mapping costs addresses but no memory.
        let _ = TABLE.compare_exchange(0, table);
    }
    ACTIVE.store(1);
}

pub(crate) fn has_handler(handler: usize) -> bool {
    handler != libc::SIG_DFL && handler != libc::SIG_IGN
}

pub(super) fn query(signal: c_int) -> Option<libc::sigaction> {
    // SAFETY: all bytes zero is a value; the call writes it.
    let mut action: libc::sigaction = unsafe { core::mem::zeroed() };
    // SAFETY: asks only.
    (unsafe { next::sigaction(signal, core::ptr::null(), &mut action) } == 0).then_some(action)
}

pub(super) fn actions() -> &'static [Action] {
    let table = TABLE.load();
    let used = if table == 0 { 0 } else { (USED.load() as usize).min(ACTIONS_MAX) };
    let table = if table == 0 { core::ptr::NonNull::dangling().as_ptr() } else { table as *const Action };
    // SAFETY: so many actions are mapped there for good, and all bytes zero is one that is being made; or none.
    unsafe { core::slice::from_raw_parts(table, used) }
}

/// Returns the stub for an action with these contents, or none if the table is full. Async-signal-safe.
pub(crate) fn stub_for(signal: c_int, handler: usize, mask: Mask, flags: c_int) -> Option<usize> {
    if place_of(handler).is_some() {
        return Some(handler);
    }
    find_or_make(signal, handler, mask, flags).map(stub)
}

/// The place of the action with these contents: an existing one, or a new one.
fn find_or_make(signal: c_int, handler: usize, mask: Mask, flags: c_int) -> Option<usize> {
    let same = |action: &Action| {
        action.made.load() == 1
            && (action.signal, action.handler(), action.mask.load(), action.flags()) == (signal, handler, mask, flags)
    };
    if let Some(place) = actions().iter().position(same) {
        actions()[place].spent.store(0);
        return Some(place);
    }
    let place = make(signal, handler, mask, flags).or_else(|| make_again(signal, handler, mask, flags));
    if place.is_none() {
        say_unwrapped(signal);
    }
    place
}

/// The place of a new action with these contents.
fn make(signal: c_int, handler: usize, mask: Mask, flags: c_int) -> Option<usize> {
    let table = TABLE.load() as *mut Action;
    let notes = notes(signal, handler, flags);
    let alike = || actions().iter().filter(|action| action.is_alike(signal, handler, notes)).count();
    if table.is_null() || USED.load() as usize >= FREELY && alike() >= 2 {
        return None;
    }
    let place = USED.fetch_add(1) as usize;
    if place >= ACTIONS_MAX {
        USED.store(ACTIONS_MAX as u32);
        return None;
    }
    let action = Action {
        handler: Word64::new(handler as u64),
        notes,
        spent: Word32::new(0),
        mask: Word64::new(mask),
        flags: Word32::new(flags as u32),
        signal,
        made: Word32::new(0),
    };
    // SAFETY: a place of the table that this thread alone took; others look at `made` of it, which is 0 before and
    // after.
    unsafe { table.add(place).write(action) };
    actions()[place].made.store(1);
    Some(place)
}

/// The place of another action, which is made again with these contents.
#[cold]
fn make_again(signal: c_int, handler: usize, mask: Mask, flags: c_int) -> Option<usize> {
    if lineage::borrows_memory() {
        return None;
    }
    let notes = notes(signal, handler, flags);
    let installed = query(signal).and_then(|action| place_of(action.sa_sigaction));
    let replaces = |place: usize, action: &Action| {
        Some(place) != installed
            && action.is_alike(signal, handler, notes)
            && action.made.compare_exchange(1, 0).is_ok()
    };
    let place = actions().iter().enumerate().position(|(place, action)| replaces(place, action))?;
    let action = &actions()[place];
    action.mask.store(mask);
    action.flags.store(flags as u32);
    action.spent.store(0);
    action.handler.store(handler as u64);
    action.made.store(1);
    Some(place)
}

/// Says once that a handler runs as if there were no waits.
#[cold]
fn say_unwrapped(signal: c_int) {
    static SAID: Word32 = Word32::new(0);
    if TABLE.load() == 0 || SAID.compare_exchange(0, 1).is_err() {
        return;
    }
    let say = || {
        keeping_errno(|| {
            without_cancellation(|| {
                log::say(format_args!(
                    "ntux: process {} has more than {ACTIONS_MAX} different handlers of signals: that of signal {signal} does not interrupt a wait\n",
                    std::process::id()
                ));
            });
        });
    };
    on_own_stack(say);
}

fn notes(signal: c_int, handler: usize, flags: c_int) -> u32 {
    let note = |holds: bool, note: u32| if holds { note } else { 0 };
    note(bit(signal) & FAULTS != 0, CAN_BE_FAULT)
        | note(bit(signal) & GUARDED != 0, CAN_BE_GUARDED)
        | note(!has_handler(handler) || flags & libc::SA_RESETHAND != 0, NO_PLAIN_HANDLER)
}

/// Bytes of a stub.
#[cfg(target_arch = "x86_64")]
pub(super) const STUB: usize = 16;

#[cfg(target_arch = "aarch64")]
pub(super) const STUB: usize = 8;

/// The stub of an action, by its place in the table.
pub(crate) fn stub(place: usize) -> usize {
    debug_assert!(place < ACTIONS_MAX, "there are as many stubs as actions");
    ntux_arrivals as *const () as usize + place * STUB
}

/// The place of the action whose stub this is, or none if it is no stub.
pub(crate) fn place_of(handler: usize) -> Option<usize> {
    let offset = handler.checked_sub(ntux_arrivals as *const () as usize)?;
    (offset < ACTIONS_MAX * STUB && offset.is_multiple_of(STUB)).then_some(offset / STUB)
}

unsafe extern "C" {
    /// Not a function: the first stub.
    fn ntux_arrivals();
}
