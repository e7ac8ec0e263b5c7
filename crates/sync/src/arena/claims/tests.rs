//! Every interleaving of three threads, of two or three families, that make, send, receive, copy, steal, use and close
//! descriptors of one object, with a sweep at any time, and a kill or an exec at any step. The kernel is a few counters; the word
//! changes by the functions that the arena uses.

use super::Claims;
use std::collections::HashSet;

/// What is left out, to see that the search finds it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Planted {
    Nothing,
    /// A receiver lets go of the byte before it claims.
    LetsGoFirst,
    /// A sweep does not read the claims again.
    NoSecondLook,
    /// A second message counts on the byte of the first.
    SharedFlight,
    /// A family gives up its claim before it closes its sole descriptor.
    ReleasesFirst,
    /// A copy does not change the note of the sole descriptor.
    QuietCopy,
    /// A second descriptor arrives, and the word does not say several.
    SureOfTwo,
    /// Who closes a sole descriptor does not look whether a message is on its way.
    FlightForgotten,
    /// A burial does not say so.
    SureAfterBurial,
    /// Who has stolen a copy does not look whether the object is still there.
    BlindThief,
}

const THREADS: usize = 3;
/// The family of each thread. The family 0 keeps the object.
type Families = [usize; THREADS];
/// Messages in one program, and other ways to a copy (copies, thefts, execs).
const LIMITS: [[u8; 2]; 2] = [[2, 0], [1, 1]];

/// What follows when the own byte is held.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Then {
    Close,
    Send,
    Copy,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Step {
    Idle,
    /// About to exchange the claims that it saw.
    Announce(u64),
    HoldFlight,
    Send,
    /// About to hold the object's own byte, then to say so.
    HoldOwn(Then),
    SayLocked(Then),
    Close,
    Copy,
    /// Has the note of the sole descriptor; has closed it; has read the claims, then meta; has given up the last claim.
    CloseSole,
    Release,
    ReleaseSeen(u64),
    ReleaseExchange(u64),
    Free,
    /// Has received; has claimed; has let go of the byte.
    Claim(u64),
    LetGo(bool),
    ClaimLate(u64),
    Finish(bool),
    /// Has a copy of another process's descriptor; holds its own byte.
    Stolen,
    StolenHeld,
    /// An exec will keep the descriptor.
    Exec,
}

impl Step {
    fn is_receiving(self) -> bool {
        matches!(self, Step::Claim(_) | Step::ClaimLate(_) | Step::LetGo(_) | Step::Finish(_))
    }
}

/// A sweep: what it has read so far.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Sweep {
    Idle,
    Meta(bool),
    /// Locked as seen, claims as seen, families asked so far.
    Families(bool, u64, u8),
    Bytes(bool, u64),
    Again(bool, u64),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct State {
    claims: u64,
    locked: bool,
    freed: bool,
    flight: bool,
    own: bool,
    alive: [bool; THREADS],
    /// Of each family: its descriptors, and whether its process knows one to be the sole one.
    copies: [u8; THREADS],
    sole: [bool; THREADS],
    steps: [Step; THREADS],
    /// Messages on their way, to anybody.
    messages: u8,
    /// How many messages, and other ways to a copy, are still allowed.
    sends: u8,
    others: u8,
    /// A program that was executed has a copy.
    kept: bool,
    sweep: Sweep,
    families: Families,
}

impl State {
    fn start(families: Families, [sends, others]: [u8; 2]) -> State {
        State {
            claims: 0,
            locked: false,
            freed: false,
            flight: false,
            own: false,
            alive: [true; THREADS],
            // The thread 0 has made it.
            copies: [1, 0, 0],
            sole: [true, false, false],
            steps: [Step::Idle; THREADS],
            messages: 0,
            sends,
            others,
            kept: false,
            sweep: Sweep::Idle,
            families,
        }
    }

    fn answers(&self, family: usize) -> bool {
        !self.locked && Claims(self.claims).answer(family as u32, family == 0)
    }

    fn copies_left(&self) -> u8 {
        self.copies.iter().sum::<u8>() + self.messages + u8::from(self.kept)
    }

    /// Copies that their thief does not use yet: it looks first.
    fn untold(&self) -> u8 {
        self.steps.iter().filter(|step| matches!(step, Step::Stolen | Step::StolenHeld)).count() as u8
    }

    /// Whether the program knows a descriptor. It does not know one whose call has not returned yet.
    fn has(&self, family: usize) -> bool {
        let in_call = |thread: &usize| {
            let step = self.steps[*thread];
            self.families[*thread] == family && (step.is_receiving() || matches!(step, Step::Stolen | Step::StolenHeld))
        };
        self.copies[family] > (0..THREADS).filter(in_call).count() as u8
    }

    /// Locks end with the last copy.
    fn settled(mut self) -> State {
        if self.copies_left() == 0 {
            (self.flight, self.own) = (false, false);
        }
        self
    }

    fn with(&self, change: impl FnOnce(&mut State)) -> State {
        let mut next = self.clone();
        change(&mut next);
        next.settled()
    }

    fn exchange(&mut self, seen: u64, next: Claims) -> bool {
        let same = self.claims == seen;
        if same {
            self.claims = next.0;
        }
        same
    }

    fn lives(&self, family: usize) -> bool {
        (0..THREADS).any(|thread| self.families[thread] == family && self.alive[thread])
    }

    fn is_unreferenced(&self) -> bool {
        let claims = Claims(self.claims);
        let lives = |family: u32| self.lives(family as usize);
        let kept = !self.locked && (!claims.is_left() && lives(0) || claims.families().any(lives));
        !kept && !self.flight && !self.own
    }

    /// The process ends.
    fn end(&mut self, family: usize) {
        for thread in (0..THREADS).filter(|thread| self.families[*thread] == family) {
            self.alive[thread] = false;
            self.steps[thread] = Step::Idle;
        }
        (self.copies[family], self.sole[family]) = (0, false);
    }

    fn next(&self, planted: Planted) -> Vec<State> {
        let mut all = Vec::new();
        for thread in (0..THREADS).filter(|thread| self.alive[*thread]) {
            all.push(self.with(|state| state.end(state.families[thread])));
            match self.steps[thread] {
                Step::Idle => self.begin(thread, planted, &mut all),
                step => all.push(self.with(|state| state.go_on(thread, step, planted))),
            }
        }
        if self.messages > 0 {
            all.push(self.with(|state| state.messages -= 1)); // The receiving socket is closed.
        }
        if self.kept {
            all.push(self.with(|state| state.kept = false));
            all.push(self.with(|state| state.locked = true)); // Its first use.
        }
        for family in (0..THREADS).filter(|family| self.families.contains(family) && !self.lives(*family)) {
            let (claims, keeps) = (Claims(self.claims), family == 0);
            if self.answers(family) {
                let sure = planted == Planted::SureAfterBurial;
                all.push(self.with(|state| {
                    state.claims = match sure {
                        true => claims.released(family as u32, keeps).unwrap_or(claims).0,
                        false => claims.buried(family as u32, keeps).0,
                    };
                }));
            }
        }
        all.push(self.with(|state| state.go_on_sweeping(planted)));
        all
    }

    fn begin(&self, thread: usize, planted: Planted, all: &mut Vec<State>) {
        let family = self.families[thread];
        let mut to = |step: Step| all.push(self.with(|state| state.steps[thread] = step));
        if self.has(family) {
            let surely = self.sole[family]
                && self.answers(family)
                && !Claims(self.claims).are_several(family as u32, family == 0);
            match self.locked {
                true => to(Step::Close),
                false if !surely => to(Step::HoldOwn(Then::Close)),
                false => {
                    let first = if planted == Planted::ReleasesFirst { Step::Release } else { Step::CloseSole };
                    all.push(self.with(|state| {
                        state.sole[family] = false;
                        state.steps[thread] = first;
                    }));
                }
            }
            self.begin_to_pass_on(thread, planted, all);
        }
        if self.messages > 0 && self.copies[family] < 2 {
            // One that sees what it receives, and one that does not.
            let late = planted == Planted::LetsGoFirst;
            for seen in [true, false] {
                all.push(self.with(|state| {
                    state.messages -= 1;
                    state.copies[family] += 1;
                    state.steps[thread] = match (seen, state.locked) {
                        (true, false) if late => Step::ClaimLate(state.claims),
                        (true, false) => Step::Claim(state.claims),
                        _ => Step::Idle,
                    };
                }));
            }
        }
        if self.others > 0 && self.copies[family] < 2 && self.copies.iter().any(|copies| *copies > 0) {
            all.push(self.with(|state| {
                state.others -= 1;
                state.copies[family] += 1;
                state.steps[thread] = Step::Stolen;
            }));
        }
    }

    fn begin_to_pass_on(&self, thread: usize, planted: Planted, all: &mut Vec<State>) {
        let family = self.families[thread];
        if self.sends > 0 {
            all.push(self.with(|state| {
                state.sends -= 1;
                state.steps[thread] = match state.locked {
                    true => Step::Send,
                    false if state.answers(family) => Step::Announce(state.claims),
                    false => Step::HoldOwn(Then::Send),
                };
            }));
        }
        let is_closing = |other: usize| {
            self.families[other] == family && matches!(self.steps[other], Step::CloseSole | Step::Release)
        };
        if self.others == 0 {
            return;
        }
        if self.copies[family] < 2 {
            let noted = (0..THREADS).any(is_closing) && !self.locked;
            all.push(self.with(|state| {
                state.others -= 1;
                state.sole[family] &= planted == Planted::QuietCopy;
                state.steps[thread] = if noted { Step::HoldOwn(Then::Copy) } else { Step::Copy };
            }));
        }
        if self.families.iter().filter(|other| **other == family).count() == 1 {
            all.push(self.with(|state| {
                state.others -= 1;
                state.sole[family] = false;
                state.own = true;
                state.steps[thread] = Step::Exec;
            }));
        }
    }

    fn go_on(&mut self, thread: usize, step: Step, planted: Planted) {
        let family = self.families[thread];
        let is_stolen = matches!(step, Step::Stolen | Step::StolenHeld);
        let is_open = is_stolen || self.has(family);
        let keeps = family == 0;
        self.steps[thread] = match step {
            Step::Idle => Step::Idle,
            Step::Announce(seen) => match Claims(seen).sent() {
                _ if self.locked => Step::HoldOwn(Then::Send),
                Some(sent) if self.exchange(seen, sent) => Step::HoldFlight,
                Some(_) => Step::Announce(self.claims),
                _ if planted == Planted::SharedFlight => Step::HoldFlight,
                _ => Step::HoldOwn(Then::Send),
            },
            Step::HoldFlight => {
                self.flight |= is_open;
                Step::Send
            }
            Step::HoldOwn(_) if !is_open => Step::Idle,
            Step::HoldOwn(then) => {
                self.own = true;
                Step::SayLocked(then)
            }
            Step::SayLocked(then) => {
                self.locked |= !self.freed;
                match then {
                    Then::Close => Step::Close,
                    Then::Send => Step::Send,
                    Then::Copy => Step::Copy,
                }
            }
            Step::Send => {
                self.messages += u8::from(is_open);
                Step::Idle
            }
            Step::Close => {
                self.copies[family] = self.copies[family].saturating_sub(1);
                Step::Idle
            }
            Step::Copy => {
                self.copies[family] += u8::from(is_open);
                Step::Idle
            }
            Step::CloseSole if !is_open => Step::Idle,
            Step::CloseSole => {
                self.copies[family] -= 1;
                if planted == Planted::ReleasesFirst { Step::Idle } else { Step::Release }
            }
            Step::Release => Step::ReleaseSeen(self.claims),
            Step::ReleaseSeen(_) if self.locked => Step::Idle,
            Step::ReleaseSeen(seen) => Step::ReleaseExchange(seen),
            Step::ReleaseExchange(seen) => match Claims(seen).released(family as u32, keeps) {
                None => Step::Idle,
                Some(rest) if !self.exchange(seen, rest) => Step::Release,
                Some(_) if planted == Planted::ReleasesFirst => Step::CloseSole,
                Some(rest) if rest.are_nobodys() => Step::Free,
                Some(rest) if planted == Planted::FlightForgotten && rest.families().next().is_none() => Step::Free,
                Some(_) => Step::Idle,
            },
            Step::Free => {
                self.freed |= !self.locked;
                Step::Idle
            }
            Step::Claim(_) if self.locked => Step::Idle,
            Step::Claim(seen) => match Claims(seen).arriving(family as u32, keeps) {
                Some(_) if planted == Planted::SureOfTwo && Claims(seen).answer(family as u32, keeps) => {
                    self.claims = Claims(seen).with_flight(super::ARRIVING).0;
                    Step::LetGo(false)
                }
                Some(arriving) if self.exchange(seen, arriving) => {
                    Step::LetGo(!Claims(seen).answer(family as u32, keeps))
                }
                Some(_) => Step::Claim(self.claims),
                None => Step::Idle,
            },
            Step::LetGo(first) => {
                self.flight = false;
                Step::Finish(first)
            }
            Step::ClaimLate(seen) => {
                self.flight = false;
                Step::Claim(seen)
            }
            Step::Finish(first) => {
                if let Some(arrived) = Claims(self.claims).arrived().filter(|_| !self.locked) {
                    self.claims = arrived.0;
                }
                self.sole[family] |= first && self.copies[family] == 1;
                Step::Idle
            }
            Step::Stolen => {
                self.own |= is_open;
                Step::StolenHeld
            }
            Step::StolenHeld => {
                if self.freed && planted != Planted::BlindThief {
                    self.copies[family] = self.copies[family].saturating_sub(1);
                }
                self.locked |= !self.freed;
                Step::Idle
            }
            Step::Exec => {
                self.kept |= is_open;
                self.end(family);
                Step::Idle
            }
        };
    }

    fn go_on_sweeping(&mut self, planted: Planted) {
        self.sweep = match self.sweep {
            Sweep::Idle => Sweep::Meta(self.locked),
            Sweep::Meta(locked) => Sweep::Families(locked, self.claims, 0),
            Sweep::Families(locked, seen, asked) => {
                let claims = Claims(seen);
                let keeper = (!claims.is_left()).then_some(0);
                let asked_for = keeper.into_iter().chain(claims.families()).nth(asked.into());
                match asked_for {
                    Some(family) if !locked && self.lives(family as usize) => Sweep::Idle,
                    Some(_) => Sweep::Families(locked, seen, asked + 1),
                    None => Sweep::Bytes(locked, seen),
                }
            }
            Sweep::Bytes(..) if self.flight || self.own => Sweep::Idle,
            Sweep::Bytes(locked, claims) => Sweep::Again(locked, claims),
            Sweep::Again(locked, claims) => {
                let same = planted == Planted::NoSecondLook || self.claims == claims;
                self.freed |= same && self.locked == locked;
                Sweep::Idle
            }
        };
    }
}

/// The first state in which something is wrong, of all that can be reached; and how many that are.
fn search(families: Families, limits: [u8; 2], planted: Planted) -> (Option<State>, usize) {
    let (mut seen, mut open) = (HashSet::new(), vec![State::start(families, limits)]);
    while let Some(state) = open.pop() {
        if !seen.insert(state.clone()) {
            continue;
        }
        let at_rest = state.steps.iter().all(|step| *step == Step::Idle);
        let freed_early = state.freed && state.copies_left() > state.untold();
        let leaked = at_rest && !state.freed && state.copies_left() == 0 && !state.is_unreferenced();
        if freed_early || leaked {
            return (Some(state), seen.len());
        }
        if !state.freed || state.untold() > 0 {
            open.extend(state.next(planted));
        }
    }
    (None, seen.len())
}

#[test]
fn nothing_is_freed_early_and_nothing_is_left() {
    let all =
        [[0, 1, 2], [0, 1, 1], [0, 0, 1]].into_iter().flat_map(|families| LIMITS.map(|limits| (families, limits)));
    // Without optimization one of the six takes as long as all with it.
    let (first, count) = if cfg!(debug_assertions) { (1, 1) } else { (0, 6) };
    for (families, limits) in all.skip(first).take(count) {
        let (wrong, states) = search(families, limits, Planted::Nothing);
        assert_eq!(wrong, None, "{families:?} {limits:?}");
        assert!(states > 100_000, "{families:?} {limits:?}: {states}");
    }
}

#[test]
fn planted_bugs_are_found() {
    let all = [
        Planted::LetsGoFirst,
        Planted::NoSecondLook,
        Planted::SharedFlight,
        Planted::ReleasesFirst,
        Planted::QuietCopy,
        Planted::SureOfTwo,
        Planted::FlightForgotten,
        Planted::SureAfterBurial,
        Planted::BlindThief,
    ];
    for planted in all {
        let found = |families| LIMITS.into_iter().any(|limits| search(families, limits, planted).0.is_some());
        let found = [[0, 1, 2], [0, 0, 1]].into_iter().any(found);
        assert!(found, "{planted:?}");
    }
}

#[test]
fn claims_end_with_their_places() {
    let sent = Claims(0).sent().unwrap();
    assert_eq!(sent.sent(), None, "one message at a time");
    assert_eq!((Claims(0).arriving(4095, false), sent.arrived()), (None, None));
    let mut claims = Claims(0);
    for family in [4095, 0, 7] {
        claims = claims.sent().unwrap().arriving(family, false).unwrap().arrived().unwrap();
    }
    assert_eq!(claims.families().collect::<Vec<_>>(), [4095, 0, 7]);
    let full = claims.sent().unwrap();
    assert_eq!(full.arriving(8, false), None);
    assert!(full.arriving(7, false).is_some() && full.arriving(8, true).is_some());
    let rest = claims.released(0, false).unwrap();
    assert_eq!(rest.families().collect::<Vec<_>>(), [4095, 7]);
    assert_ne!(rest.of_successor(), Claims(0), "the sequence goes on");
    assert_eq!(rest.of_successor().families().count(), 0);
    assert!(!rest.is_left() && rest.answer(1, true) && !rest.answer(1, false));
    let left = rest.released(1, true).unwrap();
    assert!(left.is_left() && !left.answer(1, true) && !left.are_nobodys());
    let back = left.sent().unwrap().arriving(1, true).unwrap();
    assert!(back.answer(1, true) && !back.are_several(1, true), "the keeper has one again");
    let again = back.arrived().unwrap().sent().unwrap().arriving(1, true).unwrap();
    assert!(again.are_several(1, true) && again.released(1, true).is_none() && again.released(7, false).is_some());
    let last = left.released(4095, false).unwrap().released(7, false).unwrap();
    assert!(
        last.are_nobodys()
            && !last.sent().unwrap().are_nobodys()
            && !left.buried(7, false).released(4095, false).unwrap().are_nobodys()
    );
    assert!(left.doubted(7, false).are_several(7, false) && !left.doubted(7, false).are_several(4095, false));
}
