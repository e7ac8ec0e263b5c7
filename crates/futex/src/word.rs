// SPDX-License-Identifier: MIT OR Apache-2.0
//! The words of the program: the standard library's atomics, with `wait` and `notify`.

#![allow(clippy::disallowed_types, reason = "these are the program's words, not the library's")]

use std::sync::atomic::{AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicU8, AtomicU16, AtomicU32, AtomicU64};

use ntux_platform::clock::Deadline;

use crate::{Expected, Futex, MATCH_ANY, Result, Size};

mod sealed {
    pub trait Sealed {}
}

/// An atomic word that threads of this process can wait for.
///
/// ```
/// use ntux_futex::{Deadline, Word};
/// use std::sync::atomic::{AtomicU8, Ordering};
///
/// let stage = AtomicU8::new(0);
/// std::thread::scope(|scope| {
///     scope.spawn(|| {
///         stage.store(1, Ordering::Release);
///         stage.notify_one();
///     });
///     while stage.load(Ordering::Acquire) == 0 {
///         let _ = stage.wait(0, Deadline::Never);
///     }
/// });
/// ```
pub trait Word: sealed::Sealed + Sync {
    /// The plain value.
    type Value: Copy;
    /// Its size.
    const SIZE: Size;

    /// The value, in the form of the futex calls.
    fn bits(value: Self::Value) -> u64;

    /// Sleeps while the word holds `expected` and nobody notifies, at most until `deadline`. Check the word again
    /// afterwards: `Ok` means that somebody notified, not that the word has changed.
    ///
    /// Errors: `Differs`, `TimedOut`, `Interrupted`; `Exhausted` beyond the number of threads that can wait at a time.
    fn wait(&self, expected: Self::Value, deadline: Deadline) -> Result<()>
    where
        Self: Sized,
    {
        crate::wait(Expected::new(Futex::private(self), Self::bits(expected))?, MATCH_ANY, deadline)
    }

    /// Wakes the thread that has waited longest. Returns whether there was one. Async-signal-safe.
    fn notify_one(&self) -> bool
    where
        Self: Sized,
    {
        self.notify(1) == 1
    }

    /// Wakes all waiting threads. Returns their number. Async-signal-safe.
    fn notify_all(&self) -> u32
    where
        Self: Sized,
    {
        self.notify(u32::MAX)
    }

    /// Wakes at most `count` threads, first come, first served. Returns their number. Async-signal-safe.
    fn notify(&self, count: u32) -> u32
    where
        Self: Sized,
    {
        // The word is aligned and mapped, and the bitset is not empty, so no error is possible.
        crate::wake(Futex::private(self), count, MATCH_ANY).unwrap_or(0)
    }
}

macro_rules! word {
    ($($atomic:ident $value:ty, $unsigned:ty, $size:ident;)*) => {$(
        impl sealed::Sealed for $atomic {}

        impl Word for $atomic {
            type Value = $value;
            const SIZE: Size = Size::$size;

            fn bits(value: $value) -> u64 {
                u64::from(value as $unsigned)
            }
        }
    )*};
}

word! {
    AtomicU8 u8, u8, Bits8;
    AtomicI8 i8, u8, Bits8;
    AtomicU16 u16, u16, Bits16;
    AtomicI16 i16, u16, Bits16;
    AtomicU32 u32, u32, Bits32;
    AtomicI32 i32, u32, Bits32;
    AtomicU64 u64, u64, Bits64;
    AtomicI64 i64, u64, Bits64;
}
