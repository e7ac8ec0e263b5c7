//! What all kinds of objects have in common.

use core::ffi::c_int;

use ntux::{Arena, Object};

use crate::boundary::{self, call};

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_object_close(arena: *const Arena, object: u64) -> c_int {
    call(|| {
        // SAFETY: the header asks for an attached arena.
        let arena = unsafe { boundary::arena(arena)? };
        arena.core().close(Object(object))?;
        Ok(())
    })
}
