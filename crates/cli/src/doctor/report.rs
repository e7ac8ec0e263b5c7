// SPDX-License-Identifier: MIT OR Apache-2.0
//! The report: what every part of `ntux doctor` has found.

use serde::Serialize;

use super::choice::Choice;
use super::deaths::OwnerDeaths;
use super::facts::Facts;
use super::futexes::Row;
use super::multiple::WaitMultiple;
use super::program::Program;
use super::wakes::WakeDescriptors;
use super::watch::Watch;

/// The whole report; the JSON has the same shape.
#[derive(Serialize)]
pub struct Report {
    #[serde(flatten)]
    pub facts: Facts,
    pub futexes: Vec<Row>,
    pub choice: Choice,
    pub wait_multiple: WaitMultiple,
    pub wake_descriptors: WakeDescriptors,
    pub owner_deaths: OwnerDeaths,
    pub watch: Watch,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<Program>,
}
