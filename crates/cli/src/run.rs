// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ntux run`: starts a program with the drop-in device.
//!
//! ntux replaces itself by the program (exec) instead of supervising a child. So the caller's child *is* the program,
//! and ntux need not pass on exit status, signals, process group or terminal.

use std::ffi::{OsStr, OsString};
use std::fmt::Display;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use clap::{Args, ValueEnum};

use ntux_platform::command::probe;
use ntux_platform::environment::{DEVICE, LOG, SOFT_DIRTY, SPIN, text};

use crate::library::{self, Library};
use crate::program::{self, Obstacle, Refusal};
use crate::status::{CANNOT_START, NOT_FOUND};
use crate::wine::{self, Measure, Prefix, Wine};
use crate::{NTUX_FAILED, say};

/// What can stand before the path of the log.
const LOG_LEVELS: [&str; 2] = ["waits:", "all:"];
/// The log path that means standard error.
const TO_STANDARD_ERROR: &str = "stderr";

/// Run a program that uses /dev/ntsync, or FUTEX_WAIT_MULTIPLE, on a kernel that lacks it.
///
/// The program is not changed: ntux loads a library into it that answers in the driver's place. A program into which
/// nothing can be loaded runs as without ntux, and ntux says why; `ntux doctor -- PROGRAM` says it beforehand.
#[derive(Args)]
pub struct Arguments {
    /// Which device the program gets [default: auto].
    #[arg(long, value_enum, env = text(DEVICE), hide_env_values = true)]
    device: Option<Device>,
    /// How many times a wait checks again before it sleeps [default: as long as that pays off].
    #[arg(long, value_name = "N", env = text(SPIN), hide_env_values = true)]
    spin: Option<u32>,
    /// How many descriptors the program may have open, at most the hard limit; 'max' for that [default: the limit stays]. An
    /// object is a descriptor. The limit is not raised unasked, because programs see it.
    #[arg(long, value_name = "N|max", value_parser = descriptors)]
    descriptors: Option<u64>,
    /// Append a line about each process to this file when the process ends; 'stderr' for standard error. 'waits:PATH' also
    /// writes each wait that sleeps and each operation that fails, 'all:PATH' every operation; %p stands for the process.
    #[arg(long, value_name = "[LEVEL:]PATH", env = text(LOG), hide_env_values = true)]
    log: Option<PathBuf>,
    /// Give the program soft-dirty bits: /proc/self/clear_refs and bit 55 of /proc/self/pagemap, which not every kernel
    /// has. This leaves the device out, unless --device names one, because a collector would scan the tables of its
    /// library.
    #[arg(long)]
    soft_dirty: bool,
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
    /// Its name in the environment.
    pub fn name(self) -> &'static str {
        match self {
            Device::Auto => "auto",
            Device::User => "user",
            Device::Kernel => "kernel",
        }
    }
}

/// Replaces this process by the program; returns only on failure.
pub fn run(arguments: &Arguments) -> ExitCode {
    let libraries: &[Library] = match (arguments.soft_dirty, arguments.device) {
        (false, _) => &[Library::Device],
        (true, None) => &[Library::Watch],
        (true, Some(_)) => &[Library::Watch, Library::Device],
    };
    let Prepared { mut command, path, obstacle } = match prepare(&arguments.program, libraries) {
        Ok(prepared) => prepared,
        Err(status) => return status,
    };
    if arguments.soft_dirty {
        command.env(text(SOFT_DIRTY), "1");
    }
    if let Some(device) = arguments.device {
        command.env(text(DEVICE), device.name());
    }
    if let Some(spin) = arguments.spin {
        command.env(text(SPIN), spin.to_string());
    }
    if let Some(wanted) = arguments.descriptors
        && let Err(status) = allow_descriptors(wanted)
    {
        return status;
    }
    if let Some(log) = &arguments.log {
        match log_path(log) {
            Ok(log) => command.env(text(LOG), log),
            Err(error) => return complain(NTUX_FAILED, format!("--log '{}': {error}", log.display())),
        };
    }
    if let Some(obstacle) = obstacle
        && (arguments.soft_dirty || ntux_would_serve(arguments.device))
    {
        say::complain(format_args!("ntux: '{}' itself runs without ntux: {obstacle}", arguments.program[0].display()));
    }
    if libraries.contains(&Library::Device) {
        keep_of_one_kind(&mut command, &path, arguments);
    }
    cannot_start(&arguments.program[0], &command.exec())
}

fn descriptors(text: &str) -> Result<u64, String> {
    match text {
        "max" => Ok(u64::MAX),
        number => number.parse().map_err(|_| "neither a number nor 'max'".to_owned()),
    }
}

/// Sets the limit for this process, which becomes the program.
fn allow_descriptors(wanted: u64) -> Result<(), ExitCode> {
    let hard = probe::descriptor_limit().hard;
    if wanted != u64::MAX && wanted > hard {
        return Err(complain(NTUX_FAILED, format!("--descriptors {wanted}: the hard limit is {hard} (ulimit -Hn)")));
    }
    probe::set_descriptor_limit(wanted).map_err(|error| complain(NTUX_FAILED, format!("--descriptors: {error}")))
}

/// Returns true if a program would get ntux's own device.
fn ntux_would_serve(wish: Option<Device>) -> bool {
    match wish {
        Some(Device::Kernel) => false,
        Some(Device::User) => true,
        Some(Device::Auto) | None => probe::device() != probe::Device::Usable,
    }
}

/// ntux must be able to serve all of Wine's processes; otherwise none gets the device.
fn keep_of_one_kind(command: &mut Command, path: &Path, arguments: &Arguments) {
    let Some(wine) = Wine::started_by(path, &arguments.program[1..]) else { return };
    if !ntux_would_serve(arguments.device) {
        return;
    }
    // Proton has its own prefix, which its script finds.
    if wine.proton.is_none()
        && let Some(server) = wine::plain_server()
    {
        say::complain(format_args!(
            "ntux: the wineserver of this prefix (process {server}) runs without ntux, so its programs get no /dev/ntsync; end it (wineserver -k) before `ntux run`"
        ));
    }
    match wine.measure(Prefix::current(), |name| std::env::var_os(name)) {
        Measure::None => {}
        Measure::Set(name, value) => {
            say::complain(format_args!(
                "ntux: setting {name}={value}: this Wine would start 32-bit processes, which ntux cannot serve"
            ));
            command.env(name, value);
        }
        Measure::NoDevice(why) => {
            say::complain(format_args!("ntux: no /dev/ntsync for this Wine, which works without it: {why}"));
            command.env(text(DEVICE), Device::Kernel.name());
        }
    }
}

/// A program ready to be started.
pub struct Prepared {
    pub command: Command,
    /// The file to which its name resolves.
    pub path: PathBuf,
    /// Why some of the libraries cannot be loaded into it. Its children may still be served.
    pub obstacle: Option<Obstacle>,
}

/// Prepares the program with these libraries, the last one first in the list. If it cannot be started, prints why and
/// returns the exit status.
pub fn prepare(program: &[OsString], libraries: &[Library]) -> Result<Prepared, ExitCode> {
    let name = &program[0];
    let path = program::resolve(name, std::env::var_os("PATH").as_deref()).map_err(|refusal| refuse(name, &refusal))?;
    let portrait = program::look(&path).map_err(|refusal| refuse(name, &refusal))?;
    let mut preload = std::env::var_os("LD_PRELOAD");
    let mut obstacle = None;
    for &library in libraries {
        let found = library::find(library).map_err(|trouble| complain(NTUX_FAILED, trouble))?;
        obstacle = portrait.obstacle(&found);
        // The loader would kill the program, because its glibc lacks symbols that this library needs.
        let fatal = match obstacle {
            Some(Obstacle::Musl) => !found.is_for_loaders_to_choose(),
            obstacle => obstacle == Some(Obstacle::OldLibrary),
        };
        if !fatal {
            preload = Some(library::preload_list(&found, preload.as_deref()));
        }
        obstacle = obstacle.filter(|why| *why != Obstacle::Narrow || !found.explains_itself);
    }
    let mut command = Command::new(&path);
    command.arg0(name).args(&program[1..]).envs(preload.map(|list| ("LD_PRELOAD", list)));
    Ok(Prepared { command, path, obstacle })
}

/// Prints why a program could not be started.
pub fn cannot_start(name: &OsString, error: &std::io::Error) -> ExitCode {
    let status = if error.kind() == ErrorKind::NotFound { NOT_FOUND } else { CANNOT_START };
    complain(status, format!("cannot start '{}': {error}", name.display()))
}

/// Prints that a program cannot be served, for a caller that needs the library in it.
pub fn cannot_serve(name: &OsString, obstacle: Obstacle) -> ExitCode {
    complain(CANNOT_START, format!("cannot serve '{}': {obstacle}", name.display()))
}

/// The program may change its directory before it writes, so the path is made absolute.
fn log_path(log: &Path) -> std::io::Result<PathBuf> {
    let name = log.as_os_str().as_encoded_bytes();
    let level = LOG_LEVELS.into_iter().find(|level| name.starts_with(level.as_bytes())).unwrap_or_default();
    let path = OsStr::from_bytes(&name[level.len()..]);
    if path == TO_STANDARD_ERROR {
        return Ok(log.to_owned());
    }
    let mut log = OsString::from(level);
    log.push(std::path::absolute(path)?);
    Ok(log.into())
}

fn refuse(name: &OsString, refusal: &Refusal) -> ExitCode {
    let status = if *refusal == Refusal::NotFound { NOT_FOUND } else { CANNOT_START };
    complain(status, format!("cannot run '{}': {refusal}", name.display()))
}

fn complain(status: u8, what: impl Display) -> ExitCode {
    say::complain(format_args!("ntux: {what}"));
    ExitCode::from(status)
}
