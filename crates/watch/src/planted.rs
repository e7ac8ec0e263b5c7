//! Planted bugs: each breaks one rule, so that a test can show that it would notice. They exist in this crate's own tests only.

/// One broken rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(dead_code, reason = "only a test plants bugs")]
pub enum Bug {
    /// A handler that found neither a watched nor a writable page takes the access for a mistake, whatever changed meanwhile.
    LookOnce,
}

ntux_platform::planted!(test);
