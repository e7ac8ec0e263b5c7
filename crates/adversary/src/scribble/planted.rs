//! Bugs on purpose: the watchdog must see each of them.

/// What is planted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum Bug {
    /// The core believes the number of a waiter, whoever wrote it: it crashes
    #[cfg(feature = "explore")]
    Index,
    /// The core follows a chain of chunks as long as it goes on: it does not end
    #[cfg(feature = "explore")]
    Chain,
}

impl std::fmt::Display for Bug {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let value = clap::ValueEnum::to_possible_value(self).expect("no value is hidden");
        formatter.write_str(value.get_name())
    }
}

/// Plants the bug in all that this thread does from now on.
#[cfg(feature = "explore")]
pub fn plant(bug: Option<Bug>) {
    use ntux_sync::planted;
    planted::set(bug.map(|bug| match bug {
        Bug::Index => planted::Bug::NoIndexCheck,
        Bug::Chain => planted::Bug::EndlessBag,
    }));
}

/// Nothing can be planted in the core that ships.
#[cfg(not(feature = "explore"))]
pub fn plant(bug: Option<Bug>) {
    if let Some(bug) = bug {
        match bug {}
    }
}
