// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the probes found, each with an explanation.

use std::path::{Path, PathBuf};

use ntux_platform::atomic;
use ntux_platform::command::probe;
use ntux_sync::{Arena, Capacity};
use serde::{Serialize, Serializer};

use crate::library::{self, Library, NoLibrary};

/// What the machine can do.
#[derive(Serialize)]
pub struct Facts {
    pub ntux: &'static str,
    pub kernel: Kernel,
    pub device: Device,
    #[serde(serialize_with = "by_name")]
    pub calls: Vec<Call>,
    pub processor: Processor,
    pub seccomp: Seccomp,
    pub limits: Limits,
    /// The setting `vm.memfd_noexec`, if the kernel has it.
    pub memfd_noexec: Option<u8>,
    /// The library that `ntux run` loads into programs, if it was found.
    pub library: Option<PathBuf>,
    /// Why it was not found.
    #[serde(skip)]
    pub no_library: Option<String>,
}

#[derive(Serialize)]
pub struct Kernel {
    pub release: String,
    pub architecture: &'static str,
}

/// The kernel's own device.
#[derive(Serialize)]
pub struct Device {
    pub path: &'static str,
    pub state: &'static str,
    pub errno: Option<i32>,
    pub meaning: String,
}

/// What ntux needs a system call, or a use of one, for.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// ntux's own device cannot work without it.
    Required,
    /// ntux loses something without it.
    Improves,
    /// ntux does not use it.
    Unused,
}

#[derive(Serialize)]
pub struct Call {
    #[serde(skip)]
    pub name: &'static str,
    pub role: Role,
    /// One of: works, missing, forbidden, fails, wrong-result, kills.
    pub answer: &'static str,
    pub errno: Option<i32>,
    /// The signal that killed the process that tried the call.
    pub signal: Option<i32>,
    /// What ntux uses it for, or why it does not.
    pub purpose: &'static str,
}

impl Call {
    pub fn works(&self) -> bool {
        self.answer == "works"
    }

    /// What happened, in words.
    pub fn meaning(&self) -> String {
        match (self.answer, self.errno, self.signal) {
            ("works", ..) => "works".to_owned(),
            ("missing", Some(errno), _) => {
                format!("the kernel, or a filter, says that it does not exist ({})", error_text(errno))
            }
            ("forbidden", Some(errno), _) => {
                format!("a filter or a security module forbids it ({})", error_text(errno))
            }
            (_, Some(errno), _) => format!("it fails ({})", error_text(errno)),
            (_, _, Some(signal)) => format!("it ends the process with signal {signal} (a seccomp filter does that)"),
            _ => "it gives a wrong result".to_owned(),
        }
    }
}

#[derive(Serialize)]
pub struct Processor {
    /// A compare-exchange of 16 bytes at once.
    pub wide_compare_exchange: bool,
    pub cores: usize,
}

#[derive(Serialize)]
pub struct Seccomp {
    pub mode: &'static str,
    pub filters: Option<u64>,
    /// Names of the calls that answered as a filter does, if there may be one: ENOSYS, EPERM, EACCES, a deadly signal.
    pub refused: Vec<&'static str>,
}

#[derive(Serialize)]
pub struct Limits {
    pub descriptors_soft: u64,
    pub descriptors_hard: u64,
}

/// Name, probe, role, purpose.
type CallToTry = (&'static str, fn() -> probe::Answer, Role, &'static str);

const CALLS: [CallToTry; 12] = [
    ("futex", probe::futex, Role::Required, "a waiting thread sleeps on a word of shared memory"),
    ("memfd_sealed", probe::memfd_sealed, Role::Required, "shared memory that no process can shrink"),
    ("reopen", probe::reopen, Role::Required, "each object gets its own descriptor, through /proc/thread-self/fd"),
    ("ofd_locks", probe::ofd_locks, Role::Required, "the kernel knows who still holds an object, even after a kill"),
    (
        "arena",
        arena,
        Role::Required,
        "room for all objects of a device: address space, and a file of the same length, mostly empty",
    ),
    ("robust_list", probe::robust_list, Role::Improves, "the kernel sends the wake that a killed thread owed"),
    ("wipe_on_fork", probe::wipe_on_fork, Role::Improves, "a child of fork knows that it is one"),
    ("memfd_noexec_seal", probe::memfd_noexec_seal, Role::Improves, "shared memory that can never become a program"),
    ("futex_waitv", probe::futex_waitv, Role::Unused, "sleeps on many words; ntux always sleeps on one"),
    ("futex_wake", probe::futex_wake, Role::Unused, "a newer form of futex"),
    ("futex_wait", probe::futex_wait, Role::Unused, "a newer form of futex"),
    ("futex_requeue", probe::futex_requeue, Role::Unused, "moves sleepers to another word; ntux does not"),
];

impl Facts {
    /// Runs the probes.
    pub fn gather() -> Facts {
        let calls: Vec<Call> = CALLS.iter().map(try_call).collect();
        let limit = probe::descriptor_limit();
        let library = library::find(Library::Device);
        Facts {
            ntux: env!("CARGO_PKG_VERSION"),
            kernel: Kernel { release: probe::kernel_release(), architecture: std::env::consts::ARCH },
            device: device(probe::device()),
            processor: Processor {
                wide_compare_exchange: atomic::supported(),
                cores: std::thread::available_parallelism().map_or(1, usize::from),
            },
            seccomp: seccomp(&calls),
            limits: Limits { descriptors_soft: limit.soft, descriptors_hard: limit.hard },
            memfd_noexec: probe::memfd_noexec_setting(),
            no_library: library.as_ref().err().map(NoLibrary::to_string),
            library: library.ok().map(|found| found.file),
            calls,
        }
    }
}

/// Creates the memory of a device as a program would, which limits on files or address space may forbid (`ulimit -f`,
/// `ulimit -v`).
fn arena() -> probe::Answer {
    let answer = probe::memfd_sealed();
    // A filter that kills programs would kill this one.
    if !answer.works() {
        return answer;
    }
    probe::Answer::from_errno(Arena::create(Capacity::default()).err().map_or(0, |error| error.errno()))
}

fn try_call((name, probe, role, purpose): &CallToTry) -> Call {
    use probe::Answer;
    let (answer, errno, signal) = match probe() {
        Answer::Works => ("works", None, None),
        Answer::Missing(errno) => ("missing", Some(errno), None),
        Answer::Forbidden(errno) => ("forbidden", Some(errno), None),
        Answer::Fails(errno) => ("fails", Some(errno), None),
        Answer::WrongResult => ("wrong-result", None, None),
        Answer::Kills(signal) => ("kills", None, Some(signal)),
    };
    Call { name, role: *role, answer, errno, signal, purpose }
}

fn looks_filtered(call: &Call) -> bool {
    matches!(call.answer, "missing" | "forbidden" | "kills")
}

fn device(found: probe::Device) -> Device {
    use probe::Device as Found;
    let (state, errno, meaning) = match found {
        Found::Absent if has_module(Path::new(MODULES), &probe::kernel_release()) => (
            "absent",
            None,
            "this kernel has the driver as a module that is not loaded: `modprobe ntsync` loads it, `echo ntsync > \
             /etc/modules-load.d/ntsync.conf` at every start (both as root)"
                .to_owned(),
        ),
        Found::Absent => (
            "absent",
            None,
            "there is no such file (the driver came with Linux 6.14; this kernel lacks it, or its module is not loaded, \
             or this container was not given the file)"
                .to_owned(),
        ),
        Found::NoPermission(errno) => {
            ("no-permission", Some(errno), format!("it exists, but you may not open it ({})", error_text(errno)))
        }
        Found::OpenFails(errno) => ("open-fails", Some(errno), format!("it cannot be opened ({})", error_text(errno))),
        Found::IoctlFails(errno) => (
            "ioctl-fails",
            Some(errno),
            format!("it opens, but creating an event and reading it back fails ({})", error_text(errno)),
        ),
        Found::Misbehaves => ("misbehaves", None, "it opens, but answers a request wrongly".to_owned()),
        Found::Usable => ("usable", None, "an event was created and read back".to_owned()),
    };
    Device { path: probe::DEVICE_PATH, state, errno, meaning }
}

/// Where the modules of each kernel lie.
const MODULES: &str = "/lib/modules";

/// The modules of this kernel are here, and the driver is among them: so it is with Fedora's.
fn has_module(modules: &Path, release: &str) -> bool {
    let list = std::fs::read_to_string(modules.join(release).join("modules.dep")).unwrap_or_default();
    lists_module(&list)
}

/// `list` has a line for each module, which begins with its file, perhaps compressed.
fn lists_module(list: &str) -> bool {
    list.lines().filter_map(|line| line.split(':').next()?.rsplit('/').next()).any(|file| file.starts_with("ntsync.ko"))
}

fn seccomp(calls: &[Call]) -> Seccomp {
    let (mode, may_filter) = match probe::seccomp() {
        probe::Seccomp::Off => ("off", false),
        probe::Seccomp::Strict => ("strict", true),
        probe::Seccomp::Filter => ("filter", true),
        probe::Seccomp::Unknown => ("unknown", true),
    };
    let refused = calls.iter().filter(|call| may_filter && looks_filtered(call)).map(|call| call.name).collect();
    Seccomp { mode, filters: probe::seccomp_filters(), refused }
}

fn error_text(errno: i32) -> String {
    std::io::Error::from_raw_os_error(errno).to_string()
}

fn by_name<S: Serializer>(calls: &[Call], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(calls.iter().map(|call| (call.name, call)))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    /// As depmod writes it: each line begins with the file of a module, and goes on with those that this one needs.
    const OTHERS: &str = "kernel/drivers/misc/other.ko.xz: kernel/drivers/misc/ntsync.ko.xz\n";

    #[test]
    fn the_driver_is_found_among_the_modules() {
        assert!(!super::lists_module(OTHERS));
        for file in ["ntsync.ko", "ntsync.ko.xz", "ntsync.ko.zst"] {
            assert!(super::lists_module(&format!("{OTHERS}kernel/drivers/misc/{file}:\n")), "{file}");
        }
    }

    #[test]
    fn the_driver_is_looked_for_among_the_modules_of_this_kernel() {
        let modules = tempfile::tempdir().unwrap();
        let plant = |release: &str, list: &str| {
            std::fs::create_dir(modules.path().join(release)).unwrap();
            std::fs::write(modules.path().join(release).join("modules.dep"), list).unwrap();
        };
        plant("6.17.1-with", &format!("{OTHERS}kernel/drivers/misc/ntsync.ko.xz:\n"));
        plant("6.12.0-without", OTHERS);
        assert!(super::has_module(modules.path(), "6.17.1-with"));
        assert!(!super::has_module(modules.path(), "6.12.0-without"));
        assert!(!super::has_module(modules.path(), "6.18.0-not-installed"));
        assert!(!super::has_module(Path::new("/nonexistent"), "6.17.1-with"));
    }
}
