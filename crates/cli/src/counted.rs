// SPDX-License-Identifier: MIT OR Apache-2.0
//! One of something is said in the singular.

/// How many there are, and of what.
pub fn counted(number: u64, one: &str, several: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { several })
}
