// SPDX-License-Identifier: MIT OR Apache-2.0
//! The processor's atomics, which are named only here.
//!
//! [`Word128`] is the basis of the whole library: a 16-byte word that changes only by compare-exchange. It uses the
//! processor's own instruction (`cmpxchg16b`, `ldaxp`/`stlxp`), never a lock, because a lock in shared memory would be
//! lost with its owner. There is no fallback: without the instruction, opening an arena fails ([`supported`]).
//!
//! # Loading 128 bits with two 64-bit loads
//! `load` reads low, high, low again and repeats until both low halves agree. The result is the value at some instant
//! between the two reads of the low half, provided that
//! * L1: within one load the low half does not return to an earlier value. Both words of the protocol have a number
//!   there that only grows (an object's sequence, a waiter's ticket with a state that never goes back within a ticket).
//!
//! After [`LOAD_ATTEMPTS`] disagreements it falls back to a compare-exchange, which is one access but dirties the line.
//! So a load is bounded even against a constant writer.
//!
//! # Orders
//! Loads and exchanges are sequentially consistent, stores release. On x86-64 such a load is a plain `mov`; on aarch64
//! it is `ldar`, never the weaker `ldapr`, which could be performed before an earlier exchange. `verify/explore` shows
//! what needs this, and that it suffices (`docs/internals/memory-orders.md`).

use core::sync::atomic as core_atomic;
pub use core_atomic::{Ordering, compiler_fence};

#[cfg(ntux_explore)]
use crate::explore::{self, Access, Effect, Part};

/// Torn reads that [`Word128::load`] tolerates before it uses a compare-exchange.
const LOAD_ATTEMPTS: u32 = 4;

const LOAD: Ordering = Ordering::SeqCst;
const STORE: Ordering = Ordering::Release;
/// Also what `cmpxchg16b` and `ldaxp`/`stlxp` are: compilers use the same instructions.
const EXCHANGE: Ordering = Ordering::SeqCst;

macro_rules! step {
    ($kind:ident, $self:expr) => {
        #[cfg(ntux_explore)]
        explore::step(Access::$kind(core::ptr::from_ref($self) as usize));
    };
}

/// A load of 4 or 8 bytes; a checker may say what it returns.
#[cfg(ntux_explore)]
macro_rules! load {
    ($word:expr, $part:ident) => {
        match explore::read(&$word, Part::$part, LOAD) {
            Some(value) => value as _,
            None => $word.load(LOAD),
        }
    };
}
#[cfg(not(ntux_explore))]
macro_rules! load {
    ($word:expr, $part:ident) => {
        $word.load(LOAD)
    };
}

macro_rules! updated {
    ($self:expr, $order:expr, $effect:expr) => {
        #[cfg(ntux_explore)]
        explore::updated($self, $order, $effect);
    };
}

macro_rules! small_atomic {
    ($name:ident, $inner:ident, $int:ty, $doc:literal) => {
        #[doc = $doc]
        #[derive(Default)]
        #[repr(transparent)]
        pub struct $name(core_atomic::$inner);

        impl $name {
            /// A word that holds `value`.
            pub const fn new(value: $int) -> Self {
                Self(core_atomic::$inner::new(value))
            }
            /// Sequentially consistent load.
            #[inline(always)]
            #[cfg_attr(ntux_explore, track_caller)]
            pub fn load(&self) -> $int {
                step!(Load, self);
                load!(self.0, Whole)
            }
            /// Release store.
            #[inline(always)]
            #[cfg_attr(ntux_explore, track_caller)]
            pub fn store(&self, value: $int) {
                step!(Update, self);
                self.0.store(value, STORE);
                updated!(self, STORE, Effect::Stored);
            }
            /// Sequentially consistent compare-exchange. Returns the current value if it fails.
            #[inline(always)]
            #[cfg_attr(ntux_explore, track_caller)]
            pub fn compare_exchange(&self, current: $int, new: $int) -> Result<(), $int> {
                step!(Update, self);
                let result = self.0.compare_exchange(current, new, EXCHANGE, EXCHANGE).map(|_| ());
                updated!(self, EXCHANGE, if result.is_ok() { Effect::Exchanged } else { Effect::Refused });
                result
            }
            /// Adds, wrapping, and returns the previous value.
            #[inline(always)]
            #[cfg_attr(ntux_explore, track_caller)]
            pub fn fetch_add(&self, value: $int) -> $int {
                step!(Update, self);
                let before = self.0.fetch_add(value, EXCHANGE);
                updated!(self, EXCHANGE, Effect::Exchanged);
                before
            }
            /// Sets the bits of `value` and returns the previous word.
            #[inline(always)]
            pub fn fetch_or(&self, value: $int) -> $int {
                step!(Update, self);
                self.0.fetch_or(value, Ordering::SeqCst)
            }
            /// Clears the bits that `value` does not have and returns the previous word.
            #[inline(always)]
            pub fn fetch_and(&self, value: $int) -> $int {
                step!(Update, self);
                self.0.fetch_and(value, Ordering::SeqCst)
            }
        }
    };
}

small_atomic!(Word32, AtomicU32, u32, "A 32-bit atomic word.");
small_atomic!(Word64, AtomicU64, u64, "A 64-bit atomic word.");

impl Word32 {
    /// The address, by which the kernel knows the word.
    #[inline(always)]
    pub fn futex_address(&self) -> *const u32 {
        core::ptr::from_ref(&self.0).cast()
    }
}

impl Word64 {
    /// The address of the low 32 bits, by which the kernel knows them.
    #[inline(always)]
    pub fn futex_address(&self) -> *const u32 {
        let low = core::ptr::from_ref(&self.0).cast::<u32>();
        if cfg!(target_endian = "little") { low } else { low.wrapping_add(1) }
    }
}

/// A flag between a thread and its own signal handlers: no order beyond the thread's own.
#[derive(Default)]
pub struct Flag(core_atomic::AtomicBool);

impl Flag {
    /// A clear flag.
    pub const fn new() -> Self {
        Self(core_atomic::AtomicBool::new(false))
    }
    /// Returns whether it is set.
    #[inline(always)]
    pub fn is_raised(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
    /// Sets or clears it.
    #[inline(always)]
    pub fn set(&self, raised: bool) {
        compiler_fence(Ordering::SeqCst);
        self.0.store(raised, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
    }
}

/// A full barrier: for every thread, every access before it completes before any access after it.
#[inline(always)]
pub fn fence() {
    core_atomic::fence(Ordering::SeqCst);
}

/// Loads a word of 1, 2, 4 or 8 bytes that belongs to the program, not to the library.
///
/// # Safety
/// The word must be aligned to its size and readable. Concurrent writes to it must be atomic.
#[inline(always)]
#[cfg_attr(ntux_explore, track_caller)]
pub unsafe fn load_foreign(address: usize, bytes: usize) -> u64 {
    #[cfg(ntux_explore)]
    {
        explore::step(Access::Load(address));
        if let Some(value) = explore::read_foreign(address, bytes) {
            return value;
        }
    }
    let pointer = core::ptr::with_exposed_provenance_mut::<u8>(address);
    // SAFETY: aligned and readable, says the caller; every writer is atomic, so this is no data race.
    unsafe {
        match bytes {
            1 => core_atomic::AtomicU8::from_ptr(pointer).load(Ordering::SeqCst).into(),
            2 => core_atomic::AtomicU16::from_ptr(pointer.cast()).load(Ordering::SeqCst).into(),
            4 => core_atomic::AtomicU32::from_ptr(pointer.cast()).load(Ordering::SeqCst).into(),
            _ => core_atomic::AtomicU64::from_ptr(pointer.cast()).load(Ordering::SeqCst),
        }
    }
}

/// The value of a [`Word128`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub struct Pair {
    /// Bits 0 to 63.
    pub low: u64,
    /// Bits 64 to 127.
    pub high: u64,
}

impl From<Pair> for u128 {
    fn from(pair: Pair) -> u128 {
        u128::from(pair.high) << 64 | u128::from(pair.low)
    }
}

impl From<u128> for Pair {
    fn from(bits: u128) -> Pair {
        Pair { low: bits as u64, high: (bits >> 64) as u64 }
    }
}

/// A 128-bit atomic word. The module explains its loads.
#[repr(C, align(16))]
#[derive(Default)]
pub struct Word128 {
    low: core_atomic::AtomicU64,
    high: core_atomic::AtomicU64,
}

/// Returns whether this processor has the 128-bit compare-exchange. Asks the processor one question: the standard library's
/// macro asks a dozen, of which each takes 1 to 20 us in a virtual machine.
pub fn supported() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        const CMPXCHG16B: u32 = 1 << 13;
        // SAFETY: every x86-64 processor has the instruction. Older compilers do not know that, newer ones do.
        #[allow(unused_unsafe)]
        let answer = unsafe { core::arch::x86_64::__cpuid(1) };
        answer.ecx & CMPXCHG16B != 0
    }
    #[cfg(target_arch = "aarch64")]
    {
        true
    }
}

impl Word128 {
    /// A word that holds `value`.
    pub const fn new(value: Pair) -> Self {
        Self { low: core_atomic::AtomicU64::new(value.low), high: core_atomic::AtomicU64::new(value.high) }
    }

    /// Returns the whole word, as it was at one instant (L1).
    #[inline(always)]
    #[cfg_attr(ntux_explore, track_caller)]
    pub fn load(&self) -> Pair {
        step!(Load, self);
        let mut low = load!(self.low, Low);
        for _ in 0..LOAD_ATTEMPTS {
            step!(Half, self);
            let high = load!(self.high, High);
            step!(Half, self);
            let again = load!(self.low, LowAgain);
            #[cfg(ntux_explore)]
            let again = if explore::is_load_hasty() { low } else { again };
            if low == again {
                return Pair { low, high };
            }
            low = again;
        }
        self.load_exclusive()
    }

    /// Reads both halves, perhaps of different versions. Only for an exchange, which fails if they are.
    #[inline(always)]
    #[cfg_attr(ntux_explore, track_caller)]
    pub fn glance(&self) -> Pair {
        step!(Load, self);
        let low = load!(self.low, Low);
        step!(Half, self);
        Pair { low, high: load!(self.high, High) }
    }

    /// Reads the low half alone, which suffices to see that the word has not changed (L1).
    #[inline(always)]
    #[cfg_attr(ntux_explore, track_caller)]
    pub fn load_low(&self) -> u64 {
        step!(Load, self);
        load!(self.low, Whole)
    }

    #[cold]
    #[cfg_attr(ntux_explore, track_caller)]
    fn load_exclusive(&self) -> Pair {
        step!(Half, self);
        self.compare_exchange(Pair::default(), Pair::default()).err().unwrap_or_default()
    }

    /// Replaces `current` by `new` in one step, or returns the actual value.
    #[inline(always)]
    #[cfg_attr(ntux_explore, track_caller)]
    pub fn compare_exchange(&self, current: Pair, new: Pair) -> Result<(), Pair> {
        step!(Update, self);
        let result = self.exchange_raw(current, new);
        updated!(self, EXCHANGE, if result.is_ok() { Effect::Exchanged } else { Effect::Refused });
        result
    }

    /// Prefetches the word's cache line for a following exchange.
    #[inline(always)]
    pub fn expect_exchange(&self) {
        let address = core::ptr::from_ref(self).cast::<i8>();
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a hint; it reads and writes nothing.
        unsafe {
            core::arch::x86_64::_mm_prefetch::<{ core::arch::x86_64::_MM_HINT_ET0 }>(address);
        }
        #[cfg(target_arch = "aarch64")]
        // SAFETY: as above.
        unsafe {
            core::arch::asm!("prfm pstl1keep, [{}]", in(reg) address, options(nostack, readonly, preserves_flags));
        }
    }

    /// The address of the low 32 bits, for sleeping on them.
    #[inline(always)]
    pub fn futex_address(&self) -> *const u32 {
        let low = core::ptr::from_ref(&self.low).cast::<u32>();
        if cfg!(target_endian = "little") { low } else { low.wrapping_add(1) }
    }

    /// The same exchange as the compiler knows it: a call, but ThreadSanitizer sees it (`make test-tsan`).
    #[cfg(all(target_arch = "x86_64", ntux_tsan))]
    fn exchange_raw(&self, current: Pair, new: Pair) -> Result<(), Pair> {
        let place = core::ptr::from_ref(self).cast_mut().cast::<u128>();
        // SAFETY: aligned (repr) and writable for its whole lifetime; whoever opened an arena has seen that the
        // processor has the instruction.
        let found = unsafe { core::arch::x86_64::cmpxchg16b(place, current.into(), new.into(), EXCHANGE, EXCHANGE) };
        if found == u128::from(current) { Ok(()) } else { Err(found.into()) }
    }

    #[cfg(all(target_arch = "x86_64", not(ntux_tsan)))]
    #[inline(always)]
    fn exchange_raw(&self, current: Pair, new: Pair) -> Result<(), Pair> {
        let (found_low, found_high, equal): (u64, u64, u64);
        // SAFETY: `self` is 16-byte aligned (repr) and writable memory for its whole lifetime; the instruction touches
        // nothing else. The compiler keeps rbx for itself, so it is swapped in and out around the instruction; every
        // operand has a register of its own that is not rbx.
        unsafe {
            core::arch::asm!(
                "xchg rsi, rbx",
                "lock cmpxchg16b [rdi]",
                "sete cl",
                "mov rbx, rsi",
                inout("rsi") new.low => _,
                in("rdi") core::ptr::from_ref(self),
                inout("rax") current.low => found_low,
                inout("rdx") current.high => found_high,
                inout("rcx") new.high => equal,
                options(nostack),
            );
        }
        if equal & 0xff != 0 { Ok(()) } else { Err(Pair { low: found_low, high: found_high }) }
    }

    #[cfg(target_arch = "aarch64")]
    #[inline(always)]
    fn exchange_raw(&self, current: Pair, new: Pair) -> Result<(), Pair> {
        let (found_low, found_high): (u64, u64);
        // SAFETY: `self` is 16-byte aligned and writable; the exclusive pair touches nothing else. A mismatch stores
        // the found value back, so that the pair that was read is one that existed as a whole.
        unsafe {
            core::arch::asm!(
                "2:",
                "ldaxp {found_low}, {found_high}, [{address}]",
                "cmp {found_low}, {current_low}",
                "ccmp {found_high}, {current_high}, #0, eq",
                "b.ne 3f",
                "stlxp {status:w}, {new_low}, {new_high}, [{address}]",
                "cbnz {status:w}, 2b",
                "b 4f",
                "3:",
                "stlxp {status:w}, {found_low}, {found_high}, [{address}]",
                "cbnz {status:w}, 2b",
                "4:",
                address = in(reg) core::ptr::from_ref(self),
                current_low = in(reg) current.low,
                current_high = in(reg) current.high,
                new_low = in(reg) new.low,
                new_high = in(reg) new.high,
                found_low = out(reg) found_low,
                found_high = out(reg) found_high,
                status = out(reg) _,
                options(nostack),
            );
        }
        let found = Pair { low: found_low, high: found_high };
        if found == current { Ok(()) } else { Err(found) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn the_processor_is_asked_as_the_standard_library_asks() {
        assert_eq!(supported(), std::arch::is_x86_feature_detected!("cmpxchg16b"));
    }

    #[test]
    fn a_wide_exchange_changes_both_halves_or_neither() {
        let word = Word128::new(Pair { low: 1, high: 2 });
        assert_eq!(word.compare_exchange(Pair { low: 1, high: 3 }, Pair::default()), Err(Pair { low: 1, high: 2 }));
        assert_eq!(word.load(), Pair { low: 1, high: 2 });
        assert_eq!(word.compare_exchange(Pair { low: 1, high: 2 }, Pair { low: 7, high: 8 }), Ok(()));
        assert_eq!(word.load(), Pair { low: 7, high: 8 });
        assert_eq!(word.load_exclusive(), Pair { low: 7, high: 8 });
    }

    #[test]
    fn loads_are_never_torn_when_the_low_half_only_grows() {
        let word = Word128::default();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for i in 0..400_000u64 {
                    let next = Pair { low: i + 1, high: (i + 1).wrapping_mul(0x9e37_79b9) };
                    let now = Pair { low: i, high: i.wrapping_mul(0x9e37_79b9) };
                    assert_eq!(word.compare_exchange(now, next), Ok(()));
                }
            });
            while word.load().low < 400_000 {
                let seen = word.load();
                assert_eq!(seen.high, seen.low.wrapping_mul(0x9e37_79b9));
            }
        });
    }
}
