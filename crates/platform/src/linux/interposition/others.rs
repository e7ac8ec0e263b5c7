//! Whether a library may look, inside a program, at what the program has open and at other processes: no call that this takes
//! ends the program by a filter (`deadly`).

use crate::linux::deadly::Call;

/// Opening and reading a file of /proc is what every program does, or ntux cannot do without.
static CALLS: [Call; 6] = [
    Call::new(libc::SYS_getdents64, [usize::MAX, 0]),
    Call::new(libc::SYS_pread64, [usize::MAX, 0]),
    Call::new(libc::SYS_getsockopt, [usize::MAX, 0]),
    Call::new(libc::SYS_socket, [libc::AF_NETLINK as usize, libc::SOCK_RAW as usize]),
    Call::new(libc::SYS_sendto, [usize::MAX, 0]),
    Call::new(libc::SYS_recvfrom, [usize::MAX, 0]),
];

/// See the module. Async-signal-safe; the error number changes.
pub fn may_be_looked_at() -> bool {
    CALLS.iter().all(|call| !call.is_deadly())
}
