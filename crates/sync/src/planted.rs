// SPDX-License-Identifier: MIT OR Apache-2.0
//! Planted bugs: each breaks one rule of the protocol, to show that the model checker catches it.
//!
//! They exist only in the configuration `ntux_explore`, and in `ntux_planted`, which is what ships beside that, for the harness that kills
//! processes; otherwise [`planted`] is `false` at compile time. A bug that takes more than one
//! condition is not in this text: `verify/explored` applies it (`verify/planted`).

/// One broken rule. The names are those of `docs/internals/protocol.md`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(dead_code, reason = "only a checker plants bugs")]
pub enum Bug {
    /// C1: a waiter claims for itself without reading its own word first.
    SelfNoCheck,
    /// C2: a satisfied waiter does not wait for the object to come to rest.
    OwnSettle,
    /// C3: a helper settles without sending the wake.
    SettleWake,
    /// C4: a thread that passes over a satisfied waiter does not finish the operation that satisfied it.
    NoWakeHelp,
    /// Registering does not change the word if the flag is already up.
    NoRegisterBump,
    /// A wait-all that timed out leaves while its attempt is running.
    TimeoutLeave,
    /// An attempt's claims carry the ticket of the waiter instead of the number of the attempt.
    NoAttempt,
    /// A probe decides without checking the earlier objects again.
    ProbeBlind,
    /// A wait for all takes objects that have changed since it found them available.
    TakeUnseen,
    /// A claim of a decided probe for all objects counts as refused.
    ProbeRefused,
    /// A wait for several objects counts in each queue as soon as it has registered there.
    QueueAtOnce,
    /// A scan passes over a wait that is not in all its queues yet.
    QueueUnseen,
    /// A wait keeps its ticket although its objects have changed since it drew the ticket.
    QueueMoved,
    /// C6: objects that an operation has taken for a wait-all become visible before the operation is complete.
    NoTrail,
    /// A carry does not read the word again after it has read beside it.
    CarryNoCheck,
    /// A signal takes the first waiter that it meets for the only one.
    NotAlone,
    /// I-chunk-1: a thread that cuts does not look whether the chunk is still to be cut.
    CutBlind,
    /// I-chunk-3: a waiter does not look whether its place is still in the wait set.
    PutBlind,
    /// I-set-3: a scan empties entries of other wait sets.
    ClearAll,
    /// I-chunk-1: a link that was cut is what it was at first.
    CutUncounted,
    /// A signal ignores wait-all waiters.
    WaitAllUnseen,
    /// An operation that is one exchange ignores waiters.
    AtOnceUnseen,
    /// A waiter's number is trusted, whoever wrote it.
    NoIndexCheck,
    /// A waiter does not tell the kernel which word to mark when its thread dies.
    NoWill,
    /// A thread that takes over a dead thread's slot does not end the dead thread's wait.
    HeirBlind,
    /// A thread that has taken a dead thread's slot does not ask again whether its owner is dead.
    HeirTrusts,
    /// The word of a new object does not continue the sequence of its slot's last one.
    FreshSequence,
    /// A process takes the place that it finds in its memory for its own if the number says so.
    NumberTrusted,
    /// I-peer-3: a process that finds an earlier one with its number among the peers does not write its own word there.
    PlaceShared,
    /// I-peer-1: a supervisor buries a process without having taken its place in the list.
    BuryUnmarked,
    /// A supervisor that has buried a process keeps its place in the list.
    BuryKept,
    /// A burial does not forget which objects the dead process created.
    CreatorKept,
    /// A burial forgets a creator whatever has become of the object since it looked.
    ForgetBlind,
    /// A burial does not look again if the object changed while it forgot the creator.
    ForgetOnce,
    /// I-hold-3: a process holds what has ended.
    HoldsEnded,
    /// I-hold-3: a process that releases the last hold frees the object, and its holds do not say so.
    EndsUnsaid,
    /// I-hold-3: a creation that finds all holders dead does the same.
    HeirEndsUnsaid,
    /// I-hold-1: the holds are not read again if meta says that the object is shared.
    HoldsUnconfirmed,
    /// I-hold-2: an object is shared whatever its holds say by now.
    SharesBlind,
    /// A process that releases the last hold does not look whether somebody owns the mutex.
    OwnerForgotten,
    /// O-use: nobody looks whether the mutex was given to a wait between the looks at its owner and at its waits.
    UsedInTurns,
    /// Nobody looks whether a wait runs on an object that nobody holds.
    WaitForgotten,
    /// Nobody asks whether an object is permanent.
    PermanentForgotten,
    /// I-name-1: a thread that looks for a name does not finish the one that was announced last.
    NameUnsettled,
    /// I-name-1: a name counts without having been announced.
    NameUnannounced,
    /// I-name-2: the name in the place that was announced last counts, whichever object's it is.
    NameTrusted,
    /// I-name-3: a reserved place is free until its name counts.
    NameUnreserved,
    /// A thread that finds a name does not ask whether the processes that hold the object are dead.
    NameOfTheDead,
    /// A thread that finds a name does not hold the object.
    NameUnheld,
    /// I-meet-1: a process arrives before it sits.
    ArrivesUnseated,
    /// I-meet-1: a process takes its own seat without a look at whether it still has what that says.
    SeatUnlooked,
    /// I-meet-2: a process that arrives at the arena that is there leaves *current* as it is.
    ArrivalUncounted,
    /// I-meet-4: the changes of a seat are not counted.
    SeatUncounted,
    /// I-meet-6: a process leaves its seat if another one has arrived since it looked.
    SeatGivenUp,
    /// O-for: who holds an object for another process does not look whether that still has its place.
    HoldsForStranger,
    /// I-hold-5: it takes the hold back whatever the holds are by then.
    TakesBackAny,
    /// A burial leaves the holds of the dead process.
    HoldUnburied,
    /// A creation takes the objects of a process that is being buried for a living one's.
    BurialWaitedFor,
    /// A creation that finds an object of a dead process does not look again if meta has changed.
    ReclaimsOnce,
    /// A thread that looks at a timer does not see that it is due.
    DueUnseen,
    /// A thread that arms a timer tells nobody who waits for it.
    ArmUntold,
    /// It does so unless the new time is later.
    SoonerUntold,
    /// It leaves those alone that somebody has stirred.
    StirredUnwoken,
    /// A waiting thread that fires a timer for another one leaves its queues for that.
    FiresAside,
    /// It tells them after the arming has taken effect.
    ArmBeforeTelling,
    /// O-due: a thread looks at its timers before it says that it sleeps.
    ParkLate,
    /// A thread that waits for a timer sleeps on when that is due.
    SleepsOn,
    /// I-detach-1: who looks for results helps no claims.
    ClaimPassedOver,
    /// I-detach-2: who announces does not ring.
    Unrung,
    /// I-detach-2: a thread silences the bell, whoever has rung since it has looked.
    SilencedLate,
    /// I-detach-2: who arms silences the bell without a look.
    ArmedBlindly,
    /// I-packet-3: who finds a packet whose poster has not woken anybody passes it.
    UntoldPacket,
    /// I-detach-3: a count is noted as seen before all slots were looked at.
    SeenBefore,
    /// I-detach-3: which slots there are was read before the count.
    SlotsBefore,
    /// I-detach-5: a result counts as taken whoever was faster.
    TakenTwice,
    /// I-detach-9: a thread that is late takes what belongs to the next owner of its queue's slot for its own.
    LateOwner,
    /// I-detach-10: who has ended a wait gives back the slot of whichever has it.
    FreedTwice,
    /// I-detach-11: who meets a wait of nobody's withdraws the wait that the slot has by now.
    WithdrawsHeir,
    /// I-detach-2: the will of who decides a detached wait names the word of the wait, at which nobody sleeps.
    DeliveryUnwilled,
    /// A thread that was woken to take a result has made no will.
    TakerUnwilled,
    /// A thread that was woken for a result takes a packet instead, and wakes nobody.
    WokenTakes,
    /// I-end-2: a thread that sleeps does not ask whether the owner of its mutex lives.
    OwnerUnasked,
    /// A thread that sleeps for a mutex does not sleep on the life of its owner.
    LifeUnwatched,
    /// A thread that sleeps for a mutex does not sleep on the life of who is before it in line.
    NextUnwatched,
    /// A thread that ends an owner does not say so in its life.
    EndUntold,
    /// I-end-3: who is woken because an owner has ended leaves the others asleep.
    OneTold,
    /// I-end-2: a thread that sleeps for the end of an owner does not ask whether it has come.
    EndUnasked,
    /// A thread that signals the end of an owner serves one of those that wait.
    EndToOne,
    /// I-end-1: who has found an owner ended kills whichever owns the mutex by then.
    KillsHeir,
    /// A supervisor frees the place of a dead thread without ending its wait.
    BuryOpen,
}

ntux_platform::planted!(any(ntux_explore, ntux_planted));
