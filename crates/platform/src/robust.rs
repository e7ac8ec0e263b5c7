//! A wake that the kernel owes when this thread dies.
//!
//! Linux walks a dying thread's *robust list*, and one field of its head names an operation in flight
//! (`list_op_pending`). If the futex word of that operation is zero at death, the kernel wakes one sleeper on it. So a
//! thread that is about to satisfy a waiter and to wake it names the waiter's word first: killed in between, the kernel
//! sends the wake. The C library owns the head; its own pending operation, if a signal handler finds one there, is put
//! back afterwards.
//!
//! What the kernel is told lies in the thread's own memory and names a word whose index was checked: whoever writes to the
//! shared memory decides at most what that one word holds.
//!
//! Where there is no robust list (macOS; Android's filter) the calls do nothing: a killed waker then delays that one
//! wake until somebody touches the object.

use std::marker::PhantomData;

use crate::without::Feature;

/// The head of one thread's robust list. Valid on that thread only.
#[derive(Clone, Copy)]
pub struct Head {
    head: *mut Fields,
    thread: PhantomData<*mut ()>,
}

#[repr(C)]
struct Fields {
    list: usize,
    futex_offset: isize,
    pending: usize,
}

/// A wake announced by [`Head::owe`]; take it back with [`Head::forget`].
#[must_use]
pub struct Owed(usize);

impl Head {
    /// The calling thread's head. One system call; not for a hot path.
    pub fn of_this_thread() -> Head {
        #[cfg(ntux_explore)]
        if crate::explore::current().is_some() {
            return Head::absent();
        }
        let head = if Feature::RobustList.is_left_out() { core::ptr::null_mut() } else { find() };
        Head { head, thread: PhantomData }
    }

    /// A head that does nothing.
    pub const fn absent() -> Head {
        Head { head: core::ptr::null_mut(), thread: PhantomData }
    }

    /// Whether wakes survive this thread's death.
    pub fn is_present(self) -> bool {
        !self.head.is_null()
    }

    /// From here on, if the thread dies and the word at `address` is zero then, one sleeper on it is woken.
    pub fn owe(self, address: *const u32) -> Owed {
        #[cfg(ntux_explore)]
        if let Some(scheduler) = crate::explore::current() {
            return Owed(scheduler.will(address as usize));
        }
        if self.head.is_null() {
            return Owed(0);
        }
        // SAFETY: the head is this thread's own (the type is not Send), registered with the kernel for the thread's
        // whole life; only this thread and, at its death, the kernel use it. Volatile, because the kernel reads it.
        unsafe {
            let fields = self.head;
            let before = (&raw const (*fields).pending).read_volatile();
            let offset = (&raw const (*fields).futex_offset).read();
            (&raw mut (*fields).pending).write_volatile((address as usize).wrapping_add_signed(-offset));
            Owed(before)
        }
    }

    /// Takes the announcement back: the wake has been sent, or is not owed.
    pub fn forget(self, owed: Owed) {
        #[cfg(ntux_explore)]
        if let Some(scheduler) = crate::explore::current() {
            scheduler.will(owed.0);
            return;
        }
        if self.head.is_null() {
            return;
        }
        // SAFETY: as in `owe`.
        unsafe { (&raw mut (*self.head).pending).write_volatile(owed.0) };
    }
}

#[cfg(target_os = "linux")]
fn find() -> *mut Fields {
    // The list of no such thread.
    static CALL: crate::deadly::Call = crate::deadly::Call::new(libc::SYS_get_robust_list, [usize::MAX, 0]);
    if CALL.is_deadly() {
        return core::ptr::null_mut();
    }
    let head = registered();
    #[cfg(target_env = "musl")]
    if head.is_null() {
        have_it_registered();
        return registered();
    }
    head
}

#[cfg(target_os = "linux")]
fn registered() -> *mut Fields {
    let mut head: *mut Fields = core::ptr::null_mut();
    let mut length = 0usize;
    // SAFETY: both places are valid for the answer; 0 names the calling thread.
    let result = unsafe { libc::syscall(libc::SYS_get_robust_list, 0, &mut head, &mut length) };
    let usable = result == 0 && length == size_of::<Fields>();
    if usable { head } else { core::ptr::null_mut() }
}

/// musl registers a thread's list when the thread first locks a robust mutex that processes share. One of our own would be replaced then.
#[cfg(target_env = "musl")]
fn have_it_registered() {
    // SAFETY: all bytes zero are places to initialize. Attributes and mutex are this frame's own, each is initialized
    // before it is used, and the mutex is unlocked, so in no list, before it goes.
    unsafe {
        let mut attributes: libc::pthread_mutexattr_t = core::mem::zeroed();
        let mut mutex: libc::pthread_mutex_t = core::mem::zeroed();
        libc::pthread_mutexattr_init(&mut attributes);
        libc::pthread_mutexattr_setrobust(&mut attributes, libc::PTHREAD_MUTEX_ROBUST);
        libc::pthread_mutexattr_setpshared(&mut attributes, libc::PTHREAD_PROCESS_SHARED);
        libc::pthread_mutex_init(&mut mutex, &attributes);
        if libc::pthread_mutex_lock(&mut mutex) == 0 {
            libc::pthread_mutex_unlock(&mut mutex);
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn find() -> *mut Fields {
    core::ptr::null_mut()
}
