// SPDX-License-Identifier: MIT OR Apache-2.0
//! The largest set of waits that nobody outside can end, and the cycles in it.

use std::collections::{BTreeSet, HashMap, HashSet};

use ntux_platform::clock::Deadline;

use super::{Case, Fate, Finding, Link, Obstacle};
use crate::Object;
use crate::inspect::{Mode, WaitView, WaiterView};

/// A wait that may be stuck.
struct Wait {
    waiter: u32,
    owner: u32,
    all: bool,
    /// Its mutexes that others own.
    owned: Vec<(Object, u32)>,
    /// Its objects that nobody can signal.
    closed: Vec<Object>,
}

/// The stuck waits of a case.
pub struct Stuck<'a> {
    case: &'a Case<'a>,
    waits: Vec<Wait>,
    /// The index of each waiter's wait in the list.
    numbers: HashMap<u32, usize>,
}

impl Wait {
    /// Returns None if a thread outside can end it.
    fn of(case: &Case<'_>, waiter: &WaiterView) -> Option<Wait> {
        let WaitView::Objects { owner, mode, objects, alert: None } = &waiter.wait else { return None };
        if waiter.deadline != Some(Deadline::Never) && !case.care.overlooks_deadlines() {
            return None;
        }
        let all = *mode == Mode::All || case.care.takes_any_for_all();
        let mut wait = Wait { waiter: waiter.index, owner: *owner, all, owned: Vec::new(), closed: Vec::new() };
        for &object in objects {
            match case.lasting_obstacle(object, *owner) {
                Obstacle::Owned(owner) if !case.may_be_anothers(object, owner) => wait.owned.push((object, owner)),
                Obstacle::Closed => wait.closed.push(object),
                _ if all => {}
                _ => return None,
            }
        }
        (!wait.owned.is_empty() || !wait.closed.is_empty()).then_some(wait)
    }

    /// How many owners must unlock before it can end.
    fn held_up_by(&self) -> usize {
        if self.all { self.owned.len() + self.closed.len() } else { 1 }
    }

    fn is_in_vain(&self) -> bool {
        if self.all { !self.closed.is_empty() } else { self.owned.is_empty() }
    }
}

impl<'a> Stuck<'a> {
    pub fn of(case: &'a Case<'a>) -> Stuck<'a> {
        // An alert could stand in a part of a queue that is rubbish.
        let is_clear = case.after.objects.iter().all(|object| object.queue_is_whole);
        let waiters = case.after.waiters.iter().filter(|waiter| is_clear && case.is_asleep(waiter.index));
        let waits: Vec<Wait> = waiters.filter_map(|waiter| Wait::of(case, waiter)).collect();
        let mut stuck = Stuck { case, waits, numbers: HashMap::new() };
        stuck.number();
        stuck.reduce();
        stuck.number();
        stuck
    }

    fn number(&mut self) {
        self.numbers = self.waits.iter().enumerate().map(|(number, wait)| (wait.waiter, number)).collect();
    }

    /// Removes, repeatedly, a wait that an owner can end which is not stuck.
    fn reduce(&mut self) {
        let mut dependents: HashMap<u32, Vec<usize>> = HashMap::new();
        for (number, wait) in self.waits.iter().enumerate() {
            for &(_, owner) in &wait.owned {
                dependents.entry(owner).or_default().push(number);
            }
        }
        let mut held_up: Vec<usize> = self.waits.iter().map(Wait::held_up_by).collect();
        let mut free: Vec<u32> = dependents.keys().copied().filter(|&owner| !self.may_be_stuck(owner)).collect();
        let mut is_free: HashSet<u32> = free.iter().copied().collect();
        while let Some(owner) = free.pop() {
            for &number in dependents.get(&owner).into_iter().flatten() {
                if held_up[number] == 0 {
                    continue;
                }
                held_up[number] -= 1;
                let owner = self.waits[number].owner;
                if held_up[number] == 0 && is_free.insert(owner) {
                    free.push(owner);
                }
            }
        }
        let mut held_up = held_up.into_iter();
        self.waits.retain(|_| held_up.next() != Some(0));
    }

    /// Returns whether every thread that has waited as this owner has ended, or may be stuck.
    fn may_be_stuck(&self, owner: u32) -> bool {
        let places = self.case.places(owner);
        let is_blocked = |place: &u32| self.case.fate(*place) == Fate::Gone || self.numbers.contains_key(place);
        !places.is_empty() && places.iter().all(is_blocked)
    }

    pub fn findings(&self) -> Vec<Finding> {
        let graph = self.graph();
        let cycles = graph.cycles();
        let behind = self.behind(&graph, &cycles);
        let deadlock = |(cycle, behind): (&Vec<usize>, Vec<u32>)| self.deadlock(&graph, cycle, behind);
        let mut findings: Vec<Finding> = cycles.iter().zip(behind).map(deadlock).collect();
        let in_vain = self.waits.iter().filter(|wait| wait.is_in_vain());
        findings.extend(in_vain.map(|wait| Finding::Closed { waiter: wait.waiter, objects: wait.closed.clone() }));
        findings
    }

    /// Waits first, then the owners whom they wait for.
    fn graph(&self) -> Graph {
        let mut owners: HashMap<u32, usize> = HashMap::new();
        let mut ahead: Vec<Vec<usize>> = Vec::with_capacity(self.waits.len());
        for wait in &self.waits {
            let mut nodes = Vec::with_capacity(wait.owned.len());
            for &(_, owner) in &wait.owned {
                let fresh = self.waits.len() + owners.len();
                nodes.push(*owners.entry(owner).or_insert(fresh));
            }
            ahead.push(nodes);
        }
        ahead.resize(self.waits.len() + owners.len(), Vec::new());
        for (&owner, &node) in &owners {
            let stuck = self.case.places(owner).iter().filter_map(|place| self.numbers.get(place).copied());
            ahead[node] = stuck.collect();
        }
        Graph { ahead }
    }

    fn deadlock(&self, graph: &Graph, cycle: &[usize], behind: Vec<u32>) -> Finding {
        let members: HashSet<usize> = cycle.iter().copied().collect();
        let mut left: BTreeSet<usize> = cycle.iter().copied().filter(|&node| node < self.waits.len()).collect();
        let (mut ring, mut next) = (Vec::new(), left.first().copied());
        while let Some(number) = next {
            left.remove(&number);
            let wait = &self.waits[number];
            let wants = wait.owned.iter().zip(&graph.ahead[number]).filter(|(_, owner)| members.contains(owner));
            ring.push(Link { waiter: wait.waiter, wants: wants.map(|(&(object, _), _)| object).collect() });
            let mut ahead = graph.ahead[number].iter().flat_map(|&owner| &graph.ahead[owner]);
            next = ahead.find(|other| left.contains(other)).or(left.first()).copied();
        }
        Finding::Deadlock { ring, behind }
    }

    /// The waits outside of the cycles, by the first cycle that they lead to.
    fn behind(&self, graph: &Graph, cycles: &[Vec<usize>]) -> Vec<Vec<u32>> {
        let back = graph.reversed();
        let mut is_placed = vec![false; graph.ahead.len()];
        cycles.iter().flatten().for_each(|&node| is_placed[node] = true);
        let follow = |cycle: &Vec<usize>| {
            let (mut reached, mut behind) = (cycle.clone(), Vec::new());
            while let Some(node) = reached.pop() {
                for &other in &back.ahead[node] {
                    if !std::mem::replace(&mut is_placed[other], true) {
                        reached.push(other);
                        behind.extend(self.waits.get(other).map(|wait| wait.waiter));
                    }
                }
            }
            behind.sort_unstable();
            behind
        };
        cycles.iter().map(follow).collect()
    }
}

/// Which wait depends on which.
struct Graph {
    ahead: Vec<Vec<usize>>,
}

/// The progress of the search for cycles at a node.
#[derive(Clone, Copy, Default)]
struct Visit {
    /// When it was first visited, counted from 1; 0 before.
    met: usize,
    /// The earliest node on the path that it leads back to.
    lowest: usize,
    on_path: bool,
    /// How many of its edges were followed.
    followed: usize,
}

impl Graph {
    fn reversed(&self) -> Graph {
        let mut back = vec![Vec::new(); self.ahead.len()];
        for (node, ahead) in self.ahead.iter().enumerate() {
            ahead.iter().for_each(|&other| back[other].push(node));
        }
        Graph { ahead: back }
    }

    /// The strongly connected parts that hold a cycle (Tarjan's algorithm, without recursion: a chain can be long).
    fn cycles(&self) -> Vec<Vec<usize>> {
        let mut visits = vec![Visit::default(); self.ahead.len()];
        let (mut cycles, mut met, mut path) = (Vec::new(), 0, Vec::new());
        for start in 0..self.ahead.len() {
            if visits[start].met == 0 {
                self.search(start, &mut visits, &mut met, &mut path, &mut cycles);
            }
        }
        cycles
    }

    fn search(
        &self,
        start: usize,
        visits: &mut [Visit],
        met: &mut usize,
        path: &mut Vec<usize>,
        cycles: &mut Vec<Vec<usize>>,
    ) {
        let mut calls = vec![start];
        while let Some(&node) = calls.last() {
            if visits[node].met == 0 {
                *met += 1;
                visits[node] = Visit { met: *met, lowest: *met, on_path: true, followed: 0 };
                path.push(node);
            }
            let followed = visits[node].followed;
            if let Some(&other) = self.ahead[node].get(followed) {
                visits[node].followed += 1;
                if visits[other].met == 0 {
                    calls.push(other);
                } else if visits[other].on_path {
                    visits[node].lowest = visits[node].lowest.min(visits[other].met);
                }
                continue;
            }
            calls.pop();
            if let Some(&caller) = calls.last() {
                visits[caller].lowest = visits[caller].lowest.min(visits[node].lowest);
            }
            if visits[node].lowest == visits[node].met {
                let begin = path.iter().rposition(|&other| other == node).unwrap_or(0);
                let part = path.split_off(begin);
                part.iter().for_each(|&other| visits[other].on_path = false);
                // Between two waits there is an owner: no edge leads back to its own node.
                if part.len() > 1 {
                    cycles.push(part);
                }
            }
        }
    }
}
