// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel's frame for a handler, and what the stub leaves on the stack for [`super::signals::attend`].

use super::actions::Action;
use super::record::Record;
use core::mem::offset_of;
use ntux_platform::to_self::{Information, Mask};

/// What the stub leaves on the stack.
#[repr(C)]
pub(crate) struct Attention {
    /// The mask that was in force until now: the program's, for its handler.
    pub(crate) mask: Mask,
    /// The context before any stub: `context`, or a frame further out.
    pub(crate) innermost: *const Context,
    pub(crate) signal: usize,
    pub(crate) information: *mut Information,
    pub(crate) context: *mut Context,
    pub(crate) record: &'static Record,
    pub(crate) action: &'static Action,
}

/// The kernel's frame for a handler (`struct ucontext`), as far as it is used here.
#[repr(C)]
#[cfg(target_arch = "x86_64")]
pub(crate) struct Context {
    head: [u64; 5],
    pub(super) r8: u64,
    r9_to_rbx: [u64; 11],
    pub(super) rdx: u64,
    rax_rcx: [u64; 2],
    pub(super) stack_pointer: u64,
    pub(super) counter: u64,
    eflags_to_reserved: [u64; 15],
    mask: Mask,
}

/// The kernel's frame for a handler (`struct ucontext`), as far as it is used here.
#[repr(C)]
#[cfg(target_arch = "aarch64")]
pub(crate) struct Context {
    head: [u64; 5],
    mask: Mask,
    mask_reserved: [u64; 15],
    padding: u64,
    fault_address: u64,
    pub(super) registers: [u64; 31],
    pub(super) stack_pointer: u64,
    pub(super) counter: u64,
}

#[cfg(target_arch = "x86_64")]
const _: () = assert!(
    offset_of!(Context, r8) == 40
        && offset_of!(Context, rdx) == 136
        && offset_of!(Context, stack_pointer) == 160
        && offset_of!(Context, counter) == 168
        && offset_of!(Context, mask) == 296
);

#[cfg(target_arch = "aarch64")]
const _: () = assert!(
    offset_of!(Context, mask) == 40
        && offset_of!(Context, registers) == 184
        && offset_of!(Context, stack_pointer) == 432
        && offset_of!(Context, counter) == 440
);

impl Context {
    pub(crate) fn stack_pointer(&self) -> u64 {
        self.stack_pointer
    }
}
