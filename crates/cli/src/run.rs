//! `ntux run`: start a program with the drop-in device.
//!
//! ntux replaces itself by the program (exec) instead of watching over a child. So the caller's child *is* the program:
//! its exit status, its signals, its process group and its terminal are its own without anything that has to be
//! passed on.

use std::ffi::OsString;
use std::fmt::Display;
use std::io::ErrorKind;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use clap::{Args, ValueEnum};

use crate::program::{self, Refusal};
use crate::{NTUX_FAILED, library};

/// Exit status when the program is there but cannot be started or served.
const CANNOT_START: u8 = 126;
/// Exit status when there is no such program.
const NOT_FOUND: u8 = 127;

/// In place of a path for the log.
const TO_STANDARD_ERROR: &str = "stderr";

/// Run a program that uses /dev/ntsync, or FUTEX_WAIT_MULTIPLE, on a kernel that has no such thing.
///
/// The program is not changed: a library is loaded into it that answers in the driver's place. The exit status is the
/// program's own; see `ntux help exit-status` for when it could not be started.
#[derive(Args)]
pub struct Arguments {
    /// Which device the program gets [default: auto].
    #[arg(long, value_enum, env = "NTUX_DEVICE", hide_env_values = true)]
    device: Option<Device>,
    /// How many times a wait looks again before it sleeps.
    #[arg(long, value_name = "N", env = "NTUX_SPIN", hide_env_values = true)]
    spin: Option<u32>,
    /// Append to this file, when a process ends, what the device did for it; 'stderr' for standard error.
    #[arg(long, value_name = "PATH", env = "NTUX_LOG", hide_env_values = true)]
    log: Option<PathBuf>,
    /// The program and its arguments.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_names = ["PROGRAM", "ARGUMENT"])]
    program: Vec<OsString>,
}

/// Which device a program gets.
#[derive(Clone, Copy, ValueEnum)]
pub enum Device {
    /// The kernel's driver if it answers, ntux's own device otherwise.
    Auto,
    /// ntux's own device.
    User,
    /// The kernel's driver.
    Kernel,
}

impl Device {
    /// As it is written in the environment.
    pub fn name(self) -> &'static str {
        match self {
            Device::Auto => "auto",
            Device::User => "user",
            Device::Kernel => "kernel",
        }
    }
}

/// Replaces this process by the program; comes back only if that failed.
pub fn run(arguments: &Arguments) -> ExitCode {
    let name = &arguments.program[0];
    let path = match program::resolve(name, std::env::var_os("PATH").as_deref()) {
        Ok(path) => path,
        Err(refusal) => return refuse(name, &refusal),
    };
    if let Err(refusal) = program::check(&path) {
        return refuse(name, &refusal);
    }
    let library = match library::find() {
        Ok(library) => library,
        Err(trouble) => return complain(NTUX_FAILED, trouble),
    };
    let mut command = Command::new(path);
    command.arg0(name).args(&arguments.program[1..]);
    command.env("LD_PRELOAD", library::preload_list(&library, std::env::var_os("LD_PRELOAD").as_deref()));
    if let Some(device) = arguments.device {
        command.env("NTUX_DEVICE", device.name());
    }
    if let Some(spin) = arguments.spin {
        command.env("NTUX_SPIN", spin.to_string());
    }
    if let Some(log) = &arguments.log {
        match log_path(log) {
            Ok(log) => command.env("NTUX_LOG", log),
            Err(error) => return complain(NTUX_FAILED, format!("--log '{}': {error}", log.display())),
        };
    }
    let error = command.exec();
    let status = if error.kind() == ErrorKind::NotFound { NOT_FOUND } else { CANNOT_START };
    complain(status, format!("cannot start '{}': {error}", name.display()))
}

/// The program may change its directory before it writes, so the path is made absolute.
fn log_path(log: &Path) -> std::io::Result<PathBuf> {
    if log == Path::new(TO_STANDARD_ERROR) { Ok(log.to_owned()) } else { std::path::absolute(log) }
}

fn refuse(name: &OsString, refusal: &Refusal) -> ExitCode {
    let status = if *refusal == Refusal::NotFound { NOT_FOUND } else { CANNOT_START };
    complain(status, format!("cannot run '{}': {refusal}", name.display()))
}

fn complain(status: u8, what: impl Display) -> ExitCode {
    eprintln!("ntux: {what}");
    ExitCode::from(status)
}
