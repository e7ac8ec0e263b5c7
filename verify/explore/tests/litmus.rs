// SPDX-License-Identifier: MIT OR Apache-2.0
//! The weak memory itself: what litmus tests can observe in it.

use std::collections::BTreeSet;
use std::panic::Location;

use Step::{Exchange, Load, Store};
use ntux_explore::random::Random;
use ntux_explore::weak::Memory;
use ntux_platform::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};
use ntux_platform::explore::{Effect, Part, Touch};

/// Many times more than these programs have executions that differ.
const EXECUTIONS: u64 = 5_000;

/// One access of a litmus test: to a word, by number. All words hold 0 at first.
#[derive(Clone, Copy)]
enum Step {
    Load(usize, Ordering),
    Store(usize, u64, Ordering),
    Exchange(usize, u64, Ordering),
}

const X: usize = 0;
const Y: usize = 1;
const Z: usize = 2;

/// One execution of these threads, in a random order of their steps: what the loads have read, thread by thread.
fn execute(threads: &[&[Step]], memory: &mut Memory, random: &mut Random) -> Vec<u64> {
    memory.begin(threads.len());
    let mut content = [0; 3];
    let mut done = vec![0; threads.len()];
    let mut read = vec![Vec::new(); threads.len()];
    loop {
        let ready: Vec<usize> = (0..threads.len()).filter(|&thread| done[thread] < threads[thread].len()).collect();
        if ready.is_empty() {
            return read.concat();
        }
        let thread = *random.pick(&ready);
        let step = threads[thread][done[thread]];
        done[thread] += 1;
        let (Load(word, order) | Store(word, _, order) | Exchange(word, _, order)) = step;
        let touch = Touch { address: (word + 1) * 16, bytes: 8, part: Part::Whole, order, site: Location::caller() };
        let (value, effect) = match step {
            Load(..) => {
                read[thread].push(memory.read(thread, &touch, content[word]));
                continue;
            }
            Store(_, value, _) => (value, Effect::Stored),
            Exchange(_, value, _) => (value, Effect::Exchanged),
        };
        memory.updated(thread, &touch, effect, [content[word], 0], [value, 0]);
        content[word] = value;
    }
}

/// Returns whether the loads of these threads can read these values.
fn is_seen(threads: &[&[Step]], wanted: &[u64]) -> bool {
    let (mut memory, mut random) = (Memory::random(None, 1), Random::new(2));
    let outcomes: BTreeSet<_> = (0..EXECUTIONS).map(|_| execute(threads, &mut memory, &mut random)).collect();
    assert!(outcomes.len() > 1, "one outcome only: {outcomes:?}");
    outcomes.contains(wanted)
}

/// Two words are exchanged, and read in the other order.
fn message_is_missed(reader: &[Step], wanted: &[u64]) -> bool {
    is_seen(&[&[Exchange(X, 1, SeqCst), Exchange(Y, 1, SeqCst)], reader], wanted)
}

#[test]
fn a_load_overtakes_a_relaxed_one() {
    for second in [Relaxed, Acquire, SeqCst] {
        assert!(message_is_missed(&[Load(Y, Relaxed), Load(X, second)], &[1, 0]), "{second:?}");
        for first in [Acquire, SeqCst] {
            assert!(!message_is_missed(&[Load(Y, first), Load(X, second)], &[1, 0]), "{first:?} {second:?}");
        }
    }
}

#[test]
fn a_load_overtakes_several_at_once() {
    let overtaken = [Load(Y, Relaxed), Load(Z, Relaxed), Load(X, SeqCst)];
    assert!(message_is_missed(&overtaken, &[1, 0, 0]));
    let in_between = [Load(Y, Relaxed), Load(Z, Acquire), Load(X, SeqCst)];
    assert!(message_is_missed(&in_between, &[1, 0, 0]), "the one between overtakes as well");
}

#[test]
fn a_load_that_overtakes_comes_after_what_the_thread_has_acquired() {
    let reader = [Load(Y, Acquire), Load(Z, Relaxed), Load(X, SeqCst)];
    assert!(!message_is_missed(&reader, &[1, 0, 0]));
    let late = [Load(Y, Relaxed), Load(Y, Acquire), Load(X, SeqCst)];
    assert!(!message_is_missed(&late, &[1, 1, 0]));
}

#[test]
fn a_load_does_not_overtake_one_of_the_same_word() {
    assert!(!message_is_missed(&[Load(Y, Relaxed), Load(Y, SeqCst)], &[1, 0]));
}

#[test]
fn a_load_overtakes_an_exchange_unless_that_is_sequentially_consistent() {
    let reader = |order| [Load(Y, Relaxed), Exchange(Z, 1, order), Load(X, SeqCst)];
    assert!(!message_is_missed(&reader(SeqCst), &[1, 0]));
    assert!(message_is_missed(&reader(AcqRel), &[1, 0]));
    let exchanging = |order| [Exchange(Z, 1, order), Load(Y, Acquire), Load(X, SeqCst)];
    assert!(!message_is_missed(&exchanging(Release), &[1, 0]), "the load between orders");
}

/// What each thread exchanges is not seen by the other.
fn is_store_buffered(first: Ordering, load: &[Step], wanted: &[u64]) -> bool {
    let one = [&[Exchange(X, 1, first)], load].concat();
    is_seen(&[&one, &[Exchange(Y, 1, SeqCst), Load(X, SeqCst)]], wanted)
}

#[test]
fn a_sequentially_consistent_load_does_not_overtake_such_an_exchange() {
    assert!(!is_store_buffered(SeqCst, &[Load(Y, SeqCst)], &[0, 0]));
    assert!(!is_store_buffered(SeqCst, &[Load(Z, Relaxed), Load(Y, SeqCst)], &[0, 0, 0]));
    assert!(is_store_buffered(AcqRel, &[Load(Y, SeqCst)], &[0, 0]));
    assert!(is_store_buffered(SeqCst, &[Load(Y, Acquire)], &[0, 0]));
}

#[test]
fn two_readers_agree_on_the_order_unless_they_read_out_of_order() {
    let are_at_odds = |first| {
        let readers = [[Load(X, first), Load(Y, SeqCst)], [Load(Y, first), Load(X, SeqCst)]];
        is_seen(&[&[Exchange(X, 1, SeqCst)], &[Exchange(Y, 1, SeqCst)], &readers[0], &readers[1]], &[1, 0, 1, 0])
    };
    assert!(!are_at_odds(SeqCst));
    assert!(are_at_odds(Relaxed));
}

/// A limit of the model: processors and the language allow it.
#[test]
fn no_load_reads_what_is_stored_later() {
    let threads: [&[Step]; 2] = [&[Load(X, Relaxed), Store(Y, 1, Relaxed)], &[Load(Y, Relaxed), Store(X, 1, Relaxed)]];
    assert!(!is_seen(&threads, &[1, 1]));
}
