//! Why a signal handler of the program may run at any instruction, block for minutes, and never return.
//!
//! The real driver is immune: a signal takes the thread out of its wait before a handler runs. This library does the
//! same in user space. From the first use of the device on, the kernel calls a stub ([`crate::arrival`]) instead of the
//! program's handler ([`crate::actions`] keeps the program's view). The stub finds the thread
//!
//! * **outside** this library: the stub jumps to the program's handler, as if it did not exist;
//! * **inside**, by a fault (the instruction itself caused the signal): in the guarded copy execution continues at the
//!   landing; elsewhere the fault is the program's;
//! * **inside**, by any other signal: [`attend`] *owes* the handler. It takes the wait in progress out of all queues
//!   ([`ntux_sync::Waiter::interrupt`]), blocks all signals in the interrupted context and returns there. The operation
//!   ends, with what it was granted before or with nothing (a wait then checks its objects once more), and the thread
//!   reaches the [`door`].
//!
//! At the door nothing of ours is half done. The thread sends itself the signal it owes, and unblocks: the kernel runs
//! the handler there. If it returns, an interrupted wait starts again at the tail of the queues (`SA_RESTART`) or fails
//! with `EINTR`. If it never returns, nothing is lost: the frames on the stack below it have no destructors.
//!
//! # Rules
//! * S1: [`attend`] runs with all asynchronous signals blocked, so two of them never nest in it. Only faults, the C
//!   library's own signal and a fault's signal sent by `kill` may arrive in between; the last are deferred (S4). A
//!   signal that arrives in the stub of another, before that has blocked signals, is also deferred.
//! * S2: at most one signal is owed: from the stub's return to the door all others are blocked, in the kernel.
//! * S3: at the door the signal becomes *due*: its information is kept here, and a stand-in with [`STAND_IN`] is
//!   queued, which [`attend`] replaces. So nothing is lost if the kernel merges two signals with one number: if a
//!   genuine one comes first, it becomes due in turn.
//! * S4: a signal that may not be owed (S2) is blocked in the interrupted context and becomes due (S3).
//! * S5: the mask is restored by the last instruction before the handler ([`restore`]), in a frame without destructors.
//! * S6: a fault's signal that the program blocks is unblocked while inside; one sent by `kill` is deferred (S4).
//! * S7: the C library's signal for thread cancellation is treated like any other ([`crate::cancellation`]).
//!
//! # Interrupted at each step
//! Before `inside` is set and after it is cleared the handler runs directly, as if the signal had arrived before or
//! after the call. The same holds between clearing and the door, and the owed handler follows. The core handles a
//! thread killed at any step; what the thread owed dies with it.

use crate::actions::{self, Action};
use crate::arrival::{Attention, Context};
use crate::next;
use crate::threads::{self, Record};
use core::cell::UnsafeCell;
use core::ffi::c_int;
use core::mem::{MaybeUninit, size_of};
use ntux_platform::atomic::{Ordering, Word32, Word64, compiler_fence};
use ntux_sync::Waiter;

/// Signals, one bit each, as the kernel has them: bit `signal - 1`.
pub(crate) type Mask = u64;

pub(crate) const fn bit(signal: c_int) -> Mask {
    1 << (signal - 1)
}

/// Signals that an instruction can cause. If they were blocked, such a fault would kill the process.
pub(crate) const FAULTS: Mask = bit(libc::SIGSEGV)
    | bit(libc::SIGBUS)
    | bit(libc::SIGILL)
    | bit(libc::SIGFPE)
    | bit(libc::SIGTRAP)
    | bit(libc::SIGSYS);
/// Signals that the guarded copy can cause.
pub(crate) const GUARDED: Mask = bit(libc::SIGSEGV) | bit(libc::SIGBUS);
/// The signal with which the C library changes the identity of all threads. The C library handles it alone.
const IDENTITY: Mask = bit(33);
/// Signals that can arrive at any time: blocked while one is owed, and in [`attend`].
pub(crate) const ASYNCHRONOUS: Mask = !(FAULTS | IDENTITY | bit(libc::SIGKILL) | bit(libc::SIGSTOP));

/// The part of a signal's information that the kernel keeps: 48 bytes.
pub(crate) type Information = [u64; 6];
/// Where in it the code stands (4 bytes), and who sent it (process and user, 4 bytes each).
pub(crate) const CODE: usize = 8;
pub(crate) const SENDER: usize = 16;

/// Above 0 if an instruction or the kernel caused the signal.
pub(crate) fn code(information: &Information) -> c_int {
    information[CODE / 8] as c_int
}

/// Marks the stand-in of a due signal, where others have the sender's process (low half) and user: no process has so
/// high a number. These two are all that every layer between a sender and its handler leaves alone: an emulator of user
/// programs drops what lies behind them, and the kernel's own "no information" has zeros there.
pub(crate) const STAND_IN: u64 = 0x6e74_7578_2d64_7565;

/// Whether an interrupted call starts again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Restart {
    /// The handler has `SA_RESTART`.
    Again,
    /// It has not: `EINTR`.
    No,
}

/// The one signal whose handler waits for the door (S2).
pub(crate) struct Owed {
    signal: Word32,
    restart: Word32,
    mask: Word64,
    information: UnsafeCell<Information>,
}

impl Owed {
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.signal.load() == 0
    }

    pub(crate) fn clear(&self) {
        self.signal.store(0);
    }
}

/// The information of signals that were sent again at a door, until the kernel delivers their stand-ins (S3). Which
/// ones is in [`Record::due_signals`].
pub(crate) struct Due(UnsafeCell<[Information; 64]>);

impl Record {
    fn is_due(&self, signal: c_int) -> bool {
        self.due_signals.load() & bit(signal) != 0
    }

    /// The signal is not due yet: whoever delivers it takes it from here first.
    fn put_due(&self, signal: c_int, information: Information) {
        // SAFETY: only this thread uses it, and only with the signal itself blocked.
        unsafe { (*self.due.0.get())[signal as usize - 1] = information };
        self.due_signals.fetch_add(bit(signal));
    }

    /// The signal is due.
    fn take_due(&self, signal: c_int) -> Information {
        // SAFETY: as in `put_due`.
        let information = unsafe { (*self.due.0.get())[signal as usize - 1] };
        self.due_signals.fetch_add(bit(signal).wrapping_neg());
        information
    }
}

/// A signal has arrived and the thread is inside, or the signal may be due at its door (S1). Returns whether the stub
/// is to jump to the handler; the mask is the handler's then, and everything is blocked otherwise, until the stub
/// returns.
///
/// # Safety
/// Called by the stub.
pub(crate) unsafe extern "C" fn attend(attention: &Attention) -> bool {
    let (record, action, signal) = (attention.record, attention.action, attention.signal as c_int);
    // SAFETY: the kernel's frames, which nobody else uses before the handler runs. The innermost may be the signal's
    // own.
    let (information, machine, stack_pointer) =
        unsafe { (&mut *attention.information, &mut *attention.context, (*attention.innermost).stack_pointer()) };
    let inside = record.is_inside_at(stack_pointer) && !cfg!(feature = "planted");
    if !replace_stand_in(record, signal, information) {
        return false;
    }
    if !inside {
        let runs = actions::has_handler(action.handler) || !actions::do_default(signal, information, action);
        restore(attention.mask);
        return runs;
    }
    let nested = !core::ptr::eq(attention.innermost, attention.context);
    let is_blocked = record.faults_blocked.load() != 0 && bit(signal) & GUARDED != 0;
    if nested || is_blocked || !record.owed.is_empty() {
        put_back(record, signal, information, machine);
    } else if actions::take(action) {
        owe(record, signal, information, action, machine);
    } else {
        actions::do_default(signal, information, action);
    }
    false
}

/// S3: puts the due signal's information in place of its stand-in's. Returns false if there is nothing to deliver.
fn replace_stand_in(record: &Record, signal: c_int, information: &mut Information) -> bool {
    let due = record.is_due(signal);
    let (code, sender) = (code(information), information[SENDER / 8]);
    let bare = code == libc::SI_USER && sender == 0;
    if (code == libc::SI_USER && sender == STAND_IN) || (bare && due) {
        if due {
            *information = record.take_due(signal);
        }
        return due;
    }
    if due {
        let genuine = core::mem::replace(information, record.take_due(signal));
        record.put_due(signal, genuine);
        // A queue of real-time signals still holds the stand-in; of others the kernel kept only one.
        if signal < SIGRTMIN {
            send_to_self(signal, &stand_in(signal));
        }
    }
    true
}

/// The first signal of which the kernel queues more than one.
const SIGRTMIN: c_int = 32;

fn stand_in(signal: c_int) -> Information {
    // Layout of siginfo for `kill`: signal, error; code (SI_USER: such a one is always taken); process, user.
    [signal as u64, libc::SI_USER as u64, STAND_IN, 0, 0, 0]
}

/// S4. As at the door, it stays ahead of queued signals with its number, but not of one that is due, which would take
/// two handlers at one door.
fn put_back(record: &Record, signal: c_int, information: &Information, machine: &mut Context) {
    *machine.mask() |= bit(signal);
    if record.is_due(signal) {
        send_to_self(signal, information);
    } else {
        record.put_due(signal, *information);
        send_to_self(signal, &stand_in(signal));
    }
}

/// S2: the handler must wait.
fn owe(record: &Record, signal: c_int, information: &Information, action: &Action, machine: &mut Context) {
    // The signal's number is stored first: from here on a fault's signal that comes in between is put back.
    record.owed.signal.store(signal as u32);
    compiler_fence(Ordering::SeqCst);
    record.owed.restart.store(u32::from(action.flags & libc::SA_RESTART != 0));
    record.owed.mask.store(*machine.mask());
    // SAFETY: only this thread uses it, and nobody reads it before the door.
    unsafe { *record.owed.information.get() = *information };
    *machine.mask() |= ASYNCHRONOUS;
    // SAFETY: null, or the waiter of the wait in progress on this thread, which outlives it.
    if let Some(waiter) = unsafe { (record.waiting.load() as *const Waiter).as_ref() } {
        waiter.interrupt();
    }
}

/// Runs the owed handler; may never return. The caller is outside, and its frame has no destructors.
#[cold]
#[inline(never)]
pub(crate) fn door(record: &Record) -> Restart {
    let signal = record.owed.signal.load() as c_int;
    let restart = if record.owed.restart.load() != 0 { Restart::Again } else { Restart::No };
    let mask = record.owed.mask.load();
    // SAFETY: this thread's own; signals are blocked, so nobody writes it now.
    record.put_due(signal, unsafe { *record.owed.information.get() });
    record.owed.clear();
    send_to_self(signal, &stand_in(signal));
    restore(mask);
    // What is not blocked was delivered by now, unless another thread has the signal ignored since.
    record.due_signals.fetch_add((record.due_signals.load() & !mask).wrapping_neg());
    restart
}

/// Queues a signal with its information for this thread alone. Preserves the error number.
pub(crate) fn send_to_self(signal: c_int, information: &Information) {
    // SAFETY: this thread's own error number.
    let error = unsafe { *crate::errno() };
    queue_for_self(signal, information);
    // SAFETY: as above.
    unsafe { *crate::errno() = error };
}

/// As [`send_to_self`], but does not preserve the error number, which changes if the kernel has no room for the signal.
pub(crate) fn queue_for_self(signal: c_int, information: &Information) {
    let mut whole = MaybeUninit::<[u64; 16]>::zeroed();
    // SAFETY: the kernel reads 128 bytes, of which the first 48 are the information; the thread's own ids always exist.
    unsafe {
        whole.as_mut_ptr().cast::<Information>().write(*information);
        let process = next::syscall(libc::SYS_getpid, 0, 0, 0, 0, 0, 0) as usize;
        let thread = next::syscall(libc::SYS_gettid, 0, 0, 0, 0, 0, 0) as usize;
        next::syscall(libc::SYS_rt_tgsigqueueinfo, process, thread, signal as usize, whole.as_ptr() as usize, 0, 0);
    }
}

/// Notes a mask that the program sets for this thread.
pub(crate) fn note_mask(record: &Record, mask: Mask) {
    record.faults_blocked.store(u32::from(mask & GUARDED != 0));
}

/// Changes the thread's mask by `real`, which is passed where to put the one before, and takes note of the new one. The
/// kernel is asked for it only if the program had its argument overwritten: programs that change their mask at every
/// turn (Wine does) would pay for each such question.
///
/// # Safety
/// `new` and `old` are what the program calls the function with, `new` not null.
#[inline(always)]
pub(crate) unsafe fn changed_by_program(
    how: c_int,
    new: *const libc::sigset_t,
    old: *mut libc::sigset_t,
    real: impl FnOnce(*mut libc::sigset_t) -> c_int,
) -> c_int {
    let mut room = MaybeUninit::<libc::sigset_t>::uninit();
    let before = if old.is_null() { room.as_mut_ptr() } else { old };
    let result = real(before);
    if result == 0
        && let Some(record) = threads::current()
    {
        let overwritten = new.addr().abs_diff(before.addr()) < size_of::<Mask>();
        // SAFETY: the kernel has read the one and written the other.
        let (change_by, before) =
            unsafe { (new.cast::<Mask>().read_unaligned(), before.cast::<Mask>().read_unaligned()) };
        note_mask(record, if overwritten { change(libc::SIG_BLOCK, 0) } else { changed(how, before, change_by) });
    }
    result
}

/// The result of changing a mask.
fn changed(how: c_int, before: Mask, by: Mask) -> Mask {
    match how {
        libc::SIG_BLOCK => before | by,
        libc::SIG_UNBLOCK => before & !by,
        _ => by,
    }
}

/// Runs `work` with the fault signals unblocked, because the kernel kills a thread that faults while the fault's signal
/// is blocked. A program that blocks these signals pays two system calls for each operation. The note may be out of
/// date after a jump that restored a mask: a stale "blocked" is corrected here, a stale "unblocked" is not.
#[inline(always)]
pub(crate) fn with_faults<R>(record: &Record, work: impl FnOnce() -> R) -> R {
    if record.faults_blocked.load() == 0 { work() } else { with_faults_unblocked(record, work) }
}

#[cold]
fn with_faults_unblocked<R>(record: &Record, work: impl FnOnce() -> R) -> R {
    let blocked = change(libc::SIG_UNBLOCK, GUARDED) & GUARDED;
    let result = work();
    change(libc::SIG_BLOCK, blocked);
    record.faults_blocked.store(u32::from(blocked != 0));
    result
}

/// Blocks all asynchronous signals and returns the previous mask. Preserves the error number.
pub(crate) fn block() -> Mask {
    change(libc::SIG_BLOCK, ASYNCHRONOUS)
}

/// Sets the thread's mask. Handlers of signals that this unblocks run before it returns, if it ever does (S5).
#[inline(always)]
pub(crate) fn restore(mask: Mask) {
    change(libc::SIG_SETMASK, mask);
}

/// Changes the thread's mask and returns the previous one. Preserves the error number.
#[inline(always)]
pub(crate) fn change(how: c_int, mask: Mask) -> Mask {
    let mut before: Mask = 0;
    // SAFETY: reads one mask and writes one. Handlers that this lets run may unwind: the function is a few instructions
    // with unwind information and nothing to clean up.
    unsafe { ntux_change_mask(how, &mask, &mut before) };
    before
}

unsafe extern "C-unwind" {
    /// The system call itself, in a frame of its own.
    fn ntux_change_mask(how: c_int, mask: *const Mask, before: *mut Mask);
}

#[cfg(target_arch = "x86_64")]
core::arch::global_asm!(
    ".pushsection .text.ntux_change_mask,\"ax\",@progbits",
    ".p2align 4",
    ".globl ntux_change_mask",
    ".hidden ntux_change_mask",
    ".type ntux_change_mask,@function",
    "ntux_change_mask:",
    ".cfi_startproc",
    "mov r10d, 8",
    "mov eax, 14",
    "syscall",
    "ret",
    ".cfi_endproc",
    ".size ntux_change_mask, .-ntux_change_mask",
    ".popsection",
);

#[cfg(target_arch = "aarch64")]
core::arch::global_asm!(
    ".pushsection .text.ntux_change_mask,\"ax\",@progbits",
    ".p2align 4",
    ".globl ntux_change_mask",
    ".hidden ntux_change_mask",
    ".type ntux_change_mask,@function",
    "ntux_change_mask:",
    ".cfi_startproc",
    "mov x3, #8",
    "mov x8, #135",
    "svc #0",
    "ret",
    ".cfi_endproc",
    ".size ntux_change_mask, .-ntux_change_mask",
    ".popsection",
);

#[cfg(test)]
mod tests {
    use super::*;
    use core::ffi::c_void;
    use std::sync::Mutex;

    #[test]
    fn a_changed_mask_is_what_the_kernel_makes_of_it() {
        for how in [libc::SIG_BLOCK, libc::SIG_UNBLOCK, libc::SIG_SETMASK] {
            for by in [0, bit(libc::SIGBUS), bit(libc::SIGUSR1) | bit(libc::SIGBUS)] {
                let own = change(libc::SIG_SETMASK, bit(libc::SIGUSR1) | bit(libc::SIGUSR2));
                let before = change(how, by);
                let after = change(libc::SIG_SETMASK, own);
                assert_eq!(changed(how, before, by), after, "{how}, {by:#x}");
            }
        }
    }

    /// The handlers' numbers, in the order in which they ran.
    static RAN: Mutex<Vec<u64>> = Mutex::new(Vec::new());

    extern "C" fn note(_signal: c_int, info: *mut libc::siginfo_t, _context: *mut c_void) {
        // SAFETY: the kernel's information; the queued value is its fourth word.
        RAN.lock().unwrap().push(unsafe { (*info.cast::<Information>())[3] });
    }

    fn queued(signal: c_int, value: u64) -> Information {
        [signal as u64, libc::SI_QUEUE as u32 as u64, 0, value, 0, 0]
    }

    /// A thread that owes the first of these signals comes to the door while the others are pending already.
    fn handled(signal: c_int, values: &[u64]) -> Vec<u64> {
        // SAFETY: all bytes zero is a value; the handler takes what it is given.
        unsafe {
            let mut action: libc::sigaction = core::mem::zeroed();
            action.sa_sigaction = note as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO;
            assert_eq!(actions::sigaction(signal, &action, core::ptr::null_mut()), 0);
        }
        let record = threads::enter().unwrap();
        let mask = block();
        for value in &values[1..] {
            send_to_self(signal, &queued(signal, *value));
        }
        record.owed.signal.store(signal as u32);
        record.owed.restart.store(1);
        record.owed.mask.store(mask);
        // SAFETY: this thread's own record.
        unsafe { *record.owed.information.get() = queued(signal, values[0]) };
        assert_eq!(threads::leave(record), Some(Restart::Again));
        assert!(!record.is_due(signal) && record.owed.is_empty());
        std::mem::take(&mut RAN.lock().unwrap())
    }

    #[test]
    fn nothing_is_lost_or_overtaken_at_the_door() {
        actions::activate();
        assert_eq!(handled(libc::SIGUSR2, &[1]), [1]);
        assert_eq!(handled(libc::SIGUSR2, &[1, 2]), [1, 2], "the kernel keeps one of two, this library both");
        assert_eq!(handled(libc::SIGRTMIN(), &[1, 2, 3, 4]), [1, 2, 3, 4]);
    }
    #[test]
    fn a_stand_in_is_known_by_code_and_sender_alone() {
        const RUBBISH: u64 = 0xaaaa_aaaa_aaaa_aaaa;
        let signal = libc::SIGUSR1;
        let record = threads::enter().unwrap();
        let mask = block();
        for sender in [STAND_IN, 0] {
            record.put_due(signal, queued(signal, 5));
            let mut information = [signal as u64, RUBBISH << 32, sender, RUBBISH, RUBBISH, RUBBISH];
            assert!(replace_stand_in(record, signal, &mut information));
            assert_eq!(information, queued(signal, 5));
            assert!(!record.is_due(signal));
        }
        restore(mask);
        threads::leave(record);
    }
}
