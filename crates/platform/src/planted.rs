// SPDX-License-Identifier: MIT OR Apache-2.0
//! Planted bugs: each breaks one rule of a protocol, to show that its model checker catches it.

/// Defines a crate's functions for planted bugs: `set(Option<Bug>)` for a checker, and `planted(Bug) -> bool` for the
/// code, which is `false` at compile time without the configuration `ntux_explore`, or without the given condition.
///
/// The type `Bug`, a plain enumeration, must be in scope.
#[macro_export]
macro_rules! planted {
    () => {
        $crate::planted!(ntux_explore);
    };
    ($($condition:tt)+) => {
        #[cfg($($condition)+)]
        mod chosen {
            use std::cell::Cell;

            use super::Bug;

            thread_local! {
                static BUG: Cell<Option<Bug>> = const { Cell::new(None) };
            }

            /// Plants a bug in this thread from now on, or none.
            pub fn set(bug: Option<Bug>) {
                BUG.set(bug);
            }

            pub(crate) fn planted(bug: Bug) -> bool {
                BUG.get() == Some(bug)
            }
        }

        #[cfg($($condition)+)]
        pub(crate) use chosen::planted;
        #[cfg($($condition)+)]
        pub use chosen::set;

        /// Returns whether this bug is planted. Never true in the product.
        #[cfg(not($($condition)+))]
        #[inline(always)]
        pub(crate) const fn planted(_bug: Bug) -> bool {
            false
        }
    };
}
