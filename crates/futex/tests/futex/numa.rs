//! Words with a memory node: where the kernel has them, and how they are refused where not.

use std::sync::atomic::Ordering;
use std::thread;

use ntux_futex::{ANY_NODE, Capacity, Deadline, Domain, Error, Exactness, Expected, Futex, NumaWord, Operation, Scope};
use ntux_futex::{capability, requeue, wait, wait_any, wake};

use crate::kind::{Bytes, SCOPES};
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
            println!("{scope:?}: the kernel has no futexes with a node; that it is refused was checked, no more");
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
