// SPDX-License-Identifier: MIT OR Apache-2.0
//! The door: where the handlers of a thread's signals run, because the thread is in no queue there and nothing is half done.
//!
//! # Role
//! The kernel's driver takes a thread out of its wait before a handler runs. Here a handler that comes while its thread is *inside*
//! this library is *owed*: the wait in progress leaves all queues ([`Waiter::interrupt`]), all asynchronous signals are blocked in the
//! interrupted context, and the handler returns. The operation ends, with what it was granted before or with nothing. At the door
//! the thread sends itself the signal again and unblocks: the kernel runs the handler there, which may block for minutes, use
//! the library, and never return.
//!
//! This file is the mechanism; it has two faces. Each decides which handlers ask, and how a handler finds its thread's door:
//!
//! | | the drop-in device (`crates/preload/src/thread/signals.rs`) | explicit waiters (`crates/capi/src/waiter.rs`) |
//! | --- | --- | --- |
//! | who asks | a stub, in front of every handler | the program's handler, by `ntux_waiter_defer` |
//! | the mark of a thread inside | its stack pointer: others may have its thread pointer | how many brackets are open |
//! | a fault's signal, sent by `kill` | is owed | runs at once: the program counter tells a stub, but no C function, whose fault it is |
//! | an interrupted wait | starts again, or not, as the action's flags say | fails: the program starts it again |
//! | granted, and the handler never returns | is consumed, as by the driver | `ntux_waiter_give_back` |
//!
//! # Picture
//! ```text
//! inside    what marks the thread as inside; 0: outside
//! standing  address of the waiter of the wait in progress; 0: none
//! owed      the signal whose handler waits for the door; 0: none. With its information, and whether a wait starts again
//! blocked   what was blocked for the door that had not been
//! due       signals that were sent again at the door and have not arrived yet, one bit each; `kept`: their information
//! ```
//!
//! # Transitions
//! Only the thread itself and handlers that interrupt it use its door, so a handler's steps are one step for what it interrupted.
//!
//! | from | to | by |
//! | --- | --- | --- |
//! | outside | inside | [`Door::enter`] |
//! | inside, nothing owed | owed | [`Door::owe`]: one exchange of `owed`, then the rest. Handlers that interrupt that are put back |
//! | inside, one owed | the same, the other due | [`Door::defer`]. A handler that comes before another one has asked goes first, as the kernel stacks them |
//! | inside | outside | [`Door::leave`], which tells whether a handler is owed; then [`Door::open`] |
//! | outside, owed | due | [`Door::open`], which then unblocks |
//! | due | at rest | [`Door::receive`], in the handler's first instructions; [`Door::open`] for signals that are ignored since |
//!
//! # Why a stand-in
//! The kernel keeps one signal of a number (more only of real-time signals), drops information when its queue is full, and puts what
//! is sent again behind what is queued. So the thread keeps the information and sends a *stand-in*, which is never refused;
//! [`Door::receive`] replaces it. If a genuine signal of the number arrives first, it gets the information that is due, and becomes
//! due in turn. So nothing is lost or overtaken. (Where a system's signals carry no information, what arrives while one is due is
//! the stand-in: two signals of a number that meet at the door are one there.)
//!
//! # Invariants
//! * I-door-1: `inside` is written before anything of an operation and after everything of it. A handler that finds 0 runs at once.
//! * I-door-2: from the return of the outermost handler that was told to return until [`Door::open`] unblocks, every asynchronous signal is
//!   blocked. So nothing that a program sees runs between `leave` and `open`.
//! * I-door-3: `blocked` has no signal that the program itself blocks. So the door undoes what was done, whatever mask is in force;
//!   a context that a handler interrupted may be another handler's, whose end brings back the mask before.
//! * I-door-4: `kept` is used with all asynchronous signals blocked: at the end of [`Door::open`] they are not, but it only
//!   clears bits then. A signal has one place: who finds it due, or owed, sends the signal itself, which waits in the kernel.
//! * I-door-5: no frame on the stack at the door has a destructor.
//!
//! # A signal at each step of a wait
//! | the handler comes | then |
//! | --- | --- |
//! | before the waiter stands | it is owed; the wait sees that and does not begin ([`crate::Arena::wait_interruptibly`]) |
//! | before the wait is in a queue | the waiter is marked as interrupted; the wait ends where it would become visible |
//! | in a queue; before or in the futex call | the withdrawal changes the word that the call compares, so it does not sleep |
//! | granted | the withdrawal comes too late: the wait succeeds, then the handler runs |
//! | after the waiter stands no more | the handler runs at the door |
//!
//! # Order pairs
//! * O-door-1: `inside` | what the operation does: fences of the compiler in `enter` and `leave`; a handler runs on the same processor,
//!   or on one to which the kernel has moved the whole thread.
//! * O-door-2: `standing`, then the look at `owed` | `owed`, then the look at `standing`: one of the two sees the other.
//!
//! # Death
//! A door is memory of one thread. If the thread dies inside, the core ends what it did; a signal that it owed dies with it, as a
//! pending one does. If it dies at the door, in a handler, the wait before was withdrawn or had succeeded: nothing is left in
//! any queue. A thread that leaves a handler by a jump goes on with a door at rest.

use core::cell::UnsafeCell;
use core::ffi::{c_int, c_void};
use core::mem::offset_of;

use ntux_platform::atomic::{Ordering, Word32, Word64, compiler_fence};
use ntux_platform::to_self::{self, ASYNCHRONOUS, Information, Mask, SIG_BLOCK, SIG_SETMASK, SIG_UNBLOCK, bit};

use crate::protocol::waiter::Waiter;

/// What becomes of an interrupted wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Restart {
    /// As with `SA_RESTART`.
    Again,
    /// It fails.
    No,
}

/// A thread's door. All bytes zero is one at rest.
#[repr(C)]
pub struct Door {
    inside: Word64,
    standing: Word64,
    owed: Word32,
    restart: Word32,
    due: Word64,
    blocked: Word64,
    information: UnsafeCell<Information>,
    kept: UnsafeCell<[Information; 64]>,
}

impl Default for Door {
    fn default() -> Door {
        Door {
            inside: Word64::new(0),
            standing: Word64::new(0),
            owed: Word32::new(0),
            restart: Word32::new(0),
            due: Word64::new(0),
            blocked: Word64::new(0),
            information: UnsafeCell::default(),
            kept: UnsafeCell::new([Information::default(); 64]),
        }
    }
}

impl Door {
    /// Where the mark stands in a door, for handlers that are written in assembly.
    pub const INSIDE: usize = offset_of!(Door, inside);
    /// Where the bits of the signals that are due stand.
    pub const DUE: usize = offset_of!(Door, due);

    /// The thread goes inside. The mark is not 0.
    #[inline(always)]
    pub fn enter(&self, mark: u64) {
        self.inside.store(mark);
        compiler_fence(Ordering::SeqCst);
    }

    /// The thread leaves; the mark is 0 if it is outside now. Returns whether a handler is owed to it there: then [`Door::open`]
    /// comes next.
    #[inline(always)]
    pub fn leave(&self, mark: u64) -> bool {
        compiler_fence(Ordering::SeqCst);
        self.inside.store(mark);
        compiler_fence(Ordering::SeqCst);
        mark == 0 && self.is_owing()
    }

    /// The thread's mark; 0 if it is outside.
    #[inline(always)]
    pub fn mark(&self) -> u64 {
        self.inside.load()
    }

    /// The mark that a handler finds.
    #[inline(always)]
    pub fn found(&self) -> u64 {
        if cfg!(feature = "planted-door") { 0 } else { self.mark() }
    }

    /// Returns true if a handler waits for the door.
    #[inline(always)]
    pub fn is_owing(&self) -> bool {
        self.owed.load() != 0
    }

    /// A wait with this waiter begins: handlers withdraw it. Returns false if one is owed already.
    #[inline(always)]
    pub(crate) fn stand(&self, waiter: &Waiter) -> bool {
        self.standing.store(core::ptr::from_ref(waiter) as u64);
        compiler_fence(Ordering::SeqCst);
        !self.is_owing()
    }

    /// The wait has ended. (For a face: also if it panicked.)
    #[inline(always)]
    pub fn stand_down(&self) {
        self.standing.store(0);
    }

    /// A signal has come, and its handler asks in the program's own mask. Returns whether it must return at once: it comes again,
    /// or there was nothing to deliver. Otherwise it runs, with what `information` says now. Async-signal-safe, and other handlers may
    /// interrupt it, and leave it for good.
    ///
    /// # Safety
    /// The contract is that of [`Door::owe`].
    #[inline]
    pub unsafe fn answer(&self, signal: c_int, information: &mut Information, context: *mut c_void) -> bool {
        if self.expects(signal, information) {
            // SAFETY: the caller's promise.
            return unsafe { self.answer_blocked(signal, information, context) };
        }
        if self.found() == 0 {
            return false;
        }
        // SAFETY: the caller's promise.
        unsafe {
            self.owe(signal, information, context, Restart::No) || self.answer_blocked(signal, information, context)
        }
    }

    #[cold]
    unsafe fn answer_blocked(&self, signal: c_int, information: &mut Information, context: *mut c_void) -> bool {
        let before = to_self::change(SIG_BLOCK, ASYNCHRONOUS);
        let delivers = self.receive(signal, information);
        let inside = self.found() != 0;
        match (inside, delivers) {
            // SAFETY: the caller's promise.
            (true, true) => unsafe { self.defer(signal, information, context, Restart::No) },
            (true, false) if self.is_owing() => {
                // SAFETY: the caller's promise.
                unsafe { self.stay_shut(context, 0) };
            }
            (true, false) => {}
            (false, _) => {
                to_self::change(SIG_SETMASK, before);
            }
        }
        inside || !delivers
    }

    /// Returns true if [`Door::receive`] must see this signal.
    #[inline]
    fn expects(&self, signal: c_int, information: &Information) -> bool {
        let due = self.is_due(signal);
        due || to_self::is_stand_in(information, due)
    }

    /// Replaces the stand-in of a signal that is due. Returns false if there is nothing to deliver: the handler returns at once. All
    /// asynchronous signals are blocked.
    pub fn receive(&self, signal: c_int, information: &mut Information) -> bool {
        let due = self.is_due(signal);
        if to_self::is_stand_in(information, due) {
            if due {
                *information = self.kept(signal);
                self.due.fetch_and(!bit(signal));
            }
            return due;
        }
        if due {
            let genuine = core::mem::replace(information, self.kept(signal));
            self.keep(signal, &genuine);
            // A queue still holds the stand-in; without one the kernel has kept only one of the two.
            if !to_self::is_queued(signal) {
                to_self::send_stand_in(signal);
            }
        }
        true
    }

    /// The thread is inside, so the handler waits. Other handlers may interrupt this. Returns false, and does nothing, if another handler
    /// waits already.
    ///
    /// # Safety
    /// Called by a handler on the door's own thread, which then returns. `context` is its third argument.
    unsafe fn owe(&self, signal: c_int, information: &Information, context: *mut c_void, restart: Restart) -> bool {
        if self.owed.compare_exchange(0, signal as u32).is_err() {
            return false;
        }
        // Handlers that come from here on are put back, and touch nothing of this.
        self.restart.store(restart as u32);
        // SAFETY: this thread's own; nobody reads it before the door.
        unsafe { *self.information.get() = *information };
        // SAFETY: the caller's promise.
        unsafe { self.block(context, ASYNCHRONOUS) };
        // SAFETY: 0, or the waiter of the wait in progress on this thread, which outlives it.
        if let Some(waiter) = unsafe { (self.standing.load() as *const Waiter).as_ref() } {
            waiter.interrupt();
        }
        true
    }

    /// The thread is inside, so the handler waits and must return at once; if another handler waits already, this one follows. All
    /// asynchronous signals are blocked. Async-signal-safe.
    ///
    /// # Safety
    /// The contract is that of [`Door::owe`].
    pub unsafe fn defer(&self, signal: c_int, information: &Information, context: *mut c_void, restart: Restart) {
        // SAFETY: the caller's promise.
        unsafe {
            if !self.owe(signal, information, context, restart) {
                if self.stay_shut(context, bit(signal)) {
                    self.restart.store(restart as u32);
                }
                self.send_again(signal, information);
            }
        }
    }

    /// Blocks asynchronous signals, and these, in the context. Returns whether some were not: then the handler that waits came on top
    /// of this one before it asked, and this one interrupted the operation.
    ///
    /// # Safety
    /// The contract is that of [`Door::owe`].
    unsafe fn stay_shut(&self, context: *mut c_void, more: Mask) -> bool {
        // SAFETY: the caller's promise.
        unsafe { self.block(context, ASYNCHRONOUS | more) & ASYNCHRONOUS != 0 }
    }

    /// The signal comes again as soon as it is not blocked. All asynchronous signals are blocked, and this one in what the
    /// handler interrupted.
    pub fn send_again(&self, signal: c_int, information: &Information) {
        let is_owed = self.owed.load() == signal as u32;
        if is_owed || self.is_due(signal) {
            return to_self::send(signal, information);
        }
        self.keep(signal, information);
        to_self::send_stand_in(signal);
    }

    /// # Safety
    /// The contract is that of [`Door::owe`].
    unsafe fn block(&self, context: *mut c_void, more: Mask) -> Mask {
        // SAFETY: the caller's promise.
        let added = unsafe { to_self::block_in(context, more) };
        self.blocked.fetch_or(added);
        added
    }

    /// Runs the owed handler and those that were put back; may never return. The thread is outside, and no frame below has a
    /// destructor. Returns whether an interrupted wait starts again.
    #[cold]
    #[inline(never)]
    pub fn open(&self) -> Restart {
        let signal = self.owed.load() as c_int;
        let restart = if self.restart.load() == Restart::Again as u32 { Restart::Again } else { Restart::No };
        // SAFETY: this thread's own; signals are blocked, so nobody writes it now.
        self.keep(signal, unsafe { &*self.information.get() });
        to_self::send_stand_in(signal);
        self.owed.store(0);
        let blocked = self.blocked.load();
        self.blocked.store(0);
        to_self::change(SIG_UNBLOCK, blocked);
        // What is not blocked was delivered by now, unless the program has the signal ignored since.
        self.due.fetch_and(!blocked);
        restart
    }

    /// The door of a thread that is no more, for another one.
    pub fn forget(&self) {
        self.inside.store(0);
        self.standing.store(0);
        self.owed.store(0);
        self.due.store(0);
        self.blocked.store(0);
    }

    fn is_due(&self, signal: c_int) -> bool {
        self.due.load() & bit(signal) != 0
    }

    fn kept(&self, signal: c_int) -> Information {
        // SAFETY: this thread's own, used with asynchronous signals blocked (I-door-4).
        unsafe { (*self.kept.get())[(signal as usize - 1) % 64] }
    }

    /// The signal is due, with this information.
    fn keep(&self, signal: c_int, information: &Information) {
        // SAFETY: as in `kept`.
        unsafe { (*self.kept.get())[(signal as usize - 1) % 64] = *information };
        self.due.fetch_or(bit(signal));
    }
}

#[cfg(test)]
mod tests;
