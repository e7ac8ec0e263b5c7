// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs a program, step by step, and writes its transcript.
//!
//! A transcript has one entry for each step: what the call returned and what it changed in memory, then which other
//! threads completed a call since the previous step, and how. It does not depend on time, addresses, or the process's
//! earlier descriptors.

use std::collections::HashMap;
use std::io::Write;
use std::mem::zeroed;
use std::os::fd::{IntoRawFd, OwnedFd};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use crate::device::{last_errno, number, open_device};
use crate::face::Errno;
use crate::random::crew::Member;
use crate::random::memory::{Arguments, Ready};
use crate::random::program::{Action, Call, Fd, Program, Step};

/// Stands between two entries of a transcript.
pub(crate) const BETWEEN_ENTRIES: &str = "; ";

/// How often a call that may sleep for ever is interrupted, until it ends.
const INTERRUPTION_MICROSECONDS: i64 = 2000;

/// How many signals were handled.
static HANDLED: AtomicU32 = AtomicU32::new(0);

/// Performs the program in this process, which does nothing else.
pub(crate) fn perform(program: &Program, transcript: &mut impl Write) {
    handle_signals();
    let mut performance = Performance::start(program.threads);
    for (place, step) in program.steps.iter().enumerate() {
        let entry = performance.step(step) + &performance.ended(step.by);
        let separator = if place == 0 { "" } else { BETWEEN_ENTRIES };
        write!(transcript, "{separator}{entry}").expect("somebody listens");
    }
}

/// Makes an ioctl: what it returned, or the error number, negative.
pub(crate) fn make(ready: Ready) -> i64 {
    // SAFETY: whoever serves the call must check the pointer; where it is good, it leads to as much memory as the call
    // may touch.
    match unsafe { libc::ioctl(ready.fd, ready.number as _, ready.argument) } {
        -1 => -i64::from(last_errno().0),
        result => i64::from(result),
    }
}

/// The numbers of a performance's descriptors. It owns none: programs close what they like.
struct Descriptors {
    device: i32,
    other_device: i32,
    pipe: i32,
    file: i32,
    made: HashMap<usize, i32>,
}

impl Descriptors {
    fn open() -> Descriptors {
        let open = || open_device(libc::O_RDONLY).expect("/dev/ntsync opens").into_raw_fd();
        let (reader, _) = std::io::pipe().expect("two free descriptors");
        let pipe = OwnedFd::from(reader).into_raw_fd();
        // SAFETY: the name is a C string.
        let file = unsafe { libc::memfd_create(c"file".as_ptr(), 0) };
        let [device, other_device] = [open(), open()];
        Descriptors { device, other_device, pipe, file, made: HashMap::new() }
    }

    fn number_of(&self, fd: Fd) -> i32 {
        match fd {
            Fd::Device => self.device,
            Fd::OtherDevice => self.other_device,
            Fd::Pipe => self.pipe,
            Fd::File => self.file,
            Fd::Made(place) => self.made.get(&place).copied().unwrap_or(-1),
            Fd::Number(number) => number,
        }
    }

    /// Writes down what a call gave. A new descriptor is written as its distance from the first.
    fn note(&mut self, place: usize, result: i64, is_descriptor: bool) -> String {
        if result < 0 {
            return format!("{:?}", Errno(-result as i32));
        }
        if !is_descriptor {
            return result.to_string();
        }
        self.made.insert(place, result as i32);
        format!("fd{:+}", result - i64::from(self.device))
    }
}

struct Performance {
    descriptors: Descriptors,
    arguments: Arguments,
    crew: Vec<Member>,
    /// What each member of the crew does: the place of the step, and whether it creates.
    tasks: Vec<(usize, bool)>,
}

impl Performance {
    fn start(threads: usize) -> Performance {
        Performance {
            descriptors: Descriptors::open(),
            arguments: Arguments::new(),
            crew: (0..threads).map(|_| Member::start()).collect(),
            tasks: vec![(0, false); threads],
        }
    }

    fn step(&mut self, step: &Step) -> String {
        match &step.action {
            Action::Call(call) if step.by == 0 => self.call(step.place, call),
            Action::Call(call) => self.tell(step.place, step.by - 1, call),
            Action::Signal(thread, goes_on) => self.signal(*thread - 1, *goes_on),
            Action::Fork => fork(),
            Action::Close(fd) => {
                let fd = self.descriptors.number_of(*fd);
                // SAFETY: the program does nothing else with a descriptor that it closed.
                self.plain(step.place, unsafe { libc::close(fd) }, false)
            }
            Action::Copy(fd) => {
                let fd = self.descriptors.number_of(*fd);
                // SAFETY: takes a number, which need not be a descriptor.
                self.plain(step.place, unsafe { libc::dup(fd) }, true)
            }
            Action::CopyOver(from, onto) => {
                let [from, onto] = [from, onto].map(|fd| self.descriptors.number_of(*fd));
                // SAFETY: takes two numbers; what the second one was the program does not use any more.
                self.plain(step.place, unsafe { libc::dup2(from, onto) }, true)
            }
        }
    }

    fn plain(&mut self, place: usize, result: i32, is_descriptor: bool) -> String {
        let result = if result < 0 { -i64::from(last_errno().0) } else { i64::from(result) };
        self.descriptors.note(place, result, is_descriptor)
    }

    fn call(&mut self, place: usize, call: &Call) -> String {
        let ready = self.arguments.prepare(call, |fd| self.descriptors.number_of(fd));
        // Where there are other threads a call of the first one ends by itself, see `together`.
        let interrupted = self.crew.is_empty() && call.may_sleep_forever();
        let result = if interrupted { make_interrupted(ready) } else { make(ready) };
        self.descriptors.note(place, result, creates(call)) + &self.arguments.changes()
    }

    fn tell(&mut self, place: usize, thread: usize, call: &Call) -> String {
        let member = &mut self.crew[thread];
        if member.is_busy() {
            return "busy".to_string();
        }
        let ready = member.arguments.prepare(call, |fd| self.descriptors.number_of(fd));
        self.tasks[thread] = (place, creates(call));
        member.tell(ready, !call.may_sleep_forever());
        "told".to_string()
    }

    fn signal(&mut self, thread: usize, goes_on: bool) -> String {
        let member = &mut self.crew[thread];
        if !member.is_busy() {
            return "idle".to_string();
        }
        let handled = HANDLED.load(Ordering::Acquire);
        member.signal(if goes_on { libc::SIGUSR1 } else { libc::SIGUSR2 });
        while HANDLED.load(Ordering::Acquire) == handled {
            thread::yield_now();
        }
        "sent".to_string()
    }

    /// Which members of the crew have ended their calls, and how. Afterwards all others sleep.
    ///
    /// The thread that does this step comes first: only when it has ended, or sleeps, is it settled who of the others does.
    fn ended(&mut self, by: usize) -> String {
        if let Some(acting) = by.checked_sub(1) {
            self.crew[acting].settle();
        }
        let mut text = String::new();
        for (thread, member) in self.crew.iter_mut().enumerate() {
            member.settle();
            if let Some(result) = member.take_result() {
                let (place, creates) = self.tasks[thread];
                let result = self.descriptors.note(place, result, creates);
                text += &format!(" t{}: {result}{}", thread + 1, member.arguments.changes());
            }
        }
        text
    }
}

/// Returns in a child; this process ends as the child does. It has one thread: programs with several do not fork.
fn fork() -> String {
    let mut status = 0;
    // SAFETY: nothing that the child uses is held by a thread that it lacks. The parent ends without running what was
    // registered for its end: that is the child's to do.
    unsafe {
        match libc::fork() {
            0 => libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL),
            -1 => return format!("{:?}", last_errno()),
            child if libc::waitpid(child, &mut status, 0) == child => libc::_exit(i32::from(status != 0)),
            _ => libc::_exit(1),
        };
    }
    "forked".to_string()
}

fn creates(call: &Call) -> bool {
    [number::CREATE_SEM, number::CREATE_MUTEX, number::CREATE_EVENT].contains(&call.seen_number())
}

/// Makes a call that may sleep for ever, with signals that end it if it does. If it does not, it has been satisfied or
/// refused, whatever signals come.
fn make_interrupted(ready: Ready) -> i64 {
    let interrupt_every = |microseconds| {
        let interval = libc::timeval { tv_sec: 0, tv_usec: microseconds };
        let timer = libc::itimerval { it_interval: interval, it_value: interval };
        // SAFETY: the new setting is a valid one, nobody asks for the old one.
        unsafe { libc::setitimer(libc::ITIMER_REAL, &timer, null_mut()) };
    };
    interrupt_every(INTERRUPTION_MICROSECONDS);
    let result = make(ready);
    interrupt_every(0);
    result
}

fn handle_signals() {
    extern "C" fn count(_: i32) {
        HANDLED.fetch_add(1, Ordering::Release);
    }
    for (signal, flags) in [(libc::SIGUSR1, libc::SA_RESTART), (libc::SIGUSR2, 0), (libc::SIGALRM, 0)] {
        // SAFETY: all zeros is a valid action; the handler only counts.
        unsafe {
            let mut action: libc::sigaction = zeroed();
            action.sa_sigaction = count as extern "C" fn(i32) as usize;
            action.sa_flags = flags;
            assert_eq!(libc::sigaction(signal, &action, null_mut()), 0);
        }
    }
}
