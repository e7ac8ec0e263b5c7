// SPDX-License-Identifier: MIT OR Apache-2.0
//! The admission word, as [`crate::protocol::admission`] draws it.

use ntux_platform::atomic::Pair;

use super::fields::{ADMISSION, Bits, part};
use super::object_word::{Claimant, ObjectWord};
use super::ticket::Ticket;
use crate::planted::{Bug, planted};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Phase {
    Idle,
    Apply,
    Scan,
    Try,
    End,
}

/// A copy of the admission word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Admission(pub Pair);

const PHASE: Bits = part(ADMISSION, "phase");
const REQUESTER: Bits = part(ADMISSION, "requester");
const STEP: Bits = part(ADMISSION, "step");
const CANDIDATE: Bits = part(ADMISSION, "candidate");
const STEP_HIGH: Bits = part(ADMISSION, "step_high");

impl Admission {
    pub fn new(phase: Phase, attempt: u32, step: u32, requester: u32, candidate: u32, ticket: Ticket) -> Admission {
        let phase: u64 = match phase {
            Phase::Idle => 0,
            Phase::Apply => 1,
            Phase::Scan => 2,
            Phase::Try => 3,
            Phase::End => 4,
        };
        let within = |part: Bits, number: u32| (u64::from(number) & part.mask()) << part.shift();
        let low = u64::from(attempt) | phase << PHASE.shift() | within(REQUESTER, requester) | within(STEP, step);
        let high = ticket.number() | within(CANDIDATE, candidate) | within(STEP_HIGH, step >> STEP.width);
        Admission(Pair { low, high })
    }

    pub fn phase(self) -> Phase {
        match self.0.low >> PHASE.shift() & PHASE.mask() {
            1 => Phase::Apply,
            2 => Phase::Scan,
            3 => Phase::Try,
            4 => Phase::End,
            _ => Phase::Idle,
        }
    }

    pub fn attempt(self) -> u32 {
        self.0.low as u32
    }

    pub fn requester(self) -> u32 {
        (self.0.low >> REQUESTER.shift() & REQUESTER.mask()) as u32
    }

    pub fn step(self) -> u32 {
        let high = self.0.high >> STEP_HIGH.shift() & STEP_HIGH.mask();
        (self.0.low >> STEP.shift() | high << STEP.width) as u32
    }

    pub fn candidate(self) -> u32 {
        (self.0.high >> CANDIDATE.shift() & CANDIDATE.mask()) as u32
    }

    pub fn ticket(self) -> Ticket {
        Ticket::new(self.0.high)
    }

    /// The name of the operation: its first attempt.
    pub fn operation(self) -> u32 {
        self.attempt().wrapping_sub(self.step())
    }

    pub fn in_phase(self, phase: Phase) -> Admission {
        Admission::new(phase, self.attempt(), self.step(), self.requester(), self.candidate(), self.ticket())
    }

    /// The next attempt of the same operation.
    pub fn trying(self, candidate: u32, ticket: Ticket) -> Admission {
        let (attempt, step) = (self.attempt().wrapping_add(1), self.step() + 1);
        Admission::new(Phase::Try, attempt, step, self.requester(), candidate, ticket)
    }

    /// A wait-all's own first attempt has no origin.
    pub fn has_origin(self) -> bool {
        self.candidate() != self.requester() || self.step() > 0
    }

    /// Tag of the claims of this attempt.
    pub fn tag(self) -> u32 {
        if planted(Bug::NoAttempt) { self.ticket().tag() } else { self.attempt() }
    }

    /// Returns true if the running operation has taken the object for a wait-all, or returned it, and hides it until it
    /// completes (C6).
    pub fn trails(self, word: ObjectWord) -> bool {
        self.phase() != Phase::Idle && word.claimant() == Claimant::All && word.tag() == self.operation()
    }

    pub fn names(self, waiter: u32) -> bool {
        self.phase() != Phase::Idle && (self.requester() == waiter || self.candidate() == waiter)
    }
}

/// The candidate of an operation that tries nobody.
pub(crate) const NOBODY: u32 = CANDIDATE.mask() as u32;
