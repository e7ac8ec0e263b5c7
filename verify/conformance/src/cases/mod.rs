//! The cases, one file for each part of `docs/semantics.md`.

use crate::case::Case;

mod alert;
mod arguments;
mod deadline;
mod descriptors;
mod event;
mod hand_off;
mod instance;
mod ioctl;
mod mutex;
mod order;
mod pointers;
mod processes;
mod semaphore;
mod signals;
mod wait_all;
mod wait_any;

pub(crate) const LISTS: &[&[Case]] = &[
    instance::CASES,
    semaphore::CASES,
    mutex::CASES,
    event::CASES,
    arguments::CASES,
    wait_any::CASES,
    wait_all::CASES,
    alert::CASES,
    deadline::CASES,
    hand_off::CASES,
    order::CASES,
    processes::CASES,
    ioctl::CASES,
    pointers::CASES,
    descriptors::CASES,
    signals::CASES,
];
