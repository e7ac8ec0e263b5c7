// SPDX-License-Identifier: MIT OR Apache-2.0
//! The `ntux` command as its users call it.

#![cfg(target_os = "linux")]

#[cfg(target_arch = "x86_64")]
mod addresses;
mod doctor;
mod elsewhere;
#[path = "../../../platform/tests/first_thread/first_thread.rs"]
mod first_thread;
#[cfg(target_arch = "x86_64")]
mod full;
#[cfg(target_arch = "x86_64")]
mod half_way;
#[cfg(target_arch = "x86_64")]
mod handles;
mod help;
mod inspect;
#[cfg(target_arch = "x86_64")]
mod names;
#[cfg(target_arch = "x86_64")]
mod odd;
mod odd_threads;
#[cfg(target_arch = "x86_64")]
#[path = "../../../platform/tests/processors/processors.rs"]
mod processors;
mod products;
mod ps;
mod report;
#[path = "../../../platform/tests/seccomp/rule.rs"]
mod rule;
mod run;
#[path = "../schema/schema.rs"]
mod schema;
mod schemas;
#[cfg(target_arch = "x86_64")]
mod sections;
#[path = "../../../platform/tests/skips/skips.rs"]
mod skips;
mod stage;
mod top;
mod trace;
#[cfg(target_arch = "x86_64")]
mod trees;
mod users;
mod viewer;
mod watch_program;
mod why;
mod wine;
