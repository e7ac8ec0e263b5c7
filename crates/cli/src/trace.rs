// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ntux trace`: which threads sleep, signal and are granted what, over time.

mod attach;
mod inbox;
mod names;
mod perfetto;
mod summary;
mod timeline;
mod waits;

use std::ffi::OsString;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitCode};
use std::time::{Duration, Instant};

use clap::Args;
use ntux_platform::clock;
use ntux_platform::command::child;
use ntux_platform::environment::{TRACE, text};
use ntux_platform::watching::readiness::wait_readable;

use crate::library::Library;
use crate::output::Output;
use crate::printable::printable;
use crate::status::NOTHING_THERE;
use crate::{NTUX_FAILED, drawing, in_front, interruption, run, say};
use attach::{Arenas, Asked};
use inbox::Inbox;
use names::Threads;
use perfetto::Perfetto;
use summary::Summary;
use timeline::Timeline;
use waits::{Completed, Seen, Wait, Waits};

/// The version of the JSON document.
const VERSION: u32 = 1;
/// How often events are fetched: the ring holds 65,536.
const FETCH_EVERY: Duration = Duration::from_millis(5);
/// How often the output is flushed, so that others can read it.
const FLUSH_EVERY: Duration = Duration::from_millis(500);
/// How long to wait for the last events of a program that has ended, or is no longer traced.
const REST: Duration = Duration::from_secs(1);

/// Record the waits of a program that slept: which thread waited for what, how long, and who ended the wait.
///
/// PROGRAM is run as by `ntux run`, and its exit status is returned. Given PID, a running program is traced until it
/// ends, until --seconds have passed, or until Ctrl-C. The processes that it starts are traced, too. A summary is
/// written to standard error.
///
/// Waits that find their object signaled, and operations on objects for which nobody waits, are not recorded, and
/// tracing does not slow them down. Each event costs about 0.1 microseconds. The program keeps the last 65,536 events
/// for the tracer; events that the tracer does not fetch in time are lost, and counted.
#[derive(Args)]
#[command(after_long_help = EXAMPLES, override_usage = USAGE)]
pub struct Arguments {
    /// Trace this process, and what it starts.
    #[arg(value_name = "PID", conflicts_with = "program", required_unless_present = "program",
        value_parser = clap::value_parser!(u32).range(1..))]
    pid: Option<u32>,
    /// Stop tracing a running program after so many seconds.
    #[arg(long, value_name = "N", requires = "pid", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    seconds: Option<u64>,
    /// Write the trace to this file, as FILE.part until all is there; may be repeated. The name decides the format: .json for ui.perfetto.dev, .svg for
    /// a picture, .html for a page with the picture and the summary.
    #[arg(long, short, value_name = "FILE")]
    output: Vec<PathBuf>,
    /// Also read the memory of native programs that use ntux's Win32 face (`libntux-win`), for the threads whose ends are waited for, and for
    /// names that a process has for itself. You must be allowed to trace them (`kernel.yama.ptrace_scope`).
    #[arg(long)]
    memory: bool,
    /// Write the summary as JSON: one line, which is the last one on standard error.
    #[arg(long)]
    json: bool,
    /// The program and its arguments.
    #[arg(last = true, value_names = ["PROGRAM", "ARGUMENT"])]
    program: Vec<OsString>,
}

const USAGE: &str = "\
ntux trace [OPTIONS] -- PROGRAM [ARGUMENT]...
       ntux trace [OPTIONS] PID";

const EXAMPLES: &str = "\
Examples:
  ntux trace -o trace.json -- wine game.exe
  ntux trace $(pidof game.exe) --seconds 5 -o trace.html -o trace.json";

/// Records events, and writes the trace.
pub fn trace(arguments: &Arguments) -> ExitCode {
    if let Some(path) = arguments.output.iter().find(|path| Format::of(path).is_none()) {
        return complain(&format!("'{}' must end in .json, .svg or .html", path.display()));
    }
    match arguments.pid {
        Some(pid) => running(pid, arguments),
        None => started(arguments),
    }
}

/// The format of an output.
#[derive(Clone, Copy)]
enum Format {
    Perfetto,
    Picture,
    Page,
}

impl Format {
    fn of(path: &Path) -> Option<Format> {
        match path.extension()?.to_str()? {
            "json" => Some(Format::Perfetto),
            "svg" => Some(Format::Picture),
            "html" => Some(Format::Page),
            _ => None,
        }
    }
}

fn complain(what: &str) -> ExitCode {
    say::complain(format_args!("ntux trace: {what}"));
    ExitCode::from(NTUX_FAILED)
}

fn running(pid: u32, arguments: &Arguments) -> ExitCode {
    let process = match child::Child::open(pid) {
        Ok(process) => process,
        Err(error) => return complain(&format!("process {pid}: {error}")),
    };
    if let Err(error) = crate::arenas::tables::shared_memory(pid) {
        return complain(&format!("cannot inspect process {pid}: {error}; run ntux as its user, or as root"));
    }
    let mut recording = match Recording::open(&arguments.output) {
        Ok(recording) => recording,
        Err(problem) => return complain(&problem),
    };
    let is_over = match interruption::catch() {
        Ok(is_over) => is_over,
        Err(error) => return complain(&error.to_string()),
    };
    let mut arenas = Arenas::of(pid, Asked { from_start: false, memory: arguments.memory });
    let until = arguments.seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    loop {
        let [has_ended] = wait_readable([process.as_fd()], Some(FETCH_EVERY));
        recording.fetch(&mut arenas);
        if has_ended || is_over() || until.is_some_and(|until| Instant::now() >= until) {
            break;
        }
    }
    recording.fetch_the_rest(&mut arenas);
    let is_empty = arenas.traced.is_empty();
    let title = format!("Process {pid}");
    match recording.finish(&arenas, &title, arguments.json) {
        Ok(()) if is_empty => ExitCode::from(NOTHING_THERE),
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => complain(&error.to_string()),
    }
}

fn started(arguments: &Arguments) -> ExitCode {
    let mut command = match run::prepare(&arguments.program, &[Library::Device]) {
        Ok(run::Prepared { obstacle: Some(obstacle), .. }) => {
            return run::cannot_serve(&arguments.program[0], obstacle);
        }
        Ok(prepared) => prepared.command,
        Err(status) => return status,
    };
    let mut recording = match Recording::open(&arguments.output) {
        Ok(recording) => recording,
        Err(problem) => return complain(&problem),
    };
    let inbox = open_inbox();
    command.env(text(TRACE), inbox.as_ref().map_or_else(|| "1".into(), Inbox::path));
    let (mut program, signals) = match in_front::start(command, &arguments.program[0], complain) {
        Ok(started) => started,
        Err(status) => return status,
    };
    let mut arenas = Arenas::of(program.id(), Asked { from_start: true, memory: arguments.memory });
    let status = record_until_the_end(&mut program, &signals, inbox.as_ref(), &mut recording, &mut arenas);
    // Before this process ends as the program did: perhaps by a signal.
    drop(inbox);
    let words = arguments.program.iter().map(|word| printable(&word.display().to_string()));
    let title = words.collect::<Vec<_>>().join(" ");
    let is_written = recording.finish(&arenas, &title, arguments.json).map_err(|error| complain(&error.to_string()));
    match status {
        Ok(status) => in_front::end_like(status, is_written),
        Err(error) => complain(&error.to_string()),
    }
}

/// Without it, only arenas that can be found are traced.
fn open_inbox() -> Option<Inbox> {
    let trouble = |error| {
        let place = std::env::temp_dir();
        say::complain(format_args!(
            "ntux trace: no socket can be made in '{}' ({error}); a program that ends at once leaves no trace",
            place.display()
        ));
    };
    Inbox::open().map_err(trouble).ok()
}

fn record_until_the_end(
    program: &mut Child,
    signals: &child::Signals,
    inbox: Option<&Inbox>,
    recording: &mut Recording,
    arenas: &mut Arenas,
) -> io::Result<std::process::ExitStatus> {
    let waiting = child::Child::open(program.id())?;
    let comes = inbox.map_or(signals.as_fd(), Inbox::as_fd);
    // Now it is there. It may have ended when this process gets a processor again.
    recording.fetch(arenas);
    loop {
        let [has_ended, has_signal, _] = wait_readable([waiting.as_fd(), signals.as_fd(), comes], Some(FETCH_EVERY));
        if has_signal {
            signals.pass_on(&waiting);
        }
        inbox.map(Inbox::take).iter().flatten().for_each(|handed| arenas.take(handed));
        recording.fetch(arenas);
        if has_ended {
            recording.fetch_the_rest(arenas);
            return program.wait();
        }
    }
}

/// What becomes of the events.
struct Recording {
    start_ns: u64,
    perfetto: Vec<Perfetto<Output>>,
    /// And pages.
    pictures: Vec<(Format, Output)>,
    summary: Summary,
    timeline: Timeline,
    threads: Threads,
    waits: Vec<Waits>,
    /// The threads that waited shortly before the trace ended, by arena.
    last_seen: Vec<Seen>,
    /// This process was so late that threads had stopped reporting.
    was_late: bool,
    flushed: Instant,
    events: Vec<ntux_sync::trace::Event>,
}

impl Recording {
    /// Makes the files that can be written from now on.
    ///
    /// Errors: a text that names one that cannot.
    fn open(outputs: &[PathBuf]) -> Result<Recording, String> {
        let (mut perfetto, mut pictures) = (Vec::new(), Vec::new());
        for path in outputs {
            let output = Output::create(path).map_err(|error| error.to_string())?;
            match Format::of(path) {
                Some(Format::Perfetto) | None => perfetto.push(Perfetto::begin(output)),
                Some(format) => pictures.push((format, output)),
            }
        }
        Ok(Recording {
            start_ns: clock::monotonic_ns(),
            perfetto,
            pictures,
            summary: Summary::default(),
            timeline: Timeline::default(),
            threads: Threads::default(),
            waits: Vec::new(),
            last_seen: Vec::new(),
            was_late: false,
            flushed: Instant::now(),
            events: Vec::new(),
        })
    }

    /// Takes what the threads of all arenas have reported.
    fn fetch(&mut self, arenas: &mut Arenas) {
        arenas.look();
        self.note_silence(arenas);
        arenas.traced.iter().for_each(attach::Traced::renew);
        self.take(arenas);
        if self.flushed.elapsed() >= FLUSH_EVERY {
            self.perfetto.iter_mut().for_each(Perfetto::flush);
            self.flushed = Instant::now();
        }
    }

    /// What threads have reported before they fell silent comes before what they will report.
    fn note_silence(&mut self, arenas: &mut Arenas) {
        let is_silent = |&number: &usize| arenas.traced[number].is_silent(self.start_ns);
        let silent: Vec<usize> = (0..arenas.traced.len()).filter(is_silent).collect();
        if !silent.is_empty() {
            self.was_late = true;
            self.take(arenas);
            silent.into_iter().for_each(|number| self.waits[number].interrupt());
        }
    }

    fn take(&mut self, arenas: &mut Arenas) {
        for number in 0..arenas.traced.len() {
            if self.waits.len() == number {
                self.waits.push(Waits::default());
            }
            let mut events = std::mem::take(&mut self.events);
            arenas.traced[number].read(&mut events);
            // The ring of an older arena may hold what another trace has left there.
            events.retain(|event| event.time_ns >= self.start_ns);
            for event in events.drain(..) {
                // Now, while it sleeps: it may have ended when its wait has.
                self.meet(event.thread);
                if let Some(completed) = self.waits[number].take(event) {
                    self.add(number, &mut arenas.traced[number], &completed);
                }
            }
            self.events = events;
        }
    }

    /// Takes the events behind one that its thread has not finished.
    fn fetch_the_rest(&mut self, arenas: &mut Arenas) {
        // This process may have been late since the last time that it renewed.
        self.note_silence(arenas);
        // While they still report: a thread that wakes later says so.
        self.last_seen = arenas.traced.iter().map(attach::Traced::who_waits).collect();
        arenas.traced.iter().for_each(attach::Traced::stop);
        let start = Instant::now();
        self.take(arenas);
        while start.elapsed() < REST && arenas.traced.iter().any(attach::Traced::is_behind) {
            std::thread::sleep(FETCH_EVERY);
            self.take(arenas);
        }
    }

    fn add(&mut self, arena: usize, traced: &mut attach::Traced, completed: &Completed) {
        match completed {
            Completed::Wait(wait) => {
                traced.learn(wait.object);
                self.wait(arena, &traced.objects, wait);
            }
            Completed::Signal(signal) => {
                traced.objects.learn_from(signal.object, signal.operation);
                self.summary.add_signal(arena, signal);
                self.timeline.add_signal(arena, signal);
                let Recording { perfetto, threads, .. } = self;
                let pid = |thread| threads.get(thread).map_or(thread, |thread| thread.pid);
                perfetto.iter_mut().for_each(|file| file.signal(signal, &traced.objects, pid));
            }
        }
    }

    fn wait(&mut self, arena: usize, objects: &names::Objects, wait: &Wait) {
        self.summary.add_wait(arena, wait);
        self.timeline.add_wait(arena, wait);
        let Recording { perfetto, threads, .. } = self;
        let pid = |thread| threads.get(thread).map_or(thread, |thread| thread.pid);
        perfetto.iter_mut().for_each(|file| file.wait(wait, objects, pid));
    }

    fn meet(&mut self, number: u32) {
        let Recording { perfetto, threads, .. } = self;
        if let Some(thread) = threads.meet(number) {
            perfetto.iter_mut().for_each(|file| file.thread(number, thread));
        }
    }

    /// Writes the rest, and prints the summary.
    fn finish(mut self, arenas: &Arenas, title: &str, json: bool) -> io::Result<()> {
        let now = clock::monotonic_ns();
        for (arena, waits) in std::mem::take(&mut self.waits).into_iter().enumerate() {
            let last_seen = self.last_seen.get(arena).filter(|_| self.was_late || arenas.traced[arena].lost() > 0);
            for wait in waits.finish(now, last_seen) {
                self.wait(arena, &arenas.traced[arena].objects, &wait);
            }
        }
        let lost = arenas.traced.iter().map(attach::Traced::lost).sum();
        let object = |arena: usize, slot| match arenas.traced.len() {
            1 => arenas.traced[arena].objects.name(slot),
            _ => format!("{}/{}", arena + 1, arenas.traced[arena].objects.name(slot)),
        };
        let thread = |number| self.threads.name(number);
        let mut account = self
            .summary
            .account(now.saturating_sub(self.start_ns), lost, object, thread, |number| self.threads.process(number));
        account.late = self.was_late;
        account.waiting_since_before = arenas.traced.iter().map(|traced| traced.wait_since_before(self.start_ns)).sum();
        account.problem = arenas.traced.is_empty().then(|| match &arenas.trouble {
            None => "no arena was found: the program did not use ntux's device while it was traced".to_owned(),
            Some(why) => format!("an arena was found that cannot be traced: {why}"),
        });
        let text = account.text();
        match json {
            true => say::complain(say::line_of_json(VERSION, &account)),
            false => say::complain(format_args!("ntux trace: {}", text.trim_end())),
        }
        let mut written = Vec::new();
        for (format, mut output) in self.pictures {
            let svg = self.timeline.svg(title, object, thread);
            let page = match format {
                Format::Page => drawing::page(title, &svg, &text),
                _ => svg,
            };
            // `finish` says what went wrong.
            let _ = output.write_all(page.as_bytes());
            written.push(output.finish());
        }
        written.extend(self.perfetto.into_iter().map(|file| file.finish(lost).finish()));
        written.into_iter().collect()
    }
}
