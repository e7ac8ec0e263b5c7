// SPDX-License-Identifier: MIT OR Apache-2.0
//! The cases, one file for each part of `docs/reference/semantics.md`.

use crate::case::Case;

mod alert;
mod arguments;
mod deadline;
#[cfg(target_os = "linux")]
mod descriptors;
mod event;
mod hand_off;
mod holds;
mod instance;
#[cfg(target_os = "linux")]
mod ioctl;
mod mutex;
mod names;
mod order;
mod owners;
#[cfg(target_os = "linux")]
mod pointers;
mod processes;
mod queue;
mod semaphore;
#[cfg(target_os = "linux")]
mod signals;
mod timer;
mod wait_all;
mod wait_any;

pub(crate) const LISTS: &[&[Case]] = &[
    instance::CASES,
    semaphore::CASES,
    mutex::CASES,
    event::CASES,
    timer::CASES,
    arguments::CASES,
    wait_any::CASES,
    wait_all::CASES,
    alert::CASES,
    deadline::CASES,
    hand_off::CASES,
    order::CASES,
    processes::CASES,
    holds::CASES,
    names::CASES,
    queue::CASES,
    owners::CASES,
];

/// What is about the device.
pub(crate) const OF_THE_DEVICE: &[&[Case]] = &[
    #[cfg(target_os = "linux")]
    ioctl::CASES,
    #[cfg(target_os = "linux")]
    pointers::CASES,
    #[cfg(target_os = "linux")]
    descriptors::CASES,
    #[cfg(target_os = "linux")]
    signals::CASES,
];
