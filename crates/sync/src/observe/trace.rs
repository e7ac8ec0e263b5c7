// SPDX-License-Identifier: MIT OR Apache-2.0
//! A record of who sleeps, signals, grants and wakes, kept only while a tracer asks for it.
//!
//! # Role
//! Threads report events on paths that sleep, grant or wake. Without a tracer, a report is one load of a word that
//! nobody writes, and a static tracepoint ([`ntux_platform::tracepoint`]). With a tracer, each event becomes one record
//! in a ring at the end of the arena's file. The ring loses records that its reader does not fetch in time; the reader
//! knows how many. Nothing in the core depends on a record.
//!
//! # Picture
//! ```text
//! record, low half:   63  50 49  46 45    24 23     0
//!                    +------+------+--------+--------+
//!                    | lap  | kind | thread | object |     lap 0: never written
//!                    +------+------+--------+--------+
//!         high half:  63    42 41                   0
//!                    +--------+----------------------+
//!                    | other  |     time             |     nanoseconds of the monotonic clock
//!                    +--------+----------------------+
//! ```
//! # Transitions
//! | word | from | to | by |
//! | --- | --- | --- | --- |
//! | `trace_until` | any | a time of the monotonic clock | a tracer: threads report until then. It renews the time, so one that is killed turns tracing off |
//! | `trace_until` | any | 0 | a tracer that ends |
//! | `trace_head` | n | n + 1 | a thread that reports event n |
//! | record n modulo the ring | an older lap | the lap of n | that thread, by one exchange |
//!
//! # Invariants
//! * I-trace-1: a record is all of one event, because one exchange writes it.
//! * I-trace-2: no record replaces one of a younger lap. A thread that was stopped between its two steps finds a
//!   younger record, or its exchange fails, and drops its event.
//!
//! # Death, stop
//! After the head has moved and before the exchange: the event is late, or lost. The reader waits for it for 0.2 seconds, or
//! until half of the ring is behind it; then it counts the event as lost, and continues.

use ntux_platform::atomic::{Pair, Word128};
use ntux_platform::{clock, liveness, tracepoint};
use std::os::fd::BorrowedFd;

use crate::Result;
use crate::arena::Arena;
use crate::format::fields::{Bits, TRACE, part};
pub use crate::format::limits::RECORDS;
use crate::kind::Kind;

/// An event that is later than this is taken for lost: its thread was killed, or stopped.
const LATE_NS: u64 = 200_000_000;
/// Laps are counted from 1 to this, and then from 1 again.
const LAPS: u64 = part(TRACE, "lap").mask();
const LAP: u32 = part(TRACE, "lap").shift();
const KIND: u32 = part(TRACE, "kind").shift();
const THREAD: u32 = part(TRACE, "thread").shift();
const OTHER: u32 = part(TRACE, "other").shift();

/// What a thread did. An object is named by its slot, as in [`crate::inspect`]; a thread by its number in its own
/// namespace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum What {
    /// It goes to sleep in a wait.
    Sleeps {
        /// The first object of the wait.
        object: u32,
        /// How many objects the wait has, without the alert.
        count: u32,
    },
    /// It slept, and its wait ended with this object.
    Acquires {
        /// The object that satisfied the wait.
        object: u32,
    },
    /// It slept, and its wait ended with all the objects.
    AcquiresAll,
    /// It slept, and its wait ended without an object: the deadline passed, or a signal handler came.
    GivesUp,
    /// It woke from its sleep while its wait was undecided, and sleeps again.
    Stirs,
    /// It changed an object for which somebody waits.
    Signals {
        /// The object.
        object: u32,
        /// How.
        operation: Operation,
    },
    /// It satisfied a waiter with this object.
    Grants {
        /// The object.
        object: u32,
        /// The waiter's thread.
        thread: u32,
    },
    /// It satisfied a waiter with all its objects.
    GrantsAll {
        /// The waiter's thread.
        thread: u32,
    },
    /// It sent the wake that a satisfied waiter was owed.
    Wakes {
        /// The waiter's thread.
        thread: u32,
    },
}

/// How an object was changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names are those of the operations")]
pub enum Operation {
    Set,
    Reset,
    Pulse,
    Release,
    Unlock,
    Kill,
    Fire,
    Finish,
    Report,
}

impl Operation {
    /// The word for the kind of object that it is done to, as [`crate::Kind::word`] has it.
    pub fn kind_word(self) -> &'static str {
        match self {
            Operation::Set | Operation::Reset | Operation::Pulse => Kind::AutoEvent.word(),
            Operation::Release => Kind::Semaphore.word(),
            Operation::Unlock | Operation::Kill => Kind::Mutex.word(),
            Operation::Fire => Kind::SyncTimer.word(),
            Operation::Finish | Operation::Report => Kind::End.word(),
        }
    }
}

const OPERATIONS: [Operation; 9] = [
    Operation::Set,
    Operation::Reset,
    Operation::Pulse,
    Operation::Release,
    Operation::Unlock,
    Operation::Kill,
    Operation::Fire,
    Operation::Finish,
    Operation::Report,
];

/// An event, as a tracer reads it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    /// Counts all events of the arena; a gap is a lost event.
    pub number: u64,
    /// When, in nanoseconds of the monotonic clock.
    pub time_ns: u64,
    /// Which thread, by its number in its own namespace.
    pub thread: u32,
    /// What it did.
    pub what: What,
}

/// The parts of a record that tell what happened: kind, object, and the high half's upper part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Code {
    kind: u64,
    object: u32,
    other: u32,
}

impl What {
    fn code(self) -> Code {
        let code = |kind, object, other| Code { kind, object, other };
        match self {
            What::Sleeps { object, count } => code(1, object, count),
            What::Acquires { object } => code(2, object, 0),
            What::AcquiresAll => code(3, 0, 0),
            What::GivesUp => code(4, 0, 0),
            What::Stirs => code(5, 0, 0),
            What::Signals { object, operation } => code(6, object, operation as u32),
            What::Grants { object, thread } => code(7, object, thread),
            What::GrantsAll { thread } => code(8, 0, thread),
            What::Wakes { thread } => code(9, 0, thread),
        }
    }

    /// Returns `None` if no event has this code.
    fn of(code: Code) -> Option<What> {
        let Code { kind, object, other } = code;
        Some(match kind {
            1 => What::Sleeps { object, count: other },
            2 => What::Acquires { object },
            3 => What::AcquiresAll,
            4 => What::GivesUp,
            5 => What::Stirs,
            6 => What::Signals { object, operation: *OPERATIONS.get(other as usize)? },
            7 => What::Grants { object, thread: other },
            8 => What::GrantsAll { thread: other },
            9 => What::Wakes { thread: other },
            _ => return None,
        })
    }
}

fn lap_of(number: u64) -> u64 {
    1 + (number / u64::from(RECORDS)) % LAPS
}

/// Returns true if a lap is older than another one, though their count wraps.
fn is_before(lap: u64, other: u64) -> bool {
    (other + LAPS - lap) % LAPS <= LAPS / 2
}

fn field(half: u64, bits: Bits) -> u64 {
    half >> bits.shift() & bits.mask()
}

fn record(number: u64, time_ns: u64, thread: u32, code: Code) -> Pair {
    let Code { kind, object, other } = code;
    let fit = |value: u64, name| value & part(TRACE, name).mask();
    let thread = fit(thread.into(), "thread");
    let (object, other, time) = (fit(object.into(), "object"), fit(other.into(), "other"), fit(time_ns, "time"));
    Pair { low: lap_of(number) << LAP | kind << KIND | thread << THREAD | object, high: other << OTHER | time }
}

/// What a reader finds where event `number` belongs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Found {
    Event(Event),
    /// It is not there yet.
    NotYet,
    /// It was replaced, given up, or is rubbish.
    Lost,
}

/// `now_ns` completes the time, of which a record has 42 bits (73 minutes).
fn read(pair: Pair, number: u64, now_ns: u64) -> Found {
    let lap = field(pair.low, part(TRACE, "lap"));
    if lap != lap_of(number) {
        return if lap == 0 || is_before(lap, lap_of(number)) { Found::NotYet } else { Found::Lost };
    }
    let code = Code {
        kind: field(pair.low, part(TRACE, "kind")),
        object: field(pair.low, part(TRACE, "object")) as u32,
        other: field(pair.high, part(TRACE, "other")) as u32,
    };
    let Some(what) = What::of(code) else { return Found::Lost };
    let mask = part(TRACE, "time").mask();
    let age = now_ns.wrapping_sub(field(pair.high, part(TRACE, "time"))) & mask;
    let thread = field(pair.low, part(TRACE, "thread")) as u32;
    Found::Event(Event { number, time_ns: now_ns.wrapping_sub(age), thread, what })
}

impl Arena {
    /// Reports an event, if a tracer asks for events.
    #[inline(always)]
    pub(super) fn trace(&self, what: impl FnOnce() -> What) {
        if super::NOTHING {
            return;
        }
        let what = what();
        what.tracepoint();
        if self.header().trace_until.load() != 0 {
            // In registers: else the code is in memory before anybody asks for it.
            let Code { kind, object, other } = what.code();
            self.write_down(kind, object, other);
        }
    }

    #[cold]
    fn write_down(&self, kind: u64, object: u32, other: u32) {
        let now = clock::monotonic_ns();
        if now >= self.header().trace_until.load() {
            return;
        }
        let number = self.header().trace_head.0.fetch_add(1);
        let new = record(number, now, liveness::thread_id() as u32, Code { kind, object, other });
        let word = self.trace_record(number);
        let old = word.load();
        // I-trace-2.
        if read(old, number, now) == Found::NotYet {
            word.compare_exchange(old, new).ok();
        }
    }

    fn trace_record(&self, number: u64) -> &Word128 {
        self.record((number % u64::from(RECORDS)) as u32)
    }
}

impl What {
    #[inline(always)]
    fn tracepoint(self) {
        match self {
            What::Sleeps { object, count } => tracepoint::sleeps(object, count),
            What::Acquires { object } => tracepoint::acquires(object),
            What::AcquiresAll => tracepoint::acquires_all(),
            What::GivesUp => tracepoint::gives_up(),
            What::Stirs => tracepoint::stirs(),
            What::Signals { object, operation } => tracepoint::signals(object, operation as u32),
            What::Grants { object, thread } => tracepoint::grants(object, thread),
            What::GrantsAll { thread } => tracepoint::grants_all(thread),
            What::Wakes { thread } => tracepoint::wakes(thread),
        }
    }
}

/// Reads the events of an arena. It takes no place in the arena; it writes only the word that turns tracing on.
pub struct Tracer {
    arena: Arena,
    next: u64,
    /// The event that was not there in the last round, and since when it has not been.
    awaited: Option<(u64, u64)>,
    lost: u64,
}

impl Tracer {
    /// Attaches to the arena behind a descriptor that can read and write. Nothing is on before [`Tracer::keep_on`].
    ///
    /// Errors: those of [`Arena::map`]; `Exhausted` or `Os` if the system has no memory for the ring (1 MiB).
    pub fn attach(fd: BorrowedFd<'_>) -> Result<Tracer> {
        let arena = Arena::over(fd)?;
        arena.provide_records()?;
        let next = arena.header().trace_head.0.load();
        Ok(Tracer { arena, next, awaited: None, lost: 0 })
    }

    /// Attaches like [`Tracer::attach`], and reads also what the ring holds of the time before.
    pub fn attach_to_the_past(fd: BorrowedFd<'_>) -> Result<Tracer> {
        let mut tracer = Tracer::attach(fd)?;
        tracer.next = tracer.next.saturating_sub(u64::from(RECORDS));
        Ok(tracer)
    }

    /// Has events reported for the next `ns` nanoseconds: to be called again before they have passed.
    pub fn keep_on(&self, ns: u64) {
        self.arena.trace_for(ns);
    }

    /// Since when threads have not reported, because the time that a tracer, or the program itself, had asked for was over. None: they
    /// report, or nobody has asked since tracing was turned off.
    pub fn silent_since(&self) -> Option<u64> {
        let until = self.arena.header().trace_until.load();
        (until != 0 && until <= clock::monotonic_ns()).then_some(until)
    }

    /// Turns tracing off.
    pub fn stop(&self) {
        self.arena.header().trace_until.store(0);
    }

    /// Appends the events since the last call, in the order of their numbers. Takes at most one step for each record of
    /// the ring.
    pub fn read(&mut self, events: &mut Vec<Event>) {
        let (head, now) = (self.arena.header().trace_head.0.load(), clock::monotonic_ns());
        let behind = head.wrapping_sub(self.next);
        // A head that went backwards is rubbish: begin anew there.
        if behind > u64::MAX / 2 {
            self.next = head;
            return;
        }
        let skipped = behind.saturating_sub(u64::from(RECORDS));
        self.lost = self.lost.saturating_add(skipped);
        self.next = self.next.wrapping_add(skipped);
        while self.next != head {
            match read(self.arena.trace_record(self.next).load(), self.next, now) {
                Found::Event(event) => events.push(event),
                Found::NotYet if self.waits_for_it(head, now) => return,
                Found::NotYet | Found::Lost => self.lost = self.lost.saturating_add(1),
            }
            self.next = self.next.wrapping_add(1);
        }
    }

    /// Returns true if the next event, which is not there yet, may still come.
    fn waits_for_it(&mut self, head: u64, now_ns: u64) -> bool {
        let since = match self.awaited {
            Some((number, since)) if number == self.next => since,
            _ => now_ns,
        };
        self.awaited = Some((self.next, since));
        now_ns.wrapping_sub(since) < LATE_NS && head.wrapping_sub(self.next) < u64::from(RECORDS / 2)
    }

    /// Returns true if there are events that the last call of [`Tracer::read`] left, because the one before them was not there yet.
    pub fn is_behind(&self) -> bool {
        self.next != self.arena.header().trace_head.0.load()
    }

    /// How many events were lost so far.
    pub fn lost(&self) -> u64 {
        self.lost
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Arena {
    /// Has events reported for the next `ns` nanoseconds, before a [`Tracer`] comes: for a program that is traced from
    /// its start.
    ///
    /// Errors: `Exhausted` or `Os` if the system has no memory for the ring (1 MiB).
    pub fn trace_from_now(&self, ns: u64) -> Result<()> {
        self.provide_records()?;
        self.trace_for(ns);
        Ok(())
    }

    fn trace_for(&self, ns: u64) {
        self.header().trace_until.store(clock::monotonic_ns().saturating_add(ns));
    }
}

#[cfg(all(test, not(ntux_explore)))]
mod tests {
    use super::*;

    const EVENTS: [What; 9] = [
        What::Sleeps { object: 7, count: 64 },
        What::Acquires { object: 0xff_ffff },
        What::AcquiresAll,
        What::GivesUp,
        What::Stirs,
        What::Signals { object: 3, operation: Operation::Kill },
        What::Grants { object: 9, thread: 0x3f_ffff },
        What::GrantsAll { thread: 1 },
        What::Wakes { thread: 2 },
    ];

    fn arena() -> Arena {
        Arena::create(crate::Capacity { objects: 16, waiters: 16 }).unwrap()
    }

    fn tracer(arena: &Arena) -> Tracer {
        let tracer = Tracer::attach(arena.fd().unwrap()).unwrap();
        tracer.keep_on(1 << 40);
        tracer
    }

    fn read_until_lost(tracer: &mut Tracer, events: &mut Vec<Event>, lost: u64) {
        let start = clock::monotonic_ns();
        while tracer.lost() < lost {
            tracer.read(events);
            assert!(clock::monotonic_ns() - start < 60_000_000_000, "this test notices nothing");
        }
        assert_eq!(tracer.lost(), lost);
    }

    #[test]
    fn an_event_is_read_as_it_was_written() {
        for (number, what) in (0..).step_by(40_000_000_000_000).zip(EVENTS) {
            let pair = record(number, (1 << 50) + number, 0x3f_ffff, what.code());
            let event = Event { number, time_ns: (1 << 50) + number, thread: 0x3f_ffff, what };
            assert_eq!(read(pair, number, (1 << 50) + number + 1000), Found::Event(event));
        }
    }

    #[test]
    fn a_record_of_another_lap_is_no_event() {
        let ring = u64::from(RECORDS);
        for number in [5, ring + 5, (LAPS - 1) * ring + 5, LAPS * ring + 5, 3 * LAPS * ring + 5] {
            let pair = record(number, 0, 1, What::Stirs.code());
            assert_eq!(read(pair, number + ring, 0), Found::NotYet, "{number}");
            assert_eq!(read(pair, number + 9 * ring, 0), Found::NotYet, "{number}");
            if number >= ring {
                assert_eq!(read(pair, number - ring, 0), Found::Lost, "{number}");
            }
        }
        assert_eq!(read(Pair::default(), 12, 0), Found::NotYet);
    }

    #[test]
    fn nothing_is_written_down_while_nobody_asks() {
        let arena = arena();
        arena.trace(|| What::Stirs);
        let mut tracer = tracer(&arena);
        arena.trace(|| What::GivesUp);
        tracer.stop();
        arena.trace(|| What::Stirs);
        // The time that a tracer asked for has passed.
        arena.header().trace_until.store(1);
        arena.trace(|| What::Stirs);
        let mut events = Vec::new();
        tracer.read(&mut events);
        let seen: Vec<_> = events.iter().map(|event| event.what).collect();
        assert_eq!((seen, tracer.lost()), (vec![What::GivesUp], 0));
    }

    #[test]
    fn threads_that_have_fallen_silent_are_noticed() {
        let arena = arena();
        let tracer = Tracer::attach(arena.fd().unwrap()).unwrap();
        assert_eq!(tracer.silent_since(), None, "nobody has asked");
        let before = clock::monotonic_ns();
        arena.trace_from_now(1).unwrap();
        let since = tracer.silent_since().expect("it is over");
        assert!((before..=clock::monotonic_ns()).contains(&since));
        tracer.keep_on(1 << 40);
        assert_eq!(tracer.silent_since(), None);
        tracer.stop();
        assert_eq!(tracer.silent_since(), None);
    }

    #[test]
    fn what_was_not_fetched_in_time_is_counted() {
        let arena = arena();
        let mut tracer = tracer(&arena);
        for _ in 0..RECORDS + 100 {
            arena.trace(|| What::Stirs);
        }
        let mut events = Vec::new();
        tracer.read(&mut events);
        assert_eq!((events.len(), tracer.lost(), events[0].number), (RECORDS as usize, 100, 100));
    }

    #[test]
    fn an_event_that_died_with_its_thread_is_waited_for_and_then_lost() {
        let arena = arena();
        let mut tracer = tracer(&arena);
        arena.header().trace_head.0.fetch_add(1);
        arena.trace(|| What::Stirs);
        let mut events = Vec::new();
        tracer.read(&mut events);
        assert_eq!((events.len(), tracer.lost()), (0, 0));
        read_until_lost(&mut tracer, &mut events, 1);
        assert_eq!(events.len(), 1);
        // Its place serves the next lap.
        for _ in 0..RECORDS - 1 {
            arena.trace(|| What::GivesUp);
        }
        tracer.read(&mut events);
        assert_eq!((events.len() as u32, tracer.lost()), (RECORDS, 1));
    }

    #[test]
    fn a_younger_event_is_never_replaced() {
        let arena = arena();
        let mut tracer = tracer(&arena);
        // This thread was stopped for a whole lap before its exchange.
        let word = arena.trace_record(0);
        let (old, late) = (word.load(), record(0, 0, 1, What::Stirs.code()));
        for _ in 0..=RECORDS {
            arena.trace(|| What::GivesUp);
        }
        assert!(word.compare_exchange(old, late).is_err());
        // The planted fault: it looks at the word afresh, and not at the lap that it finds there.
        word.compare_exchange(word.load(), late).unwrap();
        let mut events = Vec::new();
        read_until_lost(&mut tracer, &mut events, 2);
    }

    #[test]
    fn rubbish_ends() {
        let arena = arena();
        let mut tracer = tracer(&arena);
        let mut events = Vec::new();
        for head in [u64::MAX, 1 << 40, 3, 0, u64::MAX / 2] {
            arena.header().trace_head.0.store(head);
            for index in 0..RECORDS {
                let word = arena.record(index);
                word.compare_exchange(word.load(), Pair { low: u64::MAX ^ head, high: head }).unwrap();
            }
            tracer.read(&mut events);
        }
        assert!(events.len() <= 5 * RECORDS as usize);
    }
}
