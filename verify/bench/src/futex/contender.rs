// SPDX-License-Identifier: MIT OR Apache-2.0
//! The contenders: the kernel's plain calls, and the futex layer over each of its mechanisms, in every size.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64};

use ntux_futex::{Capacity, Deadline, Domain, Expected, Futex, MATCH_ANY, Scope, Size, native};
use ntux_platform::kernel_futex::{self, Entry};

/// Room for a word of any size, at the same address.
pub(crate) type Cell = AtomicU64;

/// The calls of one side. All take the same arguments, so that they are ready before anything is timed.
pub(crate) trait Calls: Copy + Send + Sync + 'static {
    fn wait(self, expected: Expected, deadline: Deadline);
    fn wake(self, futex: Futex, count: u32) -> u32;
    /// Moves at most `count` waiters, if the word holds what is expected.
    fn requeue(self, from: Expected, to: Futex, count: u32) -> u32;
    /// Waits for any; whether these words can be waited for together.
    fn wait_any(self, vector: &Vector, deadline: Deadline) -> bool;
}

/// The kernel's calls for 32 bits, as a program would make them.
#[derive(Clone, Copy)]
pub(crate) struct Kernel;

/// The library as programs use it.
#[derive(Clone, Copy)]
pub(crate) struct Library;

/// What the library is with `NTUX_FUTEX_PRIVATE=native`.
#[derive(Clone, Copy)]
pub(crate) struct Native;

fn address(futex: Futex) -> *const u32 {
    std::ptr::with_exposed_provenance(futex.address())
}

impl Calls for Kernel {
    fn wait(self, expected: Expected, deadline: Deadline) {
        let futex = expected.futex();
        let _ = kernel_futex::wait(address(futex), expected.value() as u32, MATCH_ANY, futex.scope(), deadline);
    }

    fn wake(self, futex: Futex, count: u32) -> u32 {
        kernel_futex::wake(address(futex), count, MATCH_ANY, futex.scope()).unwrap_or(0)
    }

    fn requeue(self, from: Expected, to: Futex, count: u32) -> u32 {
        let (word, value) = (address(from.futex()), from.value() as u32);
        kernel_futex::requeue(word, address(to), to.scope(), 0, count, value).unwrap_or(0)
    }

    fn wait_any(self, vector: &Vector, deadline: Deadline) -> bool {
        let _ = kernel_futex::wait_any(&vector.kernel, deadline);
        true
    }
}

impl Calls for Library {
    fn wait(self, expected: Expected, deadline: Deadline) {
        let _ = ntux_futex::wait(expected, MATCH_ANY, deadline);
    }

    #[inline]
    fn wake(self, futex: Futex, count: u32) -> u32 {
        ntux_futex::wake(futex, count, MATCH_ANY).unwrap_or(0)
    }

    fn requeue(self, from: Expected, to: Futex, count: u32) -> u32 {
        ntux_futex::requeue(from, to, 0, count).unwrap_or(0)
    }

    fn wait_any(self, vector: &Vector, deadline: Deadline) -> bool {
        ntux_futex::wait_any(&vector.library, deadline) != Err(ntux_futex::Error::Refused)
    }
}

impl Calls for Native {
    fn wait(self, expected: Expected, deadline: Deadline) {
        let _ = native::wait(expected, MATCH_ANY, deadline);
    }

    fn wake(self, futex: Futex, count: u32) -> u32 {
        native::wake(futex, count, MATCH_ANY).unwrap_or(0)
    }

    fn requeue(self, from: Expected, to: Futex, count: u32) -> u32 {
        native::requeue(from, to, 0, count).unwrap_or(0)
    }

    fn wait_any(self, vector: &Vector, deadline: Deadline) -> bool {
        let entries = vector.library.iter().map(|&expected| (expected, MATCH_ANY));
        native::wait_any(entries, deadline) != Err(ntux_futex::Error::Refused)
    }
}

/// Whose calls they are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Side {
    Kernel,
    Library,
    Native,
}

/// Futexes of one size and scope, as one side has them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Contender {
    pub(crate) name: &'static str,
    pub(crate) side: Side,
    size: Size,
    scope: Scope,
    in_domain: bool,
}

const fn contender(name: &'static str, side: Side, size: Size, scope: Scope) -> Contender {
    Contender { name, side, size, scope, in_domain: false }
}

const fn domain(name: &'static str, size: Size) -> Contender {
    Contender { in_domain: true, ..contender(name, Side::Library, size, Scope::Shared) }
}

use Scope::{Private, Shared};
use Size::{Bits8, Bits16, Bits32, Bits64};

pub(crate) const KERNEL: Contender = contender("kernel", Side::Kernel, Bits32, Private);
pub(crate) const TABLE: Contender = contender("table", Side::Library, Bits32, Private);
pub(crate) const TABLE_8: Contender = contender("table, 8 bits", Side::Library, Bits8, Private);
pub(crate) const TABLE_16: Contender = contender("table, 16 bits", Side::Library, Bits16, Private);
pub(crate) const TABLE_64: Contender = contender("table, 64 bits", Side::Library, Bits64, Private);
pub(crate) const NATIVE: Contender = contender("native", Side::Native, Bits32, Private);
pub(crate) const KERNEL_SHARED: Contender = contender("kernel, shared", Side::Kernel, Bits32, Shared);
pub(crate) const SHARED: Contender = contender("native, shared", Side::Library, Bits32, Shared);
pub(crate) const LANES_8: Contender = contender("native lanes, 8 bits", Side::Library, Bits8, Shared);
pub(crate) const LANES_16: Contender = contender("native lanes, 16 bits", Side::Library, Bits16, Shared);
pub(crate) const HALVES: Contender = contender("native halves, 64 bits", Side::Library, Bits64, Shared);
pub(crate) const DOMAIN: Contender = domain("domain", Bits32);
pub(crate) const DOMAIN_8: Contender = domain("domain, 8 bits", Bits8);
pub(crate) const DOMAIN_16: Contender = domain("domain, 16 bits", Bits16);
pub(crate) const DOMAIN_64: Contender = domain("domain, 64 bits", Bits64);

/// All of them. Without a size it is 32 bits.
pub(crate) const ALL: [Contender; 15] = [
    KERNEL,
    TABLE,
    TABLE_8,
    TABLE_16,
    TABLE_64,
    NATIVE,
    KERNEL_SHARED,
    SHARED,
    LANES_8,
    LANES_16,
    HALVES,
    DOMAIN,
    DOMAIN_8,
    DOMAIN_16,
    DOMAIN_64,
];

impl Contender {
    /// The kernel's own, of the same scope.
    pub(crate) fn rival(self) -> Contender {
        if self.scope == Private { KERNEL } else { KERNEL_SHARED }
    }

    /// Returns whether a requeue moves who waits; otherwise it wakes.
    pub(crate) fn moves(self) -> bool {
        let cell = Cell::new(0);
        let futex = self.futex(&cell);
        self.in_domain || self.scope == Private || native::can_move(futex, futex)
    }

    pub(crate) fn futex(self, cell: &Cell) -> Futex<'_> {
        let address = cell.as_ptr();
        // SAFETY: the cell is aligned for every size and as long as the longest, and any bytes are a word.
        let futex = unsafe {
            match self.size {
                Bits8 => Futex::shared(AtomicU8::from_ptr(address.cast())),
                Bits16 => Futex::shared(AtomicU16::from_ptr(address.cast())),
                Bits32 => Futex::shared(AtomicU32::from_ptr(address.cast())),
                Bits64 => Futex::shared(cell),
            }
        };
        if self.in_domain {
            let place = futex.address() as u64;
            return futex.served_by(the_domain(), place).expect("an address has fewer than 60 bits");
        }
        // SAFETY: it was a futex before.
        unsafe { Futex::at(futex.address(), self.size, self.scope) }.expect("aligned")
    }

    /// The word, expected to hold `value`, 0 or 1. All cells hold 0.
    pub(crate) fn expect(self, cell: &Cell, value: u64) -> Expected<'_> {
        Expected::new(self.futex(cell), value).expect("every size can hold it")
    }

    pub(crate) fn wait(self, expected: Expected, deadline: Deadline) {
        match self.side {
            Side::Kernel => Kernel.wait(expected, deadline),
            Side::Library => Library.wait(expected, deadline),
            Side::Native => Native.wait(expected, deadline),
        }
    }

    pub(crate) fn wake(self, futex: Futex, count: u32) -> u32 {
        match self.side {
            Side::Kernel => Kernel.wake(futex, count),
            Side::Library => Library.wake(futex, count),
            Side::Native => Native.wake(futex, count),
        }
    }

    pub(crate) fn requeue(self, from: Expected, to: Futex, count: u32) -> u32 {
        match self.side {
            Side::Kernel => Kernel.requeue(from, to, count),
            Side::Library => Library.requeue(from, to, count),
            Side::Native => Native.requeue(from, to, count),
        }
    }

    /// The words, expected to hold 0, the last one to hold `last`.
    pub(crate) fn vector(self, cells: &[Cell], last: u64) -> Vector<'_> {
        let value = |index: usize| if index + 1 == cells.len() { last } else { 0 };
        let library: Vec<_> = cells.iter().enumerate().map(|(index, cell)| self.expect(cell, value(index))).collect();
        let entry = |expected: &Expected| Entry {
            address: address(expected.futex()),
            expected: expected.value() as u32,
            scope: self.scope,
            numa: false,
        };
        Vector { kernel: library.iter().map(entry).collect(), library }
    }
}

/// The same words for both sides.
pub(crate) struct Vector<'a> {
    library: Vec<Expected<'a>>,
    kernel: Vec<Entry>,
}

fn the_domain() -> &'static Domain {
    static DOMAIN: OnceLock<Domain> = OnceLock::new();
    DOMAIN.get_or_init(|| Domain::create(Capacity::for_waiters(16 << 10)).expect("memory for a domain"))
}
