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

/// Whether [`peek`] is allowed. Async-signal-safe.
pub fn can_peek() -> bool {
    static CALL: Call = Call::new(libc::SYS_process_vm_readv, [0, 0]);
    let byte = 0u8;
    !CALL.is_deadly() && peek([(&raw const byte as usize, 1), (0, 0)], &mut [1]) == Ok(1)
}
