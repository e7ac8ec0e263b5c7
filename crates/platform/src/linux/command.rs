// SPDX-License-Identifier: MIT OR Apache-2.0
//! Only for the program `ntux`: child processes, looks at other processes, and probes of the machine.

pub mod child;
pub mod others;
pub mod probe;
