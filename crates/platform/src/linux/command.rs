//! Only for the program `ntux`: child processes, and probes of the machine.

pub mod child;
pub mod probe;
