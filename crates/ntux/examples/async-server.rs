// SPDX-License-Identifier: MIT OR Apache-2.0
//! A restaurant: one thread serves all connections, and the meals come from another process.
//!
//! Each connection is a task, which waits for its socket and for objects that the kitchen signals; the kitchen is this program, started
//! again. `cargo run -p ntux --example async-server`

use std::error::Error;
use std::process::{Child, Command};
use std::time::Duration;

use ntux::{Arena, Capacity, Event, HandOver, Object, Reset, Semaphore, Wait};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::time::timeout;

const GUESTS: u32 = 10;
const MEALS: u32 = 20;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().collect();
    match &arguments[1..] {
        [] => serve(),
        [place, objects @ ..] if objects.len() == 3 => {
            let objects = objects.iter().map(|text| text.parse()).collect::<Result<Vec<Object>, _>>()?;
            cook(&Arena::handed_over(place)?, [objects[0], objects[1], objects[2]])
        }
        _ => Err("this program starts itself: run it without arguments".into()),
    }
}

/// What the server and the kitchen share.
#[derive(Clone)]
struct Counter {
    orders: Semaphore,
    meals: Semaphore,
    closed: Event,
}

#[tokio::main(flavor = "current_thread")]
async fn serve() -> Outcome<()> {
    // Each wait that is not over needs one of the arena's waiters: two for each connection.
    let arena = Arena::create(Capacity { objects: 16, waiters: 64 })?;
    let counter = Counter {
        orders: Semaphore::create(&arena, 0, u32::MAX)?,
        meals: Semaphore::create(&arena, 0, u32::MAX)?,
        closed: Event::create(&arena, Reset::Manual, false)?,
    };
    let mut kitchen = start_kitchen(&arena, &counter)?;

    let (mut guests, mut connections) = (Vec::new(), Vec::new());
    for _ in 0..GUESTS {
        let (ours, theirs) = UnixStream::pair()?;
        connections.push(tokio::spawn(connection(ours, counter.clone())));
        guests.push(tokio::spawn(guest(theirs)));
    }
    let mut eaten = 0;
    for guest in guests {
        eaten += guest.await??;
    }
    // Nobody has ordered this one. The waits are over when their time is, and take nothing later.
    let mut in_vain = 0;
    for _ in 0..GUESTS {
        in_vain += u32::from(timeout(Duration::from_millis(1), counter.meals.wait_async()).await.is_err());
    }
    counter.closed.set()?;
    for connection in connections {
        connection.await??;
    }
    kitchen.wait()?;
    println!("{eaten} meals were served, {in_vain} guests waited for a late one in vain");
    Ok(())
}

/// Serves one guest until the restaurant is closed.
async fn connection(stream: UnixStream, counter: Counter) -> Outcome<()> {
    let (reader, mut writer) = stream.into_split();
    let mut lines = BufReader::new(reader).lines();
    loop {
        tokio::select! {
            // Dropping this wait ends it; as the event stays set, the next one finds that, too.
            closed = counter.closed.wait_async() => return Ok(closed?),
            line = lines.next_line() => match line? {
                Some(_order) => {
                    counter.orders.release(1)?;
                    counter.meals.wait_async().await?;
                    writer.write_all(b"a meal\n").await?;
                }
                None => return Ok(()),
            },
        }
    }
}

/// Returns how many meals it got.
async fn guest(stream: UnixStream) -> Outcome<u32> {
    let (reader, mut writer) = stream.into_split();
    let mut lines = BufReader::new(reader).lines();
    let mut eaten = 0;
    for _ in 0..MEALS {
        writer.write_all(b"an order\n").await?;
        eaten += u32::from(lines.next_line().await?.is_some());
    }
    Ok(eaten)
}

fn start_kitchen(arena: &Arena, counter: &Counter) -> Outcome<Child> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arena(arena);
    for object in [counter.orders.object(), counter.meals.object(), counter.closed.object()] {
        command.arg(object.to_string());
    }
    Ok(command.spawn()?)
}

/// The other process, which knows nothing of tasks.
fn cook(arena: &Arena, [orders, meals, closed]: [Object; 3]) -> Outcome<()> {
    let meals = Semaphore::from_object(arena, meals)?;
    // Orders come first, so none is left.
    while arena.wait_any(&[orders, closed], Wait::by(1))?.index == 0 {
        meals.release(1)?;
    }
    Ok(())
}
