// SPDX-License-Identifier: MIT OR Apache-2.0
//! Decides whether a preloaded library may examine the program's descriptors and other processes: no call that this needs makes
//! a filter kill the program (`deadly`).

use crate::linux::deadly::Call;

/// Opening and reading files of /proc is not checked: every program does it, or ntux cannot do without it.
static CALLS: [Call; 6] = [
    Call::new(libc::SYS_getdents64, [usize::MAX, 0]),
    Call::new(libc::SYS_pread64, [usize::MAX, 0]),
    Call::new(libc::SYS_getsockopt, [usize::MAX, 0]),
    Call::new(libc::SYS_socket, [libc::AF_NETLINK as usize, libc::SOCK_RAW as usize]),
    Call::new(libc::SYS_sendto, [usize::MAX, 0]),
    Call::new(libc::SYS_recvfrom, [usize::MAX, 0]),
];

/// See the module. Async-signal-safe; changes the error number.
pub fn may_be_looked_at() -> bool {
    !Call::any_is_deadly(&CALLS)
}
