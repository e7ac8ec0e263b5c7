//! Can this program be served? Answered before it is started, because afterwards it would fail without a reason.
//!
//! A library can be loaded into a program only by its dynamic loader, and the loader ignores `LD_PRELOAD` when the
//! program gains rights by being started.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use ntux_platform::probe;
use object::elf;
use object::read::ReadCache;
use object::read::elf::{FileHeader, ProgramHeader};

/// Scripts may name scripts as interpreters; the kernel follows as many.
const SCRIPT_DEPTH_MAX: usize = 4;

/// Longest first line of a script that the kernel looks at, in bytes.
const SCRIPT_LINE_MAX: usize = 256;

/// Why a program cannot be started or served.
#[derive(Debug, PartialEq, Eq)]
pub enum Refusal {
    NotFound,
    NotExecutable,
    Unreadable(ErrorKind),
    NotAProgram,
    Static,
    OtherMachine,
    SetUserId,
    SetGroupId,
    Capabilities,
    ScriptsTooDeep,
    /// The interpreter that a script names cannot be served.
    Interpreter(PathBuf, Box<Refusal>),
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ignored = "the system then ignores LD_PRELOAD, so ntux cannot be loaded into it";
        match self {
            Refusal::NotFound => write!(out, "no such program"),
            Refusal::NotExecutable => write!(out, "it is not an executable file, or you may not execute it"),
            Refusal::Unreadable(kind) => write!(out, "it cannot be read to find out what it is: {kind}"),
            Refusal::NotAProgram => write!(out, "it is neither an ELF program nor a script that begins with #!"),
            Refusal::Static => {
                write!(out, "it is statically linked: it has no dynamic loader that could load ntux into it")
            }
            Refusal::OtherMachine => write!(
                out,
                "it is made for another kind of processor or word size than ntux ({}), so ntux cannot be loaded into it",
                std::env::consts::ARCH
            ),
            Refusal::SetUserId => write!(out, "it is set-user-id; {ignored}"),
            Refusal::SetGroupId => write!(out, "it is set-group-id; {ignored}"),
            Refusal::Capabilities => write!(out, "it has file capabilities; {ignored}"),
            Refusal::ScriptsTooDeep => write!(out, "its interpreter is a script, whose interpreter is a script, ..."),
            Refusal::Interpreter(path, why) => write!(out, "its interpreter is '{}': {why}", path.display()),
        }
    }
}

/// Finds the file that `name` means, as a shell does: a name with a slash is a path, another is looked up in `path_list`.
pub fn resolve(name: &OsStr, path_list: Option<&OsStr>) -> Result<PathBuf, Refusal> {
    if name.as_bytes().contains(&b'/') {
        return executable(PathBuf::from(name));
    }
    let mut refusal = Refusal::NotFound;
    for directory in std::env::split_paths(path_list.unwrap_or(OsStr::new("/usr/bin:/bin"))) {
        // An empty entry means the current directory; the slash keeps it from being looked up again.
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

/// Whether the loader will load a library into the program in the file `path`.
pub fn check(path: &Path) -> Result<(), Refusal> {
    check_at_depth(path, 0)
}

fn check_at_depth(path: &Path, depth: usize) -> Result<(), Refusal> {
    if depth > SCRIPT_DEPTH_MAX {
        return Err(Refusal::ScriptsTooDeep);
    }
    let mut file = match File::open(path) {
        Ok(file) => file,
        // It may be executed but not read: only starting it can tell what it is.
        Err(error) if error.kind() == ErrorKind::PermissionDenied => return check_rights(path),
        Err(error) => return Err(Refusal::Unreadable(error.kind())),
    };
    let mut start = Vec::new();
    (&mut file)
        .take(SCRIPT_LINE_MAX as u64)
        .read_to_end(&mut start)
        .map_err(|error| Refusal::Unreadable(error.kind()))?;
    if let Some(interpreter) = interpreter_of_script(&start) {
        // The set-user-id bit of a script means nothing: the kernel looks at the interpreter's.
        let within = |why| Refusal::Interpreter(interpreter.clone(), Box::new(why));
        let found = executable(interpreter.clone()).map_err(within)?;
        return check_at_depth(&found, depth + 1).map_err(within);
    }
    check_elf(&ReadCache::new(file))?;
    check_rights(path)
}

/// The interpreter named in the first line, if the file is a script.
fn interpreter_of_script(start: &[u8]) -> Option<PathBuf> {
    let line = start.strip_prefix(b"#!")?.split(|&byte| byte == b'\n').next()?;
    let name = line.split(|byte| matches!(byte, b' ' | b'\t')).find(|word| !word.is_empty())?;
    Some(PathBuf::from(OsStr::from_bytes(name)))
}

fn check_elf(file: &ReadCache<File>) -> Result<(), Refusal> {
    match object::FileKind::parse(file) {
        Ok(object::FileKind::Elf64) => {}
        Ok(object::FileKind::Elf32) => return Err(Refusal::OtherMachine),
        _ => return Err(Refusal::NotAProgram),
    }
    let header = elf::FileHeader64::<object::Endianness>::parse(file).map_err(|_| Refusal::NotAProgram)?;
    let endian = header.endian().map_err(|_| Refusal::NotAProgram)?;
    if header.e_machine(endian) != own_machine() {
        return Err(Refusal::OtherMachine);
    }
    let segments = header.program_headers(endian, file).map_err(|_| Refusal::NotAProgram)?;
    let has_loader = segments.iter().any(|segment| segment.p_type(endian) == elf::PT_INTERP);
    if has_loader { Ok(()) } else { Err(Refusal::Static) }
}

const fn own_machine() -> u16 {
    if cfg!(target_arch = "x86_64") { elf::EM_X86_64 } else { elf::EM_AARCH64 }
}

/// Whether starting the program gives it rights that the caller has not.
fn check_rights(path: &Path) -> Result<(), Refusal> {
    const SET_USER_ID: u32 = 0o4000;
    /// With the group's right to execute; without it the bit means something else.
    const SET_GROUP_ID: u32 = 0o2010;
    let metadata = std::fs::metadata(path).map_err(|error| Refusal::Unreadable(error.kind()))?;
    let (user, group) = probe::real_ids();
    if metadata.mode() & SET_USER_ID != 0 && metadata.uid() != user {
        return Err(Refusal::SetUserId);
    }
    if metadata.mode() & SET_GROUP_ID == SET_GROUP_ID && metadata.gid() != group {
        return Err(Refusal::SetGroupId);
    }
    // Root has every capability already.
    if user != 0 && probe::has_file_capabilities(path) {
        return Err(Refusal::Capabilities);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_of_a_script_names_its_interpreter() {
        let interpreter = |text: &[u8]| interpreter_of_script(text);
        assert_eq!(interpreter(b"#!/bin/sh\necho"), Some("/bin/sh".into()));
        assert_eq!(interpreter(b"#! \t/bin/sh -e\n"), Some("/bin/sh".into()));
        assert_eq!(interpreter(b"#!/bin/sh"), Some("/bin/sh".into()));
        assert_eq!(interpreter(b"#!\n/bin/sh"), None);
        assert_eq!(interpreter(b"\x7fELF"), None);
    }

    #[test]
    fn a_name_is_looked_up_in_the_path_and_a_path_is_not() {
        let path_list = Some(OsStr::new("/nonexistent:/bin"));
        assert_eq!(resolve(OsStr::new("sh"), path_list), Ok("/bin/sh".into()));
        assert_eq!(resolve(OsStr::new("sh"), Some(OsStr::new("/nonexistent"))), Err(Refusal::NotFound));
        assert_eq!(resolve(OsStr::new("./sh"), path_list), Err(Refusal::NotFound));
        assert_eq!(resolve(OsStr::new("/"), path_list), Err(Refusal::NotExecutable));
    }

    #[test]
    fn this_test_can_be_served() {
        assert_eq!(check(&std::env::current_exe().expect("our own path")), Ok(()));
    }
}
