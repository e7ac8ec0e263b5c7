// SPDX-License-Identifier: MIT OR Apache-2.0
//! Asynchronous waits, with an executor of a few lines: what they acquire, what is given back, and who has no part in them.

mod child;
mod watchdog;

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Barrier, Mutex, Once};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;
use std::{panic, process};

use ntux::{
    Arena, AsyncWait, Capacity, Deadline, Error, Event, MutexObject, Object, Reset, Satisfied, Semaphore, Timer, Wait,
    within,
};

const WAITERS: u32 = 128;

fn arena() -> Arena {
    arena_with(Capacity { objects: 256, waiters: WAITERS })
}

fn arena_with(capacity: Capacity) -> Arena {
    watchdog::start();
    notice_panics();
    Arena::create(capacity).unwrap()
}

const PLANTED: &str = "planted: no harm";

/// The reactor's thread panics for nobody's fault but a waker's: the test process ends.
fn notice_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            before(info);
            if thread::current().name() == Some("ntux-reactor")
                && info.payload().downcast_ref::<&str>() != Some(&PLANTED)
            {
                process::abort();
            }
        }));
    });
}

fn event(arena: &Arena) -> Event {
    Event::create(arena, Reset::Auto, false).unwrap()
}

fn satisfied(index: u32) -> Satisfied {
    Satisfied { index, abandoned: false }
}

fn patiently() -> Deadline {
    within(Duration::from_secs(20))
}

/// The whole executor.
struct Unparks(Thread);

impl Wake for Unparks {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unparks(thread::current())));
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        thread::park();
    }
}

/// Says which task was woken.
struct Tells(usize, Mutex<Sender<usize>>);

impl Wake for Tells {
    fn wake(self: Arc<Self>) {
        // Nobody may be interested any more.
        let _ = self.1.lock().unwrap().send(self.0);
    }
}

/// A future that was polled once and is not ready, and what tells that its task was woken.
fn pending<F: Future + Unpin>(mut future: F) -> (F, std::sync::mpsc::Receiver<usize>)
where
    F::Output: std::fmt::Debug,
{
    let (woken, wakes) = channel();
    let waker = Waker::from(Arc::new(Tells(0, Mutex::new(woken))));
    let polled = Pin::new(&mut future).poll(&mut Context::from_waker(&waker));
    assert!(polled.is_pending(), "{polled:?}");
    (future, wakes)
}

fn poll<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
}

/// When a future is dropped: at once after the signal, or after its task was woken.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Dropped {
    AtOnce,
    Woken,
}

/// Drops a pending wait after `signal`.
fn drop_after<R>(wait: AsyncWait, when: Dropped, signal: impl FnOnce() -> R) {
    let (wait, wakes) = pending(wait);
    signal();
    if when == Dropped::Woken {
        wakes.recv_timeout(Duration::from_secs(20)).unwrap();
    }
    drop(wait);
}

fn both_ways(test: impl Fn(Dropped)) {
    for _ in 0..100 {
        test(Dropped::AtOnce);
    }
    test(Dropped::Woken);
}

#[test]
fn a_wait_may_be_moved_to_another_thread_and_needs_no_pin() {
    fn given<T: Send + Sync + Unpin + 'static>(_: &T) {}
    fn sent<T: Send>(_: &T) {}
    let arena = arena();
    given(&arena.wait_any_async(&[], 1));
    sent(&event(&arena).wait_async());
    sent(&arena.wait_any_async(&[], 1).cancel());
}

#[test]
fn what_is_signaled_is_acquired_by_the_first_poll() {
    let arena = arena();
    let event = Event::create(&arena, Reset::Auto, true).unwrap();
    let semaphore = Semaphore::create(&arena, 1, 1).unwrap();
    let mutex = MutexObject::create(&arena).unwrap();
    let timer = Timer::create(&arena, Reset::Manual).unwrap();
    timer.set_after(Duration::ZERO, Duration::ZERO).unwrap();
    block_on(async {
        event.wait_async().await.unwrap();
        semaphore.wait_async().await.unwrap();
        timer.wait_async().await.unwrap();
        assert_eq!(mutex.lock_async(7).await, Ok(satisfied(0)));
    });
    assert!(!event.read().unwrap().signaled);
    assert_eq!(semaphore.read().unwrap().count, 0);
    assert_eq!(mutex.unlock(7), Ok(1));
    let mut both = arena.wait_all_async(&[timer.object(), mutex.object()], 8);
    assert_eq!(poll(&mut both), Poll::Ready(Ok(satisfied(0))));
    assert_eq!(mutex.read().unwrap().owner, 8);
}

#[test]
fn a_task_is_woken_by_a_signal() {
    let arena = arena();
    let (first, second) = (event(&arena), event(&arena));
    thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..1000 {
                second.set().unwrap();
                first.wait(patiently()).unwrap();
            }
        });
        block_on(async {
            for _ in 0..1000 {
                assert_eq!(arena.wait_any_async(&[first.object(), second.object()], 1).await, Ok(satisfied(1)));
                first.set().unwrap();
                // Which of the two takes that is the other thread's: it has waited, or will.
                while first.read().unwrap().signaled {
                    thread::yield_now();
                }
            }
        });
    });
}

#[test]
fn a_wait_stands_in_the_order_of_those_who_wait() {
    let arena = arena();
    let event = event(&arena);
    let waits: Vec<_> = (0..10).map(|_| pending(arena.wait_any_async(&[event.object()], 1))).collect();
    for (mut wait, wakes) in waits {
        event.set().unwrap();
        wakes.recv_timeout(Duration::from_secs(20)).unwrap();
        assert_eq!(poll(&mut wait), Poll::Ready(Ok(satisfied(0))));
    }
}

#[test]
fn the_last_waker_counts() {
    let arena = arena();
    let event = event(&arena);
    let (mut wait, wakes) = pending(arena.wait_any_async(&[event.object()], 1));
    let (sender, others) = channel();
    let waker = Waker::from(Arc::new(Tells(5, Mutex::new(sender))));
    assert!(Pin::new(&mut wait).poll(&mut Context::from_waker(&waker)).is_pending());
    event.set().unwrap();
    assert_eq!(others.recv_timeout(Duration::from_secs(20)), Ok(5));
    assert!(wakes.try_recv().is_err(), "the first one is forgotten");
}

#[test]
fn wrong_waits_fail_and_wait_for_nothing() {
    let arena = arena();
    let [event, closed] = [event(&arena), event(&arena)];
    arena.close(closed.object()).unwrap();
    let any = |objects: &[Object], owner| block_on(arena.wait_any_async(objects, owner));
    assert_eq!(any(&[event.object()], 0), Err(Error::Invalid));
    assert_eq!(any(&[event.object(); 65], 1), Err(Error::Invalid));
    assert_eq!(any(&[event.object(), closed.object()], 1), Err(Error::NoSuchObject));
    assert_eq!(block_on(closed.wait_async()), Err(Error::NoSuchObject));
    assert_eq!(block_on(arena.wait_all_async(&[event.object(); 2], 1)), Err(Error::Invalid));
    assert_eq!(block_on(arena.wait_all_async(&[], 1)), Ok(satisfied(0)));
    event.set().unwrap();
    assert!(event.read().unwrap().signaled, "nothing waits");
    drop(pending(arena.wait_any_async(&[], 1)));
}

#[test]
#[should_panic = "polled after it was over"]
fn a_result_is_returned_once() {
    let arena = arena();
    let event = Event::create(&arena, Reset::Auto, true).unwrap();
    let mut wait = arena.wait_any_async(&[event.object()], 1);
    assert!(poll(&mut wait).is_ready());
    let _ = poll(&mut wait);
}

#[test]
fn a_wait_that_was_not_polled_is_none() {
    let arena = arena();
    let event = event(&arena);
    let wait = arena.wait_any_async(&[event.object()], 1);
    event.set().unwrap();
    drop(wait);
    drop(event.wait_async());
    assert_eq!(block_on(arena.wait_any_async(&[event.object()], 1).cancel()), Ok(None));
    assert!(event.read().unwrap().signaled);
}

#[test]
fn a_dropped_wait_needs_nothing_and_takes_nothing() {
    let arena = arena();
    let event = event(&arena);
    for _ in 0..10 * WAITERS {
        drop(pending(arena.wait_any_async(&[event.object()], 1)));
    }
    assert_eq!(event.set(), Ok(false));
    assert!(event.read().unwrap().signaled, "nobody waits");
}

#[test]
fn an_event_is_set_again() {
    let arena = arena();
    both_ways(|when| {
        let event = event(&arena);
        drop_after(arena.wait_any_async(&[event.object()], 1), when, || event.set().unwrap());
        assert_eq!(event.wait(patiently()), Ok(()), "given back");
        assert_eq!(event.wait(Deadline::NOW), Err(Error::TimedOut), "once");
    });
}

#[test]
fn who_waits_behind_gets_what_is_given_back() {
    let arena = arena();
    both_ways(|when| {
        let event = event(&arena);
        let first = arena.wait_any_async(&[event.object()], 1);
        let (first, wakes) = pending(first);
        let (mut second, wakes_of_second) = pending(arena.wait_any_async(&[event.object()], 2));
        event.set().unwrap();
        if when == Dropped::Woken {
            wakes.recv_timeout(Duration::from_secs(20)).unwrap();
        }
        drop(first);
        wakes_of_second.recv_timeout(Duration::from_secs(20)).unwrap();
        assert_eq!(poll(&mut second), Poll::Ready(Ok(satisfied(0))));
        assert!(!event.read().unwrap().signaled);
    });
}

#[test]
fn a_unit_is_released() {
    let arena = arena();
    both_ways(|when| {
        let semaphore = Semaphore::create(&arena, 0, 3).unwrap();
        drop_after(arena.wait_any_async(&[semaphore.object()], 1), when, || semaphore.release(3).unwrap());
        for _ in 0..3 {
            assert_eq!(semaphore.wait(patiently()), Ok(()));
        }
        assert_eq!(semaphore.wait(Deadline::NOW), Err(Error::TimedOut));
    });
}

#[test]
fn a_mutex_is_unlocked() {
    let arena = arena();
    both_ways(|when| {
        let mutex = MutexObject::create_with(&arena, 7, 1).unwrap();
        drop_after(mutex.lock_async(8), when, || mutex.unlock(7).unwrap());
        assert_eq!(mutex.lock(9, patiently()), Ok(satisfied(0)));
        assert_eq!(mutex.read().unwrap().count, 1);
    });
}

#[test]
fn a_mutex_that_was_abandoned_is_abandoned_again() {
    let arena = arena();
    both_ways(|when| {
        let mutex = MutexObject::create_with(&arena, 7, 1).unwrap();
        drop_after(mutex.lock_async(8), when, || mutex.kill(7).unwrap());
        assert_eq!(mutex.lock(9, patiently()), Ok(Satisfied { index: 0, abandoned: true }));
    });
}

#[test]
fn what_the_owner_had_before_it_keeps() {
    let arena = arena();
    let (mutex, event) = (MutexObject::create_with(&arena, 8, 2).unwrap(), event(&arena));
    let other = MutexObject::create_with(&arena, 7, 1).unwrap();
    let all = [mutex.object(), other.object(), event.object()];
    drop_after(arena.wait_all_async(&all, 8), Dropped::Woken, || {
        event.set().unwrap();
        other.kill(7).unwrap();
    });
    assert_eq!((mutex.read().unwrap().owner, mutex.read().unwrap().count), (8, 2));
    assert!(other.lock(9, Deadline::NOW).unwrap().abandoned);
    assert!(event.read().unwrap().signaled);
}

#[test]
fn all_of_several_are_given_back() {
    let arena = arena();
    both_ways(|when| {
        let (event, semaphore) = (event(&arena), Semaphore::create(&arena, 0, 1).unwrap());
        let (mutex, open) = (MutexObject::create(&arena).unwrap(), Event::create(&arena, Reset::Manual, true).unwrap());
        let all = [event.object(), semaphore.object(), mutex.object(), open.object()];
        drop_after(arena.wait_all_async(&all, 5), when, || {
            semaphore.release(1).unwrap();
            event.set().unwrap();
        });
        assert_eq!(arena.wait_all(&all, Wait::by(6).until(patiently())), Ok(satisfied(0)));
        assert_eq!(arena.wait_any(&all[..2], Wait::by(6).until(Deadline::NOW)), Err(Error::TimedOut));
    });
}

#[test]
fn of_several_the_one_is_given_back_that_was_acquired() {
    let arena = arena();
    both_ways(|when| {
        let events = [event(&arena), event(&arena), event(&arena)];
        let objects = events.each_ref().map(Event::object);
        drop_after(arena.wait_any_async(&objects, 1), when, || events[1].set().unwrap());
        assert_eq!(arena.wait_any(&objects, Wait::by(1).until(patiently())), Ok(satisfied(1)));
        assert_eq!(arena.wait_any(&objects, Wait::by(1).until(Deadline::NOW)), Err(Error::TimedOut));
    });
}

#[test]
fn a_firing_is_lost_by_a_drop_and_not_by_cancel() {
    let arena = arena();
    let timer = Timer::create(&arena, Reset::Auto).unwrap();
    let wait = |keep: bool| {
        timer.cancel().unwrap();
        let (wait, wakes) = pending(arena.wait_any_async(&[timer.object()], 1));
        timer.set_after(Duration::from_millis(1), Duration::ZERO).unwrap();
        wakes.recv_timeout(Duration::from_secs(20)).unwrap();
        if keep { block_on(wait.cancel()).unwrap() } else { None }
    };
    assert_eq!(wait(true), Some(satisfied(0)));
    assert_eq!(wait(false), None);
    assert_eq!(timer.wait(Deadline::NOW), Err(Error::TimedOut));
    let open = Timer::create(&arena, Reset::Manual).unwrap();
    drop_after(arena.wait_any_async(&[open.object()], 1), Dropped::Woken, || {
        open.set_after(Duration::from_millis(1), Duration::ZERO).unwrap();
    });
    assert_eq!(open.wait(Deadline::NOW), Ok(()));
}

#[test]
fn timers_fire_while_only_tasks_wait() {
    let arena = arena();
    let tick = Timer::create(&arena, Reset::Auto).unwrap();
    tick.set_after(Duration::from_millis(2), Duration::from_millis(2)).unwrap();
    block_on(async {
        for _ in 0..10 {
            tick.wait_async().await.unwrap();
        }
    });
    // As a deadline.
    let (never, limit) = (event(&arena), Timer::create(&arena, Reset::Manual).unwrap());
    limit.set_after(Duration::from_millis(5), Duration::ZERO).unwrap();
    assert_eq!(block_on(arena.wait_any_async(&[never.object(), limit.object()], 1)), Ok(satisfied(1)));
}

#[test]
fn cancelling_returns_what_was_acquired() {
    let arena = arena();
    for _ in 0..200 {
        let event = event(&arena);
        let (wait, _) = pending(arena.wait_any_async(&[event.object()], 1));
        event.set().unwrap();
        assert_eq!(block_on(wait.cancel()), Ok(Some(satisfied(0))));
        assert_eq!(event.wait(Deadline::NOW), Err(Error::TimedOut), "the caller has it");
        let (wait, _) = pending(arena.wait_any_async(&[event.object()], 1));
        assert_eq!(block_on(wait.cancel()), Ok(None));
        event.set().unwrap();
        assert_eq!(event.wait(Deadline::NOW), Ok(()));
    }
}

#[test]
fn nothing_is_lost_or_doubled_between_a_drop_and_a_signal() {
    const ROUNDS: usize = 5_000;
    let arena = arena();
    let (event, semaphore) = (event(&arena), Semaphore::create(&arena, 0, u32::MAX).unwrap());
    let mutex = MutexObject::create(&arena).unwrap();
    let (begin, ended) = (Barrier::new(2), Barrier::new(2));
    thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..ROUNDS {
                begin.wait();
                event.set().unwrap();
                semaphore.release(2).unwrap();
                mutex.unlock(7).unwrap();
                ended.wait();
            }
        });
        for round in 0..ROUNDS {
            mutex.lock(7, patiently()).unwrap();
            let of = [event.object(), semaphore.object(), mutex.object()];
            let waits = of.map(|object| pending(arena.wait_any_async(&[object], 8)));
            begin.wait();
            if round % 2 == 0 {
                thread::yield_now();
            }
            drop(waits);
            ended.wait();
            event.wait(patiently()).unwrap();
            semaphore.wait(patiently()).unwrap();
            semaphore.wait(patiently()).unwrap();
            mutex.lock(9, patiently()).unwrap();
            assert_eq!(arena.wait_any(&of[..2], Wait::by(1).until(Deadline::NOW)), Err(Error::TimedOut), "doubled");
            assert_eq!(mutex.unlock(9), Ok(1));
        }
    });
}

#[test]
fn a_storm_of_cancellations_loses_and_invents_nothing() {
    const UNITS: u32 = 20_000;
    const TASKS: usize = 4;
    let arena = arena();
    let semaphores: Vec<Semaphore> = (0..5).map(|_| Semaphore::create(&arena, 0, UNITS).unwrap()).collect();
    let objects: Vec<Object> = semaphores.iter().map(Semaphore::object).collect();
    let stop = Event::create(&arena, Reset::Manual, false).unwrap();
    let taken: u32 = thread::scope(|scope| {
        let canceller = |first: usize| {
            let mut taken = 0;
            for turn in first.. {
                if stop.read().unwrap().signaled {
                    break;
                }
                let mut wait = arena.wait_any_async(&[objects[turn % 5], objects[(turn + 1) % 5]], 1);
                taken += match poll(&mut wait) {
                    Poll::Ready(result) => result.map(|_| 1).unwrap(),
                    Poll::Pending if turn % 7 == 0 => block_on(wait).map(|_| 1).unwrap(),
                    Poll::Pending if turn % 3 == 0 => block_on(wait.cancel()).unwrap().map_or(0, |_| 1),
                    Poll::Pending => 0,
                };
            }
            taken
        };
        let cancellers: Vec<_> = (0..TASKS).map(|first| scope.spawn(move || canceller(first))).collect();
        for unit in 0..UNITS {
            semaphores[unit as usize % 5].release(1).unwrap();
        }
        stop.set().unwrap();
        // Those that wait to the end need something.
        let mut more = 0;
        while !cancellers.iter().all(|canceller| canceller.is_finished()) {
            if semaphores.iter().all(|semaphore| semaphore.read().unwrap().count == 0) {
                more += semaphores.iter().map(|semaphore| semaphore.release(1).map(|_| 1).unwrap()).sum::<u32>();
            }
            thread::yield_now();
        }
        let taken: u32 = cancellers.into_iter().map(|canceller| canceller.join().unwrap()).sum();
        taken.wrapping_sub(more)
    });
    let mut left = 0;
    while taken.wrapping_add(left) != UNITS {
        arena.wait_any(&objects, Wait::by(1).until(patiently())).unwrap();
        left += 1;
    }
    // What the other thread gives back late would come now.
    let late = within(Duration::from_millis(50));
    assert_eq!(arena.wait_any(&objects, Wait::by(1).until(late)), Err(Error::TimedOut));
}

#[test]
fn ten_thousand_wait_for_ten_thousand_events() {
    const COUNT: usize = 10_000;
    let arena = arena_with(Capacity { objects: 16_384, waiters: 16_384 });
    let events: Vec<Event> = (0..COUNT).map(|_| event(&arena)).collect();
    let (woken, wakes) = channel();
    let mut waits: Vec<AsyncWait> = Vec::new();
    for (number, event) in events.iter().enumerate() {
        let mut wait = arena.wait_any_async(&[event.object()], 1);
        let waker = Waker::from(Arc::new(Tells(number, Mutex::new(woken.clone()))));
        assert!(Pin::new(&mut wait).poll(&mut Context::from_waker(&waker)).is_pending());
        waits.push(wait);
    }
    let mut left: BTreeSet<usize> = (0..COUNT).collect();
    for number in (0..COUNT).map(|number| number * 7_919 % COUNT) {
        events[number].set().unwrap();
        if number % 2 == 0 {
            let woken = wakes.recv_timeout(Duration::from_secs(30)).unwrap();
            assert_eq!(poll(&mut waits[woken]), Poll::Ready(Ok(satisfied(0))));
            assert!(left.remove(&woken), "once");
        }
    }
    while !left.is_empty() {
        let woken = wakes.recv_timeout(Duration::from_secs(30)).unwrap();
        assert_eq!(poll(&mut waits[woken]), Poll::Ready(Ok(satisfied(0))));
        assert!(left.remove(&woken), "once");
    }
    assert!(events.iter().all(|event| !event.read().unwrap().signaled));
}

#[test]
fn a_process_that_is_killed_while_it_signals_holds_up_no_task() {
    let arena = arena();
    let events: Vec<Event> = (0..16).map(|_| event(&arena)).collect();
    let objects: Vec<Object> = events.iter().map(Event::object).collect();
    for round in 0..20 {
        // SAFETY: the child only uses its own copies, and never leaves.
        let child = unsafe { libc::fork() };
        if child == 0 {
            watchdog::start();
            for turn in 0.. {
                let _ = events[turn % events.len()].set();
            }
        }
        // Some signals arrive, and the process ends in the middle of others.
        for turn in 0..100 * (round + 1) {
            block_on(arena.wait_any_async(&[objects[turn % 16]], 1)).unwrap();
        }
        // SAFETY: our own child, not yet waited for.
        assert_eq!(unsafe { libc::kill(child, libc::SIGKILL) }, 0);
        // SAFETY: no place for the answer is asked for.
        assert_eq!(unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) }, child);
        for event in &events {
            event.set().unwrap();
            block_on(event.wait_async()).unwrap();
        }
    }
}

#[test]
fn a_child_has_no_part_in_waits_of_its_parent_and_makes_its_own() {
    let arena = arena();
    let (first, second, granted) = (event(&arena), event(&arena), event(&arena));
    let (mut begun, wakes) = pending(arena.wait_any_async(&[first.object()], 1));
    let (taken, wakes_of_taken) = pending(arena.wait_any_async(&[granted.object()], 1));
    granted.set().unwrap();
    wakes_of_taken.recv_timeout(Duration::from_secs(20)).unwrap();
    let mut fresh = arena.wait_any_async(&[second.object()], 1);
    assert!(child::says(|| {
        let refused = poll(&mut begun) == Poll::Ready(Err(Error::Invalid));
        // SAFETY: the parent has them, in its own memory.
        let (mine, gone) = unsafe { (std::ptr::read(&begun), std::ptr::read(&taken)) };
        drop((mine, gone));
        let nothing_given_back = !granted.read().unwrap().signaled;
        // A wait of its own, that sleeps.
        let waits = poll(&mut fresh).is_pending();
        let copy = second.clone();
        thread::spawn(move || copy.set());
        refused && nothing_given_back && waits && block_on(&mut fresh) == Ok(satisfied(0))
    }));
    first.set().unwrap();
    wakes.recv_timeout(Duration::from_secs(20)).unwrap();
    assert_eq!(poll(&mut begun), Poll::Ready(Ok(satisfied(0))));
    assert_eq!(block_on(taken.cancel()), Ok(Some(satisfied(0))));
    second.set().unwrap();
    assert_eq!(poll(&mut fresh), Poll::Ready(Ok(satisfied(0))));
}

#[test]
fn a_waker_that_panics_harms_its_own_task_only() {
    struct Panics;
    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            panic::panic_any(PLANTED);
        }
    }
    let arena = arena();
    let (bad, good) = (event(&arena), event(&arena));
    let mut wait = arena.wait_any_async(&[bad.object()], 1);
    assert!(Pin::new(&mut wait).poll(&mut Context::from_waker(&Waker::from(Arc::new(Panics)))).is_pending());
    let (mut other, wakes) = pending(arena.wait_any_async(&[good.object()], 1));
    bad.set().unwrap();
    good.set().unwrap();
    wakes.recv_timeout(Duration::from_secs(20)).unwrap();
    assert_eq!(poll(&mut other), Poll::Ready(Ok(satisfied(0))));
    assert_eq!(block_on(wait), Ok(satisfied(0)));
}

#[test]
fn a_waker_may_use_and_end_what_it_likes() {
    /// Has the last handles of an attachment.
    struct Ends(Mutex<Option<(Arena, Object, AsyncWait)>>, Mutex<Sender<usize>>);
    impl Wake for Ends {
        fn wake(self: Arc<Self>) {
            let (arena, object, mut wait) = self.0.lock().unwrap().take().unwrap();
            assert_eq!(poll(&mut wait), Poll::Ready(Ok(satisfied(0))));
            let mut more = arena.wait_any_async(&[object], 2);
            assert!(poll(&mut more).is_pending());
            drop((wait, more, arena));
            self.1.lock().unwrap().send(1).unwrap();
        }
    }
    let arena = arena();
    let event = event(&arena);
    for _ in 0..50 {
        let attached = Arena::attach(arena.fd()).unwrap();
        let (sender, ended) = channel();
        let ends = Arc::new(Ends(Mutex::new(None), Mutex::new(sender)));
        let mut wait = attached.wait_any_async(&[event.object()], 1);
        assert!(Pin::new(&mut wait).poll(&mut Context::from_waker(&Waker::from(Arc::clone(&ends)))).is_pending());
        *ends.0.lock().unwrap() = Some((attached, event.object(), wait));
        event.set().unwrap();
        assert_eq!(ended.recv_timeout(Duration::from_secs(20)), Ok(1));
    }
}

#[test]
fn arenas_with_waits_come_and_go() {
    watchdog::start();
    notice_panics();
    // More than there can be threads or mappings, if any stayed.
    for round in 0..3_000 {
        let arena = Arena::create_private(Capacity { objects: 16, waiters: 16 }).unwrap();
        let event = Event::create(&arena, Reset::Auto, false).unwrap();
        let (mut wait, wakes) = pending(arena.wait_any_async(&[event.object()], 1));
        if round % 2 == 0 {
            event.set().unwrap();
            wakes.recv_timeout(Duration::from_secs(20)).unwrap();
            assert!(poll(&mut wait).is_ready());
        }
    }
}
