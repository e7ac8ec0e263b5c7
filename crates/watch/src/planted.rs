// SPDX-License-Identifier: MIT OR Apache-2.0
//! Planted bugs: each breaks one rule, to show that a test catches it. They exist only in this crate's own tests.

/// One broken rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(dead_code, reason = "only a test plants bugs")]
pub enum Bug {
    /// A handler that found neither a watched nor a writable page treats the access as the program's fault, whatever
    /// changed meanwhile.
    LookOnce,
}

ntux_platform::planted!(test);
