// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which mechanism serves a futex. All users of a futex must agree, so the choice is made once for each process and
//! scope, not by size or per call.

use ntux_platform::environment;
use ntux_platform::kernel_futex::Scope;
use ntux_platform::once::Once;

use crate::private;

/// What serves futexes of one scope.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Mechanism {
    /// The kernel's calls: [`crate::native`].
    Native,
    /// The wait table of this process: [`crate::table`]. Private futexes only.
    Table,
}

impl Mechanism {
    /// Its name in `NTUX_FUTEX_PRIVATE`, `NTUX_FUTEX_SHARED` and `ntux doctor`.
    pub fn name(self) -> &'static str {
        match self {
            Mechanism::Native => "native",
            Mechanism::Table => "table",
        }
    }

    /// Returns the mechanism for futexes of this scope in this process.
    ///
    /// Private: `table` (the default) or `native`, as `NTUX_FUTEX_PRIVATE` says. A program that also calls the kernel's
    /// futexes on the same words needs `native`. Shared: `native`.
    #[inline]
    pub fn of(scope: Scope) -> Mechanism {
        match scope {
            Scope::Private if of_private().is_some() => Mechanism::Table,
            _ => Mechanism::Native,
        }
    }
}

/// The process's table, if it serves private futexes.
#[inline]
pub(crate) fn of_private() -> Option<&'static crate::table::Table> {
    static CHOICE: Once<Option<&'static crate::table::Table>> = Once::new();
    *CHOICE.get_or_make(|| {
        let native =
            std::env::var_os(environment::text(environment::FUTEX_PRIVATE)).is_some_and(|wish| wish == "native");
        if native { None } else { private::table() }
    })
}
