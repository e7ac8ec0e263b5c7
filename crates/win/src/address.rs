// SPDX-License-Identifier: MIT OR Apache-2.0
//! WaitOnAddress and its wakes. A wake does not say how large the word is, so it looks for waiting threads of every size.

use core::ffi::c_void;

use ntux::Deadline;
use ntux_futex::Size;

use crate::boundary::call_for_bool;
use crate::last_error::{INVALID_PARAMETER, NOACCESS, Result, TIMEOUT};
use crate::word::{self, ANY, deadline};

const SIZES: [Size; 4] = [Size::Bits8, Size::Bits16, Size::Bits32, Size::Bits64];

/// # Safety
/// Both point to as many bytes; those at `address` are changed atomically.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_WaitOnAddress(
    address: *const c_void,
    compared: *const c_void,
    bytes: usize,
    milliseconds: u32,
) -> i32 {
    // SAFETY: the same contract.
    call_for_bool(|| unsafe { wait(address, compared, bytes, deadline(milliseconds)) })
}

/// # Safety
/// The contract is that of [`ntw_WaitOnAddress`].
pub unsafe fn wait(address: *const c_void, compared: *const c_void, bytes: usize, deadline: Deadline) -> Result<()> {
    let size = SIZES.into_iter().find(|size| size.bytes() == bytes).ok_or(INVALID_PARAMETER)?;
    if address.is_null() || compared.is_null() {
        return Err(NOACCESS);
    }
    // SAFETY: the same contract.
    let timed_out = unsafe {
        let seen = match size {
            Size::Bits8 => compared.cast::<u8>().read().into(),
            Size::Bits16 => compared.cast::<u16>().read_unaligned().into(),
            Size::Bits32 => compared.cast::<u32>().read_unaligned().into(),
            Size::Bits64 => compared.cast::<u64>().read_unaligned(),
        };
        word::wait_at(address.expose_provenance(), size, seen, ANY, deadline)
    };
    if timed_out { Err(TIMEOUT) } else { Ok(()) }
}

#[unsafe(no_mangle)]
pub extern "C" fn ntw_WakeByAddressSingle(address: *const c_void) {
    let address = address.expose_provenance();
    SIZES.into_iter().any(|size| word::wake_at(address, size, 1, ANY) == 1);
}

#[unsafe(no_mangle)]
pub extern "C" fn ntw_WakeByAddressAll(address: *const c_void) {
    for size in SIZES {
        word::wake_at(address.expose_provenance(), size, u32::MAX, ANY);
    }
}
