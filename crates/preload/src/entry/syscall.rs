// SPDX-License-Identifier: MIT OR Apache-2.0
//! `syscall`, with which programs make system calls directly.

use super::closing::{close_all, counting_copy, is_copy, part, replacing};
use super::messages;
use crate::c_library::next::{self, How};
use crate::descriptors;
use crate::device::ioctl::requests::is_ours;
use crate::device::multiple::{Call, OPERATION};
use crate::device::{ioctl, opening};
use core::ffi::{c_char, c_int, c_long, c_uint};

/// Which system calls are examined, by their number.
static LOOKED_AT: [u8; HIGHEST as usize + 1] = {
    let mut table = [0; HIGHEST as usize + 1];
    let mut index = 0;
    while index < SERVED.len() {
        table[SERVED[index] as usize] = SERVE;
        index += 1;
    }
    table[libc::SYS_futex as usize] = FUTEX;
    let mut index = 0;
    while index < FORKS.len() {
        table[FORKS[index] as usize] = FORK;
        index += 1;
    }
    table
};
/// In [`LOOKED_AT`]: [`serve`] it.
const SERVE: u8 = 1;
/// In [`LOOKED_AT`]: it depends on the operation.
const FUTEX: u8 = 2;
/// In [`LOOKED_AT`]: it may make a process, and does not return here.
const FORK: u8 = 3;

#[cfg(target_arch = "x86_64")]
const FORKS: &[c_long] = &[libc::SYS_clone, libc::SYS_clone3, libc::SYS_fork];
#[cfg(target_arch = "aarch64")]
const FORKS: &[c_long] = &[libc::SYS_clone, libc::SYS_clone3];

/// The calls of [`serve`].
#[cfg(target_arch = "x86_64")]
const SERVED: &[c_long] = &[
    libc::SYS_open,
    libc::SYS_openat,
    libc::SYS_openat2,
    libc::SYS_ioctl,
    libc::SYS_close,
    libc::SYS_close_range,
    libc::SYS_dup,
    libc::SYS_dup2,
    libc::SYS_dup3,
    libc::SYS_fcntl,
    libc::SYS_sendmsg,
    libc::SYS_sendmmsg,
    libc::SYS_recvmsg,
    libc::SYS_recvmmsg,
    libc::SYS_unshare,
    libc::SYS_pidfd_getfd,
];
/// The calls of [`serve`].
#[cfg(target_arch = "aarch64")]
const SERVED: &[c_long] = &[
    libc::SYS_openat,
    libc::SYS_openat2,
    libc::SYS_ioctl,
    libc::SYS_close,
    libc::SYS_close_range,
    libc::SYS_dup,
    libc::SYS_dup3,
    libc::SYS_fcntl,
    libc::SYS_sendmsg,
    libc::SYS_sendmmsg,
    libc::SYS_recvmsg,
    libc::SYS_recvmmsg,
    libc::SYS_unshare,
    libc::SYS_pidfd_getfd,
];
const HIGHEST: c_long = libc::SYS_pidfd_getfd;

/// Serves `FUTEX_WAIT_MULTIPLE`, with `FUTEX_PRIVATE_FLAG` or without, and the calls that concern descriptors.
///
/// Everything else goes to the real function by a jump, with all registers and the stack unchanged, because the
/// arguments of a system call are unknown, and some calls (`vfork`, `clone`) return twice to the caller.
#[unsafe(no_mangle)]
#[unsafe(naked)]
unsafe extern "C-unwind" fn syscall(
    number: c_long,
    first: usize,
    second: usize,
    third: usize,
    fourth: usize,
    fifth: usize,
    sixth: usize,
) -> c_long {
    #[cfg(target_arch = "x86_64")]
    core::arch::naked_asm!(
        ".cfi_startproc",
        "cmp rdi, {highest}",
        "ja 2f",
        "lea r11, [rip + {looked_at}]",
        "movzx r11d, byte ptr [r11 + rdi]",
        "test r11d, r11d",
        "jz 2f",
        "cmp r11d, {serve_it}",
        "je {serve}",
        "cmp r11d, {fork}",
        "je 3f",
        "mov r11d, edx",
        "and r11d, {command}",
        "cmp r11d, {multiple}",
        "je {wait_multiple}",
        "2:",
        "mov r11, qword ptr [rip + {next}]",
        "test r11, r11",
        "jz {bare}",
        "jmp r11",
        "3:",
        "mov dword ptr [rip + {forked_unseen}], 1",
        "jmp 2b",
        ".cfi_endproc",
        highest = const HIGHEST,
        looked_at = sym LOOKED_AT,
        serve_it = const SERVE,
        fork = const FORK,
        forked_unseen = sym descriptors::FORKED_UNSEEN,
        serve = sym serve,
        command = const !libc::FUTEX_PRIVATE_FLAG,
        multiple = const OPERATION,
        wait_multiple = sym wait_multiple,
        next = sym next::SYSCALL,
        bare = sym next::bare_syscall,
    );
    #[cfg(target_arch = "aarch64")]
    core::arch::naked_asm!(
        ".cfi_startproc",
        "cmp x0, {highest}",
        "b.hi 2f",
        "adrp x16, {looked_at}",
        "add x16, x16, :lo12:{looked_at}",
        "ldrb w16, [x16, x0]",
        "cbz w16, 2f",
        "cmp w16, {fork}",
        "b.eq 5f",
        "cmp w16, {serve_it}",
        "b.ne 4f",
        "b {serve}",
        "4:",
        "and w16, w2, {command}",
        "cmp w16, {multiple}",
        "b.ne 2f",
        "b {wait_multiple}",
        "2:",
        "adrp x16, {next}",
        "ldr x16, [x16, :lo12:{next}]",
        "cbz x16, 3f",
        "br x16",
        "3:",
        "b {bare}",
        "5:",
        "mov w17, 1",
        "adrp x16, {forked_unseen}",
        "str w17, [x16, :lo12:{forked_unseen}]",
        "b 2b",
        ".cfi_endproc",
        highest = const HIGHEST,
        looked_at = sym LOOKED_AT,
        serve_it = const SERVE,
        fork = const FORK,
        forked_unseen = sym descriptors::FORKED_UNSEEN,
        serve = sym serve,
        command = const !libc::FUTEX_PRIVATE_FLAG,
        multiple = const OPERATION,
        wait_multiple = sym wait_multiple,
        next = sym next::SYSCALL,
        bare = sym next::bare_syscall,
    );
}

/// Serves the call here, or returns the kernel's answer.
unsafe extern "C-unwind" fn wait_multiple(
    number: c_long,
    blocks: usize,
    operation: usize,
    count: usize,
    timeout: usize,
    fifth: usize,
    sixth: usize,
) -> c_long {
    let call = Call { blocks, operation: operation as c_int, count: count as u32, timeout };
    // SAFETY: the caller's own arguments.
    call.serve().unwrap_or_else(|| unsafe { next::syscall(number, blocks, operation, count, timeout, fifth, sixth) })
}

/// Does what the interposed function of the same name does. Other calls go to the kernel by the caller's number; unlike
/// those functions this is never a cancellation point.
unsafe extern "C-unwind" fn serve(
    number: c_long,
    first: usize,
    second: usize,
    third: usize,
    fourth: usize,
    fifth: usize,
    sixth: usize,
) -> c_long {
    // SAFETY: the caller's own arguments.
    let real = || unsafe { next::syscall(number, first, second, third, fourth, fifth, sixth) };
    let descriptor = || real() as c_int;
    let fd = first as c_int;
    match number {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        libc::SYS_open => unsafe {
            opening::open(libc::AT_FDCWD, first as *const c_char, second as c_int, descriptor).into()
        },
        // SAFETY: as above.
        libc::SYS_openat => unsafe { opening::open(fd, second as *const c_char, third as c_int, descriptor).into() },
        libc::SYS_openat2 => {
            let how = third as *const How;
            // SAFETY: as above.
            unsafe { opening::open_how(fd, second as *const c_char, how, descriptor).into() }
        }
        libc::SYS_ioctl => {
            let request = second as u32;
            let served = if is_ours(request) { ioctl::serve(fd, request, third) } else { None };
            served.map_or_else(real, c_long::from)
        }
        libc::SYS_close => descriptors::released_by(fd, false, real),
        libc::SYS_close_range => close_all(first as c_uint, second as c_uint, third as c_int, real),
        libc::SYS_dup => counting_copy(fd, real),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_dup2 => replacing(fd, second as c_int, real),
        libc::SYS_dup3 => replacing(fd, second as c_int, real),
        libc::SYS_fcntl if is_copy(second as c_int) => counting_copy(fd, real),
        libc::SYS_sendmsg => messages::send(fd, second, real),
        libc::SYS_sendmmsg => messages::send_many(fd, second, third as c_uint, real),
        libc::SYS_recvmsg => messages::receive(second, third as c_int, real),
        libc::SYS_recvmmsg => messages::receive_many(second, fourth as c_int, real),
        libc::SYS_pidfd_getfd => messages::take(real),
        libc::SYS_unshare => {
            part(fd);
            real()
        }
        _ => real(),
    }
}
