//! What the policy for waiting asks the machine. Nothing here enters the kernel more than once in a process.

use crate::Here;
use crate::atomic::Word32;
use crate::clock::monotonic_ns;
use crate::contract::System;

/// A clock that takes longer than this to read is a call into the kernel, or into what runs it: nothing can be timed by it
/// that takes a microsecond.
const CLOCK_NS_MOST: u64 = 400;

/// The processor that this thread is on.
#[inline]
pub fn processor() -> Option<u32> {
    Here::processor()
}

/// Whether looking can pay at all, for all that is known before it is tried: this process began with more than one
/// processor, and the clock is no call. Found out at the first need, and kept.
///
/// Who is confined to one processor later finds out by where its waits are decided ([`super::spin_policy`]).
#[inline(always)]
pub fn can_look() -> bool {
    match KNOWN.load() {
        NO => false,
        YES => true,
        _ => learn_whether_to_look(),
    }
}

const NO: u32 = 1;
const YES: u32 = 2;
/// What [`can_look`] has found out.
static KNOWN: Word32 = Word32::new(0);

#[cold]
fn learn_whether_to_look() -> bool {
    let can = Here::processors() > 1 && clock_is_quick();
    KNOWN.store(if can { YES } else { NO });
    can
}

/// The best of three, so that an interrupt does not count.
fn clock_is_quick() -> bool {
    (0..3).any(|_| {
        let before = monotonic_ns();
        monotonic_ns().saturating_sub(before) <= CLOCK_NS_MOST
    })
}
