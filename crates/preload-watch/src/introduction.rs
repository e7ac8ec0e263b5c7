// SPDX-License-Identifier: MIT OR Apache-2.0
//! Gives `ntux watch` what it needs from the program that it draws: a userfaultfd that acts on the program's memory.
//!
//! When the library is loaded into the program that `ntux watch` has started, it creates a userfaultfd, sends it there
//! and keeps nothing: no descriptor, no thread, no handler. Then `ntux watch` registers and queries the memory from
//! outside. The program waits until `ntux watch` is ready, so that nothing is missed, and once more when it exits
//! normally, for a last query. If `ntux watch` does not answer, the program continues.
//!
//! A program that is executed in the same process introduces itself again. Its children are not drawn.

use core::time::Duration;
use ntux_platform::atomic::Word32;
use ntux_platform::environment::{WATCH_BY, value};
use ntux_platform::interposition::handover::{peer, receive, send};
use ntux_watch::address_space;
use std::os::fd::AsFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};

/// The process that has introduced itself.
static INTRODUCED: Word32 = Word32::new(0);
/// How long to wait for an answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// The program begins.
pub(crate) fn begin() {
    let Some(socket) = connect() else { return };
    let made = address_space::watcher().ok();
    // Without a descriptor: this process cannot be watched.
    let sent = send(&socket, b'b', made.as_ref().map(AsFd::as_fd));
    if sent.is_ok() && made.is_some() {
        INTRODUCED.store(std::process::id());
    }
    let _ = receive(&socket);
}

/// The program exits normally.
pub(crate) extern "C" fn end() {
    if INTRODUCED.load() == std::process::id()
        && let Some(socket) = connect()
        && send(&socket, b'e', None).is_ok()
    {
        let _ = receive(&socket);
    }
}

/// A connection to the `ntux watch` that started this process, if one did.
fn connect() -> Option<UnixStream> {
    let by: u32 = value(WATCH_BY)?.to_str().ok()?.parse().ok()?;
    if by != std::os::unix::process::parent_id() {
        return None;
    }
    let address = SocketAddr::from_abstract_name(format!("ntux-watch-{by}")).ok()?;
    let socket = UnixStream::connect_addr(&address).ok()?;
    socket.set_read_timeout(Some(PATIENCE)).ok()?;
    // Somebody else may have taken the name.
    (peer(&socket).ok()? == by).then_some(socket)
}
