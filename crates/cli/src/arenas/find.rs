// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which arenas a process has: its descriptors, and its mappings whose descriptors are closed.

use std::collections::BTreeSet;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::SystemTime;

use ntux_platform::command::others::open_regular;
use ntux_sync::inspect::View;
use ntux_sync::{Error, Object};

use super::tables::{ARENA, Mapping, Table, mapped_arenas, shared_memory};
use super::{copy, proc};

/// What to inspect.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Target {
    Process(u32),
    /// One of its threads.
    Thread(u32, u32),
    /// One of its descriptors.
    Descriptor(u32, u32),
    File(PathBuf),
}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Target, String> {
        let pair = |separator| {
            let (pid, other) = text.split_once(separator)?;
            Some((pid.parse().ok()?, other.parse().ok()?))
        };
        let target = match (text.parse(), pair('/'), pair(':')) {
            (Ok(pid), ..) => Target::Process(pid),
            (_, Some((pid, thread)), _) => Target::Thread(pid, thread),
            (_, _, Some((pid, fd))) => Target::Descriptor(pid, fd),
            _ => Target::File(PathBuf::from(text)),
        };
        let is_number = !text.is_empty() && text.bytes().all(|letter| letter.is_ascii_digit());
        match (target.pid(), is_number) {
            (Some(0), _) | (None, true) => Err(format!("{text} is no process number")),
            _ => Ok(target),
        }
    }
}

impl Target {
    /// The process that is named.
    pub fn pid(&self) -> Option<u32> {
        match *self {
            Target::Process(pid) | Target::Thread(pid, _) | Target::Descriptor(pid, _) => Some(pid),
            Target::File(_) => None,
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Process(pid) | Target::Thread(pid, _) => write!(out, "process {pid}"),
            Target::Descriptor(pid, fd) => write!(out, "descriptor {fd} of process {pid}"),
            Target::File(path) => write!(out, "{}", path.display()),
        }
    }
}

/// An arena that can be read.
pub struct Opened {
    pub view: View,
    /// Its name, if it was opened by one.
    pub name: Option<String>,
    /// When its file was made, where the system says so.
    pub created: Option<SystemTime>,
    /// It is a copy, of some moment and perhaps of another machine: what /proc says now is of no use.
    pub is_copy: bool,
}

/// What was found.
#[derive(Default)]
pub struct Found {
    pub arenas: Vec<Opened>,
    /// What was found and cannot be read, and what to do about it.
    pub notes: Vec<String>,
    /// Processes whose files the user may not see.
    pub hidden: usize,
}

/// The arenas of other versions that a process has, as they are named in a note.
#[derive(Default)]
struct Others {
    named: Vec<String>,
    more: usize,
}

/// Arenas of other versions that a note names.
const NAMED: usize = 8;

/// Why nothing can be found.
#[derive(Debug)]
pub enum Refusal {
    NoProcess(u32),
    NoThread(u32, u32),
    NoDescriptor(u32, u32),
    NotAllowed(u32),
    NotAnArena(PathBuf),
    OtherVersion(PathBuf),
    CutOff(PathBuf),
    Unreadable(PathBuf, io::Error),
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::NoProcess(pid) => write!(out, "there is no process {pid}"),
            Refusal::NoThread(pid, thread) => write!(out, "process {pid} has no thread {thread}"),
            Refusal::NoDescriptor(pid, fd) => write!(out, "process {pid} has no descriptor {fd}"),
            Refusal::CutOff(path) => {
                write!(out, "'{}' begins as an arena, but is cut off or damaged: copy it again, whole", path.display())
            }
            Refusal::NotAllowed(pid) => write!(
                out,
                "no permission to inspect process {pid}: run ntux as the user of that process, or as root \
                 (in a container: with CAP_SYS_PTRACE). kernel.yama.ptrace_scope does not matter here"
            ),
            Refusal::NotAnArena(path) => write!(
                out,
                "'{}' is no arena: it must be shared memory that ntux has made, such as /proc/PID/fd/N of a process that \
                 uses it, or a copy of that. (A core dump holds one only if it was made by `gcore -a`: the kernel leaves \
                 arenas out)",
                path.display()
            ),
            Refusal::OtherVersion(path) => write!(
                out,
                "'{}' is an arena of another version of ntux: inspect it with the version that the program runs with",
                path.display()
            ),
            Refusal::Unreadable(path, error) => {
                let advice = match error.kind() {
                    io::ErrorKind::NotFound => ": name a process by its number, or a file that is there",
                    io::ErrorKind::PermissionDenied => ": run ntux as a user who may read it, or as root",
                    _ => "",
                };
                write!(out, "cannot open '{}': {error}{advice}", path.display())
            }
        }
    }
}

/// Finds the arenas of a target; without one, every arena that the user may see.
pub fn wanted(target: Option<&Target>) -> Result<Found, Refusal> {
    target.map_or_else(|| Ok(everywhere()), find)
}

/// Finds the arenas of a process, or the one in a file.
pub fn find(target: &Target) -> Result<Found, Refusal> {
    match target {
        Target::File(path) => of_file(path),
        Target::Process(pid) => of_process(*pid),
        Target::Thread(pid, thread) => {
            let found = of_process(*pid)?;
            let is_there = proc::is_there(&format!("/proc/{pid}/task/{thread}"));
            if is_there { Ok(found) } else { Err(Refusal::NoThread(*pid, *thread)) }
        }
        Target::Descriptor(pid, fd) => of_descriptor(*pid, *fd),
    }
}

fn of_descriptor(pid: u32, fd: u32) -> Result<Found, Refusal> {
    let opened = open(&Table::named(pid).file(fd)).map_err(|other| match other {
        Refusal::Unreadable(_, error) if error.kind() == ErrorKind::PermissionDenied => Refusal::NotAllowed(pid),
        Refusal::Unreadable(_, error) if error.kind() == ErrorKind::NotFound => {
            let is_there = proc::is_there(&format!("/proc/{pid}"));
            if is_there { Refusal::NoDescriptor(pid, fd) } else { Refusal::NoProcess(pid) }
        }
        other => other,
    })?;
    Ok(Found::only(vec![opened]))
}

/// The object that a descriptor stands for. None: it stands for the arena itself.
pub fn named_object(target: &Target) -> Option<Object> {
    let Target::Descriptor(pid, fd) = *target else { return None };
    Table::named(pid).object(fd)?
}

/// Finds every arena that the user may see.
pub fn everywhere() -> Found {
    let (mut found, mut seen) = (Found::default(), BTreeSet::new());
    for pid in proc::processes() {
        // A process that has ended meanwhile has no arenas.
        let gathered = found.gather(pid, &mut seen);
        found.hidden += usize::from(gathered.is_err_and(|error| error.kind() == ErrorKind::PermissionDenied));
    }
    found
}

/// Opens a file for reading only.
fn open(path: &Path) -> Result<Opened, Refusal> {
    let unreadable = |error| Refusal::Unreadable(path.to_owned(), error);
    let opened = open_regular(path).map_err(unreadable)?;
    let file = File::from(opened.ok_or_else(|| Refusal::NotAnArena(path.to_owned()))?);
    let view = View::open(file.as_fd()).map_err(|error| match error {
        Error::NotAnArena => why_not(&file, path),
        other => unreadable(io::Error::from_raw_os_error(other.errno())),
    })?;
    let created = file.metadata().and_then(|metadata| metadata.created()).ok();
    let name = fs::read_link(path).ok().and_then(|link| name_in(link.to_str()?));
    Ok(Opened { view, name, created, is_copy: false })
}

/// The name of an arena, as a link to it has it.
fn name_in(link: &str) -> Option<String> {
    let name = link.strip_prefix(ARENA)?.strip_prefix(':')?;
    Some(name.strip_suffix(" (deleted)").unwrap_or(name).to_owned())
}

/// Why a file cannot be mapped as an arena, by how it begins.
fn why_not(file: &File, path: &Path) -> Refusal {
    let mut start = [0; View::HEAD];
    let length = file.read_at(&mut start, 0).unwrap_or(0);
    match View::begins_arena(&start) {
        true if length < View::HEAD || View::is_of_this_version(&start) => Refusal::CutOff(path.to_owned()),
        true => Refusal::OtherVersion(path.to_owned()),
        false => Refusal::NotAnArena(path.to_owned()),
    }
}

/// The arena that a file is, or the arenas of which it holds copies.
fn of_file(path: &Path) -> Result<Found, Refusal> {
    let refusal = match open(path) {
        Ok(opened) => return Ok(Found::only(vec![opened])),
        Err(refusal @ (Refusal::NotAnArena(_) | Refusal::OtherVersion(_) | Refusal::CutOff(_))) => refusal,
        Err(other) => return Err(other),
    };
    let file = open_regular(path).ok().flatten();
    let copies = file.map(|file| copy::arenas(&File::from(file))).unwrap_or_default();
    let views = copies.iter().filter_map(|copy| View::open(copy.as_fd()).ok());
    let arenas: Vec<Opened> = views.map(|view| Opened { view, name: None, created: None, is_copy: true }).collect();
    if arenas.is_empty() { Err(refusal) } else { Ok(Found::only(arenas)) }
}

fn of_process(pid: u32) -> Result<Found, Refusal> {
    let mut found = Found::default();
    found.gather(pid, &mut BTreeSet::new()).map_err(|error| refusal(pid, error))?;
    Ok(found)
}

fn refusal(pid: u32, error: io::Error) -> Refusal {
    match error.kind() {
        ErrorKind::NotFound => Refusal::NoProcess(pid),
        ErrorKind::PermissionDenied => Refusal::NotAllowed(pid),
        _ => Refusal::Unreadable(PathBuf::from(format!("/proc/{pid}/fd")), error),
    }
}

impl Found {
    fn only(arenas: Vec<Opened>) -> Found {
        Found { arenas, ..Found::default() }
    }

    /// Adds the arenas of a process that were not seen yet.
    fn gather(&mut self, pid: u32, seen: &mut BTreeSet<u64>) -> io::Result<()> {
        let mut others = Others::default();
        for path in shared_memory(pid)? {
            let Ok(metadata) = fs::metadata(&path) else { continue };
            if seen.insert(metadata.ino()) {
                self.note(metadata.ino(), open(&path), &mut others);
            }
        }
        for mapping in mapped_arenas(pid) {
            if seen.insert(mapping.inode) {
                self.note_mapping(pid, &mapping, &mut others);
            }
        }
        self.notes.extend(others.note(pid));
        Ok(())
    }

    fn note(&mut self, inode: u64, opened: Result<Opened, Refusal>, others: &mut Others) {
        match opened {
            Ok(opened) => self.arenas.push(opened),
            // Somebody else's shared memory, or closed meanwhile.
            Err(Refusal::NotAnArena(_)) => {}
            Err(Refusal::Unreadable(_, error)) if error.kind() == ErrorKind::NotFound => {}
            Err(Refusal::OtherVersion(path)) => others.add(inode, &path),
            Err(other) => self.notes.push(other.to_string()),
        }
    }

    fn note_mapping(&mut self, pid: u32, mapping: &Mapping, others: &mut Others) {
        match open_mapping(mapping) {
            Err(Refusal::Unreadable(_, error)) if error.kind() == ErrorKind::PermissionDenied => {
                self.notes.push(format!(
                    "process {pid} has mapped arena {} without a descriptor for it: to inspect it, be root, or have \
                     CAP_CHECKPOINT_RESTORE; or name another process that shares it",
                    mapping.inode
                ));
            }
            opened => self.note(mapping.inode, opened, others),
        }
    }
}

impl Others {
    fn add(&mut self, inode: u64, path: &Path) {
        match self.named.len() {
            NAMED => self.more += 1,
            _ => self.named.push(format!("{inode} ({})", path.display())),
        }
    }

    /// One for a process, however many it has.
    fn note(&self, pid: u32) -> Option<String> {
        let more = if self.more > 0 { format!(" and {} more", self.more) } else { String::new() };
        let (noun, which) = match &self.named[..] {
            [] => return None,
            [one] => ("an arena", one.clone()),
            several => ("arenas", several.join(" ") + &more),
        };
        Some(format!(
            "process {pid} has {noun} of another version of ntux, {which}: inspect with the version that the program runs with"
        ))
    }
}

/// The file of a mapping, if it still is mapped there.
fn open_mapping(mapping: &Mapping) -> Result<Opened, Refusal> {
    let opened = open(&mapping.path)?;
    match opened.view.file().inode == mapping.inode {
        true => Ok(opened),
        false => Err(Refusal::NotAnArena(mapping.path.clone())),
    }
}
