// SPDX-License-Identifier: MIT OR Apache-2.0
//! The words of a group of names; [`crate::arena::names`] explains them.
//!
//! ```text
//! name:    127   105    104   103    96 95    64 63          32 31          0
//!         +---------+-------+----------+--------+--------------+-------------+
//!         |         | named |  length  |  hash  |  generation  |    index    |      0: never used
//!         +---------+-------+----------+--------+--------------+-------------+
//! head:    127                         72 71  64 63          32 31          0
//!         +------------------------------+------+--------------+-------------+
//!         |                              | place|  generation  |    index    |      0: nothing was announced yet
//!         +------------------------------+------+--------------+-------------+
//! ```
//! Index and generation are those of an object. The low half of a word never returns to an earlier value (L1), because no
//! object has two names, and none is announced twice.

use ntux_platform::atomic::Pair;

use super::fields::{Bits, NAME, NAME_HEAD, part};
use crate::Object;

const HASH: Bits = part(NAME, "hash");
const LENGTH: Bits = part(NAME, "length");
const NAMED: u64 = part(NAME, "named").flag();
const PLACE: Bits = part(NAME_HEAD, "place");

/// A copy of the word of a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct NameWord(pub Pair);

impl NameWord {
    /// A place that is reserved for the name of this object.
    pub(crate) fn reserved(object: Object, hash: u32, length: u8) -> NameWord {
        NameWord(Pair { low: object.0, high: u64::from(hash) << HASH.shift() | u64::from(length) << LENGTH.shift() })
    }

    /// The same, with a name that counts.
    pub(crate) fn named(self) -> NameWord {
        NameWord(Pair { high: self.0.high | NAMED, ..self.0 })
    }

    /// Nobody ever had this place.
    pub(crate) fn is_unused(self) -> bool {
        self == NameWord::default()
    }

    pub(crate) fn is_named(self) -> bool {
        self.0.high & NAMED != 0
    }

    pub(crate) fn object(self) -> Object {
        Object(self.0.low)
    }

    pub(crate) fn hash(self) -> u32 {
        (self.0.high >> HASH.shift() & HASH.mask()) as u32
    }

    /// The bytes of the name.
    pub(crate) fn length(self) -> usize {
        (self.0.high >> LENGTH.shift() & LENGTH.mask()) as usize
    }
}

/// A copy of the head of a group: the name that was announced last.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct NameHead(pub Pair);

impl NameHead {
    /// The object in this place has its name.
    pub(crate) fn new(object: Object, place: u32) -> NameHead {
        NameHead(Pair { low: object.0, high: u64::from(place) << PLACE.shift() })
    }

    pub(crate) fn object(self) -> Object {
        Object(self.0.low)
    }

    pub(crate) fn place(self) -> u32 {
        (self.0.high >> PLACE.shift() & PLACE.mask()) as u32
    }
}
