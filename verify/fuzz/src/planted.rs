// SPDX-License-Identifier: MIT OR Apache-2.0
//! A parser with a fault that a parser of the product had: the slice must find it.

/// Where the first segments of a program stand. A place near the end of all numbers overflows.
pub fn program(bytes: &[u8]) {
    let number = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
    let (Some(place), Some(sizes)) = (number(32), number(54)) else { return };
    if bytes.starts_with(b"\x7fELF") {
        for index in 0..2 {
            let _ = number((place + index * (sizes & 0xffff)) as usize % (bytes.len() + 1));
        }
    }
}
