//! Bugs planted in the core: each breaks one rule of the protocol, and a program must notice.

use ntux_sync::planted::{Bug, set};

/// A bug and a program that finds it.
#[derive(Clone, Copy, Debug)]
pub struct Planted {
    /// Its name on the command line.
    pub name: &'static str,
    /// The rule that is broken.
    pub bug: Bug,
    /// Finds it, with at most two preemptions.
    pub program: &'static str,
}

const fn planted(name: &'static str, bug: Bug, program: &'static str) -> Planted {
    Planted { name, bug, program }
}

/// Every bug that can be planted.
pub const PLANTED: &[Planted] = &[
    planted("selfnocheck", Bug::SelfNoCheck, "s-rel2-2w"),
    planted("ownsettle", Bug::OwnSettle, "s-rel2-2w"),
    planted("settlewake", Bug::SettleWake, "ab-sets"),
    planted("nowakehelp", Bug::NoWakeHelp, "ab-sets"),
    planted("pulseplain", Bug::PulsePlain, "a-pulse-hole"),
    planted("noregbump", Bug::NoRegisterBump, "a-set2-w"),
    planted("flagfirst", Bug::FlagFirst, "a-set-2w"),
    planted("lifo", Bug::Lifo, "a-set-2w"),
    planted("tmoleave", Bug::TimeoutLeave, "w-tmo"),
    planted("noattempt", Bug::NoAttempt, "x3-orphan"),
    planted("naivepoll", Bug::NaivePoll, "p-reader"),
    planted("probeblind", Bug::ProbeBlind, "p-reader"),
    planted("carrynocheck", Bug::CarryNoCheck, "m-deep-1f"),
    planted("growblind", Bug::GrowBlind, "g-sem"),
    planted("wanotall", Bug::WaitAllUnseen, "w-sets"),
];

/// Plants the bug of this name in all that this thread does from now on; none: takes it out.
pub fn plant(name: Option<&str>) -> Result<(), String> {
    let find = |name: &str| PLANTED.iter().find(|planted| planted.name == name);
    match name {
        None => set(None),
        Some(name) => set(Some(find(name).ok_or(format!("no bug is called {name}"))?.bug)),
    }
    Ok(())
}
