// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests the server of `/dev/ntsync`: the driver, or a replacement.
//!
//! Without a command it runs the list of cases, and takes the arguments of any Rust test program, for example part of a
//! case's name. Needs a mounted `/proc`.

use std::process::ExitCode;

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    use ntux_conformance::case::Kind;
    use ntux_conformance::command;
    use ntux_conformance::device::Device;
    use ntux_conformance::run::{self, Instantiation};

    if let Some(command) = command::asked() {
        return command.run();
    }
    run::main(&Instantiation {
        name: "device",
        open: || Box::new(Device::open()),
        without: &[(Kind::Holds, "descriptors hold its objects")],
    })
}

#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    eprintln!(
        "ntsync-conformance: /dev/ntsync is Linux's; the tests core_api, rust_api, rust_async, rust_descriptors and c_api run the list here"
    );
    ExitCode::FAILURE
}
