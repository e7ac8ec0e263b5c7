//! The guarded copy: reads and writes the caller's memory, and reports a bad address instead of crashing.
//!
//! The copy is a few instructions between two labels. The fault handler ([`crate::arrival`]) recognizes a fault there
//! by its program counter, and continues at the landing label, where the copy returns "fault". So a good address costs
//! nothing but the copy, and no fault of the program itself is ever mistaken for one of these.
//!
//! Words are copied in the width in which programs write them, because a wider load would wait until several narrow
//! stores have left the processor's store buffer.
//!
//! As in the driver, a failed copy of several words writes a part: what fits on x86-64; one byte on aarch64, where the
//! kernel stores eight at once, and then tries one. A failed copy of a single word writes nothing.

use core::mem::{MaybeUninit, size_of};

/// The address cannot be read or written (`EFAULT`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Fault;

/// Types without padding, in units of 4 bytes, for which any bytes are a valid value.
///
/// # Safety
/// The implementor promises exactly that.
pub(crate) unsafe trait Plain: Copy {}
// SAFETY: an integer of 4 bytes.
unsafe impl Plain for u32 {}
// SAFETY: an integer of 4 bytes.
unsafe impl Plain for i32 {}
// SAFETY: arrays have no padding of their own.
unsafe impl<T: Plain, const N: usize> Plain for [T; N] {}

#[cfg(target_arch = "x86_64")]
core::arch::global_asm!(
    ".pushsection .text.ntux_guarded_copy,\"ax\",@progbits",
    ".p2align 4",
    ".globl ntux_guarded_copy",
    ".hidden ntux_guarded_copy",
    ".type ntux_guarded_copy,@function",
    "ntux_guarded_copy:",
    ".cfi_startproc",
    "test rdx, rdx",
    "jz 3f",
    "2:",
    "mov eax, dword ptr [rsi]",
    "mov dword ptr [rdi], eax",
    "add rsi, 4",
    "add rdi, 4",
    "sub rdx, 4",
    "jnz 2b",
    "3:",
    "xor eax, eax",
    "ret",
    ".globl ntux_guarded_copy_pair",
    ".hidden ntux_guarded_copy_pair",
    "ntux_guarded_copy_pair:",
    "mov rax, qword ptr [rsi]",
    "mov rdx, qword ptr [rsi + 8]",
    "mov qword ptr [rdi], rax",
    "mov qword ptr [rdi + 8], rdx",
    "xor eax, eax",
    "ret",
    ".globl ntux_guarded_copy_word",
    ".hidden ntux_guarded_copy_word",
    "ntux_guarded_copy_word:",
    "mov eax, dword ptr [rsi]",
    "mov dword ptr [rdi], eax",
    "xor eax, eax",
    "ret",
    ".globl ntux_guarded_copy_double",
    ".hidden ntux_guarded_copy_double",
    "ntux_guarded_copy_double:",
    "mov rax, qword ptr [rsi]",
    "mov qword ptr [rdi], rax",
    "xor eax, eax",
    "ret",
    ".globl ntux_guarded_copy_bytes",
    ".hidden ntux_guarded_copy_bytes",
    "ntux_guarded_copy_bytes:",
    "mov rcx, rdx",
    "rep movsb",
    "xor eax, eax",
    "ret",
    ".globl ntux_guarded_copy_landing",
    ".hidden ntux_guarded_copy_landing",
    "ntux_guarded_copy_landing:",
    "mov eax, 1",
    "ret",
    ".cfi_endproc",
    ".size ntux_guarded_copy, .-ntux_guarded_copy",
    ".popsection",
);

#[cfg(target_arch = "aarch64")]
core::arch::global_asm!(
    ".pushsection .text.ntux_guarded_copy,\"ax\",@progbits",
    ".p2align 4",
    ".globl ntux_guarded_copy",
    ".hidden ntux_guarded_copy",
    ".type ntux_guarded_copy,@function",
    "ntux_guarded_copy:",
    ".cfi_startproc",
    "cbz x2, 3f",
    "2:",
    "ldr w3, [x1], #4",
    "str w3, [x0], #4",
    "subs x2, x2, #4",
    "b.ne 2b",
    "3:",
    "mov w0, #0",
    "ret",
    ".globl ntux_guarded_copy_pair",
    ".hidden ntux_guarded_copy_pair",
    "ntux_guarded_copy_pair:",
    "ldr x2, [x1]",
    "ldr x3, [x1, #8]",
    "str x2, [x0]",
    "str x3, [x0, #8]",
    "mov w0, #0",
    "ret",
    ".globl ntux_guarded_copy_word",
    ".hidden ntux_guarded_copy_word",
    "ntux_guarded_copy_word:",
    "ldr w3, [x1]",
    "str w3, [x0]",
    "mov w0, #0",
    "ret",
    ".globl ntux_guarded_copy_double",
    ".hidden ntux_guarded_copy_double",
    "ntux_guarded_copy_double:",
    "ldr x3, [x1]",
    "str x3, [x0]",
    "mov w0, #0",
    "ret",
    ".globl ntux_guarded_copy_bytes",
    ".hidden ntux_guarded_copy_bytes",
    "ntux_guarded_copy_bytes:",
    "ldrb w3, [x1], #1",
    "strb w3, [x0], #1",
    "subs x2, x2, #1",
    "b.ne ntux_guarded_copy_bytes",
    "mov w0, #0",
    "ret",
    ".globl ntux_guarded_copy_landing",
    ".hidden ntux_guarded_copy_landing",
    "ntux_guarded_copy_landing:",
    "mov w0, #1",
    "ret",
    ".cfi_endproc",
    ".size ntux_guarded_copy, .-ntux_guarded_copy",
    ".popsection",
);

unsafe extern "C" {
    /// Copies `length` bytes, a multiple of 4, by 4; 0, or 1 after a fault. Pushes nothing, so the landing can return.
    fn ntux_guarded_copy(to: usize, from: usize, length: usize) -> u32;
    /// Copies 16 bytes by 8, otherwise as above.
    fn ntux_guarded_copy_pair(to: usize, from: usize) -> u32;
    /// Copies 8 bytes at once, otherwise as above.
    fn ntux_guarded_copy_double(to: usize, from: usize) -> u32;
    /// Copies 4 bytes, otherwise as above.
    fn ntux_guarded_copy_word(to: usize, from: usize) -> u32;
    /// Copies `length` bytes, at least one, by 1, otherwise as above.
    fn ntux_guarded_copy_bytes(to: usize, from: usize, length: usize) -> u32;
}

#[inline(always)]
fn copy(to: usize, from: usize, length: usize) -> Result<(), Fault> {
    // SAFETY: one side is memory of ours that is valid for `length` bytes (every caller below), the other may be any
    // address: a bad one is reported, and a good one is the caller's buffer for this ioctl.
    let failed = unsafe {
        match length {
            4 => ntux_guarded_copy_word(to, from),
            _ => ntux_guarded_copy(to, from, length),
        }
    };
    if failed == 0 { Ok(()) } else { Err(Fault) }
}

/// Reads a value from the caller's memory at `from`, which need not be aligned.
#[inline(always)]
pub(crate) fn read<T: Plain>(from: usize) -> Result<T, Fault> {
    let mut value = MaybeUninit::<T>::uninit();
    copy(value.as_mut_ptr() as usize, from, size_of::<T>())?;
    // SAFETY: every byte was written, and any bytes are a valid value (`Plain`).
    Ok(unsafe { value.assume_init() })
}

/// Reads two values of 8 bytes.
#[inline(always)]
pub(crate) fn read_pair(from: usize) -> Result<[u64; 2], Fault> {
    let mut value = [0; 2];
    // SAFETY: `value` is valid for 16 bytes; `from` may be any address, as in `copy`.
    if unsafe { ntux_guarded_copy_pair(value.as_mut_ptr() as usize, from) } == 0 { Ok(value) } else { Err(Fault) }
}

/// Fills the slice with values.
#[inline(always)]
pub(crate) fn read_slice<T: Plain>(from: usize, room: &mut [MaybeUninit<T>]) -> Result<&[T], Fault> {
    copy(room.as_mut_ptr() as usize, from, size_of_val(room))?;
    // SAFETY: every byte was written, and any bytes are a valid value (`Plain`).
    Ok(unsafe { core::slice::from_raw_parts(room.as_ptr().cast(), room.len()) })
}

/// Writes a value to the caller's memory at `to`, which need not be aligned.
#[inline(always)]
pub(crate) fn write<T: Plain>(to: usize, value: &T) -> Result<(), Fault> {
    let from = core::ptr::from_ref(value) as usize;
    let written = match size_of::<T>() {
        8 => double(to, from),
        length => copy(to, from, length),
    };
    written.inspect_err(|_| write_what_fits(to, from, size_of::<T>()))
}

#[inline(always)]
fn double(to: usize, from: usize) -> Result<(), Fault> {
    // SAFETY: as in `copy`.
    if unsafe { ntux_guarded_copy_double(to, from) } == 0 { Ok(()) } else { Err(Fault) }
}

/// After a fault on more than one word: writes the bytes that the driver would write.
#[cold]
fn write_what_fits(to: usize, from: usize, length: usize) {
    if length > size_of::<u32>() {
        let length = if cfg!(target_arch = "aarch64") { 1 } else { length };
        // SAFETY: as in `copy`. It faults again, which says nothing new.
        unsafe { ntux_guarded_copy_bytes(to, from, length) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_every_length_and_nothing_else() {
        for words in 0..12 {
            let from: Vec<u32> = (1..=words).collect();
            let mut room = vec![MaybeUninit::new(0xdead_beef_u32); words as usize + 1];
            assert_eq!(read_slice(from.as_ptr() as usize, &mut room[..words as usize]), Ok(&from[..]));
            // SAFETY: initialized when made.
            assert_eq!(unsafe { room[words as usize].assume_init() }, 0xdead_beef);
        }
    }

    #[test]
    fn reads_and_writes_unaligned() {
        let mut bytes = [0u8; 9];
        write(bytes[1..].as_mut_ptr() as usize, &[7u32, 9]).unwrap();
        assert_eq!(read::<[u32; 2]>(bytes[1..].as_ptr() as usize), Ok([7, 9]));
        assert_eq!(bytes[0], 0);
        let wide = [1u64, 2, 3];
        assert_eq!(read_pair(wide[1..].as_ptr() as usize), Ok([2, 3]));
    }
}
