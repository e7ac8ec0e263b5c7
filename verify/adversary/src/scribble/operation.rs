// SPDX-License-Identifier: MIT OR Apache-2.0
//! The operations of victims: every operation of the core, with valid and invalid arguments.

use fastrand::Rng;
use ntux_sync::spec::OWNERS;
use ntux_sync::{Clock, New, Object, WAIT_MAX};

/// One call.
#[derive(Clone, Debug)]
pub enum Operation {
    Create(New),
    /// An object behind a descriptor, which is then closed.
    CreateDescriptor(New),
    Close(Object),
    Adopt(Object),
    Hold(Object),
    /// For the process with this number.
    HoldFor(Object, u32),
    Holds(Object),
    LetGo(Object),
    /// One of a few names.
    CreateNamed(u8, New),
    OpenNamed(u8, New),
    SetPermanent(Object, bool),
    Kind(Object),
    Release(Object, u32),
    SemaphoreRead(Object),
    Unlock(Object, u32),
    Kill(Object, u32),
    MutexRead(Object),
    Set(Object),
    Reset(Object),
    Pulse(Object),
    EventRead(Object),
    /// So many microseconds after now, and from then on; and by which clock.
    TimerSet(Object, Clock, u32, u32),
    TimerCancel(Object),
    TimerRead(Object),
    EndReport(Object, u32),
    EndRead(Object),
    WaitAny(Wait),
    WaitAll(Wait),
    QueueCreate,
    /// Queues by the numbers that stand for them: one that was made, probably.
    QueueClose(u64),
    /// For all of the objects, or for any.
    Detach(u64, bool, Wait),
    Post(u64),
    /// How long it may sleep.
    Collect(u64, u32),
    Cancel(u64),
    /// Gives the thread's place back.
    Retire,
    /// Attaches the same arena once more and asks it something.
    Attach,
    /// Attaches it once more and takes part as if it were another process.
    Join,
}

/// Arguments of a wait.
#[derive(Clone, Debug)]
pub struct Wait {
    pub objects: Vec<Object>,
    pub alert: Option<Object>,
    pub owner: u32,
    /// How long it may sleep; 0: one attempt.
    pub patience_us: u32,
}

/// The names of the operations, in their order.
pub const NAMES: [&str; 37] = [
    "create",
    "create_descriptor",
    "close",
    "adopt",
    "kind",
    "release",
    "semaphore_read",
    "unlock",
    "kill",
    "mutex_read",
    "set",
    "reset",
    "pulse",
    "event_read",
    "wait_any",
    "wait_all",
    "retire",
    "attach",
    "join",
    "hold",
    "let_go",
    "create_named",
    "open_named",
    "set_permanent",
    "timer_set",
    "timer_cancel",
    "timer_read",
    "queue_create",
    "queue_close",
    "wait_detached",
    "post",
    "collect",
    "cancel",
    "end_report",
    "end_read",
    "hold_for",
    "holds",
];

/// What an operation can come to.
pub const OUTCOMES: [&str; 11] = [
    "fine",
    "invalid",
    "no such object",
    "not owner",
    "overflow",
    "timed out",
    "interrupted",
    "exhausted",
    "corrupt",
    "not an arena",
    "refused by the system",
];

/// What an operation came to: the error number, 0 if it succeeded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outcome(pub i32);

impl Outcome {
    /// Place in [`OUTCOMES`].
    pub fn kind(self) -> usize {
        match self.0 {
            0 | libc::EOWNERDEAD => 0,
            libc::EINVAL => 1,
            libc::EBADF => 2,
            libc::EPERM => 3,
            libc::EOVERFLOW => 4,
            libc::ETIMEDOUT => 5,
            libc::EINTR => 6,
            libc::ENOMEM => 7,
            libc::EIO => 8,
            libc::ENOTTY => 9,
            _ => 10,
        }
    }
}

impl Operation {
    /// Place in [`NAMES`].
    pub fn number(&self) -> u32 {
        match self {
            Operation::Create(_) => 0,
            Operation::CreateDescriptor(_) => 1,
            Operation::Close(_) => 2,
            Operation::Adopt(_) => 3,
            Operation::Kind(_) => 4,
            Operation::Release(..) => 5,
            Operation::SemaphoreRead(_) => 6,
            Operation::Unlock(..) => 7,
            Operation::Kill(..) => 8,
            Operation::MutexRead(_) => 9,
            Operation::Set(_) => 10,
            Operation::Reset(_) => 11,
            Operation::Pulse(_) => 12,
            Operation::EventRead(_) => 13,
            Operation::WaitAny(_) => 14,
            Operation::WaitAll(_) => 15,
            Operation::Retire => 16,
            Operation::Attach => 17,
            Operation::Join => 18,
            Operation::Hold(_) => 19,
            Operation::LetGo(_) => 20,
            Operation::CreateNamed(..) => 21,
            Operation::OpenNamed(..) => 22,
            Operation::SetPermanent(..) => 23,
            Operation::TimerSet(..) => 24,
            Operation::TimerCancel(_) => 25,
            Operation::TimerRead(_) => 26,
            Operation::QueueCreate => 27,
            Operation::QueueClose(_) => 28,
            Operation::Detach(..) => 29,
            Operation::Post(_) => 30,
            Operation::Collect(..) => 31,
            Operation::Cancel(_) => 32,
            Operation::EndReport(..) => 33,
            Operation::EndRead(_) => 34,
            Operation::HoldFor(..) => 35,
            Operation::Holds(_) => 36,
        }
    }

    /// A new object of any kind.
    pub fn create(rng: &mut Rng) -> Operation {
        Operation::Create(new(rng))
    }

    /// Any operation, mostly on one of `known`.
    pub fn random(rng: &mut Rng, known: &[Object]) -> Operation {
        let object = object(rng, known);
        match rng.u32(0..82) {
            0..4 => Operation::Create(new(rng)),
            4 => Operation::CreateDescriptor(new(rng)),
            5 => Operation::Close(object),
            6 => Operation::Adopt(object),
            7 => Operation::Kind(object),
            8..11 => Operation::Release(object, number(rng)),
            11 => Operation::SemaphoreRead(object),
            12..14 => Operation::Unlock(object, owner(rng)),
            14 => Operation::Kill(object, owner(rng)),
            15 => Operation::MutexRead(object),
            16..19 => Operation::Set(object),
            19 => Operation::Reset(object),
            20..22 => Operation::Pulse(object),
            22 => Operation::EventRead(object),
            23..31 => Operation::WaitAny(wait(rng, known)),
            31..38 => Operation::WaitAll(wait(rng, known)),
            38 => Operation::Retire,
            39 => Operation::Attach,
            40 => Operation::Join,
            41..43 => Operation::Hold(object),
            43..45 => Operation::LetGo(object),
            45..48 => Operation::CreateNamed(rng.u32(0..3) as u8, new(rng)),
            48..50 => Operation::OpenNamed(rng.u32(0..3) as u8, new(rng)),
            50 => Operation::SetPermanent(object, rng.u32(0..2) == 0),
            51..55 => Operation::TimerSet(object, clock(rng), rng.u32(0..2_000), rng.u32(0..3) * rng.u32(1..500)),
            55 => Operation::TimerCancel(object),
            56..58 => Operation::TimerRead(object),
            58..60 => Operation::QueueCreate,
            60 => Operation::QueueClose(queue(rng)),
            61..67 => Operation::Detach(queue(rng), rng.bool(), wait(rng, known)),
            67..70 => Operation::Post(queue(rng)),
            70..75 => Operation::Collect(queue(rng), rng.u32(0..3) * rng.u32(0..500)),
            75 => Operation::EndReport(object, number(rng)),
            76..78 => Operation::EndRead(object),
            78 => Operation::HoldFor(object, process(rng)),
            79 => Operation::Holds(object),
            _ => Operation::Cancel(u64::from(rng.u32(0..8)) << 8 | u64::from(rng.u32(0..200)) << 24),
        }
    }

    /// How long it may sleep.
    pub fn patience_us(&self) -> u32 {
        match self {
            Operation::WaitAny(wait) | Operation::WaitAll(wait) => wait.patience_us,
            Operation::Collect(_, patience_us) => *patience_us,
            _ => 0,
        }
    }
}

fn object(rng: &mut Rng, known: &[Object]) -> Object {
    match rng.u32(0..16) {
        0 => Object(rng.u64(..)),
        1 => Object(u64::from(rng.u32(0..3)) << 32 | u64::from(rng.u32(0..64))),
        _ => rng.choice(known).copied().unwrap_or(Object(1 << 32)),
    }
}

/// The calling process, its parent, or hardly any.
fn process(rng: &mut Rng) -> u32 {
    match rng.u32(0..8) {
        0 => rng.u32(..),
        1..4 => std::os::unix::process::parent_id(),
        _ => std::process::id(),
    }
}

/// A number that may stand for a queue: few were made, and the owners of each are counted from 1 on.
fn queue(rng: &mut Rng) -> u64 {
    match rng.u32(0..16) {
        0 => rng.u64(..),
        _ => u64::from(rng.u32(1..4)) << 32 | u64::from(rng.u32(1..3)),
    }
}

fn number(rng: &mut Rng) -> u32 {
    match rng.u32(0..8) {
        0 => u32::MAX,
        1 => rng.u32(..),
        2 => 0,
        _ => rng.u32(1..5),
    }
}

fn owner(rng: &mut Rng) -> u32 {
    rng.u32(0..4)
}

fn clock(rng: &mut Rng) -> Clock {
    match rng.u32(0..3) {
        0 => Clock::Monotonic,
        1 => Clock::Wall,
        _ => Clock::Boot,
    }
}

fn new(rng: &mut Rng) -> New {
    match rng.u32(0..6) {
        5 => New::End { owner: OWNERS + rng.u32(0..3) },
        0 => New::Semaphore { count: rng.u32(0..3), max: number(rng) },
        1 => New::Mutex { owner: 0, count: 0 },
        2 => New::Mutex { owner: owner(rng), count: number(rng) },
        3 => New::Timer { manual: rng.bool() },
        _ => New::Event { manual: rng.bool(), signaled: rng.u32(0..4) == 0 },
    }
}

fn wait(rng: &mut Rng, known: &[Object]) -> Wait {
    let count = match rng.u32(0..16) {
        0 => rng.usize(0..=WAIT_MAX + 1),
        _ => rng.usize(1..5),
    };
    let objects = (0..count).map(|_| object(rng, known)).collect();
    let alert = (rng.u32(0..4) == 0).then(|| object(rng, known));
    let patience_us = if rng.u32(0..3) == 0 { rng.u32(1..1_000) } else { 0 };
    Wait { objects, alert, owner: rng.u32(0..4).max(u32::from(rng.u32(0..8) > 0)), patience_us }
}
