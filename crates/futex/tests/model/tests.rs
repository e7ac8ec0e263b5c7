// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;

const ANY: u32 = u32::MAX;

fn waiting(model: &mut Model, thread: Thread, entries: &[(Id, u64)]) {
    for (entry, &(futex, expected)) in entries.iter().enumerate() {
        model.arrive(thread, entry, futex, ANY);
        assert!(model.check(thread, entry, futex, expected));
    }
}

#[test]
fn a_wake_takes_the_first_who_was_there_when_it_began() {
    let mut model = Model::new(&[0], 4, Rules::Exact);
    waiting(&mut model, 0, &[(0, 0)]);
    waiting(&mut model, 1, &[(0, 0)]);
    model.begin(3, 0, ANY);
    waiting(&mut model, 2, &[(0, 0)]);
    assert!(model.take(3, 0, ANY) && model.take(3, 0, ANY));
    assert!(!model.take(3, 0, ANY), "2 came later");
    assert_eq!([0, 1, 2].map(|thread| model.taken(thread)), [Some(0), Some(0), None]);
}

#[test]
fn who_has_not_checked_cannot_be_taken() {
    let mut model = Model::new(&[0], 2, Rules::Exact);
    model.arrive(0, 0, 0, ANY);
    model.begin(1, 0, ANY);
    assert!(!model.take(1, 0, ANY));
    model.store(0, 1);
    assert!(!model.check(0, 0, 0, 0));
}

#[test]
fn a_wait_that_is_taken_leaves_all_lines_at_once_or_late() {
    for (rules, also) in [(Rules::Exact, false), (Rules::Kernel, true)] {
        let mut model = Model::new(&[0, 0], 2, rules);
        waiting(&mut model, 0, &[(0, 0), (1, 0)]);
        model.begin(1, 0, ANY);
        assert!(model.take(1, 0, ANY));
        model.begin(1, 1, ANY);
        assert_eq!(model.take(1, 1, ANY), also);
        assert_eq!(model.taken(0), Some(usize::from(also)));
    }
}

#[test]
fn who_is_moved_queues_behind_those_who_are_there() {
    let mut model = Model::new(&[0, 0], 3, Rules::Exact);
    waiting(&mut model, 0, &[(0, 0)]);
    waiting(&mut model, 1, &[(1, 0)]);
    model.begin(2, 0, ANY);
    assert!(model.shift(2, 0, 1));
    model.begin(2, 1, ANY);
    assert!(model.take(2, 1, ANY));
    assert_eq!((model.taken(0), model.taken(1)), (None, Some(0)));
}

fn wait(value: u64) -> Request {
    Request::Wait { entries: vec![(0, value)], mask: ANY, timed: false }
}

#[test]
fn the_monitor_refuses_what_no_order_explains() {
    let start = || Monitor::new(Model::new(&[0], 2, Rules::Exact));
    let mut monitor = start();
    monitor.invoke(0, wait(0));
    monitor.invoke(1, Request::Wake(0, 1, ANY));
    assert!(monitor.clone().returns(1, Outcome::Served(0)), "it came before the waiter");
    assert!(!monitor.clone().returns(1, Outcome::Served(2)), "one waiter, two wakes");
    assert!(monitor.returns(1, Outcome::Served(1)));
    assert!(!monitor.clone().may_sleep(&[0]), "a lost wake");
    assert!(!monitor.clone().returns(0, Outcome::Differs));
    assert!(monitor.returns(0, Outcome::Woken(0)));

    let mut monitor = start();
    monitor.invoke(1, Request::Store(0, 1));
    assert!(monitor.returns(1, Outcome::Stored));
    monitor.invoke(0, wait(0));
    assert!(!monitor.clone().may_sleep(&[0]), "it sleeps on a word that differs");
    assert!(monitor.returns(0, Outcome::Differs));
}

#[test]
fn who_is_told_late_sleeps_until_the_call_or_the_next_one_returns() {
    for (rules, late) in [(Rules::Exact, false), (Rules::Late, true)] {
        let mut monitor = Monitor::new(Model::new(&[0], 4, rules));
        monitor.invoke(0, wait(0));
        monitor.invoke(3, Request::Store(0, 1));
        assert!(monitor.returns(3, Outcome::Stored));
        monitor.invoke(1, wait(1));
        monitor.invoke(2, Request::Wake(0, 2, ANY));
        assert!(monitor.returns(1, Outcome::Woken(0)));
        assert_eq!(monitor.clone().may_sleep(&[0]), late, "taken before the one behind it");
        let mut returned = monitor.clone();
        assert!(returned.returns(2, Outcome::Served(2)));
        assert!(!returned.may_sleep(&[0]));
        monitor.invoke(3, Request::Wake(0, 1, ANY));
        assert!(monitor.returns(3, Outcome::Served(0)));
        assert!(!monitor.may_sleep(&[0]));
    }
}
