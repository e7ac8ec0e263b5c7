// SPDX-License-Identifier: MIT OR Apache-2.0
//! Makes a failing program smaller: leaves out every call without which the rest of the schedule, or another one, still
//! fails.

use ntux_sync::spec::ThreadId;

use super::generator::{self, Omitted};
use super::scheduled::bounds;
use crate::machine::Choice;
use crate::search::{self, Failure};

/// Schedules after which a smaller program counts as sound.
const TRIES: u64 = 1_000;

/// The failure of the smallest program that was found, with the shortest schedule among a few.
pub fn smallest(seed: u64, failure: Failure) -> Failure {
    let mut omitted: Vec<Omitted> = Vec::new();
    let mut smallest = failure;
    while let Some((call, failure)) = one_call_less(seed, &omitted, &smallest) {
        omitted.push(call);
        smallest = failure;
    }
    let program = generator::program(seed, &omitted);
    let others = (2..12).filter_map(|random| search::random(&program, bounds(TRIES), random).failure);
    others.chain([smallest]).min_by_key(|failure| failure.token.schedule.len()).expect("one is there")
}

fn one_call_less(seed: u64, omitted: &[Omitted], failure: &Failure) -> Option<(Omitted, Failure)> {
    let program = generator::program(seed, omitted);
    let stops = search::stops(&program, &failure.token.schedule);
    let places = |thread: ThreadId| (0..program.threads[thread].len()).rev().map(move |place| (thread, place));
    (0..program.threads.len()).flat_map(places).find_map(|call| {
        let original = original(omitted, call);
        let smaller = generator::program(seed, &[omitted, &[original]].concat());
        let others = stops.iter().filter(|(choice, place)| (choice.thread(), *place) != (Some(call.0), call.1));
        let choices: Vec<Choice> = others.map(|&(choice, _)| choice).collect();
        let failure = search::follow(&smaller, &choices).or_else(|| search::random(&smaller, bounds(TRIES), 1).failure);
        failure.map(|failure| (original, failure))
    })
}

/// The place of a call in the whole program.
fn original(omitted: &[Omitted], (thread, place): Omitted) -> Omitted {
    let mut left = (0..).filter(|&place| !omitted.contains(&(thread, place)));
    (thread, left.nth(place).expect("it has no end"))
}
