// SPDX-License-Identifier: MIT OR Apache-2.0
//! The words that move chunks between wait sets, as [`crate::arena::chunks`] draws them: a link, and the transfer.

use ntux_platform::atomic::Pair;

use super::entry::Entry;
use super::fields::{Bits, LINK, TRANSFER, part};

const NAMED: Bits = part(LINK, "chunk");
const VERSION: Bits = part(LINK, "version");
const PHASE: Bits = part(TRANSFER, "phase");
const CHUNK: Bits = part(TRANSFER, "chunk");
const TAIL: Bits = part(TRANSFER, "tail");

/// From an object, or from a chunk, to the next chunk of the same wait set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Link(pub u32);

impl Link {
    /// The chunk that it names, which need not exist. None: the wait set ends here.
    #[inline(always)]
    pub(crate) fn chunk(self) -> Option<u32> {
        (self.0 & NAMED.mask() as u32).checked_sub(1)
    }

    /// The same link, to this chunk.
    pub(crate) fn to(self, chunk: u32) -> Link {
        Link(self.0 & !(NAMED.mask() as u32) | (chunk + 1) & NAMED.mask() as u32)
    }

    /// The same link, cut: an end that this link never was before.
    pub(crate) fn cut(self) -> Link {
        let version = (self.0 >> VERSION.shift()).wrapping_add(1);
        Link(version << VERSION.shift())
    }
}

/// The end of a wait set: the object itself, or a chunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Tail {
    Object(u32),
    Chunk(u32),
}

impl Tail {
    const CHUNK: u32 = 1 << 31;

    fn of(bits: u32) -> Tail {
        if bits & Tail::CHUNK == 0 { Tail::Object(bits) } else { Tail::Chunk(bits & !Tail::CHUNK) }
    }

    fn bits(self) -> u32 {
        match self {
            Tail::Object(index) => index,
            Tail::Chunk(index) => index | Tail::CHUNK,
        }
    }
}

/// How far a transfer is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Phase {
    Idle,
    Sealing,
    Cutting,
    Loose,
    Giving,
}

/// A copy of the transfer word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Transfer(pub Pair);

impl Transfer {
    pub(crate) fn phase(self) -> Phase {
        match self.0.high >> PHASE.shift() & PHASE.mask() {
            1 => Phase::Sealing,
            2 => Phase::Cutting,
            3 => Phase::Loose,
            4 => Phase::Giving,
            _ => Phase::Idle,
        }
    }

    /// The chunk that moves.
    pub(crate) fn chunk(self) -> u32 {
        (self.0.high >> CHUNK.shift() & CHUNK.mask()) as u32
    }

    /// Where the chunk is taken, or goes.
    pub(crate) fn tail(self) -> Tail {
        Tail::of((self.0.high >> TAIL.shift() & TAIL.mask()) as u32)
    }

    /// What marks the places of the chunk that is being taken. None: none is.
    pub(crate) fn seal(self) -> Option<Entry> {
        match self.phase() {
            Phase::Sealing => Some(Entry::seal(self.0.low)),
            Phase::Cutting => Some(Entry::seal(self.0.low.wrapping_sub(1))),
            Phase::Idle | Phase::Loose | Phase::Giving => None,
        }
    }

    pub(crate) fn idle(self) -> Transfer {
        self.next(Phase::Idle, 0, Tail::Object(0))
    }

    pub(crate) fn sealing(self, chunk: u32, from: Tail) -> Transfer {
        self.next(Phase::Sealing, chunk, from)
    }

    pub(crate) fn cutting(self) -> Transfer {
        self.next(Phase::Cutting, self.chunk(), self.tail())
    }

    pub(crate) fn loose(self) -> Transfer {
        self.next(Phase::Loose, self.chunk(), Tail::Object(0))
    }

    pub(crate) fn giving(self, chunk: u32, to: Tail) -> Transfer {
        self.next(Phase::Giving, chunk, to)
    }

    fn next(self, phase: Phase, chunk: u32, tail: Tail) -> Transfer {
        let phase: u64 = match phase {
            Phase::Idle => 0,
            Phase::Sealing => 1,
            Phase::Cutting => 2,
            Phase::Loose => 3,
            Phase::Giving => 4,
        };
        let chunk = (u64::from(chunk) & CHUNK.mask()) << CHUNK.shift();
        let tail = u64::from(tail.bits()) << TAIL.shift();
        Transfer(Pair { low: self.0.low.wrapping_add(1), high: phase << PHASE.shift() | chunk | tail })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::limits::WAITERS_MAX;

    #[test]
    fn a_link_that_was_cut_is_an_end_that_it_never_was() {
        let last = WAITERS_MAX * 2 - 1;
        let mut ends = vec![Link(0)];
        for _ in 0..1 << 14 {
            let end = *ends.last().unwrap();
            let link = end.to(last);
            assert_eq!((end.chunk(), link.chunk()), (None, Some(last)));
            ends.push(link.cut());
        }
        assert_eq!(ends.pop(), Some(Link(0)), "the version wraps");
        ends.sort_by_key(|end| end.0);
        ends.dedup();
        assert_eq!(ends.len(), 1 << 14);
    }

    #[test]
    fn a_transfer_says_what_it_was_told_and_each_has_another_number() {
        let last = WAITERS_MAX * 2 - 1;
        let idle = Transfer(Pair::default());
        let sealing = idle.sealing(last, Tail::Object((1 << 24) - 1));
        assert_eq!(
            (sealing.phase(), sealing.chunk(), sealing.tail()),
            (Phase::Sealing, last, Tail::Object((1 << 24) - 1))
        );
        let cutting = sealing.cutting();
        assert_eq!((cutting.chunk(), cutting.tail(), cutting.seal()), (last, sealing.tail(), sealing.seal()));
        let giving = cutting.loose().giving(last, Tail::Chunk(7));
        assert_eq!((giving.phase(), giving.chunk(), giving.tail()), (Phase::Giving, last, Tail::Chunk(7)));
        assert_eq!((giving.seal(), giving.idle().phase(), giving.idle().0.low), (None, Phase::Idle, 5));
    }
}
