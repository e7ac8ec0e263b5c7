//! `ntux watch`: which pages a workload writes over time, as a heat map.

mod heat;
mod svg;
mod workload;

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use ntux_watch::{Mechanism, Protection, Region, Reset, Watcher, page_size};

use crate::NTUX_FAILED;
use heat::{Row, line};
use workload::Workload;

/// Show which pages of memory a built-in workload writes, as a heat map: a line for each interval, a column for each stretch
/// of pages, darker where more of them were written.
#[derive(Args)]
pub struct Arguments {
    /// What writes.
    #[arg(long, value_enum, default_value = "sort")]
    workload: Workload,
    /// Pages that it may write.
    #[arg(long, default_value_t = 4096, value_parser = clap::value_parser!(u32).range(16..=1 << 20))]
    pages: u32,
    /// Lines to draw.
    #[arg(long, default_value_t = 40, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    lines: u32,
    /// Milliseconds for each line.
    #[arg(long, value_name = "MS", default_value_t = 25, value_parser = clap::value_parser!(u64).range(1..=60_000))]
    interval: u64,
    /// Columns to draw.
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=512))]
    columns: u32,
    /// Who notices the writes: async, sync, cow or mprotect. By default NTUX_WATCH says, or it is the best that works.
    #[arg(long)]
    mechanism: Option<String>,
    /// Draw the map into this file as well.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

/// Draws the map.
pub fn watch(arguments: &Arguments) -> ExitCode {
    match draw(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        // A reader that closed the pipe early is no reason to complain.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("ntux watch: {error}");
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
        arguments.interval
    )?;
    let rows = arguments.workload.run_beside(&region, || ask(arguments, &region, &mut out))??;
    writeln!(out, "{}", heat::summary(&rows, page_size()))?;
    match &arguments.svg {
        Some(path) => std::fs::write(path, svg::render(arguments.workload.name(), mechanism, &rows, page_size())),
        None => Ok(()),
    }
}

fn open(mechanism: Option<&str>) -> io::Result<Watcher> {
    let opened = match mechanism {
        None => Watcher::new(),
        Some(name) => match Mechanism::named(name) {
            Some(mechanism) => Watcher::with(mechanism),
            None => {
                return Err(io::Error::other(format!("there is no mechanism '{name}': async, sync, cow or mprotect")));
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
    for _ in 0..arguments.lines {
        std::thread::sleep(Duration::from_millis(arguments.interval));
        region.get_bitmap(region.range(), &mut bitmap, Reset::Yes).map_err(io::Error::other)?;
        let before = rows.last().map_or(Duration::ZERO, |row| row.until);
        let row = Row::new(&bitmap, pages, arguments.columns as usize, before, start.elapsed());
        writeln!(out, "{}", line(&row, page_size(), is_colored))?;
        out.flush()?;
        rows.push(row);
    }
    Ok(rows)
}
