//! Operations on objects of all kinds.

use core::ffi::c_int;

use ntux::{Arena, Object};

use crate::boundary::{self, call};

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_object_close(arena: *const Arena, object: u64) -> c_int {
    call(|| {
        // SAFETY: the header asks for an attached arena.
        unsafe { boundary::arena(arena)? }.close(Object(object))?;
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_object_adopt(arena: *const Arena, object: u64) -> c_int {
    call(|| {
        // SAFETY: the header asks for an attached arena.
        unsafe { boundary::arena(arena)? }.adopt(Object(object))?;
        Ok(())
    })
}
