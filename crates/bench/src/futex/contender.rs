//! Who is measured: the kernel's calls, made plainly, and the futex layer over each of its mechanisms.

use std::sync::atomic::AtomicU32;

use ntux_futex::{Deadline, Expected, Futex, MATCH_ANY, Scope};
use ntux_platform::kernel_futex::{self, Entry};

/// The kernel, private.
pub(crate) const KERNEL: &str = "kernel";
/// The kernel, shared.
pub(crate) const KERNEL_SHARED: &str = "kernel shared";
/// The wait table.
pub(crate) const TABLE: &str = "ntux private";
/// The native mechanism.
pub(crate) const NATIVE: &str = "ntux shared";

/// Futexes of 32 bits, as one contender has them.
#[derive(Clone, Copy)]
pub(crate) struct Contender {
    pub(crate) name: &'static str,
    scope: Scope,
    /// Through the futex layer, or not.
    ours: bool,
}

/// All four; each of ours comes after the kernel that it is compared with.
pub(crate) const ALL: [Contender; 4] = [
    Contender { name: KERNEL, scope: Scope::Private, ours: false },
    Contender { name: TABLE, scope: Scope::Private, ours: true },
    Contender { name: KERNEL_SHARED, scope: Scope::Shared, ours: false },
    Contender { name: NATIVE, scope: Scope::Shared, ours: true },
];

impl Contender {
    pub(crate) fn futex(self, word: &AtomicU32) -> Futex<'_> {
        if self.scope == Scope::Private { Futex::private(word) } else { Futex::shared(word) }
    }

    pub(crate) fn wait(self, word: &AtomicU32, value: u32, deadline: Deadline) {
        if self.ours {
            let expected = Expected::new(self.futex(word), value.into()).expect("32 bits");
            let _ = ntux_futex::wait(expected, MATCH_ANY, deadline);
        } else {
            let _ = kernel_futex::wait(word.as_ptr(), value, MATCH_ANY, self.scope, deadline);
        }
    }

    pub(crate) fn wake(self, word: &AtomicU32, count: u32) -> u32 {
        let woken = if self.ours {
            ntux_futex::wake(self.futex(word), count, MATCH_ANY).ok()
        } else {
            kernel_futex::wake(word.as_ptr(), count, MATCH_ANY, self.scope).ok()
        };
        woken.unwrap_or(0)
    }

    /// Moves at most `count` waiters, if the word holds 0.
    pub(crate) fn requeue(self, from: &AtomicU32, to: &AtomicU32, count: u32) -> u32 {
        let moved = if self.ours {
            let expected = Expected::new(self.futex(from), 0).expect("32 bits");
            ntux_futex::requeue(expected, self.futex(to), 0, count).ok()
        } else {
            kernel_futex::requeue(from.as_ptr(), to.as_ptr(), self.scope, 0, count, 0).ok()
        };
        moved.unwrap_or(0)
    }

    /// Waits for any of the words while all hold `value`.
    pub(crate) fn wait_any(self, words: &Vector, deadline: Deadline) {
        if self.ours {
            let _ = ntux_futex::wait_any(&words.ours, deadline);
        } else {
            let _ = kernel_futex::wait_any(&words.kernel, deadline);
        }
    }

    /// These words as each side's calls take them.
    pub(crate) fn vector(self, words: &[AtomicU32], last: u32) -> Vector<'_> {
        let value = |index: usize| if index + 1 == words.len() { last } else { 0 };
        let ours = |(index, word)| Expected::new(self.futex(word), value(index).into()).expect("32 bits");
        let kernel = |(index, word): (usize, &AtomicU32)| Entry {
            address: word.as_ptr(),
            expected: value(index),
            scope: self.scope,
            numa: false,
        };
        Vector {
            ours: words.iter().enumerate().map(ours).collect(),
            kernel: words.iter().enumerate().map(kernel).collect(),
        }
    }
}

/// The same words for both sides.
pub(crate) struct Vector<'a> {
    ours: Vec<Expected<'a>>,
    kernel: Vec<Entry>,
}
