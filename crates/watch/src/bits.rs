// SPDX-License-Identifier: MIT OR Apache-2.0
//! A bit for each page of a region; several threads may change it at once.

use ntux_platform::atomic::Word64;

use crate::zeroed::zeroed;

/// Pages per word.
pub(crate) const WORD: usize = 64;

/// A bit for each page, all clear at first.
pub(crate) struct Bits {
    words: Box<[Word64]>,
}

impl Bits {
    pub fn new(pages: usize) -> Bits {
        Bits { words: zeroed(pages.div_ceil(WORD)) }
    }

    /// The word whose first bit is page `64 * index`.
    pub fn word(&self, index: usize) -> u64 {
        self.words[index].load()
    }

    pub fn raise(&self, first: usize, end: usize) {
        for (index, mask) in masks(first, end) {
            self.words[index].fetch_or(mask);
        }
    }

    pub fn lower(&self, first: usize, end: usize) {
        for (index, mask) in masks(first, end) {
            self.words[index].fetch_and(!mask);
        }
    }

    pub fn any(&self, first: usize, end: usize) -> bool {
        masks(first, end).any(|(index, mask)| self.words[index].load() & mask != 0)
    }

    pub fn all(&self, first: usize, end: usize) -> bool {
        masks(first, end).all(|(index, mask)| self.words[index].load() & mask == mask)
    }

    /// Runs of pages whose bits are equal, with that bit.
    pub fn runs(&self, first: usize, end: usize) -> impl Iterator<Item = (usize, usize, bool)> {
        let mut position = first;
        core::iter::from_fn(move || {
            if position >= end {
                return None;
            }
            let start = position;
            let raised = self.is_raised(start);
            while position < end && self.is_raised(position) == raised {
                let word = self.words[position / WORD].load();
                let uniform = position.is_multiple_of(WORD) && word == if raised { u64::MAX } else { 0 };
                position += if uniform { WORD } else { 1 };
            }
            position = position.min(end);
            Some((start, position, raised))
        })
    }

    fn is_raised(&self, page: usize) -> bool {
        self.words[page / WORD].load() >> (page % WORD) & 1 != 0
    }
}

/// The words for the pages from `first` to `end`, each with a mask of these pages.
pub(crate) fn masks(first: usize, end: usize) -> impl Iterator<Item = (usize, u64)> {
    (first / WORD..end.div_ceil(WORD)).map(move |index| {
        let low = first.saturating_sub(index * WORD);
        let high = (end - index * WORD).min(WORD);
        (index, between(low, high))
    })
}

/// The bits from `low` up to, but not including, `high`; at most 64.
pub(crate) fn between(low: usize, high: usize) -> u64 {
    if high <= low { 0 } else { u64::MAX >> (WORD - (high - low)) << low }
}

/// The runs of set bits of a word, each as its first bit and the bit after its last.
pub(crate) fn runs_of_word(mut word: u64) -> impl Iterator<Item = (usize, usize)> {
    core::iter::from_fn(move || {
        if word == 0 {
            return None;
        }
        let first = word.trailing_zeros() as usize;
        let count = (word >> first).trailing_ones() as usize;
        word &= if first + count == WORD { 0 } else { u64::MAX << (first + count) };
        Some((first, first + count))
    })
}

/// The lowest `count` set bits of a word.
pub(crate) fn lowest(word: u64, count: usize) -> u64 {
    let mut rest = word;
    for _ in 0..count.min(word.count_ones() as usize) {
        rest &= rest - 1;
    }
    word ^ rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_cover_exactly_the_pages() {
        assert_eq!(masks(0, 64).collect::<Vec<_>>(), [(0, u64::MAX)]);
        assert_eq!(masks(3, 5).collect::<Vec<_>>(), [(0, 0b11000)]);
        assert_eq!(masks(63, 66).collect::<Vec<_>>(), [(0, 1 << 63), (1, 3)]);
        assert_eq!(masks(70, 71).collect::<Vec<_>>(), [(1, 1 << 6)]);
        assert_eq!(masks(5, 5).count(), 1, "an empty range inside a word has an empty mask");
        assert!(masks(5, 5).all(|(_, mask)| mask == 0));
    }

    #[test]
    fn runs_and_lowest_bits() {
        assert_eq!(runs_of_word(0b1011_0000 | 1 << 63).collect::<Vec<_>>(), [(4, 6), (7, 8), (63, 64)]);
        assert_eq!(runs_of_word(u64::MAX).collect::<Vec<_>>(), [(0, 64)]);
        assert_eq!(lowest(0b1011_0000, 2), 0b11_0000);
        assert_eq!(lowest(0b11, 9), 0b11);
        let bits = Bits::new(200);
        bits.raise(64, 130);
        assert_eq!(bits.runs(0, 200).collect::<Vec<_>>(), [(0, 64, false), (64, 130, true), (130, 200, false)]);
        bits.lower(100, 101);
        assert_eq!(bits.runs(90, 110).count(), 3);
    }
}
