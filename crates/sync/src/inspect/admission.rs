// SPDX-License-Identifier: MIT OR Apache-2.0
//! The state of wait-all.

use super::{number, reading};
use crate::format::fields::{ADMISSION, part};
use crate::format::layout::Header;
use crate::format::limits::WAITERS_MAX;

/// The admitted operation, if there is one, with its progress.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AdmissionView {
    /// Its progress.
    pub phase: Phase,
    /// Attempts since the arena was created; the claims of the current one carry this number.
    pub attempt: u32,
    /// The waiter whose request it is.
    pub requester: Option<u32>,
    /// The wait-all waiter being tried.
    pub candidate: Option<u32>,
}

/// The progress of the admitted operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Phase {
    /// No operation is admitted.
    #[default]
    Idle,
    /// A signal takes effect.
    Apply,
    /// Searching the next wait-all waiter.
    Scan,
    /// Trying a wait-all.
    Try,
    /// What is left goes to wait-any waiters.
    End,
    /// No such phase.
    Rubbish,
}

impl AdmissionView {
    pub(super) fn of(header: &Header) -> AdmissionView {
        let pair = reading(&header.admission.0, |pair| pair).what;
        let value = |name| number(pair, part(ADMISSION, name)) as u32;
        let phase = match value("phase") {
            0 => Phase::Idle,
            1 => Phase::Apply,
            2 => Phase::Scan,
            3 => Phase::Try,
            4 => Phase::End,
            _ => Phase::Rubbish,
        };
        let waiter = |name| Some(value(name)).filter(|&index| phase != Phase::Idle && index < WAITERS_MAX);
        AdmissionView {
            phase,
            attempt: value("attempt"),
            requester: waiter("requester"),
            candidate: waiter("candidate"),
        }
    }
}
