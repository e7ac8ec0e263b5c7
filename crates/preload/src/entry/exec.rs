//! The functions that start another program.

use crate::next;
use crate::starting::{Environment, Program, start};
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

/// As `execve`.
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

/// As `execve`.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn execvpe(name: *const c_char, arguments: Arguments, variables: Environment) -> c_int {
    // SAFETY: the caller's own arguments.
    unsafe { start(Program::Named(name), variables, |variables| next::execvpe(name, arguments, variables)) }
}

/// As `execve`.
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

/// As `execve`.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn fexecve(fd: c_int, arguments: Arguments, variables: Environment) -> c_int {
    let program = Program::At(fd, c"".as_ptr());
    // SAFETY: the caller's own arguments.
    unsafe { start(program, variables, |variables| next::fexecve(fd, arguments, variables)) }
}

/// As `execve`.
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
            /// As `execve`.
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

/// Most arguments that a caller can write down.
const LISTED: usize = 1024;

/// The arguments of a variadic function: those passed in registers, saved in order, and the rest.
struct Listed {
    registers: *const usize,
    stack: *const usize,
}

/// How many arguments after the first are passed in registers.
const REGISTERS: usize = if cfg!(target_arch = "x86_64") { 5 } else { 7 };

impl Listed {
    /// # Safety
    /// There is an argument of this number.
    unsafe fn get(&self, number: usize) -> usize {
        // SAFETY: the caller's promise.
        unsafe { if number < REGISTERS { *self.registers.add(number) } else { *self.stack.add(number - REGISTERS) } }
    }

    /// Calls `go` with the array that ends with a null pointer, and the argument after that.
    ///
    /// # Safety
    /// The list ends with a null pointer; `more` says whether there is an argument behind it.
    unsafe fn with_array(&self, more: bool, go: impl FnOnce(Arguments, usize) -> c_int) -> c_int {
        let mut array = [core::ptr::null::<c_char>(); LISTED];
        for (number, place) in array.iter_mut().enumerate() {
            // SAFETY: the list has not ended yet.
            *place = unsafe { self.get(number) } as *const c_char;
            if place.is_null() {
                // SAFETY: the caller's promise.
                let behind = if more { unsafe { self.get(number + 1) } } else { 0 };
                return go(array.as_ptr(), behind);
            }
        }
        crate::fail(libc::E2BIG)
    }
}

macro_rules! listed {
    ($($name:ident => $implementation:ident;)*) => {
        $(
            /// As `execve`: saves the registers in which arguments are passed, and continues in Rust.
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            unsafe extern "C" fn $name(path: *const c_char) -> c_int {
                #[cfg(target_arch = "x86_64")]
                core::arch::naked_asm!(
                    "push r9",
                    "push r8",
                    "push rcx",
                    "push rdx",
                    "push rsi",
                    "mov rsi, rsp",
                    "lea rdx, [rsp + 48]",
                    "call {go}",
                    "add rsp, 40",
                    "ret",
                    go = sym $implementation,
                );
                #[cfg(target_arch = "aarch64")]
                core::arch::naked_asm!(
                    "stp x29, x30, [sp, #-80]!",
                    "mov x29, sp",
                    "stp x1, x2, [sp, #16]",
                    "stp x3, x4, [sp, #32]",
                    "stp x5, x6, [sp, #48]",
                    "str x7, [sp, #64]",
                    "add x1, sp, #16",
                    "add x2, sp, #80",
                    "bl {go}",
                    "ldp x29, x30, [sp], #80",
                    "ret",
                    go = sym $implementation,
                );
            }
        )*
    };
}

listed! {
    execl => by_path;
    execlp => by_name;
    execle => with_variables;
}

unsafe extern "C" fn by_path(path: *const c_char, registers: *const usize, stack: *const usize) -> c_int {
    // SAFETY: the caller's own arguments.
    unsafe { Listed { registers, stack }.with_array(false, |array, _| execv(path, array)) }
}

unsafe extern "C" fn by_name(name: *const c_char, registers: *const usize, stack: *const usize) -> c_int {
    // SAFETY: the caller's own arguments.
    unsafe { Listed { registers, stack }.with_array(false, |array, _| execvp(name, array)) }
}

unsafe extern "C" fn with_variables(path: *const c_char, registers: *const usize, stack: *const usize) -> c_int {
    // SAFETY: the caller's own arguments.
    unsafe { Listed { registers, stack }.with_array(true, |array, behind| execve(path, array, behind as Environment)) }
}
