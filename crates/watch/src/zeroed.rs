// SPDX-License-Identifier: MIT OR Apache-2.0
//! Zeroed memory that takes no room until it is written, because the allocator gets it from the kernel.

use std::alloc::{Layout, alloc_zeroed, handle_alloc_error};

use ntux_platform::atomic::Word64;

/// A type for which all bytes zero are a valid value.
///
/// # Safety
/// All bytes zero are a valid value, and the type needs no drop.
pub(crate) unsafe trait Zero {}

// SAFETY: an atomic integer.
unsafe impl Zero for Word64 {}

/// `count` zero values.
pub(crate) fn zeroed<T: Zero>(count: usize) -> Box<[T]> {
    let layout = Layout::array::<T>(count).expect("pages of an address space");
    if layout.size() == 0 {
        return Box::new([]);
    }
    // SAFETY: the layout is that of a slice of `count` values and not empty; the zero bytes are values (`Zero`); a box of
    // the slice frees it with the same layout.
    unsafe {
        let memory = alloc_zeroed(layout);
        if memory.is_null() {
            handle_alloc_error(layout);
        }
        Box::from_raw(core::ptr::slice_from_raw_parts_mut(memory.cast::<T>(), count))
    }
}
