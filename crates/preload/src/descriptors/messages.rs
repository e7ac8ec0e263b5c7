// SPDX-License-Identifier: MIT OR Apache-2.0
//! The descriptors that messages carry.

use crate::c_library::copy::Fault;
use crate::thread::memory::Memory;
use core::ffi::{c_int, c_uint};
use core::mem::{MaybeUninit, offset_of, size_of};

/// The most control bytes that are examined; the kernel takes far fewer.
const CONTROL_MAX: usize = 1 << 20;

/// Most messages of one call (the kernel's `UIO_MAXIOV`).
const MESSAGES_MAX: u32 = 1024;

/// A control message's header: length (8 bytes), level, type.
const HEADER: usize = size_of::<libc::cmsghdr>();

const _: () = assert!(HEADER == 16 && size_of::<libc::msghdr>() == 56);

/// Calls `visit` with the address of each of the first `count` messages of an array.
pub(crate) fn for_each_message(
    messages: usize,
    count: c_uint,
    mut visit: impl FnMut(usize) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let mut addresses = (0..count.min(MESSAGES_MAX) as usize).map(|index| index * size_of::<libc::mmsghdr>());
    addresses.try_for_each(|offset| visit(messages.wrapping_add(offset)))
}

/// Calls `visit` with each descriptor in the message at this address.
pub(crate) fn for_each_right(memory: Memory<'_>, message: usize, mut visit: impl FnMut(c_int)) -> Result<(), Fault> {
    let field = |offset: usize| message.wrapping_add(offset);
    let [control, length] = memory.read_pair(field(offset_of!(libc::msghdr, msg_control)))?.map(|word| word as usize);
    if !(HEADER..=CONTROL_MAX).contains(&length) {
        return Ok(());
    }
    let mut at = 0;
    while at + HEADER <= length {
        let [size, kind] = memory.read_pair(control.wrapping_add(at))?;
        let size = usize::try_from(size).unwrap_or(0);
        if size < HEADER || size > length - at {
            return Ok(());
        }
        if (kind as c_int, (kind >> 32) as c_int) == (libc::SOL_SOCKET, libc::SCM_RIGHTS) {
            let count = (size - HEADER) / size_of::<c_int>();
            for index in 0..count {
                let mut room = [MaybeUninit::<c_int>::uninit()];
                let place = control.wrapping_add(at + HEADER + index * size_of::<c_int>());
                visit(memory.read_slice(place, &mut room)?[0]);
            }
        }
        at += size.next_multiple_of(size_of::<usize>());
    }
    Ok(())
}
