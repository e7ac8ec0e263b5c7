//! Which mechanism serves a futex. All who use one futex must agree, so the choice is made once for a process and a
//! scope, and not by size or by call.

use std::sync::OnceLock;

use ntux_platform::kernel_futex::Scope;

use crate::private;

/// How futexes of one scope are served.
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

    /// The mechanism for futexes of this scope in this process.
    ///
    /// Private: `NTUX_FUTEX_PRIVATE`, which says `table` (the default) or `native`. Whoever calls the kernel's futexes
    /// himself on the same words needs `native`. Shared: `native`.
    #[inline]
    pub fn of(scope: Scope) -> Mechanism {
        match scope {
            Scope::Private if of_private().is_some() => Mechanism::Table,
            _ => Mechanism::Native,
        }
    }
}

/// The process's table, if private futexes are served by it.
#[inline]
pub(crate) fn of_private() -> Option<&'static crate::table::Table> {
    static CHOICE: OnceLock<Option<&'static crate::table::Table>> = OnceLock::new();
    *CHOICE.get_or_init(|| {
        let native = std::env::var_os("NTUX_FUTEX_PRIVATE").is_some_and(|wish| wish == "native");
        if native { None } else { private::table() }
    })
}
