// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sandboxes as launchers make them, built with bubblewrap.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::LazyLock;

use crate::profile::Profile;
use crate::skips::skip;

/// The number under which bubblewrap finds the filter.
const FILTER: i32 = 9;

/// Where a program runs.
#[derive(Clone, Copy)]
pub struct Sandbox {
    /// For bubblewrap: what the sandbox is made of.
    pub made_of: &'static [&'static str],
    pub profile: Option<Profile>,
    pub limits: &'static [(libc::__rlimit_resource_t, u64)],
    /// Refuse memory that is writable and executable, also where no filter sees it (`PR_SET_MDWE`).
    pub no_writable_code: bool,
}

/// The file system as it is, but not to be written to, with the few devices that a container has.
pub const READ_ONLY: &[&str] = &["--ro-bind", "/", "/", "--dev", "/dev", "--die-with-parent"];

pub const PLAIN: Sandbox = Sandbox { made_of: READ_ONLY, profile: None, limits: &[], no_writable_code: false };

/// Why there can be no sandbox on this machine.
static OBSTACLE: LazyLock<Option<String>> =
    LazyLock::new(|| match PLAIN.command("true").args(["--unshare-all"]).output() {
        Err(error) => Some(format!("bubblewrap (bwrap) cannot be started: {error}")),
        Ok(output) if output.status.success() => None,
        Ok(output) => {
            Some(format!("bubblewrap may not make namespaces: {}", String::from_utf8_lossy(&output.stderr).trim()))
        }
    });

/// Returns true if sandboxes can be made here; says why, if not.
pub fn available() -> bool {
    if let Some(obstacle) = &*OBSTACLE {
        skip("sandbox", obstacle);
    }
    OBSTACLE.is_none()
}

/// The options for bubblewrap. If the sandbox has a /tmp of its own, and this clone lies in the one outside, it is shown.
pub fn options(made_of: &[&str]) -> Vec<OsString> {
    let mut line: Vec<OsString> = made_of.iter().map(OsString::from).collect();
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("target/tmp");
    for place in [Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")), target] {
        let place = place.canonicalize().expect("a place of this clone");
        if made_of.contains(&"/tmp") && place.starts_with("/tmp") {
            line.extend(["--ro-bind".into(), place.clone().into(), place.into()]);
        }
    }
    line
}

impl Sandbox {
    /// A program in the sandbox.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut line = options(self.made_of);
        let filter = self.profile.map(|profile| profile.file());
        if filter.is_some() {
            line.extend(["--seccomp".into(), FILTER.to_string().into()]);
        }
        line.extend(["--".into(), program.as_ref().to_owned()]);
        let mut command = Command::new("bwrap");
        command.args(line);
        for name in ["LD_PRELOAD", "NTUX_DEVICE", "NTUX_SPIN", "NTUX_LOG", "NTUX_WITHOUT"] {
            command.env_remove(name);
        }
        // The list of what is left out does not exist in there; what a sandbox leaves out is compared by its callers.
        command.env_remove("NTUX_TEST_SKIPS");
        // The message of a failed case is enough.
        command.env("RUST_BACKTRACE", "0");
        let sandbox = *self;
        // SAFETY: between fork and exec the closure makes system calls only; its memory was allocated before.
        unsafe { command.pre_exec(move || sandbox.prepare(filter.as_ref())) };
        command
    }

    /// A command that runs the program in the sandbox under `ntux run`, with its own device.
    pub fn served(&self, ntux: &Path, program: &Path) -> Command {
        let mut command = self.command(ntux);
        command.args(["run", "--device", "user", "--"]).arg(program);
        command
    }

    fn prepare(&self, filter: Option<&OwnedFd>) -> std::io::Result<()> {
        const PR_SET_MDWE: libc::c_int = 65;
        const REFUSE_EXEC_GAIN: libc::c_ulong = 1;
        if let Some(filter) = filter {
            // SAFETY: both numbers are this process' own; the copy survives the exec.
            check(unsafe { libc::dup2(filter.as_raw_fd(), FILTER) })?;
            // If it has this number already, nothing was copied, and it would end with the exec.
            // SAFETY: a number of this process' own.
            check(unsafe { libc::fcntl(FILTER, libc::F_SETFD, 0) })?;
        }
        for &(resource, most) in self.limits {
            let limit = libc::rlimit { rlim_cur: most, rlim_max: most };
            // SAFETY: reads the limit only.
            check(unsafe { libc::setrlimit(resource, &limit) })?;
        }
        if self.no_writable_code {
            // SAFETY: numbers only. Kernels before 6.3 do not have it; then the filter is what remains.
            unsafe { libc::prctl(PR_SET_MDWE, REFUSE_EXEC_GAIN, 0, 0, 0) };
        }
        Ok(())
    }
}

fn check(result: libc::c_int) -> std::io::Result<()> {
    if result < 0 { Err(std::io::Error::last_os_error()) } else { Ok(()) }
}

/// Standard output and error as text.
pub fn texts(output: &Output) -> (String, String) {
    (String::from_utf8_lossy(&output.stdout).into_owned(), String::from_utf8_lossy(&output.stderr).into_owned())
}
