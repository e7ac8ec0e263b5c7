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
    allow(dead_code, reason = "no name of others is printed there")
)]
mod printable;
mod say;

#[cfg(not(any(target_os = "macos", ntux_simulated_macos)))]
use system::*;

/// Exit status when ntux itself fails, as for `env` and `timeout`.
const NTUX_FAILED: u8 = 125;

fn main() -> std::process::ExitCode {
    system::main()
}
