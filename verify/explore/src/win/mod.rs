// SPDX-License-Identifier: MIT OR Apache-2.0
//! Model checking of the Win32 face: calls, locks without handles, the table of handles, as they are shipped, over the core as it is
//! shipped.
//!
//! A [`programs::Program`] is a few functions, each for one thread, which call the library as a program does and check what they are
//! told. [`machine`] runs them one access at a time; [`search`] tries every schedule with so many preemptions, and ends at a state met
//! before. At the end nobody may sleep.
//!
//! # Memory
//! A store lies in its thread's buffer until the search lets it reach the memory; loads of other threads overtake it, exchanges and calls
//! of the kernel do not. That is what x86-64 does. A processor of aarch64 does not even that with the instructions that these orders
//! compile to (`stlr`, `ldar`).
//!
//! # Limits
//! * Sleeping and waking is what `ntux_futex` promises; [`crate::futex`] has its explorer.
//! * Names take a lock of the standard library; no program uses them. Threads of the system are not made: bodies begin and end as they do.
//! * Nobody is stopped for ever: the threads of a process die together.

pub mod machine;
pub mod programs;
pub mod search;
