//! Planted bugs: each breaks one rule, so that the model checker can show that it would notice.
//!
//! They exist only with the configuration `ntux_explore`; otherwise [`planted`] is `false` at compile time.

/// One broken rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(dead_code, reason = "only a checker plants bugs")]
pub enum Bug {
    /// A wait does not compare its words again after it has queued.
    NoCompare,
    /// A waker passes over a thread that is still arriving.
    PassArriving,
    /// A waker does not wake.
    NoWake,
    /// A waker that finds nobody on a woken thread's own word looks there again, and not at the gathering place.
    PassGathered,
    /// Last come, first served.
    Lifo,
    /// The head of a line passes somebody who is queued.
    PassQueued,
    /// The head of a line passes somebody who is queued in the next ring.
    PassNextRing,
    /// The head of a line passes a ticket whose entry is still to come.
    PassComing,
    /// A walk looks at the newest ring only.
    NewRingOnly,
    /// A requeuer writes down where it moved an entry over what another one has written there.
    NoFold,
    /// A thread that dies in a wait is not marked.
    NoMark,
    /// A waker that dies owes no wake.
    NoWill,
    /// A 64-bit wait sleeps on the half first that nobody wakes.
    OtherHalfFirst,
    /// A 64-bit wait keeps a wake that came before it had compared both halves.
    KeepWake,
    /// A lane's wait sleeps with the bits of all lanes.
    AllLanes,
}

ntux_platform::planted!();
