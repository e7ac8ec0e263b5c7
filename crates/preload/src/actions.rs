//! The program's signal handlers: its view of them, kept while the kernel calls [`crate::signals::trampoline`] instead.
//!
//! Nothing is changed until the device is first used ([`activate`]). Then every handler is wrapped, and the interposed
//! functions (`sigaction`, `signal` and their relatives) keep it so. The kernel's action for a wrapped signal is the
//! trampoline with all asynchronous signals in its mask; what the program asked for is an [`Action`] that is made once
//! and never changed, so one pointer says all and the trampoline reads it without a lock.
//!
//! SIGSEGV and SIGBUS are wrapped even where the program has no handler, for the guarded copy; the trampoline then does
//! what the kernel would have done. Other signals without a handler are left to the kernel.
//!
//! A handler that the program installs by a raw system call, after its first use of the device, is not seen and not
//! wrapped: it runs at once, also on top of a wait that is still queued.
//!
//! # Rules
//! * A1: an action is published before it is set in the kernel. A trampoline that was called for the old one and finds
//!   the new one does what would have happened if the signal had come a moment later.
//! * A2: changes are made one at a time, under a lock and with signals blocked: no handler runs in the middle.
//! * A3: a `vfork` child has its own actions in the kernel but its parent's memory: it changes the former only.
//!
//! `SA_NODEFER` and `SA_RESETHAND` are done by [`perform`]: the kernel must not let two trampolines nest, nor take the
//! trampoline away from a signal whose handler is owed.

use crate::lock::Lock;
use crate::signals::{self, Mask, bit};
use crate::{next, threads};
use core::ffi::{c_int, c_void};
use ntux_platform::atomic::{Word32, Word64};

/// What the program wants of one signal. Never changed once made.
#[repr(C)]
pub(crate) struct Action {
    handler: usize,
    mask: Mask,
    pub(crate) flags: c_int,
    signal: c_int,
    /// The action that was made before this one.
    next: *const Action,
}

// SAFETY: never changed once it is shared.
unsafe impl Sync for Action {}

static NONE: Action = Action { handler: libc::SIG_DFL, mask: 0, flags: 0, signal: 0, next: core::ptr::null() };

const SIGNALS: c_int = 64;

/// For each signal the address of its action, 0 where there never was one.
static CURRENT: [Word64; SIGNALS as usize + 1] = [const { Word64::new(0) }; SIGNALS as usize + 1];
/// All actions that were ever made, newest first: a program has few different ones.
static MADE: Word64 = Word64::new(0);
/// 1 when handlers are wrapped.
static ACTIVE: Word32 = Word32::new(0);
static CHANGES: Lock = Lock::new();

/// Flags that the trampoline does itself.
const OURS: c_int = libc::SA_NODEFER | libc::SA_RESETHAND;

/// What the program wants of a signal. Async-signal-safe.
pub(crate) fn of(signal: c_int) -> &'static Action {
    let address = CURRENT.get(signal as usize).map_or(0, Word64::load);
    // SAFETY: 0 or the address of an action, which is never unmapped.
    unsafe { (address as *const Action).as_ref() }.unwrap_or(&NONE)
}

/// Whether handlers are wrapped, that is, whether a thread may go inside.
#[inline(always)]
pub(crate) fn active() -> bool {
    ACTIVE.load() != 0
}

/// Wraps every handler of the program. Called before the first operation on a device.
#[cold]
pub(crate) fn activate() {
    let mask = signals::block();
    CHANGES.with(|| {
        ACTIVE.store(1);
        (1..=SIGNALS).for_each(wrap);
    });
    signals::restore(mask);
}

/// Puts the trampoline in place of a handler that the kernel knows.
fn wrap(signal: c_int) {
    let Some(in_kernel) = query(signal) else { return };
    let handler = in_kernel.sa_sigaction;
    if handler != trampoline() && (has_handler(handler) || always_wrapped(signal)) {
        set(signal, &in_kernel);
    }
}

fn trampoline() -> usize {
    signals::trampoline as *const () as usize
}

fn has_handler(handler: usize) -> bool {
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

/// Makes `wanted` the action of a signal, in the kernel and here.
fn set(signal: c_int, wanted: &libc::sigaction) -> c_int {
    let Some(action) = make(signal, wanted) else { return crate::fail(libc::ENOMEM) };
    CURRENT[signal as usize].store(core::ptr::from_ref(action) as u64);
    if !has_handler(wanted.sa_sigaction) && !always_wrapped(signal) {
        // SAFETY: a valid action of the program's.
        return unsafe { next::sigaction(signal, wanted, core::ptr::null_mut()) };
    }
    let mut in_kernel = *wanted;
    in_kernel.sa_sigaction = trampoline();
    in_kernel.sa_flags = wanted.sa_flags & !OURS | libc::SA_SIGINFO;
    if !has_handler(wanted.sa_sigaction) {
        in_kernel.sa_flags |= libc::SA_ONSTACK;
    }
    *first_word(&mut in_kernel.sa_mask) = signals::ASYNCHRONOUS;
    // SAFETY: a valid action, whose handler takes what the kernel hands it.
    unsafe { next::sigaction(signal, &in_kernel, core::ptr::null_mut()) }
}

/// The kernel's part of the C library's signal set.
fn first_word(set: &mut libc::sigset_t) -> &mut Mask {
    // SAFETY: the set begins with the kernel's 64 bits and is at least that large and aligned.
    unsafe { &mut *core::ptr::from_mut(set).cast::<Mask>() }
}

/// The action with these contents: the one that was made before, or a new one.
fn make(signal: c_int, wanted: &libc::sigaction) -> Option<&'static Action> {
    let mut set = wanted.sa_mask;
    let mask = *first_word(&mut set);
    let (handler, flags) = (wanted.sa_sigaction, wanted.sa_flags);
    // SAFETY: actions form a list that only grows at its head; they are never changed or unmapped.
    let first = unsafe { (MADE.load() as *const Action).as_ref() };
    // SAFETY: as above.
    let mut made = core::iter::successors(first, |action| unsafe { action.next.as_ref() });
    let same = |action: &&Action| {
        action.signal == signal && action.handler == handler && action.mask == mask && action.flags == flags
    };
    if let Some(action) = made.find(same) {
        return Some(action);
    }
    let place = room_for_an_action()?;
    let next = MADE.load() as *const Action;
    // SAFETY: unused room for an action, which nobody else knows: the caller holds the lock.
    unsafe { place.write(Action { handler, mask, flags, signal, next }) };
    MADE.store(place as u64);
    // SAFETY: just written, and from now on never changed.
    unsafe { place.as_ref() }
}

/// Room for one more action. Mapped in pages, as `sigaction` must not call the allocator. The caller holds the lock.
fn room_for_an_action() -> Option<*mut Action> {
    const ROOM: usize = 4096 / size_of::<Action>();
    static PAGE: Word64 = Word64::new(0);
    static USED: Word32 = Word32::new(ROOM as u32);
    if USED.load() as usize == ROOM {
        PAGE.store(threads::map_page() as u64);
        USED.store(0);
    }
    let page = PAGE.load() as *mut Action;
    if page.is_null() {
        USED.store(ROOM as u32);
        return None;
    }
    let used = USED.load();
    USED.store(used + 1);
    Some(page.wrapping_add(used as usize))
}

/// The program's `sigaction`.
///
/// # Safety
/// As for the C library's function.
pub(crate) unsafe fn sigaction(signal: c_int, new: *const libc::sigaction, old: *mut libc::sigaction) -> c_int {
    if !active() {
        // SAFETY: the caller's promise.
        let result = unsafe { next::sigaction(signal, new, old) };
        // Another thread may have wrapped all handlers between the test and the call.
        if active() && !new.is_null() && result == 0 {
            one_at_a_time(|| wrap(signal));
        }
        return result;
    }
    // SAFETY: null or the caller's valid action.
    let wanted = unsafe { new.as_ref() };
    let mut before = None;
    let result = one_at_a_time(|| {
        let Some(in_kernel) = query(signal) else { return -1 };
        before = Some(as_program_sees(signal, in_kernel));
        match wanted {
            None => 0,
            // SAFETY: the caller's valid action.
            Some(wanted) if threads::borrows_memory() => unsafe {
                next::sigaction(signal, wanted, core::ptr::null_mut())
            },
            Some(wanted) => set(signal, wanted),
        }
    });
    if let (0, Some(before), false) = (result, before, old.is_null()) {
        // SAFETY: the caller's place for the answer.
        unsafe { old.write(before) };
    }
    result
}

/// A2: runs a change alone, with signals blocked.
fn one_at_a_time<R>(change: impl FnOnce() -> R) -> R {
    let mask = signals::block();
    let result = if threads::borrows_memory() { change() } else { CHANGES.with(change) };
    signals::restore(mask);
    result
}

/// The kernel's action with the trampoline replaced by what it stands for.
fn as_program_sees(signal: c_int, mut in_kernel: libc::sigaction) -> libc::sigaction {
    if in_kernel.sa_sigaction == trampoline() {
        const RESTORER: c_int = 0x0400_0000;
        let action = of(signal);
        in_kernel.sa_sigaction = action.handler;
        in_kernel.sa_flags = action.flags | in_kernel.sa_flags & RESTORER;
        *first_word(&mut in_kernel.sa_mask) = action.mask;
    }
    in_kernel
}

/// Does what the program wants of a signal that was delivered to the trampoline: calls its handler with the mask that
/// it asked for, or what the kernel would do. The handler may never return; this frame has no destructors.
///
/// # Safety
/// The arguments of the trampoline, which runs with asynchronous signals blocked.
pub(crate) unsafe fn perform(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let action = take(signal);
    if !has_handler(action.handler) {
        // SAFETY: the caller's promise.
        unsafe { do_default(signal, info, action) };
        return;
    }
    // SAFETY: the kernel's context.
    let mut mask = signals::mask_before(unsafe { &mut *context.cast() }) | action.mask;
    if action.flags & libc::SA_NODEFER == 0 {
        mask |= bit(signal);
    }
    let record = threads::current();
    let before = record.map_or(0, |record| record.faults_blocked.load());
    if let Some(record) = record {
        signals::note_mask(record, mask);
    }
    signals::restore(mask);
    // SAFETY: the program's handler; where it takes the number alone, the other registers do no harm, as the kernel
    // itself fills them for every handler.
    unsafe {
        let handler: extern "C-unwind" fn(c_int, *mut libc::siginfo_t, *mut c_void) =
            core::mem::transmute(action.handler);
        handler(signal, info, context);
    }
    if let Some(record) = record {
        record.faults_blocked.store(before);
    }
}

/// The action for one delivery. With `SA_RESETHAND` the default is in force from here on, and nobody else gets it.
fn take(signal: c_int) -> &'static Action {
    let action = of(signal);
    if action.flags & libc::SA_RESETHAND == 0 || !has_handler(action.handler) {
        return action;
    }
    CHANGES.with(|| {
        let action = of(signal);
        if action.flags & libc::SA_RESETHAND != 0 && has_handler(action.handler) {
            // SAFETY: all bytes zero is the default action.
            set(signal, &unsafe { core::mem::zeroed() });
        }
        action
    })
}

/// The kernel's part, for a signal that has no handler (any more).
///
/// # Safety
/// `info` is what the trampoline was given.
unsafe fn do_default(signal: c_int, info: *mut libc::siginfo_t, action: &Action) {
    // SAFETY: the caller's promise.
    let (fault, information) = unsafe { ((*info).si_code > 0, &*info.cast()) };
    if action.handler == libc::SIG_IGN && !fault {
        return;
    }
    if always_wrapped(signal) {
        // SAFETY: all bytes zero is the default action.
        unsafe { next::sigaction(signal, &core::mem::zeroed(), core::ptr::null_mut()) };
    }
    // A fault happens again as soon as this returns; another signal is sent again. Either then meets the default.
    if !fault {
        signals::send_to_self(signal, information);
    }
}

/// Signals for which `siginterrupt` turned restarting off.
static INTERRUPTING: Word64 = Word64::new(0);

/// The family of `signal`: installs a handler with these flags and returns the one before, or `SIG_ERR`.
pub(crate) fn replace_handler(signal: c_int, handler: usize, mask: Mask, flags: c_int) -> usize {
    if handler == libc::SIG_ERR || !(1..=SIGNALS).contains(&signal) {
        crate::fail(libc::EINVAL);
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
