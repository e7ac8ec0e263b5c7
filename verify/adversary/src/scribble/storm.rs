// SPDX-License-Identifier: MIT OR Apache-2.0
//! Processes with several threads each that use an arena, and one that scribbles over it: at full speed, in bursts, or
//! on one word only.

use std::time::{Duration, Instant};

use fastrand::Rng;
use ntux::{Arena, Capacity};
use ntux_sync::{Deadline, Object};

use super::board::{Board, Lane};
use super::face::Face;
use super::fence::{Canary, Fenced};
use super::file::ArenaFile;
use super::filter;
use super::operation::Operation;
use super::planted::{self, Bug};
use super::rubbish::Scribbler;
use super::watch::{Failure, Limits, watch};
use ntux_testkit::child::Child;

/// Larger files are not copied whole.
const PICTURE_MOST: usize = 1 << 22;
const PROCESSES: usize = 2;
const THREADS: usize = 3;
/// Objects that all victims use, made before the storm.
const SHARED: usize = 8;
const CAPACITY: Capacity = Capacity { objects: 64, waiters: 16 };

/// How long one seed takes.
const ROUND: Duration = Duration::from_millis(500);

/// One seed: victims that work while the scribbler does what the seed says.
pub fn run(board: &'static Board, seed: u64, bug: Option<Bug>, limits: Limits) -> Result<(), Failure> {
    board.seed.store(seed);
    let fenced = Fenced::create(CAPACITY).expect("the arena can be set up");
    let shared = objects(&fenced.arena, seed);
    let file = fenced.file(CAPACITY).expect("the file can be mapped once more");
    let end = Instant::now() + ROUND;
    let mut children: Vec<Child> = (0..PROCESSES)
        .map(|process| Child::fork(|| victim(board, &fenced, &shared, seed, process, end, bug)).expect("a fork"))
        .collect();
    children.push(Child::fork(|| scribbler(board, file, &shared, seed, end)).expect("a fork"));
    watch(board, &children, limits)
}

fn objects(arena: &Arena, seed: u64) -> Vec<Object> {
    let mut rng = Rng::with_seed(seed);
    let create = |_| Face::Core.perform(arena, &Operation::create(&mut rng), Deadline::NOW).created;
    (0..SHARED).filter_map(create).collect()
}

fn victim(
    board: &'static Board,
    fenced: &Fenced,
    shared: &[Object],
    seed: u64,
    process: usize,
    end: Instant,
    bug: Option<Bug>,
) {
    let mut canary = Canary::new().expect("another arena");
    filter::install(&[fenced.range.clone(), canary.range()]).expect("the system calls can be filtered");
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let number = process * THREADS + thread;
            let rng = Rng::with_seed(seed ^ (number as u64 + 1) << 32);
            scope.spawn(move || work(board, &board.lanes[number], &fenced.arena, shared, rng, end));
        }
    });
    if let Some(bug) = bug {
        planted::misbehave(bug, fenced, &canary);
    }
    canary.check();
}

fn work(board: &Board, lane: &Lane, arena: &Arena, shared: &[Object], mut rng: Rng, end: Instant) {
    lane.take();
    let mut known = shared.to_vec();
    for step in 0.. {
        if Instant::now() > end {
            break;
        }
        lane.step.store(step);
        let operation = match Operation::random(&mut rng, &known) {
            // The filter knows the arena by its addresses.
            Operation::Join => Operation::Attach,
            operation => operation,
        };
        let face = [Face::Core, Face::Rust, Face::C][rng.usize(0..3)];
        let deadline_ns = ntux_platform::clock::monotonic_ns() + u64::from(operation.patience_us()) * 1_000;
        let deadline = Deadline::Monotonic(deadline_ns);
        let done = lane.watched(operation.number(), deadline_ns, || face.perform(arena, &operation, deadline));
        board.count(done.outcome);
        if let Some(object) = done.created {
            let place = rng.usize(0..known.len());
            known[place] = object;
        }
    }
}

pub fn scribbler(board: &Board, file: ArenaFile, shared: &[Object], seed: u64, end: Instant) {
    let mut rng = Rng::with_seed(!seed);
    let mut scribbler = Scribbler::new(file);
    if scribbler.file.length() < PICTURE_MOST {
        scribbler.take_picture();
    }
    while Instant::now() < end {
        match rng.u32(0..8) {
            0 => scribbler.hammer(&mut rng, shared, 20_000),
            1 => std::thread::sleep(Duration::from_micros(rng.u64(0..3_000))),
            2 => scribbler.rewind(),
            _ => {
                for _ in 0..rng.u32(1..200) {
                    let kind = scribbler.scribble(&mut rng, shared);
                    board.scribbles[kind].fetch_add(1);
                }
            }
        }
    }
}
