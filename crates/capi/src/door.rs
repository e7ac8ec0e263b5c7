//! How a handler of signals may run while its thread is inside: not there, but at the *door*, where the thread is in no queue
//! and nothing is half done.
//!
//! The drop-in device does the same behind the program's back (`crates/preload/src/signals.rs`); here the embedding program's
//! handlers ask ([`Door::defer`]), with their own three arguments.
//!
//! # Transitions
//! | the handler finds the thread | then |
//! | --- | --- |
//! | outside | it runs |
//! | inside, nothing owed | the signal is *owed*: the wait in progress is withdrawn, all asynchronous signals are blocked in the interrupted context, the handler returns |
//! | inside, one owed already | it came in the handler of that one: it is sent again, blocked, and returns |
//! | inside, by a fault | it runs: the fault is ours, and would come again |
//!
//! At the door ([`Door::answer`]) the thread sends itself the owed signal with its information and unblocks: the
//! kernel runs the handlers there, in the order in which it keeps them. They may never return.
//!
//! # Rules
//! * D1: `inside` is written before anything of an operation and after everything of it, with a fence of the compiler.
//! * D2: from the handler's return to the door everything asynchronous is blocked in the kernel, so one signal at a time is owed.
//! * D3: the last step of the door is a call of the C library in a frame without destructors, of an interface that may unwind.
//!
//! # Death
//! A thread killed inside is the core's business. What it owed dies with it.

use core::cell::{Cell, UnsafeCell};
use core::ffi::{c_int, c_void};

use ntux_platform::atomic::{Ordering, Word32, Word64, compiler_fence};
use ntux_platform::to_self::{self, Information, Mask, OF_THE_LIBRARY};
use ntux_sync::Waiter;

const fn bit(signal: c_int) -> Mask {
    1 << (signal - 1)
}

/// Signals that an instruction can cause.
const FAULTS: Mask = bit(libc::SIGSEGV)
    | bit(libc::SIGBUS)
    | bit(libc::SIGILL)
    | bit(libc::SIGFPE)
    | bit(libc::SIGTRAP)
    | bit(libc::SIGSYS);
/// Never blocked: each is waited for.
const UNTOUCHED: Mask = FAULTS | OF_THE_LIBRARY;

/// Of one thread: whether it is inside, and which signal it owes.
pub struct Door {
    /// How many operations of this thread are in progress, one in the other.
    inside: Word32,
    /// Address of the waiter of the wait in progress; 0 for none.
    pub standing: Word64,
    /// 0: none.
    owed: Word32,
    /// What was blocked for it that had not been.
    blocked: Cell<Mask>,
    information: UnsafeCell<Information>,
    has_information: Cell<bool>,
}

impl Door {
    pub fn new() -> Door {
        Door {
            inside: Word32::new(0),
            standing: Word64::new(0),
            owed: Word32::new(0),
            blocked: Cell::new(0),
            information: UnsafeCell::new([0; 16]),
            has_information: Cell::new(false),
        }
    }

    #[inline(always)]
    pub fn enter(&self) {
        self.inside.store(self.inside.load() + 1);
        compiler_fence(Ordering::SeqCst);
    }

    /// Whether the thread is out now; if so, [`Door::answer`] comes next.
    #[inline(always)]
    pub fn leave(&self) -> bool {
        compiler_fence(Ordering::SeqCst);
        let left = self.inside.load().saturating_sub(1);
        self.inside.store(left);
        compiler_fence(Ordering::SeqCst);
        left == 0 && self.is_owing()
    }

    #[inline(always)]
    pub fn is_owing(&self) -> bool {
        self.owed.load() != 0
    }

    /// Whether an operation is in progress around this one.
    pub fn is_nested(&self) -> bool {
        self.inside.load() > 1
    }

    /// Whether the handler is to return at once.
    ///
    /// # Safety
    ///
    /// Called by a handler on the door's own thread with its own arguments; `information` may be null.
    pub unsafe fn defer(&self, signal: c_int, information: *const libc::siginfo_t, context: *mut c_void) -> bool {
        if self.inside.load() == 0 || bit(signal) & FAULTS != 0 {
            return false;
        }
        if self.is_owing() {
            // SAFETY: the handler's third argument.
            unsafe { self.block(context, bit(signal)) };
            // SAFETY: null, or the handler's second argument, which is as long as the kernel's.
            to_self::send(signal, unsafe { information.cast::<Information>().as_ref() });
            return true;
        }
        self.owed.store(signal as u32);
        self.blocked.set(0);
        self.has_information.set(!information.is_null());
        if !information.is_null() {
            // SAFETY: the kernel's information, and this thread's own copy, which nobody reads before the door.
            unsafe { self.information.get().cast::<u8>().copy_from(information.cast(), size_of::<libc::siginfo_t>()) };
        }
        // SAFETY: the handler's third argument.
        unsafe { self.block(context, !UNTOUCHED) };
        // SAFETY: 0, or the waiter of the wait in progress on this thread, which outlives it.
        if let Some(waiter) = unsafe { (self.standing.load() as *const Waiter).as_ref() } {
            waiter.interrupt();
        }
        true
    }

    /// Blocks these in an interrupted context. That may be a handler's, whose end brings back the mask of what it interrupted: so
    /// the door undoes what was done, and does not bring back a mask.
    ///
    /// # Safety
    ///
    /// `context` is the handler's third argument.
    unsafe fn block(&self, context: *mut c_void, more: Mask) {
        // SAFETY: by the contract.
        let added = unsafe { to_self::block_in(context, more) };
        self.blocked.set(self.blocked.get() | added);
    }

    /// Sends the owed signal; returns what to unblock so that its handler runs. The thread is outside.
    #[cold]
    pub fn answer(&self) -> Mask {
        let (signal, blocked) = (self.owed.load() as c_int, self.blocked.get());
        // SAFETY: this thread's own copy; a handler that could write it finds the signal owed still.
        let information = unsafe { *self.information.get() };
        let information = self.has_information.get().then_some(&information);
        self.owed.store(0);
        to_self::send(signal, information);
        blocked
    }
}

/// Unblocks these. Handlers run in here, and may leave for good (D3).
#[inline(always)]
pub fn open(blocked: Mask) {
    unsafe extern "C-unwind" {
        fn pthread_sigmask(how: c_int, set: *const libc::sigset_t, before: *mut libc::sigset_t) -> c_int;
    }
    let set = to_self::set(blocked);
    // SAFETY: the set is read, nothing else is.
    unsafe { pthread_sigmask(libc::SIG_UNBLOCK, &set, core::ptr::null_mut()) };
}
