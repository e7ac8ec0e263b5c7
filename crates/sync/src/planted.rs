//! Planted bugs: each breaks one rule of the protocol, so that the model checker can show that it would notice.
//!
//! They exist only with the configuration `ntux_explore`; otherwise [`planted`] is `false` at compile time.

/// One broken rule. The names are those of `docs/protocol.md`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(dead_code, reason = "only a checker plants bugs")]
pub enum Bug {
    /// C1: a waiter claims for itself without looking at its own word first.
    SelfNoCheck,
    /// C2: a satisfied waiter does not wait for the object to come to rest.
    OwnSettle,
    /// C3: a helper settles without sending the wake.
    SettleWake,
    /// C4: whoever passes over a satisfied waiter does not finish what has satisfied it.
    NoWakeHelp,
    /// C5: a pulse that finds nobody does not move the word.
    PulsePlain,
    /// Registering does not move the word when the flag is up already.
    NoRegisterBump,
    /// The flag goes up before the entry is in the wait set.
    FlagFirst,
    /// Last come, first served.
    Lifo,
    /// A wait-all that timed out leaves while its attempt is running.
    TimeoutLeave,
    /// An attempt's claims carry the ticket of the waiter instead of the number of the attempt.
    NoAttempt,
    /// A wait over several objects looks at one after the other and takes what it finds.
    NaivePoll,
    /// A probe decides without looking again at the earlier objects.
    ProbeBlind,
    /// A wait for several objects counts in each queue as soon as it has registered there.
    QueueAtOnce,
    /// A scan passes over a wait that is not in all its queues yet.
    QueueUnseen,
    /// A wait keeps its ticket though its objects have moved since it drew it.
    QueueMoved,
    /// C6: what an operation has taken for a wait-all shows before the operation is over.
    NoTrail,
    /// A carry does not look at the word again after it has looked beside it.
    CarryNoCheck,
    /// A wait set that grows replaces whatever stands at the end of its chain.
    GrowBlind,
    /// A signal ignores that somebody waits for several objects.
    WaitAllUnseen,
    /// The number of a waiter is believed, whoever wrote it.
    NoIndexCheck,
    /// A chain of chunks is followed as long as it goes on.
    EndlessWaitSet,
    /// A waiter does not tell the kernel which word is to be marked when its thread dies.
    NoWill,
    /// Who takes the place of a dead thread does not end what that one was doing.
    HeirBlind,
}

ntux_platform::planted!();
