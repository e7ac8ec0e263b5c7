//! What only the program `ntux` needs: programs that it starts, and what this machine lets a process do.

pub mod child;
pub mod probe;
