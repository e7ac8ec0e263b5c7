// SPDX-License-Identifier: MIT OR Apache-2.0
//! Planted bugs: each breaks one rule, to show that the model checker catches it.
//!
//! They exist only in the configuration `ntux_explore`; otherwise [`planted`] is `false` at compile time.

/// One broken rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(dead_code, reason = "only a checker plants bugs")]
pub enum Bug {
    /// A thread publishes its alert by a store (pair A of [`crate::apc`]).
    AlertByStore,
    /// A thread looks at its queue before it has an alert.
    LooksBeforeAlert,
    /// A writer that has slept takes the lock as if no other slept (I-srw-2).
    WriterForgetsOthers,
    /// The last of several readers forgets that readers sleep when it leaves the lock to a writer (I-srw-3).
    ReaderForgetsReaders,
    /// A thread that has slept locks a list as if no other slept (I-slist-2).
    ListForgetsOthers,
    /// A thread reads the count of wakes after it has released the lock.
    ReadsLate,
    /// A look-up does not check that the entry is still the same (O-record).
    LooksOnce,
    /// A hold does not look at the generation of the record.
    HoldsAnyGeneration,
    /// The pool does not count its exchanges (I-pool).
    CountsNoExchange,
    /// A close clears the entry without looking at it.
    ClosesBlindly,
    /// The slot of a record is given back when its first handle is closed, not when it ends (I-slot).
    GivesEarly,
    /// A thread that puts a handle into the slot of its record does not look whether it is the only one (I-slot).
    InsertsBlindly,
    /// A thread's end is signaled before its exit code is there (O-end).
    EndsEarly,
    /// A thread that takes its last calls leaves the queue open (I-apc).
    LeavesQueueOpen,
    /// One who fails to initialize wakes nobody.
    FailsSilently,
    /// A thread counts as gone while it still looks at the barrier (O-barrier).
    LeavesEarly,
    /// A timer does not see to it that its call is still wanted.
    CallsAnyway,
    /// A thread of a pool that sleeps is counted as coming, but not called (I-pool-1).
    LetsSleep,
    /// A thread whose deadline has passed does not look whether it was called (I-seat-2).
    IgnoresLateCall,
    /// A wait thread is not told of what is armed (O-alert).
    ArmsSilently,
    /// A wait leaves a thread that waits for it.
    LeavesAtOnce,
    /// A call that returns does not wake those who wait for that.
    ReturnsSilently,
    /// A member that a group is closing can still be submitted by its wait.
    StaysArmed,
    /// A thread whose deadline has passed does not look whether a port has given it a packet (I-port-2).
    LeavesPacket,
    /// The close of a port wakes nobody.
    ClosesSilently,
    /// A thread whose deadline has passed does not look whether a partner has met it (I-keyed).
    ForgetsPartner,
}

ntux_platform::planted!();
