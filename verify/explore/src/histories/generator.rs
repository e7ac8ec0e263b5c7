// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random programs, each made from a seed, or from a seed and a list of calls to leave out. Seeds from [`TIMED`] on have timers, those
//! from [`DETACHED`] on waits without a thread, half of them also timers; in those from [`OWNED`] on each thread has an owner id of the arena.

use ntux_sync::spec::{BY_NAME, Id, NO_OBJECT, Name, OWNERS, ThreadId, Value};

use crate::program::{
    Call, Program, abandoned, adopt, all, any, arm, armed, auto, call_off, cancel, close, collect, collect_now,
    create_auto, create_mutex, create_named, create_sem, detached, end, end_owner, hold, kill, manual, manual_armed,
    manual_timer, mutex, open, pass, permanent, post, pulse, read, rel, release, report, reset, sem, set, temporary,
    timer, unlock,
};
use crate::random::Random;
use crate::subject::ArenaSubject;

/// Objects that a program has from the start, at most.
const OBJECTS: usize = 4;
/// The first seed whose programs have timers.
pub const TIMED: u64 = 1 << 32;
/// The first seed whose programs have waits without a thread.
pub const DETACHED: u64 = 2 << 32;
/// The first seed whose programs have owner ids of the arena.
pub const OWNED: u64 = 3 << 32;
/// How much time passes at a time where sleepers look whether owners live: more than until the first look, less than until the second.
const LONG: u64 = 2_000_000;
/// Waits without a thread in one program, at most.
const LABELS: usize = 3;
/// How much time passes at a time; a whole number of microseconds.
const MOMENT: u64 = 1_000;
/// Owns mutexes from the start, and is no thread.
const GHOST: u32 = 9;
/// The name that threads use, in programs that have one.
const NAME: Name = Name::exactly("a");
/// Threads that may create an object by that name: the explorer's group of names has two places, and each may reserve one.
const NAMERS: usize = 2;
/// A call that is left out: its thread, and its place there.
pub type Omitted = (ThreadId, usize);

/// The program of a seed, without some of its calls.
pub fn program(seed: u64, omitted: &[Omitted]) -> Program {
    let detaches = (DETACHED..OWNED).contains(&seed);
    let timed = (TIMED..DETACHED).contains(&seed) || detaches && seed % 2 == 1;
    let draft = Draft::new(Random::new(seed), timed, seed < TIMED && seed % 8 == 1);
    let mut program = draft.detaching(detaches).owning(seed >= OWNED).program();
    for (thread, calls) in program.threads.iter_mut().enumerate() {
        let mut place = 0..;
        calls.retain(|_| !omitted.contains(&(thread, place.next().expect("it has no end"))));
    }
    program.name = name(seed, omitted);
    program
}

/// `seed7`; without two of the calls `seed7-0.1_2.0`.
fn name(seed: u64, omitted: &[Omitted]) -> String {
    let omitted: Vec<String> = omitted.iter().map(|(thread, place)| format!("{thread}.{place}")).collect();
    let separator = if omitted.is_empty() { "" } else { "-" };
    format!("seed{seed}{separator}{}", omitted.join("_"))
}

/// The program of this name.
pub fn find(name: &str) -> Option<Program> {
    let (seed, omitted) = parse(name)?;
    Some(program(seed, &omitted))
}

/// Seed and omitted calls that a name tells.
pub fn parse(name: &str) -> Option<(u64, Vec<Omitted>)> {
    let rest = name.strip_prefix("seed")?;
    let (seed, omitted) = rest.split_once('-').unwrap_or((rest, ""));
    let place = |text: &str| {
        let (thread, place) = text.split_once('.')?;
        Some((thread.parse().ok()?, place.parse().ok()?))
    };
    let omitted = omitted.split('_').filter(|text| !text.is_empty()).map(place).collect::<Option<_>>()?;
    Some((seed.parse().ok()?, omitted))
}

/// A program in the making.
struct Draft {
    random: Random,
    objects: Vec<Value>,
    /// What the creating thread creates, in order; no other thread creates, so that the numbers are certain.
    created: Vec<Value>,
    creator: Option<ThreadId>,
    /// All threads use the same owner id.
    one_owner: bool,
    /// Its process may die, and what belongs to it then goes.
    own_process: Option<ThreadId>,
    /// Every other object is a timer.
    timed: bool,
    /// What the object with the name is like, if there is one. Nobody creates objects without a name then.
    named: Option<Value>,
    /// Calls that may create it.
    namings: u32,
    /// There are waits without a thread; so many.
    detaches: bool,
    labels: usize,
    /// Each thread has an owner id of the arena.
    owned: bool,
}

impl Draft {
    fn new(mut random: Random, timed: bool, has_name: bool) -> Self {
        let objects = (0..1 + random.below(OBJECTS)).map(|_| object(&mut random, timed)).collect();
        let one_owner = random.one_in(3);
        let named = has_name.then(|| named(&mut random));
        let (created, creator, own_process) = (Vec::new(), None, None);
        Self {
            random,
            objects,
            created,
            creator,
            one_owner,
            own_process,
            timed,
            named,
            namings: 0,
            detaches: false,
            labels: 0,
            owned: false,
        }
    }

    fn detaching(self, detaches: bool) -> Self {
        Self { detaches, ..self }
    }

    /// Every other object is a mutex then, which the first thread may own; of the others some are its end.
    fn owning(mut self, owned: bool) -> Self {
        if owned {
            let mutex = |random: &mut Random| if random.one_in(2) { mutex(OWNERS, 1) } else { mutex(0, 0) };
            let random = &mut self.random;
            self.objects.iter_mut().step_by(2).for_each(|object| *object = mutex(random));
            let others = self.objects.iter_mut().skip(1).step_by(2).filter(|_| random.one_in(3));
            others.for_each(|object| *object = end(OWNERS));
        }
        Self { owned, ..self }
    }

    fn program(mut self) -> Program {
        let threads = 2 + self.random.below(3);
        let (dead, heir) = (self.random.below(threads), self.random.below(threads));
        let dies = self.random.one_in(if self.owned { 2 } else { 4 });
        // An owner whose number another thread has seems to live.
        let inherited = dies && dead != heir && self.random.one_in(2) && !self.detaches && !self.owned;
        let buried = inherited && self.random.one_in(2);
        self.own_process = buried.then_some(dead);
        self.creator = self
            .random
            .one_in(3)
            .then(|| self.random.below(threads))
            .filter(|&it| Some(it) != self.own_process && self.named.is_none());
        let calls: Vec<Vec<Call>> = (0..threads).map(|thread| self.calls(thread)).collect();
        let calls: Vec<&[Call]> = calls.iter().map(Vec::as_slice).collect();
        let room = self.created.len() as u32 + self.namings;
        let program = Program {
            room,
            detached: if self.detaches { LABELS } else { 0 },
            ..Program::new("", &self.objects, &calls)
        };
        let program = match (dies, inherited, buried) {
            (false, ..) => program,
            (true, false, _) => program.mortal(dead),
            (true, true, false) => program.inherited(dead, heir),
            (true, true, true) => program.buried(dead, heir),
        };
        let program = if self.owned { program.with_owners() } else { program };
        let program = if self.random.one_in(4) { program.torn() } else { program };
        match self.random.below(4) {
            0 => program.over(ArenaSubject::unenrolled),
            1 => program.over(ArenaSubject::aged),
            _ => program,
        }
    }

    fn calls(&mut self, thread: ThreadId) -> Vec<Call> {
        (0..1 + self.random.below(4)).map(|_| self.call(thread)).collect()
    }

    fn call(&mut self, thread: ThreadId) -> Call {
        if self.named.is_some() && Some(thread) != self.own_process && self.random.one_in(2) {
            return self.by_name(thread);
        }
        if self.detaches && self.random.one_in(2) {
            return self.about_detached(thread);
        }
        if self.owned && self.random.one_in(6) {
            return if self.random.one_in(3) { end_owner(OWNERS + thread as u32) } else { pass(LONG) };
        }
        let object = self.some_object();
        match self.random.below(24) {
            0..12 => self.wait(thread),
            12..15 => read(object, &self.value(object)),
            15 if Some(thread) == self.creator => self.create(),
            16 if self.random.one_in(2) => close(object),
            17 if Some(thread) != self.own_process && self.random.one_in(3) => match object.wrapping_add(thread) % 3 {
                0 => adopt(object),
                1 => hold(object),
                _ => release(object),
            },
            _ => self.signal(thread, object),
        }
    }

    /// Gets the object with the name, or has to do with the one that the thread got.
    fn by_name(&mut self, thread: ThreadId) -> Call {
        let like = self.value(BY_NAME);
        match self.random.below(12) {
            0..4 if thread < NAMERS => {
                self.namings += 1;
                create_named(NAME, &like)
            }
            0..5 => open(NAME, &like),
            5 => release(BY_NAME),
            6 => (self.random.pick::<fn(Id) -> Call>(&[hold, close, permanent, temporary]))(BY_NAME),
            7 => read(BY_NAME, &like),
            8..10 => self.signal(thread, BY_NAME),
            _ => any(&[BY_NAME, 0]).by(self.owner(thread)).timed(),
        }
    }

    /// Registers a wait without a thread, takes a result, or cancels.
    fn about_detached(&mut self, thread: ThreadId) -> Call {
        match self.random.below(8) {
            0..4 if self.labels < LABELS => {
                self.labels += 1;
                let objects = self.waited_for();
                let wait = if self.random.one_in(3) { all(&objects) } else { any(&objects) };
                detached(self.labels - 1, wait.by(self.owner(thread)))
            }
            4 if self.labels > 0 => call_off(self.random.below(self.labels)),
            5 if self.random.one_in(2) => post(self.random.below(100)),
            5 => collect_now(),
            6 => collect().timed(),
            _ => collect(),
        }
    }

    fn create(&mut self) -> Call {
        let call = match self.random.below(3) {
            0 => create_auto(self.random.one_in(2)),
            1 => create_sem(self.random.below(3) as u32),
            _ => create_mutex(1, 1),
        };
        self.created.extend(call.operation.creates());
        call
    }

    /// Any object, now and then one that does not exist (yet). An object with a name has the next number in the model, but none here.
    fn some_object(&mut self) -> Id {
        let known = self.objects.len() + self.created.len();
        let unknown = if self.named.is_some() { NO_OBJECT } else { known };
        if self.random.one_in(40) { unknown } else { self.random.below(known) }
    }

    /// What the object is; now and then something else.
    fn value(&mut self, object: Id) -> Value {
        let known = match object {
            BY_NAME => self.named.clone(),
            _ => self.objects.iter().chain(&self.created).nth(object).cloned(),
        };
        known.filter(|_| !self.random.one_in(40)).unwrap_or_else(|| self::object(&mut self.random, self.timed))
    }

    fn signal(&mut self, thread: ThreadId, object: Id) -> Call {
        let owner = if self.random.one_in(4) { GHOST } else { self.owner(thread) };
        match self.value(object) {
            Value::Semaphore(_) => rel(object, self.random.below(4) as u32),
            Value::Mutex(_) if self.random.one_in(4) => kill(object, owner),
            Value::Mutex(_) => unlock(object, owner),
            Value::Timer(_) => match self.random.below(8) {
                0 => cancel(object),
                1..=4 => pass(MOMENT * (1 + self.random.below(3) as u64)),
                _ => arm(object, MOMENT * (1 + self.random.below(5) as u64), MOMENT * self.random.below(3) as u64),
            },
            Value::End(_) => report(object, self.random.below(3) as u32),
            Value::Event(_) => match self.random.below(6) {
                0 => reset(object),
                1 | 2 => pulse(object),
                _ => set(object),
            },
        }
    }

    /// One for all threads, or one for each; 0 is nobody's. Two threads with one id beside others with another one are
    /// left out: see "One owner id" in `docs/internals/protocol.md`.
    fn owner(&mut self, thread: ThreadId) -> u32 {
        match self.random.below(60) {
            0 => 0,
            1.. if self.owned => OWNERS + thread as u32,
            _ if self.one_owner => 1,
            _ => 1 + thread as u32,
        }
    }

    fn wait(&mut self, thread: ThreadId) -> Call {
        let (mut objects, count) = self.some_objects();
        let alert = objects.get(count).copied().filter(|_| self.random.one_in(3));
        objects.truncate(count);
        self.spoil(&mut objects);
        let wait = if self.random.one_in(3) { all(&objects) } else { any(&objects) };
        let wait = alert.into_iter().fold(wait.by(self.owner(thread)), Call::alert);
        let wait = match self.random.below(10) {
            0 | 1 => wait.polled(),
            2..4 => wait.timed(),
            4..6 => wait.hasty(),
            _ => wait,
        };
        if self.random.one_in(8) { wait.interruptible() } else { wait }
    }

    /// All objects in any order, and how many of them a wait is for.
    fn some_objects(&mut self) -> (Vec<Id>, usize) {
        let known = self.objects.len() + self.created.len();
        let count = (1 + self.random.below(known)).min(1 + self.random.below(4));
        let mut objects: Vec<Id> = (0..known).collect();
        (1..known).for_each(|last| objects.swap(last, self.random.below(last + 1)));
        (objects, count)
    }

    fn waited_for(&mut self) -> Vec<Id> {
        let (mut objects, count) = self.some_objects();
        objects.truncate(count);
        self.spoil(&mut objects);
        objects
    }

    /// Now and then an object stands twice in the list, or there is none, or one that does not exist.
    fn spoil(&mut self, objects: &mut Vec<Id>) {
        match self.random.below(40) {
            0 => objects.clear(),
            1 => objects.push(usize::MAX),
            2..6 => objects.push(objects[0]),
            _ => {}
        }
    }
}

/// What a new object may be like.
fn named(random: &mut Random) -> Value {
    match random.below(4) {
        0 => manual(false),
        1 => sem(random.below(3) as u32),
        2 => mutex(1, 1),
        _ => auto(false),
    }
}

fn object(random: &mut Random, timed: bool) -> Value {
    if timed && random.one_in(2) {
        let (due, period) = (MOMENT * (1 + random.below(3) as u64), MOMENT * random.below(2) as u64);
        return match random.below(6) {
            0 => timer(),
            1 => manual_timer(),
            2 => manual_armed(due, period),
            _ => armed(due, period),
        };
    }
    match random.below(12) {
        0..4 => auto(random.one_in(3)),
        4..6 => manual(random.one_in(3)),
        6..9 => sem(random.below(4) as u32),
        9 => abandoned(),
        10 => mutex(*random.pick(&[1, 2, GHOST]), *random.pick(&[1, 2, 31, 32, u32::MAX - 1, u32::MAX])),
        _ => mutex(0, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_the_whole_program() {
        for seed in 0..200 {
            let whole = program(seed, &[]);
            assert_eq!(format!("{whole:?}"), format!("{:?}", find(&whole.name).unwrap()));
            let part = program(seed, &[(0, 0), (1, 0)]);
            assert_eq!(part.threads[0].len() + 1, whole.threads[0].len());
            assert_eq!(format!("{part:?}"), format!("{:?}", find(&part.name).unwrap()));
        }
        assert!(find("seed1-").is_some() && find("seedx").is_none() && find("seed1-0").is_none());
    }

    #[test]
    fn owners_own_and_end() {
        let programs: Vec<Program> = (OWNED..OWNED + 200).map(|seed| program(seed, &[])).collect();
        let ends = |program: &Program| {
            let calls = program.threads.iter().flatten();
            calls.clone().any(|call| matches!(call.operation, ntux_sync::spec::Operation::EndOwner { .. }))
        };
        assert!(programs.iter().all(|program| program.owners) && programs.iter().filter(|it| ends(it)).count() > 20);
        assert!(programs.iter().filter(|program| program.fates.iter().any(|fate| fate.mortal)).count() > 50);
    }

    #[test]
    fn every_operation_and_every_kind_of_wait_occurs() {
        let calls: Vec<Call> = (0..2000).flat_map(|seed| program(seed, &[]).threads).flatten().collect();
        let mut names: Vec<String> = calls
            .iter()
            .map(|call| format!("{:?}", call.operation).split([' ', '(']).next().unwrap().to_owned())
            .collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), 21, "{names:?}");
        let waits = || calls.iter().filter_map(|call| call.operation.wait().map(|wait| (call, wait)));
        let occurs = |what: fn(&(&Call, &ntux_sync::spec::Wait)) -> bool| waits().any(|wait| what(&wait));
        assert!(occurs(|(_, wait)| wait.all && wait.alert.is_some() && wait.objects.len() >= 3));
        assert!(occurs(|(_, wait)| !wait.all && wait.objects.len() >= 4 && wait.poll));
        assert!(occurs(|(call, wait)| wait.all && call.hasty));
        assert!(occurs(|(call, wait)| !wait.poll && !call.deadline && call.interruptible));
    }
}
