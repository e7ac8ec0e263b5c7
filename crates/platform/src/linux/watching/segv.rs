// SPDX-License-Identifier: MIT OR Apache-2.0
//! Linux's information about a forbidden access.

use crate::linux::Linux;
use crate::watching::segv::ForbiddenAccess;

impl ForbiddenAccess for Linux {
    const SIGNAL: libc::c_int = libc::SIGSEGV;

    #[cfg(target_arch = "x86_64")]
    unsafe fn is_store(context: *const libc::c_void) -> Option<bool> {
        const STORE: i64 = 2;
        const PROTECTION_KEY: i64 = 0x20;
        // SAFETY: the caller's promise.
        let error = unsafe { (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs[libc::REG_ERR as usize] };
        Some(error & (STORE | PROTECTION_KEY) == STORE)
    }

    /// The kernel stores the processor's fault syndrome in one of the records after the registers.
    #[cfg(target_arch = "aarch64")]
    unsafe fn is_store(context: *const libc::c_void) -> Option<bool> {
        /// Fault address, 31 registers, stack pointer, program counter, state; rounded up to 16 bytes.
        const RECORDS: usize = 288;
        const RECORDS_SIZE: usize = 4096;
        const SYNDROME: u32 = 0x4553_5201;
        const DATA_ABORT_OF_USER_MODE: u64 = 0x24;
        const WRITE: u64 = 1 << 6;
        // SAFETY: the caller's promise; the context has this layout, which is the system's binary interface. Each
        // record begins with its kind and its size, and the walk stays inside the area for them.
        unsafe {
            let registers = core::ptr::from_ref(&(*context.cast::<libc::ucontext_t>()).uc_mcontext).cast::<u8>();
            let mut offset = 0;
            while offset + 16 <= RECORDS_SIZE {
                let record = registers.add(RECORDS + offset);
                let (kind, size) = (record.cast::<u32>().read(), record.add(4).cast::<u32>().read());
                if kind == SYNDROME {
                    let syndrome = record.add(8).cast::<u64>().read();
                    return Some(syndrome >> 26 & 0x3f == DATA_ABORT_OF_USER_MODE && syndrome & WRITE != 0);
                }
                if kind == 0 || size < 16 {
                    return None;
                }
                offset += size as usize;
            }
            None
        }
    }
}
