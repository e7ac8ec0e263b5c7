// SPDX-License-Identifier: MIT OR Apache-2.0
//! The C library's functions that a preloaded library calls itself, each found at its first use.
//!
//! The loader binds what a library imports when it loads it, at some 800 instructions for each function, also where the
//! process never comes to call it. So the library contains a *stub* of each such function, under the function's name but
//! hidden, and the linker binds all calls to it, also those of the standard library:
//!
//! * The stub jumps to where its *slot* says.
//! * If the slot is 0, it keeps the argument registers and calls [`bind`], which looks the function up and writes the slot.
//!
//! A stub has no frame, needs no thread-local storage, and changes only registers that a call may change, so it may be
//! interrupted and unwound like the call itself.
//!
//! Functions whose text the loader chooses by the processor (`memcpy`) stay imports. So do one function of each library that
//! may have to be loaded for the others: up to glibc 2.33 `pthread_create` and `dlsym` are in libraries of their own.

use super::loader::Found;
use super::noted::noted;
use crate::atomic::Word64;
use core::ffi::{CStr, c_char, c_int};

/// Finds the function that a stub stands for, and writes its slot.
///
/// # Safety
/// A stub's slot, and its name, which ends with a zero.
pub unsafe extern "C-unwind" fn bind(slot: &Word64, name: *const c_char) -> usize {
    // SAFETY: the caller's promise.
    let address = find(unsafe { CStr::from_ptr(name) });
    slot.store(address as u64);
    address
}

/// Binds all stubs, for a constructor, if functions cannot be found later without the loader.
///
/// # Safety
/// The stubs' slots, and as many names, one after the other.
pub unsafe fn bind_all(slots: &[Word64], names: *const c_char) {
    if noted().is_some() {
        return;
    }
    let mut name = names;
    for slot in slots {
        // SAFETY: the caller's promise.
        unsafe {
            bind(slot, name);
            name = name.add(CStr::from_ptr(name).count_bytes() + 1);
        }
    }
}

fn find(name: &CStr) -> usize {
    // SAFETY: the name of a function: ASCII.
    let text = unsafe { core::str::from_utf8_unchecked(name.to_bytes_with_nul()) };
    if let Some(Found::At(address)) = noted().map(|noted| noted.any(text)) {
        return address;
    }
    // SAFETY: the name ends with a zero; asking for a symbol has no other precondition.
    let found = unsafe { super::dlsym()(libc::RTLD_DEFAULT, name.as_ptr()) };
    if found.is_null() { absent as *const () as usize } else { found as usize }
}

/// In place of a function that the C library lacks.
extern "C" fn absent() -> c_int {
    crate::set_errno(libc::ENOSYS);
    -1
}

/// Declares stubs of these functions, and `bind_late`, which binds them for a constructor if they cannot be found later.
#[macro_export]
macro_rules! late_functions {
    ($($name:ident)*) => {
        core::arch::global_asm!(
            $crate::late_stub!(),
            $(concat!("ntux_late ", stringify!($name)),)*
            ".purgem ntux_late",
            bind = sym $crate::interposition::next::bind,
        );

        /// Binds the stubs, if they cannot be bound at their first use.
        pub(crate) fn bind_late() {
            const COUNT: usize = [$(stringify!($name)),*].len();
            unsafe extern "C" {
                static ntux_late_slots: [$crate::atomic::Word64; COUNT];
                static ntux_late_names: core::ffi::c_char;
            }
            // SAFETY: the arrays that the macro of the assembler wrote, an element for each name.
            unsafe { $crate::interposition::next::bind_all(&ntux_late_slots, &raw const ntux_late_names) };
        }
    };
}

/// The assembler's text of a stub, and of what all stubs jump to when they are called first.
#[cfg(target_arch = "x86_64")]
#[doc(hidden)]
#[macro_export]
macro_rules! late_stub {
    () => {
        "
        .pushsection .bss.ntux_late,\"aw\",@nobits
        .p2align 3
        .hidden ntux_late_slots
        .globl ntux_late_slots
        ntux_late_slots:
        .popsection
        .pushsection .rodata.ntux_late,\"a\",@progbits
        .hidden ntux_late_names
        .globl ntux_late_names
        ntux_late_names:
        .popsection
        .pushsection .text.ntux_start,\"ax\",@progbits
        .type ntux_late_bind,@function
        ntux_late_bind:
        .cfi_startproc
        push rax
        .cfi_adjust_cfa_offset 8
        push rdi
        .cfi_adjust_cfa_offset 8
        push rsi
        .cfi_adjust_cfa_offset 8
        push rdx
        .cfi_adjust_cfa_offset 8
        push rcx
        .cfi_adjust_cfa_offset 8
        push r8
        .cfi_adjust_cfa_offset 8
        push r9
        .cfi_adjust_cfa_offset 8
        mov rdi, r10
        mov rsi, r11
        call {bind}
        mov r11, rax
        pop r9
        .cfi_adjust_cfa_offset -8
        pop r8
        .cfi_adjust_cfa_offset -8
        pop rcx
        .cfi_adjust_cfa_offset -8
        pop rdx
        .cfi_adjust_cfa_offset -8
        pop rsi
        .cfi_adjust_cfa_offset -8
        pop rdi
        .cfi_adjust_cfa_offset -8
        pop rax
        .cfi_adjust_cfa_offset -8
        jmp r11
        .cfi_endproc
        .size ntux_late_bind, .-ntux_late_bind
        .popsection
        .macro ntux_late name
        .pushsection .bss.ntux_late,\"aw\",@nobits
        .Lntux_slot_\\name:
        .zero 8
        .popsection
        .pushsection .rodata.ntux_late,\"a\",@progbits
        .Lntux_name_\\name:
        .asciz \"\\name\"
        .popsection
        .pushsection .text.ntux_start,\"ax\",@progbits
        .hidden \\name
        .globl \\name
        .type \\name,@function
        \\name:
        .cfi_startproc
        mov r11, qword ptr [rip + .Lntux_slot_\\name]
        test r11, r11
        je 2f
        jmp r11
        2:
        lea r10, [rip + .Lntux_slot_\\name]
        lea r11, [rip + .Lntux_name_\\name]
        jmp ntux_late_bind
        .cfi_endproc
        .size \\name, .-\\name
        .popsection
        .endm"
    };
}

/// The assembler's text of a stub, and of what all stubs jump to when they are called first.
#[cfg(target_arch = "aarch64")]
#[doc(hidden)]
#[macro_export]
macro_rules! late_stub {
    () => {
        "
        .pushsection .bss.ntux_late,\"aw\",%nobits
        .p2align 3
        .hidden ntux_late_slots
        .globl ntux_late_slots
        ntux_late_slots:
        .popsection
        .pushsection .rodata.ntux_late,\"a\",%progbits
        .hidden ntux_late_names
        .globl ntux_late_names
        ntux_late_names:
        .popsection
        .pushsection .text.ntux_start,\"ax\",%progbits
        .p2align 2
        .type ntux_late_bind,%function
        ntux_late_bind:
        .cfi_startproc
        stp x29, x30, [sp, #-96]!
        .cfi_def_cfa_offset 96
        .cfi_offset x29, -96
        .cfi_offset x30, -88
        stp x0, x1, [sp, #16]
        stp x2, x3, [sp, #32]
        stp x4, x5, [sp, #48]
        stp x6, x7, [sp, #64]
        str x8, [sp, #80]
        mov x0, x16
        mov x1, x17
        bl {bind}
        mov x16, x0
        ldr x8, [sp, #80]
        ldp x6, x7, [sp, #64]
        ldp x4, x5, [sp, #48]
        ldp x2, x3, [sp, #32]
        ldp x0, x1, [sp, #16]
        ldp x29, x30, [sp], #96
        .cfi_def_cfa_offset 0
        .cfi_restore x29
        .cfi_restore x30
        br x16
        .cfi_endproc
        .size ntux_late_bind, .-ntux_late_bind
        .popsection
        .macro ntux_late name
        .pushsection .bss.ntux_late,\"aw\",%nobits
        .Lntux_slot_\\name:
        .zero 8
        .popsection
        .pushsection .rodata.ntux_late,\"a\",%progbits
        .Lntux_name_\\name:
        .asciz \"\\name\"
        .popsection
        .pushsection .text.ntux_start,\"ax\",%progbits
        .p2align 2
        .hidden \\name
        .globl \\name
        .type \\name,%function
        \\name:
        .cfi_startproc
        adrp x16, .Lntux_slot_\\name
        ldr x16, [x16, :lo12:.Lntux_slot_\\name]
        cbz x16, 2f
        br x16
        2:
        adrp x16, .Lntux_slot_\\name
        add x16, x16, :lo12:.Lntux_slot_\\name
        adrp x17, .Lntux_name_\\name
        add x17, x17, :lo12:.Lntux_name_\\name
        b ntux_late_bind
        .cfi_endproc
        .size \\name, .-\\name
        .popsection
        .endm"
    };
}
