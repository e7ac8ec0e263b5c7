// SPDX-License-Identifier: MIT OR Apache-2.0
//! The signal that a forbidden access raises, and the chain of its handlers.
//!
//! A process has one handler for it. Code that installs one keeps the previous one ([`Before`]) and passes on every
//! signal that is not its own.

use std::io;

use crate::Here;

/// A system's information about a forbidden access.
pub trait ForbiddenAccess {
    /// The signal that it raises.
    const SIGNAL: libc::c_int;

    /// Does what [`Signal::is_store`] does.
    ///
    /// # Safety
    /// The context is one that the kernel gave to a handler of that signal, which has not returned.
    unsafe fn is_store(context: *const libc::c_void) -> Option<bool>;
}

/// [`ForbiddenAccess::SIGNAL`].
const SIGNAL: libc::c_int = <Here as ForbiddenAccess>::SIGNAL;

/// The kernel's information about a signal.
pub type Info = libc::siginfo_t;

/// The arguments of a handler.
#[derive(Clone, Copy)]
pub struct Signal {
    number: libc::c_int,
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
}

/// A signal handler for `SA_SIGINFO`.
pub type Handler = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);

/// What the program had installed before.
#[derive(Clone, Copy)]
pub struct Before(libc::sigaction);

impl Signal {
    /// A number that no other signal that is being handled now has.
    pub fn identity(&self) -> u64 {
        self.context as u64
    }

    /// As the kernel passed it.
    ///
    /// # Safety
    /// The three values are those that a handler with `SA_SIGINFO` was called with, and it has not returned.
    pub unsafe fn new(number: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) -> Signal {
        Signal { number, info, context }
    }

    /// The address that was accessed, if the kernel raised the signal because of an access.
    pub fn address(&self) -> Option<usize> {
        // SAFETY: the information is the kernel's, valid while the handler runs (`new`); the address is a field that a
        // signal with a positive code has.
        unsafe { ((*self.info).si_code > 0).then(|| (*self.info).si_addr() as usize) }
    }

    /// Returns whether the access was a store that page protection forbade; none if unknown.
    pub fn is_store(&self) -> Option<bool> {
        // SAFETY: the context is the kernel's, valid while the handler runs (`new`).
        unsafe { Here::is_store(self.context) }
    }
}

/// Installs `handler` for the signal, with every other signal blocked while it runs, on the alternate stack if the
/// thread has one. Returns the previous action; none if `handler` was already installed.
pub fn install(handler: Handler) -> io::Result<Option<Before>> {
    let current = current()?;
    if current.sa_sigaction == handler as usize {
        return Ok(None);
    }
    // SAFETY: sigaction is made of integers, for which zero is a value; sigfillset fills a valid set.
    let mut new: libc::sigaction = unsafe { core::mem::zeroed() };
    new.sa_sigaction = handler as usize;
    new.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
    // SAFETY: as above.
    unsafe { libc::sigfillset(&mut new.sa_mask) };
    let mut before = current;
    // SAFETY: both are valid; the handler has the signature that SA_SIGINFO asks for.
    match unsafe { libc::sigaction(SIGNAL, &new, &mut before) } {
        0 => Ok(Some(Before(before))),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Returns whether `handler` is currently installed.
pub fn is_installed(handler: Handler) -> bool {
    current().is_ok_and(|current| current.sa_sigaction == handler as usize)
}

fn current() -> io::Result<libc::sigaction> {
    let mut current = core::mem::MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: without a new action the call only writes the current one, whole when it returns 0.
    unsafe {
        match libc::sigaction(SIGNAL, core::ptr::null(), current.as_mut_ptr()) {
            0 => Ok(current.assume_init()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

impl Before {
    /// The action of a program that installed nothing.
    pub fn nothing() -> Before {
        // SAFETY: sigaction is made of integers; all zero is the default action.
        Before(unsafe { core::mem::zeroed() })
    }

    /// Handles the signal as if ntux did not exist. Async-signal-safe, if the previous handler is.
    ///
    /// A program without a handler dies as it would have: this restores the default action, and the access, which is
    /// retried when our handler returns, raises the signal once more.
    pub fn handle(&self, signal: Signal) {
        let action = &self.0;
        match action.sa_sigaction {
            libc::SIG_DFL | libc::SIG_IGN => {
                // SAFETY: an action of integers; the default needs no function.
                unsafe {
                    let default: libc::sigaction = core::mem::zeroed();
                    libc::sigaction(signal.number, &default, core::ptr::null_mut());
                }
            }
            function => with_mask_of(action, || {
                if action.sa_flags & libc::SA_SIGINFO != 0 {
                    // SAFETY: with this flag the program promised the kernel a function of this type.
                    let function: Handler = unsafe { core::mem::transmute(function) };
                    function(signal.number, signal.info, signal.context);
                } else {
                    // SAFETY: without it, one of this type.
                    let function: extern "C" fn(libc::c_int) = unsafe { core::mem::transmute(function) };
                    function(signal.number);
                }
            }),
        }
    }
}

/// Runs the program's handler with the program's signal mask, not with ours.
fn with_mask_of(action: &libc::sigaction, run: impl FnOnce()) {
    let mut ours = core::mem::MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: valid sets; the first call fills `ours`, which the last one reads.
    unsafe {
        let mut theirs = action.sa_mask;
        if action.sa_flags & libc::SA_NODEFER == 0 {
            libc::sigaddset(&mut theirs, SIGNAL);
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, &theirs, ours.as_mut_ptr());
        run();
        libc::pthread_sigmask(libc::SIG_SETMASK, ours.as_ptr(), core::ptr::null_mut());
    }
}

/// While this lives, no handler runs on this thread.
pub struct Blocked {
    before: libc::sigset_t,
}

impl Blocked {
    /// Blocks every signal on the calling thread.
    pub fn all() -> Blocked {
        let mut all = core::mem::MaybeUninit::<libc::sigset_t>::uninit();
        let mut before = core::mem::MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: the first call fills `all`; the second reads it and fills `before`; it cannot fail with these
        // arguments.
        unsafe {
            libc::sigfillset(all.as_mut_ptr());
            libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
            Blocked { before: before.assume_init() }
        }
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        // SAFETY: the set that was in force before.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.before, core::ptr::null_mut()) };
    }
}
