// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rival designs: the effect of a kill or a stop on each of them.
//!
//! The designs of the test kit are the code that `ntux bench` measures ([`ntux_testkit::rival`] describes them).
//!
//! | design | known from | file |
//! | --- | --- | --- |
//! | the objects' values as futex words, taken one by one | fsync, msync | `three`, of the test kit |
//! | an eventfd for each object, read one by one | esync | `three`, of the test kit |
//! | a server that does everything | wineserver | `three`, of the test kit |
//! | values changed without a lock, waiters listed under one robust lock | user-space ntsync backends | `region` |
//! | ntux | | `arena` |

mod arena;
mod region;
mod three;
mod trial;

use std::io;
use std::process::ExitCode;
use std::time::Duration;

use trial::{AtomicTally, Fate, Manner, WakeTally};

/// Command line of `rivals`.
#[derive(clap::Args, Clone, Debug)]
pub struct Arguments {
    /// Only designs whose name contains this
    #[arg(long)]
    only: Option<String>,
    /// Strike at every so-manieth instruction
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    every: u32,
    /// Milliseconds after which a survivor that does not come back is said to hang
    #[arg(long, default_value_t = 3_000)]
    patience: u64,
}

/// What a process may do with the objects of a design: an auto-reset event, and two semaphores with one unit each.
pub trait Design {
    /// Called in each process before it does anything else.
    fn join(&mut self) {}
    /// Called in the victim, so that what only the first operation of a process does is behind it.
    fn warm_up(&self) {}
    /// Signals the event.
    fn set(&self);
    /// Waits for the event, for ever.
    fn wait(&self);
    /// Returns whether the event is signaled.
    fn is_signaled(&self) -> bool;
    /// Takes a unit of both semaphores, if both have one.
    fn take_both(&self) -> bool;
    /// Takes a unit of one semaphore, if there is one.
    fn take(&self, which: usize) -> bool;
}

type Open = fn() -> io::Result<Box<dyn Design>>;
const DESIGNS: [(&str, Open); 5] = [
    (three::WORDS, three::words),
    (three::EVENTFDS, three::eventfds),
    (region::NAME, region::open),
    (three::SERVER, three::server),
    (arena::NAME, arena::open),
];

impl Arguments {
    /// Runs every experiment and prints what came of it.
    pub fn run(&self) -> ExitCode {
        match self.try_run() {
            Ok(true) => ExitCode::SUCCESS,
            Ok(false) => {
                eprintln!("rivals: ntux does not keep what it promises");
                ExitCode::FAILURE
            }
            Err(error) => {
                eprintln!("rivals: {error}");
                ExitCode::FAILURE
            }
        }
    }

    /// Returns whether ntux keeps what it promises; the others are only shown.
    fn try_run(&self) -> io::Result<bool> {
        let manner = Manner { every: self.every, patience: Duration::from_millis(self.patience) };
        let mut kept = true;
        println!("A signaler, struck at each of its instructions while one thread sleeps on an auto-reset event:");
        self.each(|open, name| {
            for fate in [Fate::Killed, Fate::Stopped] {
                let tally = trial::wakes(open, fate, manner)?;
                print_wake(name, fate, &tally);
                kept &= name != arena::NAME || tally.stranded + tally.hangs == 0;
            }
            Ok(())
        })?;
        println!("\nA wait for two semaphores with one unit each, struck at each of its instructions:");
        self.each(|open, name| {
            for fate in [Fate::Killed, Fate::Stopped] {
                let tally = trial::atomicity(open, fate, manner)?;
                print_atomic(name, fate, &tally);
                kept &= name != arena::NAME || tally.torn + tally.hangs == 0;
            }
            Ok(())
        })?;
        println!("\nA process that serves the others:");
        self.each(|_, name| {
            let outcome = if name == three::SERVER {
                trial::without_server(three::server_with_id, manner)?
            } else {
                "none".into()
            };
            println!("  {name:28} {outcome}");
            Ok(())
        })?;
        Ok(kept)
    }

    fn each(&self, mut body: impl FnMut(Open, &'static str) -> io::Result<()>) -> io::Result<()> {
        let wanted = |name: &str| self.only.as_ref().is_none_or(|only| name.contains(only.as_str()));
        DESIGNS.into_iter().filter(|(name, _)| wanted(name)).try_for_each(|(name, open)| body(open, name))
    }
}

fn print_wake(name: &str, fate: Fate, tally: &WakeTally) {
    let WakeTally { points, stranded, needs_a_touch, hangs } = tally;
    println!(
        "  {name:28} {fate:7} {points:5} points: at {stranded:3} the sleeper never wakes, at {needs_a_touch:3} when somebody \
         touches the event, at {hangs:3} everybody hangs"
    );
}

fn print_atomic(name: &str, fate: Fate, tally: &AtomicTally) {
    let AtomicTally { points, torn, hangs } = tally;
    println!(
        "  {name:28} {fate:7} {points:5} points: at {torn:3} one unit of two is gone, at {hangs:3} everybody hangs"
    );
}
