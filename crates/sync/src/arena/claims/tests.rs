// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every interleaving of three threads, of two or three families, that make, send, receive, copy, steal, inherit, use and close
//! descriptors of one object, with a sweep at any time, and a kill, an exec or a fork at any step. The kernel is a few counters; the word
//! changes by the functions that the arena uses. There are two places for three families.

use super::{Claims, PLACES};
use std::collections::HashSet;

/// What is left out, to see that the search finds it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Planted {
    Nothing,
    /// A receiver lets go of the byte before it claims.
    LetsGoFirst,
    /// A sweep does not read the claims again.
    NoSecondLook,
    /// A message counts on the byte that a receiver is about to let go of.
    SharedFlight,
    /// A receiver lets go of the byte while another message is on its way.
    LetsGoOfAll,
    /// A family gives up its claim before it closes its descriptor.
    ReleasesFirst,
    /// A copy is not counted.
    QuietCopy,
    /// A copy is counted after it was made.
    LateCount,
    /// A copy that could not be made stays counted.
    CopyStays,
    /// A message that was refused takes another one from the count.
    TakesBackTwo,
    /// A second descriptor arrives, and is not counted.
    SureOfTwo,
    /// A thread that closes a descriptor does not look whether a message is on its way.
    FlightForgotten,
    /// What an exec will keep is held, and meta does not say so.
    QuietExec,
    /// A thread that has stolen a copy does not look whether the object is still there.
    BlindThief,
    /// A child's copies are not claimed.
    QuietFork,
    /// A child's copies are claimed after the fork.
    LateHeir,
    /// A close does not look whether a fork is going on.
    ForkForgotten,
}

const THREADS: usize = 3;
/// The family of each thread. The family 0 makes the object.
type Families = [usize; THREADS];
/// Messages in one program, and other ways to a copy (copies, thefts, execs, forks).
const LIMITS: [[u8; 2]; 3] = [[2, 0], [1, 1], [0, 2]];

/// What follows when the own byte is held.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Then {
    Close,
    Send,
    Copy,
    Exec,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Step {
    Idle,
    /// About to exchange the claims that it saw.
    Announce(Claims),
    HoldFlight,
    Send,
    /// The message was refused; has taken it back; has let go of the byte.
    TakeBack(Claims),
    LetGo,
    Landed,
    /// About to hold the object's own byte, then to say so.
    HoldOwn(Then),
    SayLocked(Then),
    Close,
    Copy,
    /// About to count a copy; to make it; to count it late.
    CountCopy(Claims),
    CopyCounted,
    CountLate,
    /// Has the note of a counted descriptor; has looked whether a fork is going on; has closed it; has read the claims, then meta;
    /// has given up the last claim.
    CloseCounted,
    CloseUnforked,
    Release,
    ReleaseSeen(Claims),
    ReleaseExchange(Claims),
    Free,
    /// Has received; has claimed; has let go of the byte.
    Claim(Claims),
    LetGoAndFinish(bool),
    ClaimLate(Claims),
    Finish(bool),
    /// Has a copy of another process's descriptor; holds its own byte.
    Stolen,
    StolenHeld,
    /// An exec will keep the descriptor.
    Exec,
    /// A fork has begun: so many counted copies and others are to be claimed for that family, by an exchange of the claims that it saw.
    Bequeath {
        child: usize,
        counted: u8,
        others: u8,
        seen: Claims,
    },
    Fork(usize),
    BequeathLate {
        child: usize,
        counted: u8,
        seen: Claims,
    },
}

impl Step {
    fn is_receiving(self) -> bool {
        matches!(self, Step::Claim(_) | Step::ClaimLate(_) | Step::LetGoAndFinish(_) | Step::Finish(_))
    }

    fn is_forking(self) -> bool {
        matches!(self, Step::Bequeath { .. } | Step::Fork(_) | Step::BequeathLate { .. })
    }
}

/// A sweep: what it has read so far.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Sweep {
    Idle,
    Meta(bool),
    /// Locked as seen, claims as seen, families asked so far.
    Families(bool, Claims, u8),
    Bytes(bool, Claims),
    Again(bool, Claims),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct State {
    claims: Claims,
    locked: bool,
    freed: bool,
    flight: bool,
    own: bool,
    alive: [bool; THREADS],
    /// By family: not yet forked.
    unborn: [bool; THREADS],
    /// Each family has its descriptors, and how many of them its process counts.
    copies: [u8; THREADS],
    counted: [u8; THREADS],
    /// What a receiver counts depends on whether a fork was going on, or began, since before it received.
    forks: u8,
    since: [u8; THREADS],
    steps: [Step; THREADS],
    /// Messages on their way, to anybody.
    messages: u8,
    /// How many messages, and other ways to a copy, are still allowed.
    sends: u8,
    others: u8,
    /// A program that was executed has a copy.
    kept: bool,
    /// A child was forked while another thread received or closed a descriptor: the child may have that, until it ends.
    vague: bool,
    sweep: Sweep,
    families: Families,
}

/// Descriptors of one family at most.
const COPIES: u8 = 3;

impl State {
    fn start(families: Families, unborn: [bool; THREADS], [sends, others]: [u8; 2]) -> State {
        State {
            alive: families.map(|family| !unborn[family]),
            claims: Claims(0).of_successor(Some(0)),
            locked: false,
            freed: false,
            flight: false,
            own: false,
            unborn,
            // The thread 0 has made it.
            copies: [1, 0, 0],
            counted: [1, 0, 0],
            forks: 0,
            since: [0; THREADS],
            steps: [Step::Idle; THREADS],
            messages: 0,
            sends,
            others,
            kept: false,
            vague: false,
            sweep: Sweep::Idle,
            families,
        }
    }

    fn answers(&self, family: usize) -> bool {
        !self.locked && self.claims.has(family as u32)
    }

    fn copies_left(&self) -> u8 {
        self.copies.iter().sum::<u8>() + self.messages + u8::from(self.kept)
    }

    /// Copies that their thief does not use yet: it looks first.
    fn untold(&self) -> u8 {
        self.steps.iter().filter(|step| matches!(step, Step::Stolen | Step::StolenHeld)).count() as u8
    }

    /// Descriptors that came by a call that has not returned yet.
    fn in_call(&self, family: usize) -> u8 {
        let is_in_call = |thread: &usize| {
            let step = self.steps[*thread];
            self.families[*thread] == family && (step.is_receiving() || matches!(step, Step::Stolen | Step::StolenHeld))
        };
        (0..THREADS).filter(is_in_call).count() as u8
    }

    /// Returns true if the program knows a descriptor.
    fn has(&self, family: usize) -> bool {
        self.copies[family] > self.in_call(family)
    }

    /// Descriptors that are being closed.
    fn in_close(&self, family: usize) -> u8 {
        let is_closing = |thread: &usize| {
            let step = self.steps[*thread];
            let own = matches!(step, Step::HoldOwn(Then::Close) | Step::SayLocked(Then::Close) | Step::Close);
            self.families[*thread] == family && (own || matches!(step, Step::CloseCounted | Step::CloseUnforked))
        };
        (0..THREADS).filter(is_closing).count() as u8
    }

    /// Returns true if a fork of this family is going on.
    fn is_forking(&self, family: usize) -> bool {
        (0..THREADS).any(|thread| self.families[thread] == family && self.steps[thread].is_forking())
    }

    /// A moment, as the process's threads see it.
    fn moment(&self, family: usize) -> u8 {
        2 * self.forks + u8::from(self.is_forking(family))
    }

    fn is_forkless(&self, thread: usize) -> bool {
        self.since[thread].is_multiple_of(2) && self.since[thread] == self.moment(self.families[thread])
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

    fn exchange(&mut self, seen: Claims, next: Claims) -> bool {
        let same = self.claims == seen;
        if same {
            self.claims = next;
        }
        same
    }

    /// A child that is about to be forked has its byte already, which the parent holds.
    fn lives(&self, family: usize) -> bool {
        let is_founded =
            |step: &Step| matches!(*step, Step::Bequeath { child, .. } | Step::Fork(child) if child == family);
        (0..THREADS).any(|thread| self.families[thread] == family && self.alive[thread])
            || self.steps.iter().any(is_founded)
    }

    fn is_gone(&self) -> impl Fn(u32) -> bool + use<> {
        let state = self.clone();
        move |family| !state.lives(family as usize)
    }

    fn is_unreferenced(&self) -> bool {
        let lives = |family: u32| self.lives(family as usize);
        let kept = !self.locked && self.claims.families().any(lives);
        !kept && !self.flight && !self.own
    }

    /// The process ends.
    fn end(&mut self, family: usize) {
        for thread in (0..THREADS).filter(|thread| self.families[*thread] == family) {
            self.alive[thread] = false;
            self.steps[thread] = Step::Idle;
        }
        (self.copies[family], self.counted[family]) = (0, 0);
    }

    fn next(&self, planted: Planted) -> Vec<State> {
        let mut all = Vec::new();
        for thread in (0..THREADS).filter(|thread| self.alive[*thread]) {
            all.push(self.with(|state| state.end(state.families[thread])));
            match self.steps[thread] {
                Step::Idle => self.begin(thread, planted, &mut all),
                step => {
                    all.push(self.with(|state| state.go_on(thread, step, planted)));
                    if step == Step::Send {
                        all.push(self.with(|state| state.refuse(thread)));
                    }
                }
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
            if self.answers(family) {
                all.push(self.with(|state| state.claims = state.claims.buried(family as u32)));
            }
        }
        all.push(self.with(|state| state.go_on_sweeping(planted)));
        all
    }

    fn begin(&self, thread: usize, planted: Planted, all: &mut Vec<State>) {
        let family = self.families[thread];
        let has_counted = self.counted[family] > 0;
        let knows_others = self.has(family) && self.copies[family] > self.counted[family] + self.in_close(family);
        if knows_others {
            let step = if self.locked { Step::Close } else { Step::HoldOwn(Then::Close) };
            all.push(self.with(|state| state.steps[thread] = step));
        }
        if has_counted {
            let may_release = !self.locked && self.claims.are_counted(family as u32);
            let first = match (may_release, self.locked) {
                (true, _) if planted == Planted::ReleasesFirst => Step::Release,
                (true, _) => Step::CloseCounted,
                (false, true) => Step::Close,
                (false, false) => Step::HoldOwn(Then::Close),
            };
            all.push(self.with(|state| {
                state.counted[family] -= 1;
                state.steps[thread] = first;
            }));
        }
        if has_counted || knows_others {
            self.begin_to_pass_on(thread, has_counted, planted, all);
        }
        if self.messages > 0 && self.copies[family] < COPIES {
            // One that sees what it receives, and one that does not.
            let late = planted == Planted::LetsGoFirst;
            for seen in [true, false] {
                all.push(self.with(|state| {
                    state.messages -= 1;
                    state.copies[family] += 1;
                    state.since[thread] = state.moment(family);
                    state.steps[thread] = match (seen, state.locked) {
                        (true, false) if late => Step::ClaimLate(state.claims),
                        (true, false) => Step::Claim(state.claims),
                        _ => Step::Idle,
                    };
                }));
            }
        }
        if self.others > 0 && self.copies[family] < COPIES && self.copies.iter().any(|copies| *copies > 0) {
            all.push(self.with(|state| {
                state.others -= 1;
                state.copies[family] += 1;
                state.steps[thread] = Step::Stolen;
            }));
        }
    }

    fn begin_to_pass_on(&self, thread: usize, has_counted: bool, planted: Planted, all: &mut Vec<State>) {
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
        if self.others == 0 {
            return;
        }
        if self.copies[family] < COPIES {
            all.push(self.with(|state| {
                state.others -= 1;
                state.since[thread] = state.moment(family);
                state.steps[thread] = match (has_counted, state.locked) {
                    (_, true) => Step::Copy,
                    (true, _) if planted == Planted::QuietCopy => Step::Copy,
                    (true, _) if planted == Planted::LateCount => Step::CountLate,
                    (true, false) => Step::CountCopy(state.claims),
                    // Another thread closes it, or nobody knows it.
                    (false, false) => Step::HoldOwn(Then::Copy),
                };
            }));
        }
        if self.families.iter().filter(|other| **other == family).count() == 1 {
            all.push(self.with(|state| {
                state.others -= 1;
                state.counted[family] = 0;
                state.own |= planted == Planted::QuietExec;
                state.steps[thread] = match planted {
                    Planted::QuietExec => Step::Exec,
                    _ => Step::HoldOwn(Then::Exec),
                };
            }));
        }
        for child in (0..THREADS).filter(|child| self.unborn[*child]) {
            all.push(self.with(|state| {
                state.others -= 1;
                state.unborn[child] = false;
                let counted = state.counted[family];
                let others = state.copies[family] - counted - state.in_close(family);
                state.steps[thread] = match planted {
                    Planted::QuietFork | Planted::LateHeir => Step::Fork(child),
                    _ => Step::Bequeath { child, counted, others, seen: state.claims },
                };
            }));
        }
    }

    fn refuse(&mut self, thread: usize) {
        self.steps[thread] = if self.locked { Step::Idle } else { Step::TakeBack(self.claims) };
    }

    fn go_on(&mut self, thread: usize, step: Step, planted: Planted) {
        let family = self.families[thread];
        let own = family as u32;
        let is_stolen = matches!(step, Step::Stolen | Step::StolenHeld);
        let is_open = is_stolen || self.has(family);
        self.steps[thread] = match step {
            Step::Idle => Step::Idle,
            Step::Announce(seen) => match seen.sent() {
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
            Step::TakeBack(_) if self.locked => Step::Idle,
            Step::TakeBack(seen) => match seen.refused() {
                Some(rest) if planted == Planted::TakesBackTwo => {
                    self.claims = rest.refused().unwrap_or(rest);
                    if self.claims.are_landing() { Step::LetGo } else { Step::Idle }
                }
                Some(rest) if !self.exchange(seen, rest) => Step::TakeBack(self.claims),
                Some(rest) if rest.are_landing() => Step::LetGo,
                _ => Step::Idle,
            },
            Step::LetGo => {
                self.flight = false;
                Step::Landed
            }
            Step::Landed => {
                self.land();
                Step::Idle
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
                    Then::Exec => Step::Exec,
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
                self.counted[family] += u8::from(is_open && planted == Planted::QuietCopy);
                Step::Idle
            }
            Step::CountCopy(_) if self.locked => Step::Copy,
            Step::CountCopy(seen) => match seen.copied(own) {
                Some(copied) if self.exchange(seen, copied) => Step::CopyCounted,
                Some(_) => Step::CountCopy(self.claims),
                None => Step::HoldOwn(Then::Copy),
            },
            Step::CopyCounted if is_open => {
                self.copies[family] += 1;
                self.note(thread)
            }
            Step::CopyCounted if planted == Planted::CopyStays => Step::Idle,
            Step::CopyCounted => Step::Release,
            Step::CountLate => {
                self.copies[family] += u8::from(is_open);
                if is_open { Step::CountCopy(self.claims) } else { Step::Idle }
            }
            Step::CloseCounted if !is_open => Step::Idle,
            Step::CloseCounted if self.is_forking(family) && planted != Planted::ForkForgotten => {
                Step::HoldOwn(Then::Close)
            }
            Step::CloseCounted => Step::CloseUnforked,
            Step::CloseUnforked => {
                self.copies[family] = self.copies[family].saturating_sub(1);
                if planted == Planted::ReleasesFirst { Step::Idle } else { Step::Release }
            }
            Step::Release => Step::ReleaseSeen(self.claims),
            Step::ReleaseSeen(_) if self.locked => Step::Idle,
            Step::ReleaseSeen(seen) => Step::ReleaseExchange(seen),
            Step::ReleaseExchange(seen) => match seen.released(own) {
                None => Step::Idle,
                Some(rest) if !self.exchange(seen, rest) => Step::Release,
                Some(_) if planted == Planted::ReleasesFirst => Step::CloseCounted,
                Some(rest) if rest.are_nobodys() => Step::Free,
                Some(rest) if planted == Planted::FlightForgotten && rest.families().next().is_none() => Step::Free,
                Some(_) => Step::Idle,
            },
            Step::Free => {
                self.freed |= !self.locked;
                Step::Idle
            }
            Step::Claim(_) if self.locked => Step::Idle,
            Step::Claim(seen) => match seen.arriving(own, self.is_gone()) {
                Some(_) if planted == Planted::SureOfTwo && seen.has(own) => {
                    self.claims = seen.refused().unwrap_or(seen);
                    if self.claims.are_landing() { Step::LetGoAndFinish(true) } else { Step::Finish(true) }
                }
                Some(arriving) => match self.exchange(seen, arriving) {
                    false => Step::Claim(self.claims),
                    true if arriving.are_landing() || planted == Planted::LetsGoOfAll => {
                        Step::LetGoAndFinish(arriving.are_counted(own))
                    }
                    true => Step::Finish(arriving.are_counted(own)),
                },
                None => Step::Idle,
            },
            Step::LetGoAndFinish(counted) => {
                self.flight = false;
                Step::Finish(counted)
            }
            Step::ClaimLate(seen) => {
                self.flight = false;
                Step::Claim(seen)
            }
            Step::Finish(counted) => {
                self.land();
                if counted { self.note(thread) } else { Step::Idle }
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
            Step::Bequeath { child, counted: 0, others: 0, .. } => Step::Fork(child),
            Step::Bequeath { child, .. } if self.locked => Step::Fork(child),
            Step::Bequeath { child, counted, others, seen } => self.bequeath(own, child, counted, others, seen),
            Step::Fork(child) => {
                // Whether the child has what another thread is receiving or closing, it cannot know, so it does not use it.
                let unknown = self.in_close(family) + self.in_call(family);
                self.copies[child] = self.copies[family].saturating_sub(unknown);
                self.vague |= unknown > 0;
                self.counted[child] = self.counted[family];
                for thread in 0..THREADS {
                    self.alive[thread] |= self.families[thread] == child;
                }
                self.forks += 1;
                match planted {
                    Planted::LateHeir => Step::BequeathLate { child, counted: self.counted[family], seen: self.claims },
                    _ => Step::Idle,
                }
            }
            Step::BequeathLate { counted: 0, .. } => Step::Idle,
            Step::BequeathLate { child, counted, seen } => {
                let claimed =
                    seen.inherited(child as u32, true, self.is_gone()).filter(|next| self.exchange(seen, *next));
                let left = if claimed.is_some() { counted - 1 } else { counted };
                Step::BequeathLate { child, counted: left, seen: self.claims }
            }
        };
    }

    fn bequeath(&mut self, own: u32, child: usize, counted: u8, others: u8, seen: Claims) -> Step {
        if !seen.has(own) {
            return Step::Fork(child);
        }
        let is_counted = counted > 0 && seen.are_counted(own);
        match seen.inherited(child as u32, is_counted, self.is_gone()) {
            Some(next) if self.exchange(seen, next) => {
                let (counted, others) = if counted > 0 { (counted - 1, others) } else { (0, others - 1) };
                Step::Bequeath { child, counted, others, seen: self.claims }
            }
            Some(_) => Step::Bequeath { child, counted, others, seen: self.claims },
            None => {
                // The search need not stop between the two: a kill leaves a byte that is held.
                (self.own, self.locked) = (true, self.locked || !self.freed);
                Step::Fork(child)
            }
        }
    }

    /// A descriptor is counted: its note, unless a fork was going on.
    fn note(&mut self, thread: usize) -> Step {
        if self.is_forkless(thread) {
            self.counted[self.families[thread]] += 1;
            return Step::Idle;
        }
        // As a thief does.
        Step::Stolen
    }

    fn land(&mut self) {
        if let Some(landed) = self.claims.landed().filter(|_| !self.locked) {
            self.claims = landed;
        }
    }

    fn go_on_sweeping(&mut self, planted: Planted) {
        self.sweep = match self.sweep {
            Sweep::Idle => Sweep::Meta(self.locked),
            Sweep::Meta(locked) => Sweep::Families(locked, self.claims, 0),
            Sweep::Families(locked, seen, asked) => match seen.families().nth(asked.into()) {
                Some(family) if !locked && self.lives(family as usize) => Sweep::Idle,
                Some(_) => Sweep::Families(locked, seen, asked + 1),
                None => Sweep::Bytes(locked, seen),
            },
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

/// The families of the threads, and which families are yet to be forked.
const PROGRAMS: [(Families, [bool; THREADS]); 5] = [
    ([0, 1, 2], [false; THREADS]),
    ([0, 1, 1], [false; THREADS]),
    ([0, 0, 1], [false; THREADS]),
    ([0, 0, 1], [false, true, false]),
    ([0, 1, 2], [false, true, true]),
];

/// The first state in which something is wrong, of all that can be reached; and how many that are.
fn search(
    (families, unborn): (Families, [bool; THREADS]),
    limits: [u8; 2],
    planted: Planted,
) -> (Option<State>, usize) {
    let (mut seen, mut open) = (HashSet::new(), vec![State::start(families, unborn, limits)]);
    while let Some(state) = open.pop() {
        if !seen.insert(state.clone()) {
            continue;
        }
        let at_rest = state.steps.iter().all(|step| *step == Step::Idle);
        let freed_early = state.freed && state.copies_left() > state.untold();
        let leaked = at_rest && !state.vague && !state.freed && state.copies_left() == 0 && !state.is_unreferenced();
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
    // Two threads that send, and one that forks meanwhile, reach 12 million states; the smaller ones suffice.
    const LONG: (usize, usize) = (3, 1);
    let all = (0..PROGRAMS.len()).flat_map(|program| (0..LIMITS.len()).map(move |limits| (program, limits)));
    let short: Vec<_> = all.filter(|pair| *pair != LONG).collect();
    // Without optimization three of them take as long as all with it.
    let chosen = if cfg!(debug_assertions) { &[(0, 2), (3, 0), (4, 1)][..] } else { &short };
    for &(program, limits) in chosen {
        let (wrong, states) = search(PROGRAMS[program], LIMITS[limits], Planted::Nothing);
        assert_eq!(wrong, None, "{program} {limits}");
        assert!(states > 5_000, "{program} {limits}: {states}");
        println!("{program} {limits}: {states} states");
    }
}

#[test]
fn planted_bugs_are_found() {
    /// With the program and the limits that show it soonest.
    const ALL: [(Planted, usize, usize); 16] = [
        (Planted::LetsGoFirst, 4, 0),
        (Planted::NoSecondLook, 4, 0),
        (Planted::SharedFlight, 2, 0),
        (Planted::LetsGoOfAll, 4, 0),
        (Planted::ReleasesFirst, 3, 0),
        (Planted::QuietCopy, 1, 2),
        (Planted::LateCount, 1, 2),
        (Planted::CopyStays, 2, 2),
        (Planted::TakesBackTwo, 3, 0),
        (Planted::SureOfTwo, 4, 0),
        (Planted::FlightForgotten, 4, 0),
        (Planted::QuietExec, 4, 2),
        (Planted::BlindThief, 3, 2),
        (Planted::QuietFork, 4, 1),
        (Planted::LateHeir, 4, 1),
        (Planted::ForkForgotten, 3, 2),
    ];
    for (planted, program, limits) in ALL {
        let (wrong, states) = search(PROGRAMS[program], LIMITS[limits], planted);
        assert!(wrong.is_some(), "{planted:?}: {states} states");
    }
}

#[test]
fn claims_end_with_their_places() {
    const NOBODY: fn(u32) -> bool = |_| false;
    let made = Claims(0).of_successor(Some(4095));
    assert_eq!((made.arriving(7, NOBODY), made.refused(), made.landed()), (None, None, None), "no message");
    assert!(made.are_counted(4095) && !made.are_counted(7) && !made.are_nobodys());
    let mut claims = made;
    for family in 0..PLACES.len() as u32 - 1 {
        claims = claims.sent().unwrap().arriving(family, NOBODY).unwrap();
        assert!(claims.are_landing() && claims.sent().is_none(), "the byte is about to be free");
        claims = claims.landed().unwrap();
    }
    assert_eq!(claims.families().count(), PLACES.len());
    let full = claims.sent().unwrap();
    assert_eq!(full.arriving(100, NOBODY), None);
    assert_eq!(claims.inherited(100, true, NOBODY), None);
    let again = full.arriving(4095, NOBODY).unwrap().landed().unwrap();
    assert!(again.released(4095).unwrap().has(4095), "it has had two");
    let instead = claims.inherited(100, true, |family| family == 4095).unwrap();
    assert!(instead.are_counted(100) && !instead.has(4095));
    let rest = (0..PLACES.len() as u32 - 1).fold(claims, |rest, family| rest.released(family).unwrap());
    assert!(rest.released(4095).unwrap().are_nobodys() && !rest.sent().unwrap().released(4095).unwrap().are_nobodys());
    let rest = (0..PLACES.len() as u32 - 1).fold(instead, |rest, family| rest.released(family).unwrap());
    assert!(rest.released(100).unwrap().are_nobodys() && rest.buried(100).are_nobodys());
    assert!(rest.doubted(100).released(100).is_none() && rest.doubted(100).copied(100).is_none());
    assert_eq!(rest.of_successor(None).families().count(), 0);
    assert_ne!(rest.of_successor(None), Claims(0), "the sequence goes on");
}

#[test]
fn counts_end_in_doubt() {
    let mut claims = Claims(0).of_successor(Some(3));
    let mut copies = 1;
    while let Some(more) = claims.copied(3) {
        (claims, copies) = (more, copies + 1);
    }
    assert_eq!(copies, 63);
    assert!(claims.has(3) && !claims.are_counted(3) && claims.released(3).is_none());
    let mut claims = Claims(0).of_successor(Some(3));
    let mut messages = 0;
    while let Some(more) = claims.sent() {
        (claims, messages) = (more, messages + 1);
    }
    assert_eq!(messages, 63);
    for _ in 0..messages {
        claims = claims.refused().unwrap();
    }
    assert!(claims.are_landing() && claims.landed().unwrap().released(3).unwrap().are_nobodys());
}
