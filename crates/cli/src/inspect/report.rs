// SPDX-License-Identifier: MIT OR Apache-2.0
//! What there is to say, in the shape of the JSON. There may be a million objects, so each is put into words when it is its turn.

use ntux_sync::Object;
use ntux_sync::inspect::why::Case;
use ntux_sync::inspect::{
    AdmissionView, Claim, EntryView, Given, Life, ObjectView, PeerView, Phase, Request, Value, WaitState, WaiterView,
    WakeView,
};
use serde::{Serialize, Serializer};

use crate::arenas::examine::Examined;
use crate::arenas::handles::Win32Object;
use crate::arenas::processes::Descriptor;
use crate::arenas::scene::{Creator, Doer, Owners, Person, Scene};
use crate::arenas::shown::WindowsObject;
use crate::arenas::signaled::When;
use crate::arenas::state::{State, Wait};
use crate::arenas::words::{self, Word};

/// Everything.
#[derive(Serialize)]
pub struct Report<'a> {
    pub arenas: Vec<Arena<'a>>,
}

/// An arena.
#[derive(Serialize)]
pub struct Arena<'a> {
    pub device: u64,
    pub inode: u64,
    pub capacity: Capacity,
    pub processes: Vec<Peer>,
    pub objects: Items<'a>,
    pub threads: Vec<Thread>,
    pub wait_all: WaitAll,
    /// How the owners of mutexes are written in text.
    #[serde(skip)]
    pub written: Owners,
}

#[derive(Serialize)]
pub struct Capacity {
    pub objects: u32,
    pub threads: u32,
}

/// A process that takes part.
#[derive(Serialize)]
pub struct Peer {
    pub index: u32,
    /// Its number here, if it can be seen from here; else in its own namespace.
    pub pid: u32,
    /// Ticks of the kernel until the process started.
    pub start: u64,
    pub state: &'static str,
    pub name: Option<String>,
    /// Descriptors of the arena itself.
    pub devices: Vec<u32>,
}

/// An object.
#[derive(Serialize)]
pub struct Item {
    /// Its number; the offset of a descriptor that names it.
    pub object: u64,
    pub slot: u32,
    /// Its name, if it has one; what is no UTF-8 is U+FFFD.
    pub name: Option<String>,
    /// How Windows has it. None: unknown; only the server of a patched Wine says so.
    pub windows: Option<WindowsObject>,
    /// How a native program has it behind its handles. None: unknown, or its memory was not asked for.
    pub win32: Option<Win32Object>,
    #[serde(serialize_with = "words::word")]
    pub life: Life,
    #[serde(flatten)]
    pub state: State,
    /// An operation that is half-way; the state still includes what is on its way.
    pub claim: Option<Half>,
    /// Changes since its slot was first used.
    pub changes: u64,
    /// In the tenth of a second between two looks.
    pub changes_per_s: f64,
    /// Threads that are known to wait, or to have waited, in the name of a mutex's owner.
    pub owners: Vec<Person>,
    /// The last time that it has woken anybody.
    pub last_wake: Option<Wake>,
    /// The thread that signaled it last, or acquired it last if it is a mutex. None: unknown, or nobody.
    pub last_by: Option<Doer>,
    /// Nobody has signaled it, or acquired it, since it was created.
    pub is_new: bool,
    /// When it was last signaled; all unknown if it is a mutex.
    pub last_signal: When,
    /// False: it changed faster than it could be read.
    pub stable: bool,
    /// None: unknown.
    pub creator: Option<Creator>,
    /// The threads that wait for it, in the order of arrival.
    pub waiting: Vec<Place>,
    /// False: a part of the queue is rubbish.
    pub queue_is_whole: bool,
    pub descriptors: Vec<Descriptor>,
}

/// A wake that was sent.
#[derive(Serialize)]
pub struct Wake {
    pub ago_s: f64,
    /// The sender, if it is known: process, thread and name.
    pub by: Option<String>,
    pub to: Person,
}

/// An operation that is half-way.
#[derive(Serialize)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum Half {
    Wait { waiter: u32, pid: Option<u32>, thread: Option<u32> },
    WaitAll { attempt: u32 },
    Signal { attempt: u32, offers: bool },
    Count,
    Turn { number: u32 },
    Rubbish,
}

/// A thread in a queue.
#[derive(Serialize)]
pub struct Place {
    pub waiter: u32,
    pub pid: Option<u32>,
    pub thread: Option<u32>,
    pub all: bool,
    /// Where the object stands in the wait.
    pub position: u32,
    pub ticket: u64,
}

/// A thread's place.
#[derive(Serialize)]
pub struct Thread {
    #[serde(flatten)]
    pub person: Person,
    /// It is a wait without a thread, whose result is delivered to this queue.
    pub queue: Option<u32>,
    #[serde(serialize_with = "words::word")]
    pub state: WaitState,
    /// Its wait is undecided, and its process has not ended.
    pub waits: bool,
    pub asleep: bool,
    /// For how many seconds; to some 10 ms.
    pub asleep_s: Option<f64>,
    /// In how many seconds its wait ends by itself; none if it does not.
    pub ends_in_s: Option<f64>,
    /// The id that acquires mutexes in its last wait that had to queue; 0 before the first one.
    pub owner: u32,
    /// Satisfied, and a wake is owed to it.
    pub wake_owed: bool,
    pub ticket: u64,
    pub wait: Option<Wait>,
    /// The slot of the object that satisfied its last wait.
    pub given: Option<u32>,
    pub request: Option<String>,
}

/// What is going on with wait-all.
#[derive(Serialize)]
pub struct WaitAll {
    #[serde(serialize_with = "words::word")]
    pub phase: Phase,
    pub attempts: u32,
    pub requester: Option<u32>,
    pub candidate: Option<u32>,
}

/// The objects of an arena, in the order of their slots.
pub struct Items<'a> {
    seen: Seen<'a>,
    rates: Vec<f64>,
    only: Option<Object>,
}

impl Items<'_> {
    pub fn iter(&self) -> impl Iterator<Item = Item> {
        self.chosen().map(|(object, rate)| self.seen.item(object, rate))
    }

    pub fn count(&self) -> usize {
        self.chosen().count()
    }

    fn chosen(&self) -> impl Iterator<Item = (&ObjectView, f64)> {
        let objects = self.seen.scene.snapshot.objects.iter().zip(self.rates.iter().copied());
        objects.filter(|(object, _)| self.only.is_none_or(|only| object.object == only))
    }
}

impl Serialize for Items<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl Report<'_> {
    /// `only`: one object and its waiters.
    pub fn of(examined: &[Examined], only: Option<Object>) -> Report<'_> {
        Report { arenas: examined.iter().map(|examined| Arena::of(examined, only)).collect() }
    }
}

impl Arena<'_> {
    fn of(examined: &Examined, only: Option<Object>) -> Arena<'_> {
        let Scene { snapshot, file, .. } = &examined.scene;
        let seen = Seen { scene: &examined.scene, case: examined.case() };
        let threads = snapshot.waiters.iter().map(|waiter| seen.thread(waiter));
        Arena {
            device: file.device,
            inode: file.inode,
            capacity: Capacity { objects: snapshot.capacity.objects, threads: snapshot.capacity.waiters },
            processes: snapshot.peers.iter().map(|peer| seen.peer(peer)).collect(),
            threads: threads.filter(|thread| only.is_none_or(|object| thread.has_to_do_with(object))).collect(),
            wait_all: WaitAll::of(&snapshot.admission),
            written: examined.scene.owners(),
            objects: Items { rates: examined.rates(), seen, only },
        }
    }
}

impl WaitAll {
    fn of(admission: &AdmissionView) -> WaitAll {
        let &AdmissionView { phase, attempt, requester, candidate } = admission;
        WaitAll { phase, attempts: attempt, requester, candidate }
    }
}

impl Thread {
    fn has_to_do_with(&self, Object(object): Object) -> bool {
        self.wait.as_ref().is_some_and(|wait| wait.objects.contains(&object) || wait.alert == Some(object))
    }
}

/// What was seen, to be put into words.
struct Seen<'a> {
    scene: &'a Scene,
    case: Case<'a>,
}

impl Seen<'_> {
    fn peer(&self, peer: &PeerView) -> Peer {
        let process = self.scene.names.process(peer.index);
        let pid = process.map_or(peer.process.pid, |process| process.pid);
        let state = match peer.presence {
            _ if peer.burying => "taking over",
            presence => presence.word(),
        };
        let devices = process.map(|process| self.scene.names.devices(process.pid)).unwrap_or_default();
        Peer {
            index: peer.index,
            pid,
            start: peer.process.start,
            state,
            name: process.map(|process| process.name.clone()),
            devices,
        }
    }

    fn item(&self, object: &ObjectView, rate: f64) -> Item {
        let place = |entry: &EntryView| {
            let Person { pid, thread, .. } = self.scene.person(entry.waiter);
            let (waiter, position) = (entry.waiter, entry.position);
            Place { waiter, pid, thread, all: entry.all, position, ticket: entry.ticket }
        };
        Item {
            object: object.object.0,
            slot: object.object.index(),
            name: object.name.clone(),
            windows: self.scene.windows_object(object.object),
            win32: self.scene.win32_object(object.object),
            life: object.life,
            state: State::of(&object.value),
            claim: self.half(object.claim),
            changes: object.version,
            changes_per_s: rate,
            owners: self.owners(&object.value),
            last_wake: self.scene.last_wake(object.object).map(|wake| self.wake(&wake)),
            last_by: self.scene.doer(object.object),
            is_new: self.scene.is_new(object.object),
            last_signal: When::of(self.scene, object.object).1,
            stable: object.stable,
            creator: self.scene.creator(object.object),
            waiting: object.waiting().map(place).collect(),
            queue_is_whole: object.queue_is_whole,
            descriptors: self.scene.names.descriptors(object.object).to_vec(),
        }
    }

    fn owners(&self, value: &Value) -> Vec<Person> {
        let Value::Mutex(mutex) = value else { return Vec::new() };
        let places = if mutex.owner == 0 { &[] } else { self.case.places(mutex.owner) };
        places.iter().map(|&place| self.scene.person(place)).collect()
    }

    fn wake(&self, wake: &WakeView) -> Wake {
        let (ago_s, by) = (self.scene.ago_s(wake.at), self.scene.name_of(wake.by));
        Wake { ago_s, by, to: self.scene.person(wake.waiter) }
    }

    fn half(&self, claim: Claim) -> Option<Half> {
        Some(match claim {
            Claim::None => return None,
            Claim::Waiter { index, .. } => {
                let Person { pid, thread, .. } = self.scene.person(index);
                Half::Wait { waiter: index, pid, thread }
            }
            Claim::All { attempt } => Half::WaitAll { attempt },
            Claim::Signal { attempt, offers } => Half::Signal { attempt, offers },
            Claim::Carry => Half::Count,
            Claim::Turn { number } => Half::Turn { number },
            Claim::Rubbish => Half::Rubbish,
        })
    }

    fn thread(&self, waiter: &WaiterView) -> Thread {
        let (given, wake_owed) = match waiter.state {
            WaitState::Satisfied { given: Given::Slot(slot), owed, .. } => (Some(slot), owed),
            WaitState::Satisfied { owed, .. } => (None, owed),
            _ => (None, false),
        };
        Thread {
            person: self.scene.person(waiter.index),
            queue: waiter.queue,
            state: waiter.state,
            waits: self.scene.snapshot.waits(waiter),
            asleep: waiter.parked,
            asleep_s: self.scene.asleep_s(waiter),
            ends_in_s: self.scene.ends_in_s(waiter),
            owner: waiter.owner,
            wake_owed,
            ticket: waiter.ticket,
            wait: Wait::of(&waiter.wait),
            given,
            request: if let WaitState::Requesting(request) = waiter.state { Some(request_text(request)) } else { None },
        }
    }
}

fn request_text(request: Request) -> String {
    match request {
        Request::Set(object) => format!("set #{}", object.index()),
        Request::Reset(object) => format!("reset #{}", object.index()),
        Request::Pulse(object) => format!("pulse #{}", object.index()),
        Request::Release(object, units) => format!("release #{} by {units}", object.index()),
        Request::Unlock(object, owner) => format!("unlock #{} of owner {owner}", object.index()),
        Request::Kill(object, owner) => format!("abandon #{} of owner {owner}", object.index()),
        Request::Fire(object) => format!("fire #{}", object.index()),
        Request::Finish(object) => format!("signal end #{}", object.index()),
        Request::Report(object, code) => format!("report {code:#x} to end #{}", object.index()),
        Request::Rubbish => "rubbish".to_owned(),
    }
}
