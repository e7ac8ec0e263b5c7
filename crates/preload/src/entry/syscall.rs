//! `syscall`, the function by which programs make system calls that the C library has no function for.

use crate::multiple::{Call, OPERATION};
use crate::next;
use core::ffi::{c_int, c_long};

/// Serves `FUTEX_WAIT_MULTIPLE`, with `FUTEX_PRIVATE_FLAG` or without.
///
/// Everything else is left to the real function by a jump, with all registers and the stack as they came: nobody knows
/// what a system call takes, and some (`vfork`, `clone`) return twice to the caller.
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
        "cmp rdi, {futex}",
        "jne 2f",
        "mov r11d, edx",
        "and r11d, {command}",
        "cmp r11d, {multiple}",
        "je {serve}",
        "2:",
        "mov r11, qword ptr [rip + {next}]",
        "test r11, r11",
        "jz {bare}",
        "jmp r11",
        ".cfi_endproc",
        futex = const libc::SYS_futex,
        command = const !libc::FUTEX_PRIVATE_FLAG,
        multiple = const OPERATION,
        serve = sym wait_multiple,
        next = sym next::SYSCALL,
        bare = sym next::bare_syscall,
    );
    #[cfg(target_arch = "aarch64")]
    core::arch::naked_asm!(
        ".cfi_startproc",
        "cmp x0, {futex}",
        "b.ne 2f",
        "and w16, w2, {command}",
        "cmp w16, {multiple}",
        "b.ne 2f",
        "b {serve}",
        "2:",
        "adrp x16, {next}",
        "ldr x16, [x16, :lo12:{next}]",
        "cbz x16, 3f",
        "br x16",
        "3:",
        "b {bare}",
        ".cfi_endproc",
        futex = const libc::SYS_futex,
        command = const !libc::FUTEX_PRIVATE_FLAG,
        multiple = const OPERATION,
        serve = sym wait_multiple,
        next = sym next::SYSCALL,
        bare = sym next::bare_syscall,
    );
}

/// In this library, or as the kernel answers it.
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
