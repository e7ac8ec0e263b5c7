// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fallbacks for the parts of the contract that a system may lack. A room gets them by implementing a marker.

mod descriptions;
mod long_words;
mod marks_at_death;
mod meetings;
mod nodes;
mod processes;
mod rings;
mod vectors;
mod wakes_at_death;
pub mod watching;

pub use descriptions::NoDescriptions;
pub use long_words::NoLongWords;
pub use marks_at_death::NoMarksAtDeath;
pub use meetings::NoMeetings;
pub use nodes::NoNodes;
pub use processes::NoProcesses;
pub use rings::NoRings;
pub use vectors::NoVectors;
pub use wakes_at_death::NoWakesAtDeath;
