// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ntux watch`: draws which pages a program writes over time, as a heat map.
//!
//! A library is loaded into it which makes a userfaultfd and sends it here (`meeting`). Everything else happens outside the
//! program: this process registers its mappings and asks which pages were written. If this process is killed, the program
//! goes on as if nothing had been.

mod axis;
mod heat;
mod meeting;
mod svg;

use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::{Child, ExitCode, ExitStatus};
use std::time::{Duration, Instant};

use clap::Args;
use ntux_platform::command::child;
use ntux_platform::environment::{SOFT_DIRTY, text};
use ntux_platform::watching::readiness::wait_readable;
use ntux_platform::watching::userfault::Userfault;
use ntux_watch::address_space::AddressSpace;
use ntux_watch::{Mechanism, page_size};

use crate::arenas::proc;
use crate::library::Library;
use crate::output::{self, Output};
use crate::printable::printable;
use crate::{NTUX_FAILED, in_front, run, say};
use axis::{Axis, Kinds, Layout, Written};
use heat::{Row, TIME_WIDTH, Totals};
use meeting::{Meeting, Wish};

/// Rows of the picture.
const SAMPLES_MAX: usize = 1000;
/// After so many lines the names are said again.
const LINES_UNDER_RULER: u32 = 30;

/// Show which pages of memory a program writes, as a heat map: a line for each interval, a column for each stretch of
/// pages, darker where more were written.
///
/// The map shows all private memory of the program's first process: the data of the program and its libraries, the heap,
/// other mappings, the stack; of each, the parts that were ever written. The map goes to standard error, and the exit
/// status is the program's. Processes that it starts are not drawn.
#[derive(Args)]
pub struct Arguments {
    /// Lines to draw [default: until the program ends].
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    lines: Option<u32>,
    /// Milliseconds for each line.
    #[arg(long, value_name = "MS", default_value_t = 250, value_parser = clap::value_parser!(u64).range(1..=3_600_000))]
    interval: u64,
    /// Columns to draw.
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(8..=512))]
    columns: u32,
    /// Also draw the map as a picture into this file.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Write the lines to this file instead of standard error.
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The program and its arguments.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_names = ["PROGRAM", "ARGUMENT"])]
    program: Vec<OsString>,
}

/// Runs the program and draws its map; the exit status is the program's.
pub fn watch(arguments: &Arguments) -> ExitCode {
    if let Err(error) = Mechanism::Async.probe() {
        return complain(&format!("cannot watch a program here: {error}; ntux doctor says what async needs"));
    }
    let mut command = match run::prepare(&arguments.program, &[Library::Watch]) {
        Ok(run::Prepared { obstacle: Some(obstacle), .. }) => {
            return run::cannot_serve(&arguments.program[0], obstacle);
        }
        Ok(prepared) => prepared.command,
        Err(status) => return status,
    };
    // Both would watch the same memory.
    command.env(meeting::BY, std::process::id().to_string()).env_remove(text(SOFT_DIRTY));
    let mut map = match Map::open(arguments) {
        Ok(map) => map,
        Err(error) => return complain(&error.to_string()),
    };
    let meeting = match Meeting::open() {
        Ok(meeting) => meeting,
        Err(error) => return complain(&format!("cannot meet the program: {error}")),
    };
    let (mut program, signals) = match in_front::start(command, &arguments.program[0], complain) {
        Ok(started) => started,
        Err(status) => return status,
    };
    let status = map.draw_until_the_end(&mut program, &meeting, &signals);
    let is_written = map.finish(arguments).map_err(|error| complain(&error.to_string()));
    match status {
        Ok(status) => in_front::end_like(status, is_written),
        Err(error) => complain(&error.to_string()),
    }
}

fn complain(what: &str) -> ExitCode {
    say::complain(format_args!("ntux watch: {what}"));
    ExitCode::from(NTUX_FAILED)
}

/// What was written in some intervals.
struct Sample {
    from: Duration,
    until: Duration,
    written: Written,
    intervals: usize,
}

/// All that was written, for the picture: however long it takes, no more than so many samples.
#[derive(Default)]
struct History {
    samples: Vec<Sample>,
    /// How many times the number of intervals in one sample has doubled.
    doublings: u32,
}

impl History {
    fn add(&mut self, next: Sample) {
        match self.samples.last_mut().filter(|last| last.intervals < 1 << self.doublings) {
            Some(last) => last.join(&next),
            None => self.samples.push(next),
        }
        if self.samples.len() > SAMPLES_MAX {
            self.doublings += 1;
            let mut all = std::mem::take(&mut self.samples).into_iter();
            while let Some(mut sample) = all.next() {
                all.next().iter().for_each(|second| sample.join(second));
                self.samples.push(sample);
            }
        }
    }
}

impl Sample {
    fn join(&mut self, next: &Sample) {
        self.until = next.until;
        self.intervals += next.intervals;
        self.written.join(&next.written);
    }
}

struct Map {
    /// None: standard error.
    out: Option<Output>,
    is_colored: bool,
    /// Nobody reads what is drawn: the reader has gone.
    is_unread: bool,
    columns: usize,
    interval: Duration,
    lines_left: Option<u32>,
    lines_since_ruler: u32,
    name: String,
    start: Instant,
    /// The program's memory, once it has introduced itself.
    space: Option<AddressSpace<Userfault>>,
    was_seen: bool,
    axis: Axis,
    layout: Layout,
    last: Duration,
    /// For the picture, if one is wanted.
    history: Option<History>,
    totals: Totals,
}

impl Map {
    fn open(arguments: &Arguments) -> io::Result<Map> {
        let out = arguments.output.as_deref().map(Output::create).transpose()?;
        let is_colored = out.is_none() && io::stderr().is_terminal();
        Ok(Map {
            out,
            is_colored,
            is_unread: false,
            columns: arguments.columns as usize,
            interval: Duration::from_millis(arguments.interval),
            lines_left: arguments.lines,
            lines_since_ruler: 0,
            name: printable(&arguments.program[0].display().to_string()),
            start: Instant::now(),
            space: None,
            was_seen: false,
            axis: Axis::default(),
            layout: Layout::default(),
            last: Duration::ZERO,
            history: arguments.svg.as_ref().map(|_| History::default()),
            totals: Totals::default(),
        })
    }

    fn draw_until_the_end(
        &mut self,
        program: &mut Child,
        meeting: &Meeting,
        signals: &child::Signals,
    ) -> io::Result<ExitStatus> {
        let waiting = child::Child::open(program.id())?;
        let mut next = Instant::now() + self.interval;
        loop {
            let rest = next.saturating_duration_since(Instant::now());
            let descriptors = [meeting.as_fd(), waiting.as_fd(), signals.as_fd()];
            let [has_guest, has_ended, has_signal] = wait_readable(descriptors, Some(rest));
            if has_signal {
                signals.pass_on(&waiting);
            }
            if has_guest && let Some((guest, wish)) = meeting.receive(program.id()) {
                match wish {
                    Wish::Begins(userfault) => self.begin(program.id(), userfault),
                    Wish::Ends => self.draw_line(),
                }
                guest.answer();
            }
            if has_ended {
                return program.wait();
            }
            if Instant::now() >= next {
                self.draw_line();
                next = Instant::now() + self.interval;
            }
        }
    }

    /// The program has introduced itself, or what it has executed.
    fn begin(&mut self, process: u32, userfault: Option<Userfault>) {
        let name = printable(&proc::name(process));
        let space = userfault.map(|userfault| AddressSpace::of(process, userfault));
        let begun = match space {
            Some(Ok(space)) => space.take(|_| ()).map(|()| space).map_err(|error| error.to_string()),
            Some(Err(error)) => Err(error.to_string()),
            None => Err("it may not use userfaultfd".to_owned()),
        };
        self.last = self.start.elapsed();
        match begun {
            Ok(space) => {
                // What was executed before had other memory.
                self.axis = Axis::default();
                self.history.iter_mut().for_each(|history| *history = History::default());
                let interval = self.interval.as_millis();
                self.say(&format!(
                    "process {process} ({name}), a line for {interval} ms; processes that it starts are not drawn"
                ));
                self.space = Some(space);
                self.was_seen = true;
            }
            Err(error) => self.say(&format!("process {process} ({name}) cannot be drawn: {error}")),
        }
    }

    fn draw_line(&mut self) {
        if self.lines_left == Some(0) {
            self.space = None;
        }
        let Some(written) = self.look() else { return };
        let until = self.start.elapsed();
        self.axis.add(&written);
        let layout = self.axis.layout(self.columns, true);
        if layout != self.layout || self.lines_since_ruler == LINES_UNDER_RULER {
            self.layout = layout;
            self.draw_ruler();
            self.lines_since_ruler = 0;
        }
        self.lines_since_ruler += 1;
        let heat = self.axis.heat(&self.layout, &written);
        let row = Row { from: self.last, until, written: written.pages, heat };
        let parts: Vec<usize> = self.layout.columns.into_iter().filter(|&columns| columns > 0).collect();
        let line = heat::line(&row, &parts, page_size(), self.is_colored);
        self.write(&line);
        self.totals.add(&row);
        if let Some(history) = &mut self.history {
            history.add(Sample { from: self.last, until, written, intervals: 1 });
        }
        self.last = until;
        self.lines_left = self.lines_left.map(|left| left.saturating_sub(1));
    }

    /// What was written since the last look; none if the program is not there, or not any more.
    fn look(&mut self) -> Option<Written> {
        let space = self.space.as_ref()?;
        let mut kinds = Kinds::default();
        let mut name = [0; 4096];
        let mut written = Written::default();
        let named = space.mappings().each(0, usize::MAX, &mut name, |mapped, name| kinds.add(mapped, name));
        let taken = space.take(|run| written.add(run, &kinds, page_size()));
        if named.is_err() || taken.is_err() {
            self.space = None;
            return None;
        }
        Some(written)
    }

    /// Says what it came to, and draws the picture.
    fn finish(mut self, arguments: &Arguments) -> io::Result<()> {
        if !self.was_seen {
            self.say("the program has not loaded the library of ntux, so there is nothing to draw");
        }
        let sentence = self.totals.sentence(page_size());
        self.write(&sentence);
        let map = self.out.take().map_or(Ok(()), Output::finish);
        let (Some(path), Some(history)) = (&arguments.svg, &self.history) else { return map };
        let layout = self.axis.layout(self.columns, false);
        let rows: Vec<Row> = history
            .samples
            .iter()
            .map(|sample| Row {
                from: sample.from,
                until: sample.until,
                written: sample.written.pages,
                heat: self.axis.heat(&layout, &sample.written),
            })
            .collect();
        let names = self.axis.names(&layout, page_size());
        let title = format!("Pages written by '{}', by kind of memory and address", self.name);
        output::write(path, svg::render(&title, &names, &rows, &sentence)).and(map)
    }

    fn draw_ruler(&mut self) {
        let names = self.axis.names(&self.layout, page_size());
        let widths = self.layout.columns.into_iter().filter(|&columns| columns > 0);
        let cells: Vec<String> =
            names.iter().zip(widths).map(|((_, name), width)| format!("{name:<width$.width$}")).collect();
        self.write(&format!("{:TIME_WIDTH$}{}", "", cells.join("│")));
    }

    fn say(&mut self, what: &str) {
        self.write(&format!("ntux watch: {what}"));
    }

    /// A reader that has gone is no reason to disturb the program.
    fn write(&mut self, line: &str) {
        if !self.is_unread {
            let (mut screen, file) = (io::stderr(), self.out.as_mut());
            let out: &mut dyn Write = file.map_or(&mut screen, |file| file);
            self.is_unread = writeln!(out, "{line}").and_then(|()| out.flush()).is_err();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn however_long_it_takes_the_history_stays_short_and_whole() {
        let mut history = History::default();
        let count = 10 * SAMPLES_MAX + 7;
        for number in 0..count {
            let (from, until) = (Duration::from_secs(number as u64), Duration::from_secs(number as u64 + 1));
            history.add(Sample { from, until, written: Written::default(), intervals: 1 });
            assert!(history.samples.len() <= SAMPLES_MAX);
        }
        let mut until = Duration::ZERO;
        for sample in &history.samples {
            assert_eq!(
                (sample.from, sample.until - sample.from),
                (until, Duration::from_secs(sample.intervals as u64))
            );
            until = sample.until;
        }
        assert_eq!(until, Duration::from_secs(count as u64));
        assert!(history.samples.len() > SAMPLES_MAX / 2);
    }
}
