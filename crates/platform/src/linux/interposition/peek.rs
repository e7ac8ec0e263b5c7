// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads memory that may not be mapped.

use crate::linux::deadly::Call;

/// Copies the memory at these addresses of this process, one after the other, into `buffer`. Returns the number of
/// bytes before the first that could not be read. Any address is safe to pass.
///
/// Errors: `EFAULT` if no byte could be read; `EPERM` or `ENOSYS` if a filter refuses `process_vm_readv`.
/// Async-signal-safe.
pub fn peek(places: [(usize, usize); 2], buffer: &mut [u8]) -> Result<usize, i32> {
    let vector = |(address, length)| libc::iovec { iov_base: address as *mut libc::c_void, iov_len: length };
    let (from, to) = (places.map(vector), vector((buffer.as_mut_ptr() as usize, buffer.len())));
    // SAFETY: the call writes no more than the buffer is long; it checks the addresses that it reads from.
    let copied =
        unsafe { libc::process_vm_readv(libc::getpid(), &to, 1, from.as_ptr(), from.len() as libc::c_ulong, 0) };
    usize::try_from(copied).map_err(|_| crate::errno())
}

/// Memory of this process that may not be there, read without a copy: the kernel is asked once about each page, and a few of the
/// answers are kept. Another thread that unmaps a page meanwhile makes the reader crash.
///
/// Needs no handler of faults, and no signal unblocked. Async-signal-safe; preserves the error number.
pub struct Readable {
    pages: [usize; 4],
    next: usize,
}

/// In these steps it is asked: no page is smaller.
const PAGE: usize = 4096;

impl Default for Readable {
    fn default() -> Readable {
        Readable { pages: [1; 4], next: 0 }
    }
}

impl Readable {
    /// The byte at this address; none if it cannot be read.
    #[inline(always)]
    pub fn byte(&mut self, address: usize) -> Option<u8> {
        // SAFETY: the kernel has just read it.
        self.is_there(address).then(|| unsafe { *(address as *const u8) })
    }

    /// The word at this address, which need not be aligned.
    #[inline(always)]
    pub fn word(&mut self, address: usize) -> Option<usize> {
        let last = address.checked_add(size_of::<usize>() - 1)?;
        // SAFETY: the kernel has just read the pages of its first and its last byte.
        (self.is_there(address) && self.is_there(last)).then(|| unsafe { (address as *const usize).read_unaligned() })
    }

    /// The string at this address, without its zero; none if a byte before that cannot be read.
    ///
    /// # Safety
    /// Nobody changes or unmaps it as long as the answer is used.
    pub unsafe fn string<'a>(&mut self, address: usize) -> Option<&'a [u8]> {
        let mut length = 0usize;
        loop {
            let at = address.checked_add(length)?;
            if !self.is_there(at) {
                return None;
            }
            // SAFETY: the rest of a page that the kernel has just read; the caller's promise.
            let rest = unsafe { core::slice::from_raw_parts(at as *const u8, PAGE - at % PAGE) };
            match rest.iter().position(|byte| *byte == 0) {
                // SAFETY: of these pages, as above.
                Some(end) => return Some(unsafe { core::slice::from_raw_parts(address as *const u8, length + end) }),
                None => length += rest.len(),
            }
        }
    }

    #[inline(always)]
    fn is_there(&mut self, address: usize) -> bool {
        let page = address & !(PAGE - 1);
        self.pages.contains(&page) || self.ask(page)
    }

    #[cold]
    #[inline(never)]
    fn ask(&mut self, page: usize) -> bool {
        let is_there = crate::keeping_errno(|| is_read_by_kernel(page));
        if is_there {
            self.pages[self.next] = page;
            self.next = (self.next + 1) % self.pages.len();
        }
        is_there
    }
}

/// Has the kernel read a mask in this page, for a change that there is not.
fn is_read_by_kernel(page: usize) -> bool {
    const NO_CHANGE: usize = 99;
    // Not at the start: of page 0 that would be no mask at all.
    let mask = page + size_of::<u64>();
    // SAFETY: the kernel refuses the change after it has read the mask, and checks the address.
    let result = unsafe { libc::syscall(libc::SYS_rt_sigprocmask, NO_CHANGE, mask, 0usize, size_of::<u64>()) };
    result == 0 || crate::errno() != libc::EFAULT
}

/// Returns whether [`peek`] is allowed. Async-signal-safe.
pub fn can_peek() -> bool {
    static CALL: Call = Call::new(libc::SYS_process_vm_readv, [0, 0]);
    let byte = 0u8;
    !CALL.is_deadly() && peek([(&raw const byte as usize, 1), (0, 0)], &mut [1]) == Ok(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_read_and_nothing_else() {
        // SAFETY: new mappings of this test's.
        let start = unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let start = libc::mmap(core::ptr::null_mut(), 1 << 17, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
            assert_ne!(start, libc::MAP_FAILED);
            assert_eq!(libc::mprotect(start.byte_add(1 << 16), 1 << 16, libc::PROT_NONE), 0);
            start.cast::<u8>().write_bytes(b'x', 1 << 16);
            start as usize
        };
        let end = start + (1 << 16);
        let mut memory = Readable::default();
        assert_eq!([memory.byte(end - 1), memory.byte(end)], [Some(b'x'), None]);
        assert_eq!(memory.word(end - 8), Some(usize::from_ne_bytes([b'x'; 8])));
        assert_eq!([memory.word(end - 7), memory.word(usize::MAX), memory.word(0), memory.word(9)], [None; 4]);
        // SAFETY: this test's memory, which nobody else uses.
        unsafe {
            assert_eq!(memory.string(end - 5000), None);
            ((end - 1) as *mut u8).write(0);
            assert_eq!(memory.string(end - 5000), Some(&[b'x'; 4999][..]));
            assert_eq!(memory.string(end - 1), Some(&[][..]));
            assert_eq!(memory.string(end), None);
            libc::munmap(start as *mut libc::c_void, 1 << 17);
        }
    }
}
