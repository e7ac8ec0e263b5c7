// SPDX-License-Identifier: MIT OR Apache-2.0
//! Crowds that two helpers serve at the same time, one always faster than the other; and whose operation it is that they complete.

use super::*;
use crate::format::entry::Entry;
use crate::format::holder::Holder;
use crate::format::limits::{PLACES_CHUNK, PLACES_INLINE};
use crate::format::signature::Signature;
use crate::kind::{Signal, Step};
use crate::protocol::epoch::begin;
use crate::protocol::request::Request;
use crate::protocol::waiter::enroll;
use crate::{Capacity, New, Object};

struct Crowd {
    arena: Arena,
    object: Object,
    /// In the order of their tickets.
    waiters: Vec<Waiter>,
}

impl Crowd {
    /// Threads that wait for the object, as far as others can tell; the oldest of them stand all over the wait set.
    fn gathered(count: u32, new: New) -> Crowd {
        Crowd::gathered_but(count, new, None).0
    }

    /// Does what [`Crowd::gathered`] does, but one of them has not come as far as the wait set. Returns where it is to stand, too.
    fn gathered_but(count: u32, new: New, late: Option<usize>) -> (Crowd, Option<(usize, Entry)>) {
        let arena = Arena::create(Capacity { objects: 1, waiters: count }).unwrap();
        let object = arena.create_new(&arena.waiter(), new).unwrap();
        let waiters: Vec<Waiter> = (0..count).map(|_| arena.waiter()).collect();
        // Coprime to their number.
        const STRIDE: usize = 7_001;
        let mut missing = None;
        for (number, waiter) in waiters.iter().enumerate() {
            let objects = [object];
            let request = Request::new(&objects, None, 1).unwrap();
            waiter.budget.renew();
            let epoch = begin(&arena, waiter, WaiterState::Waiting, Some(&request)).unwrap();
            let entry = Entry::new(epoch.index, epoch.ticket, 0, false);
            let place = number * STRIDE % count as usize;
            match late {
                Some(late) if late == number => missing = Some((place, entry)),
                _ => stand(&arena, object, place, entry),
            }
        }
        let slot = arena.object_slot(object.index()).unwrap();
        assert!(slot.exchange(slot.load(), slot.load().with(W)));
        (Crowd { arena, object, waiters }, missing)
    }

    /// Begins to carry a signal out: the word with the first claim.
    fn begin<'a>(&'a self, helper: &Waiter, signal: Signal, ahead: &mut Ahead<'a>) -> ObjectWord {
        helper.budget.renew();
        let slot = self.arena.object_slot(self.object.index()).unwrap();
        let Step::Changed { next, .. } = signal.step(slot.load(), slot.kind(), &slot.extra) else { panic!("refused") };
        let offered = offer(&self.arena, helper, self.object.index(), slot, next, ahead);
        assert!(slot.exchange(slot.load(), offered.word));
        slot.load()
    }

    fn are_satisfied(&self) -> impl Iterator<Item = bool> {
        (0..self.waiters.len()).map(|number| self.slot(number).load().state() == WaiterState::Satisfied)
    }

    fn slot(&self, waiter: usize) -> &WaiterSlot {
        enroll(&self.arena, &self.waiters[waiter]).unwrap().1
    }

    /// Helps until the object is at rest. Its mark then.
    fn mark_after_help(&self, seen: ObjectWord) -> Mark {
        let helper = self.arena.waiter();
        helper.budget.renew();
        let rest = help(&self.arena, &helper, self.object.index(), seen).unwrap();
        assert!(!rest.is_claimed());
        rest.mark()
    }

    /// Two helpers carry the signal out. Both of them try each step, and the first one is faster.
    fn serve(&self, signal: Signal) {
        let (arena, index) = (&self.arena, self.object.index());
        let slot = arena.object_slot(index).unwrap();
        let helpers = [arena.waiter(), arena.waiter()];
        let mut ahead = [Ahead::default(), Ahead::default()];
        let mut seen = self.begin(&helpers[0], signal, &mut ahead[0]);
        helpers[1].budget.renew();
        while seen.is_claimed() {
            for (helper, ahead) in helpers.iter().zip(&mut ahead) {
                assert!(helper.budget.round(), "one operation may do so much");
                help_claim(arena, helper, index, seen.into(), ahead).unwrap();
            }
            seen = slot.load();
        }
        assert!(helpers.iter().all(|helper| helper.budget.round()), "one operation may do so much");
    }
}

/// Puts an entry into this place of the wait set, which grows as far as that.
fn stand(arena: &Arena, object: Object, place: usize, entry: Entry) {
    let slot = arena.object_slot(object.index()).unwrap();
    let Some(chained) = place.checked_sub(PLACES_INLINE) else {
        return slot.wait_set[place].store(entry.0);
    };
    let chunk = (chained / PLACES_CHUNK) as u32;
    for number in arena.header().chunk_pool.0.fresh.load()..=chunk {
        assert!(arena.provide_chunk(number));
        let end = number.checked_sub(1).and_then(|last| arena.chunk(last)).map_or(&slot.chunk, |last| &last.next);
        end.store(number + 1);
        arena.header().chunk_pool.0.fresh.store(number + 1);
    }
    arena.chunk(chunk).unwrap().wait_set[chained % PLACES_CHUNK].store(entry.0);
}

// So many each time that a pass over the wait set for each of them is more than one operation may do.

#[test]
fn two_helpers_of_one_broadcast_come_to_its_end() {
    let crowd = Crowd::gathered(40_000, New::Event { manual: true, signaled: false });
    crowd.serve(Signal::Set);
    assert!(crowd.are_satisfied().all(|satisfied| satisfied));
}

#[test]
fn two_helpers_of_one_release_come_to_its_end_and_serve_who_came_first() {
    const CROWD: u32 = 25_000;
    const UNITS: u32 = CROWD - 1_000;
    let crowd = Crowd::gathered(CROWD, New::Semaphore { count: 0, max: CROWD });
    crowd.serve(Signal::Release(UNITS));
    assert!(crowd.are_satisfied().enumerate().all(|(number, satisfied)| satisfied == (number < UNITS as usize)));
}

/// A helper that comes back after the units were used up once must not go on with whom it remembers.
#[test]
fn who_joins_between_two_releases_is_served_before_the_younger_ones() {
    const LATE: usize = 12;
    let (crowd, late) = Crowd::gathered_but(40, New::Semaphore { count: 0, max: 100 }, Some(LATE));
    let (arena, index) = (&crowd.arena, crowd.object.index());
    let slot = arena.object_slot(index).unwrap();
    let (slow, fast) = (arena.waiter(), arena.waiter());
    let (mut remembered, mut ahead) = (Ahead::default(), Ahead::default());
    let seen = crowd.begin(&slow, Signal::Release(10), &mut remembered);
    fast.budget.renew();
    help_ahead(arena, &fast, index, seen.into(), &mut ahead).unwrap();
    assert_eq!((slot.load().is_claimed(), slot.load().value()), (false, 0));

    let (place, entry) = late.unwrap();
    stand(arena, crowd.object, place, entry);
    assert!(slot.exchange(slot.load(), slot.load().with(W)));
    crowd.begin(&fast, Signal::Release(4), &mut Ahead::default());
    help_ahead(arena, &slow, index, seen.into(), &mut remembered).unwrap();
    let satisfied: Vec<usize> =
        (0..).zip(crowd.are_satisfied()).filter(|(_, satisfied)| *satisfied).map(|(number, _)| number).collect();
    assert_eq!(satisfied, (0..14).collect::<Vec<usize>>());
}

/// A semaphore with a claim for the first of its waiters, all asleep; and who performs the release.
fn released(waiters: u32) -> (Crowd, ObjectWord, Mark) {
    let crowd = Crowd::gathered(waiters, New::Semaphore { count: 0, max: 9 });
    for number in 0..waiters as usize {
        let slot = crowd.slot(number);
        assert!(slot.exchange(slot.load(), slot.load().parked()));
    }
    let claimed = crowd.begin(&crowd.arena.waiter(), Signal::Release(waiters), &mut Ahead::default());
    (crowd, claimed, Mark::of(Holder::new(7, 4711)))
}

/// As whoever made the claim decides it, and signs for a wait so many tickets later than this one.
fn decides(crowd: &Crowd, claimed: ObjectWord, next: impl FnOnce(WaiterWord) -> WaiterWord, later: u32, by: Mark) {
    let slot = crowd.slot(0);
    assert!(slot.exchange(slot.load(), next(slot.load())));
    slot.signature.store(Signature::new(claimed.tag().wrapping_add(later), by).0);
}

#[test]
fn who_settles_a_claim_signs_for_whoever_decided_it_and_not_with_a_signature_of_another_wait() {
    for (later, is_named) in [(0, true), (u32::MAX, false), (1, false), (1 << 31, false)] {
        let (crowd, claimed, by) = released(1);
        decides(&crowd, claimed, |word| word.satisfied(crowd.object.index(), false), later, by);
        let expected = if is_named { by } else { Mark::default() };
        assert_eq!(crowd.mark_after_help(claimed), expected, "{later}");
    }
}

#[test]
fn a_wait_that_was_given_something_else_says_nothing_of_who_signaled_this_object() {
    const ELSEWHERE: u32 = 5;
    let ends: [fn(WaiterWord) -> WaiterWord; 2] = [|word| word.satisfied(ELSEWHERE, false), |word| word.withdrawn()];
    for end in ends {
        let (crowd, claimed, by) = released(1);
        decides(&crowd, claimed, end, 0, by);
        assert_eq!(crowd.mark_after_help(claimed), Mark::default());
    }
}

#[test]
fn who_carries_a_release_of_several_on_passes_the_signature_on() {
    let (crowd, claimed, by) = released(3);
    decides(&crowd, claimed, |word| word.satisfied(crowd.object.index(), false), 0, by);
    assert_eq!(crowd.mark_after_help(claimed), by);
    for number in 0..3 {
        let slot = crowd.slot(number);
        let signature = Signature(slot.signature.load());
        assert_eq!(signature, Signature::new(slot.load().ticket().tag(), by), "{number}");
    }
    assert!(crowd.are_satisfied().all(|satisfied| satisfied));
}

/// Nobody knows whose operation it is, and who was woken there before has nothing to do with it.
#[test]
fn who_decides_a_claim_of_somebody_else_signs_for_nobody() {
    let (crowd, claimed, by) = released(2);
    crowd.slot(0).signature.store(Signature::new(claimed.tag().wrapping_sub(1), by).0);
    assert_eq!(crowd.mark_after_help(claimed), Mark::default());
    for number in 0..2 {
        let slot = crowd.slot(number);
        let signature = Signature(slot.signature.load());
        assert_eq!(signature, Signature::new(slot.load().ticket().tag(), Mark::default()), "{number}");
    }
}
