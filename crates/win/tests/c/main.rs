// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of the Win32 face as a C or C++ program meets it: installed somewhere by `make install-win`, found by pkg-config. Each program
//! beside this file is about one family of functions.
#![cfg(target_os = "linux")]

mod calls;
#[path = "../../../capi/tests/c/commands.rs"]
mod commands;
mod header;
mod install;
mod raii;
mod stress;
mod symbols;
