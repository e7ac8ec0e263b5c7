// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the user says ([`environment`]) and is told ([`log`]).

pub(crate) mod environment;
pub(crate) mod log;
