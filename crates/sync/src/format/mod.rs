//! What stands where in an arena's file: its layout, one file for each word, and the one table of fields.
//!
//! | what | file |
//! | --- | --- |
//! | where the tables lie, and what a slot holds | [`layout`] |
//! | the parts of every word, with their names | [`fields`] |
//! | the limits that all processes keep to | [`limits`] |
//! | an object | [`object_word`], [`meta`] |
//! | a waiter | [`waiter_word`], [`ticket`], [`holder`] |
//! | who waits for an object | [`entry`] |
//! | the operation that is admitted | [`admission_word`] |
//! | a process that takes part | [`peer`] |
//!
//! Nothing here knows what kinds of objects there are, or how anything is done.

pub(crate) mod admission_word;
pub(crate) mod entry;
pub mod fields;
pub(crate) mod holder;
pub(crate) mod layout;
pub(crate) mod limits;
pub(crate) mod meta;
pub(crate) mod object_word;
pub(crate) mod peer;
pub(crate) mod ticket;
pub(crate) mod waiter_word;

use layout::{Chunk, Header, ObjectSlot, WaiterSlot};

/// "ntux sync" as bytes.
pub const MAGIC: u64 = u64::from_le_bytes(*b"ntuxsync");
/// Raised with every change that old code could not follow.
pub const VERSION: u32 = 3;

/// A number that two builds share only if they agree on every place, width and name of [`fields`], and on every limit
/// of [`limits`].
pub const FINGERPRINT: u32 = {
    let sizes = [size_of::<Header>(), size_of::<ObjectSlot>(), size_of::<WaiterSlot>(), size_of::<Chunk>()];
    let (mut hash, mut i) = (fields::add_to(fields::Hash::new()).add(VERSION as u64), 0);
    while i < sizes.len() {
        hash = hash.add(sizes[i] as u64);
        i += 1;
    }
    let mut i = 0;
    while i < limits::ALL.len() {
        hash = hash.add(limits::ALL[i]);
        i += 1;
    }
    hash.finish()
};
