// SPDX-License-Identifier: MIT OR Apache-2.0
//! Signals of a thread to itself, with their information.

use core::ffi::c_void;

use libc::{c_int, c_long};

use super::Linux;
use crate::contract::to_self::{Information, Mask, OwnSignals};

/// Where in the information the code stands (4 bytes).
pub const CODE: usize = 8;
/// Where it says who sent the signal (process and user, 4 bytes each).
pub const SENDER: usize = 16;

/// Marks a stand-in, where others have the sender's process (low half) and user: no process has so high a number. These two are
/// all that every layer between a sender and its handler leaves alone: an emulator of user programs drops what lies behind them,
/// and the kernel's own "no information" has zeros there.
pub const STAND_IN: u64 = 0x6e74_7578_2d64_7565;

/// As many bytes as the kernel reads of `siginfo_t`.
const WHOLE: usize = size_of::<libc::siginfo_t>() / size_of::<u64>();

/// The code of the information: above 0 if an instruction or the kernel caused the signal.
pub fn code(information: &Information) -> c_int {
    information[CODE / 8] as c_int
}

impl OwnSignals for Linux {
    /// 33 changes the identity of all threads.
    const OF_THE_LIBRARY: Mask = 1 << 32;

    const QUEUED_FROM: c_int = 32;

    fn send(signal: c_int, information: &Information) {
        if queue(signal, information) < 0 {
            // SAFETY: the thread's own numbers always exist.
            unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), libc::syscall(libc::SYS_gettid), signal) };
        }
    }

    /// With the code of `kill`: such a one is taken even if the queue is full.
    fn send_stand_in(signal: c_int) {
        queue(signal, &[signal as u64, libc::SI_USER as u64, STAND_IN, 0, 0, 0]);
    }

    /// One whose information got lost (the kernel had no memory for it) has zeros.
    #[inline]
    fn is_stand_in(information: &Information, expected: bool) -> bool {
        let sender = information[SENDER / 8];
        code(information) == libc::SI_USER && (sender == STAND_IN || (sender == 0 && expected))
    }

    unsafe fn block_in(context: *mut c_void, more: Mask) -> Mask {
        // SAFETY: the kernel's frame, by the contract, whose mask has 64 bits; nobody else uses it while the handler runs.
        let mask = unsafe { &mut *(&raw mut (*context.cast::<libc::ucontext_t>()).uc_sigmask).cast::<Mask>() };
        let before = *mask;
        *mask |= more;
        more & !before
    }

    /// The system call itself: the C library's function lets nobody change its own signals' bits, also not back.
    #[inline(always)]
    fn change(how: c_int, mask: Mask) -> Mask {
        let mut before: Mask = 0;
        // SAFETY: reads one mask and writes one. Handlers that this lets run may unwind: the function is a few instructions
        // with unwind information and nothing to clean up.
        unsafe { change_mask(how, &mask, &mut before) };
        before
    }
}

fn queue(signal: c_int, information: &Information) -> c_long {
    let mut whole = [0u64; WHOLE];
    whole[..information.len()].copy_from_slice(information);
    // SAFETY: the thread's own numbers always exist; the kernel reads as many bytes as `whole` has.
    unsafe {
        let (process, thread) = (libc::getpid(), libc::syscall(libc::SYS_gettid));
        libc::syscall(libc::SYS_rt_tgsigqueueinfo, process, thread, signal, whole.as_ptr())
    }
}

/// `rt_sigprocmask` in a frame of its own, with unwind information.
#[unsafe(naked)]
unsafe extern "C-unwind" fn change_mask(how: c_int, mask: *const Mask, before: *mut Mask) {
    #[cfg(target_arch = "x86_64")]
    core::arch::naked_asm!(
        ".cfi_startproc",
        "mov r10d, {length}",
        "mov eax, {number}",
        "syscall",
        "ret",
        ".cfi_endproc",
        length = const size_of::<Mask>(),
        number = const libc::SYS_rt_sigprocmask,
    );
    #[cfg(target_arch = "aarch64")]
    core::arch::naked_asm!(
        ".cfi_startproc",
        "mov x3, #{length}",
        "mov x8, #{number}",
        "svc #0",
        "ret",
        ".cfi_endproc",
        length = const size_of::<Mask>(),
        number = const libc::SYS_rt_sigprocmask,
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stand_in_is_known_by_code_and_sender_alone() {
        const RUBBISH: u64 = 0xaaaa_aaaa_aaaa_aaaa;
        let information =
            |code: i32, sender| [10, RUBBISH << 32 | u64::from(code as u32), sender, RUBBISH, RUBBISH, RUBBISH];
        for expected in [false, true] {
            assert!(Linux::is_stand_in(&information(libc::SI_USER, STAND_IN), expected));
            assert_eq!(Linux::is_stand_in(&information(libc::SI_USER, 0), expected), expected);
            for other in [(libc::SI_QUEUE, STAND_IN), (libc::SI_QUEUE, 0), (libc::SI_USER, 4711)] {
                assert!(!Linux::is_stand_in(&information(other.0, other.1), expected), "{other:?}");
            }
        }
    }
}
