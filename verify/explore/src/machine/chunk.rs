// SPDX-License-Identifier: MIT OR Apache-2.0
//! The unit of memory for a machine: 16 aligned bytes.

use super::fingerprint::Fingerprint;

pub type Chunk = usize;
pub type Content = [u64; 2];

/// The chunk that an address lies in.
pub fn around(address: usize) -> Chunk {
    address & !15
}

/// What it holds. It holds a word that the code under test touches now or has touched.
pub fn content(chunk: Chunk) -> Content {
    // SAFETY: so it is mapped (16 aligned bytes never cross a page); no other thread of the operating system writes it;
    // volatile, as the code writes it by atomics.
    unsafe { std::ptr::with_exposed_provenance::<Content>(chunk).read_volatile() }
}

/// Gives a chunk another content.
pub fn put_back(chunk: Chunk, old: Content) {
    // SAFETY: as in `content`; nobody runs, and the code under test expects the memory to be put back.
    unsafe { std::ptr::with_exposed_provenance_mut::<Content>(chunk).write_volatile(old) }
}

/// The hash of a chunk and its content.
pub fn cell(chunk: Chunk, content: Content) -> Fingerprint {
    Fingerprint::ZERO.then(chunk as u64).then(content[0]).then(content[1])
}
