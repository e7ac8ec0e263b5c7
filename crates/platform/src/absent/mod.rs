//! What a system lacks: the parts of the contract that may be absent, for every room that says so with a marker.

mod descriptions;
mod nodes;
mod vectors;
mod wakes_at_death;
pub mod watching;

pub use descriptions::NoDescriptions;
pub use nodes::NoNodes;
pub use vectors::NoVectors;
pub use wakes_at_death::NoWakesAtDeath;
