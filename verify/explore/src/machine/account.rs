// SPDX-License-Identifier: MIT OR Apache-2.0
//! A hash of the memory after the updates of one execution. Equal memories have equal hashes, whatever the order of the
//! updates.

use super::chunk::{Chunk, Content, around, cell, content};
use super::fingerprint::Fingerprint;

/// See the module.
#[derive(Default)]
pub struct Account {
    print: Fingerprint,
    /// The chunk that may be changed now, and what it is before.
    before: Option<(Chunk, Content)>,
}

/// What an update made of a chunk.
#[derive(Clone, Copy)]
pub struct Change {
    pub chunk: Chunk,
    pub old: Content,
    pub new: Content,
}

impl Account {
    /// An update of the word at `address` comes next.
    pub fn before(&mut self, address: usize) {
        let chunk = around(address);
        self.before = Some((chunk, content(chunk)));
    }

    /// What is updated now, and what it was before.
    pub fn pending(&self) -> Option<(Chunk, Content)> {
        self.before
    }

    /// The update was made, or not: what it changed, if one was to come.
    pub fn settle(&mut self) -> Option<Change> {
        let (chunk, old) = self.before.take()?;
        let new = content(chunk);
        self.print = self.print.toggle(cell(chunk, old)).toggle(cell(chunk, new));
        Some(Change { chunk, old, new })
    }

    /// The hash of all changes.
    pub fn fingerprint(&self) -> Fingerprint {
        self.print
    }
}
