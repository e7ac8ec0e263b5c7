// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random operations on a region and on the model of it, compared after each.

use fastrand::Rng;
use ntux_watch::{Reset, Watcher};

use crate::memory::Memory;
use crate::spec::Model;
use crate::watchers;

const PAGES: usize = 150;

/// A model that forgets something, to see that the comparison notices.
#[derive(Clone, Copy, PartialEq)]
enum Planted {
    Nothing,
    /// A reset concerns the whole range instead of the pages listed.
    ResetsBeyondTheLimit,
    /// Protection latches nothing.
    NoLatch,
}

#[test]
fn random_operations_mean_what_the_model_says() {
    for watcher in watchers() {
        for seed in 0..60 {
            if let Err(difference) = compare(&watcher, seed, 200, Planted::Nothing) {
                panic!("{:?}, seed {seed}: {difference}", watcher.mechanism());
            }
        }
    }
}

#[test]
fn planted_a_model_that_differs_is_noticed() {
    for watcher in watchers() {
        for planted in [Planted::ResetsBeyondTheLimit, Planted::NoLatch] {
            assert!((0..60).any(|seed| compare(&watcher, seed, 200, planted).is_err()));
        }
    }
}

fn compare(watcher: &Watcher, seed: u64, steps: usize, planted: Planted) -> Result<(), String> {
    let mut random = Rng::with_seed(seed);
    let memory = Memory::reserve(watcher, PAGES);
    let mut model = Model::reserve(PAGES);
    for step in 0..steps {
        let first = random.usize(..PAGES);
        let length_max = random.usize(1..=PAGES);
        let end = random.usize(first + 1..=PAGES.min(first + length_max));
        let writable = random.bool();
        match random.u8(..12) {
            0 => {
                memory.commit(first, end, writable);
                model.commit(first, end, writable).unwrap();
            }
            1 => {
                let end = end.min(first + 8);
                memory.decommit(first, end);
                model.decommit(first, end).unwrap();
            }
            2 => protect(&memory, &mut model, first, end, writable, planted),
            3 => {
                memory.region.reset(memory.range(first, end)).unwrap();
                model.reset(first, end).unwrap();
            }
            4..6 => {
                let room = 1 + random.usize(..8);
                let seen = memory.get_room(first, end, room, Reset::Yes);
                let expected = model.get(first, end, room, Reset::Yes).unwrap();
                if planted == Planted::ResetsBeyondTheLimit {
                    model.reset(first, end).unwrap();
                }
                same(step, "limited", &seen, &expected)?;
            }
            6 => {
                let seen = memory.get_room(first, end, PAGES, Reset::Yes);
                same(step, "reset", &seen, &model.get(first, end, PAGES, Reset::Yes).unwrap())?;
            }
            _ => {
                for _ in 0..random.usize(..40) {
                    let page = random.usize(first..end);
                    if model.write(page) {
                        memory.write(page);
                    }
                }
            }
        }
        same(step, "all", &memory.get(Reset::No), &model.get(0, PAGES, PAGES, Reset::No).unwrap())?;
    }
    Ok(())
}

fn protect(memory: &Memory, model: &mut Model, first: usize, end: usize, writable: bool, planted: Planted) {
    if planted == Planted::NoLatch {
        if model.clone().protect(first, end, writable).is_ok() {
            model.commit(first, end, writable).unwrap();
            memory.protect(first, end, writable);
        }
        return;
    }
    if model.protect(first, end, writable).is_ok() {
        memory.protect(first, end, writable);
    }
}

fn same(step: usize, what: &str, seen: &[usize], expected: &[usize]) -> Result<(), String> {
    if seen == expected { Ok(()) } else { Err(format!("step {step}, {what}: {seen:?} instead of {expected:?}")) }
}
