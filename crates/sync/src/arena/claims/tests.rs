//! Every interleaving of three threads, of two or three families, that make, send, receive, use and close copies of one
//! descriptor, with a sweep at any time and a kill at any step. The kernel is a few counters; the word changes by the functions
//! that the arena uses.

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
}

const THREADS: usize = 3;
/// The family of each thread. The family 0 keeps the object.
type Families = [u32; THREADS];
/// Messages in one program. A third one takes twenty times as long.
const SENDS: u8 = if cfg!(debug_assertions) { 2 } else { 3 };

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Step {
    Idle,
    /// About to exchange the claims that it saw.
    Announce(u64),
    HoldFlight,
    Send,
    /// About to hold the object's own byte, then to say so, then to close or send.
    HoldOwn(bool),
    SayLocked(bool),
    Close,
    /// Has received; has claimed; has let go of the byte.
    Claim(u64),
    LetGo(u64),
    ClaimLate(u64),
    Finish(u64),
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
    copies: [u8; THREADS],
    steps: [Step; THREADS],
    /// Messages on their way, to anybody.
    messages: u8,
    sends: u8,
    sweep: Sweep,
    families: Families,
}

impl State {
    fn start(families: Families) -> State {
        State {
            claims: 0,
            locked: false,
            freed: false,
            flight: false,
            own: false,
            alive: [true; THREADS],
            // The thread 0 has made it.
            copies: [1, 0, 0],
            steps: [Step::Idle; THREADS],
            messages: 0,
            sends: 0,
            sweep: Sweep::Idle,
            families,
        }
    }

    fn keeps(&self, thread: usize) -> bool {
        let family = self.families[thread];
        !self.locked && (family == 0 || Claims(self.claims).has(family))
    }

    fn copies_left(&self) -> u8 {
        self.copies.iter().sum::<u8>() + self.messages
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

    fn lives(&self, family: u32) -> bool {
        (0..THREADS).any(|thread| self.families[thread] == family && self.alive[thread])
    }

    fn is_unreferenced(&self) -> bool {
        let lives = |family: u32| self.lives(family);
        let kept = !self.locked && (lives(0) || Claims(self.claims).families().any(lives));
        !kept && !self.flight && !self.own
    }

    fn next(&self, planted: Planted) -> Vec<State> {
        let mut all = Vec::new();
        for thread in (0..THREADS).filter(|thread| self.alive[*thread]) {
            all.push(self.with(|state| {
                for relative in (0..THREADS).filter(|relative| self.families[*relative] == self.families[thread]) {
                    state.alive[relative] = false;
                    state.copies[relative] = 0;
                    state.steps[relative] = Step::Idle;
                }
            }));
            match self.steps[thread] {
                Step::Idle => self.begin(thread, planted, &mut all),
                step => all.push(self.with(|state| state.go_on(thread, step, planted))),
            }
        }
        if self.messages > 0 {
            all.push(self.with(|state| state.messages -= 1)); // The receiving socket is closed.
        }
        all.push(self.with(|state| state.go_on_sweeping(planted)));
        all
    }

    fn begin(&self, thread: usize, planted: Planted, all: &mut Vec<State>) {
        if self.copies[thread] > 0 {
            let counted = if self.locked { Step::Close } else { Step::HoldOwn(true) };
            all.push(self.with(|state| state.steps[thread] = counted));
            if self.sends < SENDS {
                all.push(self.with(|state| {
                    state.sends += 1;
                    state.steps[thread] = match state.locked {
                        true => Step::Send,
                        false if state.keeps(thread) => Step::Announce(state.claims),
                        false => Step::HoldOwn(false),
                    };
                }));
            }
        }
        if self.messages > 0 && self.copies[thread] < 2 {
            // One that sees what it receives, and one that does not.
            let late = planted == Planted::LetsGoFirst;
            for seen in [true, false] {
                all.push(self.with(|state| {
                    state.messages -= 1;
                    state.copies[thread] += 1;
                    state.steps[thread] = match (seen, state.locked) {
                        (true, false) if late => Step::ClaimLate(state.claims),
                        (true, false) => Step::Claim(state.claims),
                        _ => Step::Idle,
                    };
                }));
            }
        }
    }

    fn go_on(&mut self, thread: usize, step: Step, planted: Planted) {
        self.steps[thread] = match step {
            Step::Idle => Step::Idle,
            Step::Announce(seen) => match Claims(seen).sent() {
                Some(sent) if self.exchange(seen, sent) => Step::HoldFlight,
                _ if planted == Planted::SharedFlight => Step::HoldFlight,
                _ => Step::HoldOwn(false),
            },
            Step::HoldFlight => {
                self.flight = true;
                Step::Send
            }
            Step::HoldOwn(closes) => {
                self.own = true;
                Step::SayLocked(closes)
            }
            Step::SayLocked(closes) => {
                self.locked = true;
                if closes { Step::Close } else { Step::Send }
            }
            Step::Send => {
                self.messages += 1;
                Step::Idle
            }
            Step::Close => {
                self.copies[thread] -= 1;
                Step::Idle
            }
            Step::Claim(seen) => match Claims(seen).arriving(self.families[thread], self.families[thread] == 0) {
                Some(arriving) if self.exchange(seen, arriving) => Step::LetGo(arriving.0),
                _ => Step::Idle,
            },
            Step::LetGo(arriving) => {
                self.flight = false;
                Step::Finish(arriving)
            }
            Step::ClaimLate(seen) => {
                self.flight = false;
                Step::Claim(seen)
            }
            Step::Finish(arriving) => {
                if let Some(arrived) = Claims(arriving).arrived() {
                    self.exchange(arriving, arrived);
                }
                Step::Idle
            }
        };
    }

    fn go_on_sweeping(&mut self, planted: Planted) {
        self.sweep = match self.sweep {
            Sweep::Idle => Sweep::Meta(self.locked),
            Sweep::Meta(locked) => Sweep::Families(locked, self.claims, 0),
            Sweep::Families(locked, claims, asked) => {
                let asked_for =
                    [Some(0)].into_iter().chain(Claims(claims).families().map(Some)).nth(asked.into()).flatten();
                match asked_for {
                    Some(family) if !locked && self.lives(family) => Sweep::Idle,
                    Some(_) => Sweep::Families(locked, claims, asked + 1),
                    None => Sweep::Bytes(locked, claims),
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
fn search(families: Families, planted: Planted) -> (Option<State>, usize) {
    let (mut seen, mut open) = (HashSet::new(), vec![State::start(families)]);
    while let Some(state) = open.pop() {
        if !seen.insert(state.clone()) {
            continue;
        }
        let at_rest = state.steps.iter().all(|step| *step == Step::Idle);
        let freed_early = state.freed && state.copies_left() > 0;
        let leaked = at_rest && state.copies_left() == 0 && !state.is_unreferenced();
        if freed_early || leaked {
            return (Some(state), seen.len());
        }
        if !state.freed {
            open.extend(state.next(planted));
        }
    }
    (None, seen.len())
}

#[test]
fn nothing_is_freed_early_and_nothing_is_left() {
    for families in [[0, 1, 2], [0, 1, 1], [0, 0, 1]] {
        let (wrong, states) = search(families, Planted::Nothing);
        assert_eq!(wrong, None);
        assert!(states > 10_000, "{states}");
    }
}

#[test]
fn planted_bugs_are_found() {
    for planted in [Planted::LetsGoFirst, Planted::NoSecondLook, Planted::SharedFlight] {
        assert!(search([0, 1, 2], planted).0.is_some(), "{planted:?}");
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
    let rest = claims.without(0);
    assert_eq!(rest.families().collect::<Vec<_>>(), [4095, 7]);
    assert_ne!(rest.of_successor(), Claims(0), "the sequence goes on");
    assert_eq!(rest.of_successor().families().count(), 0);
}
