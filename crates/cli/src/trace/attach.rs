//! The arenas of a program and of the processes that it starts, and what their threads report.

use std::collections::{BTreeSet, HashMap};
use std::fs::{self, File, OpenOptions};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use ntux_sync::inspect::View;
use ntux_sync::trace::{Event, Tracer};

use super::names::Objects;
use crate::arenas::find::descriptors;
use crate::arenas::processes;

/// How long threads continue to report after the tracer was killed.
pub const LEASE: Duration = Duration::from_secs(2);
/// How often to search for arenas.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How often the kinds of unknown objects are looked up at most.
const NAME_EVERY: Duration = Duration::from_millis(100);

/// An arena that is traced.
pub struct Traced {
    tracer: Tracer,
    view: View,
    pub objects: Objects,
    named: Option<Instant>,
}

impl Traced {
    fn open(file: &File, from_start: bool) -> ntux_sync::Result<Traced> {
        let attach = if from_start { Tracer::attach_to_the_past } else { Tracer::attach };
        let (tracer, view) = (attach(file.as_fd())?, View::open(file.as_fd())?);
        Ok(Traced { tracer, view, objects: Objects::default(), named: None })
    }

    /// Makes threads continue to report.
    pub fn renew(&self) {
        self.tracer.keep_on(LEASE.as_nanos() as u64);
    }

    /// Makes threads stop reporting.
    pub fn stop(&self) {
        self.tracer.stop();
    }

    /// Appends what was reported since the last time.
    pub fn read(&mut self, events: &mut Vec<Event>) {
        self.tracer.read(events);
    }

    /// Returns whether an event is still due; it comes within a second or not at all.
    pub fn is_behind(&self) -> bool {
        self.tracer.is_behind()
    }

    pub fn lost(&self) -> u64 {
        self.tracer.lost()
    }

    /// Learns what an object is, unless that was tried just now.
    pub fn learn(&mut self, slot: u32) {
        if self.objects.is_known(slot) || self.named.is_some_and(|before| before.elapsed() < NAME_EVERY) {
            return;
        }
        if let Ok(snapshot) = self.view.snapshot() {
            self.objects.learn(&snapshot);
        }
        self.named = Some(Instant::now());
    }
}

/// All arenas of a process and of its children.
pub struct Arenas {
    process: u32,
    from_start: bool,
    pub traced: Vec<Traced>,
    inodes: BTreeSet<u64>,
    looked: Option<Instant>,
    /// Why an arena that was found cannot be traced.
    pub trouble: Option<String>,
}

impl Arenas {
    /// `from_start`: what was reported before this process attached counts, too.
    pub fn of(process: u32, from_start: bool) -> Arenas {
        Arenas { process, from_start, traced: Vec::new(), inodes: BTreeSet::new(), looked: None, trouble: None }
    }

    /// Looks for new arenas, if it is time to.
    pub fn look(&mut self) {
        if self.looked.is_some_and(|before| before.elapsed() < LOOK_EVERY) {
            return;
        }
        for process in family(self.process) {
            for path in descriptors(process).unwrap_or_default() {
                self.meet(path);
            }
        }
        self.looked = Some(Instant::now());
    }

    fn meet(&mut self, path: PathBuf) {
        let Ok(metadata) = fs::metadata(&path) else { return };
        if !self.inodes.insert(metadata.ino()) {
            return;
        }
        let opened = OpenOptions::new().read(true).write(true).open(&path);
        match opened.map(|file| Traced::open(&file, self.from_start)) {
            Ok(Ok(traced)) => self.traced.push(traced),
            Ok(Err(ntux_sync::Error::NotAnArena)) => {}
            Ok(Err(error)) => self.trouble = Some(error.to_string()),
            Err(error) => self.trouble = Some(error.to_string()),
        }
    }
}

/// A process and all that descend from it.
fn family(process: u32) -> Vec<u32> {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    for pid in processes::all() {
        if let Some(parent) = processes::parent(pid) {
            children.entry(parent).or_default().push(pid);
        }
    }
    let (mut found, mut next) = (vec![process], 0);
    while let Some(&pid) = found.get(next) {
        found.extend(children.remove(&pid).unwrap_or_default());
        next += 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_and_its_children_are_a_family() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let found = family(std::process::id());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(found.contains(&std::process::id()) && found.contains(&child.id()), "{found:?}");
    }
}
