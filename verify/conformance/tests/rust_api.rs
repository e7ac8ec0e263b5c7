// SPDX-License-Identifier: MIT OR Apache-2.0
//! The list on the Rust API: the crate `ntux`.

mod rust;

use std::process::ExitCode;

use ntux_conformance::case::Kind;
use ntux_conformance::run::{self, Instantiation};

fn main() -> ExitCode {
    run::main(&Instantiation { name: "Rust", open: || rust::open(None), without: &[(Kind::Device, rust::NO_DEVICE)] })
}
