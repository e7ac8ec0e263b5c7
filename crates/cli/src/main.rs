// SPDX-License-Identifier: MIT OR Apache-2.0
//! The `ntux` command. Each system has its subcommands: on macOS `doctor` and `bench`.

#![deny(clippy::print_stdout, clippy::print_stderr)]

#[cfg(not(any(target_os = "macos", ntux_simulated_macos)))]
#[path = "linux.rs"]
mod system;
#[cfg(any(target_os = "macos", ntux_simulated_macos))]
#[path = "macos.rs"]
mod system;

mod output;
#[cfg_attr(
    any(target_os = "macos", ntux_simulated_macos),
    allow(dead_code, reason = "of subcommands that Linux alone has")
)]
mod page;
#[cfg_attr(
    any(target_os = "macos", ntux_simulated_macos),
    allow(dead_code, reason = "no name of others is printed there")
)]
mod printable;
mod reference;
#[cfg_attr(
    any(target_os = "macos", ntux_simulated_macos),
    allow(dead_code, reason = "of subcommands that Linux alone has")
)]
mod say;
#[cfg_attr(
    any(target_os = "macos", ntux_simulated_macos),
    allow(dead_code, reason = "of subcommands that Linux alone has")
)]
mod status;

#[cfg(not(any(target_os = "macos", ntux_simulated_macos)))]
use system::*;

use status::NTUX_FAILED;

fn main() -> std::process::ExitCode {
    system::main()
}
