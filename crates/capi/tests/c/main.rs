// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of the C face as a C program meets it: installed somewhere by `make install-capi`, found by pkg-config.

mod android;
mod calls;
mod commands;
mod compile;
mod examples;
mod header;
mod install;
mod loader;
mod namesakes;
#[path = "../../../platform/tests/seccomp/rule.rs"]
mod rule;
mod symbols;
#[path = "../../../platform/tests/systems/systems.rs"]
mod systems;
