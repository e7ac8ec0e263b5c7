//! The program's signal handlers: its view of them, kept while the kernel calls a stub of [`crate::thread::arrival`] instead.
//!
//! Nothing changes until the device is first used ([`activate`]). Then every handler is wrapped, and the interposed
//! functions (`sigaction`, `signal` and their variants) keep it so. Each distinct request of the program is an
//! [`Action`] in a table. Each action has its own stub, so the kernel's table is the only state:
//! nothing must be kept consistent with it, there is no lock, and a `vfork` child, which has its own actions in the
//! kernel but its parent's memory, is no special case.
//!
//! The kernel gets the program's mask and flags, except `SA_RESETHAND`, which [`without_handler`] implements: otherwise
//! a signal that arrives inside this library would find the handler gone when it is delivered at the door.
//!
//! SIGSEGV and SIGBUS are wrapped even if the program has no handler, for the guarded copy; the stub then does what the
//! kernel would have done. Other signals without a handler are left to the kernel. So is a handler that the program
//! installs by a raw system call after its first use of the device. Such a handler runs at once, even on top of a wait
//! that is still queued, and does not interrupt it. The same happens, and is said, if the table has no room.
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

use crate::c_library::next;
use crate::device::without_cancellation;
use crate::report::log;
use crate::thread::signals::{self, Information, Mask, bit};
use crate::thread::{arrival, cancellation, record};
use core::ffi::c_int;
use core::mem::offset_of;
use ntux_platform::atomic::{Word32, Word64};
use ntux_platform::interposition::own_stack::on_own_stack;
use ntux_platform::keeping_errno;

/// The program's action for one signal.
#[repr(C, align(64))]
pub(crate) struct Action {
    /// The program's handler, or `SIG_DFL`, or `SIG_IGN`.
    handler: Word64,
    /// Flags for the stub: [`CAN_BE_FAULT`] and so on.
    pub(crate) notes: u32,
    /// 1 after a handler that runs once has run.
    spent: Word32,
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

    /// Whether a stub does the same for both, but for the handler to which it jumps. There either is one in both or in none.
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
const SIGNALS: c_int = 64;

/// Address of [`ACTIONS_MAX`] actions; 0 before handlers are wrapped. Mapped, because collectors read tables of a
/// library.
pub(crate) static TABLE: Word64 = Word64::new(0);
/// How many places of the table were taken. It exceeds their number if there was no room.
static USED: Word32 = Word32::new(0);
/// 1 if handlers are wrapped.
static ACTIVE: Word32 = Word32::new(0);

/// Flags that the kernel does not get.
const OURS: c_int = libc::SA_RESETHAND;

/// Whether handlers are wrapped, and so whether a thread may go inside.
#[inline(always)]
pub(crate) fn active() -> bool {
    ACTIVE.load() != 0
}

/// Wraps every handler of the program. Called before the first operation on a device.
#[cold]
pub(crate) fn activate() {
    let mask = signals::block();
    arrival::prepare();
    map_table();
    ACTIVE.store(1);
    (1..=SIGNALS).for_each(wrap);
    cancellation::wrap();
    signals::restore(mask);
}

fn map_table() {
    if TABLE.load() == 0 {
        let table = record::map_pages(ACTIONS_MAX * size_of::<Action>()) as u64;
        // If another thread was faster, this mapping costs addresses but no memory.
        let _ = TABLE.compare_exchange(0, table);
    }
}

/// Replaces the kernel's handler with a stub. Another thread that found handlers unwrapped may install one meanwhile
/// with the C library's own function; then `set` replaced that one, and it is wrapped next.
fn wrap(signal: c_int) {
    let Some(mut in_kernel) = query(signal) else { return };
    while arrival::place_of(in_kernel.sa_sigaction).is_none()
        && (has_handler(in_kernel.sa_sigaction) || always_wrapped(signal))
    {
        let Some(replaced) = replace(signal, &wrapped(signal, &in_kernel)) else { return };
        if same(&replaced, &in_kernel) {
            return;
        }
        in_kernel = replaced;
    }
}

fn same(one: &libc::sigaction, other: &libc::sigaction) -> bool {
    let mask = |action: &libc::sigaction| *first_word(&mut { action.sa_mask });
    one.sa_sigaction == other.sa_sigaction && one.sa_flags == other.sa_flags && mask(one) == mask(other)
}

pub(crate) fn has_handler(handler: usize) -> bool {
    handler != libc::SIG_DFL && handler != libc::SIG_IGN
}

fn always_wrapped(signal: c_int) -> bool {
    signal == libc::SIGSEGV || signal == libc::SIGBUS
}

fn query(signal: c_int) -> Option<libc::sigaction> {
    // SAFETY: all bytes zero is a value; the call writes it.
    let mut action: libc::sigaction = unsafe { core::mem::zeroed() };
    // SAFETY: asks only.
    (unsafe { next::sigaction(signal, core::ptr::null(), &mut action) } == 0).then_some(action)
}

/// Makes `new` the kernel's action of a signal and returns the one before.
fn replace(signal: c_int, new: &libc::sigaction) -> Option<libc::sigaction> {
    // SAFETY: all bytes zero is a value; the call writes it.
    let mut old: libc::sigaction = unsafe { core::mem::zeroed() };
    // SAFETY: a valid action, whose handler takes what the kernel hands it.
    (unsafe { next::sigaction(signal, new, &mut old) } == 0).then_some(old)
}

/// The kernel's action for an action of the program. Async-signal-safe.
fn wrapped(signal: c_int, wanted: &libc::sigaction) -> libc::sigaction {
    let mut in_kernel = *wanted;
    let is_signal = (1..=SIGNALS).contains(&signal);
    if !is_signal || (!has_handler(wanted.sa_sigaction) && !always_wrapped(signal)) {
        return in_kernel;
    }
    let mask = *first_word(&mut { wanted.sa_mask });
    let Some(stub) = stub_for(signal, wanted.sa_sigaction, mask, wanted.sa_flags) else { return in_kernel };
    in_kernel.sa_sigaction = stub;
    in_kernel.sa_flags = wanted.sa_flags & !OURS | libc::SA_SIGINFO;
    if !has_handler(wanted.sa_sigaction) {
        in_kernel.sa_flags |= libc::SA_ONSTACK;
    }
    in_kernel
}

fn actions() -> &'static [Action] {
    let table = TABLE.load();
    let used = if table == 0 { 0 } else { (USED.load() as usize).min(ACTIONS_MAX) };
    let table = if table == 0 { core::ptr::NonNull::dangling().as_ptr() } else { table as *const Action };
    // SAFETY: so many actions are mapped there for good, and all bytes zero is one that is being made; or none.
    unsafe { core::slice::from_raw_parts(table, used) }
}

/// The stub for an action with these contents; none if the table is full. Async-signal-safe.
pub(crate) fn stub_for(signal: c_int, handler: usize, mask: Mask, flags: c_int) -> Option<usize> {
    if arrival::place_of(handler).is_some() {
        return Some(handler);
    }
    find_or_make(signal, handler, mask, flags).map(arrival::stub)
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
    if record::borrows_memory() {
        return None;
    }
    let notes = notes(signal, handler, flags);
    let installed = query(signal).and_then(|action| arrival::place_of(action.sa_sigaction));
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
    note(bit(signal) & signals::FAULTS != 0, CAN_BE_FAULT)
        | note(bit(signal) & signals::GUARDED != 0, CAN_BE_GUARDED)
        | note(!has_handler(handler) || flags & libc::SA_RESETHAND != 0, NO_PLAIN_HANDLER)
}

/// The kernel's part of the C library's signal set.
fn first_word(set: &mut libc::sigset_t) -> &mut Mask {
    // SAFETY: the set begins with the kernel's 64 bits and is at least that large and aligned.
    unsafe { &mut *core::ptr::from_mut(set).cast::<Mask>() }
}

/// The program's `sigaction`. Async-signal-safe.
///
/// # Safety
/// As for the C library's function.
#[unsafe(link_section = ".text.ntux_start")]
pub(crate) unsafe fn sigaction(signal: c_int, new: *const libc::sigaction, old: *mut libc::sigaction) -> c_int {
    let was_active = active();
    // SAFETY: null or the caller's valid action.
    let new = unsafe { new.as_ref() }.map(|new| if was_active { wrapped(signal, new) } else { *new });
    // SAFETY: all bytes zero is a value.
    let mut before: libc::sigaction = unsafe { core::mem::zeroed() };
    // SAFETY: none or a valid action, and a place for the old one.
    let result = unsafe { next::sigaction(signal, new.as_ref().map_or(core::ptr::null(), |new| new), &mut before) };
    if result == 0 && new.is_some() && !was_active && active() {
        // Another thread has wrapped all handlers between the check and the call.
        wrap(signal);
    }
    if result == 0 && !old.is_null() {
        // SAFETY: the caller's place for the answer.
        unsafe { old.write(as_program_sees(before)) };
    }
    result
}

/// The kernel's action with a stub replaced by the program's handler.
fn as_program_sees(mut in_kernel: libc::sigaction) -> libc::sigaction {
    let action = arrival::place_of(in_kernel.sa_sigaction).and_then(|place| actions().get(place));
    if let Some(action) = action {
        const RESTORER: c_int = 0x0400_0000;
        let spent = action.spent.load() != 0;
        in_kernel.sa_sigaction = if spent { libc::SIG_DFL } else { action.handler() };
        in_kernel.sa_flags = action.flags() | in_kernel.sa_flags & RESTORER;
    }
    in_kernel
}

/// Handles a signal whose action has no plain handler. Returns whether the program's handler must run. The thread is
/// outside, in any state.
///
/// # Safety
/// `information` is what the kernel passed to the stub.
pub(crate) unsafe extern "C" fn without_handler(
    signal: c_int,
    information: *mut Information,
    action: &'static Action,
) -> bool {
    // SAFETY: the caller's promise.
    take(action) || unsafe { !do_default(signal, &*information, action) }
}

/// Returns whether the handler runs for one more signal, and marks a one-shot handler as spent.
pub(crate) fn take(action: &Action) -> bool {
    has_handler(action.handler())
        && (action.flags() & libc::SA_RESETHAND == 0 || action.spent.compare_exchange(0, 1).is_ok())
}

/// Does the kernel's part for a signal that has no handler, or no longer one. Returns true.
///
/// The calls go through the C library, because the thread may be in a state in which calls from elsewhere are refused.
/// They do not fail, so they do not touch the error number, and with it thread-local storage.
pub(crate) fn do_default(signal: c_int, information: &Information, action: &Action) -> bool {
    let fault = signals::code(information) > 0;
    if action.handler() == libc::SIG_IGN && !fault {
        return true;
    }
    // SAFETY: all bytes zero is the default action.
    unsafe { next::sigaction(signal, &core::mem::zeroed(), core::ptr::null_mut()) };
    // A fault recurs as soon as this returns; any other signal is sent again. Either then meets the default action.
    if !fault {
        signals::queue_for_self(signal, information);
    }
    true
}

/// Signals for which `siginterrupt` turned restarting off.
static INTERRUPTING: Word64 = Word64::new(0);

/// The family of `signal`: installs a handler with these flags and returns the one before, or `SIG_ERR`.
pub(crate) fn replace_handler(signal: c_int, handler: usize, mask: Mask, flags: c_int) -> usize {
    if handler == libc::SIG_ERR || !(1..=SIGNALS).contains(&signal) {
        crate::c_library::fail(libc::EINVAL);
        return libc::SIG_ERR;
    }
    // SAFETY: all bytes zero is a value.
    let (mut new, mut old): (libc::sigaction, libc::sigaction) = unsafe { core::mem::zeroed() };
    new.sa_sigaction = handler;
    new.sa_flags = flags;
    *first_word(&mut new.sa_mask) = mask;
    // SAFETY: a valid action and a place for the old one.
    if unsafe { sigaction(signal, &new, &mut old) } == 0 { old.sa_sigaction } else { libc::SIG_ERR }
}

/// The handler of a signal as the program sees it, or `SIG_ERR`.
pub(crate) fn handler(signal: c_int) -> usize {
    // SAFETY: all bytes zero is a value.
    let mut action: libc::sigaction = unsafe { core::mem::zeroed() };
    // SAFETY: asks only.
    let result = unsafe { sigaction(signal, core::ptr::null(), &mut action) };
    if result == 0 { action.sa_sigaction } else { libc::SIG_ERR }
}

/// `signal` as BSD and glibc have it.
pub(crate) fn signal(signal: c_int, handler: usize) -> usize {
    let valid = (1..=SIGNALS).contains(&signal);
    let interrupts = valid && INTERRUPTING.load() & bit(signal) != 0;
    let flags = if interrupts { 0 } else { libc::SA_RESTART };
    replace_handler(signal, handler, if valid { bit(signal) } else { 0 }, flags)
}

/// `siginterrupt`.
pub(crate) fn siginterrupt(signal: c_int, interrupts: bool) -> c_int {
    // SAFETY: all bytes zero is a value.
    let mut action: libc::sigaction = unsafe { core::mem::zeroed() };
    // SAFETY: asks only.
    if unsafe { sigaction(signal, core::ptr::null(), &mut action) } != 0 {
        return -1;
    }
    let mut seen = INTERRUPTING.load();
    loop {
        let now = if interrupts { seen | bit(signal) } else { seen & !bit(signal) };
        match INTERRUPTING.compare_exchange(seen, now) {
            Ok(()) => break,
            Err(found) => seen = found,
        }
    }
    action.sa_flags &= !libc::SA_RESTART;
    if !interrupts {
        action.sa_flags |= libc::SA_RESTART;
    }
    // SAFETY: a valid action.
    unsafe { sigaction(signal, &action, core::ptr::null_mut()) }
}
