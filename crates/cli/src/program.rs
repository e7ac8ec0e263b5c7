// SPDX-License-Identifier: MIT OR Apache-2.0
//! Examines a program: what it is, and whether ntux can be loaded into it. ntux does so before it starts the program,
//! because afterwards the program would run without ntux, and nothing would say why.
//!
//! A library can be loaded into a program only by its dynamic loader, and the loader ignores `LD_PRELOAD` if the
//! program gains privileges when it starts.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use ntux_platform::command::probe;
use object::elf;
use object::read::ReadCache;
use object::read::elf::{FileHeader, ProgramHeader};

use crate::glibc;
use crate::library::Found;

/// How many scripts may name scripts as interpreters: the kernel's limit.
const SCRIPT_DEPTH_MAX: usize = 4;

/// How much of a script's first line the kernel reads, in bytes.
const SCRIPT_LINE_MAX: usize = 256;

/// Why a program cannot be started.
#[derive(Debug, PartialEq, Eq)]
pub enum Refusal {
    NotFound,
    NotExecutable,
    Unreadable(ErrorKind),
    ScriptsTooDeep,
    /// The interpreter that a script names cannot be started.
    Interpreter(PathBuf, Box<Refusal>),
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Refusal::NotFound => write!(out, "no such program"),
            Refusal::NotExecutable => write!(out, "it is not an executable file, or you may not execute it"),
            Refusal::Unreadable(kind) => write!(out, "it cannot be read, so its kind is unknown: {kind}"),
            Refusal::ScriptsTooDeep => write!(out, "its interpreter is a script, whose interpreter is a script, ..."),
            Refusal::Interpreter(path, why) => write!(out, "its interpreter is '{}': {why}", path.display()),
        }
    }
}

/// Why a library cannot be loaded into a program that can be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    Static,
    /// For this processor, but 32-bit.
    Narrow,
    OtherMachine,
    Musl,
    /// Its glibc lacks symbols that the library needs.
    OldLibrary,
    SetUserId,
    SetGroupId,
    Capabilities,
}

impl std::fmt::Display for Obstacle {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ignored = "the system then ignores LD_PRELOAD, so ntux cannot be loaded into it";
        match self {
            Obstacle::Static => {
                write!(out, "it is statically linked: it has no dynamic loader that could load ntux into it")
            }
            Obstacle::Narrow => write!(out, "it is a 32-bit program, and only 64-bit ones can use ntux's device"),
            Obstacle::OtherMachine => write!(
                out,
                "it is made for another kind of processor than ntux ({}), so ntux cannot be loaded into it",
                std::env::consts::ARCH
            ),
            Obstacle::Musl => {
                write!(out, "its C library is musl, and this ntux was installed without a library for it")
            }
            Obstacle::OldLibrary => write!(
                out,
                "its C library is older than this ntux needs, and the loader would kill it; archives made by `make dist` need \
                 glibc 2.17"
            ),
            Obstacle::SetUserId => write!(out, "it is set-user-id; {ignored}"),
            Obstacle::SetGroupId => write!(out, "it is set-group-id; {ignored}"),
            Obstacle::Capabilities => write!(out, "it has file capabilities; {ignored}"),
        }
    }
}

/// What runs if a file is executed.
#[derive(Debug, PartialEq, Eq)]
pub struct Portrait {
    /// The scripts before the program: each is the interpreter of the one before it.
    pub scripts: Vec<PathBuf>,
    /// The program itself.
    pub file: PathBuf,
    pub kind: Kind,
    /// The privilege that it gains when it starts, if any.
    pub gains: Option<Obstacle>,
}

/// What kind of file a program is.
#[derive(Debug, PartialEq, Eq)]
pub enum Kind {
    Elf {
        bits: u8,
        machine: u16,
        loader: Option<PathBuf>,
    },
    /// The kernel may have an interpreter for it (binfmt_misc), or a shell may run it as a script.
    Other,
    /// It may be executed but not read, so its kind is unknown until it is started.
    Unreadable,
}

impl Portrait {
    /// Why this library cannot be loaded into the program, or cannot serve it.
    pub fn obstacle(&self, library: &Found) -> Option<Obstacle> {
        let Kind::Elf { bits, machine, loader } = &self.kind else { return self.gains };
        match (loader, *machine) {
            (None, _) => Some(Obstacle::Static),
            (_, elf::EM_386) if cfg!(target_arch = "x86_64") => Some(Obstacle::Narrow),
            (_, machine) if machine != OWN_MACHINE => Some(Obstacle::OtherMachine),
            _ if *bits == 32 => Some(Obstacle::Narrow),
            _ if self.is_for_musl() && !library.serves_musl => Some(Obstacle::Musl),
            (Some(loader), _) if glibc::is_too_old(loader, &library.file) => Some(Obstacle::OldLibrary),
            _ => self.gains,
        }
    }

    /// Returns true if its loader is musl's.
    pub fn is_for_musl(&self) -> bool {
        let Kind::Elf { loader: Some(loader), .. } = &self.kind else { return false };
        loader.file_name().is_some_and(|name| name.as_bytes().starts_with(b"ld-musl-"))
    }
}

const OWN_MACHINE: u16 = if cfg!(target_arch = "x86_64") { elf::EM_X86_64 } else { elf::EM_AARCH64 };

/// Resolves `name` as a shell does: a name with a slash is a path, any other is searched in `path_list`.
pub fn resolve(name: &OsStr, path_list: Option<&OsStr>) -> Result<PathBuf, Refusal> {
    if name.as_bytes().contains(&b'/') {
        return executable(PathBuf::from(name));
    }
    let mut refusal = Refusal::NotFound;
    for directory in std::env::split_paths(path_list.unwrap_or(OsStr::new("/usr/bin:/bin"))) {
        // An empty entry means the current directory; the slash prevents another search.
        let directory = if directory.as_os_str().is_empty() { PathBuf::from(".") } else { directory };
        match executable(directory.join(name)) {
            Ok(path) => return Ok(path),
            Err(Refusal::NotFound) => {}
            Err(other) => refusal = other,
        }
    }
    Err(refusal)
}

fn executable(path: PathBuf) -> Result<PathBuf, Refusal> {
    let metadata = std::fs::metadata(&path).map_err(|error| match error.kind() {
        ErrorKind::PermissionDenied => Refusal::NotExecutable,
        _ => Refusal::NotFound,
    })?;
    if metadata.is_file() && metadata.mode() & 0o111 != 0 { Ok(path) } else { Err(Refusal::NotExecutable) }
}

/// Examines what runs if the file `path` is executed.
pub fn look(path: &Path) -> Result<Portrait, Refusal> {
    look_behind(path, Vec::new())
}

fn look_behind(path: &Path, mut scripts: Vec<PathBuf>) -> Result<Portrait, Refusal> {
    if scripts.len() > SCRIPT_DEPTH_MAX {
        return Err(Refusal::ScriptsTooDeep);
    }
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::PermissionDenied => return portrait(path, scripts, Kind::Unreadable),
        Err(error) => return Err(Refusal::Unreadable(error.kind())),
    };
    let mut start = Vec::new();
    (&mut file)
        .take(SCRIPT_LINE_MAX as u64)
        .read_to_end(&mut start)
        .map_err(|error| Refusal::Unreadable(error.kind()))?;
    if let Some(interpreter) = interpreter_of_script(&start) {
        // The set-user-id bit of a script means nothing; the kernel uses the interpreter's.
        let within = |why| Refusal::Interpreter(interpreter.clone(), Box::new(why));
        let found = executable(interpreter.clone()).map_err(within)?;
        scripts.push(path.to_owned());
        return look_behind(&found, scripts).map_err(within);
    }
    let kind = kind(&ReadCache::new(file));
    portrait(path, scripts, kind)
}

fn portrait(path: &Path, scripts: Vec<PathBuf>, kind: Kind) -> Result<Portrait, Refusal> {
    Ok(Portrait { scripts, file: path.to_owned(), kind, gains: gains(path)? })
}

/// The interpreter named in the first line, if the file is a script.
fn interpreter_of_script(start: &[u8]) -> Option<PathBuf> {
    let line = start.strip_prefix(b"#!")?.split(|&byte| byte == b'\n').next()?;
    let name = line.split(|byte| matches!(byte, b' ' | b'\t')).find(|word| !word.is_empty())?;
    Some(PathBuf::from(OsStr::from_bytes(name)))
}

fn kind(file: &ReadCache<File>) -> Kind {
    let elf = match object::FileKind::parse(file) {
        Ok(object::FileKind::Elf64) => look_at_elf::<elf::FileHeader64<object::Endianness>>(file, 64),
        Ok(object::FileKind::Elf32) => look_at_elf::<elf::FileHeader32<object::Endianness>>(file, 32),
        _ => None,
    };
    elf.unwrap_or(Kind::Other)
}

fn look_at_elf<Header: FileHeader<Endian = object::Endianness>>(file: &ReadCache<File>, bits: u8) -> Option<Kind> {
    let header = Header::parse(file).ok()?;
    let endian = header.endian().ok()?;
    let segments = header.program_headers(endian, file).ok()?;
    let loader = segments.iter().find_map(|segment| segment.interpreter(endian, file).ok().flatten());
    let loader = loader.map(|path| PathBuf::from(OsStr::from_bytes(path)));
    Some(Kind::Elf { bits, machine: header.e_machine(endian), loader })
}

/// The privilege that the program gains when it starts, if the caller lacks it.
fn gains(path: &Path) -> Result<Option<Obstacle>, Refusal> {
    const SET_USER_ID: u32 = 0o4000;
    /// Together with the group's execute permission; without that the bit means something else.
    const SET_GROUP_ID: u32 = 0o2010;
    let metadata = std::fs::metadata(path).map_err(|error| Refusal::Unreadable(error.kind()))?;
    let (user, group) = probe::real_ids();
    let mode = metadata.mode();
    Ok(if mode & SET_USER_ID != 0 && metadata.uid() != user {
        Some(Obstacle::SetUserId)
    } else if mode & SET_GROUP_ID == SET_GROUP_ID && metadata.gid() != group {
        Some(Obstacle::SetGroupId)
    } else if user != 0 && probe::has_file_capabilities(path) {
        // Root has every capability already.
        Some(Obstacle::Capabilities)
    } else {
        None
    })
}

#[cfg(test)]
#[path = "../tests/unit/program.rs"]
mod tests;
