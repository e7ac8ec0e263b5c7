// SPDX-License-Identifier: MIT OR Apache-2.0
//! The simplest correct face: one lock around everything, and one condition variable.
//!
//! It checks the list of cases, not the product: every case for one process must pass here, and some must fail once a
//! [`Flaw`] is planted.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex as Lock, MutexGuard};
use std::time::Duration;

use crate::face::{
    EBADF, EINVAL, EOVERFLOW, EPERM, ETIMEDOUT, Event, Face, Mutex, Object, Outcome, Satisfied, Semaphore, Wait,
};

/// A mistake to plant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flaw {
    /// A release gives the count after itself.
    PreviousIsNext,
    /// A refused release raises the count to the maximum.
    OverflowSaturates,
    /// Recursion counts are kept in 5 bits.
    ShortCounts,
    /// A killed owner leaves no mark.
    KillForgets,
    /// An acquisition leaves the abandoned mark.
    AbandonedStays,
    /// A wait-all accepts the same object twice.
    DuplicatesAllowed,
    /// A deadline in the past is no attempt.
    PastDeadlineFirst,
    /// The alert is checked before the objects.
    AlertFirst,
    /// The newest waiter is served first.
    NewestFirst,
    /// WAIT_ANY waiters are served before WAIT_ALL waiters.
    AnyBeforeAll,
    /// A waiting WAIT_ALL keeps its objects from WAIT_ANY waiters.
    AllReserves,
    /// A mutex waiter that is not eligible blocks those behind it.
    IneligibleBlocks,
    /// A release only wakes; the woken thread takes the object later.
    NoHandOff,
    /// A pulse reaches nobody who waits.
    PulseReachesNobody,
    /// A manual-reset event satisfies one waiter.
    ManualSatisfiesOne,
    /// A timed-out waiter stays in the queues and is handed objects.
    TimedOutStays,
    /// A sleeping thread is never woken.
    LostWake,
}

/// How much later the woken thread of [`Flaw::NoHandOff`] takes the object: the case is to look first, surely.
const LATER: Duration = Duration::from_millis(200);

enum State {
    Semaphore(Semaphore),
    Mutex(Mutex),
    Event(Event),
}

struct Waiter {
    ticket: u64,
    wait: Wait,
    /// The positions of the wait's objects in [`Instance::objects`], the alert's last.
    objects: Vec<usize>,
    decided: Option<Satisfied>,
}

#[derive(Default)]
struct Instance {
    flaw: Option<Flaw>,
    objects: Vec<State>,
    closed: Vec<bool>,
    /// In the order of arrival.
    waiters: Vec<Waiter>,
    last_ticket: u64,
}

/// One instance, in this process only.
pub struct Reference {
    id: u64,
    flaw: Option<Flaw>,
    instance: Lock<Instance>,
    woken: Condvar,
}

impl Reference {
    /// A new instance.
    pub fn open() -> Reference {
        Reference::planted(None)
    }

    /// A new instance with a mistake.
    pub fn planted(flaw: Option<Flaw>) -> Reference {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Reference {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            flaw,
            instance: Lock::new(Instance { flaw, ..Instance::default() }),
            woken: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Instance> {
        self.instance.lock().expect("a panic ends the process at once")
    }

    fn wake(&self) {
        if self.flaw != Some(Flaw::LostWake) {
            self.woken.notify_all();
        }
    }

    fn create(&self, state: State) -> Outcome<Object> {
        let mut instance = self.lock();
        instance.objects.push(state);
        instance.closed.push(false);
        Ok(Object(self.id << 32 | instance.objects.len() as u64))
    }

    fn position(&self, instance: &Instance, object: Object) -> Outcome<usize> {
        if object.0 >> 32 != self.id {
            return Err(EINVAL);
        }
        let position = (object.0 as u32 as usize).wrapping_sub(1);
        match instance.closed.get(position) {
            Some(false) => Ok(position),
            _ => Err(EBADF),
        }
    }

    /// Lets `change` alter an event, offers it if it is signaled then, and gives the state before.
    fn change_event(&self, event: Object, change: impl FnOnce(&mut Instance, usize)) -> Outcome<u32> {
        let mut instance = self.lock();
        let position = self.position(&instance, event)?;
        let State::Event(Event { signaled: previous, .. }) = instance.objects[position] else {
            return Err(EINVAL);
        };
        change(&mut instance, position);
        self.wake();
        Ok(previous)
    }

    fn positions_of(&self, instance: &Instance, wait: &Wait) -> Outcome<Vec<usize>> {
        if wait.owner == 0 || wait.objects.len() > 64 {
            return Err(EINVAL);
        }
        let objects = wait.objects.iter().chain(&wait.alert);
        let positions: Vec<usize> =
            objects.map(|object| self.position(instance, *object)).collect::<Outcome<_>>().map_err(|_| EINVAL)?;
        let twice = (1..positions.len()).any(|later| positions[..later].contains(&positions[later]));
        if wait.all && twice && self.flaw != Some(Flaw::DuplicatesAllowed) {
            return Err(EINVAL);
        }
        Ok(positions)
    }
}

impl Instance {
    fn has(&self, flaw: Flaw) -> bool {
        self.flaw == Some(flaw)
    }

    fn satisfiable(&self, position: usize, owner: u32) -> bool {
        match self.objects[position] {
            State::Semaphore(semaphore) => semaphore.count > 0,
            State::Mutex(mutex) => (mutex.owner == 0 || mutex.owner == owner) && mutex.count < u32::MAX,
            State::Event(event) => event.signaled == 1,
        }
    }

    /// Acquires; true when it was an abandoned mutex.
    fn acquire(&mut self, position: usize, owner: u32) -> bool {
        let (short, stays) = (self.has(Flaw::ShortCounts), self.has(Flaw::AbandonedStays));
        match &mut self.objects[position] {
            State::Semaphore(semaphore) => semaphore.count -= 1,
            State::Mutex(mutex) => {
                let count = mutex.count + 1;
                let abandoned = mutex.abandoned;
                *mutex = Mutex { owner, count: if short { count & 31 } else { count }, abandoned: abandoned && stays };
                return abandoned;
            }
            State::Event(event) => event.signaled = event.manual,
        }
        false
    }

    /// Acquires for waiter `who` what lies at these places of its list, and decides its wait.
    fn decide(&mut self, who: usize, index: usize, acquired: std::ops::Range<usize>) {
        let owner = self.waiters[who].wait.owner;
        let mut abandoned = false;
        for place in acquired {
            let position = self.waiters[who].objects[place];
            abandoned |= self.acquire(position, owner);
        }
        self.waiters[who].decided = Some(Satisfied { index: index as u32, abandoned });
    }

    /// Offers the object to everybody who waits for it.
    fn offer(&mut self, position: usize) {
        let mut order: Vec<usize> = (0..self.waiters.len()).collect();
        if self.has(Flaw::NewestFirst) {
            order.reverse();
        }
        if self.has(Flaw::AnyBeforeAll) {
            self.offer_to_any(position, &order);
            self.offer_to_all(position, &order);
        } else {
            self.offer_to_all(position, &order);
            self.offer_to_any(position, &order);
        }
    }

    fn offer_to_all(&mut self, position: usize, order: &[usize]) {
        for &who in order {
            if self.waiters[who].objects.contains(&position) {
                self.try_all(who);
            }
        }
    }

    fn offer_to_any(&mut self, position: usize, order: &[usize]) {
        let waits_for_all = |waiter: &Waiter| waiter.wait.all && waiter.objects.contains(&position);
        if self.has(Flaw::AllReserves) && self.waiters.iter().any(waits_for_all) {
            return;
        }
        for &who in order {
            let Waiter { wait, objects, decided, .. } = &self.waiters[who];
            // A wait-all can take only the alert alone.
            let first = if wait.all { wait.objects.len() } else { 0 };
            let place = (first..objects.len()).find(|place| objects[*place] == position);
            let (Some(place), None) = (place, decided) else { continue };
            if self.satisfiable(position, wait.owner) {
                self.decide(who, place, place..place + 1);
                if self.has(Flaw::ManualSatisfiesOne) {
                    return;
                }
            } else if self.has(Flaw::IneligibleBlocks) {
                return;
            }
        }
    }

    fn try_all(&mut self, who: usize) {
        let Waiter { wait, objects, decided, .. } = &self.waiters[who];
        let wanted = &objects[..wait.objects.len()];
        if wait.all && decided.is_none() && wanted.iter().all(|object| self.satisfiable(*object, wait.owner)) {
            self.decide(who, 0, 0..wanted.len());
        }
    }

    /// The first attempt of the newest waiter: its objects in their order, then the alert.
    fn first_attempt(&mut self) {
        let who = self.waiters.len() - 1;
        let mut objects = self.waiters[who].objects.clone();
        if self.has(Flaw::AlertFirst) {
            objects.reverse();
        }
        if self.waiters[who].wait.all {
            self.try_all(who);
            objects.drain(..self.waiters[who].wait.objects.len());
        }
        for object in objects {
            if self.waiters[who].decided.is_none() {
                self.offer(object);
            }
        }
    }

    fn leave(&mut self, ticket: u64) -> Option<Satisfied> {
        let who = self.waiters.iter().position(|waiter| waiter.ticket == ticket).expect("it waits");
        let decided = self.waiters[who].decided;
        if decided.is_some() || !self.has(Flaw::TimedOutStays) {
            self.waiters.remove(who);
        }
        decided
    }
}

impl Face for Reference {
    fn semaphore_create(&self, count: u32, max: u32) -> Outcome<Object> {
        if count > max {
            return Err(EINVAL);
        }
        self.create(State::Semaphore(Semaphore { count, max }))
    }

    fn semaphore_release(&self, semaphore: Object, add: u32) -> Outcome<u32> {
        let mut instance = self.lock();
        let saturates = instance.has(Flaw::OverflowSaturates);
        let position = self.position(&instance, semaphore)?;
        let State::Semaphore(Semaphore { count, max }) = &mut instance.objects[position] else {
            return Err(EINVAL);
        };
        let previous = *count;
        let Some(next) = previous.checked_add(add).filter(|next| next <= max) else {
            if saturates {
                *count = *max;
            }
            return Err(EOVERFLOW);
        };
        *count = next;
        offer_now_or_later(&mut instance, position);
        self.wake();
        Ok(if self.flaw == Some(Flaw::PreviousIsNext) { next } else { previous })
    }

    fn semaphore_read(&self, semaphore: Object) -> Outcome<Semaphore> {
        let instance = self.lock();
        match instance.objects[self.position(&instance, semaphore)?] {
            State::Semaphore(state) => Ok(state),
            _ => Err(EINVAL),
        }
    }

    fn mutex_create(&self, owner: u32, count: u32) -> Outcome<Object> {
        if (owner == 0) != (count == 0) {
            return Err(EINVAL);
        }
        self.create(State::Mutex(Mutex { owner, count, abandoned: false }))
    }

    fn mutex_unlock(&self, mutex: Object, owner: u32) -> Outcome<u32> {
        let mut instance = self.lock();
        let position = self.position(&instance, mutex)?;
        let State::Mutex(state) = &mut instance.objects[position] else {
            return Err(EINVAL);
        };
        if owner == 0 {
            return Err(EINVAL);
        }
        if state.owner != owner {
            return Err(EPERM);
        }
        let previous = state.count;
        state.count -= 1;
        if state.count == 0 {
            state.owner = 0;
        }
        offer_now_or_later(&mut instance, position);
        self.wake();
        Ok(previous)
    }

    fn mutex_kill(&self, mutex: Object, owner: u32) -> Outcome<()> {
        let mut instance = self.lock();
        let position = self.position(&instance, mutex)?;
        let State::Mutex(state) = &mut instance.objects[position] else {
            return Err(EINVAL);
        };
        if owner == 0 {
            return Err(EINVAL);
        }
        if state.owner != owner {
            return Err(EPERM);
        }
        *state = Mutex { owner: 0, count: 0, abandoned: self.flaw != Some(Flaw::KillForgets) };
        offer_now_or_later(&mut instance, position);
        self.wake();
        Ok(())
    }

    fn mutex_read(&self, mutex: Object) -> Outcome<Mutex> {
        let instance = self.lock();
        match instance.objects[self.position(&instance, mutex)?] {
            State::Mutex(state) => Ok(state),
            _ => Err(EINVAL),
        }
    }

    fn event_create(&self, manual: u32, signaled: u32) -> Outcome<Object> {
        self.create(State::Event(Event { manual: u32::from(manual != 0), signaled: u32::from(signaled != 0) }))
    }

    fn event_set(&self, event: Object) -> Outcome<u32> {
        self.change_event(event, |instance, position| {
            instance.set_signaled(position, 1);
            offer_now_or_later(instance, position);
        })
    }

    fn event_reset(&self, event: Object) -> Outcome<u32> {
        self.change_event(event, |instance, position| instance.set_signaled(position, 0))
    }

    fn event_pulse(&self, event: Object) -> Outcome<u32> {
        self.change_event(event, |instance, position| {
            instance.set_signaled(position, 1);
            if !instance.has(Flaw::PulseReachesNobody) {
                instance.offer(position);
            }
            instance.set_signaled(position, 0);
        })
    }

    fn event_read(&self, event: Object) -> Outcome<Event> {
        let instance = self.lock();
        match instance.objects[self.position(&instance, event)?] {
            State::Event(state) => Ok(state),
            _ => Err(EINVAL),
        }
    }

    fn close(&self, object: Object) -> Outcome<()> {
        let mut instance = self.lock();
        let position = self.position(&instance, object)?;
        instance.closed[position] = true;
        Ok(())
    }

    fn wait(&self, wait: &Wait) -> Outcome<Satisfied> {
        let mut instance = self.lock();
        let objects = self.positions_of(&instance, wait)?;
        if self.flaw == Some(Flaw::PastDeadlineFirst) && wait.deadline.passed() {
            return Err(ETIMEDOUT);
        }
        instance.last_ticket += 1;
        let ticket = instance.last_ticket;
        instance.waiters.push(Waiter { ticket, wait: wait.clone(), objects, decided: None });
        instance.first_attempt();
        loop {
            let decided = instance.waiters.iter().any(|waiter| waiter.ticket == ticket && waiter.decided.is_some());
            if decided || wait.deadline.passed() {
                return instance.leave(ticket).ok_or(ETIMEDOUT);
            }
            instance = match wait.deadline.left() {
                None => self.woken.wait(instance).expect("a panic ends the process at once"),
                Some(left) => self.woken.wait_timeout(instance, left).expect("a panic ends the process at once").0,
            };
            if self.flaw == Some(Flaw::NoHandOff) {
                drop(instance);
                std::thread::sleep(LATER);
                instance = self.lock();
                instance.offer_everything();
            }
        }
    }

    fn in_child(&self) -> Box<dyn Face> {
        unreachable!("a child process would have a copy of the objects, not the objects")
    }
}

impl Instance {
    fn set_signaled(&mut self, position: usize, signaled: u32) {
        if let State::Event(event) = &mut self.objects[position] {
            event.signaled = signaled;
        }
    }

    fn offer_everything(&mut self) {
        for position in 0..self.objects.len() {
            self.offer(position);
        }
    }
}

fn offer_now_or_later(instance: &mut Instance, position: usize) {
    if !instance.has(Flaw::NoHandOff) {
        instance.offer(position);
    }
}
