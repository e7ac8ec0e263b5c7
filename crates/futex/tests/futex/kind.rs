// SPDX-License-Identifier: MIT OR Apache-2.0
//! Futexes of all kinds, in memory that a test can share.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

use ntux_futex::{
    Capacity, Deadline, Domain, Error, Exactness, Expected, Futex, MATCH_ANY, Mechanism, Operation, Scope, Size,
    capability, wait,
};

pub const SCOPES: [Scope; 2] = [Scope::Private, Scope::Shared];

/// A size and a scope.
pub type Kind = (Size, Scope);

/// With `NTUX_TEST_DOMAIN` every futex of the tests is served by one domain: private ones too, at places of their own.
pub fn domain() -> Option<&'static Domain> {
    static DOMAIN: OnceLock<Option<Domain>> = OnceLock::new();
    let create = || Domain::create(Capacity { buckets: 4, chunks: 512, waiters: 512 }).expect("a domain");
    DOMAIN.get_or_init(|| std::env::var_os("NTUX_TEST_DOMAIN").map(|_| create())).as_ref()
}

/// What can be done with futexes of these kinds in this test.
pub fn ability(operation: Operation) -> Exactness {
    if domain().is_some() { Exactness::Exact } else { capability(operation) }
}

/// Returns whether wakes of such futexes count and choose as the model says; what others promise is in `inexact.rs`.
pub fn is_exact((_, scope): Kind) -> bool {
    domain().is_some() || Mechanism::of(scope) == Mechanism::Table || ntux_platform::kernel_futex::is_exact()
}

/// The kinds of [`possible`] whose wakes are exact.
pub fn exact() -> impl Iterator<Item = Kind> {
    possible().filter(|&kind| is_exact(kind))
}

/// All eight.
pub fn kinds() -> impl Iterator<Item = Kind> {
    SCOPES.into_iter().flat_map(|scope| Size::ALL.map(|size| (size, scope)))
}

/// The kinds that can wait here; the others must say that they cannot.
pub fn possible() -> impl Iterator<Item = Kind> {
    kinds().filter(|&(size, scope)| {
        let refused = matches!(ability(Operation::Wait(size, scope)), Exactness::Refused(_));
        if refused {
            let bytes = Bytes::default();
            assert_eq!(wait(bytes.expect((size, scope), 0), MATCH_ANY, Deadline::NOW), Err(Error::Refused));
        }
        !refused
    })
}

/// Eight bytes that hold words of any size.
#[derive(Default)]
#[repr(transparent)]
pub struct Bytes(AtomicU64);

impl Bytes {
    fn at<T>(&self, index: usize) -> &T {
        assert!((index + 1) * size_of::<T>() <= 8);
        // SAFETY: within the eight bytes and aligned; an atomic of any size may lie there, as it has no invalid values.
        unsafe { &*(&raw const self.0).cast::<T>().add(index) }
    }

    /// The word of this size number `index` in the eight bytes, as a futex.
    pub fn futex(&self, (size, scope): Kind, index: usize) -> Futex<'_> {
        macro_rules! futex {
            ($atomic:ty) => {
                match scope {
                    Scope::Private => Futex::private(self.at::<$atomic>(index)),
                    Scope::Shared => Futex::shared(self.at::<$atomic>(index)),
                }
            };
        }
        let futex = match size {
            Size::Bits8 => futex!(AtomicU8),
            Size::Bits16 => futex!(AtomicU16),
            Size::Bits32 => futex!(AtomicU32),
            Size::Bits64 => futex!(AtomicU64),
        };
        match domain() {
            None => futex,
            Some(domain) => {
                let place = (futex.address() as u64) << 1 | u64::from(scope == Scope::Private);
                futex.served_by(domain, place).expect("a place of 60 bits")
            }
        }
    }

    pub fn store(&self, size: Size, index: usize, value: u64) {
        match size {
            Size::Bits8 => self.at::<AtomicU8>(index).store(value as u8, Ordering::SeqCst),
            Size::Bits16 => self.at::<AtomicU16>(index).store(value as u16, Ordering::SeqCst),
            Size::Bits32 => self.at::<AtomicU32>(index).store(value as u32, Ordering::SeqCst),
            Size::Bits64 => self.at::<AtomicU64>(index).store(value, Ordering::SeqCst),
        }
    }

    /// The first word, expected to hold `value`.
    pub fn expect(&self, kind: Kind, value: u64) -> Expected<'_> {
        Expected::new(self.futex(kind, 0), value).expect("it fits")
    }
}

/// A value of which every byte tells the size.
pub fn value(size: Size) -> u64 {
    0xa1b2_c3d4_e5f6_0718 >> (64 - size.bits())
}
