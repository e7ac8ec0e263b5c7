// SPDX-License-Identifier: MIT OR Apache-2.0
//! The list on the reference: its requirements can be met.

use std::process::ExitCode;

use ntux_conformance::case::Kind;
use ntux_conformance::reference::Reference;
use ntux_conformance::run::{self, Instantiation};

fn main() -> ExitCode {
    run::main(&Instantiation {
        name: "reference",
        open: || Box::new(Reference::open()),
        without: &[
            (Kind::Processes, "its objects live in the memory of one process"),
            (Kind::Holds, "its objects live in the memory of one process"),
            (Kind::Device, "its objects are no descriptors"),
        ],
    })
}
