//! Which word, of which size, in which scope.

use std::marker::PhantomData;

use ntux_platform::atomic::load_foreign;
use ntux_platform::error as number;
use ntux_platform::kernel_futex::{self, Scope};

use crate::domain::Domain;
use crate::word::Word;
use crate::{Error, NumaWord, Result, Size};

/// A word of the program that can be waited for. Two futexes meet if they are the same word in size and scope.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Futex<'a> {
    address: usize,
    size: Size,
    scope: Scope,
    /// Whether a node stands behind the word.
    numa: bool,
    /// The domain that serves it, and its place there.
    domain: Option<(&'a Domain, u64)>,
    word: PhantomData<&'a ()>,
}

impl<'a> Futex<'a> {
    /// A word that threads of this process wait for, known by its address.
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

    /// A word that every process waits for that maps its memory.
    pub fn shared<W: Word>(word: &'a W) -> Futex<'a> {
        Futex { scope: Scope::Shared, ..Futex::private(word) }
    }

    /// A word whose waiters the kernel keeps on the node beside it. Only the kernel has a table for each node, so it
    /// serves these words in every scope and process; all who use one must name it so. Before Linux 6.16 every
    /// operation is `Refused`. A node that the machine has not is `Invalid`.
    pub fn numa(word: &'a NumaWord, scope: Scope) -> Futex<'a> {
        Futex { scope, numa: true, ..Futex::private(&word.value) }
    }

    /// A word that every process waits for that has attached the domain, and knows the word by the same `place`: any
    /// number below 2^60, say the offset in the memory that they share. Where each process has mapped the word does not
    /// matter.
    ///
    /// Errors: `Invalid` if the number is too large; `Refused` for a word with a node, which domains have not.
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

    /// The word at an address.
    ///
    /// Errors: `Invalid` if it is not aligned to its size; `Fault` if no memory can ever be there.
    ///
    /// # Safety
    /// As long as `'a`, whoever waits for it, or compares it for a requeue, must be able to read the word, and
    /// everybody must write it atomically. To wake it the memory need not be there any more.
    pub unsafe fn at(address: usize, size: Size, scope: Scope) -> Result<Futex<'a>> {
        /// Above it is the kernel, on every processor that we run on.
        const END: usize = 1 << 56;
        if !address.is_multiple_of(size.bytes()) {
            return Err(Error::Invalid);
        }
        if address == 0 || address >= END {
            return Err(Error::Fault);
        }
        Ok(Futex { address, size, scope, numa: false, domain: None, word: PhantomData })
    }

    /// The word of 32 bits at an address, with a node behind it: [`Futex::numa`].
    ///
    /// Errors: `Invalid` if the two are not aligned to 8 bytes; `Fault` if no memory can ever be there.
    ///
    /// # Safety
    /// As [`Futex::at`]. Every operation may write the node.
    pub unsafe fn numa_at(address: usize, scope: Scope) -> Result<Futex<'a>> {
        if !address.is_multiple_of(align_of::<NumaWord>()) {
            return Err(Error::Invalid);
        }
        // SAFETY: says the caller.
        let futex = unsafe { Futex::at(address, Size::Bits32, scope) }?;
        Ok(Futex { numa: true, ..futex })
    }

    /// Where the word is.
    pub fn address(self) -> usize {
        self.address
    }

    /// How many bits it has.
    pub fn size(self) -> Size {
        self.size
    }

    /// The domain that serves it, and its place there.
    pub fn domain(self) -> Option<(&'a Domain, u64)> {
        self.domain
    }

    /// Whether a node stands behind the word.
    pub fn has_node(self) -> bool {
        self.numa
    }

    /// Who may wait for it.
    pub fn scope(self) -> Scope {
        self.scope
    }

    /// Asks the kernel whether the word can be read now. For addresses that come from strangers; one system call.
    ///
    /// Errors: `Fault`.
    pub fn probe(self) -> Result<()> {
        let word = core::ptr::with_exposed_provenance(self.address & !3);
        // It compares, wakes nobody and moves nobody.
        match kernel_futex::requeue(word, word, Scope::Private, 0, 0, 0) {
            Err(number::EFAULT) => Err(Error::Fault),
            _ => Ok(()),
        }
    }

    /// What the word holds.
    #[inline(always)]
    pub(crate) fn load(self) -> u64 {
        // SAFETY: aligned, readable and written atomically: that is what the reference, or the caller of `at`, vouches
        // for.
        unsafe { load_foreign(self.address, self.size.bytes()) }
    }
}

/// A futex and what its word is expected to hold.
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

    /// What is expected.
    pub fn value(self) -> u64 {
        self.value
    }

    /// Whether the word holds it.
    #[inline(always)]
    pub(crate) fn holds(self) -> bool {
        self.futex.load() == self.value
    }
}
