// SPDX-License-Identifier: MIT OR Apache-2.0
//! What /proc tells of the processes that share an arena: names, threads, descriptors.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;

use ntux_platform::interposition::proc::Entry;
use ntux_platform::liveness;
use ntux_platform::memory::FileId;
use ntux_sync::Object;
use ntux_sync::inspect::why::Fate;
use ntux_sync::inspect::{PeerView, Presence};
use serde::Serialize;

use super::proc::{self, Stat, is_there, own_number};
use super::tables::{self, Table, is_shared_memory};

/// What Wine's server is called.
pub const WINESERVER: &str = "wineserver";
/// The kernel keeps so many letters of a name.
const SHORT_NAME: usize = 15;

/// A process that shares the arena and can be seen from here.
pub struct Process {
    /// Its number here.
    pub pid: u32,
    pub name: String,
    /// By their numbers in its own namespace.
    threads: HashMap<u32, Thread>,
    /// Its numbers are the same here as in its own namespace.
    is_near: bool,
    /// By how many nanoseconds its monotonic clock is ahead of the one here.
    pub clock_ahead_ns: i64,
}

/// A thread as /proc has it.
#[derive(Clone)]
pub struct Thread {
    /// Its number here.
    pub number: u32,
    pub name: String,
    pub fate: Fate,
    /// How often it had given up its processor by itself, if it is stopped: the same number as before means that it has not run since.
    switches: Option<u64>,
}

impl Process {
    /// `is_near`: it is in this namespace, so that its numbers are the same here.
    fn look(pid: u32, is_near: bool) -> Process {
        let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten();
        let thread = |number: u32| {
            let Stat { name, state, .. } = Stat::read(&format!("/proc/{pid}/task/{number}/stat"))?;
            let fate = match state {
                'T' | 't' => Fate::Stopped,
                'Z' | 'X' => Fate::Gone,
                _ => Fate::There,
            };
            let status = format!("/proc/{pid}/task/{number}/status");
            let own = match is_near {
                true => number,
                false => proc::own_number(&status, "NSpid:").unwrap_or(number),
            };
            let switches = if fate == Fate::Stopped { proc::number(&status, "voluntary_ctxt_switches:") } else { None };
            Some((own, Thread { number, name, fate, switches }))
        };
        let threads = tasks.filter_map(|task| thread(task.ok()?.file_name().to_str()?.parse().ok()?)).collect();
        Process { pid, name: name(pid), threads, is_near, clock_ahead_ns: clock_ahead_ns(pid) }
    }

    /// A thread, given its number in its own namespace.
    pub fn thread(&self, own: u32) -> Option<&Thread> {
        self.threads.get(&own)
    }

    /// Returns None if nothing is known of the thread.
    pub fn fate(&self, own: u32) -> Option<Fate> {
        // A list of threads that come and go can lack one that is there.
        let has_ended = || self.is_near && self.is_there() && !is_there(&format!("/proc/{}/task/{own}", self.pid));
        match self.threads.get(&own) {
            Some(thread) => Some(thread.fate),
            None => has_ended().then_some(Fate::Gone),
        }
    }

    pub fn threads(&self) -> impl Iterator<Item = &Thread> {
        self.threads.values()
    }

    /// It is Wine's server.
    pub fn is_wineserver(&self) -> bool {
        self.name.starts_with(WINESERVER)
    }

    /// The threads that somebody has stopped.
    pub fn stopped(&self) -> impl Iterator<Item = &Thread> {
        self.threads.values().filter(|thread| thread.fate == Fate::Stopped)
    }

    /// Takes no thread for stopped that was not at an earlier look, or has run since: a tracer stops threads for moments.
    pub fn forget_moments(&mut self, earlier: &Process) {
        for (own, thread) in &mut self.threads {
            let before = earlier.threads.get(own);
            let was_stopped = before.is_some_and(|before| before.fate == Fate::Stopped);
            let has_stood = was_stopped && before.is_some_and(|before| before.switches == thread.switches);
            if thread.fate == Fate::Stopped && !has_stood {
                thread.fate = Fate::There;
            }
        }
    }

    fn is_there(&self) -> bool {
        !self.threads.is_empty() && is_there(&format!("/proc/{}", self.pid))
    }

    /// Its descriptors of the arena, with the object that each names; none for the arena itself.
    pub fn descriptors(&self, arena: FileId) -> Vec<(Descriptor, Option<Object>)> {
        let named = |table: &Table, fd| {
            let path = table.file(fd);
            let metadata = is_shared_memory(&path).then(|| fs::metadata(&path).ok())??;
            let is_its = FileId { device: metadata.dev(), inode: metadata.ino() } == arena;
            is_its.then_some((Descriptor { pid: table.number, fd }, table.object(fd)?))
        };
        let mut found = Vec::new();
        // Nothing is known of a process that is gone, or may not be inspected.
        let _ = tables::each_descriptor(self.pid, |table, fd| found.extend(named(table, fd)));
        found.sort_by_key(|(descriptor, _)| descriptor.fd);
        found
    }
}

/// The name of a process, also if the kernel has cut it off: then its command line begins with a path to it, of Windows or of Unix.
pub fn name(pid: u32) -> String {
    let short = proc::name(pid);
    if short.len() < SHORT_NAME {
        return short;
    }
    let command = fs::read(Entry::of(pid).path(format_args!("cmdline")).to_path());
    command.ok().and_then(|command| long_name(&short, &command)).unwrap_or(short)
}

/// The name of which this is the beginning, at the end of the first word of a command line.
fn long_name(short: &str, command: &[u8]) -> Option<String> {
    let word = String::from_utf8_lossy(command.split(|&byte| byte == 0).next()?).into_owned();
    let name = word.rsplit(['/', '\\']).next()?;
    name.starts_with(short).then(|| name.to_owned())
}

/// A descriptor of a process, or of a thread that has its own table ([`Table::number`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Descriptor {
    pub pid: u32,
    pub fd: u32,
}

/// The processes of other namespaces that can be seen from here, by namespace and number there. Looked for when one is needed.
#[derive(Default)]
pub struct PeerProcesses {
    foreign: Option<HashMap<(u64, u32), u32>>,
}

impl PeerProcesses {
    /// The processes of these peers that can be seen, by the index of the peer.
    pub fn of(&mut self, peers: &[PeerView]) -> HashMap<u32, Process> {
        let mut seen = HashMap::new();
        for peer in peers {
            let process = match peer.presence {
                Presence::Alive => Some(Process::look(peer.process.pid, true)),
                Presence::Dead => None,
                Presence::Unknown => self.foreign(peer).map(|pid| Process::look(pid, false)),
            };
            seen.extend(process.map(|process| (peer.index, process)));
        }
        seen
    }

    fn foreign(&mut self, peer: &PeerView) -> Option<u32> {
        let (namespace, pid) = (peer.process.namespace, peer.process.pid);
        let foreign = self.foreign.get_or_insert_with(|| {
            let place = |pid: u32| Some(((namespace_of(pid)?, own_number(status(pid), "NStgid:")?), pid));
            proc::processes().into_iter().filter_map(place).collect()
        });
        let here = *foreign.get(&(namespace, pid))?;
        let start = Stat::read(&format!("/proc/{here}/stat"))?.start;
        // In a time namespace /proc shows other start times than the peer has noted.
        let is_told = peer.process.start != 0 && liveness::this_process().start != 0;
        (!is_told || peer.process.start == start).then_some(here)
    }
}

fn status(pid: u32) -> String {
    format!("/proc/{pid}/status")
}

fn namespace_of(pid: u32) -> Option<u64> {
    Some(fs::metadata(format!("/proc/{pid}/ns/pid")).ok()?.ino())
}

/// Returns by how many nanoseconds the monotonic clock of a process is ahead of the one here: not 0 if they are in different time
/// namespaces. 0 if that cannot be told.
fn clock_ahead_ns(pid: u32) -> i64 {
    let namespace = |of: &str, name: &str| Some(fs::metadata(format!("/proc/{of}/ns/{name}")).ok()?.ino());
    // Below the number of a thread that lives: of the first one, if it has ended, nothing is shown.
    let its = Entry::of(pid).thread().to_string();
    if namespace(&its, "time") == namespace("self", "time") {
        return 0;
    }
    // The kernel shows the offsets of the namespace into which a process's children will come.
    let offset = |of: &str| match namespace(of, "time") == namespace(of, "time_for_children") {
        true => monotonic_offset_ns(&fs::read_to_string(format!("/proc/{of}/timens_offsets")).ok()?),
        false => None,
    };
    offset(&its).zip(offset("self")).map_or(0, |(its, own)| its.saturating_sub(own))
}

/// The offset of the monotonic clock of a time namespace, in nanoseconds; `text` is the kernel's `timens_offsets`.
fn monotonic_offset_ns(text: &str) -> Option<i64> {
    let mut fields = text.lines().find(|line| line.starts_with("monotonic"))?.split_whitespace().skip(1);
    let (seconds, nanoseconds): (i64, i64) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    Some(seconds.saturating_mul(1_000_000_000).saturating_add(nanoseconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_was_cut_off_is_found_in_the_command_line() {
        let names = [
            (&b"C:\\windows\\system32\\presentationhost.exe\0-Embedding\0"[..], Some("presentationhost.exe")),
            (b"/opt/games/presentationhost\0", Some("presentationhost")),
            (b"C:\\other.exe\0", None),
            (b"", None),
        ];
        for (command, name) in names {
            assert_eq!(long_name("presentationhos", command).as_deref(), name);
        }
    }
}
