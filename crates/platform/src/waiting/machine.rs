// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the policy for waiting asks the machine. Nothing here enters the kernel more than twice in a process.

use crate::Here;
use crate::atomic::Word32;
use crate::clock::monotonic_ns;
use crate::contract::System;
use crate::waiting::{Outlook, stamped};

/// A clock that takes longer than this to read is a call into the kernel, or into what runs it: nothing can be timed by it
/// that takes a microsecond.
const CLOCK_NS_MOST: u64 = 400;

/// The processor that this thread is on.
#[inline]
pub fn processor() -> Option<u32> {
    Here::processor()
}

/// What a thread of this process expects before its first wait. Found out at the first need, and kept.
///
/// It is no more than where each thread begins: whoever waits first can be confined where others are not, and another
/// process can decide its waits. Each thread then finds out by where its own waits are decided ([`Outlook`]).
pub fn first_outlook() -> Outlook {
    /// What was found out, plus one.
    static KNOWN: Word32 = Word32::new(0);
    let known = KNOWN.load().checked_sub(1).unwrap_or_else(|| {
        let expects = if !clock_is_quick() { SLOW_CLOCK } else { u32::from(Here::processors() > 1) };
        KNOWN.store(expects + 1);
        expects
    });
    match (known, processor().map(stamped)) {
        (SLOW_CLOCK, _) => Outlook::Never,
        (0, None) => Outlook::Never,
        (0, Some(here)) => Outlook::Home(here),
        _ => Outlook::default(),
    }
}

const SLOW_CLOCK: u32 = 2;

/// The best of three, so that an interrupt does not count.
fn clock_is_quick() -> bool {
    (0..3).any(|_| {
        let before = monotonic_ns();
        monotonic_ns().saturating_sub(before) <= CLOCK_NS_MOST
    })
}
