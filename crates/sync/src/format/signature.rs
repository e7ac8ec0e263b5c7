// SPDX-License-Identifier: MIT OR Apache-2.0
//! The word in which whoever decides a wait signs: who performs the operation that decided it, and which wait that is.
//!
//! ```text
//!  63                   32 31                    0
//! +-----------------------+-----------------------+
//! |  tag of the wait      |  mark                 |      0: never signed
//! +-----------------------+-----------------------+
//! ```
//! The tag is that of the claim: the low 32 bits of the ticket of the wait.

use super::fields::{Bits, SIGNATURE, part};
use super::mark::Mark;

const MARK: Bits = part(SIGNATURE, "mark");
const TAG: Bits = part(SIGNATURE, "tag");

/// A copy of a signature.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Signature(pub u64);

impl Signature {
    /// A thread with this mark performs the operation that decided the wait with this tag.
    #[inline(always)]
    pub(crate) fn new(tag: u32, mark: Mark) -> Signature {
        Signature(u64::from(tag) << TAG.shift() | u64::from(mark.0) << MARK.shift())
    }

    /// The performer that decided the wait with this tag; unknown if the signature is for another wait.
    pub(crate) fn mark_for(self, tag: u32) -> Mark {
        let is_for_it = self.0 >> TAG.shift() & TAG.mask() == u64::from(tag);
        if is_for_it { Mark((self.0 >> MARK.shift() & MARK.mask()) as u32) } else { Mark::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::holder::Holder;

    #[test]
    fn a_signature_counts_for_the_wait_that_it_was_left_for() {
        let mark = Mark::of(Holder::new(7, 4711));
        let signature = Signature::new(u32::MAX, mark);
        assert_eq!(signature.mark_for(u32::MAX), mark);
        for other in [0, 1, u32::MAX - 1] {
            assert_eq!(signature.mark_for(other), Mark::default());
        }
        assert_eq!(Signature::default().mark_for(0), Mark::default());
    }
}
