// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random programs, run by real threads in a real arena: what the analysis calls stuck is exactly what stays asleep when
//! everybody else lets go of everything.

#[path = "../../../../platform/tests/random/random.rs"]
mod random;

use std::collections::{BTreeSet, HashMap};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use random::Random;

use super::*;
use crate::inspect::{EntryView, Standing, View};
use crate::{Arena, Capacity, Deadline};

const CAPACITY: Capacity = Capacity { objects: 64, waiters: 16 };
const ACTORS: u32 = 5;
const STEPS: u32 = 14;
/// How often the snapshots of a program are torn.
const TEARS: usize = 25;
/// Long enough to be seen asleep.
const SOON_NS: u64 = 20_000_000;
/// What does not happen within this time hangs.
const PATIENCE: Duration = Duration::from_secs(60);

impl Random {
    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    fn several<T: Copy + PartialEq>(&mut self, from: &[T]) -> Vec<T> {
        let mut picked = Vec::new();
        for _ in 0..=self.below(3) {
            let one = self.pick(from);
            if !picked.contains(&one) {
                picked.push(one);
            }
        }
        picked
    }
}

/// What an actor is told to do.
#[derive(Clone, Debug)]
enum Order {
    Wait { all: bool, objects: Vec<Object>, alert: Option<Object>, until: Until },
    Unlock(Object),
}

/// How long an actor waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Until {
    Never,
    /// So many nanoseconds later.
    Within(u64),
}

/// What it says when it has done so: who, and which object it was given, if one.
struct Done {
    actor: u32,
    index: Option<usize>,
}

fn act(arena: &Arena, actor: u32, orders: &Receiver<Order>, done: &Sender<Done>) {
    let waiter = arena.waiter();
    for order in orders {
        let index = match order {
            Order::Wait { all, objects, alert, until } => {
                let wait = if all { Arena::wait_all } else { Arena::wait_any };
                let deadline = match until {
                    Until::Never => Deadline::Never,
                    Until::Within(ns) => Deadline::after_ns(ns),
                };
                wait(arena, &waiter, &objects, alert, actor, deadline).ok().map(|satisfied| satisfied.index as usize)
            }
            Order::Unlock(mutex) => {
                arena.mutex_unlock(&waiter, mutex, actor).unwrap();
                None
            }
        };
        done.send(Done { actor, index }).unwrap();
    }
    arena.retire(&waiter);
}

/// The objects of a program.
struct Things {
    mutexes: Vec<Object>,
    signals: Vec<Object>,
    alert: Object,
}

/// A program that runs.
struct Play<'a> {
    arena: &'a Arena,
    view: View,
    waiter: crate::Waiter,
    things: Things,
    orders: Vec<Sender<Order>>,
    done: Receiver<Done>,
    /// What each actor is about, if it is.
    busy: HashMap<u32, Order>,
    /// What each actor has acquired, once for each time.
    held: HashMap<u32, Vec<Object>>,
    /// One of so many waits has a deadline, if that is not 1.
    hurry: usize,
    /// What was seen whenever everybody stood still.
    looks: Vec<Snapshot>,
}

impl Play<'_> {
    fn order(&mut self, actor: u32, order: Order) {
        self.busy.insert(actor, order.clone());
        self.orders[actor as usize - 1].send(order).unwrap();
        self.settle();
    }

    fn lock(&mut self, actor: u32, mutex: Object) {
        self.order(actor, Order::Wait { all: false, objects: vec![mutex], alert: None, until: Until::Never });
    }

    /// Waits until everybody has done what it was told, or sleeps.
    fn settle(&mut self) {
        let start = Instant::now();
        loop {
            while let Ok(done) = self.done.try_recv() {
                self.finish(done);
            }
            let look = self.view.snapshot().unwrap();
            let asleep = |actor: &u32| {
                look.waiters.iter().any(|waiter| {
                    waiter.owner == *actor && waiter.parked && waiter.state == WaitState::Waiting && waiter.stable
                })
            };
            if self.busy.keys().all(asleep) {
                self.looks.push(look);
                return;
            }
            assert!(start.elapsed() < PATIENCE, "{:?} hang: {look:#?}", self.busy);
            std::thread::yield_now();
        }
    }

    fn finish(&mut self, Done { actor, index }: Done) {
        let held = self.held.entry(actor).or_default();
        let is_mutex = |object: &&Object| self.things.mutexes.contains(object);
        match (self.busy.remove(&actor).unwrap(), index) {
            (Order::Wait { all: true, objects, .. }, Some(0)) => held.extend(objects.iter().filter(is_mutex)),
            (Order::Wait { all: false, objects, .. }, Some(index)) => {
                held.extend(objects.get(index).into_iter().filter(is_mutex));
            }
            (Order::Unlock(mutex), _) => {
                let place = held.iter().position(|&object| object == mutex).unwrap();
                held.remove(place);
            }
            (Order::Wait { .. }, _) => {} // The alert.
        }
    }

    fn idle(&self) -> Vec<u32> {
        (1..=ACTORS).filter(|actor| !self.busy.contains_key(actor)).collect()
    }

    fn step(&mut self, random: &mut Random) {
        let idle = self.idle();
        if idle.is_empty() {
            return;
        }
        let actor = random.pick(&idle);
        let held = self.held.get(&actor).cloned().unwrap_or_default();
        match random.below(10) {
            0..5 => {
                let all = random.below(3) == 0;
                let mut objects = self.things.mutexes.clone();
                objects.extend(self.things.signals.iter().take(random.below(3)));
                let objects = random.several(&objects);
                let alert = (random.below(8) == 0).then_some(self.things.alert);
                let until = if random.below(self.hurry) == 1 { Until::Within(SOON_NS) } else { Until::Never };
                self.order(actor, Order::Wait { all, objects, alert, until });
            }
            5..8 if !held.is_empty() => self.order(actor, Order::Unlock(random.pick(&held))),
            _ => self.signal(random.below(self.things.signals.len())),
        }
    }

    /// What anybody may do.
    fn signal(&mut self, number: usize) {
        let object = self.things.signals[number];
        let _ = match number {
            0 => self.arena.semaphore_release(&self.waiter, object, 1).map(drop),
            _ => self.arena.event_set(&self.waiter, object).map(drop),
        };
        self.settle();
    }

    /// Idle actors deadlock, on mutexes that nobody else knows.
    fn plant(&mut self, random: &mut Random) -> bool {
        let mut idle = self.idle();
        idle.truncate(2 + random.below(3));
        if idle.len() < 2 {
            return false;
        }
        let mutexes: Vec<Object> = idle.iter().map(|_| self.arena.mutex_create(&self.waiter, 0, 0).unwrap()).collect();
        self.things.mutexes.extend(&mutexes);
        for (&actor, &mutex) in idle.iter().zip(&mutexes) {
            self.lock(actor, mutex);
        }
        for (number, &actor) in idle.iter().enumerate() {
            let next = mutexes[(number + 1) % mutexes.len()];
            let after = mutexes[(number + 2) % mutexes.len()];
            let (all, objects) = match random.below(3) {
                0 => (true, vec![mutexes[number], next]),
                1 if after != mutexes[number] => (false, vec![next, after]),
                _ => (false, vec![next]),
            };
            self.order(actor, Order::Wait { all, objects, alert: None, until: Until::Never });
        }
        true
    }

    /// Each thread that can do anything lets go of everything, and everything is signaled: a thread that sleeps then sleeps for ever.
    fn liberate(&mut self) -> BTreeSet<u32> {
        loop {
            while self.busy.values().any(|order| matches!(order, Order::Wait { until: Until::Within(_), .. })) {
                self.settle();
            }
            let before = (self.busy.len(), self.held.values().map(Vec::len).sum::<usize>());
            for actor in self.idle() {
                for mutex in self.held.get(&actor).cloned().unwrap_or_default() {
                    self.order(actor, Order::Unlock(mutex));
                }
            }
            for number in 0..self.things.signals.len() {
                self.signal(number);
            }
            let _ = self.arena.event_set(&self.waiter, self.things.alert);
            self.settle();
            if before == (self.busy.len(), self.held.values().map(Vec::len).sum()) {
                return self.busy.keys().copied().collect();
            }
        }
    }

    /// Ends what would never end.
    fn abandon(&mut self) {
        while !self.busy.is_empty() {
            for &mutex in &self.things.mutexes {
                for owner in 1..=ACTORS {
                    let _ = self.arena.mutex_kill(&self.waiter, mutex, owner);
                }
            }
            self.held.clear();
            for number in 0..self.things.signals.len() {
                self.signal(number);
            }
            self.settle();
        }
    }
}

/// What one program has shown.
struct Shown {
    looks: Vec<Snapshot>,
    /// The owners that were stuck at the end of the snapshots.
    stuck: BTreeSet<u32>,
    planted: bool,
}

/// Some waits of a program have deadlines, or none has.
fn hurries(seed: u64) -> bool {
    seed % 4 == 3
}

fn run(seed: u64) -> Shown {
    perform(if hurries(seed) { 3 } else { 1 }, |play| {
        let mut random = Random(seed);
        let plant_at = if seed.is_multiple_of(2) { random.below(STEPS as usize) as u32 } else { STEPS };
        let mut planted = false;
        for step in 0..STEPS {
            if step >= plant_at && !planted {
                planted = play.plant(&mut random);
            }
            play.step(&mut random);
        }
        planted
    })
}

/// Two actors lock two mutexes in opposite order, one after the other: first one waits, then the other. No instant has a cycle, but
/// a snapshot that takes long can have one.
fn take_turns() -> Shown {
    perform(1, |play| {
        let [one, other] = [play.things.mutexes[0], play.things.mutexes[1]];
        for (actor, first, second) in [(1, one, other), (2, other, one)] {
            play.lock(3, second);
            play.lock(actor, first);
            play.lock(actor, second);
            play.order(3, Order::Unlock(second));
            play.order(actor, Order::Unlock(second));
            play.order(actor, Order::Unlock(first));
        }
        false
    })
}

/// Two actors wait for each other, one of them only for so long.
fn wait_in_a_ring(within_ns: u64) -> Shown {
    perform(1, |play| {
        let [one, other] = [play.things.mutexes[0], play.things.mutexes[1]];
        play.lock(1, one);
        play.lock(2, other);
        play.lock(1, other);
        let until = Until::Within(within_ns);
        play.order(2, Order::Wait { all: false, objects: vec![one], alert: None, until });
        false
    })
}

/// Runs a program, which says whether it has planted a deadlock.
fn perform(hurry: usize, program: impl FnOnce(&mut Play<'_>) -> bool) -> Shown {
    let arena = Arena::create(CAPACITY).unwrap();
    let waiter = arena.waiter();
    let mutexes = (0..4).map(|_| arena.mutex_create(&waiter, 0, 0).unwrap()).collect();
    let event = |manual| arena.event_create(&waiter, manual, false).unwrap();
    let signals = vec![arena.semaphore_create(&waiter, 0, 2).unwrap(), event(false), event(true)];
    let things = Things { mutexes, signals, alert: event(false) };
    let view = View::open(arena.fd().unwrap()).unwrap();
    std::thread::scope(|scope| {
        let (tell, done) = channel();
        let orders = (1..=ACTORS).map(|actor| {
            let (order, orders) = channel();
            let (arena, tell) = (&arena, tell.clone());
            scope.spawn(move || act(arena, actor, &orders, &tell));
            order
        });
        let orders = orders.collect();
        let (busy, held, looks) = (HashMap::new(), HashMap::new(), Vec::new());
        let mut play = Play { arena: &arena, view, waiter, things, orders, done, busy, held, hurry, looks };
        let planted = program(&mut play);
        play.settle();
        let looks = play.looks.clone();
        let stuck = play.liberate();
        play.abandon();
        play.orders.clear();
        Shown { looks, stuck, planted }
    })
}

fn there(look: &Snapshot) -> HashMap<u32, Fate> {
    look.waiters.iter().map(|waiter| (waiter.index, Fate::There)).collect()
}

/// The owners whose waits are said to be stuck.
fn accused(before: &Snapshot, after: &Snapshot, care: Care) -> BTreeSet<u32> {
    let case = Case::with_care(before, after, there(after), care);
    let mut accused = BTreeSet::new();
    for finding in case.findings() {
        match finding {
            Finding::Deadlock { ring, behind } => {
                assert!(!ring.is_empty() && ring.iter().all(|link| !link.wants.is_empty()), "{ring:?}");
                accused.extend(ring.iter().map(|link| link.waiter).chain(behind));
            }
            // These snapshots are so close together that an operation can be half-way in both.
            Finding::LacksOne { .. } | Finding::HalfWay { .. } | Finding::StillAsleep { .. } => {}
            // Nobody is stopped or dead here, and nothing is closed.
            other => assert!(care != Care::Full, "{other:?}"),
        }
    }
    accused.into_iter().map(|waiter| after.waiter(waiter).unwrap().owner).collect()
}

/// A snapshot that took long: each part is of some instant between two.
fn torn(looks: &[Snapshot], random: &mut Random) -> Snapshot {
    let mut torn = looks[0].clone();
    torn.waiters = (0..CAPACITY.waiters).filter_map(|index| random.look(looks).waiter(index).cloned()).collect();
    torn.objects = (0..CAPACITY.objects).filter_map(|index| random.look(looks).object(index).cloned()).collect();
    torn
}

impl Random {
    fn look<'a>(&mut self, looks: &'a [Snapshot]) -> &'a Snapshot {
        &looks[self.below(looks.len())]
    }
}

/// The findings of two torn snapshots against threads that could continue.
fn false_alarms(shown: &Shown, random: &mut Random, care: Care) -> usize {
    let mut alarms = 0;
    for _ in 0..TEARS {
        let end = 1 + random.below(shown.looks.len());
        let middle = random.below(end);
        let begin = random.below(middle + 1);
        let before = torn(&shown.looks[begin..=middle], random);
        let after = torn(&shown.looks[middle..end], random);
        alarms += usize::from(!accused(&before, &after, care).is_subset(&shown.stuck));
    }
    alarms
}

/// How often the analysis is wrong about a program: misses, and false alarms.
fn errors(seed: u64, shown: &Shown, care: Care) -> (usize, usize) {
    let last = shown.looks.last().unwrap();
    let accused = accused(last, last, care);
    let alarms = accused.difference(&shown.stuck).count() + false_alarms(shown, &mut Random(seed), care);
    (shown.stuck.difference(&accused).count(), alarms)
}

/// Returns true if false alarms are noticed in some of these programs.
fn is_noticed(care: Care, mut programs: impl Iterator<Item = u64>) -> bool {
    programs.any(|seed| errors(seed, &run(seed), care).1 > 0)
}

#[test]
fn of_a_thousand_programs_exactly_those_that_deadlock_are_said_to() {
    let (mut deadlocks, mut planted) = (0, 0);
    for seed in 0..1000 {
        let shown = run(seed);
        assert_eq!(errors(seed, &shown, Care::Full), (0, 0), "program {seed}: stuck are {:?}", shown.stuck);
        deadlocks += usize::from(!shown.stuck.is_empty());
        planted += usize::from(shown.planted);
    }
    assert!(planted > 200 && deadlocks >= planted && deadlocks < 800, "{planted} were planted, {deadlocks} deadlocks");
}

/// A thread that was killed in a pulse leaves its claim, and another thread closes the event: nobody can use it any more.
#[test]
fn what_is_half_way_on_a_closed_object_is_said_if_somebody_waits_for_it() {
    let arena = Arena::create(CAPACITY).unwrap();
    arena.event_create(&arena.waiter(), false, false).unwrap();
    let mut snapshot = View::open(arena.fd().unwrap()).unwrap().snapshot().unwrap();
    let entry = EntryView { waiter: 1, ticket: 9, all: false, position: 0, standing: Standing::Waiting };
    snapshot.objects[0].claim = Claim::Waiter { index: 2, ticket: 9 };
    for (life, queue, is_said) in [
        (Life::Live, vec![], true),
        (Life::Closed, vec![], false),
        (Life::Closed, vec![entry], true),
        (Life::Closed, vec![EntryView { standing: Standing::Over, ..entry }], false),
    ] {
        (snapshot.objects[0].life, snapshot.objects[0].queue) = (life, queue.clone());
        let findings = Case::new(&snapshot, &snapshot, HashMap::new()).findings();
        let is_half_way = |finding: &Finding| matches!(finding, Finding::HalfWay { .. });
        assert_eq!(findings.iter().any(is_half_way), is_said, "{life:?} {queue:?}: {findings:?}");
    }
}

#[test]
fn a_wait_for_one_that_is_taken_for_a_wait_for_all_is_noticed() {
    assert!(is_noticed(Care::AnyIsAll, 0..200), "this test notices nothing");
}

#[test]
fn a_deadline_that_is_overlooked_is_noticed() {
    // On a busy machine a short wait is over before anybody looks.
    let shows_it = |doubled: u32| {
        let shown = wait_in_a_ring(SOON_NS << doubled);
        assert_eq!((shown.stuck.len(), errors(0, &shown, Care::Full)), (0, (0, 0)));
        errors(0, &shown, Care::NoDeadlines).1 > 0
    };
    assert!((0..10).any(shows_it), "this test notices nothing");
}

#[test]
fn a_cycle_that_is_in_one_snapshot_only_is_noticed() {
    let mut shown = take_turns();
    shown.looks.retain(|look| look.waiting().next().is_some());
    assert_eq!(shown.looks.len(), 2);
    let alarms = |care| (0..50).map(|seed| false_alarms(&shown, &mut Random(seed), care)).sum::<usize>();
    assert_eq!((shown.stuck.len(), alarms(Care::Full)), (0, 0));
    assert!(alarms(Care::OneSnapshot) > 0, "this test notices nothing");
}
