// SPDX-License-Identifier: MIT OR Apache-2.0
//! Two programs share objects: this one starts itself again, hands it an arena, and gives it work.
//!
//! The child takes jobs until it is told to stop, and answers each. `cargo run -p ntux --example two-processes`

use std::error::Error;
use std::process::Command;

use ntux::{Arena, Capacity, Deadline, Event, HandOver, Object, Reset, Semaphore, Wait};

const JOBS: u32 = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    match &arguments[1..] {
        [] => parent(),
        [place, objects @ ..] if objects.len() == 3 => {
            let objects = objects.iter().map(|text| text.parse()).collect::<Result<Vec<Object>, _>>()?;
            child(&Arena::handed_over(place)?, [objects[0], objects[1], objects[2]])
        }
        _ => Err("this program starts itself: run it without arguments".into()),
    }
}

fn parent() -> Result<(), Box<dyn Error>> {
    let arena = Arena::create(Capacity { objects: 16, waiters: 16 })?;
    let (jobs, done) = (Semaphore::create(&arena, 0, JOBS)?, Semaphore::create(&arena, 0, JOBS)?);
    let stop = Event::create(&arena, Reset::Manual, false)?;

    let mut command = Command::new(std::env::current_exe()?);
    command.arena(&arena);
    for object in [jobs.object(), done.object(), stop.object()] {
        command.arg(object.to_string());
    }
    let mut child = command.spawn()?;

    jobs.release(JOBS)?;
    for _ in 0..JOBS {
        done.wait(Deadline::Never)?;
    }
    println!("parent: {JOBS} jobs are done");
    stop.set()?;
    let status = child.wait()?;
    println!("parent: the child has ended with {}", status.code().unwrap_or(-1));
    Ok(())
}

fn child(arena: &Arena, [jobs, done, stop]: [Object; 3]) -> Result<(), Box<dyn Error>> {
    let done = Semaphore::from_object(arena, done)?;
    // Jobs come first, so none is left behind.
    while arena.wait_any(&[jobs, stop], Wait::by(1))?.index == 0 {
        done.release(1)?;
    }
    Ok(())
}
