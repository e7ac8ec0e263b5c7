//! What there is to say, in the shape of the JSON.

use std::collections::HashMap;

use ntux_sync::inspect::{
    AdmissionView, Claim, Given, Keeper, Life, Mode, ObjectView, PeerView, Phase, Presence, Request, Snapshot,
    Standing, Value, View, WaitState, WaitView, WaiterView,
};
use ntux_sync::{Object, Result};
use serde::Serialize;

use super::find::Target;
use super::processes::{self, Descriptor, Process};

/// Everything.
#[derive(Serialize)]
pub struct Report {
    pub arenas: Vec<Arena>,
}

/// An arena.
#[derive(Serialize)]
pub struct Arena {
    pub device: u64,
    pub inode: u64,
    pub capacity: Capacity,
    pub processes: Vec<Peer>,
    pub objects: Vec<Item>,
    pub threads: Vec<Thread>,
    pub wait_all: WaitAll,
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
    /// Ticks of the kernel from its start to that of the process.
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
    pub life: &'static str,
    #[serde(flatten)]
    pub state: State,
    /// An operation that is half-way; the state still includes what is on its way.
    pub claim: Option<Half>,
    /// Changes since its slot was first used.
    pub changes: u64,
    /// False: it changed faster than it could be read.
    pub stable: bool,
    pub creator: Option<u32>,
    /// Who waits for it, in the order of arrival.
    pub waiting: Vec<Place>,
    /// False: a part of the queue is rubbish.
    pub queue_is_whole: bool,
    pub descriptors: Vec<Descriptor>,
}

/// Kind and state of an object.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum State {
    Semaphore {
        count: u32,
        max: u32,
    },
    Mutex {
        owner: u32,
        count: u32,
        abandoned: bool,
    },
    AutoResetEvent {
        signaled: bool,
    },
    ManualResetEvent {
        signaled: bool,
    },
    /// It is being made.
    Undecided,
    Rubbish,
}

/// An operation that is half-way.
#[derive(Serialize)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum Half {
    Wait { waiter: u32, pid: Option<u32>, thread: Option<u32> },
    WaitAll { attempt: u32 },
    Signal { attempt: u32, offers: bool },
    Count,
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
    pub waiter: u32,
    /// Both as they are here, if the process can be seen from here.
    pub pid: Option<u32>,
    pub thread: Option<u32>,
    pub name: Option<String>,
    pub state: &'static str,
    pub asleep: bool,
    /// Satisfied, and a wake is owed to it.
    pub wake_owed: bool,
    pub ticket: u64,
    pub wait: Option<Wait>,
    /// The slot of the object that satisfied its last wait.
    pub given: Option<u32>,
    pub request: Option<String>,
}

/// What a thread waits for.
#[derive(Serialize)]
pub struct Wait {
    pub owner: u32,
    /// "any", "all", or "unknown" as long as it is in no queue.
    pub mode: &'static str,
    pub objects: Vec<u64>,
    pub alert: Option<u64>,
}

/// What is going on with wait-all.
#[derive(Serialize)]
pub struct WaitAll {
    pub phase: &'static str,
    pub attempts: u32,
    pub requester: Option<u32>,
    pub candidate: Option<u32>,
}

impl Report {
    /// Looks at the arenas.
    ///
    /// Errors: those of [`View::snapshot`].
    pub fn of(arenas: &[View], target: &Target) -> Result<Report> {
        let arenas = arenas.iter().map(|view| Arena::of(view, target)).collect::<Result<_>>()?;
        Ok(Report { arenas })
    }
}

/// What was seen, and what /proc says of it.
struct Seen<'a> {
    snapshot: &'a Snapshot,
    processes: HashMap<u32, Process>,
    descriptors: HashMap<u64, Vec<Descriptor>>,
    devices: Vec<Descriptor>,
}

impl Arena {
    fn of(view: &View, target: &Target) -> Result<Arena> {
        let (snapshot, file) = (view.snapshot()?, view.file());
        let seen = Seen::new(&snapshot, target, view);
        Ok(Arena {
            device: file.device,
            inode: file.inode,
            capacity: Capacity { objects: snapshot.capacity.objects, threads: snapshot.capacity.waiters },
            processes: snapshot.peers.iter().map(|peer| seen.peer(peer)).collect(),
            objects: snapshot.objects.iter().map(|object| seen.item(object)).collect(),
            threads: snapshot.waiters.iter().map(|waiter| seen.thread(waiter)).collect(),
            wait_all: wait_all(&snapshot.admission),
        })
    }
}

impl<'a> Seen<'a> {
    fn new(snapshot: &'a Snapshot, target: &Target, view: &View) -> Seen<'a> {
        let processes = processes::of(&snapshot.peers, target);
        let (mut descriptors, mut devices): (HashMap<_, Vec<_>>, _) = (HashMap::new(), Vec::new());
        let mut in_order: Vec<_> = processes.values().collect();
        in_order.sort_by_key(|process| process.pid);
        in_order.dedup_by_key(|process| process.pid);
        for (descriptor, object) in in_order.into_iter().flat_map(|process| process.descriptors(view.file())) {
            match object {
                Some(object) => descriptors.entry(object.0).or_default().push(descriptor),
                None => devices.push(descriptor),
            }
        }
        Seen { snapshot, processes, descriptors, devices }
    }

    fn peer(&self, peer: &PeerView) -> Peer {
        let process = self.processes.get(&peer.index);
        let pid = process.map_or(peer.process.pid, |process| process.pid);
        let state = match peer.presence {
            _ if peer.burying => "taking over",
            Presence::Alive => "alive",
            Presence::Dead => "dead",
            Presence::Unknown => "unknown",
        };
        let devices = self.devices.iter().filter(|device| process.is_some() && device.pid == pid);
        Peer {
            index: peer.index,
            pid,
            start: peer.process.start,
            state,
            name: process.map(|process| process.name.clone()),
            devices: devices.map(|device| device.fd).collect(),
        }
    }

    fn item(&self, object: &ObjectView) -> Item {
        let creator = if let Keeper::Process(peer) = object.keeper { self.pid(peer) } else { None };
        let standing = object.queue.iter().filter(|entry| entry.standing == Standing::Waiting);
        let place = |entry: &ntux_sync::inspect::EntryView| {
            let (pid, thread) = self.who(entry.waiter);
            let (waiter, position) = (entry.waiter, entry.position);
            Place { waiter, pid, thread, all: entry.all, position, ticket: entry.ticket }
        };
        Item {
            object: object.object.0,
            slot: slot_of(object.object),
            life: match object.life {
                Life::Building => "being made",
                Life::Live => "live",
                Life::Closed => "closed",
                Life::Rubbish => "rubbish",
            },
            state: State::of(&object.value),
            claim: self.half(object.claim),
            changes: object.version,
            stable: object.stable,
            creator,
            waiting: standing.map(place).collect(),
            queue_is_whole: object.queue_is_whole,
            descriptors: self.descriptors.get(&object.object.0).cloned().unwrap_or_default(),
        }
    }

    fn half(&self, claim: Claim) -> Option<Half> {
        Some(match claim {
            Claim::None => return None,
            Claim::Waiter { index, .. } => {
                let (pid, thread) = self.who(index);
                Half::Wait { waiter: index, pid, thread }
            }
            Claim::All { attempt } => Half::WaitAll { attempt },
            Claim::Signal { attempt, offers } => Half::Signal { attempt, offers },
            Claim::Carry => Half::Count,
            Claim::Rubbish => Half::Rubbish,
        })
    }

    fn thread(&self, waiter: &WaiterView) -> Thread {
        let (pid, thread) = self.who(waiter.index);
        let known = self.processes.get(&waiter.peer).and_then(|process| process.thread(waiter.thread?));
        let (given, wake_owed) = match waiter.state {
            WaitState::Satisfied { given: Given::Slot(slot), owed, .. } => (Some(slot), owed),
            WaitState::Satisfied { owed, .. } => (None, owed),
            _ => (None, false),
        };
        Thread {
            waiter: waiter.index,
            pid,
            thread,
            name: known.map(|(_, name)| name.clone()),
            state: state_name(&waiter.state),
            asleep: waiter.parked,
            wake_owed,
            ticket: waiter.ticket,
            wait: Wait::of(&waiter.wait),
            given,
            request: if let WaitState::Requesting(request) = waiter.state { Some(request_text(request)) } else { None },
        }
    }

    /// Process and thread that have a waiter's place, as they are called here if they can be seen.
    fn who(&self, waiter: u32) -> (Option<u32>, Option<u32>) {
        let Some(waiter) = self.snapshot.waiter(waiter) else { return (None, None) };
        let known = self.processes.get(&waiter.peer).and_then(|process| process.thread(waiter.thread?));
        (self.pid(waiter.peer), known.map(|&(number, _)| number).or(waiter.thread))
    }

    fn pid(&self, peer: u32) -> Option<u32> {
        let here = self.processes.get(&peer).map(|process| process.pid);
        here.or_else(|| self.snapshot.peer(peer).map(|peer| peer.process.pid))
    }
}

/// The lower half of an object's number.
pub fn slot_of(object: Object) -> u32 {
    object.0 as u32
}

impl State {
    fn of(value: &Value) -> State {
        match value {
            Value::Semaphore(semaphore) => State::Semaphore { count: semaphore.count, max: semaphore.max },
            Value::Mutex(mutex) => State::Mutex { owner: mutex.owner, count: mutex.count, abandoned: mutex.abandoned },
            Value::Event(event) if event.manual => State::ManualResetEvent { signaled: event.signaled },
            Value::Event(event) => State::AutoResetEvent { signaled: event.signaled },
            Value::Undecided => State::Undecided,
            Value::Rubbish => State::Rubbish,
        }
    }
}

impl Wait {
    fn of(wait: &WaitView) -> Option<Wait> {
        let WaitView::Objects { owner, mode, objects, alert } = wait else { return None };
        let mode = match mode {
            Mode::Any => "any",
            Mode::All => "all",
            Mode::Unknown => "unknown",
        };
        let objects = objects.iter().map(|object| object.0).collect();
        Some(Wait { owner: *owner, mode, objects, alert: alert.map(|alert| alert.0) })
    }
}

fn state_name(state: &WaitState) -> &'static str {
    match state {
        WaitState::Idle => "idle",
        WaitState::Queueing => "joining its queues",
        WaitState::Waiting => "waiting",
        WaitState::Died => "killed while it waited",
        WaitState::Satisfied { .. } => "satisfied",
        WaitState::Withdrawn => "withdrawn",
        WaitState::Requesting(_) => "signaling",
        WaitState::Done => "has signaled",
        WaitState::Probing => "looking",
    }
}

fn request_text(request: Request) -> String {
    match request {
        Request::Set(object) => format!("set #{}", slot_of(object)),
        Request::Reset(object) => format!("reset #{}", slot_of(object)),
        Request::Pulse(object) => format!("pulse #{}", slot_of(object)),
        Request::Release(object, units) => format!("release #{} by {units}", slot_of(object)),
        Request::Unlock(object, owner) => format!("unlock #{} of owner {owner}", slot_of(object)),
        Request::Kill(object, owner) => format!("abandon #{} of owner {owner}", slot_of(object)),
        Request::Rubbish => "rubbish".to_owned(),
    }
}

fn wait_all(admission: &AdmissionView) -> WaitAll {
    let phase = match admission.phase {
        Phase::Idle => "idle",
        Phase::Apply => "a signal takes effect",
        Phase::Scan => "looking for a waiter",
        Phase::Try => "trying a waiter",
        Phase::End => "offering what is left",
        Phase::Rubbish => "rubbish",
    };
    let (requester, candidate) = (admission.requester, admission.candidate);
    WaitAll { phase, attempts: admission.attempt, requester, candidate }
}
