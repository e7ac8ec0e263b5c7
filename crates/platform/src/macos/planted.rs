// SPDX-License-Identifier: MIT OR Apache-2.0
//! What this room must not make of XNU's answers, each done on purpose: `tests/simulated_macos.rs` shows that the contract's
//! checks notice it where XNU is simulated. Everywhere else [`planted`] is `false` at compile time.

/// An answer that is taken for another one, or a rule of XNU's that is not kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Bug {
    /// Wakes are of 8 bytes, sleeps of 4: `EDOM`.
    WakesOfEightBytes = 1,
    /// A sleep on a word of 64 bits is one on its first half.
    HalfWords,
    /// The waker does not say that other processes take part.
    SharedOnOneSide,
    /// `EFAULT`, of a word that is paged out, is the end of the wait.
    EfaultIsTheEnd,
    /// `EINTR` is the end of the wait.
    EintrIsTheEnd,
    /// `ENOENT` of a wake is an error.
    AbsenceIsAnError,
    /// The size of an object is set twice.
    SizeInTwoSteps,
    /// The name of an object has 32 characters.
    LongNames,
    /// Device and inode identify an object.
    IdentityFromStatus,
    /// An object is read as a file is.
    ReadAsAFile,
    /// A process that has ended is asked for as a living one.
    ForgetsCorpses,
    /// All memory that is mapped may be written.
    IgnoresProtection,
    /// Advice frees memory.
    AdviceFrees,
    /// Nothing runs in a forked child.
    NoHandlerInChildren,
}

#[cfg(ntux_simulated_macos)]
mod chosen {
    use super::Bug;
    use crate::atomic::Word32;

    static BUG: Word32 = Word32::new(0);

    /// Plants a bug in this process from now on, or none.
    pub fn set(bug: Option<Bug>) {
        BUG.store(bug.map_or(0, |bug| bug as u32));
    }

    pub(in crate::macos) fn planted(bug: Bug) -> bool {
        BUG.load() == bug as u32
    }
}

#[cfg(ntux_simulated_macos)]
pub(super) use chosen::planted;
#[cfg(ntux_simulated_macos)]
pub use chosen::set;

/// Returns whether this bug is planted. Never true on a Mac.
#[cfg(not(ntux_simulated_macos))]
#[inline(always)]
pub(super) const fn planted(_bug: Bug) -> bool {
    false
}
