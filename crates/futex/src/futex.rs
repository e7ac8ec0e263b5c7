// SPDX-License-Identifier: MIT OR Apache-2.0
//! A futex: which word, of which size, in which scope.

use std::marker::PhantomData;

use ntux_platform::atomic::load_foreign;
use ntux_platform::kernel_futex::{self, Scope};

use crate::domain::Domain;
use crate::mechanism::Mechanism;
use crate::word::Word;
use crate::{Error, NumaWord, Result, Size};

/// A word of the program that threads can wait for. Two futexes are the same if word, size and scope are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Futex<'a> {
    address: usize,
    size: Size,
    scope: Scope,
    /// True if a node follows the word.
    numa: bool,
    /// The domain that serves it, and its place there.
    domain: Option<(&'a Domain, u64)>,
    word: PhantomData<&'a ()>,
}

impl<'a> Futex<'a> {
    /// A futex for threads of this process, identified by its address.
    pub fn private<W: Word>(word: &'a W) -> Futex<'a> {
        Futex {
            address: core::ptr::from_ref(word).expose_provenance(),
            size: W::SIZE,
            scope: Scope::Private,
            numa: false,
            domain: None,
            word: PhantomData,
        }
    }

    /// A futex for all processes that map its memory.
    pub fn shared<W: Word>(word: &'a W) -> Futex<'a> {
        Futex { scope: Scope::Shared, ..Futex::private(word) }
    }

    /// A futex whose waiters the kernel keeps on the node beside it. Only the kernel has a table for each node, so it
    /// serves these words in every scope, and all users must name such a word so. Before Linux 6.16 every operation is
    /// `Refused`. A node that the machine does not have is `Invalid`.
    pub fn numa(word: &'a NumaWord, scope: Scope) -> Futex<'a> {
        Futex { scope, numa: true, ..Futex::private(&word.value) }
    }

    /// A futex for all processes that have attached the domain and name the word by the same `place`: any number below
    /// 2^60, such as the offset in their shared memory. It does not matter where each process has mapped the word.
    ///
    /// Errors: `Invalid` if the number is too large; `Refused` for a word with a node, which domains do not support.
    pub fn in_domain<W: Word>(domain: &'a Domain, place: u64, word: &'a W) -> Result<Futex<'a>> {
        Futex::shared(word).served_by(domain, place)
    }

    /// The same word, served by a domain: see [`Futex::in_domain`].
    pub fn served_by(self, domain: &'a Domain, place: u64) -> Result<Futex<'a>> {
        if place >> 60 != 0 {
            return Err(Error::Invalid);
        }
        if self.numa {
            return Err(Error::Refused);
        }
        Ok(Futex { scope: Scope::Shared, domain: Some((domain, place)), ..self })
    }

    /// The word at an address. A private futex may be misaligned, if the table serves those ([`Mechanism::of`]).
    ///
    /// Errors: `Invalid` if it is not aligned to its size and must be; `Fault` if no memory can ever be there.
    ///
    /// # Safety
    /// During `'a`, threads that wait for the word, or compare it for a requeue, must be able to read it, and everybody
    /// must write it atomically (a misaligned one: byte by byte at least). A wake does not need the memory.
    pub unsafe fn at(address: usize, size: Size, scope: Scope) -> Result<Futex<'a>> {
        /// Addresses above belong to the kernel, on every supported processor.
        const END: usize = 1 << 56;
        let may_be_misaligned = || scope == Scope::Private && Mechanism::of(scope) == Mechanism::Table;
        if !address.is_multiple_of(size.bytes()) && !may_be_misaligned() {
            return Err(Error::Invalid);
        }
        if address == 0 || address > END - size.bytes() {
            return Err(Error::Fault);
        }
        Ok(Futex { address, size, scope, numa: false, domain: None, word: PhantomData })
    }

    /// The word of 32 bits at an address, followed by a node: [`Futex::numa`].
    ///
    /// Errors: `Invalid` if the two are not aligned to 8 bytes; `Fault` if no memory can ever be there.
    ///
    /// # Safety
    /// The contract is that of [`Futex::at`]. Every operation may write the node.
    pub unsafe fn numa_at(address: usize, scope: Scope) -> Result<Futex<'a>> {
        if !address.is_multiple_of(align_of::<NumaWord>()) {
            return Err(Error::Invalid);
        }
        // SAFETY: the caller's promise.
        let futex = unsafe { Futex::at(address, Size::Bits32, scope) }?;
        Ok(Futex { numa: true, ..futex })
    }

    /// The word's address.
    pub fn address(self) -> usize {
        self.address
    }

    /// Its size.
    pub fn size(self) -> Size {
        self.size
    }

    /// The domain that serves it, and its place there.
    pub fn domain(self) -> Option<(&'a Domain, u64)> {
        self.domain
    }

    /// Returns whether a node follows the word.
    pub fn has_node(self) -> bool {
        self.numa
    }

    /// Its scope.
    pub fn scope(self) -> Scope {
        self.scope
    }

    /// Asks the kernel whether the word can be read now, with one system call. For addresses from untrusted callers.
    ///
    /// Errors: `Fault`.
    pub fn probe(self) -> Result<()> {
        let can_read = |address: usize| kernel_futex::can_read(core::ptr::with_exposed_provenance(address & !3));
        let last = self.address + self.size.bytes() - 1;
        if can_read(self.address) && (self.is_aligned() || can_read(last)) { Ok(()) } else { Err(Error::Fault) }
    }

    fn is_aligned(self) -> bool {
        self.address.is_multiple_of(self.size.bytes())
    }

    /// The word's value.
    #[inline(always)]
    pub(crate) fn load(self) -> u64 {
        if !self.is_aligned() {
            return self.load_bytes();
        }
        // SAFETY: aligned, readable and written atomically, by the reference or by the promise of the caller of `at`.
        unsafe { load_foreign(self.address, self.size.bytes()) }
    }

    /// The value of a misaligned word. It can be a mixture of two values of which the second is being written, and
    /// which the word never held. That costs no wake: a waiter compares when it is in its line already, so the wake that
    /// follows the write finds it there; and if the mixture differs, so did the word, before or after.
    #[cold]
    fn load_bytes(self) -> u64 {
        let mut bytes = [0; size_of::<u64>()];
        for (place, byte) in bytes[..self.size.bytes()].iter_mut().enumerate() {
            // SAFETY: every address is aligned for a byte; readable and written atomically, as in `load`.
            *byte = unsafe { load_foreign(self.address + place, 1) } as u8;
        }
        u64::from_le_bytes(bytes)
    }
}

/// A futex and the expected value of its word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Expected<'a> {
    futex: Futex<'a>,
    value: u64,
}

impl<'a> Expected<'a> {
    /// Errors: `Invalid` if the word cannot hold the value.
    pub fn new(futex: Futex<'a>, value: u64) -> Result<Expected<'a>> {
        if futex.size.can_hold(value) { Ok(Expected { futex, value }) } else { Err(Error::Invalid) }
    }

    /// The futex.
    pub fn futex(self) -> Futex<'a> {
        self.futex
    }

    /// The expected value.
    pub fn value(self) -> u64 {
        self.value
    }

    /// Returns whether the word holds the expected value.
    #[inline(always)]
    pub(crate) fn holds(self) -> bool {
        self.futex.load() == self.value
    }
}
