// SPDX-License-Identifier: MIT OR Apache-2.0
//! The clauses that concern more than one object or thread.

use super::*;
use crate::Satisfied;

/// Three idle threads and these objects.
fn world(values: &[Value]) -> State {
    let mut state = State::new(4);
    for value in values {
        state.add(value.clone());
    }
    state
}

fn semaphore(count: u32) -> Value {
    Value::Semaphore(Semaphore { count, max: 10 })
}

fn mutex(owner: u32, count: u32) -> Value {
    Value::Mutex(Mutex { owner, count, abandoned: false })
}

fn event(manual: bool, signaled: bool) -> Value {
    Value::Event(Event { manual, signaled })
}

fn any(objects: &[Id], owner: u32) -> Operation {
    Operation::Wait(Wait { all: false, objects: objects.to_vec(), alert: None, owner, poll: false })
}

fn all(objects: &[Id], owner: u32) -> Operation {
    Operation::Wait(Wait { all: true, objects: objects.to_vec(), alert: None, owner, poll: false })
}

fn with_alert(operation: Operation, alert: Id) -> Operation {
    let Operation::Wait(wait) = operation else { unreachable!() };
    Operation::Wait(Wait { alert: Some(alert), ..wait })
}

fn polled(operation: Operation) -> Operation {
    let Operation::Wait(wait) = operation else { unreachable!() };
    Operation::Wait(Wait { poll: true, ..wait })
}

fn satisfied(index: u32, abandoned: bool) -> Outcome {
    Ok(Answer::Satisfied(Satisfied { index, abandoned }))
}

/// Begins a wait and lets it join every queue.
fn park(state: &mut State, thread: ThreadId, operation: Operation) {
    assert_eq!(state.run(thread, operation), None);
    assert!(state.parked(thread));
}

#[test]
fn a_release_is_handed_over_before_it_returns() {
    let mut state = world(&[semaphore(0)]);
    park(&mut state, 0, any(&[0], 1));
    assert_eq!(state.run(1, Operation::SemaphoreRelease { object: 0, units: 1 }), Some(Ok(Answer::Count(0))));
    assert_eq!(state.run(1, Operation::SemaphoreRead { object: 0 }), Some(Ok(Answer::Semaphore(0, 10))));
    assert_eq!(state.outcome(0), Some(&satisfied(0, false)));
}

#[test]
fn wait_anys_are_served_oldest_first_and_as_many_as_there_are_units() {
    let mut state = world(&[semaphore(0)]);
    (0..3).for_each(|thread| park(&mut state, thread, any(&[0], 1)));
    state.run(3, Operation::SemaphoreRelease { object: 0, units: 2 });
    assert!(state.outcome(0).is_some() && state.outcome(1).is_some() && state.outcome(2).is_none());
}

#[test]
fn who_is_not_eligible_is_passed_over() {
    let mut state = world(&[mutex(7, u32::MAX)]);
    park(&mut state, 0, any(&[0], 8));
    park(&mut state, 1, any(&[0], 7));
    assert_eq!(state.run(3, Operation::MutexUnlock { object: 0, owner: 7 }), Some(Ok(Answer::Count(u32::MAX))));
    assert_eq!(state.outcome(0), None);
    assert_eq!(state.outcome(1), Some(&satisfied(0, false)));
}

#[test]
fn an_unlock_may_satisfy_several_waits_of_one_owner() {
    let mut state = world(&[mutex(7, 1)]);
    park(&mut state, 0, any(&[0], 8));
    park(&mut state, 1, any(&[0], 9));
    park(&mut state, 2, any(&[0], 8));
    state.run(3, Operation::MutexUnlock { object: 0, owner: 7 });
    assert!(state.outcome(0).is_some() && state.outcome(1).is_none() && state.outcome(2).is_some());
    assert_eq!(state.value(0), &mutex(8, 2));
}

#[test]
fn only_the_first_acquisition_reports_the_abandoned_mutex() {
    let mut state = world(&[mutex(7, 3), event(false, true)]);
    park(&mut state, 0, any(&[0], 8));
    park(&mut state, 1, any(&[0], 8));
    assert_eq!(state.run(3, Operation::MutexKill { object: 0, owner: 7 }), Some(Ok(Answer::Done)));
    assert_eq!(state.outcome(0), Some(&satisfied(0, true)));
    assert_eq!(state.outcome(1), Some(&satisfied(0, false)));
}

#[test]
fn wait_alls_come_before_wait_anys_and_in_their_order() {
    let mut state = world(&[event(false, false), event(false, true)]);
    park(&mut state, 0, any(&[0], 1));
    park(&mut state, 1, all(&[0, 1], 1));
    park(&mut state, 2, all(&[0, 1], 1));
    state.run(3, Operation::EventSet { object: 0 });
    assert_eq!(state.outcome(0), None);
    assert_eq!(state.outcome(1), Some(&satisfied(0, false)));
    assert_eq!(state.outcome(2), None);
}

#[test]
fn a_wait_all_that_cannot_complete_reserves_nothing() {
    let mut state = world(&[event(false, false), event(false, false)]);
    park(&mut state, 1, all(&[0, 1], 1));
    park(&mut state, 0, any(&[0], 1));
    state.run(3, Operation::EventSet { object: 0 });
    assert_eq!(state.outcome(0), Some(&satisfied(0, false)));
    assert_eq!(state.outcome(1), None);
}

#[test]
fn a_pulse_satisfies_one_or_all_and_leaves_nothing() {
    for manual in [false, true] {
        let mut state = world(&[event(manual, false)]);
        (0..2).for_each(|thread| park(&mut state, thread, any(&[0], 1)));
        assert_eq!(state.run(3, Operation::EventPulse { object: 0 }), Some(Ok(Answer::Signaled(false))));
        assert!(state.outcome(0).is_some());
        assert_eq!(state.outcome(1).is_some(), manual);
        assert_eq!(state.value(0), &event(manual, false));
    }
}

#[test]
fn the_lowest_available_index_is_taken_and_one_unit_of_it() {
    let mut state = world(&[event(false, false), semaphore(2), semaphore(2)]);
    assert_eq!(state.run(0, any(&[0, 1, 2, 1], 1)), Some(satisfied(1, false)));
    assert_eq!(state.value(1), &semaphore(1));
    assert_eq!(state.value(2), &semaphore(2));
}

#[test]
fn a_duplicate_reports_its_lowest_index_and_is_refused_by_wait_all() {
    let mut state = world(&[semaphore(0), semaphore(0)]);
    park(&mut state, 0, with_alert(any(&[1, 0, 0], 1), 0));
    state.run(3, Operation::SemaphoreRelease { object: 0, units: 2 });
    assert_eq!(state.outcome(0), Some(&satisfied(1, false)));
    assert_eq!(state.value(0), &semaphore(1));
    assert_eq!(state.run(1, all(&[0, 0], 1)), Some(Err(Error::Invalid)));
    assert_eq!(state.run(1, with_alert(all(&[0, 1], 1), 1)), Some(Err(Error::Invalid)));
}

#[test]
fn objects_come_before_the_alert() {
    for wait in [any(&[0], 1), all(&[0], 1)] {
        let mut state = world(&[semaphore(1), event(false, true)]);
        assert_eq!(state.run(0, with_alert(wait.clone(), 1)), Some(satisfied(0, false)));
        assert_eq!(state.value(1), &event(false, true));
        assert_eq!(state.run(0, with_alert(wait.clone(), 1)), Some(satisfied(1, false)));
        assert_eq!(state.value(1), &event(false, false));
        assert_eq!(state.run(0, polled(with_alert(wait, 1))), Some(Err(Error::TimedOut)));
    }
}

#[test]
fn waits_for_nothing() {
    let mut state = world(&[event(true, true)]);
    assert_eq!(state.run(0, polled(any(&[], 1))), Some(Err(Error::TimedOut)));
    assert_eq!(state.run(0, with_alert(any(&[], 1), 0)), Some(satisfied(0, false)));
    assert_eq!(state.run(0, with_alert(all(&[], 1), 0)), Some(satisfied(0, false)));
    park(&mut state, 0, any(&[], 1));
}

#[test]
fn arguments_are_checked_before_anything_happens() {
    let mut state = world(&[semaphore(1)]);
    assert_eq!(state.run(0, any(&[0], 0)), Some(Err(Error::Invalid)));
    assert_eq!(state.run(0, any(&[], 0)), Some(Err(Error::Invalid)));
    assert_eq!(state.run(0, any(&[0; 65], 1)), Some(Err(Error::Invalid)));
    assert_eq!(state.run(0, any(&[0, 1], 1)), Some(Err(Error::Invalid)));
    assert_eq!(state.run(0, with_alert(any(&[0], 1), 1)), Some(Err(Error::Invalid)));
    assert_eq!(state.run(0, Operation::EventSet { object: 0 }), Some(Err(Error::Invalid)));
    assert_eq!(state.value(0), &semaphore(1));
}

#[test]
fn a_deadline_ends_a_wait_that_has_tested_everything_and_takes_it_out_of_the_queues() {
    let mut state = world(&[semaphore(0)]);
    park(&mut state, 0, any(&[0], 1));
    assert!(state.steps(0).is_empty());
    state.deadline(0);
    let state = &mut state.steps(0)[0];
    assert_eq!(state.outcome(0), Some(&Err(Error::TimedOut)));
    state.run(3, Operation::SemaphoreRelease { object: 0, units: 1 });
    assert_eq!(state.value(0), &semaphore(1));
}

#[test]
fn an_interrupt_ends_a_wait_unless_it_is_satisfied() {
    let mut state = world(&[semaphore(0)]);
    park(&mut state, 0, any(&[0], 1));
    park(&mut state, 1, any(&[0], 1));
    state.run(3, Operation::SemaphoreRelease { object: 0, units: 1 });
    (0..2).for_each(|thread| state.interrupt(thread));
    assert!(state.steps(0).is_empty());
    assert_eq!(state.steps(1)[0].outcome(1), Some(&Err(Error::Interrupted)));
}

#[test]
fn a_timeout_may_be_reported_as_an_interrupt_that_came_before_the_return() {
    let mut state = world(&[semaphore(0)]);
    park(&mut state, 0, any(&[0], 1));
    state.deadline(0);
    let state = &mut state.steps(0)[0];
    let (timed_out, interrupted) = (Err(Error::TimedOut), Err(Error::Interrupted));
    assert!(state.may_report(0, &timed_out) && !state.may_report(0, &interrupted));
    state.interrupt(0);
    assert!(state.may_report(0, &timed_out) && state.may_report(0, &interrupted));
}

#[test]
fn an_operation_that_had_begun_may_find_the_object_open_or_closed() {
    let mut state = world(&[event(false, true)]);
    state.invoke(0, Operation::EventReset { object: 0 });
    state.invoke(1, polled(any(&[0], 1)));
    state.run(3, Operation::Close { object: 0 });
    let outcomes = |thread| -> Vec<Option<Outcome>> {
        state.steps(thread).iter().map(|state| state.outcome(thread).copied()).collect()
    };
    assert_eq!(outcomes(0), [Some(Err(Error::NoSuchObject)), Some(Ok(Answer::Signaled(true)))]);
    assert_eq!(outcomes(1), [Some(Err(Error::Invalid)), Some(satisfied(0, false)), None]);
}

#[test]
fn a_closed_object_refuses_operations_and_does_not_disturb_waits() {
    let mut state = world(&[semaphore(0), semaphore(0)]);
    park(&mut state, 0, any(&[0, 1], 1));
    assert_eq!(state.run(1, Operation::Close { object: 0 }), Some(Ok(Answer::Done)));
    for refused in [Operation::Close { object: 0 }, Operation::SemaphoreRead { object: 0 }] {
        assert_eq!(state.run(1, refused), Some(Err(Error::NoSuchObject)));
    }
    assert_eq!(state.run(1, any(&[0], 1)), Some(Err(Error::Invalid)));
    assert!(state.parked(0));
    state.run(1, Operation::SemaphoreRelease { object: 1, units: 1 });
    assert_eq!(state.outcome(0), Some(&satisfied(1, false)));
}

/// A world with one object, which the process of thread 0 has created; thread 1 is another one.
fn held_world(value: Value) -> State {
    let mut state = State::new(4).with_process(0).with_process(1);
    state.add(value);
    state.keep(0, 0);
    state
}

#[test]
fn an_object_ends_when_no_process_holds_it() {
    let mut state = held_world(event(false, false));
    assert_eq!(state.run(1, Operation::Release { object: 0 }), Some(Err(Error::NotHeld)));
    assert_eq!(state.run(1, Operation::Hold { object: 0 }), Some(Ok(Answer::Done)));
    assert_eq!(state.run(0, Operation::Release { object: 0 }), Some(Ok(Answer::Done)));
    assert_eq!(state.run(0, Operation::Release { object: 0 }), Some(Err(Error::NotHeld)));
    assert_eq!(state.run(3, Operation::EventSet { object: 0 }), Some(Ok(Answer::Signaled(false))));
    assert_eq!(state.run(1, Operation::Release { object: 0 }), Some(Ok(Answer::Done)));
    assert_eq!(state.run(3, Operation::EventSet { object: 0 }), Some(Err(Error::NoSuchObject)));
}

#[test]
fn a_release_leaves_nothing_to_an_owner_if_it_says_so() {
    let mut state = held_world(mutex(7, 1));
    assert_eq!(state.run(0, Operation::ReleaseFromOwner { object: 0 }), Some(Ok(Answer::Done)));
    assert_eq!(state.run(3, Operation::MutexRead { object: 0 }), Some(Err(Error::NoSuchObject)));
}

#[test]
fn a_wait_and_an_owner_keep_what_nobody_holds() {
    let mut state = held_world(mutex(7, 1));
    assert_eq!(state.run(0, Operation::Release { object: 0 }), Some(Ok(Answer::Done)));
    park(&mut state, 2, any(&[0], 8));
    assert_eq!(state.run(3, Operation::MutexKill { object: 0, owner: 7 }), Some(Ok(Answer::Done)));
    assert_eq!(state.outcome(2), Some(&satisfied(0, true)));
    assert_eq!(state.run(3, Operation::MutexUnlock { object: 0, owner: 8 }), Some(Ok(Answer::Count(1))));
    assert_eq!(state.run(3, Operation::MutexRead { object: 0 }), Some(Err(Error::NoSuchObject)));
}

#[test]
fn the_dead_hold_nothing_and_keep_nothing_by_owning_it() {
    let mut state = held_world(mutex(7, 1));
    assert_eq!(state.run(1, Operation::Hold { object: 0 }), Some(Ok(Answer::Done)));
    let mut state = state.die(0).remove(0);
    assert_eq!(state.run(3, Operation::MutexRead { object: 0 }).map(|read| read.is_ok()), Some(true));
    let mut state = state.die(1).remove(0);
    assert_eq!(state.run(3, Operation::MutexRead { object: 0 }), Some(Err(Error::NoSuchObject)));
}

#[test]
fn a_hold_for_a_process_is_one_of_that_process_unless_it_is_dead() {
    let mut state = held_world(event(false, false));
    let hold_for = |thread| Operation::HoldFor { object: 0, thread };
    assert_eq!(state.run(3, hold_for(1)), Some(Ok(Answer::Done)));
    let holds = |state: &mut State, thread| state.run(thread, Operation::Holds { object: 0 });
    assert_eq!(holds(&mut state, 1), Some(Ok(Answer::Count(1))));
    assert_eq!(holds(&mut state, 3), Some(Ok(Answer::Count(0))));
    let mut state = state.die(0).remove(0);
    assert_eq!(state.run(3, hold_for(0)), Some(Err(Error::NoSuchProcess)));
    assert_eq!(state.run(3, Operation::EventSet { object: 0 }), Some(Ok(Answer::Signaled(false))));
    assert_eq!(state.run(1, Operation::Release { object: 0 }), Some(Ok(Answer::Done)));
    assert_eq!(state.run(3, hold_for(1)), Some(Err(Error::NoSuchObject)));
    let mut state = held_world(event(false, false));
    assert_eq!(state.run(3, Operation::Hold { object: 0 }), Some(Ok(Answer::Done)));
    state.invoke(3, hold_for(0));
    let mut state = state.die(0).remove(0);
    assert_eq!(state.run(1, Operation::Close { object: 0 }), Some(Ok(Answer::Done)));
    let both: Vec<_> = state.steps(3).iter().filter_map(|state| state.outcome(3).copied()).collect();
    assert!(both.contains(&Err(Error::NoSuchObject)) && both.contains(&Err(Error::NoSuchProcess)));
}

#[test]
fn whoever_holds_what_is_doomed_saves_it() {
    let mut state = held_world(event(false, false)).die(0).remove(0);
    state.invoke(1, Operation::Hold { object: 0 });
    let mut saved =
        state.steps(1).into_iter().find(|state| state.outcome(1) == Some(&Ok(Answer::Done))).expect("it may");
    assert_eq!(saved.run(3, Operation::EventSet { object: 0 }), Some(Ok(Answer::Signaled(false))));
}

const A: Name = Name::exactly("a");

fn create(name: Name, value: Value) -> Operation {
    Operation::CreateNamed { name, value }
}

const EXISTED: Option<Outcome> = Some(Ok(Answer::Named { existed: true }));
const CREATED: Option<Outcome> = Some(Ok(Answer::Named { existed: false }));

#[test]
fn a_name_leads_to_the_object_that_was_created_with_it() {
    let mut state = State::new(4).with_process(0).with_process(1);
    assert_eq!(state.run(0, create(A, event(false, false))), CREATED);
    assert_eq!(state.run(1, create(A, event(true, true))), EXISTED);
    assert_eq!(state.run(1, Operation::EventSet { object: BY_NAME }), Some(Ok(Answer::Signaled(false))));
    assert_eq!(state.run(0, Operation::EventRead { object: BY_NAME }), Some(Ok(Answer::Event(false, true))));
    assert_eq!(state.run(2, create(A, semaphore(0))), Some(Err(Error::OtherKind)));
    let open = |name| Operation::OpenNamed { name, like: event(false, false) };
    assert_eq!(state.run(2, open(Name::exactly("A"))), Some(Err(Error::NoSuchName)));
    assert_eq!(state.run(2, open(Name::in_any_case("A"))), Some(Ok(Answer::Done)));
}

#[test]
fn a_name_ends_with_its_object_and_a_permanent_object_does_not() {
    let mut state = State::new(4).with_process(0).with_process(1);
    assert_eq!(state.run(0, create(A, event(false, false))), CREATED);
    let mut state = state.die(0).remove(0);
    assert_eq!(state.run(1, create(A, event(false, false))), CREATED);
    assert_eq!(state.run(1, Operation::MakePermanent { object: BY_NAME }), Some(Ok(Answer::Done)));
    let mut state = state.die(1).remove(0);
    assert_eq!(state.run(2, create(A, event(false, false))), EXISTED);
    assert_eq!(state.run(2, Operation::Release { object: BY_NAME }), Some(Ok(Answer::Done)));
    assert_eq!(state.run(2, Operation::MakeTemporary { object: BY_NAME }), Some(Ok(Answer::Done)));
    assert_eq!(state.run(3, create(A, event(false, false))), CREATED);
}

fn timer(manual: bool) -> Value {
    Value::Timer(Timer::unarmed(manual, false))
}

fn arm(object: Id, due: u64, period: u64) -> Operation {
    Operation::TimerSet { object, due, period }
}

const DONE: Option<Outcome> = Some(Ok(Answer::Done));

/// So much time passes, and every timer that is due fires.
fn pass(state: &mut State, time: u64) {
    assert_eq!(state.run(3, Operation::Pass { time }), DONE);
    while let Some(fired) = state.fires().into_iter().next() {
        *state = fired;
    }
}

#[test]
fn a_timer_is_given_to_the_oldest_wait_when_it_is_due() {
    let mut state = world(&[timer(false)]);
    assert_eq!(state.run(3, arm(0, 10, 0)), DONE);
    (0..2).for_each(|thread| park(&mut state, thread, any(&[0], 1)));
    pass(&mut state, 9);
    assert!(state.outcome(0).is_none() && !state.is_late_for(&[0, 1]));
    assert_eq!(state.run(3, Operation::Pass { time: 1 }), DONE);
    assert!(state.is_late_for(&[0, 1]) && state.is_late_for(&[0]) && !state.is_late_for(&[1]));
    pass(&mut state, 0);
    assert!(state.outcome(0).is_some() && state.outcome(1).is_none());
    assert_eq!(state.run(3, Operation::TimerRead { object: 0 }), Some(Ok(Answer::Timer(false, None))));
}

#[test]
fn a_poll_sees_a_timer_that_is_due_and_missed_times_are_one() {
    let mut state = world(&[timer(false)]);
    assert_eq!(state.run(3, arm(0, 10, 10)), DONE);
    assert_eq!(state.run(0, polled(any(&[0], 1))), Some(Err(Error::TimedOut)));
    assert_eq!(state.run(3, Operation::Pass { time: 35 }), DONE);
    assert_eq!(state.run(0, polled(any(&[0], 1))), Some(satisfied(0, false)));
    assert_eq!(state.run(0, polled(any(&[0], 1))), Some(Err(Error::TimedOut)));
    assert_eq!(state.run(3, Operation::TimerRead { object: 0 }), Some(Ok(Answer::Timer(false, Some(40)))));
}

#[test]
fn arming_for_another_time_moves_a_wait_that_has_begun() {
    let mut state = world(&[timer(true)]);
    park(&mut state, 0, any(&[0], 1));
    park(&mut state, 1, any(&[0], 1));
    assert_eq!(state.run(3, arm(0, 5, 0)), DONE);
    assert_eq!(state.run(3, arm(0, 20, 0)), DONE);
    pass(&mut state, 10);
    assert!(state.outcome(0).is_none());
    assert_eq!(state.run(3, Operation::TimerCancel { object: 0 }), DONE);
    pass(&mut state, 10);
    assert!(state.outcome(0).is_none());
    assert_eq!(state.run(3, arm(0, 1, 0)), DONE);
    pass(&mut state, 0);
    assert!(state.outcome(0).is_some() && state.outcome(1).is_some());
}

#[test]
fn a_wait_for_all_takes_a_timer_with_the_rest_or_not_at_all() {
    let mut state = world(&[timer(false), event(false, false)]);
    assert_eq!(state.run(3, arm(0, 5, 0)), DONE);
    park(&mut state, 0, all(&[0, 1], 1));
    pass(&mut state, 5);
    assert_eq!(state.outcome(0), None);
    assert_eq!(state.run(3, Operation::EventSet { object: 1 }), Some(Ok(Answer::Signaled(false))));
    assert_eq!(state.outcome(0), Some(&satisfied(0, false)));
    assert_eq!(state.run(3, Operation::TimerRead { object: 0 }), Some(Ok(Answer::Timer(false, None))));
}

#[test]
fn a_wait_for_all_may_come_between_two_timers_that_are_due_together() {
    let mut state = world(&[timer(false), timer(false)]);
    (0..2).for_each(|object| assert_eq!(state.run(3, arm(object, 5 + object as u64, 5)), DONE));
    pass(&mut state, 5);
    assert_eq!(state.run(3, Operation::Pass { time: 5 }), DONE);
    state.invoke(0, polled(all(&[0, 1], 1)));
    let mut states = state.steps(0);
    assert!(states.iter().all(|state| state.outcome(0).is_none()), "the other one fires first");
    let taken = |state: &State| state.outcome(0) == Some(&satisfied(0, false));
    states = states.iter().flat_map(|state| state.steps(0)).filter(taken).collect();
    let signaled_after = |state: &State| state.fires().iter().any(|fired| fired.value(0).available(1));
    assert!(states.iter().any(signaled_after), "it fires again");
    // Both firings before it are one.
    let mut merged = state.clone();
    pass(&mut merged, 0);
    let merged = merged.steps(0).into_iter().find(taken).expect("both are signaled");
    assert!(!signaled_after(&merged));
}

#[test]
fn a_closed_timer_does_not_fire() {
    let mut state = world(&[timer(true)]);
    assert_eq!(state.run(3, arm(0, 5, 0)), DONE);
    park(&mut state, 0, any(&[0], 1));
    assert_eq!(state.run(3, Operation::Close { object: 0 }), DONE);
    pass(&mut state, 5);
    assert_eq!(state.outcome(0), None);
}
