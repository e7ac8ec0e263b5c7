//! What /proc tells of the processes that share an arena: names, threads, descriptors.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;

use ntux_platform::memory::FileId;
use ntux_sync::Object;
use ntux_sync::inspect::{PeerView, Presence};
use serde::Serialize;

use super::find::{Target, descriptors};

/// A process that shares the arena and can be seen from here.
pub struct Process {
    /// Its number here.
    pub pid: u32,
    pub name: String,
    /// The names and the numbers here of its threads, by their numbers in its own namespace.
    threads: HashMap<u32, (u32, String)>,
}

impl Process {
    fn look(pid: u32) -> Process {
        let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten();
        let thread = |number: u32| {
            let name = line(&format!("/proc/{pid}/task/{number}/comm"))?;
            Some((own_number(&format!("/proc/{pid}/task/{number}/status"), "NSpid:").unwrap_or(number), (number, name)))
        };
        let threads = tasks.filter_map(|task| thread(task.ok()?.file_name().to_str()?.parse().ok()?)).collect();
        Process { pid, name: line(&format!("/proc/{pid}/comm")).unwrap_or_default(), threads }
    }

    /// Number here and name of a thread, given its number in its own namespace.
    pub fn thread(&self, own: u32) -> Option<&(u32, String)> {
        self.threads.get(&own)
    }

    /// Its descriptors of the arena, with the object that each names; none for the arena itself.
    pub fn descriptors(&self, arena: FileId) -> Vec<(Descriptor, Option<Object>)> {
        let paths = descriptors(self.pid).unwrap_or_default();
        let named = |path: &std::path::PathBuf| {
            let metadata = fs::metadata(path).ok()?;
            let fd = path.file_name()?.to_str()?.parse().ok()?;
            let offset = number(&format!("/proc/{}/fdinfo/{fd}", self.pid), "pos:")?;
            let is_its = FileId { device: metadata.dev(), inode: metadata.ino() } == arena;
            is_its.then_some((Descriptor { pid: self.pid, fd }, (offset != 0).then_some(Object(offset))))
        };
        let mut found: Vec<_> = paths.iter().filter_map(named).collect();
        found.sort_by_key(|(descriptor, _)| descriptor.fd);
        found
    }
}

/// A descriptor of a process.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Descriptor {
    pub pid: u32,
    pub fd: u32,
}

/// The processes of these peers that can be seen, by the index of the peer.
pub fn of(peers: &[PeerView], target: &Target) -> HashMap<u32, Process> {
    let named = if let Target::Process(pid) = target { Some(*pid) } else { None };
    let seen = |peer: &PeerView| match peer.presence {
        Presence::Alive => Some(peer.process.pid),
        Presence::Dead => None,
        // In another namespace of processes: the one that the user has named can be told by its numbers.
        Presence::Unknown => named.filter(|&pid| is_same(peer, pid)),
    };
    peers.iter().filter_map(|peer| Some((peer.index, Process::look(seen(peer)?)))).collect()
}

fn is_same(peer: &PeerView, pid: u32) -> bool {
    let own = own_number(&format!("/proc/{pid}/status"), "NStgid:");
    let namespace = fs::metadata(format!("/proc/{pid}/ns/pid")).map(|metadata| metadata.ino());
    own == Some(peer.process.pid) && namespace.is_ok_and(|namespace| namespace == peer.process.namespace)
}

/// The last of the numbers behind this name: that in the innermost namespace.
fn own_number(path: &str, name: &str) -> Option<u32> {
    value(path, name)?.split_whitespace().last()?.parse().ok()
}

fn number(path: &str, name: &str) -> Option<u64> {
    value(path, name)?.trim().parse().ok()
}

fn value(path: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    text.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned)
}

fn line(path: &str) -> Option<String> {
    Some(String::from_utf8_lossy(&fs::read(path).ok()?).trim_end().to_owned())
}
