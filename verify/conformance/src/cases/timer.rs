// SPDX-License-Identifier: MIT OR Apache-2.0
//! Timers. They are on the faces whose objects are numbers: the driver has none.

use std::thread;
use std::time::Duration;

use crate::blocked::block;
use crate::case::{Case, case};
use crate::check::{self, ALL, at};
use crate::face::{Clock, Deadline, EBADF, EINVAL, ETIMEDOUT, Face, Object, all, any};
use crate::process::Child;

pub(super) const CASES: &[Case] = &[
    case!(Holds, a_timer_refuses_operations_of_other_kinds, "S-102"),
    case!(Holds, a_new_timer_is_not_armed, "S-411"),
    case!(Holds, a_timer_is_signaled_when_it_is_due, "S-412", "S-413"),
    case!(Holds, a_due_time_in_the_past_is_due_at_once, "S-412"),
    case!(Holds, a_manual_timer_stays_signaled_until_it_is_set, "S-413"),
    case!(Holds, a_periodic_timer_fires_again_and_again, "S-414"),
    case!(Holds, missed_due_times_are_one_firing, "S-414"),
    case!(Holds, a_cancelled_timer_does_not_fire, "S-415"),
    case!(Holds, a_cancellation_leaves_the_signal, "S-415"),
    case!(Holds, arming_reaches_those_who_wait_already, "S-416"),
    case!(Holds, a_later_time_holds_for_those_who_wait_already, "S-416"),
    case!(Holds, a_timer_wakes_one_and_a_manual_timer_all, "S-417"),
    case!(Holds, a_timer_is_one_object_of_a_wait_for_all, "S-417"),
    case!(Holds, a_timer_may_be_the_alert, "S-701"),
    case!(Holds, a_timer_needs_nobody_who_lives, "S-418"),
    case!(Holds, processes_take_turns_with_the_ticks, "S-418"),
    case!(Holds, each_clock_has_its_time, "S-419"),
    case!(Holds, a_period_has_a_limit, "S-420"),
];

const MS: u64 = 1_000_000;
/// Too late for any case.
const FAR: u64 = 3_600_000;

/// Arms a timer for so many milliseconds from now, once.
#[track_caller]
fn arm(face: &dyn Face, timer: Object, ms: u64) {
    assert_eq!(face.timer_set(timer, Clock::Monotonic, Clock::Monotonic.in_ms(ms), 0), Ok(()));
}

#[track_caller]
fn is_signaled(face: &dyn Face, timer: Object, signaled: bool) {
    assert_eq!(face.timer_read(timer).map(|timer| timer.signaled), Ok(u32::from(signaled)));
}

fn a_timer_refuses_operations_of_other_kinds(face: &dyn Face) {
    let timer = face.timer_create(0).unwrap();
    assert_eq!(face.event_set(timer), Err(EINVAL));
    assert_eq!(face.event_reset(timer), Err(EINVAL));
    assert_eq!(face.event_pulse(timer), Err(EINVAL));
    assert_eq!(face.event_read(timer), Err(EINVAL));
    assert_eq!(face.semaphore_release(timer, 1), Err(EINVAL));
    assert_eq!(face.semaphore_read(timer), Err(EINVAL));
    assert_eq!(face.mutex_unlock(timer, 1), Err(EINVAL));
    assert_eq!(face.mutex_kill(timer, 1), Err(EINVAL));
    assert_eq!(face.mutex_read(timer), Err(EINVAL));
    is_signaled(face, timer, false);
    for other in [face.event_create(1, 0), face.semaphore_create(0, 1), face.mutex_create(0, 0)] {
        let other = other.unwrap();
        assert_eq!(face.timer_set(other, Clock::Monotonic, 1, 0), Err(EINVAL));
        assert_eq!(face.timer_cancel(other), Err(EINVAL));
        assert_eq!(face.timer_read(other).map(drop), Err(EINVAL));
    }
    assert_eq!(face.close(timer), Ok(()));
    assert_eq!(face.timer_set(timer, Clock::Monotonic, 1, 0), Err(EBADF));
    assert_eq!(face.timer_cancel(timer), Err(EBADF));
    assert_eq!(face.timer_read(timer).map(drop), Err(EBADF));
}

fn a_new_timer_is_not_armed(face: &dyn Face) {
    for (number, manual) in [(0, 0), (1, 1), (7, 1)] {
        let timer = face.timer_create(number).unwrap();
        let read = face.timer_read(timer).unwrap();
        assert_eq!((read.manual, read.signaled, read.due, read.period), (manual, 0, None, 0));
        assert_eq!(face.wait(&any(&[timer])), Err(ETIMEDOUT));
    }
}

fn a_timer_is_signaled_when_it_is_due(face: &dyn Face) {
    let timer = face.timer_create(0).unwrap();
    let due = Clock::Monotonic.in_ms(30);
    assert_eq!(face.timer_set(timer, Clock::Monotonic, due, 0), Ok(()));
    assert_eq!(face.timer_read(timer).unwrap().due, Some((Clock::Monotonic, due)));
    assert_eq!(face.wait(&any(&[timer]).forever()), at(0));
    assert!(Clock::Monotonic.now_ns() >= due, "too early");
    let read = face.timer_read(timer).unwrap();
    assert_eq!((read.signaled, read.due), (0, None));
    assert_eq!(face.wait(&any(&[timer])), Err(ETIMEDOUT));
}

fn a_due_time_in_the_past_is_due_at_once(face: &dyn Face) {
    for due in [0, 1, Clock::Monotonic.now_ns()] {
        let timer = face.timer_create(0).unwrap();
        assert_eq!(face.timer_set(timer, Clock::Monotonic, due, 0), Ok(()));
        assert_eq!(face.wait(&any(&[timer])), at(0));
    }
}

fn a_manual_timer_stays_signaled_until_it_is_set(face: &dyn Face) {
    let timer = face.timer_create(1).unwrap();
    arm(face, timer, 0);
    (0..3).for_each(|_| assert_eq!(face.wait(&any(&[timer])), at(0)));
    is_signaled(face, timer, true);
    arm(face, timer, FAR);
    is_signaled(face, timer, false);
    assert_eq!(face.wait(&any(&[timer])), Err(ETIMEDOUT));
}

fn a_periodic_timer_fires_again_and_again(face: &dyn Face) {
    const PERIOD: u64 = 10 * MS;
    let timer = face.timer_create(0).unwrap();
    let first = Clock::Monotonic.in_ms(10);
    assert_eq!(face.timer_set(timer, Clock::Monotonic, first, PERIOD), Ok(()));
    for ticks in 0..5 {
        assert_eq!(face.wait(&any(&[timer]).forever()), at(0));
        assert!(Clock::Monotonic.now_ns() >= first + ticks * PERIOD, "too early");
    }
    let read = face.timer_read(timer).unwrap();
    assert_eq!(read.period, PERIOD);
    let (_, next) = read.due.expect("it goes on");
    assert!((next - first).is_multiple_of(PERIOD));
}

fn missed_due_times_are_one_firing(face: &dyn Face) {
    // A machine may have been up for some seconds only.
    const PERIOD: u64 = 100 * MS;
    let timer = face.timer_create(0).unwrap();
    let first = Clock::Monotonic.now_ns() - 10 * PERIOD - PERIOD / 4;
    assert_eq!(face.timer_set(timer, Clock::Monotonic, first, PERIOD), Ok(()));
    assert_eq!(face.wait(&any(&[timer])), at(0));
    let read = face.timer_read(timer).unwrap();
    let (_, next) = read.due.expect("it goes on");
    assert!((next - first).is_multiple_of(PERIOD) && next >= first + 11 * PERIOD);
}

fn a_cancelled_timer_does_not_fire(face: &dyn Face) {
    let timer = face.timer_create(0).unwrap();
    assert_eq!(face.timer_cancel(timer), Ok(()));
    assert_eq!(face.timer_set(timer, Clock::Monotonic, Clock::Monotonic.in_ms(20), 5 * MS), Ok(()));
    assert_eq!(face.timer_cancel(timer), Ok(()));
    let read = face.timer_read(timer).unwrap();
    assert_eq!((read.due, read.period), (None, 0));
    assert_eq!(face.wait(&any(&[timer]).until(Deadline::in_ms(60))), Err(ETIMEDOUT));
}

fn a_cancellation_leaves_the_signal(face: &dyn Face) {
    let timer = face.timer_create(0).unwrap();
    arm(face, timer, 0);
    assert_eq!(face.timer_cancel(timer), Ok(()));
    is_signaled(face, timer, true);
    assert_eq!(face.wait(&any(&[timer])), at(0));
}

fn arming_reaches_those_who_wait_already(face: &dyn Face) {
    let (timer, event) = (face.timer_create(1).unwrap(), face.event_create(1, 0).unwrap());
    thread::scope(|scope| {
        let one = block(scope, face, any(&[timer]).forever());
        let several = block(scope, face, any(&[event, timer]).forever());
        arm(face, timer, FAR);
        one.still_sleeps();
        several.still_sleeps();
        arm(face, timer, 10);
        assert_eq!(one.result(), at(0));
        assert_eq!(several.result(), at(1));
    });
}

fn a_later_time_holds_for_those_who_wait_already(face: &dyn Face) {
    let timer = face.timer_create(0).unwrap();
    thread::scope(|scope| {
        arm(face, timer, 2_000);
        let waits = block(scope, face, any(&[timer]).forever());
        let due = Clock::Monotonic.in_ms(2_500);
        assert_eq!(face.timer_set(timer, Clock::Monotonic, due, 0), Ok(()));
        assert_eq!(waits.result(), at(0));
        assert!(Clock::Monotonic.now_ns() >= due, "at the old time");
    });
}

fn a_timer_wakes_one_and_a_manual_timer_all(face: &dyn Face) {
    for manual in [0, 1] {
        let timer = face.timer_create(manual).unwrap();
        thread::scope(|scope| {
            let first = block(scope, face, any(&[timer]).forever());
            let second = block(scope, face, any(&[timer]).forever());
            arm(face, timer, 10);
            assert_eq!(first.result(), at(0));
            if manual == 0 {
                second.still_sleeps();
                arm(face, timer, 0);
            }
            assert_eq!(second.result(), at(0));
        });
        is_signaled(face, timer, manual == 1);
    }
}

fn a_timer_is_one_object_of_a_wait_for_all(face: &dyn Face) {
    let (timer, event) = (face.timer_create(0).unwrap(), face.event_create(0, 0).unwrap());
    thread::scope(|scope| {
        let both = block(scope, face, all(&[timer, event]).forever());
        arm(face, timer, 10);
        thread::sleep(Duration::from_millis(50));
        both.still_sleeps();
        is_signaled(face, timer, true);
        assert_eq!(face.event_set(event), Ok(0));
        assert_eq!(both.result(), ALL);
        is_signaled(face, timer, false);
        check::auto(face, event, 0);
        // The timer is the last of them.
        assert_eq!(face.event_set(event), Ok(0));
        let both = block(scope, face, all(&[timer, event]).forever());
        let any = block(scope, face, any(&[timer]).forever());
        arm(face, timer, 10);
        assert_eq!(both.result(), ALL);
        any.still_sleeps();
        arm(face, timer, 0);
        assert_eq!(any.result(), at(0));
    });
}

fn a_timer_may_be_the_alert(face: &dyn Face) {
    let (timer, event) = (face.timer_create(0).unwrap(), face.event_create(0, 0).unwrap());
    for wait in [any(&[event]), all(&[event])] {
        arm(face, timer, 20);
        assert_eq!(face.wait(&wait.alert(timer).forever()), at(1));
        is_signaled(face, timer, false);
    }
}

fn a_timer_needs_nobody_who_lives(face: &dyn Face) {
    let (timer, armed) = (face.timer_create(0).unwrap(), face.event_create(0, 0).unwrap());
    let waits = Child::block(face, any(&[timer]).forever());
    let sets = Child::start(face, |face| {
        arm(face, timer, 300);
        assert_eq!(face.event_set(armed), Ok(0));
        face.wait(&any(&[]).forever())
    });
    assert_eq!(face.wait(&any(&[armed]).forever()), at(0));
    sets.kill(face);
    assert_eq!(waits.result(), at(0));
}

fn processes_take_turns_with_the_ticks(face: &dyn Face) {
    const TICKS: u32 = 20;
    let (timer, ticks) = (face.timer_create(0).unwrap(), face.semaphore_create(0, TICKS).unwrap());
    let counts = |face: &dyn Face| {
        loop {
            let ticked = face.wait(&any(&[timer]).forever())?;
            if face.semaphore_release(ticks, 1).is_err() {
                // There were enough: the other one may want to know, too.
                arm(face, timer, 0);
                return Ok(ticked);
            }
        }
    };
    let children = [Child::start(face, counts), Child::start(face, counts)];
    let first = Clock::Monotonic.in_ms(10);
    assert_eq!(face.timer_set(timer, Clock::Monotonic, first, 10 * MS), Ok(()));
    for _ in 0..TICKS {
        assert_eq!(face.wait(&any(&[ticks]).forever()), at(0));
    }
    assert!(Clock::Monotonic.now_ns() >= first + u64::from(TICKS - 1) * 10 * MS, "more ticks than due times");
    for _ in 0..TICKS {
        assert!(face.semaphore_release(ticks, 1).is_ok() || face.semaphore_read(ticks).unwrap().count == TICKS);
    }
    children.into_iter().for_each(|child| assert_eq!(child.result(), at(0)));
}

fn each_clock_has_its_time(face: &dyn Face) {
    for clock in [Clock::Monotonic, Clock::Wall, Clock::Boot] {
        let timer = face.timer_create(0).unwrap();
        let due = clock.in_ms(20);
        assert_eq!(face.timer_set(timer, clock, due, 0), Ok(()));
        assert_eq!(face.timer_read(timer).unwrap().due, Some((clock, due)));
        assert_eq!(face.wait(&any(&[timer]).forever()), at(0));
        assert!(clock.now_ns() >= due, "{clock:?}: too early");
    }
}

fn a_period_has_a_limit(face: &dyn Face) {
    const LONGEST: u64 = ((1 << 41) - 1) * 1_000;
    let timer = face.timer_create(0).unwrap();
    let due = Clock::Monotonic.in_ms(FAR);
    assert_eq!(face.timer_set(timer, Clock::Monotonic, due, LONGEST), Ok(()));
    for period in [LONGEST + 1, u64::MAX] {
        assert_eq!(face.timer_set(timer, Clock::Monotonic, 1, period), Err(EINVAL));
    }
    let read = face.timer_read(timer).unwrap();
    assert_eq!((read.signaled, read.due, read.period), (0, Some((Clock::Monotonic, due)), LONGEST));
    assert_eq!(face.timer_set(timer, Clock::Monotonic, due, 1), Ok(()));
    assert_eq!(face.timer_read(timer).unwrap().period, 1_000, "rounded up");
}
