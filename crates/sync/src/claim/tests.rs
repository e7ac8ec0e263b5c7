//! Crowds that two helpers serve at the same time, one always faster than the other.

use super::*;
use crate::arena::format::{BAG_CHUNK, BAG_INLINE};
use crate::request::Request;
use crate::signal::{Signal, Step};
use crate::{Capacity, New, Object};

struct Crowd {
    arena: Arena,
    object: Object,
    /// In the order of their tickets.
    waiters: Vec<Waiter>,
}

impl Crowd {
    /// Threads that wait for the object, as far as others can tell; the oldest of them stand all over the bag.
    fn gathered(count: u32, new: New) -> Crowd {
        let arena = Arena::create(Capacity { objects: 1, waiters: count }).unwrap();
        let object = arena.create_new(&arena.waiter(), new).unwrap();
        let waiters: Vec<Waiter> = (0..count).map(|_| arena.waiter()).collect();
        // Coprime to their number.
        const STRIDE: usize = 7_001;
        for (number, waiter) in waiters.iter().enumerate() {
            let objects = [object];
            let request = Request::new(&objects, None, 1).unwrap();
            waiter.fuel.fill();
            let epoch = arena.begin(waiter, State::Waiting, Some(&request)).unwrap();
            let entry = Entry::new(epoch.index, epoch.ticket, 0, false);
            stand(&arena, object, number * STRIDE % count as usize, entry);
        }
        let slot = arena.object_slot(object.index()).unwrap();
        assert!(slot.exchange(slot.load(), slot.load().with(W)));
        Crowd { arena, object, waiters }
    }

    fn are_satisfied(&self) -> impl Iterator<Item = bool> {
        self.waiters.iter().map(|waiter| {
            let (_, slot) = self.arena.enroll(waiter).unwrap();
            slot.load().state() == State::Satisfied
        })
    }

    /// Two helpers carry the signal out. Both of them try each step, and the first one is faster.
    fn serve(&self, signal: Signal) {
        let (arena, index) = (&self.arena, self.object.index());
        let slot = arena.object_slot(index).unwrap();
        let helpers = [arena.waiter(), arena.waiter()];
        let mut ahead = [Ahead::default(), Ahead::default()];
        helpers.iter().for_each(|helper| helper.fuel.fill());
        let Step::Changed { next, .. } = signal.step(slot.load(), slot.kind(), &slot.extra) else { panic!("refused") };
        assert!(slot.exchange(slot.load(), arena.offer(&helpers[0], index, slot, next, &mut ahead[0])));
        let mut seen = slot.load();
        while seen.is_claimed() {
            for (helper, ahead) in helpers.iter().zip(&mut ahead) {
                assert!(helper.fuel.round(), "one operation may do so much");
                arena.help_claim(helper, index, seen, ahead).unwrap();
            }
            seen = slot.load();
        }
        assert!(helpers.iter().all(|helper| helper.fuel.round()), "one operation may do so much");
    }
}

/// Puts an entry into this place of the bag, which grows as far as that.
fn stand(arena: &Arena, object: Object, place: usize, entry: Entry) {
    let slot = arena.object_slot(object.index()).unwrap();
    let Some(chained) = place.checked_sub(BAG_INLINE) else {
        return slot.bag[place].store(entry.bits());
    };
    let chunk = (chained / BAG_CHUNK) as u32;
    for number in arena.header().chunk_pool.0.fresh.load()..=chunk {
        assert!(arena.provide_chunk(number));
        let end = number.checked_sub(1).and_then(|last| arena.chunk(last)).map_or(&slot.chunk, |last| &last.next);
        end.store(number + 1);
        arena.header().chunk_pool.0.fresh.store(number + 1);
    }
    arena.chunk(chunk).unwrap().bag[chained % BAG_CHUNK].store(entry.bits());
}

// So many each time that a pass over the bag for each of them is more than one operation may do.

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
