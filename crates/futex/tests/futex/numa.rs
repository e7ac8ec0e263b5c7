// SPDX-License-Identifier: MIT OR Apache-2.0
//! Words with a memory node: where the kernel has them, and how they are refused where not.
#![cfg(target_os = "linux")]

use std::sync::atomic::Ordering;
use std::thread;

use ntux_futex::{ANY_NODE, Capacity, Deadline, Domain, Error, Exactness, Expected, Futex, NumaWord, Operation, Scope};
use ntux_futex::{capability, requeue, wait, wait_any, wake};

use crate::kind::{Bytes, SCOPES};
use crate::skips::skip;
use crate::sleepers::{ANY, Sleepers};

fn expect(word: &NumaWord, scope: Scope, value: u64) -> Expected<'_> {
    Expected::new(Futex::numa(word, scope), value).expect("it fits")
}

/// Scopes in which the machine has such words. Where it has not, every operation says so and leaves the node alone.
fn scopes() -> impl Iterator<Item = Scope> {
    SCOPES.into_iter().filter(|&scope| {
        let known = capability(Operation::Numa(scope)) == Exactness::Exact;
        if !known {
            let word = NumaWord::new(0);
            let entry = expect(&word, scope, 0);
            assert_eq!(wake(entry.futex(), 1, ANY), Err(Error::Refused));
            assert_eq!(wait(entry, ANY, Deadline::NOW), Err(Error::Refused));
            assert_eq!(wait_any(&[entry; 2], Deadline::NOW), Err(Error::Refused));
            assert_eq!(requeue(entry, entry.futex(), 1, 1), Err(Error::Refused));
            assert_eq!(word.node.load(Ordering::SeqCst), ANY_NODE);
            skip(
                "numa",
                format_args!("{scope:?}: this kernel has no futexes with a node; that they are refused was checked"),
            );
        }
        known
    })
}

#[test]
fn a_wake_finds_who_waits_on_the_node_that_the_kernel_chose() {
    for scope in scopes() {
        let word = NumaWord::new(7);
        thread::scope(|threads| {
            let mut sleepers = Sleepers::new(threads);
            sleepers.wait(expect(&word, scope, 7), 0b01);
            assert!(word.node.load(Ordering::SeqCst) >= 0, "the kernel says which node it took");
            sleepers.wait(expect(&word, scope, 7), 0b10);
            assert_eq!(wake(Futex::numa(&word, scope), 9, 0b10), Ok(1));
            assert_eq!(sleepers.next(), (1, Ok(0)));
            assert_eq!(wake(Futex::numa(&word, scope), 9, ANY), Ok(1));
            assert_eq!(sleepers.next(), (0, Ok(0)));
        });
        assert_eq!(wait(expect(&word, scope, 8), ANY, Deadline::NOW), Err(Error::Differs));
        assert_eq!(wait(expect(&word, scope, 7), ANY, Deadline::NOW), Err(Error::TimedOut));
        assert_eq!(wake(Futex::numa(&word, scope), 0, ANY), Ok(0), "a count of 0 is not the old call's 1");
    }
}

/// The numbers of the machine's nodes: "0", "0-1", "0,2-3". The directory is missing where the kernel knows of none.
fn nodes() -> Vec<i32> {
    let online = std::fs::read_to_string("/sys/devices/system/node/online").unwrap_or("0".into());
    let number = |text: &str| text.parse::<i32>().expect("a number");
    let range = |part: &str| match part.split_once('-') {
        Some((first, last)) => number(first)..=number(last),
        None => number(part)..=number(part),
    };
    online.trim().split(',').flat_map(range).collect()
}

#[test]
fn each_node_serves_the_words_that_name_it_and_no_others() {
    let nodes = nodes();
    for (scope, &node) in scopes().flat_map(|scope| nodes.iter().map(move |node| (scope, node))) {
        let word = NumaWord::new(7);
        word.node.store(node, Ordering::SeqCst);
        thread::scope(|threads| {
            let mut sleepers = Sleepers::new(threads);
            sleepers.wait(expect(&word, scope, 7), ANY);
            sleepers.wait_any(vec![expect(&word, scope, 7)]);
            for &other in nodes.iter().filter(|&&other| other != node) {
                word.node.store(other, Ordering::SeqCst);
                assert_eq!(wake(Futex::numa(&word, scope), 9, ANY), Ok(0), "they wait at {node}, not at {other}");
            }
            word.node.store(node, Ordering::SeqCst);
            assert_eq!(wake(Futex::numa(&word, scope), 9, ANY), Ok(2), "node {node}");
            assert_eq!(sleepers.woken(2), [0, 1]);
        });
        assert_eq!(word.node.load(Ordering::SeqCst), node);
    }
    println!("nodes of this machine: {nodes:?}");
}

#[test]
fn a_word_without_a_node_gets_the_one_of_its_first_user() {
    for (scope, node) in scopes().flat_map(|scope| nodes().into_iter().map(move |node| (scope, node))) {
        let user = thread::spawn(move || {
            if !moved_to(node) {
                skip("numa-node", format_args!("node {node} has no processor for this process"));
                return;
            }
            let word = NumaWord::new(0);
            assert_eq!(wake(Futex::numa(&word, scope), 1, ANY), Ok(0));
            assert_eq!(word.node.load(Ordering::SeqCst), node);
        });
        user.join().expect("it passes on each node");
    }
}

/// Returns whether this thread runs on the node's first processor from here on.
fn moved_to(node: i32) -> bool {
    let list = std::fs::read_to_string(format!("/sys/devices/system/node/node{node}/cpulist")).unwrap_or("0".into());
    let Some(Ok(processor)) = list.trim().split(['-', ',']).next().map(str::parse) else { return false };
    // SAFETY: a set of processors is a plain array of bits, valid when zero, and only read.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(processor, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set) == 0
    }
}

#[test]
fn nodes_that_the_machine_has_not_and_misaligned_words_are_invalid() {
    for scope in scopes() {
        for node in [-2, 1 << 20, i32::MAX] {
            let word = NumaWord::new(0);
            word.node.store(node, Ordering::SeqCst);
            let entry = expect(&word, scope, 0);
            assert_eq!(wake(entry.futex(), 1, ANY), Err(Error::Invalid), "node {node}");
            assert_eq!(wait(entry, ANY, Deadline::NOW), Err(Error::Invalid));
            assert_eq!(wait_any(&[entry; 2], Deadline::NOW), Err(Error::Invalid));
            assert_eq!(requeue(entry, entry.futex(), 1, 1), Err(Error::Invalid));
            assert_eq!(word.node.load(Ordering::SeqCst), node);
        }
        // SAFETY: nobody reads the word.
        assert_eq!(unsafe { Futex::numa_at(0x1004, scope) }, Err(Error::Invalid));
    }
}

#[test]
fn vectors_mix_words_with_and_without_a_node() {
    for scope in scopes() {
        let (with, without, shared) = (NumaWord::new(0), Bytes::default(), Bytes::default());
        let entries = [
            without.expect((ntux_futex::Size::Bits32, Scope::Private), 0),
            expect(&with, scope, 0),
            shared.expect((ntux_futex::Size::Bits32, Scope::Shared), 0),
        ];
        if std::env::var_os("NTUX_TEST_DOMAIN").is_some() {
            assert_eq!(wait_any(&entries, Deadline::NOW), Err(Error::Refused), "a domain stands alone");
            continue;
        }
        thread::scope(|threads| {
            let mut sleepers = Sleepers::new(threads);
            for (index, entry) in entries.iter().enumerate() {
                sleepers.wait_any(entries.to_vec());
                assert_eq!(wake(entry.futex(), 1, ANY), Ok(1));
                assert_eq!(sleepers.next(), (index, Ok(index)));
            }
        });
    }
}

#[test]
fn waiters_move_between_words_with_nodes_and_are_woken_otherwise() {
    for scope in scopes() {
        let (from, to, plain) = (NumaWord::new(3), NumaWord::new(0), Bytes::default());
        let entry = expect(&from, scope, 3);
        thread::scope(|threads| {
            let mut sleepers = Sleepers::new(threads);
            (0..3).for_each(|_| sleepers.wait(entry, ANY));
            assert_eq!(requeue(expect(&from, scope, 4), Futex::numa(&to, scope), 1, 1), Err(Error::Differs));
            assert_eq!(requeue(entry, Futex::numa(&to, scope), 1, 1), Ok(2));
            assert_eq!(sleepers.next(), (0, Ok(0)));
            assert_eq!(wake(Futex::numa(&to, scope), 9, ANY), Ok(1));
            assert_eq!(sleepers.next(), (1, Ok(0)));
            let plain = plain.futex((ntux_futex::Size::Bits32, scope), 0);
            assert_eq!(requeue(entry, plain, 0, 1), Ok(1));
            assert_eq!(sleepers.next(), (2, Ok(0)), "woken instead of moved");
        });
    }
}

#[test]
fn a_domain_has_no_nodes() {
    let domain = Domain::create(Capacity { buckets: 4, chunks: 4, waiters: 4 }).expect("a domain");
    let word = NumaWord::new(0);
    assert_eq!(Futex::numa(&word, Scope::Shared).served_by(&domain, 0), Err(Error::Refused));
}
