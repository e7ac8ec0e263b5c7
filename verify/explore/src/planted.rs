// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bugs planted in the core: each breaks one rule of the protocol, and a program must find it.

use std::time::Duration;

use ntux_platform::explore::plant_hasty_loads;
use ntux_sync::planted::{self, Bug};

use crate::catalogue;
use crate::histories::generator::{DETACHED, TIMED};
use crate::program::Program;
use crate::search::{self, Bounds, Report};

/// A bug and a program that finds it.
#[derive(Clone, Copy, Debug)]
pub struct Planted {
    /// Its name on the command line.
    pub name: &'static str,
    /// The rule that is broken.
    pub broken: Broken,
    /// The program that notices, and how.
    pub found: Found,
    /// The seed of a program that notices, or soon one that does, among random histories; none: they have not noticed.
    pub histories: Option<u64>,
}

/// Whose rule a bug breaks.
#[derive(Clone, Copy, Debug)]
pub enum Broken {
    /// The core's.
    Core(Bug),
    /// Below it: a load of 128 bits looks at its low half again.
    Load,
}

/// How a planted bug is found.
#[derive(Clone, Copy, Debug)]
pub enum Found {
    /// All schedules of this program with so many preemptions.
    Exhaustively(&'static str, u32),
    /// Random schedules of this program.
    AtRandom(&'static str),
    /// Not at all, because nothing wrong follows; why not.
    Not(&'static str),
}

const fn planted(name: &'static str, bug: Bug, found: Found) -> Planted {
    Planted { name, broken: Broken::Core(bug), found, histories: None }
}

fn set(broken: Option<Broken>) {
    planted::set(match broken {
        Some(Broken::Core(bug)) => Some(bug),
        Some(Broken::Load) | None => None,
    });
    plant_hasty_loads(matches!(broken, Some(Broken::Load)));
}

impl Planted {
    const fn by_histories(self, seed: u64) -> Self {
        Self { histories: Some(seed), ..self }
    }

    /// Plants the bug, explores the program that should notice, and takes the bug out again; none: no program should.
    pub fn look(&self) -> Option<(Program, Report)> {
        let find = |name| catalogue::find(name).expect("every bug names a program of the catalogue");
        let bounds =
            |preemptions, executions| Bounds { preemptions, frozen: 1, executions, time: Duration::from_secs(600) };
        set(Some(self.broken));
        let found = match self.found {
            Found::Exhaustively(name, preemptions) => {
                let program = find(name);
                let report = search::exhaustive(&program, bounds(Some(preemptions), 100_000));
                Some((program, report))
            }
            Found::AtRandom(name) => {
                let program = find(name);
                let report = search::random(&program, bounds(None, 20_000), 1);
                Some((program, report))
            }
            Found::Not(_) => None,
        };
        set(None);
        found
    }
}

/// Every bug that can be planted.
pub const PLANTED: &[Planted] = &[
    planted("selfnocheck", Bug::SelfNoCheck, Found::Exhaustively("s-rel2-2w", 2)).by_histories(1621),
    planted("ownsettle", Bug::OwnSettle, Found::Exhaustively("s-rel2-2w", 2)).by_histories(17),
    planted("settlewake", Bug::SettleWake, Found::Exhaustively("s-rel2-2w", 2)),
    planted("nowakehelp", Bug::NoWakeHelp, Found::Exhaustively("ab-sets", 2)),
    planted("pulseplain", Bug::PulsePlain, Found::Exhaustively("a-pulse-hole", 2)),
    planted("noregbump", Bug::NoRegisterBump, Found::Exhaustively("s-rel-2w", 2)).by_histories(51),
    planted("flagfirst", Bug::FlagFirst, Found::Exhaustively("e-set-2w", 2)).by_histories(131),
    planted("notalone", Bug::NotAlone, Found::Exhaustively("e-set-2w", 2)).by_histories(20),
    planted("lifo", Bug::Lifo, Found::Exhaustively("a-set-2w", 2)).by_histories(62),
    planted("naivepoll", Bug::NaivePoll, Found::Exhaustively("p-reader", 2)).by_histories(451),
    planted("probeblind", Bug::ProbeBlind, Found::Exhaustively("p-reader", 2)).by_histories(231),
    planted("takeunseen", Bug::TakeUnseen, Found::Exhaustively("w-partly", 2)).by_histories(97),
    planted("proberefused", Bug::ProbeRefused, Found::Exhaustively("w-unit", 2)).by_histories(21),
    planted("carrynocheck", Bug::CarryNoCheck, Found::AtRandom("m-carry-back")),
    planted("queueatonce", Bug::QueueAtOnce, Found::Exhaustively("q-any", 2)),
    planted("queueunseen", Bug::QueueUnseen, Found::Exhaustively("q-any", 2)).by_histories(5),
    planted("queuemoved", Bug::QueueMoved, Found::Exhaustively("q-any", 2)),
    planted("notrail", Bug::NoTrail, Found::Exhaustively("4-wo", 2)),
    planted("cutblind", Bug::CutBlind, Found::Exhaustively("k-take", 2)),
    planted("putblind", Bug::PutBlind, Found::Exhaustively("k-take", 2)),
    planted("clearall", Bug::ClearAll, Found::Exhaustively("k-pulse", 2)),
    planted("cutuncounted", Bug::CutUncounted, Found::Exhaustively("k-take", 2)),
    planted("wanotall", Bug::WaitAllUnseen, Found::Exhaustively("w-sets", 2)).by_histories(2),
    planted("nowill", Bug::NoWill, Found::Exhaustively("d-wait", 1)).by_histories(635),
    planted("atonceunseen", Bug::AtOnceUnseen, Found::Exhaustively("at-once-a-set-2w", 1)),
    planted("heirblind", Bug::HeirBlind, Found::Exhaustively("h-try", 1)),
    planted("heirtrusts", Bug::HeirTrusts, Found::Exhaustively("r-bury", 1)),
    planted("numbertrusted", Bug::NumberTrusted, Found::Exhaustively("z-heir", 1)),
    planted("placeshared", Bug::PlaceShared, Found::Exhaustively("z-burial", 1)),
    planted("freshsequence", Bug::FreshSequence, Found::Exhaustively("o-set", 2)),
    planted("buryunmarked", Bug::BuryUnmarked, Found::Exhaustively("v-heir", 2)),
    planted("burykept", Bug::BuryKept, Found::Exhaustively("v-heir", 1)),
    planted("buryopen", Bug::BuryOpen, Found::Exhaustively("x-set", 2)),
    planted("creatorkept", Bug::CreatorKept, Found::Exhaustively("y-look", 1)),
    planted("forgetblind", Bug::ForgetBlind, Found::Exhaustively("y-close", 2)),
    planted("forgetonce", Bug::ForgetOnce, Found::Exhaustively("y-adopt", 2)),
    planted("holdsended", Bug::HoldsEnded, Found::Exhaustively("hold-two", 2)),
    planted("endsunsaid", Bug::EndsUnsaid, Found::Exhaustively("hold-two", 2)),
    planted("heirendsunsaid", Bug::HeirEndsUnsaid, Found::Exhaustively("hold-heir-two", 2)),
    planted("holdsunconfirmed", Bug::HoldsUnconfirmed, Found::Exhaustively("hold-owned", 2)),
    planted("sharesblind", Bug::SharesBlind, Found::Exhaustively("hold-two", 2)),
    planted("ownerforgotten", Bug::OwnerForgotten, Found::Exhaustively("hold-owned", 1)),
    planted("usedinturns", Bug::UsedInTurns, Found::Exhaustively("hold-turns", 1)),
    planted("waitforgotten", Bug::WaitForgotten, Found::Exhaustively("hold-heir-waited", 1)),
    planted("permanentforgotten", Bug::PermanentForgotten, Found::Exhaustively("name-permanent", 1)),
    planted("nameunsettled", Bug::NameUnsettled, Found::Exhaustively("name-two", 1)),
    planted("nameunannounced", Bug::NameUnannounced, Found::Exhaustively("name-two", 1)),
    planted("nametrusted", Bug::NameTrusted, Found::Exhaustively("name-reserved", 1)),
    planted("nameunreserved", Bug::NameUnreserved, Found::Exhaustively("name-two", 1)),
    planted("nameofthedead", Bug::NameOfTheDead, Found::Exhaustively("name-after", 0)),
    planted("nameunheld", Bug::NameUnheld, Found::Exhaustively("name-release-open", 1)),
    planted("arrivesunseated", Bug::ArrivesUnseated, Found::Exhaustively("meet-two", 1)),
    planted("seatunlooked", Bug::SeatUnlooked, Found::Exhaustively("meet-libraries", 1)),
    planted("arrivaluncounted", Bug::ArrivalUncounted, Found::AtRandom("meet-both-leave")),
    planted("seatgivenup", Bug::SeatGivenUp, Found::Exhaustively("meet-dead-between", 1)),
    planted("seatuncounted", Bug::SeatUncounted, Found::AtRandom("meet-threads-there")),
    planted("holdunburied", Bug::HoldUnburied, Found::Exhaustively("hold-heir-stranger", 1)),
    planted("holdsforstranger", Bug::HoldsForStranger, Found::Exhaustively("for-heir", 1)),
    planted("takesbackany", Bug::TakesBackAny, Found::Exhaustively("for-heir-holds", 1)),
    planted("reclaimsonce", Bug::ReclaimsOnce, Found::Exhaustively("hold-room", 2)),
    planted("burialwaitedfor", Bug::BurialWaitedFor, Found::Exhaustively("hold-room", 2)),
    planted("dueunseen", Bug::DueUnseen, Found::Exhaustively("due-poll", 1)).by_histories(TIMED + 2),
    planted("armuntold", Bug::ArmUntold, Found::Exhaustively("due-arm", 1)).by_histories(TIMED + 287),
    planted("armbeforetelling", Bug::ArmBeforeTelling, Found::Exhaustively("due-d-untold", 1)),
    planted("sooneruntold", Bug::SoonerUntold, Found::Exhaustively("due-sooner", 1)).by_histories(TIMED + 890),
    planted("stirredunwoken", Bug::StirredUnwoken, Found::Exhaustively("due-d-untold", 1)),
    planted("parklate", Bug::ParkLate, Found::Exhaustively("due-arm", 1)).by_histories(TIMED + 890),
    planted("sleepson", Bug::SleepsOn, Found::Exhaustively("due-one", 1)).by_histories(TIMED + 49),
    planted("firesaside", Bug::FiresAside, Found::Exhaustively("due-place", 2)).by_histories(TIMED + 7),
    planted("claimpassedover", Bug::ClaimPassedOver, Found::Exhaustively("detached-taken-there", 1)),
    planted("unrung", Bug::Unrung, Found::Exhaustively("detached-one", 1)).by_histories(DETACHED + 5),
    planted("armedblindly", Bug::ArmedBlindly, Found::Exhaustively("descriptor-packet", 1)),
    planted("silencedlate", Bug::SilencedLate, Found::Exhaustively("detached-taken-there", 1))
        .by_histories(DETACHED + 5),
    planted("untoldpacket", Bug::UntoldPacket, Found::Exhaustively("dead-packet-posts-2t", 1)),
    planted("seenbefore", Bug::SeenBefore, Found::Exhaustively("detached-three-take", 1)),
    planted("slotsbefore", Bug::SlotsBefore, Found::Exhaustively("detached-taken-there", 1)),
    planted("takentwice", Bug::TakenTwice, Found::Exhaustively("detached-two-take", 1)).by_histories(DETACHED + 167),
    planted("lateowner", Bug::LateOwner, Found::Exhaustively("queue-anew-packet", 2)),
    planted("freedtwice", Bug::FreedTwice, Found::Exhaustively("detached-there-again", 2)),
    planted("withdrawsheir", Bug::WithdrawsHeir, Found::AtRandom("dead-queue-heir")),
    planted("wokentakes", Bug::WokenTakes, Found::AtRandom("packet-beside-take")),
    planted("ownerunasked", Bug::OwnerUnasked, Found::Exhaustively("owner-unmarked", 1)),
    planted("lifeunwatched", Bug::LifeUnwatched, Found::Exhaustively("owner-told-death", 1)),
    planted("enduntold", Bug::EndUntold, Found::Exhaustively("owner-told-end", 1)),
    planted("onetold", Bug::OneTold, Found::Exhaustively("owner-told-two-die", 2)),
    planted("nextunwatched", Bug::NextUnwatched, Found::Exhaustively("owner-told-heir", 1)),
    planted("endunasked", Bug::EndUnasked, Found::Exhaustively("end-told-end", 1)),
    planted("endtoone", Bug::EndToOne, Found::Exhaustively("end-told-two", 1)),
    planted("killsheir", Bug::KillsHeir, Found::Exhaustively("owner-killed", 2)),
    Planted {
        name: "hastyload",
        broken: Broken::Load,
        found: Found::Exhaustively("l1-query", 2),
        histories: Some(393),
    },
    planted(
        "noattempt",
        Bug::NoAttempt,
        Found::Not(
            "a claim outlives its attempt only if the epoch is over: an attempt that fails was passed, object by \
             object, by somebody who changed the words before the missing one. So the ticket names it as well",
        ),
    ),
    planted(
        "tmoleave",
        Bug::TimeoutLeave,
        Found::Not(
            "what an attempt leaves behind when its waiter is gone sits on available objects, and whoever meets it takes \
             it away",
        ),
    ),
];

/// Plants the bug of this name in all that this thread does from now on; none: takes it out.
pub fn plant(name: Option<&str>) -> Result<(), String> {
    let find = |name: &str| PLANTED.iter().find(|planted| planted.name == name);
    match name {
        None => set(None),
        Some(name) => set(Some(find(name).ok_or(format!("no bug is called {name}"))?.broken)),
    }
    Ok(())
}
