// SPDX-License-Identifier: MIT OR Apache-2.0
//! Events, one thread.

use crate::case::{Case, case};
use crate::check::{self, at};
use crate::face::{ETIMEDOUT, Face, any};

pub(super) const CASES: &[Case] = &[
    case!(Everywhere, a_new_event_is_what_it_was_asked_to_be, "S-401"),
    case!(Everywhere, any_number_but_zero_means_yes_when_an_event_is_created, "S-401"),
    case!(Everywhere, set_reset_and_pulse_of_a_manual_event_give_the_state_before, "S-402", "S-404"),
    case!(Everywhere, set_reset_and_pulse_of_an_auto_event_give_the_state_before, "S-402", "S-404"),
    case!(Everywhere, a_wait_leaves_a_manual_event_signaled, "S-403"),
    case!(Everywhere, a_wait_clears_an_auto_event, "S-403"),
    case!(Everywhere, two_sets_of_an_auto_event_satisfy_one_wait, "S-403", "S-402"),
    case!(Everywhere, a_pulse_without_waiters_is_gone, "S-404"),
];

fn a_new_event_is_what_it_was_asked_to_be(face: &dyn Face) {
    for signaled in [0, 1] {
        let manual = face.event_create(1, signaled).unwrap();
        check::manual(face, manual, signaled);
        let auto = face.event_create(0, signaled).unwrap();
        check::auto(face, auto, signaled);
    }
}

fn any_number_but_zero_means_yes_when_an_event_is_created(face: &dyn Face) {
    for yes in [2, 256, 0x8000_0000, u32::MAX] {
        let manual = face.event_create(yes, yes).unwrap();
        check::manual(face, manual, 1);
        assert_eq!(face.event_reset(manual), Ok(1));
        let auto = face.event_create(0, yes).unwrap();
        check::auto(face, auto, 1);
        assert_eq!(face.event_pulse(auto), Ok(1));
    }
}

fn set_reset_and_pulse_of_a_manual_event_give_the_state_before(face: &dyn Face) {
    let event = face.event_create(1, 0).unwrap();
    assert_eq!(face.event_set(event), Ok(0));
    check::manual(face, event, 1);
    assert_eq!(face.event_set(event), Ok(1));
    check::manual(face, event, 1);
    assert_eq!(face.event_reset(event), Ok(1));
    check::manual(face, event, 0);
    assert_eq!(face.event_reset(event), Ok(0));
    check::manual(face, event, 0);
    assert_eq!(face.event_pulse(event), Ok(0));
    check::manual(face, event, 0);
    assert_eq!(face.event_set(event), Ok(0));
    assert_eq!(face.event_pulse(event), Ok(1));
    check::manual(face, event, 0);
}

fn set_reset_and_pulse_of_an_auto_event_give_the_state_before(face: &dyn Face) {
    let event = face.event_create(0, 1).unwrap();
    assert_eq!(face.event_set(event), Ok(1));
    check::auto(face, event, 1);
    assert_eq!(face.event_reset(event), Ok(1));
    check::auto(face, event, 0);
    assert_eq!(face.event_reset(event), Ok(0));
    check::auto(face, event, 0);
    assert_eq!(face.event_pulse(event), Ok(0));
    check::auto(face, event, 0);
    assert_eq!(face.event_set(event), Ok(0));
    check::auto(face, event, 1);
    assert_eq!(face.event_pulse(event), Ok(1));
    check::auto(face, event, 0);
}

fn a_wait_leaves_a_manual_event_signaled(face: &dyn Face) {
    let event = face.event_create(1, 0).unwrap();
    assert_eq!(face.wait(&any(&[event])), Err(ETIMEDOUT));
    check::manual(face, event, 0);
    assert_eq!(face.event_set(event), Ok(0));
    for _ in 0..2 {
        assert_eq!(face.wait(&any(&[event])), at(0));
        check::manual(face, event, 1);
    }
}

fn a_wait_clears_an_auto_event(face: &dyn Face) {
    let event = face.event_create(0, 1).unwrap();
    assert_eq!(face.wait(&any(&[event])), at(0));
    check::auto(face, event, 0);
    assert_eq!(face.wait(&any(&[event])), Err(ETIMEDOUT));
    check::auto(face, event, 0);
    assert_eq!(face.event_set(event), Ok(0));
    assert_eq!(face.wait(&any(&[event])), at(0));
    check::auto(face, event, 0);
}

fn two_sets_of_an_auto_event_satisfy_one_wait(face: &dyn Face) {
    let event = face.event_create(0, 0).unwrap();
    assert_eq!(face.event_set(event), Ok(0));
    assert_eq!(face.event_set(event), Ok(1));
    assert_eq!(face.wait(&any(&[event])), at(0));
    assert_eq!(face.wait(&any(&[event])), Err(ETIMEDOUT));
    check::auto(face, event, 0);
}

fn a_pulse_without_waiters_is_gone(face: &dyn Face) {
    for manual in [0, 1] {
        let event = face.event_create(manual, 0).unwrap();
        assert_eq!(face.event_pulse(event), Ok(0));
        assert_eq!(face.wait(&any(&[event])), Err(ETIMEDOUT));
        assert_eq!(face.event_read(event).unwrap().signaled, 0);
    }
}
