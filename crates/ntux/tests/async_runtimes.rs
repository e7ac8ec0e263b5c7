// SPDX-License-Identifier: MIT OR Apache-2.0
//! Asynchronous waits in the runtimes that people use: tokio and smol.

mod watchdog;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use ntux::{Arena, Capacity, Deadline, Error, Event, MutexObject, Reset, Semaphore};

const WAITERS: u32 = 256;

fn arena() -> Arena {
    watchdog::start();
    Arena::create(Capacity { objects: 2048, waiters: WAITERS }).unwrap()
}

fn event(arena: &Arena) -> Event {
    Event::create(arena, Reset::Auto, false).unwrap()
}

#[tokio::test]
async fn tokio_selects_one_of_several() {
    let arena = arena();
    let (first, second) = (event(&arena), Semaphore::create(&arena, 0, 9).unwrap());
    for turn in 0..500 {
        if turn % 2 == 0 {
            first.set().unwrap();
        } else {
            second.release(1).unwrap();
        }
        let got = tokio::select! {
            ended = first.wait_async() => ended.map(|()| 0),
            ended = second.wait_async() => ended.map(|()| 1),
            _ = tokio::time::sleep(Duration::from_secs(20)) => Err(Error::TimedOut),
        };
        assert_eq!(got, Ok(turn % 2));
    }
    // The branches that were dropped have left nothing behind.
    assert!(!first.read().unwrap().signaled);
    assert_eq!(second.read().unwrap().count, 0);
    first.set().unwrap();
    assert!(first.read().unwrap().signaled, "nobody waits");
}

#[tokio::test]
async fn the_timeout_of_tokio_ends_the_wait() {
    let arena = arena();
    let event = event(&arena);
    // More often than there are waiters: each gives its own back.
    for _ in 0..2 * WAITERS {
        assert!(tokio::time::timeout(Duration::from_micros(100), event.wait_async()).await.is_err());
    }
    assert_eq!(event.set(), Ok(false));
    assert!(event.read().unwrap().signaled, "nobody waits");
    assert_eq!(tokio::time::timeout(Duration::from_secs(20), event.wait_async()).await, Ok(Ok(())));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn tasks_of_tokio_share_a_mutex() {
    const TASKS: u32 = 50;
    const TURNS: u32 = 20;
    let arena = arena();
    let mutex = MutexObject::create(&arena).unwrap();
    // The owner that is inside, and how many have been.
    let inside = Arc::new(Mutex::new((None, 0)));
    let tasks: Vec<_> = (1..=TASKS)
        .map(|owner| {
            let (mutex, inside) = (mutex.clone(), Arc::clone(&inside));
            tokio::spawn(async move {
                for _ in 0..TURNS {
                    mutex.lock_async(owner).await?;
                    assert_eq!(inside.lock().unwrap().0.replace(owner), None);
                    tokio::task::yield_now().await;
                    let mut state = inside.lock().unwrap();
                    assert_eq!(state.0.take(), Some(owner));
                    state.1 += 1;
                    drop(state);
                    mutex.unlock(owner)?;
                }
                Ok::<(), Error>(())
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap().unwrap();
    }
    assert_eq!(*inside.lock().unwrap(), (None, TASKS * TURNS));
    assert_eq!(mutex.read().unwrap().owner, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn aborted_tasks_of_tokio_give_back_what_they_were_given() {
    const UNITS: u32 = 100;
    let arena = arena();
    for _ in 0..50 {
        let semaphore = Semaphore::create(&arena, 0, UNITS).unwrap();
        let tasks: Vec<_> = (0..UNITS)
            .map(|_| {
                let semaphore = semaphore.clone();
                tokio::spawn(async move { semaphore.wait_async().await })
            })
            .collect();
        tokio::task::yield_now().await;
        let releases = semaphore.clone();
        let release = tokio::task::spawn_blocking(move || (0..UNITS).try_for_each(|_| releases.release(1).map(drop)));
        tasks.iter().step_by(2).for_each(tokio::task::JoinHandle::abort);
        let mut taken = 0;
        for task in tasks {
            match task.await {
                Ok(waited) => {
                    waited.unwrap();
                    taken += 1;
                }
                Err(aborted) => assert!(aborted.is_cancelled()),
            }
        }
        release.await.unwrap().unwrap();
        for _ in taken..UNITS {
            tokio::time::timeout(Duration::from_secs(20), semaphore.wait_async()).await.unwrap().unwrap();
        }
        assert_eq!(semaphore.wait(Deadline::NOW), Err(Error::TimedOut));
    }
}

#[test]
fn smol_races_a_wait_against_its_timer() {
    let arena = arena();
    let event = event(&arena);
    let wait = async || {
        let timeout = async {
            smol::Timer::after(Duration::from_millis(1)).await;
            Err(Error::TimedOut)
        };
        smol::future::or(event.wait_async(), timeout).await
    };
    smol::block_on(async {
        for _ in 0..2 * WAITERS {
            assert_eq!(wait().await, Err(Error::TimedOut));
        }
        event.set().unwrap();
        assert_eq!(wait().await, Ok(()));
    });
}

#[test]
fn tasks_of_smol_work_off_jobs() {
    const JOBS: u32 = 1000;
    let arena = arena();
    let (jobs, stop) =
        (Semaphore::create(&arena, 0, JOBS).unwrap(), Event::create(&arena, Reset::Manual, false).unwrap());
    let either = [jobs.object(), stop.object()];
    let workers: Vec<_> = (1..=10)
        .map(|owner| {
            let arena = arena.clone();
            smol::spawn(async move {
                let mut done = 0;
                while arena.wait_any_async(&either, owner).await?.index == 0 {
                    done += 1;
                }
                Ok::<u32, Error>(done)
            })
        })
        .collect();
    for _ in 0..JOBS {
        jobs.release(1).unwrap();
    }
    let done: u32 = smol::block_on(async {
        while jobs.read().unwrap().count > 0 {
            smol::Timer::after(Duration::from_millis(1)).await;
        }
        stop.set().unwrap();
        let mut done = 0;
        for worker in workers {
            done += worker.await.unwrap();
        }
        done
    });
    assert_eq!(done, JOBS);
}
