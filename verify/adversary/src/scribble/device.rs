// SPDX-License-Identifier: MIT OR Apache-2.0
//! A program that knows only `/dev/ntsync`, with the library preloaded, while another process scribbles over its device
//! through `/proc`, as any process of the same user can.

use std::fs::OpenOptions;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, IntoRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use fastrand::Rng;
use ntux_platform::{clock, memory};
use ntux_sync::{Capacity, Object};

use super::board::{Board, Lane};
use super::file::ArenaFile;
use super::operation::Outcome;
use super::planted::{self, Bug};
use super::storm;
use super::watch::{Failure, Limits, Offence, failure, watch};
use ntux_testkit::child::Child;
use ntux_testkit::device::{self, WaitArgs, number};

/// Threads of the program.
const THREADS: usize = 2;
/// Descriptors of objects that one thread keeps.
const KEPT: usize = 6;
/// How long one seed takes.
const ROUND: Duration = Duration::from_millis(500);
/// How long the program may take to open the device.
const PATIENCE: Duration = Duration::from_secs(20);

/// Room for what the program says on its standard error, which ends there.
const COMPLAINTS: usize = 1 << 16;

/// The ioctls that go to an object, and their places among the names of operations.
const OF_OBJECT: [(u32, u32); 9] = [
    (number::SEM_RELEASE, 5),
    (number::SEM_READ, 6),
    (number::MUTEX_UNLOCK, 7),
    (number::MUTEX_KILL, 8),
    (number::MUTEX_READ, 9),
    (number::EVENT_SET, 10),
    (number::EVENT_RESET, 11),
    (number::EVENT_PULSE, 12),
    (number::EVENT_READ, 13),
];
const OF_DEVICE: [(u32, u32); 5] = [
    (number::CREATE_SEM, 0),
    (number::CREATE_MUTEX, 0),
    (number::CREATE_EVENT, 0),
    (number::WAIT_ANY, 14),
    (number::WAIT_ALL, 15),
];

/// The program that uses the device.
#[derive(clap::Args)]
pub struct Program {
    /// Descriptor of the board
    board: i32,
    seed: u64,
    #[arg(long, value_enum)]
    bug: Option<Bug>,
}

/// One seed: the program works while the scribbler does what the seed says.
pub fn run(
    board: &'static Board,
    fd: &OwnedFd,
    library: &Path,
    seed: u64,
    bug: Option<Bug>,
    limits: Limits,
) -> Result<(), Failure> {
    board.seed.store(seed);
    board.device.store(0);
    let complaints = memory::create(c"complaints", COMPLAINTS as u64).expect("a file");
    let program = Child::fork(|| {
        let mut command = command(fd, library, seed, bug);
        command.stderr(complaints.try_clone().expect("a descriptor"));
        panic!("the program does not start: {}", command.exec());
    });
    let program = program.expect("a fork");
    let end = Instant::now() + PATIENCE;
    while board.device.load() == 0 && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(1));
    }
    let file = open(program.id(), board.device.load()).expect("the program has opened the device");
    let shared: Vec<Object> = (0..8).map(|index| Object(1 << 32 | index)).collect();
    let scribbler = Child::fork(|| storm::scribbler(board, file, &shared, seed, Instant::now() + ROUND));
    watch(board, &[program, scribbler.expect("a fork")], limits)?;
    // The library turns a panic into an error number; the panic's message is what tells.
    let mut said = vec![0; COMPLAINTS];
    memory::read_start(complaints.as_fd(), &mut said).expect("the file can be read");
    let said = String::from_utf8_lossy(&said);
    match said.contains("panicked") {
        false => Ok(()),
        true => {
            println!("{}", said.trim_end_matches('\0'));
            Err(failure(board, &board.lanes[0], Offence::Panicked))
        }
    }
}

/// This program, with the library preloaded, in its role as a user of the device.
fn command(board: &OwnedFd, library: &Path, seed: u64, bug: Option<Bug>) -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.args(["use-device", &board.as_raw_fd().to_string(), &seed.to_string()]);
    command.args(bug.iter().flat_map(|bug| ["--bug".to_owned(), bug.to_string()]));
    command.env("LD_PRELOAD", library).env("NTUX_DEVICE", "user");
    command
}

/// The arena behind a descriptor of another process.
fn open(process: u32, fd: u32) -> io::Result<ArenaFile> {
    let device = OpenOptions::new().read(true).write(true).open(format!("/proc/{process}/fd/{fd}"))?;
    ArenaFile::open(device.as_fd(), Capacity::default())
}

impl Program {
    /// Opens the device and uses it for a while.
    pub fn run(&self) -> ExitCode {
        // SAFETY: the number of a descriptor that this process inherited.
        let board = Board::map(unsafe { BorrowedFd::borrow_raw(self.board) }).expect("a board");
        let device = device::open(libc::O_RDONLY | libc::O_CLOEXEC).expect("/dev/ntsync opens").into_raw_fd();
        board.device.store(device as u32);
        let end = Instant::now() + ROUND;
        std::thread::scope(|scope| {
            for (thread, lane) in board.lanes[..THREADS].iter().enumerate() {
                let rng = Rng::with_seed(self.seed ^ (thread as u64 + 1) << 32);
                scope.spawn(move || Client { board, lane, device, kept: vec![], rng }.work(end));
            }
        });
        if self.bug == Some(Bug::Panic) {
            planted::panic();
        }
        ExitCode::SUCCESS
    }
}

/// One thread of the program.
struct Client {
    board: &'static Board,
    lane: &'static Lane,
    device: i32,
    kept: Vec<OwnedFd>,
    rng: Rng,
}

impl Client {
    fn work(mut self, end: Instant) {
        self.lane.take();
        for step in 0.. {
            if Instant::now() > end {
                break;
            }
            self.lane.step.store(step);
            if self.rng.bool() { self.ask_device() } else { self.ask_object() }
        }
    }

    fn ask_device(&mut self) {
        let (request, name) = OF_DEVICE[self.rng.usize(0..OF_DEVICE.len())];
        if name == 0 {
            let mut arguments = [self.rng.u32(0..3), self.rng.u32(0..3)];
            let made = self.ioctl(self.device, request, name, 0, arguments.as_mut_ptr().cast());
            if let Some(fd) = made {
                // SAFETY: the ioctl has just made this descriptor.
                let fd = unsafe { OwnedFd::from_raw_fd(fd) };
                self.keep(fd);
            }
            return;
        }
        let objects: Vec<i32> = (0..self.rng.usize(1..5)).map(|_| self.any()).collect();
        let deadline_ns = clock::monotonic_ns() + self.rng.u64(0..500_000);
        let alert = if self.rng.u32(0..4) == 0 { self.any() as u32 } else { 0 };
        let (objs, count) = (objects.as_ptr() as u64, objects.len() as u32);
        let owner = self.rng.u32(1..4);
        let mut wait = WaitArgs { timeout: deadline_ns, objs, count, index: 0, flags: 0, owner, alert, pad: 0 };
        self.ioctl(self.device, request, name, deadline_ns, (&raw mut wait).cast());
    }

    fn ask_object(&mut self) {
        let (request, name) = OF_OBJECT[self.rng.usize(0..OF_OBJECT.len())];
        let mut arguments = [self.rng.u32(0..4), 0];
        let object = self.any();
        self.ioctl(object, request, name, 1, arguments.as_mut_ptr().cast());
    }

    /// The result, unless it failed; what it came to is counted.
    fn ioctl(&self, fd: i32, request: u32, name: u32, deadline_ns: u64, argument: *mut libc::c_void) -> Option<i32> {
        // SAFETY: the argument is as long as the request says.
        let result =
            self.lane.watched(name, deadline_ns, || match unsafe { libc::ioctl(fd, request as _, argument) } {
                -1 => Err(io::Error::last_os_error().raw_os_error().unwrap_or(0)),
                result => Ok(result),
            });
        self.board.count(Outcome(result.err().unwrap_or(0)));
        result.ok()
    }

    /// A descriptor that this thread keeps, or the device.
    fn any(&mut self) -> i32 {
        match self.kept.len() {
            0 => self.device,
            count => self.kept[self.rng.usize(0..count)].as_raw_fd(),
        }
    }

    fn keep(&mut self, fd: OwnedFd) {
        if self.kept.len() == KEPT {
            self.kept.remove(self.rng.usize(0..KEPT));
        }
        self.kept.push(fd);
    }
}
