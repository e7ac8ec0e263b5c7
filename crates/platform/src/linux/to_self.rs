//! Signals of a thread to itself, with their information.

use core::ffi::c_void;

use libc::c_int;

use super::Linux;
use crate::contract::to_self::{Information, Mask, OwnSignals};

const _: () = assert!(size_of::<libc::siginfo_t>() == size_of::<Information>());

impl OwnSignals for Linux {
    /// 33 changes the identity of all threads.
    const OF_THE_LIBRARY: Mask = 1 << 32;

    fn send(signal: c_int, information: Option<&Information>) {
        // SAFETY: the thread's own numbers always exist; the kernel reads as many bytes as the information has.
        unsafe {
            let (process, thread) = (libc::getpid(), libc::syscall(libc::SYS_gettid));
            let queued = information.is_some_and(|information| {
                let information = core::ptr::from_ref(information);
                libc::syscall(libc::SYS_rt_tgsigqueueinfo, process, thread, signal, information) == 0
            });
            if !queued {
                libc::syscall(libc::SYS_tgkill, process, thread, signal);
            }
        }
    }

    unsafe fn block_in(context: *mut c_void, more: Mask) -> Mask {
        // SAFETY: the kernel's frame, by the contract, whose mask has 64 bits; nobody else uses it while the handler runs.
        let mask = unsafe { &mut *(&raw mut (*context.cast::<libc::ucontext_t>()).uc_sigmask).cast::<Mask>() };
        let before = *mask;
        *mask |= more;
        more & !before
    }

    fn set(mask: Mask) -> libc::sigset_t {
        let mut set = core::mem::MaybeUninit::<libc::sigset_t>::zeroed();
        // SAFETY: the first 64 bits of a set are the kernel's mask, the rest may be zero.
        unsafe {
            set.as_mut_ptr().cast::<Mask>().write(mask);
            set.assume_init()
        }
    }
}
