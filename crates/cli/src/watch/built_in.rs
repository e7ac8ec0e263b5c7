//! The map of a built-in workload: one region, every page of it a place on the axis.

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use ntux_watch::{Mechanism, Protection, Region, Reset, Watcher, page_size};

use super::heat::{Row, Totals, line};
use super::{Arguments, svg};
use crate::{NTUX_FAILED, output, say};

/// Lines, and milliseconds for each, where nothing else is said.
const LINES: u32 = 40;
const INTERVAL: u64 = 25;

/// Draws a workload's map.
pub fn watch(arguments: &Arguments) -> ExitCode {
    match draw(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        // A reader that closed the pipe early is no reason to complain.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            say::complain(format_args!("ntux watch: {error}"));
            ExitCode::from(NTUX_FAILED)
        }
    }
}

fn draw(arguments: &Arguments) -> io::Result<()> {
    let watcher = open(arguments.mechanism.as_deref())?;
    let region = watcher.reserve(arguments.pages as usize * page_size()).map_err(io::Error::other)?;
    region.commit(region.range(), Protection::READ_WRITE).map_err(io::Error::other)?;
    let mechanism = watcher.mechanism().map_err(io::Error::other)?.name();
    let mut out = io::stdout().lock();
    writeln!(
        out,
        "{}: {} pages of {} bytes, a line for {} ms; {mechanism} notices the writes",
        arguments.workload.name(),
        arguments.pages,
        page_size(),
        interval(arguments)
    )?;
    let rows = arguments.workload.run_beside(&region, || ask(arguments, &region, &mut out))??;
    let mut totals = Totals::default();
    rows.iter().for_each(|row| totals.add(row));
    let summary = totals.sentence(page_size());
    writeln!(out, "{summary}")?;
    match &arguments.svg {
        Some(path) => {
            let title = format!("Pages written by '{}', noticed by {mechanism}", arguments.workload.name());
            output::write(path, svg::render(&title, &[], &rows, &summary))
        }
        None => Ok(()),
    }
}

fn interval(arguments: &Arguments) -> u64 {
    arguments.interval.unwrap_or(INTERVAL)
}

fn open(mechanism: Option<&str>) -> io::Result<Watcher> {
    let opened = match mechanism {
        None => Watcher::new(),
        Some(name) => match Mechanism::named(name) {
            Some(mechanism) => Watcher::with(mechanism),
            None => {
                return Err(io::Error::other(format!("there is no mechanism '{name}': async, sync, mprotect or cow")));
            }
        },
    };
    opened.map_err(io::Error::other)
}

/// Lists what was written in each interval.
fn ask(arguments: &Arguments, region: &Region, out: &mut impl Write) -> io::Result<Vec<Row>> {
    let pages = arguments.pages as usize;
    let is_colored = io::stdout().is_terminal();
    let mut bitmap = vec![0u64; pages.div_ceil(64)];
    let start = Instant::now();
    let mut rows: Vec<Row> = Vec::new();
    for _ in 0..arguments.lines.unwrap_or(LINES) {
        std::thread::sleep(Duration::from_millis(interval(arguments)));
        region.get_bitmap(region.range(), &mut bitmap, Reset::Yes).map_err(io::Error::other)?;
        let before = rows.last().map_or(Duration::ZERO, |row| row.until);
        let row = Row::new(&bitmap, pages, arguments.columns as usize, before, start.elapsed());
        writeln!(out, "{}", line(&row, &[row.heat.len()], page_size(), is_colored))?;
        out.flush()?;
        rows.push(row);
    }
    Ok(rows)
}
