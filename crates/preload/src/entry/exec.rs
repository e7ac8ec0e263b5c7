//! The functions by which a program starts another one.

use crate::next;
use crate::starting::{Environment, Program, start};
use core::ffi::{c_char, c_int, c_void};
use libc::{AT_FDCWD, pid_t};

type Arguments = *const *const c_char;

unsafe extern "C" {
    static environ: Environment;
}

/// Takes care of descriptors that go along.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn execve(path: *const c_char, arguments: Arguments, variables: Environment) -> c_int {
    // SAFETY: the caller's own arguments.
    unsafe { start(Program::At(AT_FDCWD, path), variables, |variables| next::execve(path, arguments, variables)) }
}

/// As `execve`.
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
