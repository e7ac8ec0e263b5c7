// SPDX-License-Identifier: MIT OR Apache-2.0
//! The guarded copy: reads and writes the caller's memory, and reports a bad address instead of crashing.
//!
//! The copy is a few instructions between two labels. The fault handler (`thread/arrival`) recognizes a fault there
//! by its program counter, and continues at the landing label, where the copy returns "fault". So a good address costs
//! nothing but the copy, and no fault of the program itself is ever mistaken for one of these. The caller makes sure that a
//! fault arrives, or that there is none ([`crate::thread::memory`]).
//!
//! Words are copied in the width in which programs write them, because a wider load would wait until several narrow
//! stores have left the processor's store buffer.
//!
//! As in the driver, a failed copy of several words writes a part: what fits on x86-64; one byte on aarch64, where the
//! kernel stores eight at once, and then tries one. A failed copy of a single word writes nothing.

use core::mem::MaybeUninit;

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
    ".globl ntux_guarded_read_wait",
    ".hidden ntux_guarded_read_wait",
    "ntux_guarded_read_wait:",
    "mov rdi, qword ptr [rsi]",
    "mov rdx, qword ptr [rsi + 8]",
    "mov ecx, dword ptr [rsi + 16]",
    "mov r8d, dword ptr [rsi + 24]",
    "mov r9d, dword ptr [rsi + 28]",
    "mov r10d, dword ptr [rsi + 32]",
    "mov r11d, dword ptr [rsi + 36]",
    "xor eax, eax",
    "ret",
    ".globl ntux_guarded_read_two",
    ".hidden ntux_guarded_read_two",
    "ntux_guarded_read_two:",
    "mov ecx, dword ptr [rsi + 4]",
    ".globl ntux_guarded_read_word",
    ".hidden ntux_guarded_read_word",
    "ntux_guarded_read_word:",
    "mov edx, dword ptr [rsi]",
    "xor eax, eax",
    "ret",
    ".globl ntux_guarded_write_word",
    ".hidden ntux_guarded_write_word",
    "ntux_guarded_write_word:",
    "mov dword ptr [rdi], edx",
    "xor eax, eax",
    "ret",
    ".globl ntux_guarded_copy_double",
    ".hidden ntux_guarded_copy_double",
    "ntux_guarded_copy_double:",
    "mov rax, qword ptr [rsi]",
    "mov qword ptr [rdi], rax",
    "xor eax, eax",
    "ret",
    ".globl ntux_guarded_touch",
    ".hidden ntux_guarded_touch",
    "ntux_guarded_touch:",
    "lock or dword ptr [rdi], 0",
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
    ".globl ntux_guarded_read_wait",
    ".hidden ntux_guarded_read_wait",
    "ntux_guarded_read_wait:",
    "ldr x2, [x1]",
    "ldr x3, [x1, #8]",
    "ldr w4, [x1, #16]",
    "ldr w5, [x1, #24]",
    "ldr w6, [x1, #28]",
    "ldr w7, [x1, #32]",
    "ldr w8, [x1, #36]",
    "mov w0, #0",
    "ret",
    ".globl ntux_guarded_read_two",
    ".hidden ntux_guarded_read_two",
    "ntux_guarded_read_two:",
    "ldr w3, [x1, #4]",
    ".globl ntux_guarded_read_word",
    ".hidden ntux_guarded_read_word",
    "ntux_guarded_read_word:",
    "ldr w2, [x1]",
    "mov w0, #0",
    "ret",
    ".globl ntux_guarded_write_word",
    ".hidden ntux_guarded_write_word",
    "ntux_guarded_write_word:",
    "str w2, [x1]",
    "mov w0, #0",
    "ret",
    ".globl ntux_guarded_copy_double",
    ".hidden ntux_guarded_copy_double",
    "ntux_guarded_copy_double:",
    "ldr x3, [x1]",
    "str x3, [x0]",
    "mov w0, #0",
    "ret",
    ".globl ntux_guarded_touch",
    ".hidden ntux_guarded_touch",
    "ntux_guarded_touch:",
    "ldxr w3, [x0]",
    "stxr w4, w3, [x0]",
    "cbnz w4, ntux_guarded_touch",
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
    /// Writes the 4 bytes at an address that is a multiple of 4 as they are, otherwise as above.
    fn ntux_guarded_touch(word: usize) -> u32;
    /// Copies `length` bytes, at least one, by 1, otherwise as above.
    fn ntux_guarded_copy_bytes(to: usize, from: usize, length: usize) -> u32;
    /// [`read_wait`], with registers of its own; touches no memory of ours.
    fn ntux_guarded_read_wait();
    /// [`read_two`], likewise.
    fn ntux_guarded_read_two();
    /// [`read_word`], likewise.
    fn ntux_guarded_read_word();
    /// [`write_word`], likewise.
    fn ntux_guarded_write_word();
}

/// The arguments of a wait without its `index`, which the caller only writes: it lies between words that are read.
pub(crate) struct WaitArguments {
    pub(crate) timeout_ns: u64,
    /// Address of `count` descriptors.
    pub(crate) objects: u64,
    pub(crate) count: u32,
    pub(crate) flags: u32,
    pub(crate) owner: u32,
    /// A descriptor, 0 for none.
    pub(crate) alert: u32,
    pub(crate) pad: u32,
}

/// Bytes of the caller's structure: these, and `index`.
pub(crate) const WAIT_SIZE: usize = 40;
/// Where `index` is in it.
pub(crate) const INDEX_OFFSET: usize = 20;

/// What a call says that returned 0, or 1 after a fault.
#[inline(always)]
fn unless_fault(failed: u32) -> Result<(), Fault> {
    if failed == 0 { Ok(()) } else { Err(Fault) }
}

/// Calls one of the functions that have registers of their own: each is named as on x86-64, and as on aarch64.
macro_rules! call_guarded {
    (
        $function:ident,
        $(in($x86_in:tt, $arm_in:tt) $given:expr,)*
        $(lateout($x86_out:tt, $arm_out:tt) $read:ident,)*
    ) => {{
        let failed: u32;
        #[cfg(target_arch = "x86_64")]
        core::arch::asm!(
            "call {function}",
            function = sym $function,
            $(in($x86_in) $given,)*
            lateout("eax") failed,
            $(lateout($x86_out) $read,)*
        );
        #[cfg(target_arch = "aarch64")]
        core::arch::asm!(
            "bl {function}",
            function = sym $function,
            $(in($arm_in) $given,)*
            lateout("w0") failed,
            $(lateout($arm_out) $read,)*
            lateout("lr") _,
        );
        unless_fault(failed)
    }};
}

/// Reads the arguments of a wait into registers.
#[inline(always)]
pub(crate) fn read_wait(from: usize) -> Result<WaitArguments, Fault> {
    let (timeout_ns, objects): (u64, u64);
    let (count, flags, owner, alert, pad): (u32, u32, u32, u32, u32);
    // SAFETY: only reads, from any address: a bad one is reported. Changes the registers that are named.
    unsafe {
        call_guarded!(
            ntux_guarded_read_wait,
            in("rsi", "x1") from,
            lateout("rdi", "x2") timeout_ns,
            lateout("rdx", "x3") objects,
            lateout("ecx", "w4") count,
            lateout("r8d", "w5") flags,
            lateout("r9d", "w6") owner,
            lateout("r10d", "w7") alert,
            lateout("r11d", "w8") pad,
        )
    }?;
    Ok(WaitArguments { timeout_ns, objects, count, flags, owner, alert, pad })
}

/// Reads 4 bytes into a register.
#[inline(always)]
pub(crate) fn read_word(from: usize) -> Result<u32, Fault> {
    let word: u32;
    // SAFETY: as in `read_wait`.
    unsafe { call_guarded!(ntux_guarded_read_word, in("rsi", "x1") from, lateout("edx", "w2") word,) }?;
    Ok(word)
}

/// Reads twice 4 bytes into registers.
#[inline(always)]
pub(crate) fn read_two(from: usize) -> Result<[u32; 2], Fault> {
    let (first, second): (u32, u32);
    // SAFETY: as in `read_wait`.
    unsafe {
        call_guarded!(
            ntux_guarded_read_two,
            in("rsi", "x1") from,
            lateout("edx", "w2") first,
            lateout("ecx", "w3") second,
        )
    }?;
    Ok([first, second])
}

/// Writes 4 bytes from a register.
#[inline(always)]
pub(crate) fn write_word(to: usize, word: u32) -> Result<(), Fault> {
    // SAFETY: writes what the caller of the ioctl has given for its result; a bad address is reported.
    unsafe { call_guarded!(ntux_guarded_write_word, in("rdi", "x1") to, in("edx", "w2") word,) }
}

/// Writes the word at the start of a page as it is, in one step.
pub(crate) fn touch(page: usize) -> Result<(), Fault> {
    // SAFETY: no value changes, at any address: a bad one is reported.
    unless_fault(unsafe { ntux_guarded_touch(page) })
}

#[inline(always)]
fn copy(to: usize, from: usize, length: usize) -> Result<(), Fault> {
    // SAFETY: one side is memory of ours that is valid for `length` bytes (every caller below), the other may be any
    // address: a bad one is reported, and a good one is the caller's buffer for this ioctl.
    unless_fault(unsafe { ntux_guarded_copy(to, from, length) })
}

/// Reads two values of 8 bytes.
#[inline(always)]
pub(crate) fn read_pair(from: usize) -> Result<[u64; 2], Fault> {
    let mut value = [0; 2];
    // SAFETY: `value` is valid for 16 bytes; `from` may be any address, as in `copy`.
    unless_fault(unsafe { ntux_guarded_copy_pair(value.as_mut_ptr() as usize, from) })?;
    Ok(value)
}

/// Fills the slice with values.
#[inline(always)]
pub(crate) fn read_slice<T: Plain>(from: usize, room: &mut [MaybeUninit<T>]) -> Result<&[T], Fault> {
    copy(room.as_mut_ptr() as usize, from, size_of_val(room))?;
    // SAFETY: every byte was written, and any bytes are a valid value (`Plain`).
    Ok(unsafe { core::slice::from_raw_parts(room.as_ptr().cast(), room.len()) })
}

/// Writes twice 4 bytes at once; after a fault those that the driver would write.
#[inline(always)]
pub(crate) fn write_two(to: usize, words: &[u32; 2]) -> Result<(), Fault> {
    // SAFETY: as in `copy`.
    let written = unless_fault(unsafe { ntux_guarded_copy_double(to, core::ptr::from_ref(words) as usize) });
    if written.is_err() {
        write_what_fits(to, words);
    }
    written
}

#[cold]
fn write_what_fits(to: usize, words: &[u32; 2]) {
    let length = if cfg!(target_arch = "aarch64") { 1 } else { size_of_val(words) };
    // SAFETY: as in `copy`. It faults again, which says nothing new.
    unsafe { ntux_guarded_copy_bytes(to, core::ptr::from_ref(words) as usize, length) };
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
        write_two(bytes[1..].as_mut_ptr() as usize, &[7, 9]).unwrap();
        assert_eq!(read_two(bytes[1..].as_ptr() as usize), Ok([7, 9]));
        write_word(bytes[5..].as_mut_ptr() as usize, 8).unwrap();
        assert_eq!(read_word(bytes[5..].as_ptr() as usize), Ok(8));
        assert_eq!(bytes[..5], [0, 7, 0, 0, 0]);
        let wide = [1u64, 2, 3];
        assert_eq!(read_pair(wide[1..].as_ptr() as usize), Ok([2, 3]));
    }

    #[test]
    fn reads_each_argument_of_a_wait() {
        let words = [1u32, 2, 3, 4, 5, 99, 6, 7, 8, 9];
        let WaitArguments { timeout_ns, objects, count, flags, owner, alert, pad } =
            read_wait(words.as_ptr() as usize).unwrap();
        assert_eq!([timeout_ns, objects], [2 << 32 | 1, 4 << 32 | 3]);
        assert_eq!([count, flags, owner, alert, pad], [5, 6, 7, 8, 9]);
        assert_eq!(words[INDEX_OFFSET / size_of::<u32>()], 99);
    }
}
