// SPDX-License-Identifier: MIT OR Apache-2.0
//! What one program is, and what it gets under `ntux run`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use ntux_platform::environment::{DEVICE, text};
use serde::Serialize;

use super::choice::Choice;
use crate::library::{self, Library};
use crate::page::Page;
use crate::printable::printable;
use crate::program::{self, Kind, Portrait};
use crate::wine::{self, Measure, Prefix, Wine};

/// The program, and the verdict.
#[derive(Serialize)]
pub struct Program {
    pub name: String,
    /// The file to which the name resolves, after its scripts.
    pub file: Option<PathBuf>,
    pub scripts: Vec<PathBuf>,
    pub elf: Option<Elf>,
    pub wine: Option<WineFacts>,
    /// `kernel`, `user`, or nothing.
    pub device: Option<&'static str>,
    pub why: String,
    /// What `ntux run` would set in its environment.
    pub sets: Vec<(&'static str, String)>,
}

#[derive(Serialize)]
pub struct Elf {
    pub bits: u8,
    /// The ELF number of the processor's kind.
    pub machine: u16,
    pub loader: Option<PathBuf>,
    pub c_library: Option<String>,
}

#[derive(Serialize)]
pub struct WineFacts {
    pub version: Option<String>,
    /// `old` if it has 32-bit processes.
    pub wow64: &'static str,
    pub narrow_libraries: Option<PathBuf>,
    pub proton: bool,
    pub prefix: PathBuf,
    /// `64-bit`, `32-bit`, or `absent`.
    pub prefix_kind: &'static str,
}

/// The facts that decide.
struct Verdict {
    device: Option<&'static str>,
    why: String,
    sets: Vec<(&'static str, String)>,
}

impl Verdict {
    fn none(why: String) -> Verdict {
        Verdict { device: None, why, sets: Vec::new() }
    }
}

impl Program {
    /// Examines the program as `ntux run` does, if it would give programs the device of `choice`.
    pub fn examine(words: &[OsString], choice: &Choice) -> Program {
        let name = words[0].display().to_string();
        let looked = program::resolve(&words[0], std::env::var_os("PATH").as_deref())
            .and_then(|path| program::look(&path).map(|portrait| (path, portrait)));
        let (path, portrait) = match looked {
            Ok(found) => found,
            Err(refusal) => {
                let Verdict { device, why, sets } = Verdict::none(format!("it cannot be started: {refusal}"));
                return Program { name, file: None, scripts: Vec::new(), elf: None, wine: None, device, why, sets };
            }
        };
        let (wine, prefix) = (Wine::started_by(&path, &words[1..]), Prefix::current());
        let Verdict { device, why, sets } = verdict(&portrait, wine.as_ref(), prefix, choice);
        let elf = elf(&portrait);
        let wine = wine.map(|wine| facts(wine, prefix));
        Program { name, file: Some(portrait.file), scripts: portrait.scripts, elf, wine, device, why, sets }
    }

    /// The lines for people.
    pub fn render(&self, page: &mut Page) {
        page.line(&format!("The program '{}'", printable(&self.name)));
        for script in &self.scripts {
            page.setting("script", &script.display().to_string());
        }
        if let Some(file) = &self.file {
            page.setting("file", &file.display().to_string());
        }
        match &self.elf {
            Some(elf) => elf.render(page),
            None if self.file.is_some() => page.setting("kind", "not an ELF program, or not readable"),
            None => {}
        }
        if let Some(wine) = &self.wine {
            wine.render(page);
        }
        page.title("What it gets under `ntux run`");
        let device = match self.device {
            Some("kernel") => "the kernel's driver",
            Some(_) => "ntux's own device, in shared memory",
            None => "no device",
        };
        page.paragraph("  ", 4, &format!("{device}: {}", self.why));
        for (name, value) in &self.sets {
            page.paragraph("  ", 4, &format!("ntux run sets {name}={value}"));
        }
    }
}

impl Elf {
    fn render(&self, page: &mut Page) {
        let machine = match self.machine {
            object::elf::EM_X86_64 => "x86-64".to_owned(),
            object::elf::EM_386 => "x86".to_owned(),
            object::elf::EM_AARCH64 => "aarch64".to_owned(),
            other => format!("processor {other}"),
        };
        page.setting("kind", &format!("ELF, {} bits, {machine}", self.bits));
        let loader =
            self.loader.as_ref().map_or("none: statically linked".to_owned(), |path| path.display().to_string());
        page.setting("loader", &loader);
        if let Some(c_library) = &self.c_library {
            page.setting("C library", c_library);
        }
    }
}

impl WineFacts {
    fn render(&self, page: &mut Page) {
        let by = if self.proton { ", started by Proton" } else { "" };
        page.setting("Wine", &format!("{}{by}", self.version.as_deref().unwrap_or("of unknown version")));
        let style = match &self.narrow_libraries {
            Some(path) => format!("old style: 32-bit programs run in 32-bit processes ({})", path.display()),
            None => "new style: all processes are 64-bit".to_owned(),
        };
        page.setting("WoW64", &style);
        page.setting("prefix", &format!("{} ({})", self.prefix.display(), self.prefix_kind));
    }
}

/// Makes the same decisions as `ntux run`, in the same order.
fn verdict(portrait: &Portrait, wine: Option<&Wine>, prefix: Prefix, choice: &Choice) -> Verdict {
    let library = match library::find(Library::Device) {
        Ok(library) => library,
        Err(trouble) => return Verdict::none(trouble.to_string()),
    };
    let served = Verdict { device: choice.device, why: choice.why.clone(), sets: Vec::new() };
    if choice.device != Some("user") {
        return served;
    }
    if let Some(obstacle) = portrait.obstacle(&library) {
        return Verdict::none(format!("{obstacle}; programs that it starts may be served"));
    }
    match wine.map(|wine| wine.measure(prefix, |name| std::env::var_os(name))) {
        Some(Measure::Set(name, value)) => {
            let why = format!("{}; its 32-bit programs run in 64-bit processes", served.why);
            Verdict { why, sets: vec![(name, value.to_owned())], ..served }
        }
        Some(Measure::NoDevice(why)) => {
            Verdict { sets: vec![(text(DEVICE), "kernel".to_owned())], ..Verdict::none(why) }
        }
        Some(Measure::None) | None => served,
    }
}

fn elf(portrait: &Portrait) -> Option<Elf> {
    let Kind::Elf { bits, machine, loader } = &portrait.kind else { return None };
    let c_library = match loader {
        _ if portrait.is_for_musl() => Some("musl".to_owned()),
        Some(loader) => glibc(loader),
        None => None,
    };
    Some(Elf { bits: *bits, machine: *machine, loader: loader.clone(), c_library })
}

/// The version string of the C library beside a loader.
fn glibc(loader: &Path) -> Option<String> {
    const BANNER: &[u8] = b"GNU C Library ";
    let directory = loader.canonicalize().ok()?.parent()?.to_owned();
    let bytes = std::fs::read(directory.join("libc.so.6")).ok()?;
    let at = bytes.windows(BANNER.len()).position(|part| part == BANNER)?;
    let line = bytes[at..].split(|&byte| byte == b'\n').next()?;
    let line = String::from_utf8_lossy(line);
    let version = line.rsplit("version ").next()?.trim_end_matches('.');
    Some(format!("glibc {version}"))
}

fn facts(wine: Wine, prefix: Prefix) -> WineFacts {
    let prefix_kind = match prefix {
        Prefix::Absent => "absent",
        Prefix::Wide => "64-bit",
        Prefix::Narrow => "32-bit",
    };
    WineFacts {
        version: wine.version().map(str::to_owned),
        wow64: if wine.narrow.is_some() { "old" } else { "new" },
        narrow_libraries: wine.narrow,
        proton: wine.proton.is_some(),
        prefix: wine::directory().unwrap_or_default(),
        prefix_kind,
    }
}
