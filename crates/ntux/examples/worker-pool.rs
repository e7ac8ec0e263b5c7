// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads take jobs from a queue until they are told to stop: the queue is under a lock with a guard, a semaphore counts the jobs, an
//! event stops everybody at once. `cargo run -p ntux --example worker-pool`

use std::collections::VecDeque;
use std::error::Error;
use std::thread;

use ntux::{Arena, Capacity, Deadline, Event, Mutex, Reset, Semaphore, Wait};

const WORKERS: u32 = 4;
const JOBS: u64 = 1000;

fn main() -> Result<(), Box<dyn Error>> {
    // Only the threads of this program use it, so it needs no descriptor.
    let arena = Arena::create_private(Capacity { objects: 16, waiters: 16 })?;
    let (jobs, done) = (Semaphore::create(&arena, 0, u32::MAX)?, Semaphore::create(&arena, 0, u32::MAX)?);
    let stop = Event::create(&arena, Reset::Manual, false)?;
    let (queue, sum) = (Mutex::new(VecDeque::new()), Mutex::new(0));

    thread::scope(|scope| {
        for owner in 1..=WORKERS {
            let (arena, queue, sum, done) = (&arena, &queue, &sum, &done);
            let either = [jobs.object(), stop.object()];
            scope.spawn(move || {
                while arena.wait_any(&either, Wait::by(owner))?.index == 0 {
                    let job: u64 = queue.lock().unwrap().pop_front().expect("the semaphore counts the jobs");
                    *sum.lock().unwrap() += job;
                    done.release(1)?;
                }
                Ok::<(), ntux::Error>(())
            });
        }
        for job in 1..=JOBS {
            queue.lock().unwrap().push_back(job);
            jobs.release(1)?;
        }
        for _ in 1..=JOBS {
            done.wait(Deadline::Never)?;
        }
        stop.set().map(drop)
    })?;
    println!("the sum is {}", sum.into_inner());
    Ok(())
}
