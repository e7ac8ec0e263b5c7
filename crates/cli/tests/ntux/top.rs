// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ntux top` in a terminal of 80 columns and 24 rows, as a user types.

use std::fs::File;
use std::io::{Read, Write};
use std::num::NonZero;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ntux_sync::inspect::View;
use ntux_sync::{Arena, Capacity, Deadline, Object, Waiter};

use crate::stage::{Stage, complained, finish, said};

const COLUMNS: u16 = 80;
const ROWS: u16 = 24;
const PATIENCE: Duration = Duration::from_secs(60);

fn size_of(number: u16) -> NonZero<u16> {
    NonZero::new(number).unwrap()
}

/// A terminal with `ntux top` in it.
struct Terminal {
    child: Child,
    master: File,
    screen: Arc<Mutex<vt100::Parser>>,
}

impl Terminal {
    fn start(stage: &Stage, options: &[&str], colourless: bool) -> Terminal {
        let mut command = stage.ntux(&["top", "--every", "0.1"]);
        command.args(options).env("TERM", "xterm-256color").env_remove("NO_COLOR");
        if colourless {
            command.env("NO_COLOR", "1");
        }
        Terminal::with(command)
    }

    fn with(mut command: Command) -> Terminal {
        let (mut master, mut slave) = (0, 0);
        let size = libc::winsize { ws_row: ROWS, ws_col: COLUMNS, ws_xpixel: 0, ws_ypixel: 0 };
        // SAFETY: two places for descriptors, no name, no attributes, and a size that outlives the call.
        let made = unsafe { libc::openpty(&mut master, &mut slave, core::ptr::null_mut(), core::ptr::null(), &size) };
        assert_eq!(made, 0, "these tests need a pseudo-terminal");
        // SAFETY: openpty has just made both, and nobody else knows of them.
        let (master, slave) = unsafe { (File::from_raw_fd(master), OwnedFd::from_raw_fd(slave)) };
        let (input, error) = (slave.try_clone().unwrap(), slave.try_clone().unwrap());
        let child = command.stdin(input).stdout(Stdio::from(slave)).stderr(error).spawn().unwrap();
        drop(command);
        let screen = Arc::new(Mutex::new(vt100::Parser::new(size_of(ROWS), size_of(COLUMNS), 0)));
        let (mut output, parser) = (master.try_clone().unwrap(), screen.clone());
        // It ends with the child, when nobody has the other side any more.
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = output.read(&mut bytes) {
                parser.lock().unwrap().process(&bytes[..count]);
            }
        });
        Terminal { child, master, screen }
    }

    fn text(&self) -> String {
        self.screen.lock().unwrap().screen().contents()
    }

    fn until(&self, what: &str, is_there: impl Fn(&str) -> bool) -> String {
        let start = Instant::now();
        loop {
            let text = self.text();
            if is_there(&text) {
                return text;
            }
            assert!(start.elapsed() < PATIENCE, "no {what} in\n{text}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn shows(&self, words: &str) -> String {
        self.until(words, |text| text.contains(words))
    }

    fn press(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).unwrap();
    }

    fn resize(&mut self, rows: u16, columns: u16) {
        self.screen.lock().unwrap().screen_mut().set_size(size_of(rows), size_of(columns));
        let size = libc::winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        // SAFETY: a request that reads a size, on a descriptor of our own.
        assert_eq!(unsafe { libc::ioctl(self.master.as_raw_fd(), libc::TIOCSWINSZ, &size) }, 0);
        // SAFETY: a signal to a child of our own. (The terminal is not its controlling one.)
        assert_eq!(unsafe { libc::kill(self.child.id() as i32, libc::SIGWINCH) }, 0);
    }

    fn is_coloured(&self) -> bool {
        let parser = self.screen.lock().unwrap();
        let screen = parser.screen();
        let cells = (0..ROWS).flat_map(|row| (0..COLUMNS).map(move |column| (row, column)));
        let coloured = |cell: &vt100::Cell| cell.fgcolor() != vt100::Color::Default;
        cells.into_iter().any(|(row, column)| screen.cell(row, column).is_some_and(coloured))
    }

    fn quit(mut self) {
        self.press("q");
        self.ends();
    }

    /// It ends well, and the terminal is as it was.
    fn ends(mut self) {
        let start = Instant::now();
        let status = loop {
            match self.child.try_wait().unwrap() {
                Some(status) => break status,
                None if start.elapsed() > PATIENCE => panic!("it does not end:\n{}", self.text()),
                None => std::thread::sleep(Duration::from_millis(5)),
            }
        };
        assert!(status.success(), "{status}:\n{}", self.text());
        self.until("the screen as it was", |_| !self.screen.lock().unwrap().screen().alternate_screen());
        assert!(self.reads_lines(), "the terminal is still raw");
    }

    /// Returns true if the terminal gives whole lines to its reader, as it does outside of `ntux top`.
    fn reads_lines(&self) -> bool {
        // SAFETY: termios is made of integers.
        let mut mode: libc::termios = unsafe { core::mem::zeroed() };
        // SAFETY: a place for the answer, and a descriptor of our own.
        assert_eq!(unsafe { libc::tcgetattr(self.master.as_raw_fd(), &mut mode) }, 0);
        mode.c_lflag & libc::ICANON != 0
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A thousand objects, one of which is busy, and a hundred threads that wait.
struct Crowd {
    arena: Arena,
    waiter: Waiter,
    objects: Vec<Object>,
    busy: Object,
    mutex: Object,
}

const THREADS: u32 = 100;

impl Crowd {
    fn new() -> Crowd {
        let arena = Arena::create(Capacity { objects: 2048, waiters: 256 }).unwrap();
        let waiter = arena.waiter();
        let objects = (0..998).map(|_| arena.event_create(&waiter, true, false).unwrap()).collect();
        let busy = arena.semaphore_create(&waiter, 0, 7).unwrap();
        let mutex = arena.mutex_create(&waiter, 999, 1).unwrap();
        Crowd { arena, waiter, objects, busy, mutex }
    }

    /// Runs `test` while everybody waits, and somebody uses the busy one.
    fn during(&self, test: impl FnOnce(&Crowd)) {
        let done = std::sync::Barrier::new(2);
        std::thread::scope(|scope| {
            for number in 0..THREADS {
                let crowd = (&self.arena, &self.objects, self.mutex);
                let wait = move || {
                    let (arena, objects, mutex) = crowd;
                    let objects = if number < 60 { [mutex] } else { [objects[number as usize]] };
                    arena.wait_any(&arena.waiter(), &objects, None, number + 1, Deadline::Never).unwrap();
                    if number < 60 {
                        arena.mutex_unlock(&arena.waiter(), mutex, number + 1).unwrap();
                    }
                };
                std::thread::Builder::new().name(format!("crowd-{number}")).spawn_scoped(scope, wait).unwrap();
            }
            let view = View::open(self.arena.fd().unwrap()).unwrap();
            while view.snapshot().unwrap().waiters.iter().filter(|waiter| waiter.parked).count() < THREADS as usize {
                std::thread::sleep(Duration::from_millis(1));
            }
            let (arena, busy, end, done) = (&self.arena, self.busy, self.objects[0], &done);
            scope.spawn(move || {
                let waiter = arena.waiter();
                while !arena.event_read(&waiter, end).unwrap().1 {
                    arena.semaphore_release(&waiter, busy, 1).unwrap();
                    arena.wait_any(&waiter, &[busy], None, 1, Deadline::NOW).unwrap();
                    std::thread::sleep(Duration::from_millis(1));
                }
                done.wait();
            });
            let tested = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| test(self)));
            // Everybody goes home, also after a failure.
            for &object in &self.objects {
                self.arena.event_set(&self.waiter, object).unwrap();
            }
            self.arena.mutex_unlock(&self.waiter, self.mutex, 999).unwrap();
            done.wait();
            if let Err(failure) = tested {
                std::panic::resume_unwind(failure);
            }
        });
    }
}

#[test]
fn a_thousand_objects_and_a_hundred_threads_fit_a_terminal() {
    let stage = Stage::new();
    Crowd::new().during(|crowd| {
        let mut terminal = Terminal::start(&stage, &[&std::process::id().to_string()], false);
        let mutex = format!("{} mutex", crowd.mutex.0 as u32);
        terminal.shows("1000 objects, 100 of 1");
        // The queue of the mutex is the longest. The line of keys is drawn last.
        let first = |words: String| {
            move |text: &str| {
                text.lines().nth(3).is_some_and(|line| line.contains(&words)) && text.contains("Tab page  s order")
            }
        };
        let text = terminal.until("the mutex first", first(mutex.clone()));
        assert!(text.contains("owner 999"), "{text}");
        assert!(text.lines().count() <= usize::from(ROWS), "{text}");
        assert!(terminal.is_coloured());

        // By changes: the semaphore is the only one that has any.
        terminal.press("s");
        let semaphore = format!("{} semaphore", crowd.busy.0 as u32);
        let text = terminal.until("the semaphore first", first(semaphore.clone()));
        assert!(text.contains("objects by changes"), "{text}");
        terminal.press("r");
        let text = terminal.until("the semaphore last", |text| !first(semaphore.clone())(text));
        assert!(text.contains("reversed"), "{text}");
        terminal.press("r");

        terminal.press("/semaph\r");
        terminal.until("the filtered list", |text| {
            text.contains("with \"semaph\"") && text.matches("semaphore").count() == 1 && !text.contains("manual")
        });
        terminal.press("\x1b");
        terminal.until("no filter", |text| !text.contains("with \""));
        terminal.press("s");
        terminal.until("the mutex first", first(mutex.clone()));
        terminal.press("\x1b[H\r");
        terminal.until("the mutex", |text| {
            let words = ["owner 999, once", "waiting, in the order of arrival: 60", "crowd-"];
            words.iter().all(|words| text.contains(words))
        });
        terminal.press("\x1b");
        terminal.until("the list", first(mutex.clone()));

        terminal.press("\t");
        terminal.until("the threads", |text| text.contains("threads by time spent waiting") && text.contains("100 %"));
        terminal.press("/crowd-99\r");
        terminal.until("one thread", |text| text.contains("with \"crowd-99\"") && text.contains("manual #99"));
        terminal.press("\r");
        terminal.until("its chain", |text| {
            text.contains("crowd-99 (owner 100) has waited ") && text.contains("not signaled")
        });
        terminal.press(" ");
        terminal.shows("frozen");
        terminal.press(" ");
        terminal.until("the view live", |text| !text.contains("frozen"));

        terminal.press("\x1b");
        terminal.until("the list", |text| text.contains("WAITS FOR"));
        terminal.press("\x1b");
        terminal.resize(40, 120);
        terminal.until("more lines", |text| text.lines().filter(|line| line.contains("crowd-")).count() > 30);
        terminal.resize(6, 30);
        terminal.until("fewer lines", |text| text.lines().count() <= 6 && text.contains("ntux top"));
        terminal.quit();
    });
}

#[test]
fn whoever_ends_it_gets_the_terminal_back() {
    let stage = Stage::new();
    Crowd::new().during(|_| {
        for signal in [libc::SIGTERM, libc::SIGHUP, libc::SIGINT] {
            let terminal = Terminal::start(&stage, &[&std::process::id().to_string()], false);
            terminal.shows("1000 objects, 100 of 1");
            assert!(!terminal.reads_lines(), "it hears single keys");
            // SAFETY: a signal to a child of our own.
            assert_eq!(unsafe { libc::kill(terminal.child.id() as i32, signal) }, 0);
            terminal.ends();
        }
    });
}

#[test]
fn without_colour_everything_is_said_too() {
    let stage = Stage::new();
    Crowd::new().during(|_| {
        let terminal = Terminal::start(&stage, &[&std::process::id().to_string()], true);
        terminal.shows("1000 objects, 100 of 1");
        assert!(!terminal.is_coloured());
        terminal.quit();
        let pid = std::process::id().to_string();
        let once = finish(stage.ntux(&["top", "--once", "--every", "0.1", "--threads"]).arg(&pid));
        let text = said(&once);
        assert!(text.lines().count() <= 24 && text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(text.contains("1000 objects, 100 of 1") && text.contains("crowd-"), "{text}");
    });
}

#[test]
fn without_a_terminal_it_says_what_to_do() {
    let stage = Stage::new();
    let arena = Arena::create(Capacity { objects: 64, waiters: 16 }).unwrap();
    arena.event_create(&arena.waiter(), true, false).unwrap();
    let output = finish(stage.ntux(&["top"]).arg(std::process::id().to_string()));
    assert_eq!((output.status.code(), said(&output).as_str()), (Some(125), ""));
    assert!(complained(&output).contains("ntux top --once"), "{}", complained(&output));

    // One that can only print.
    let mut command = stage.ntux(&["top"]);
    command.arg(std::process::id().to_string()).env("TERM", "dumb");
    let mut terminal = Terminal::with(command);
    assert_eq!(terminal.child.wait().unwrap().code(), Some(125));
    terminal.shows("ntux top --once");
}
