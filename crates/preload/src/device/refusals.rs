// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the user is told, once, where the device is refused for a reason that a driver would not have.

use crate::c_library::cancellation::without_cancellation;
use crate::instances;
use crate::report::log::{self, Once};
use core::ffi::c_int;

/// Says once why there is no device, unless a driver could fail for the same reason.
#[cold]
pub(super) fn explain(error: c_int) {
    static SAID: Once = Once::new();
    let drivers_own = matches!(error, libc::EMFILE | libc::ENFILE | libc::ENOTDIR | libc::EINTR);
    if drivers_own || !SAID.begin() {
        return;
    }
    let reason = match error {
        libc::ENOENT => "/proc/thread-self/fd cannot be opened; is /proc mounted?",
        libc::ENOSYS => "the processor has no exchange of 16 bytes, or the kernel or a filter no memfd_create",
        libc::EPERM | libc::EACCES => {
            "a filter or a security module refuses memfd_create, or to open or lock what it made"
        }
        libc::ENOMEM => {
            "there is no memory for it, or a limit on addresses (ulimit -v) or locked memory (ulimit -l) is too low"
        }
        libc::EFBIG => "the limit on the size of files (ulimit -f, LimitFSIZE=) is too low for its memory",
        _ => "the kernel refuses",
    };
    let process = std::process::id();
    log::say(format_args!(
        "ntux: process {process} gets no /dev/ntsync: {reason} (error {error}); `ntux doctor`, started in the same place, says more\n"
    ));
}

/// Says once that the program has as many descriptors as it may have, where an object would take one more: more objects than a
/// plain program has files. The caller sets the error number afterwards.
#[cold]
pub(crate) fn explain_limit() {
    static SAID: Once = Once::new();
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: a place for the answer.
    let known = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) } == 0;
    if !known || instances::is_full() || !SAID.begin() {
        return;
    }
    let process = std::process::id();
    let (now, most) = (limit.rlim_cur, limit.rlim_max);
    let what = "has no descriptor left for an object of /dev/ntsync: its limit is";
    // An `ioctl` is no point where the thread may be cancelled.
    without_cancellation(|| match now < most {
        true => log::say(format_args!(
            "ntux: process {process} {what} {now} (ulimit -n); `ntux run --descriptors max` allows {most}\n"
        )),
        false => log::say(format_args!("ntux: process {process} {what} {now}, the hard limit (ulimit -Hn)\n")),
    });
}

/// Says once that the process can make no object any more, because it does not see /proc: it has changed its root directory, or somebody
/// has unmounted /proc. An object's descriptor is opened there. To keep a descriptor of /proc instead would let the process out of
/// its root directory. The caller sets the error number afterwards.
#[cold]
pub(crate) fn explain_proc() {
    static SAID: Once = Once::new();
    if !SAID.begin() {
        return;
    }
    let process = std::process::id();
    without_cancellation(|| {
        log::say(format_args!(
            "ntux: process {process} can make no object of /dev/ntsync: it does not see /proc any more (chroot, umount); mount /proc in its \
             root directory, or make the objects before. Those that it has work on\n"
        ));
    });
}
