// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ntux doctor --wine`: which synchronization the Wine that runs here really uses, process by process.
//!
//! It is told by what a process holds at this moment, not by what was asked for or installed:
//!
//! | it holds | synchronization |
//! | --- | --- |
//! | a descriptor of `/dev/ntsync`, or of an object of the driver | the kernel's driver |
//! | an arena and `libntux.so` | ntux's back end of Wine |
//! | an arena and `libntux_preload.so` | ntux's device |
//! | an arena alone | none: its wineserver has ntux's device, and it was not served |
//! | `/dev/shm/wine-NUMBER-fsync` or `-esync` | fsync, esync |
//! | nothing of these | the server |

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::PathBuf;

use ntux_platform::interposition::proc::Entry;
use serde::Serialize;

use crate::arenas::proc;
use crate::arenas::tables;
use crate::page::{NAME_WIDTH, Page};
use crate::printable::printable;
use crate::wine;

/// What `ntux doctor --wine` says.
#[derive(Serialize)]
pub struct Running {
    processes: Vec<Process>,
    /// Processes that could not be inspected.
    hidden: usize,
}

/// A process of Wine.
#[derive(Serialize)]
struct Process {
    pid: u32,
    name: String,
    role: Role,
    prefix: Option<PathBuf>,
    synchronization: Synchronization,
    why: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Role {
    Server,
    Client,
}

/// How the waits of a process are made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Synchronization {
    Driver,
    BackEnd,
    Device,
    Unserved,
    Fsync,
    Esync,
    Server,
}

impl Synchronization {
    fn words(self) -> &'static str {
        match self {
            Synchronization::Driver => "the kernel's driver",
            Synchronization::BackEnd => "ntux's back end",
            Synchronization::Device => "ntux's device",
            Synchronization::Unserved => "none that works",
            Synchronization::Fsync => "fsync",
            Synchronization::Esync => "esync",
            Synchronization::Server => "the server",
        }
    }

    fn is_good(self) -> bool {
        self == Synchronization::Driver || self.is_of_ntux()
    }

    fn is_of_ntux(self) -> bool {
        matches!(self, Synchronization::BackEnd | Synchronization::Device)
    }
}

/// What people look with otherwise, and what that shows of ntux. MangoHud looks for the word among the names of what a process has mapped
/// or open.
const OTHER_TOOLS: &str = "`lsof /dev/ntsync` shows nothing of ntux, whose device is shared memory named /memfd:ntsync. MangoHud \
                           finds that name, and shows NTsync, as with the driver.";

/// What a process holds: files that it has mapped, and names of its descriptors.
struct Held {
    mapped: Vec<String>,
    descriptors: Vec<String>,
}

impl Held {
    fn by(pid: u32) -> io::Result<Held> {
        let mut descriptors = Vec::new();
        tables::each_descriptor(pid, |table, fd| {
            descriptors.extend(fs::read_link(table.file(fd)).map(|name| name.to_string_lossy().into_owned()));
        })?;
        let maps = fs::read(Entry::of(pid).path(format_args!("maps")).to_path())?;
        Ok(Held { mapped: mapped(&String::from_utf8_lossy(&maps)), descriptors })
    }

    /// It has mapped a file of this name, perhaps with a version behind it.
    fn has(&self, library: &str) -> bool {
        self.mapped
            .iter()
            .filter_map(|path| path.rsplit('/').next())
            .any(|name| name.strip_prefix(library).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', ' '])))
    }

    fn has_shared_memory_of(&self, kind: &str) -> bool {
        let is_its = |path: &String| {
            let name = path.strip_prefix("/dev/shm/wine-").map(|rest| rest.trim_end_matches(" (deleted)"));
            name.is_some_and(|name| name.ends_with(kind))
        };
        self.mapped.iter().chain(&self.descriptors).any(is_its)
    }

    fn synchronization(&self) -> Synchronization {
        let all = || self.descriptors.iter().chain(&self.mapped);
        let has_arena = all().any(|name| name.starts_with("/memfd:ntsync"));
        let has_driver =
            self.descriptors.iter().any(|name| name == "/dev/ntsync" || name.starts_with("anon_inode:ntsync"));
        match () {
            () if has_arena && self.has("libntux.so") => Synchronization::BackEnd,
            () if has_arena && self.has("libntux_preload.so") => Synchronization::Device,
            () if has_driver => Synchronization::Driver,
            () if has_arena => Synchronization::Unserved,
            () if self.has_shared_memory_of("-fsync") => Synchronization::Fsync,
            () if self.has_shared_memory_of("-esync") => Synchronization::Esync,
            () => Synchronization::Server,
        }
    }
}

/// The names behind the addresses, each once after the other.
fn mapped(maps: &str) -> Vec<String> {
    let name = |line: &str| Some(line.get(line.find('/')?..)?.to_owned());
    let mut names: Vec<String> = maps.lines().filter_map(name).collect();
    names.dedup();
    names
}

impl Running {
    /// Looks at every process.
    pub fn gather() -> Running {
        let mut running = Running { processes: Vec::new(), hidden: 0 };
        for pid in proc::processes() {
            match Process::look(pid) {
                Ok(process) => running.processes.extend(process),
                Err(error) => running.hidden += usize::from(error.kind() == ErrorKind::PermissionDenied),
            }
        }
        running
    }

    /// All that runs uses the driver or ntux, and something runs.
    pub fn is_good(&self) -> bool {
        !self.processes.is_empty() && self.processes.iter().all(|process| process.synchronization.is_good())
    }

    pub fn render(&self) -> String {
        let mut page = Page::with_names_of(NAME_WIDTH);
        let mut prefixes: BTreeMap<String, Vec<&Process>> = BTreeMap::new();
        for process in &self.processes {
            let prefix = process.prefix.as_ref().map_or("unknown".to_owned(), |prefix| prefix.display().to_string());
            prefixes.entry(prefix).or_default().push(process);
        }
        if prefixes.is_empty() {
            page.line("No Wine runs here that you may inspect.");
        }
        for (at, (prefix, processes)) in prefixes.iter().enumerate() {
            page.line(&format!("{}The prefix {}", if at > 0 { "\n" } else { "" }, printable(prefix)));
            for process in processes {
                let said = format!("{}: {}", process.synchronization.words(), process.why);
                page.setting(&format!("{:>7} {}", process.pid, process.name), &said);
            }
        }
        if !self.is_good() && !prefixes.is_empty() {
            page.line("");
            page.line("The wineserver decides when it starts. After a change: `wineserver -k`, for each prefix.");
        }
        if self.processes.iter().any(|process| process.synchronization.is_of_ntux()) {
            page.line("");
            page.paragraph("", 0, OTHER_TOOLS);
        }
        if self.hidden > 0 {
            page.line("");
            let processes = if self.hidden == 1 { "1 process" } else { &format!("{} processes", self.hidden) };
            page.paragraph("", 0, &format!("Not looked at: {processes} of other users; be root to see them all."));
        }
        page.into_text()
    }
}

impl Process {
    /// Returns None if it is not of Wine.
    fn look(pid: u32) -> io::Result<Option<Process>> {
        let entry = Entry::of(pid);
        let held = Held::by(pid)?;
        let program = fs::read_link(entry.path(format_args!("exe")).to_path())?;
        let is_server = program.file_name().is_some_and(|name| name.to_string_lossy().starts_with("wineserver"));
        let role = match is_server {
            true => Role::Server,
            false if held.has("ntdll.so") => Role::Client,
            false => return Ok(None),
        };
        let synchronization = held.synchronization();
        let why = match (synchronization, role) {
            (Synchronization::Server, Role::Server) => {
                let program = fs::read(entry.path(format_args!("exe")).to_path()).unwrap_or_default();
                let has_device = fs::exists(ntux_platform::command::probe::DEVICE_PATH).unwrap_or(false);
                why_alone(&program, held.has("libntux_preload.so"), has_device)
            }
            (other, _) => why(other).to_owned(),
        };
        Ok(Some(Process { pid, name: proc::name(pid), role, prefix: prefix(pid), synchronization, why }))
    }
}

fn why(synchronization: Synchronization) -> &'static str {
    match synchronization {
        Synchronization::Driver => "it has /dev/ntsync open, and the kernel serves it",
        Synchronization::BackEnd => "it has libntux.so and an arena",
        Synchronization::Device => "it has /dev/ntsync open, and libntux_preload.so serves it",
        Synchronization::Unserved => {
            "its wineserver has ntux's device and ntux is not loaded here, so that waits fail; is it a 32-bit process? Give the \
             device to all or to none: WINEARCH=wow64"
        }
        Synchronization::Fsync => "it has the shared memory of fsync",
        Synchronization::Esync => "it has the shared memory of esync",
        Synchronization::Server => "each wait is a question to its wineserver",
    }
}

/// The first version whose wineserver asks for the driver.
const KNOWS_DRIVER: (u32, u32) = (10, 16);

/// Why a wineserver does everything itself. `program` is its file.
fn why_alone(program: &[u8], is_loaded: bool, has_device: bool) -> String {
    let version = version(program);
    let number = version.map_or(String::new(), |(major, minor)| format!("Wine {major}.{minor} "));
    let subject = if number.is_empty() { "it ".to_owned() } else { number };
    match () {
        () if version.is_some_and(|version| version < KNOWS_DRIVER) => {
            format!("{subject}knows no driver; 10.16 is the first that does")
        }
        () if !wine::contains(program, b"/dev/ntsync") => {
            format!("{subject}was built without linux/ntsync.h, and never asks for the driver; another build is needed")
        }
        () if is_loaded => {
            format!("{subject}was given no device although ntux is loaded; with `ntux run --log stderr` it says why")
        }
        () if has_device => {
            format!("{subject}could not open /dev/ntsync when it started; there is one now, so start it again")
        }
        () => format!("{subject}would use the driver, and found no /dev/ntsync; `ntux run -- wine ...` gives it one"),
    }
}

/// The version that a wineserver names.
fn version(program: &[u8]) -> Option<(u32, u32)> {
    const NAME: &[u8] = b"\0Wine ";
    let text = wine::behind(program, NAME)?.split(|&byte| !byte.is_ascii_digit() && byte != b'.').next()?;
    let mut numbers = std::str::from_utf8(text).ok()?.split('.').map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// The prefix that its environment names, or the one that it has without a name.
fn prefix(pid: u32) -> Option<PathBuf> {
    let named = proc::variable(pid, "WINEPREFIX").map(PathBuf::from);
    named.or_else(|| Some(PathBuf::from(proc::variable(pid, "HOME")?).join(".wine")))
}

#[cfg(test)]
#[path = "../../tests/unit/doctor/wine.rs"]
mod tests;
