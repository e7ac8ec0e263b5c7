// SPDX-License-Identifier: MIT OR Apache-2.0
//! The scenarios: every operation of the core, in every situation in which it takes a different path.

use ntux_sync::New;
use ntux_sync::spec::OWNERS;

use super::operation::Operation::*;
use super::operation::{Closes, Operation, Until, Wait};

/// Owner ids of the victims, of the workers, and of the waiting survivors (all of them).
pub const VICTIM_OWNERS: [u32; 2] = [101, 102];
pub const WORKER_OWNER: u32 = 201;
pub const SLEEPER_OWNER: u32 = 301;
const VICTIM: u32 = VICTIM_OWNERS[0];
/// The end of an owner that has ended, before anybody looks ([`crate::crash::stage::Stage::prepare`]); and of one that never does.
const ENDED: New = New::End { owner: OWNERS };
const LIVING: New = New::End { owner: OWNERS + 100 };

/// Processes that died: so many that a new one looks for their entries before it takes one that was never used.
const OTHER_PROCESSES: usize = 80;

/// A victim's operation and what surrounds it.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    pub name: &'static str,
    /// What is there. Operations name them by their place.
    pub objects: &'static [New],
    /// What a process made that is dead by now; numbered after the others.
    pub orphans: &'static [New],
    /// So many processes took part once and died, each with an object and a place as long as there were any.
    pub dead_processes: usize,
    /// Done by a process that died afterwards.
    pub left_by_the_dead: Option<Operation>,
    /// Survivors that sleep in these waits.
    pub sleepers: &'static [Wait],
    /// The harness founds a family that keeps object 0, and closes its descriptor before the survivors work. The victims are its
    /// forked children.
    pub founder: Option<Founder>,
    /// The victim takes part for the first time.
    pub cold: bool,
    /// It looks through all processes or all objects: many instructions.
    pub is_long: bool,
    pub operation: Operation,
    /// How leaks are looked for.
    pub sweep: Operation,
    /// What a survivor does when the victim sleeps.
    pub relief: &'static [Operation],
    /// Survivors whose waits are over wait again, and are satisfied by others, before the victims go on.
    pub again: bool,
    /// A queue, and waits without a thread.
    pub delivery: Option<Delivery>,
}

/// A queue and what is there before the operation.
#[derive(Clone, Copy, Debug)]
pub struct Delivery {
    pub place: Place,
    /// Waits without a thread, by their labels.
    pub waits: &'static [Wait],
    /// So many threads sleep for results.
    pub takers: usize,
    /// They fall asleep when the victim sleeps, and not at the beginning.
    pub takers_come_last: bool,
    /// Done by others when all of that is there.
    pub first: &'static [Operation],
}

/// Whose queue it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// That of survivors; the victim is a process of its own.
    Survivors,
    /// That of the victim's process, in which only the victim dies.
    Siblings,
    /// That of the victim, which is a process of its own.
    Victim,
}

/// The process that forks the victims.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Founder {
    /// It claims object 0 for each child.
    Claims,
    /// It does not.
    Blind,
}

const NOTHING: Scenario = Scenario {
    name: "",
    objects: &[],
    orphans: &[],
    dead_processes: 0,
    left_by_the_dead: None,
    sleepers: &[],
    founder: None,
    cold: false,
    is_long: false,
    operation: Enroll,
    sweep: Sweep,
    relief: &[],
    again: false,
    delivery: None,
};

const fn at(place: Place, waits: &'static [Wait], takers: usize, scenario: Scenario) -> Scenario {
    let delivery = Delivery { place, waits, takers, takers_come_last: false, first: &[] };
    Scenario { delivery: Some(delivery), sweep: SweepQueues, ..scenario }
}

/// Waits of survivors, and threads that sleep for the results.
const fn delivered(waits: &'static [Wait], takers: usize, scenario: Scenario) -> Scenario {
    at(Place::Survivors, waits, takers, scenario)
}

/// The victim is one thread of several, which have these waits.
const fn beside(waits: &'static [Wait], takers: usize, scenario: Scenario) -> Scenario {
    at(Place::Siblings, waits, takers, scenario)
}

/// The same with a thread that falls asleep behind the victim.
const fn behind(waits: &'static [Wait], scenario: Scenario) -> Scenario {
    let delivery = Delivery { place: Place::Siblings, waits, takers: 1, takers_come_last: true, first: &[] };
    Scenario { delivery: Some(delivery), ..beside(waits, 1, scenario) }
}

/// The waits are the victim's, and die with it.
const fn alone(waits: &'static [Wait], scenario: Scenario) -> Scenario {
    at(Place::Victim, waits, 0, scenario)
}

const fn after(first: &'static [Operation], scenario: Scenario) -> Scenario {
    let Some(delivery) = scenario.delivery else { panic!("it has a queue") };
    Scenario { delivery: Some(Delivery { first, ..delivery }), ..scenario }
}

const fn detach(objects: &[u8]) -> Operation {
    Detach(0, Wait::any(objects, VICTIM, Until::Never))
}

const fn detach_for_all(objects: &[u8]) -> Operation {
    Detach(0, Wait::all(objects, VICTIM, Until::Never))
}

const fn plain(name: &'static str, objects: &'static [New], operation: Operation) -> Scenario {
    Scenario { name, objects, operation, ..NOTHING }
}

const fn pass(name: &'static str, closes: Closes) -> Scenario {
    Scenario { sweep: SweepDescriptors, ..plain(name, &[], FamilyPass(AUTO, closes)) }
}

/// The object may end with a claim of a dead child on it, and its place is made another event of.
const fn of_a_family(founder: Founder, scenario: Scenario) -> Scenario {
    Scenario { founder: Some(founder), sweep: SweepDescriptors, ..scenario }
}

const fn with(sleepers: &'static [Wait], scenario: Scenario) -> Scenario {
    Scenario { sleepers, ..scenario }
}

const fn relieved(relief: &'static [Operation], scenario: Scenario) -> Scenario {
    Scenario { relief, ..scenario }
}

const fn semaphore(count: u32) -> New {
    New::Semaphore { count, max: 9 }
}

const fn mutex(owner: u32, count: u32) -> New {
    New::Mutex { owner, count }
}

const FREE: New = mutex(0, 0);
const OURS: New = mutex(VICTIM, 1);
const TAKEN: New = mutex(WORKER_OWNER, 1);
const AUTO: New = New::Event { manual: false, signaled: false };
const AUTO_SET: New = New::Event { manual: false, signaled: true };
const MANUAL: New = New::Event { manual: true, signaled: false };
const MANUAL_SET: New = New::Event { manual: true, signaled: true };
const TIMER: New = New::Timer { manual: false };
const MANUAL_TIMER: New = New::Timer { manual: true };

const fn sleeps(objects: &[u8]) -> Wait {
    Wait::any(objects, SLEEPER_OWNER, Until::Never)
}

const fn sleeps_for_all(objects: &[u8]) -> Wait {
    Wait::all(objects, SLEEPER_OWNER, Until::Never)
}

const fn any(objects: &[u8], until: Until) -> Operation {
    Wait(Wait::any(objects, VICTIM, until))
}

const fn all(objects: &[u8], until: Until) -> Operation {
    Wait(Wait::all(objects, VICTIM, until))
}

const fn any_or(objects: &[u8], alert: u8, until: Until) -> Operation {
    Wait(Wait::any(objects, VICTIM, until).or_alert(alert))
}

const fn all_or(objects: &[u8], alert: u8, until: Until) -> Operation {
    Wait(Wait::all(objects, VICTIM, until).or_alert(alert))
}

const FIRST: Wait = sleeps(&[0]);
const SECOND: Wait = sleeps(&[1]);
const BOTH: Wait = sleeps_for_all(&[0, 1]);
const CROWD: &[Wait] = &[FIRST; 5];
/// Far enough off for a traced victim to fall asleep first.
const SOON: Until = Until::Milliseconds(if cfg!(debug_assertions) { 150 } else { 60 });

/// All of them.
pub const SCENARIOS: &[Scenario] = &[
    // Signals.
    plain("release", &[semaphore(0)], Release(0, 2)),
    plain("release-too-many", &[semaphore(9)], Release(0, 1)),
    with(&[FIRST], plain("release-one-waits", &[semaphore(0)], Release(0, 1))),
    with(&[FIRST, FIRST], plain("release-two-wait", &[semaphore(0)], Release(0, 3))),
    with(CROWD, plain("release-crowd", &[semaphore(0)], Release(0, 3))),
    with(&[BOTH], plain("release-wait-all", &[semaphore(0), AUTO_SET], Release(0, 1))),
    with(&[BOTH, FIRST], plain("release-wait-all-and-any", &[semaphore(0), MANUAL_SET], Release(0, 2))),
    plain("unlock", &[OURS], Unlock(0, VICTIM)),
    plain("unlock-stranger", &[TAKEN], Unlock(0, VICTIM)),
    plain("unlock-recursive", &[mutex(VICTIM, 2)], Unlock(0, VICTIM)),
    plain("unlock-carry", &[mutex(VICTIM, 32)], Unlock(0, VICTIM)),
    with(&[FIRST], plain("unlock-one-waits", &[OURS], Unlock(0, VICTIM))),
    with(&[FIRST, FIRST], plain("unlock-same-owners", &[OURS], Unlock(0, VICTIM))),
    with(&[BOTH], plain("unlock-wait-all", &[OURS, semaphore(1)], Unlock(0, VICTIM))),
    plain("kill", &[OURS], Kill(0, VICTIM)),
    with(&[FIRST], plain("kill-one-waits", &[mutex(VICTIM, 40)], Kill(0, VICTIM))),
    plain("set", &[AUTO], Set(0)),
    plain("set-again", &[AUTO_SET], Set(0)),
    with(&[FIRST], plain("set-one-waits", &[AUTO], Set(0))),
    Scenario { again: true, ..with(&[FIRST], plain("set-one-waits-again", &[AUTO], Set(0))) },
    with(&[sleeps(&[0, 1]), FIRST], plain("set-two-wait", &[AUTO, AUTO], Set(0))),
    with(CROWD, plain("set-crowd", &[AUTO], Set(0))),
    plain("set-manual", &[MANUAL], Set(0)),
    with(&[FIRST, FIRST], plain("set-manual-two-wait", &[MANUAL], Set(0))),
    with(CROWD, plain("set-manual-crowd", &[MANUAL], Set(0))),
    with(&[BOTH], plain("set-wait-all", &[AUTO, AUTO_SET], Set(0))),
    with(&[BOTH], plain("set-wait-all-in-vain", &[AUTO, AUTO], Set(0))),
    with(&[BOTH, sleeps(&[1, 0])], plain("set-manual-wait-all-and-any", &[MANUAL, FREE], Set(0))),
    with(&[sleeps_for_all(&[1]).or_alert(0)], plain("set-alert", &[AUTO, AUTO], Set(0))),
    plain("reset", &[MANUAL_SET], Reset(0)),
    plain("pulse", &[MANUAL_SET], Pulse(0)),
    with(&[FIRST, FIRST], plain("pulse-two-wait", &[AUTO], Pulse(0))),
    with(&[FIRST, FIRST], plain("pulse-manual-two-wait", &[MANUAL], Pulse(0))),
    with(&[BOTH], plain("pulse-wait-all", &[MANUAL, semaphore(1)], Pulse(0))),
    with(&[BOTH], plain("pulse-wait-all-in-vain", &[MANUAL, semaphore(0)], Pulse(0))),
    // Timers.
    plain("arm", &[TIMER], Arm(0)),
    plain("arm-for-later", &[TIMER], ArmForLater(0)),
    with(&[FIRST], plain("arm-one-waits", &[TIMER], Arm(0))),
    with(&[FIRST], plain("arm-for-later-one-waits", &[TIMER], ArmForLater(0))),
    with(CROWD, plain("arm-for-later-crowd", &[TIMER], ArmForLater(0))),
    with(&[sleeps(&[0, 1]), FIRST], plain("arm-two-wait", &[TIMER, AUTO], Arm(0))),
    with(&[FIRST, FIRST], plain("arm-manual-two-wait", &[MANUAL_TIMER], Arm(0))),
    with(&[BOTH, FIRST], plain("arm-wait-all-and-any", &[TIMER, AUTO_SET], Arm(0))),
    with(&[BOTH], plain("arm-wait-all-in-vain", &[TIMER, AUTO], Arm(0))),
    with(&[FIRST], plain("disarm-one-waits", &[TIMER], Disarm(0))),
    plain("read-timer", &[TIMER], ReadTimer(0)),
    plain("report", &[LIVING], Report(0)),
    plain("report-late", &[ENDED], Report(0)),
    plain("read-end", &[ENDED], ReadEnd(0)),
    plain("wait-end", &[ENDED], Wait(Wait::any(&[0], VICTIM, Until::Never))),
    plain("wait-ends", &[ENDED, ENDED], Wait(Wait::all(&[0, 1], VICTIM, Until::Never))),
    plain("poll-end", &[ENDED], Wait(Wait::any(&[0], VICTIM, Until::Now))),
    plain("any-poll-timer-in-vain", &[TIMER, AUTO], any(&[0, 1], Until::Now)),
    relieved(&[Arm(0)], plain("any-blocked-timer", &[TIMER], any(&[0], Until::Never))),
    relieved(&[Arm(1)], plain("any-blocked-timer-at-two", &[AUTO, TIMER], any(&[0, 1], Until::Never))),
    relieved(&[ArmForLater(0), Arm(0)], plain("any-blocked-timer-twice", &[TIMER], any(&[0], Until::Never))),
    relieved(&[Arm(0)], plain("all-blocked-timer", &[TIMER, FREE], all(&[0, 1], Until::Never))),
    plain("create-timer", &[], Create(TIMER)),
    // Waits without a thread, and who signals.
    delivered(&[FIRST], 0, plain("detached-set", &[AUTO], Set(0))),
    delivered(&[FIRST], 1, plain("detached-set-one-takes", &[AUTO], Set(0))),
    delivered(&[FIRST], 2, plain("detached-set-two-take", &[AUTO], Set(0))),
    delivered(&[FIRST, FIRST], 2, plain("detached-release-two-take", &[semaphore(0)], Release(0, 2))),
    delivered(&[FIRST], 1, plain("detached-unlock", &[OURS], Unlock(0, VICTIM))),
    delivered(&[FIRST], 1, plain("detached-kill", &[OURS], Kill(0, VICTIM))),
    delivered(&[FIRST], 1, plain("detached-pulse", &[AUTO], Pulse(0))),
    delivered(&[sleeps(&[1, 0])], 1, plain("detached-set-any", &[AUTO, AUTO], Set(0))),
    delivered(&[BOTH], 1, plain("detached-set-all", &[AUTO, AUTO_SET], Set(0))),
    delivered(&[BOTH], 1, plain("detached-set-all-in-vain", &[AUTO, AUTO], Set(0))),
    delivered(&[FIRST], 1, with(&[FIRST], plain("detached-set-manual-beside", &[MANUAL], Set(0)))),
    delivered(&[FIRST], 1, with(&[BOTH], plain("detached-set-all-beside", &[AUTO, AUTO_SET], Set(0)))),
    beside(&[FIRST], 1, plain("detached-sibling-sets", &[AUTO], Set(0))),
    // Taking the results.
    behind(&[FIRST], relieved(&[Set(0)], plain("detached-take-before", &[AUTO], Collect(Until::Never)))),
    behind(&[BOTH], relieved(&[Set(0)], plain("detached-take-all-before", &[AUTO, AUTO_SET], Collect(Until::Never)))),
    beside(
        &[FIRST, FIRST],
        1,
        relieved(&[Release(0, 2)], plain("detached-take-behind", &[semaphore(0)], Collect(Until::Never))),
    ),
    after(&[Set(0)], beside(&[FIRST], 0, plain("detached-take-there", &[AUTO], Collect(Until::Now)))),
    beside(&[FIRST], 0, plain("detached-take-in-vain", &[AUTO], Collect(Until::Now))),
    alone(&[FIRST], relieved(&[Set(0)], plain("detached-take-alone", &[AUTO], Collect(Until::Never)))),
    // Registering them.
    beside(&[], 1, plain("detached-register", &[AUTO], detach(&[0]))),
    beside(&[], 1, plain("detached-register-any", &[AUTO, semaphore(0)], detach(&[0, 1]))),
    beside(&[], 1, plain("detached-register-all", &[AUTO, FREE], detach_for_all(&[0, 1]))),
    beside(&[], 1, plain("detached-register-there", &[AUTO_SET], detach(&[0]))),
    alone(&[], plain("detached-register-alone", &[AUTO], detach(&[0]))),
    alone(&[], plain("detached-register-any-alone", &[AUTO, semaphore(0)], detach(&[0, 1]))),
    alone(&[], plain("detached-register-all-alone", &[AUTO, FREE], detach_for_all(&[0, 1]))),
    // Packets.
    beside(&[], 1, plain("detached-post", &[AUTO], Post(0))),
    beside(&[], 0, plain("detached-post-for-later", &[AUTO], Post(0))),
    behind(&[], relieved(&[Post(0)], plain("detached-take-packet-before", &[AUTO], Collect(Until::Never)))),
    after(&[Post(1)], beside(&[FIRST], 0, plain("detached-take-packet-there", &[AUTO], Collect(Until::Now)))),
    alone(&[], plain("detached-post-alone", &[AUTO], Post(0))),
    // Waits for timers.
    delivered(&[FIRST], 1, plain("detached-arm", &[TIMER], Arm(0))),
    delivered(&[FIRST], 2, plain("detached-arm-for-later", &[TIMER], ArmForLater(0))),
    delivered(&[BOTH], 1, plain("detached-arm-all", &[TIMER, AUTO_SET], Arm(0))),
    behind(&[FIRST], relieved(&[Arm(0)], plain("detached-take-timer-before", &[TIMER], Collect(Until::Never)))),
    beside(&[], 1, plain("detached-register-timer", &[TIMER], detach(&[0]))),
    after(&[ArmForLater(0)], beside(&[], 1, plain("detached-register-timer-armed", &[TIMER], detach(&[0])))),
    // Ending them.
    beside(&[FIRST], 1, plain("detached-cancel", &[AUTO], Cancel(0))),
    after(&[Set(0)], beside(&[FIRST], 0, plain("detached-cancel-there", &[AUTO], Cancel(0)))),
    alone(&[FIRST], plain("detached-cancel-alone", &[AUTO], Cancel(0))),
    after(&[Set(0)], beside(&[FIRST, SECOND], 0, plain("detached-close", &[AUTO, AUTO], QueueClose))),
    after(&[Set(0)], alone(&[FIRST, SECOND], plain("detached-close-alone", &[AUTO, AUTO], QueueClose))),
    Scenario { sweep: SweepQueues, ..plain("queue-create", &[], QueueCreate) },
    // Waits that need not sleep.
    plain("any-first", &[semaphore(2)], any(&[0], Until::Never)),
    plain("any-later", &[AUTO, semaphore(2)], any(&[0, 1], Until::Never)),
    plain("any-manual", &[AUTO, MANUAL_SET], any(&[0, 1], Until::Never)),
    plain("any-mutex", &[FREE], any(&[0], Until::Never)),
    plain("any-mutex-again", &[OURS], any(&[0], Until::Never)),
    plain("any-mutex-carry", &[mutex(VICTIM, 31)], any(&[0], Until::Never)),
    plain("any-alert", &[AUTO, AUTO_SET], any_or(&[0], 1, Until::Never)),
    plain("any-poll-in-vain", &[AUTO, semaphore(0)], any(&[0, 1], Until::Now)),
    plain("all", &[AUTO_SET, FREE], all(&[0, 1], Until::Never)),
    plain("all-poll-in-vain", &[AUTO_SET, semaphore(0)], all(&[0, 1], Until::Now)),
    plain("all-alert", &[AUTO, FREE, MANUAL_SET], all_or(&[0, 1], 2, Until::Never)),
    // Waits that sleep.
    relieved(&[Set(0)], plain("any-blocked", &[AUTO], any(&[0], Until::Never))),
    relieved(&[Release(1, 1)], plain("any-blocked-at-two", &[AUTO, semaphore(0)], any(&[0, 1], Until::Never))),
    relieved(&[Set(0)], plain("any-blocked-manual", &[MANUAL], any(&[0], Until::Never))),
    relieved(&[Pulse(0)], plain("any-blocked-pulse", &[AUTO], any(&[0], Until::Never))),
    relieved(&[Unlock(0, WORKER_OWNER)], plain("any-blocked-mutex", &[TAKEN], any(&[0], Until::Never))),
    relieved(&[Kill(0, WORKER_OWNER)], plain("any-blocked-abandoned", &[TAKEN], any(&[0], Until::Never))),
    relieved(&[Set(1)], plain("any-blocked-alert", &[AUTO, AUTO], any_or(&[0], 1, Until::Never))),
    with(CROWD, relieved(&[Release(0, 6)], plain("any-blocked-crowd", &[semaphore(0)], any(&[0], Until::Never)))),
    with(
        &[FIRST; 3],
        Scenario {
            sweep: SweepChunks,
            ..relieved(&[Release(0, 4)], plain("any-blocked-grow", &[semaphore(0)], any(&[0], Until::Never)))
        },
    ),
    // All chunks are in the wait sets of objects that do not need them.
    with(
        &[SECOND; 3],
        Scenario {
            left_by_the_dead: Some(SweepChunks),
            sweep: SweepChunks,
            ..relieved(&[Release(1, 4)], plain("any-blocked-take", &[AUTO, semaphore(0)], any(&[1], Until::Never)))
        },
    ),
    plain("any-timeout", &[AUTO], any(&[0], SOON)),
    relieved(&[Set(0)], plain("all-blocked", &[AUTO, FREE], all(&[0, 1], Until::Never))),
    relieved(&[Set(0), Set(1)], plain("all-blocked-at-two", &[MANUAL, AUTO], all(&[0, 1], Until::Never))),
    relieved(&[Set(2)], plain("all-blocked-alert", &[AUTO, FREE, AUTO], all_or(&[0, 1], 2, Until::Never))),
    with(
        &[BOTH],
        relieved(&[Release(0, 2)], plain("all-blocked-two", &[semaphore(0), MANUAL_SET], all(&[0, 1], Until::Never))),
    ),
    plain("all-timeout", &[AUTO, FREE], all(&[0, 1], SOON)),
    // Looking.
    plain("read-semaphore", &[semaphore(3)], ReadSemaphore(0)),
    plain("read-mutex", &[mutex(VICTIM, 50)], ReadMutex(0)),
    plain("read-event", &[MANUAL], ReadEvent(0)),
    // Lifetimes.
    plain("create-semaphore", &[], Create(semaphore(1))),
    plain("create-mutex", &[], Create(mutex(7, 70))),
    plain("create-event", &[], Create(AUTO)),
    Scenario { sweep: SweepDescriptors, ..plain("create-descriptor", &[], DescriptorCreate(AUTO)) },
    Scenario { sweep: SweepDescriptors, ..plain("create-family-descriptor", &[], FamilyCreate(AUTO)) },
    pass("pass-and-close-first", Closes::BeforeItArrives),
    pass("pass-and-close", Closes::BeforeTheReceiver),
    pass("pass-and-close-last", Closes::Last),
    Scenario { sweep: SweepDescriptors, ..plain("pass-to-a-crowd", &[], FamilyCrowd(AUTO)) },
    Scenario { sweep: SweepDescriptors, ..plain("keep-across-exec", &[], FamilyExec(AUTO)) },
    Scenario { sweep: SweepDescriptors, ..plain("copy-and-close", &[], FamilyCopy(AUTO)) },
    Scenario { sweep: SweepDescriptors, ..plain("fork-and-close", &[], FamilyFork(AUTO)) },
    of_a_family(Founder::Claims, plain("child-set", &[AUTO], Set(0))),
    of_a_family(Founder::Claims, with(&[sleeps(&[0, 1])], plain("child-set-waited-for", &[AUTO, AUTO], Set(0)))),
    of_a_family(
        Founder::Claims,
        with(&[sleeps(&[0, 1])], plain("child-release-waited-for", &[semaphore(0), AUTO], Release(0, 2))),
    ),
    plain("close", &[AUTO], Close(0)),
    with(&[sleeps(&[0, 1])], plain("close-one-waits", &[AUTO, AUTO], Close(0))),
    Scenario { orphans: &[AUTO], ..plain("adopt", &[], Adopt(0)) },
    Scenario { sweep: SweepNew, ..plain("hold-and-release", &[], HoldAndRelease(AUTO)) },
    Scenario { sweep: SweepNew, ..plain("release-owned", &[], ReleaseOwned) },
    plain("hold", &[AUTO], HoldOnce(0)),
    with(&[FIRST], plain("hold-waited-for", &[AUTO], HoldOnce(0))),
    Scenario { left_by_the_dead: Some(Hold(0)), ..plain("hold-beside-the-dead", &[AUTO], HoldOnce(0)) },
    Scenario { orphans: &[AUTO], ..plain("hold-what-the-dead-made", &[], HoldOnce(0)) },
    Scenario { sweep: SweepNew, ..plain("name", &[], NameAndKeep) },
    Scenario { sweep: SweepNew, ..plain("name-and-release", &[], NameAndRelease) },
    Scenario { sweep: SweepNamed, ..plain("name-for-good", &[], NameForGood) },
    Scenario { sweep: SweepNew, ..plain("hand-over", &[], NameAndHandOver) },
    Scenario { sweep: SweepOwners, ..plain("own", &[], Own) },
    Scenario { sweep: SweepOwners, left_by_the_dead: Some(OwnAndKeep), ..plain("own-what-the-dead-had", &[], Own) },
    Scenario { sweep: SweepNew, left_by_the_dead: Some(NameAndKeep), ..plain("name-of-the-dead", &[], NameAndRelease) },
    Scenario { is_long: true, ..plain("exhaust", &[], Exhaust) },
    Scenario {
        cold: true,
        is_long: true,
        left_by_the_dead: Some(Exhaust),
        ..plain("reclaim-object", &[], Create(AUTO))
    },
    Scenario {
        cold: true,
        is_long: true,
        left_by_the_dead: Some(Exhaust),
        ..plain("reclaim-place", &[AUTO, semaphore(1)], any(&[0, 1], Until::Now))
    },
    Scenario {
        cold: true,
        is_long: true,
        left_by_the_dead: Some(ExhaustTwice),
        ..plain("reclaim-held-object", &[], Create(AUTO))
    },
    Scenario { is_long: true, left_by_the_dead: Some(Exhaust), ..plain("bury-process", &[AUTO], BuryProcess) },
    Scenario { is_long: true, left_by_the_dead: Some(ExhaustTwice), ..plain("bury-holder", &[AUTO], BuryProcess) },
    Scenario { is_long: true, left_by_the_dead: Some(Exhaust), ..plain("bury-thread", &[AUTO], BuryThread) },
    plain("retire", &[], Retire),
    Scenario { cold: true, is_long: true, ..plain("first-use", &[AUTO, semaphore(1)], any(&[0, 1], Until::Now)) },
    Scenario { cold: true, is_long: true, ..plain("attach", &[], Attach) },
    Scenario {
        cold: true,
        is_long: true,
        dead_processes: OTHER_PROCESSES,
        ..plain("replace-dead-process", &[], Create(AUTO))
    },
];

/// What must be found.
pub const PLANTED: &[Scenario] = &[
    plain("planted-lock", &[], PlantedLock),
    plain("planted-loan", &[semaphore(2)], PlantedLoan(0)),
    Scenario { sweep: SweepDescriptors, ..plain("planted-crowd", &[], PlantedCrowd(AUTO)) },
    Scenario { sweep: SweepDescriptors, ..plain("planted-fork", &[], PlantedFork(AUTO)) },
    Scenario { sweep: SweepDescriptors, ..plain("planted-exec", &[], PlantedExec(AUTO)) },
    of_a_family(Founder::Blind, plain("planted-founder", &[AUTO], Set(0))),
];

impl Scenario {
    /// Threads fall asleep for results when the victim sleeps.
    pub fn has_takers_behind(&self) -> bool {
        self.delivery.is_some_and(|delivery| delivery.takers_come_last)
    }

    /// Returns whether this system has what it is about.
    pub fn is_possible(&self) -> bool {
        !cfg!(ntux_simulated_macos) || self.sweep != SweepDescriptors && !self.kills_a_thread()
    }

    /// Returns true if its victim is one thread of several.
    pub fn kills_a_thread(&self) -> bool {
        self.delivery.is_some_and(|delivery| delivery.place == Place::Siblings)
    }

    /// What a second victim does with the objects, while it finishes what the first one began.
    pub fn helpers(&self) -> Vec<Operation> {
        let second = VICTIM_OWNERS[1];
        // There are not places enough.
        if self.delivery.is_some_and(|delivery| delivery.place != Place::Survivors && delivery.waits.len() > 1) {
            return Vec::new();
        }
        let poll = Operation::Wait(Wait::any(&[0], second, Until::Now));
        match self.objects.first() {
            None if self.dead_processes > 0 => vec![CreateAndUse(AUTO)],
            None if self.operation == NameAndKeep => vec![FindName],
            None => Vec::new(),
            Some(New::Semaphore { .. }) => vec![ReadSemaphore(0), Release(0, 1), poll],
            Some(New::Mutex { .. }) => vec![ReadMutex(0), Kill(0, VICTIM), poll],
            Some(New::Event { .. }) => vec![ReadEvent(0), Set(0), Pulse(0), poll],
            Some(New::Timer { .. }) => vec![ReadTimer(0), Arm(0), Disarm(0), poll],
            Some(New::End { .. }) => vec![ReadEnd(0), Report(0), poll],
        }
    }

    /// What the survivors do afterwards: everything that the objects' kinds allow.
    pub fn aftermath(&self) -> Vec<Operation> {
        let poll = |object| Wait(Wait::any(&[object], WORKER_OWNER, Until::Now));
        let mut operations = Vec::new();
        // A stopped victim has its objects still.
        operations.extend(self.sweep.is_of_objects().then_some(self.sweep));
        let names = matches!(self.operation, NameAndKeep | NameAndRelease | NameForGood);
        operations.extend(names.then_some(FindName));
        for (object, new) in (0..).zip(self.objects.iter().chain(self.orphans)) {
            match new {
                New::Semaphore { .. } => operations.extend([ReadSemaphore(object), Release(object, 1), poll(object)]),
                New::Mutex { .. } => {
                    operations.push(ReadMutex(object));
                    operations.extend(VICTIM_OWNERS.map(|owner| Kill(object, owner)));
                    operations.extend([poll(object), Unlock(object, WORKER_OWNER)]);
                }
                New::Event { .. } => {
                    operations.extend([ReadEvent(object), Set(object), poll(object), Pulse(object), Reset(object)]);
                }
                New::End { .. } => operations.extend([Report(object), ReadEnd(object), poll(object)]),
                New::Timer { .. } => {
                    operations.extend([
                        ReadTimer(object),
                        Arm(object),
                        poll(object),
                        ArmForLater(object),
                        Disarm(object),
                    ]);
                }
            }
        }
        if self.operation == PlantedLock {
            operations.push(PlantedLock);
        }
        // What signals the last of several ends may leave a trail at the others, for a wait for all that is stopped.
        let ends = (0..).zip(self.objects).filter(|(_, new)| matches!(new, New::End { .. }));
        operations.extend(ends.map(|(object, _)| ReadEnd(object)));
        operations
    }

    /// One round of what lets everybody go who still waits.
    pub fn release_all(&self) -> Vec<Operation> {
        let mut operations = Vec::new();
        for (object, new) in (0..).zip(self.objects) {
            match new {
                New::Semaphore { .. } => operations.push(Release(object, 1)),
                New::Mutex { .. } => {
                    let owners = [VICTIM_OWNERS[0], VICTIM_OWNERS[1], WORKER_OWNER, SLEEPER_OWNER];
                    operations.extend(owners.map(|owner| Kill(object, owner)));
                }
                New::Event { .. } => operations.push(Set(object)),
                New::Timer { .. } => operations.push(Arm(object)),
                // Nobody waits for those that do not come.
                New::End { .. } => {}
            }
        }
        operations
    }
}
