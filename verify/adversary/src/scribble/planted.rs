// SPDX-License-Identifier: MIT OR Apache-2.0
//! Planted bugs, each of which must be found.

use std::time::Duration;

use ntux_platform::clock::Deadline;
use ntux_platform::futex;

use super::fence::{Canary, Fenced};

/// What is planted: in the core, or in the victim itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum Bug {
    /// The core believes the number of a waiter, whoever wrote it
    #[cfg(ntux_explore)]
    Index,
    /// The core follows a chain of chunks as long as it goes on
    #[cfg(ntux_explore)]
    Chain,
    /// The victim reads the byte behind the arena
    Behind,
    /// The victim reads the byte before the arena
    Before,
    /// The victim writes into another arena
    Elsewhere,
    /// The victim works without end
    Endless,
    /// The victim sleeps beyond its deadline
    Oversleep,
    /// The victim sends a signal
    Signal,
    /// The victim wakes a word that is no arena's
    Wake,
    /// The victim panics, and goes on as if nothing had happened
    Panic,
}

impl std::fmt::Display for Bug {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let value = clap::ValueEnum::to_possible_value(self).expect("no value is hidden");
        formatter.write_str(value.get_name())
    }
}

/// Plants a bug of the core in all that this thread does from now on.
pub fn plant(bug: Option<Bug>) {
    #[cfg(ntux_explore)]
    {
        use ntux_sync::planted;
        planted::set(match bug {
            Some(Bug::Index) => Some(planted::Bug::NoIndexCheck),
            Some(Bug::Chain) => Some(planted::Bug::EndlessWaitSet),
            _ => None,
        });
    }
    // Nothing can be planted in the core that ships.
    #[cfg(not(ntux_explore))]
    let _ = bug;
}

/// A panic that leaves no trace but its message.
pub fn panic() {
    let _ = std::panic::catch_unwind(|| panic!("planted"));
}

/// Does what the victim's bug is; to be called as if it were an operation.
pub fn misbehave(bug: Bug, fenced: &Fenced, canary: &Canary) {
    static PRIVATE: u32 = 0;
    let read = |address: usize| {
        // SAFETY: it is not safe: the page may not be touched, and the process ends here.
        unsafe { (address as *const u8).read_volatile() };
    };
    match bug {
        #[cfg(ntux_explore)]
        Bug::Index | Bug::Chain => {}
        Bug::Behind => read(fenced.range.end),
        Bug::Before => read(fenced.range.start - 1),
        Bug::Elsewhere => canary.spoil(),
        Bug::Endless => loop {
            std::hint::black_box(0);
        },
        Bug::Oversleep => std::thread::sleep(Duration::MAX),
        // SAFETY: a signal to this process itself that does nothing.
        Bug::Signal => drop(unsafe { libc::kill(libc::getpid(), libc::SIGCONT) }),
        Bug::Wake => {
            futex::wait(&raw const PRIVATE, 1, Deadline::NOW);
            futex::wake(&raw const PRIVATE, 1);
        }
        Bug::Panic => panic(),
    }
}
