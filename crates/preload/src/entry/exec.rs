// SPDX-License-Identifier: MIT OR Apache-2.0
//! The functions that start another program.

use crate::c_library::next;
use crate::descriptors::starting::{Environment, Program, start, started_by_library};
use core::ffi::{c_char, c_int, c_void};
use libc::{AT_FDCWD, pid_t};

type Arguments = *const *const c_char;

unsafe extern "C" {
    static environ: Environment;
}

/// Handles descriptors that are inherited.
#[unsafe(no_mangle)]
#[unsafe(link_section = ".text.ntux_start")]
unsafe extern "C-unwind" fn execve(path: *const c_char, arguments: Arguments, variables: Environment) -> c_int {
    // SAFETY: the caller's own arguments.
    unsafe { start(Program::At(AT_FDCWD, path), variables, |variables| next::execve(path, arguments, variables)) }
}

/// Handles descriptors that are inherited.
#[unsafe(link_section = ".text.ntux_start")]
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn execv(path: *const c_char, arguments: Arguments) -> c_int {
    // SAFETY: the caller's own arguments, and the program's environment.
    unsafe {
        start(Program::At(AT_FDCWD, path), environ, |variables| match variables == environ {
            true => next::execv(path, arguments),
            false => next::execve(path, arguments, variables),
        })
    }
}

/// Handles descriptors that are inherited.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn execvpe(name: *const c_char, arguments: Arguments, variables: Environment) -> c_int {
    // SAFETY: the caller's own arguments.
    unsafe { start(Program::Named(name), variables, |variables| next::execvpe(name, arguments, variables)) }
}

/// Handles descriptors that are inherited.
#[unsafe(link_section = ".text.ntux_start")]
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn execvp(name: *const c_char, arguments: Arguments) -> c_int {
    // SAFETY: the caller's own arguments, and the program's environment.
    unsafe {
        start(Program::Named(name), environ, |variables| match variables == environ {
            true => next::execvp(name, arguments),
            false => next::execvpe(name, arguments, variables),
        })
    }
}

/// Handles descriptors that are inherited.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn fexecve(fd: c_int, arguments: Arguments, variables: Environment) -> c_int {
    let program = Program::At(fd, c"".as_ptr());
    // SAFETY: the caller's own arguments.
    unsafe { start(program, variables, |variables| next::fexecve(fd, arguments, variables)) }
}

/// Handles descriptors that are inherited.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn execveat(
    directory: c_int,
    path: *const c_char,
    arguments: Arguments,
    variables: Environment,
    flags: c_int,
) -> c_int {
    let go = |variables| {
        // SAFETY: the caller's own arguments.
        unsafe { next::execveat(directory, path, arguments, variables, flags) }
    };
    // SAFETY: as above.
    unsafe { start(Program::At(directory, path), variables, go) }
}

macro_rules! spawning {
    ($($name:ident: $program:expr;)*) => {
        $(
            /// Handles descriptors that are inherited.
            #[unsafe(no_mangle)]
            unsafe extern "C-unwind" fn $name(
                process: *mut pid_t,
                path: *const c_char,
                actions: *const c_void,
                attributes: *const c_void,
                arguments: Arguments,
                variables: Environment,
            ) -> c_int {
                let go = |variables| {
                    // SAFETY: the caller's own arguments.
                    unsafe { next::$name(process, path, actions, attributes, arguments, variables) }
                };
                // SAFETY: as above.
                unsafe { start($program(path), variables, go) }
            }
        )*
    };
}

spawning! {
    posix_spawn: |path| Program::At(AT_FDCWD, path);
    posix_spawnp: Program::Named;
}

interposed! {
    // The kernel counts what the program keeps: the C library does not call this library's functions to start it.
    fn system(command: *const c_char) -> c_int => |real| counted(real);
    fn popen(command: *const c_char, mode: *const c_char) -> *mut libc::FILE => |real| counted(real);
    fn wordexp(words: *const c_char, found: *mut c_void, flags: c_int) -> c_int => |real| counted(real);
}

#[inline(always)]
fn counted<R>(real: impl FnOnce() -> R) -> R {
    started_by_library();
    real()
}

/// Functions whose arguments stand in a list: `$implementation` gets the path and the list as an array, which ends with a null pointer.
/// The list is that array already but for what is passed in registers, which is put in front of the rest: in place of the
/// return address, which is kept behind.
macro_rules! listed {
    ($($name:ident => $implementation:ident;)*) => {
        $(
            /// Handles descriptors that are inherited.
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            unsafe extern "C" fn $name(path: *const c_char) -> c_int {
                #[cfg(target_arch = "x86_64")]
                core::arch::naked_asm!(
                    ".cfi_startproc",
                    "pop rax",
                    ".cfi_def_cfa_offset 0",
                    ".cfi_register rip, rax",
                    "push r9",
                    "push r8",
                    "push rcx",
                    "push rdx",
                    "push rsi",
                    ".cfi_def_cfa_offset 40",
                    "mov rsi, rsp",
                    "push rax",
                    ".cfi_def_cfa_offset 48",
                    ".cfi_offset rip, -48",
                    "call {go}",
                    "pop rdx",
                    ".cfi_def_cfa_offset 40",
                    ".cfi_register rip, rdx",
                    "add rsp, 40",
                    ".cfi_def_cfa_offset 0",
                    "push rdx",
                    ".cfi_def_cfa_offset 8",
                    ".cfi_offset rip, -8",
                    "ret",
                    ".cfi_endproc",
                    go = sym $implementation,
                );
                #[cfg(target_arch = "aarch64")]
                core::arch::naked_asm!(
                    ".cfi_startproc",
                    "sub sp, sp, #80",
                    ".cfi_def_cfa_offset 80",
                    "stp x29, x30, [sp]",
                    ".cfi_offset x29, -80",
                    ".cfi_offset x30, -72",
                    "mov x29, sp",
                    "str x1, [sp, #24]",
                    "stp x2, x3, [sp, #32]",
                    "stp x4, x5, [sp, #48]",
                    "stp x6, x7, [sp, #64]",
                    "add x1, sp, #24",
                    "bl {go}",
                    "ldp x29, x30, [sp]",
                    "add sp, sp, #80",
                    ".cfi_def_cfa_offset 0",
                    ".cfi_restore x29",
                    ".cfi_restore x30",
                    "ret",
                    ".cfi_endproc",
                    go = sym $implementation,
                );
            }
        )*
    };
}

listed! {
    execl => execv;
    execlp => execvp;
    execle => with_variables;
}

unsafe extern "C-unwind" fn with_variables(path: *const c_char, arguments: Arguments) -> c_int {
    let mut end = arguments;
    // SAFETY: the caller's own arguments: a list that ends with a null pointer, and the environment behind it.
    unsafe {
        while !(*end).is_null() {
            end = end.add(1);
        }
        execve(path, arguments, *end.add(1).cast::<Environment>())
    }
}
