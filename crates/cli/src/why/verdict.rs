//! What was found, in the shape of the JSON and as text for people.

use ntux_sync::Object;
use ntux_sync::inspect::why::{Finding, Link};
use ntux_sync::inspect::{Claim, Given, LastBy, Request, Snapshot, Value};
use serde::Serialize;

use super::chain::{Chain, Follower, Logged, Step};
use super::log::Logs;
use crate::arenas::examine::Examined;
use crate::arenas::find::Target;
use crate::arenas::processes::Descriptor;
use crate::arenas::scene::{Creator, Doer, Scene, long, slot_of};
use crate::printable::printable;

const PAGE_WIDTH: usize = 80;
/// Threads whose chains are shown if the whole process was asked for.
const CHAINS: usize = 20;
/// Processes that are listed.
const LISTED: usize = 12;
/// Descriptors by which an object is named.
const NAMED: usize = 3;

/// Everything.
#[derive(Serialize)]
pub struct Verdict {
    pub arenas: Vec<Told>,
    /// A thread that was asked for, and has no place in any arena.
    #[serde(skip)]
    stranger: Option<(u32, u32)>,
}

/// What there is to say of an arena.
#[derive(Serialize)]
pub struct Told {
    pub device: u64,
    pub inode: u64,
    pub processes: Vec<u32>,
    pub waiting: usize,
    pub findings: Vec<Trouble>,
    /// Of the threads that were asked for.
    pub chains: Vec<Chain>,
    /// Waiting threads whose chains are left out.
    pub more: usize,
}

/// A finding.
#[derive(Serialize)]
pub struct Trouble {
    pub kind: &'static str,
    /// It will not pass by itself.
    pub fault: bool,
    /// The sentences that people are shown.
    pub text: Vec<String>,
    pub threads: Vec<Party>,
    pub objects: Vec<Thing>,
    /// Threads that cannot continue until this is resolved.
    pub behind: Vec<Party>,
    /// Threads that are stopped, one of which may be the cause.
    pub stopped: Vec<Stopped>,
}

/// A thread.
#[derive(Clone, Serialize)]
pub struct Party {
    /// Its place. None: it has never waited.
    pub waiter: Option<u32>,
    pub pid: Option<u32>,
    pub thread: Option<u32>,
    pub name: Option<String>,
    /// In whose name it waits, or last did.
    pub owner: u32,
}

/// An object.
#[derive(Clone, Serialize)]
pub struct Thing {
    pub object: u64,
    pub slot: u32,
    pub kind: &'static str,
    pub descriptors: Vec<Descriptor>,
    /// None: unknown.
    pub creator: Option<Creator>,
}

/// A thread that is stopped.
#[derive(Clone, Serialize)]
pub struct Stopped {
    pub pid: u32,
    pub thread: u32,
    pub name: String,
}

impl Verdict {
    pub fn of(examined: &[Examined], target: Option<&Target>) -> Verdict {
        // A log does not say which arena its lines are about.
        let in_one = |&pid: &u32| examined.iter().filter(|arena| processes(&arena.scene).contains(&pid)).count() == 1;
        let logs = |arena: &Examined| match target {
            None | Some(Target::File(_) | Target::Descriptor(..)) => Logs::default(),
            _ => Logs::of(&processes(&arena.scene).into_iter().filter(in_one).collect::<Vec<_>>()),
        };
        let arenas: Vec<Told> = examined.iter().map(|arena| Told::of(arena, target, &logs(arena))).collect();
        let stranger = match target {
            Some(&Target::Thread(pid, thread)) if arenas.iter().all(|arena| arena.chains.is_empty()) => {
                Some((pid, thread))
            }
            _ => None,
        };
        Verdict { arenas, stranger }
    }

    pub fn is_something_wrong(&self) -> bool {
        self.arenas.iter().flat_map(|arena| &arena.findings).any(|trouble| trouble.fault)
    }

    /// For people, in 80 columns.
    pub fn render(&self) -> String {
        let mut page = String::new();
        for (number, arena) in self.arenas.iter().enumerate() {
            if number > 0 {
                page.push('\n');
            }
            arena.render(&mut page);
        }
        if self.arenas.is_empty() {
            line(&mut page, "No process that you may inspect uses objects of ntux.");
        }
        if let Some((pid, thread)) = self.stranger {
            line(&mut page, &format!("\n{pid}/{thread} waits for no object of ntux."));
        }
        page
    }
}

impl Told {
    fn of(examined: &Examined, target: Option<&Target>, logs: &Logs) -> Told {
        let (case, scene) = (examined.case(), &examined.scene);
        let teller = Teller { scene };
        let mut asked: Vec<u32> = scene.snapshot.waiters.iter().map(|waiter| waiter.index).collect();
        asked.retain(|&waiter| is_asked_for(&teller.party(waiter), target, &scene.snapshot));
        let more = match target {
            Some(Target::Thread(..)) => 0,
            _ => asked.len().saturating_sub(CHAINS),
        };
        asked.truncate(asked.len() - more);
        let mut follower = Follower::new(&teller, &case, logs);
        Told {
            device: scene.file.device,
            inode: scene.file.inode,
            processes: processes(scene),
            waiting: scene.snapshot.waiting().count(),
            findings: case.findings().iter().map(|finding| teller.trouble(finding)).collect(),
            chains: asked.into_iter().map(|waiter| follower.follow(waiter)).collect(),
            more,
        }
    }

    fn render(&self, page: &mut String) {
        let processes: Vec<String> = self.processes.iter().take(LISTED).map(u32::to_string).collect();
        let more = match self.processes.len() - processes.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let of = if processes.is_empty() { String::new() } else { format!(" of {}{more}", processes.join(" ")) };
        wrapped(page, "", "    ", &format!("Arena {}{of}: {}", self.inode, threads_wait(self.waiting)));
        for trouble in &self.findings {
            page.push('\n');
            for (number, sentence) in trouble.text.iter().enumerate() {
                let start = if number == 0 { "" } else { "  " };
                wrapped(page, start, "    ", sentence);
            }
        }
        if self.findings.is_empty() {
            line(page, "Nothing is wrong.");
        }
        for chain in &self.chains {
            page.push('\n');
            page.push_str(&chain.render());
        }
        let is_unlogged = |step: &Step| step.obstacle == "not signaled" && step.logged.is_empty() && !step.is_new;
        if self.chains.iter().flat_map(|chain| &chain.waits_for).any(is_unlogged) {
            page.push('\n');
            let hint = "When exactly an object was signaled for which no thread slept, and who reset it, is recorded only \
                        by a program that runs with a log of every operation: ntux run --log all:FILE.";
            wrapped(page, "", "", hint);
        }
        if self.more > 0 {
            line(page, &format!("\n... and {} more; name one of them: ntux why PID/TID", self.more));
        }
    }
}

/// The processes that take part and can be seen.
fn processes(scene: &Scene) -> Vec<u32> {
    let peers = scene.snapshot.peers.iter();
    let mut processes: Vec<u32> = peers.filter_map(|peer| Some(scene.names.process(peer.index)?.pid)).collect();
    processes.sort_unstable();
    processes
}

fn threads_wait(count: usize) -> String {
    match count {
        0 => "nobody waits".to_owned(),
        1 => "1 thread waits".to_owned(),
        _ => format!("{count} threads wait"),
    }
}

fn is_asked_for(party: &Party, target: Option<&Target>, snapshot: &Snapshot) -> bool {
    let waits = party.waiter.and_then(|waiter| snapshot.waiter(waiter)).is_some_and(|waiter| snapshot.waits(waiter));
    match target {
        None | Some(Target::File(_) | Target::Descriptor(..)) => false,
        Some(Target::Process(pid)) => waits && party.pid == Some(*pid),
        Some(Target::Thread(pid, thread)) => (party.pid, party.thread) == (Some(*pid), Some(*thread)),
    }
}

/// Puts findings into words.
pub struct Teller<'a> {
    pub scene: &'a Scene,
}

impl Teller<'_> {
    pub fn party(&self, waiter: u32) -> Party {
        let person = self.scene.person(waiter);
        let owner = self.scene.snapshot.waiter(waiter).map_or(0, |waiter| waiter.owner);
        Party { waiter: Some(waiter), pid: person.pid, thread: person.thread, name: person.name, owner }
    }

    /// The thread that owns a mutex, whether or not it has a place.
    fn owner(&self, mutex: Object, owner: u32, place: Option<u32>) -> Party {
        let taker = || match self.scene.doer(mutex) {
            Some(Doer { pid, thread, name, .. }) => Party { waiter: None, pid, thread: Some(thread), name, owner },
            None => Party { waiter: None, pid: None, thread: None, name: None, owner },
        };
        place.map_or_else(taker, |place| self.party(place))
    }

    pub fn thing(&self, object: Object) -> Thing {
        let seen = self.scene.snapshot.object(slot_of(object)).filter(|seen| seen.object == object);
        let kind = seen.map_or("object", |seen| match &seen.value {
            Value::Semaphore(_) => "semaphore",
            Value::Mutex(_) => "mutex",
            Value::Event(_) => "event",
            Value::Undecided | Value::Rubbish => "object",
        });
        let descriptors = self.scene.names.descriptors(object).to_vec();
        let creator = self.scene.creator(object);
        Thing { object: object.0, slot: slot_of(object), kind, descriptors, creator }
    }

    fn parties(&self, waiters: &[u32]) -> Vec<Party> {
        waiters.iter().map(|&waiter| self.party(waiter)).collect()
    }

    fn things(&self, objects: &[Object]) -> Vec<Thing> {
        objects.iter().map(|&object| self.thing(object)).collect()
    }

    fn trouble(&self, finding: &Finding) -> Trouble {
        let mut trouble = Trouble {
            kind: "",
            fault: finding.is_fault(),
            text: Vec::new(),
            threads: Vec::new(),
            objects: Vec::new(),
            behind: Vec::new(),
            stopped: Vec::new(),
        };
        match finding {
            Finding::Deadlock { ring, behind } => self.deadlock(&mut trouble, ring, behind),
            Finding::OwnerGone { object, owner, place, waiting } => {
                let (thing, party) = (self.thing(*object), self.owner(*object, *owner, *place));
                trouble.kind = "owner gone";
                trouble.text.push(format!(
                    "OWNER GONE: {} belongs to owner {owner}, which was {}. That thread has ended, and nobody has \
                     declared the mutex abandoned.",
                    thing.text(),
                    party.text()
                ));
                trouble.threads.push(party);
                trouble.objects.push(thing);
                trouble.behind = self.parties(waiting);
            }
            Finding::OwnerStopped { object, owner, place, waiting } => {
                let (thing, party) = (self.thing(*object), self.owner(*object, *owner, *place));
                trouble.kind = "owner stopped";
                trouble.text.push(format!("OWNER STOPPED: {} belongs to {}.", thing.text(), party.text()));
                trouble.threads.push(party);
                trouble.objects.push(thing);
                trouble.behind = self.parties(waiting);
            }
            Finding::Closed { waiter, objects } => {
                let (party, things) = (self.party(*waiter), self.things(objects));
                trouble.kind = "closed";
                trouble.text.push(format!(
                    "IN VAIN: {} waits for {}, which is closed, so nobody can signal it any more.",
                    party.text(),
                    list(&things, Thing::text)
                ));
                trouble.threads.push(party);
                trouble.objects = things;
            }
            Finding::StillAsleep { waiter, given, by } => self.still_asleep(&mut trouble, *waiter, *given, *by),
            Finding::Unfinished { waiter, request, waiting } => {
                let (party, what) = (self.party(*waiter), request_text(*request));
                trouble.kind = "unfinished";
                trouble.text.push(match waiting.is_empty() {
                    true => format!(
                        "unfinished: {} has ended before it could {what}, and nobody waits for that together with other \
                         objects. It has not happened; the next signal that a wait for all needs does it.",
                        party.text()
                    ),
                    false => format!(
                        "UNFINISHED: {} has ended before it could {what}. The next signal that a wait for all needs does it.",
                        party.text()
                    ),
                });
                trouble.threads.push(party);
                trouble.behind = self.parties(waiting);
            }
            Finding::HalfWay { object, claim, waiting } => self.half_way(&mut trouble, *object, *claim, waiting),
            Finding::Stopped { waiter } => {
                let party = self.party(*waiter);
                trouble.kind = "stopped";
                trouble.text.push(format!("STOPPED: {} waits, and is stopped.", party.text()));
                trouble.threads.push(party);
            }
            Finding::LacksOne { waiter, object } => {
                let (party, thing) = (self.party(*waiter), self.thing(*object));
                trouble.kind = "lacks one";
                trouble.text.push(format!(
                    "lacks one: {} waits for several objects at once, and only {} is missing.",
                    party.text(),
                    thing.text()
                ));
                trouble.threads.push(party);
                trouble.objects.push(thing);
            }
        }
        if !trouble.behind.is_empty() {
            trouble.text.push(format!("{}: {}", behind_text(trouble.kind), list(&trouble.behind, Party::text)));
        }
        if !trouble.stopped.is_empty() {
            let stopped = list(&trouble.stopped, |stopped| {
                format!("{}/{} {}", stopped.pid, stopped.thread, printable(&stopped.name))
            });
            trouble.text.push(format!("one of these stopped threads may be the cause: {stopped}"));
        }
        trouble
    }

    fn deadlock(&self, trouble: &mut Trouble, ring: &[Link], behind: &[u32]) {
        trouble.kind = "deadlock";
        trouble.text.push(format!("DEADLOCK of {} threads:", ring.len()));
        for link in ring {
            let party = self.party(link.waiter);
            let wants: Vec<String> = link.wants.iter().map(|&object| self.owned(object)).collect();
            trouble.text.push(format!("{} waits for {}", party.text_with_owner(), wants.join(", and for ")));
            trouble.threads.push(party);
            for thing in self.things(&link.wants) {
                if !trouble.objects.iter().any(|other| other.object == thing.object) {
                    trouble.objects.push(thing);
                }
            }
        }
        trouble.behind = self.parties(behind);
    }

    fn owned(&self, object: Object) -> String {
        let owner = self.scene.snapshot.object(slot_of(object)).and_then(|seen| match &seen.value {
            Value::Mutex(mutex) => Some(mutex.owner),
            _ => None,
        });
        let of = owner.map_or(String::new(), |owner| format!(" of owner {owner}"));
        format!("{}{of}", self.thing(object).text())
    }

    fn still_asleep(&self, trouble: &mut Trouble, waiter: u32, given: Given, by: LastBy) {
        let party = self.party(waiter);
        let object = match given {
            Given::Slot(slot) => self.scene.snapshot.object(slot).map(|seen| seen.object),
            Given::Everything | Given::Rubbish => None,
        };
        trouble.kind = "still asleep";
        trouble.objects = self.things(object.as_slice());
        let what = trouble.objects.first().map_or("all that it waited for".to_owned(), Thing::text);
        let by = self.scene.name_of(by).unwrap_or_else(|| "whoever was to wake it".to_owned());
        trouble.text.push(format!("STILL ASLEEP: {} was given {what}, and {by} has not woken it yet.", party.text()));
        trouble.stopped = self.stopped(Some(&party));
        trouble.threads.push(party);
    }

    fn half_way(&self, trouble: &mut Trouble, object: Object, claim: Claim, waiting: &[u32]) {
        let thing = self.thing(object);
        let what = match claim {
            Claim::Waiter { index, .. } => format!("it is on its way to {}", self.party(index).text()),
            Claim::All { .. } => "a wait for all is being decided".to_owned(),
            Claim::Signal { .. } => "it is being signaled".to_owned(),
            Claim::Carry | Claim::None | Claim::Rubbish => "its recursion count is being written".to_owned(),
        };
        trouble.kind = "half-way";
        trouble.text.push(format!(
            "HALF-WAY: an operation on {} makes no progress: {what}. Whoever uses the object next finishes it.",
            thing.text()
        ));
        trouble.objects.push(thing);
        trouble.behind = self.parties(waiting);
        trouble.stopped = self.stopped(None);
    }

    /// The threads that somebody has stopped, of all processes that take part.
    fn stopped(&self, but: Option<&Party>) -> Vec<Stopped> {
        let mut stopped = Vec::new();
        for process in self.scene.snapshot.peers.iter().filter_map(|peer| self.scene.names.process(peer.index)) {
            for thread in process.stopped() {
                if but.is_none_or(|party| (party.pid, party.thread) != (Some(process.pid), Some(thread.number))) {
                    stopped.push(Stopped { pid: process.pid, thread: thread.number, name: thread.name.clone() });
                }
            }
        }
        stopped.sort_by_key(|stopped| (stopped.pid, stopped.thread));
        stopped
    }
}

fn behind_text(kind: &str) -> &'static str {
    match kind {
        "deadlock" => "cannot continue until it is resolved",
        _ => "wait for it",
    }
}

fn request_text(request: Request) -> String {
    match request {
        Request::Set(object) => format!("set event #{}", slot_of(object)),
        Request::Reset(object) => format!("reset event #{}", slot_of(object)),
        Request::Pulse(object) => format!("pulse event #{}", slot_of(object)),
        Request::Release(object, units) => format!("release semaphore #{} by {units}", slot_of(object)),
        Request::Unlock(object, owner) => format!("unlock mutex #{} of owner {owner}", slot_of(object)),
        Request::Kill(object, owner) => format!("declare mutex #{} of owner {owner} abandoned", slot_of(object)),
        Request::Rubbish => "do something that is rubbish".to_owned(),
    }
}

impl Party {
    fn text(&self) -> String {
        let name = self.name.as_deref().map_or(String::new(), |name| format!(" {}", printable(name)));
        match (self.pid, self.thread) {
            (Some(pid), Some(thread)) => format!("{pid}/{thread}{name}"),
            _ => format!("place {}{name}", self.waiter.map_or("unknown".to_owned(), |place| place.to_string())),
        }
    }

    fn text_with_owner(&self) -> String {
        format!("{} (owner {})", self.text(), self.owner)
    }
}

impl Thing {
    fn text(&self) -> String {
        let descriptors = self.descriptors.iter().take(NAMED).map(|one| format!("{}:{}", one.pid, one.fd));
        let descriptors: Vec<String> = descriptors.collect();
        let more = if self.descriptors.len() > NAMED { " ..." } else { "" };
        let names = if descriptors.is_empty() { String::new() } else { format!(" ({}{more})", descriptors.join(" ")) };
        format!("{} #{}{names}", self.kind, self.slot)
    }
}

fn list<T>(items: &[T], text: impl Fn(&T) -> String) -> String {
    items.iter().map(text).collect::<Vec<_>>().join(", ")
}

impl Chain {
    pub fn render(&self) -> String {
        let mut page = String::new();
        render_chain(&mut page, self, 0);
        page
    }
}

fn render_chain(page: &mut String, chain: &Chain, depth: usize) {
    let indent = "  ".repeat(depth);
    let further = format!("{indent}    ");
    let who = chain.party.text_with_owner();
    if chain.repeated {
        return wrapped(page, &indent, &further, &format!("{who}: see above"));
    }
    let waits = chain.asleep_s.map_or("waits".to_owned(), |seconds| format!("has waited {}", long(seconds)));
    let condition = match (chain.condition, chain.mode, chain.waits_for.len()) {
        ("waiting", Some(_), 1) => format!("{waits} for"),
        ("waiting", Some(mode), count) => format!("{waits} for {mode} of {count}"),
        ("stopped", Some(_), _) => format!("is stopped, and {waits} for"),
        ("ended", ..) => "has ended".to_owned(),
        (condition, ..) => format!("is {condition}"),
    };
    let end = chain.ends_in_s.map_or(String::new(), |seconds| format!(", {} more at most", long(seconds)));
    let colon = if chain.waits_for.is_empty() { "" } else { ":" };
    wrapped(page, &indent, &further, &format!("{who} {condition}{end}{colon}"));
    for step in &chain.waits_for {
        render_step(page, step, &chain.party, depth + 1);
    }
    if let Some(alert) = &chain.alert {
        let indent = format!("{indent}  ");
        wrapped(page, &indent, &further, &format!("or until the alert: {}", alert.text()));
    }
}

fn render_step(page: &mut String, step: &Step, waiter: &Party, depth: usize) {
    let indent = "  ".repeat(depth);
    let state = match (step.owner, step.owners.is_empty(), step.cut) {
        (Some(owner), _, true) => format!("owner {owner}, and so on"),
        (Some(owner), true, _) => match &step.last_by {
            Some(taker) => format!("owned by {taker} (owner {owner}; it has never had to wait)"),
            None => format!("owner {owner}: no thread that is there has ever waited in this name"),
        },
        (Some(_), false, _) => "owned by".to_owned(),
        (None, ..) => {
            let (signal, logged) = (last_signal_text(step), logged_text(step));
            format!("{}; {signal}{logged}{}", step.obstacle, creator_text(&step.thing, waiter))
        }
    };
    wrapped(page, &indent, &format!("{indent}    "), &format!("{}: {state}", step.thing.text()));
    for owner in &step.owners {
        render_chain(page, owner, depth + 1);
    }
}

/// Who created an object for which a thread of another process waits.
fn creator_text(thing: &Thing, waiter: &Party) -> String {
    let other = thing.creator.as_ref().filter(|creator| Some(creator.pid) != waiter.pid);
    other.map_or(String::new(), |creator| format!("; created by {creator}"))
}

fn last_signal_text(step: &Step) -> String {
    let wake = step.last_wake.as_ref().map(|wake| {
        let by = wake.by.as_ref().map_or(String::new(), |by| format!(", by {by}"));
        format!("it last woke somebody {} ago{by}", long(wake.ago_s))
    });
    let when = step.last_signal.text();
    let since = match step.last_signal.during_wait {
        Some(false) => "; nobody has signaled it since this wait began",
        Some(true) => "; somebody has signaled it since this wait began",
        None => "",
    };
    match (&step.last_by, wake) {
        (Some(signaler), None) => format!("last signaled by {signaler}{when}"),
        (Some(signaler), Some(wake)) => format!("last signaled by {signaler}{when}; {wake}"),
        (None, Some(wake)) => format!("{wake}{since}"),
        (None, None) if step.is_new => "nobody has signaled it since it was created".to_owned(),
        // A thread that it woke may have been woken by another object since.
        (None, None) => format!("who last signaled it, if anybody, is not known{since}"),
    }
}

fn logged_text(step: &Step) -> String {
    let one = |logged: &Logged| format!("{} {} ago by {}", logged.operation, long(logged.ago_s), logged.by);
    if step.logged.is_empty() { String::new() } else { format!("; says the log: {}", list(&step.logged, one)) }
}

fn line(page: &mut String, text: &str) {
    page.push_str(text.trim_end());
    page.push('\n');
}

fn wrapped(page: &mut String, start: &str, further: &str, text: &str) {
    let width = PAGE_WIDTH.max(further.len() + PAGE_WIDTH / 2);
    let options = textwrap::Options::new(width).initial_indent(start).subsequent_indent(further);
    for row in textwrap::wrap(text, options) {
        line(page, &row);
    }
}
