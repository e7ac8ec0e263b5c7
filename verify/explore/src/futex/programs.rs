// SPDX-License-Identifier: MIT OR Apache-2.0
//! Small programs that exercise every rule.

use super::model::{Id, Request};
use ntux_futex::Size;
use ntux_futex::planted::Bug;

use super::stage::SEATS;
use super::{Over, Program};

const ANY: u32 = u32::MAX;

fn wait(futex: Id, value: u64) -> Request {
    Request::Wait { entries: vec![(futex, value)], mask: ANY, timed: false }
}

fn wait_timed(futex: Id, value: u64) -> Request {
    Request::Wait { entries: vec![(futex, value)], mask: ANY, timed: true }
}

fn wait_any(entries: &[(Id, u64)]) -> Request {
    Request::Wait { entries: entries.to_vec(), mask: ANY, timed: false }
}

/// Waits for two entries, so the line gets a second ring.
fn both_timed() -> Request {
    Request::Wait { entries: vec![(0, 0), (1, 0)], mask: ANY, timed: true }
}

/// Waits for the first futex, behind an entry that fills the first ring: so this one and the next are met together.
fn behind() -> Request {
    wait_any(&[(1, 0), (0, 0)])
}

fn store(futex: Id, value: u64) -> Request {
    Request::Store(futex, value)
}

fn wake(futex: Id, count: u32) -> Request {
    Request::Wake(futex, count, ANY)
}

fn requeue(from: Id, to: Id, wake: u32, moved: u32) -> Request {
    Request::Requeue { from, to, expected: 0, wake, moved }
}

fn table(name: &'static str, words: usize, threads: &[&[Request]]) -> Program {
    let threads = threads.iter().map(|requests| requests.to_vec()).collect();
    Program { name, over: Over::Table, size: Size::Bits32, seats: SEATS, words: vec![0; words], threads }
}

fn domain(name: &'static str, words: usize, threads: &[&[Request]]) -> Program {
    Program { over: Over::Domain, ..table(name, words, threads) }
}

/// With one seat, which a thread takes that dies.
fn one_seat(name: &'static str, words: usize, threads: &[&[Request]]) -> Program {
    Program { seats: 1, ..domain(name, words, threads) }
}

fn kernel(name: &'static str, size: Size, words: usize, threads: &[&[Request]]) -> Program {
    Program { over: Over::Kernel, size, ..table(name, words, threads) }
}

/// The value with the highest bit alone: of 64 bits, the half that nobody wakes.
const HIGH: u64 = 1 << 63;

/// All programs.
pub fn all() -> Vec<Program> {
    vec![
        table("wait-wake", 1, &[&[wait(0, 0)], &[store(0, 1), wake(0, 1)]]),
        table("wait-wake-twice", 1, &[&[wait(0, 0), wait(0, 1)], &[store(0, 1), wake(0, 1), store(0, 2), wake(0, 1)]]),
        table("two-waiters", 1, &[&[wait(0, 0)], &[wait(0, 0)], &[store(0, 1), wake(0, 1), wake(0, 1)]]),
        table("order", 1, &[&[wait(0, 0)], &[store(0, 1), wait(0, 1)], &[wake(0, 1)]]),
        table(
            "order-three",
            1,
            &[&[wait(0, 0)], &[store(0, 1), wait(0, 1)], &[store(0, 2), wait(0, 2)], &[wake(0, 1), wake(0, 1)]],
        ),
        table("behind-another", 2, &[&[wait(0, 0)], &[wait(1, 0)], &[wake(1, 1), store(0, 1), wake(0, 1)]]),
        table(
            "still-to-come",
            2,
            &[&[both_timed(), wait(1, 0)], &[wait(0, 0)], &[wake(1, 1)], &[store(0, 1), wake(0, 1)]],
        ),
        table(
            "come-and-go",
            2,
            &[&[wait(1, 0)], &[wait_timed(0, 0), wait_timed(0, 0)], &[wake(0, 1), store(1, 1), wake(1, 1)]],
        ),
        table(
            "rings",
            2,
            &[
                &[wait_any(&[(0, 0), (1, 0), (0, 0)])],
                &[wait(0, 0)],
                &[wait(1, 0)],
                &[store(0, 1), wake(0, 9), wake(1, 9)],
            ],
        ),
        table("two-wakers", 1, &[&[wait(0, 0)], &[store(0, 1), wake(0, 1)], &[wake(0, 2)]]),
        table("together", 2, &[&[behind()], &[wait(0, 0)], &[store(0, 1), wake(0, 2)], &[wake(0, 2)]]),
        table("together-alone", 2, &[&[behind()], &[wait_timed(0, 0)], &[store(0, 1), wake(0, 2)], &[wake(0, 1)]]),
        table(
            "together-again",
            2,
            &[&[behind()], &[wait_timed(0, 0), wait_timed(0, 1)], &[store(0, 1), wake(0, 2)], &[wake(0, 1)]],
        ),
        table("together-and-more", 1, &[&[wait(0, 0)], &[wait(0, 0)], &[wait(0, 0)], &[store(0, 1), wake(0, 3)]]),
        table("together-elsewhere", 2, &[&[behind()], &[wait(0, 0)], &[store(0, 1), wake(0, 2)], &[wake(1, 1)]]),
        table("next-ring", 2, &[&[behind()], &[wait(0, 0)], &[wake(1, 1), store(0, 1), wake(0, 1)]]),
        table("timed", 1, &[&[wait_timed(0, 0)], &[wake(0, 1)], &[wake(0, 1)]]),
        table("neighbours", 2, &[&[wait(0, 0)], &[wait(1, 0)], &[store(0, 1), wake(0, 9)]]),
        table("vector", 2, &[&[wait_any(&[(0, 0), (1, 0)])], &[store(0, 1), wake(0, 1)], &[store(1, 1), wake(1, 1)]]),
        table("vector-beside", 2, &[&[wait_any(&[(0, 0), (1, 0)])], &[wait(0, 0)], &[wake(1, 1), wake(0, 1)]]),
        table("requeue", 2, &[&[wait(0, 0)], &[requeue(0, 1, 0, 1)], &[wake(1, 1), wake(0, 1)]]),
        table("requeue-behind", 2, &[&[wait(0, 0)], &[wait(1, 0)], &[requeue(0, 1, 0, 1), wake(1, 1), wake(1, 1)]]),
        table("requeue-arriving", 2, &[&[wait_timed(0, 0)], &[requeue(0, 1, 1, 2), wake(1, 2)]]),
        table("requeue-store", 2, &[&[wait(0, 0)], &[store(0, 1), wake(0, 1)], &[requeue(0, 1, 0, 9), wake(1, 1)]]),
        table("requeue-twice", 3, &[&[wait_timed(0, 0)], &[requeue(0, 1, 0, 1), requeue(1, 2, 0, 1), wake(2, 1)]]),
        table(
            "requeue-both-ways",
            2,
            &[&[wait_timed(0, 0)], &[requeue(0, 1, 0, 1), requeue(1, 0, 0, 1)], &[requeue(0, 1, 0, 1), wake(1, 1)]],
        ),
        table(
            "requeue-two-entries",
            3,
            &[&[wait_any(&[(0, 0), (1, 0)])], &[requeue(0, 2, 0, 1), requeue(1, 2, 0, 1), wake(2, 2)]],
        ),
        domain("killed-waiter", 1, &[&[wait(0, 0)], &[wait(0, 0)], &[store(0, 1), wake(0, 1)]]),
        domain("killed-waker", 1, &[&[wait(0, 0)], &[store(0, 1), wake(0, 1)]]),
        domain("killed-of-two-wakers", 1, &[&[wait(0, 0)], &[store(0, 1), wake(0, 1)], &[wake(0, 1)]]),
        domain("killed-vector", 2, &[&[wait_any(&[(0, 0), (1, 0)])], &[wait(1, 0)], &[wake(0, 1), wake(1, 1)]]),
        domain("killed-mover", 2, &[&[wait(0, 0)], &[requeue(0, 1, 0, 1)], &[wake(1, 1), wake(0, 1)]]),
        domain("killed-moved", 2, &[&[wait(0, 0)], &[wait(1, 0)], &[requeue(0, 1, 0, 1), wake(1, 1)]]),
        one_seat("killed-seat", 1, &[&[wait_timed(0, 0)], &[wait_timed(0, 0)], &[wake(0, 1)]]),
        one_seat("killed-seat-of-two", 2, &[&[both_timed()], &[wait_timed(1, 0)], &[wake(0, 1), wake(1, 1)]]),
        one_seat("killed-heir", 1, &[&[wait_timed(0, 0)], &[wait_timed(0, 0), wait_timed(0, 0)]]),
        kernel("halves", Size::Bits64, 1, &[&[wait(0, 0)], &[store(0, HIGH), wake(0, 1)]]),
        kernel(
            "halves-both",
            Size::Bits64,
            1,
            &[&[wait(0, 0)], &[store(0, 1), wake(0, 1), store(0, HIGH), wake(0, 1)]],
        ),
        kernel("halves-two", Size::Bits64, 1, &[&[wait(0, 0)], &[wait_timed(0, 0)], &[store(0, HIGH), wake(0, 2)]]),
        kernel(
            "halves-late",
            Size::Bits64,
            1,
            &[&[wait(0, 0)], &[store(0, HIGH), wake(0, 1)], &[wait(0, HIGH)], &[store(0, HIGH >> 1), wake(0, 1)]],
        ),
        kernel("lanes", Size::Bits8, 2, &[&[wait(0, 0)], &[wait(1, 0)], &[store(0, 1), wake(0, 1)]]),
        kernel("lanes-half", Size::Bits16, 2, &[&[wait_timed(0, 0)], &[store(1, 7)], &[store(0, 1), wake(0, 1)]]),
    ]
}

/// The program of this name.
pub fn find(name: &str) -> Option<Program> {
    all().into_iter().find(|program| program.name == name)
}

/// Every bug that can be planted, the program that finds it, and with how many preemptions.
pub const PLANTED: &[(Bug, &str, u32)] = &[
    (Bug::NoCompare, "wait-wake", 1),
    (Bug::PassArriving, "wait-wake", 1),
    (Bug::NoWake, "wait-wake", 0),
    (Bug::PassGathered, "together-alone", 1),
    (Bug::Lifo, "order-three", 0),
    (Bug::PassQueued, "behind-another", 0),
    (Bug::PassNextRing, "next-ring", 2),
    (Bug::PassComing, "still-to-come", 1),
    (Bug::NewRingOnly, "two-waiters", 0),
    (Bug::NoFold, "requeue-two-entries", 1),
    (Bug::NoMark, "killed-waiter", 1),
    (Bug::NoWill, "killed-waker", 1),
    (Bug::KeepDeadSeat, "killed-seat", 1),
    (Bug::EndLate, "killed-seat", 2),
    (Bug::NameLate, "killed-heir", 1),
    (Bug::OtherHalfFirst, "halves", 1),
    (Bug::KeepWake, "halves-late", 2),
    (Bug::AllLanes, "lanes", 1),
];
