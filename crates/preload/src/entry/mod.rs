// SPDX-License-Identifier: MIT OR Apache-2.0
//! The C library's functions on which this library interposes. Each decides quickly whether the call concerns ntux, and
//! if not, passes it on unchanged.
//!
//! What every process runs, and what most of them call, stands in one section: the kernel maps text in pieces of 64 KiB, and each
//! piece costs a fault at each start, and one more after each fork.
//!
//! The frames here may be unwound (by a cancelled `close`, or a handler that ends its thread), so they have no
//! destructors.

use crate::c_library::next;
use crate::descriptors::{self, starting};
use crate::device::summary;
use crate::report::environment;
use core::ffi::{c_int, c_void};
use ntux_platform::interposition::objects::{Visit, iterate};

/// Defines functions of the C library's that say what is done around the real one: `|real| ...` is their body, in which `real()` calls the
/// function of this name, or of the name behind `as`, with the caller's own arguments. `in "SECTION";` puts them there.
///
/// A body may call what is as unsafe as the function itself: all that it has is the caller's own.
macro_rules! interposed {
    (@function {$($section:tt)*} $name:ident ($($argument:ident: $type:ty),*) $result:ty, $next:ident, $real:ident, $body:expr) => {
        $($section)*
        #[unsafe(no_mangle)]
        #[allow(unused_unsafe, reason = "some bodies are safe")]
        unsafe extern "C-unwind" fn $name($($argument: $type),*) -> $result {
            // SAFETY: the caller's own arguments.
            let $real = || unsafe { $crate::c_library::next::$next($($argument),*) };
            // SAFETY: as above.
            unsafe { $body }
        }
    };
    (@named $section:tt $name:ident $arguments:tt $result:ty, as $next:ident, $real:ident, $body:expr) => {
        interposed!(@function $section $name $arguments $result, $next, $real, $body);
    };
    (@named $section:tt $name:ident $arguments:tt $result:ty, , $real:ident, $body:expr) => {
        interposed!(@function $section $name $arguments $result, $name, $real, $body);
    };
    (in $section:literal; $(fn $name:ident $arguments:tt -> $result:ty $(as $next:ident)? => |$real:ident| $body:expr;)*) => {
        $(interposed!(@named {#[unsafe(link_section = $section)]} $name $arguments $result, $(as $next)?, $real, $body);)*
    };
    ($(fn $name:ident $arguments:tt -> $result:ty $(as $next:ident)? => |$real:ident| $body:expr;)*) => {
        $(interposed!(@named {} $name $arguments $result, $(as $next)?, $real, $body);)*
    };
}

mod closing;
mod device;
mod exec;
mod handlers;
#[cfg(not(target_env = "musl"))]
mod loading;
mod messages;
mod node;
mod own;
mod processes;
mod streams;
mod syscall;

// The library's name for itself, as the C library's functions take it. It is in an object of the compiler's, which `build.rs` leaves out.
core::arch::global_asm!(
    ".pushsection .data.ntux_start,\"aw\",@progbits",
    ".weak __dso_handle",
    ".hidden __dso_handle",
    ".p2align 3",
    "__dso_handle:",
    ".quad 0",
    ".popsection",
);

/// Runs when the library is loaded.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_START: extern "C" fn() = start;

#[unsafe(link_section = ".text.ntux_start")]
extern "C" fn start() {
    next::resolve();
    next::resolve_for_children();
    own::bind_late();
    next::resolve_syscall();
    descriptors::prepare();
    environment::device();
    environment::spin();
    starting::remember_entry();
}

/// Runs when the program exits normally.
#[used]
#[unsafe(link_section = ".fini_array")]
static AT_EXIT: extern "C" fn() = summary::at_exit;

/// Tells a sanitizer's runtime of this library last.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn dl_iterate_phdr(visit: Visit, data: *mut c_void) -> c_int {
    // SAFETY: the caller's own arguments.
    unsafe { iterate(visit, data) }
}
