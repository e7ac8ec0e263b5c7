// SPDX-License-Identifier: MIT OR Apache-2.0
//! Strangers: programs and processes without this library. A process that passes them a descriptor of ours reports it,
//! because each request on it fails there with `ENOTTY`, which few programs expect.
//!
//! Nothing here allocates or takes a lock, because it also runs in children of `vfork`.

use crate::c_library::file::File;
use core::ffi::CStr;
use core::fmt::{self, Write};
use core::num::NonZero;
use ntux_platform::interposition::proc::Entry;
use ntux_platform::path::Path;
use std::hash::{DefaultHasher, Hasher};

/// The name of this library's file, which a process that has the library maps.
pub(crate) const LIBRARY: &[u8] = b"/libntux_preload.so";

/// Why this library is not loaded into a program, or would not serve it there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Obstacle {
    Static,
    Narrow,
    OtherMachine,
    Musl,
    GainsRights,
    /// Nothing about the program; its environment does not name the library.
    Environment,
    /// The file of this library does not exist.
    Hidden,
}

impl fmt::Display for Obstacle {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Obstacle::Static => "it is statically linked, so nothing can be loaded into it; link it dynamically",
            Obstacle::Narrow => {
                "it is a 32-bit program; use a 64-bit one, or Wine with WINEARCH=wow64 in all of the prefix"
            }
            Obstacle::OtherMachine => "it is made for another kind of processor",
            Obstacle::Musl => "its C library is musl, and there is no ntux for it here; install one, or use glibc",
            Obstacle::GainsRights => {
                "it gains rights when it is started, so the system ignores LD_PRELOAD; start it as who it is"
            }
            Obstacle::Hidden => "ntux's library cannot be seen there; make its directory part of that root directory",
            Obstacle::Environment => {
                "it was not started by `ntux run`, or its environment was cleaned; end it and start it so"
            }
        })
    }
}

/// The obstacle to loading this library into the program in an open file; none also if that is unknown.
pub(crate) fn obstacle(program: &File) -> Option<Obstacle> {
    const MACHINE: u16 = if cfg!(target_arch = "x86_64") { libc::EM_X86_64 } else { libc::EM_AARCH64 };
    let header: libc::Elf64_Ehdr = program.read_at(0)?;
    if header.e_ident[..libc::SELFMAG] != *b"\x7fELF" {
        return None;
    }
    // The machine stands at the same place in both sizes.
    if header.e_ident[libc::EI_CLASS] == libc::ELFCLASS32 {
        let narrow = header.e_machine == MACHINE || header.e_machine == libc::EM_386 && MACHINE == libc::EM_X86_64;
        return Some(if narrow { Obstacle::Narrow } else { Obstacle::OtherMachine });
    }
    if header.e_machine != MACHINE {
        return Some(Obstacle::OtherMachine);
    }
    let segments = (0..header.e_phnum.min(SEGMENTS_MAX)).filter_map(|index| {
        let place = header.e_phoff.checked_add(u64::from(index) * u64::from(header.e_phentsize))?;
        program.read_at::<libc::Elf64_Phdr>(place)
    });
    let Some(loader) = segments.into_iter().find(|segment| segment.p_type == libc::PT_INTERP) else {
        return Some(Obstacle::Static);
    };
    let name: [u8; 64] = program.read_at_most(loader.p_offset, loader.p_filesz as usize);
    let is_musl = !cfg!(target_env = "musl") && name.windows(MUSL.len()).any(|part| part == MUSL);
    match is_musl {
        true => Some(Obstacle::Musl),
        false if gains_rights(program) => Some(Obstacle::GainsRights),
        false => None,
    }
}

/// Returns whether starting this program gives privileges that this process lacks.
fn gains_rights(program: &File) -> bool {
    // SAFETY: no arguments, cannot fail.
    let (user, group) = unsafe { (libc::getuid(), libc::getgid()) };
    program.status().is_some_and(|status| {
        let mode = status.st_mode;
        mode & 0o4000 != 0 && status.st_uid != user || mode & 0o2010 == 0o2010 && status.st_gid != group
    })
}

/// The obstacle in the program that will run if this file is executed: the file itself, or the interpreter that it names.
pub(crate) fn obstacle_behind_scripts(mut file: File) -> Option<Obstacle> {
    for _ in 0..SCRIPT_DEPTH_MAX {
        let mut line = [0; 256];
        let length = file.read(&mut line)?.len();
        let Some(rest) = line[..length.min(255)].strip_prefix(b"#!") else { break };
        let Some(start) = rest.iter().position(|byte| !matches!(byte, b' ' | b'\t')) else { break };
        let end = rest[start..].iter().position(|byte| matches!(byte, b' ' | b'\t' | b'\n'));
        let (start, end) = (start + 2, end.map_or(length.min(255), |end| start + 2 + end));
        line[end] = 0;
        file = File::open(CStr::from_bytes_until_nul(&line[start..]).ok()?)?;
    }
    obstacle(&file)
}

/// How many scripts may name scripts as interpreters: the kernel's limit.
const SCRIPT_DEPTH_MAX: usize = 5;

const SEGMENTS_MAX: u16 = 64;

/// How the names of musl's loaders begin.
const MUSL: &[u8] = b"/ld-musl-";

/// What `look` finds in a part of a process's entry in /proc; in that of a thread that lives, if the process's first thread has
/// ended and its entry is empty.
fn look_into<T>(process: libc::pid_t, part: &str, look: impl Fn(&File) -> Option<T>) -> Option<T> {
    let in_entry = |path: Path| look(&File::open(path.text())?);
    let by_deputy = || Some(Entry::in_place_of_first(process as u32)?.path(format_args!("{part}")));
    in_entry(Path::new(format_args!("/proc/{process}/{part}"))).or_else(|| in_entry(by_deputy()?))
}

/// Returns whether a process has this library; none if that is unknown.
pub(crate) fn has_library(process: libc::pid_t) -> Option<bool> {
    look_into(process, "maps", maps_library)
}

/// None if there are no mappings.
fn maps_library(maps: &File) -> Option<bool> {
    let mut room = [0u8; 4096];
    let mut kept = 0;
    while let Some(more) = maps.read(&mut room[kept..]) {
        let end = kept + more.len();
        if room[..end].windows(LIBRARY.len()).any(|part| part == LIBRARY) {
            return Some(true);
        }
        // The name may lie across the border.
        kept = end.min(LIBRARY.len() - 1);
        room.copy_within(end - kept..end, 0);
    }
    (kept > 0).then_some(false)
}

/// A number that differs between any two programs that processes have executed: of where the kernel put this one's parts, which it
/// draws by lot, and where its strings lie. None if it is unknown.
pub(crate) fn execution(process: libc::pid_t) -> Option<NonZero<u64>> {
    look_into(process, "auxv", |vector| {
        let mut sum = DefaultHasher::new();
        sum.write_i32(process);
        sum.write(vector.read(&mut [0; 1024])?);
        NonZero::new(sum.finish())
    })
}

/// The obstacle in a running process.
pub(crate) fn obstacle_in(process: libc::pid_t) -> Option<Obstacle> {
    look_into(process, "exe", |program| Some(obstacle(program)))?
}

/// A process's own name for itself.
pub(crate) struct Name([u8; 16]);

impl Name {
    pub(crate) fn of(process: libc::pid_t) -> Name {
        let mut name = [0; 16];
        if let Some(file) = File::open(Path::new(format_args!("/proc/{process}/comm")).text()) {
            let _ = file.read(&mut name);
        }
        Name(name)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = self.0.split(|byte| matches!(byte, 0 | b'\n')).next().unwrap_or_default();
        line.escape_ascii().try_for_each(|byte| out.write_char(byte.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_no_stranger_by_its_program_but_has_not_the_library() {
        let own = std::process::id() as libc::pid_t;
        assert_eq!(obstacle_in(own), None);
        assert_eq!(has_library(own), Some(false));
        assert_eq!(has_library(libc::pid_t::MAX), None);
        assert_eq!(execution(libc::pid_t::MAX), None);
        assert!(!Name::of(own).to_string().is_empty());
    }

    #[test]
    fn each_execution_has_a_number() {
        let own = std::process::id() as libc::pid_t;
        assert!(execution(own).is_some());
        assert_eq!(execution(own), execution(own));
        let mut shell = std::process::Command::new("sh");
        shell
            .args(["-c", "read line; exec cat"])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped());
        let mut child = shell.spawn().expect("a shell starts");
        let process = child.id() as libc::pid_t;
        let before = execution(process);
        let mut input = child.stdin.take().expect("a pipe");
        std::io::Write::write_all(&mut input, b"go\nx").expect("the shell reads");
        let mut answer = [0];
        std::io::Read::read_exact(&mut child.stdout.take().expect("a pipe"), &mut answer).expect("cat writes");
        assert!(before.is_some() && execution(process).is_some() && execution(process) != before);
        drop(input);
        child.wait().expect("it ends");
    }
}
