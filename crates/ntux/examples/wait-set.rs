// SPDX-License-Identifier: MIT OR Apache-2.0
//! One thread serves two thousand sessions: a wait set tells it which of them has a request. The sessions could as well be those of other
//! processes. `cargo run -p ntux --example wait-set`

use std::error::Error;
use std::thread;

use ntux::{Arena, Capacity, Deadline, Event, Reset, Semaphore, WaitSet};

const SESSIONS: u64 = 2_000;
const CLIENTS: u64 = 4;
const REQUESTS: u64 = 5_000;
/// Not the key of a session.
const STOP: u64 = SESSIONS;

fn main() -> Result<(), Box<dyn Error>> {
    // Each object of the set needs one of the arena's waiters, and so does each thread that waits.
    let arena = Arena::create_private(Capacity { objects: 4096, waiters: 2048 })?;
    let requests = (0..SESSIONS).map(|_| Semaphore::create(&arena, 0, u32::MAX)).collect::<ntux::Result<Vec<_>>>()?;
    let stop = Event::create(&arena, Reset::Manual, false)?;

    let mut set = WaitSet::create(&arena)?;
    set.add(STOP, stop.object(), 1)?;
    for (session, semaphore) in (0..).zip(&requests) {
        set.add(session, semaphore.object(), 1)?;
    }

    let served = thread::scope(|scope| {
        let server = scope.spawn(|| {
            let mut served = vec![0_u64; SESSIONS as usize];
            while served.iter().sum::<u64>() < CLIENTS * REQUESTS {
                let session = set.next(Deadline::Never)?.key;
                if session == STOP {
                    break;
                }
                served[session as usize] += 1;
            }
            Ok::<_, ntux::Error>(served)
        });
        let clients = (1..=CLIENTS).map(|client| {
            let requests = &requests;
            let request = move |number| requests[(number * client % SESSIONS) as usize].release(1).map(drop);
            scope.spawn(move || (0..REQUESTS).try_for_each(request))
        });
        let clients: Vec<_> = clients.collect();
        if !clients.into_iter().all(|client| client.join().is_ok_and(|ended| ended.is_ok())) {
            stop.set()?;
        }
        server.join().expect("it does not panic")
    })?;
    println!("{} requests were served", served.iter().sum::<u64>());
    Ok(())
}
