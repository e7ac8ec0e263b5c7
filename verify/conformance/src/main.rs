//! Tests the server of `/dev/ntsync`: the driver, or a replacement.
//!
//! Without a command it runs the list of cases, and takes the arguments of any Rust test program, for example part of a
//! case's name. Needs a mounted `/proc`.

use std::process::ExitCode;

use ntux_conformance::command;
use ntux_conformance::device::Device;
use ntux_conformance::run::{self, Instantiation};

fn main() -> ExitCode {
    if let Some(command) = command::asked() {
        return command.run();
    }
    run::main(&Instantiation { name: "device", open: || Box::new(Device::open()), without: &[] })
}
