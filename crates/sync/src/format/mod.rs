// SPDX-License-Identifier: MIT OR Apache-2.0
//! The format of an arena's file: its layout, one module for each word, and the table of fields.
//!
//! | what | file |
//! | --- | --- |
//! | the positions of the tables, and the contents of a slot | [`layout`] |
//! | the parts of every word, with their names | [`fields`] |
//! | the limits that all processes share | [`limits`] |
//! | an object | [`object_word`], [`meta`], [`mark`] |
//! | a waiter | [`waiter_word`], [`ticket`], [`holder`] |
//! | until when a thread sleeps at most | [`deadline`] |
//! | what a wait found when it joined a queue | [`found`] |
//! | who decided a wait | [`signature`] |
//! | who waits for an object | [`entry`] |
//! | which wait set a chunk belongs to | [`chunk_word`] |
//! | the admitted operation | [`admission_word`] |
//! | a process that takes part | [`peer`] |
//! | an owner id of the arena, and who has it | [`owner`] |
//! | which object has a name | [`name_word`] |
//! | when a timer is due | [`schedule`] |
//! | to which queue a detached wait is delivered, and who sleeps there | [`delivery`] |
//! | a packet in a queue | [`packet_word`] |
//!
//! Nothing here knows the kinds of objects, or any operation.

pub(crate) mod admission_word;
pub(crate) mod chunk_word;
pub(crate) mod deadline;
pub(crate) mod delivery;
pub(crate) mod entry;
pub mod fields;
pub(crate) mod found;
pub(crate) mod holder;
pub(crate) mod layout;
pub(crate) mod limits;
pub(crate) mod mark;
pub(crate) mod meta;
pub(crate) mod name_word;
pub(crate) mod object_word;
pub(crate) mod owner;
pub(crate) mod packet_word;
pub(crate) mod peer;
pub(crate) mod schedule;
pub(crate) mod signature;
pub(crate) mod ticket;
pub(crate) mod waiter_word;

use layout::{Chunk, Header, ObjectSlot, WaiterSlot};

/// "ntux sync" as bytes.
pub const MAGIC: u64 = u64::from_le_bytes(*b"ntuxsync");
/// Incremented with every incompatible change.
pub const VERSION: u32 = 22;

/// A hash that two builds share only if they agree on every position, width and name of [`fields`], and on every limit
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
