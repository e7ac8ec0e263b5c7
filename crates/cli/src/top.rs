// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ntux top`: objects and waiting threads, live.

mod draw;
mod json;
mod rows;
mod sample;
mod screen;

use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{self, Event, KeyEventKind};
use ratatui::{DefaultTerminal, Terminal};

use crate::arenas::find::{self, Found, Target};
use crate::status::NOTHING_THERE;
use crate::{NTUX_FAILED, interruption, say};
use sample::Watch;
use screen::{Reaction, Screen};

/// Columns and rows of a picture that is printed, where the environment does not say.
const PAPER: (u16, u16) = (80, 24);
/// How long to wait for a key before checking the clock again.
const LISTEN: Duration = Duration::from_millis(100);
/// How long to wait at least: keys are heard also where a picture takes longer than its interval.
const LISTEN_AT_LEAST: Duration = Duration::from_millis(1);

/// Show objects and waiting threads live: what is contended, how fast it changes, which threads wait.
///
/// One page lists objects: how often each changes in a second, how many threads wait for it now and on average since it
/// was first seen here. The other lists threads: how much of the time each has slept in a wait, and what it waits for.
/// Enter shows one of them: who waits for an object, and for whom a thread waits in turn. As with `ntux inspect`, the
/// program is not touched.
///
/// Keys: Tab the other page; arrows, Page Up, Page Down, Home, End; s the next order, r reversed; / a filter;
/// Space freezes; Enter shows one, Escape goes back; ? shows the keys; q ends.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Arguments {
    /// A process or an arena, as for `ntux inspect`. Without it, everything on this machine that you may see.
    #[arg(value_name = "PID|PID:FD|FILE")]
    target: Option<Target>,
    /// Seconds from one snapshot to the next.
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0, value_parser = interval)]
    every: f64,
    /// Print one picture, of COLUMNS by LINES (80 by 24), after two snapshots; no terminal is needed.
    #[arg(long)]
    once: bool,
    /// With --once: the page of threads.
    #[arg(long, requires = "once")]
    threads: bool,
    /// With --once: print JSON instead of a picture, with all objects and threads.
    #[arg(long, requires = "once", conflicts_with = "threads")]
    json: bool,
    /// When to use colours; auto uses them on a terminal, unless NO_COLOR is set.
    #[arg(long, value_enum, default_value_t = Colour::Auto)]
    colour: Colour,
}

const EXAMPLES: &str = "\
Examples:
  ntux top
  ntux top $(pidof -s wineserver)
  ntux top --once --threads 4711
  ntux top --once --json | jq '.arenas[].objects | max_by(.waiting_on_average)'";

/// When to use colours.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Colour {
    Auto,
    Always,
    Never,
}

fn interval(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(seconds) if (0.05..=3600.0).contains(&seconds) => Ok(seconds),
        _ => Err("a number of seconds from 0.05 to 3600".to_owned()),
    }
}

/// Shows it until the user has seen enough.
pub fn top(arguments: &Arguments) -> ExitCode {
    let Found { arenas, notes, hidden } = match find::wanted(arguments.target.as_ref()) {
        Ok(found) => found,
        Err(reason) => return say::failed(reason),
    };
    if let (true, Some(target)) = (arenas.is_empty(), &arguments.target) {
        notes.iter().for_each(|note| say::complain(format_args!("ntux: {note}")));
        say::complain(format_args!("ntux: {target} uses no objects of ntux that can be inspected"));
        return ExitCode::from(if notes.is_empty() { NOTHING_THERE } else { NTUX_FAILED });
    }
    let watch = Watch::new(arenas, hidden, arguments.target.is_none());
    let shown = match (arguments.once, is_on_a_screen()) {
        (true, _) => print(watch, arguments),
        (false, true) => show(watch, arguments).map(|()| ExitCode::SUCCESS),
        (false, false) => {
            return say::failed(
                "`ntux top` needs a terminal that can move its cursor; `ntux top --once` prints one picture",
            );
        }
    };
    shown.unwrap_or_else(say::failed)
}

/// TERM says "dumb" where a terminal only prints, as in an editor.
fn is_on_a_screen() -> bool {
    let is_dumb = std::env::var_os("TERM").is_some_and(|name| name == "dumb");
    io::stdout().is_terminal() && io::stdin().is_terminal() && !is_dumb
}

fn every(arguments: &Arguments) -> Duration {
    Duration::from_secs_f64(arguments.every)
}

/// Prints what two snapshots show.
fn print(mut watch: Watch, arguments: &Arguments) -> io::Result<ExitCode> {
    watch.look()?;
    std::thread::sleep(every(arguments));
    watch.look()?;
    Ok(match arguments.json {
        true => say::json(json::VERSION, &json::Picture::of(&watch), ExitCode::SUCCESS),
        false => say::page(&picture(&watch, arguments), ExitCode::SUCCESS),
    })
}

/// The picture in lines of text.
fn picture(watch: &Watch, arguments: &Arguments) -> String {
    let number = |name: &str| std::env::var(name).ok()?.parse().ok().filter(|&number| number >= 10);
    let (columns, rows) = (number("COLUMNS").unwrap_or(PAPER.0), number("LINES").unwrap_or(PAPER.1));
    let mut screen = Screen::new(arguments.colour == Colour::Always, false);
    if arguments.threads {
        screen.turn();
    }
    let Ok(mut paper) = Terminal::new(TestBackend::new(columns, rows));
    let Ok(_) = paper.draw(|frame| draw::draw(frame, &mut screen, watch));
    let mut page = draw::as_text(paper.backend().buffer(), arguments.colour == Colour::Always);
    while page.ends_with("\n\n") {
        page.pop();
    }
    page
}

fn show(watch: Watch, arguments: &Arguments) -> io::Result<()> {
    let is_wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let colours = arguments.colour == Colour::Always || arguments.colour == Colour::Auto && is_wanted;
    let is_over = interruption::catch()?;
    let mut terminal = ratatui::try_init()?;
    let ended = run(&mut terminal, watch, Screen::new(colours, true), every(arguments), is_over);
    ratatui::try_restore()?;
    ended
}

fn run(
    terminal: &mut DefaultTerminal,
    mut watch: Watch,
    mut screen: Screen,
    every: Duration,
    is_over: impl Fn() -> bool,
) -> io::Result<()> {
    watch.look()?;
    let mut last = Instant::now();
    while !is_over() {
        terminal.draw(|frame| draw::draw(frame, &mut screen, &watch))?;
        let left = every.saturating_sub(last.elapsed());
        if event::poll(left.clamp(LISTEN_AT_LEAST, LISTEN))? {
            match event::read()? {
                Event::Key(key) if key.kind != KeyEventKind::Release => match screen.press(key, &watch) {
                    Reaction::Leave => return Ok(()),
                    Reaction::Stay => {}
                },
                _ => {} // A new size is seen when it is drawn.
            }
        }
        if last.elapsed() >= every {
            if !screen.is_frozen() {
                watch.look()?;
            }
            last = Instant::now();
        }
    }
    Ok(())
}
