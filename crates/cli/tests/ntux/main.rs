//! The `ntux` command as its users call it.

#![cfg(target_os = "linux")]

mod doctor;
mod help;
#[path = "../../../platform/tests/seccomp/rule.rs"]
mod rule;
mod run;
mod stage;
mod watch;
mod watch_program;
