// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the program that is drawn introduces itself: a local socket without a file, named after this process.
//!
//! The other half is `introduction.rs` of the library that is loaded into the program. A byte says what it wants, and a byte
//! is the answer: `b`, the program begins, with the userfaultfd that acts on its memory if it could make one; `e`, it ends.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::time::Duration;

use ntux_platform::environment::{WATCH_BY, text};
use ntux_platform::interposition::handover::{peer, receive, send};
use ntux_platform::watching::userfault::Userfault;

/// The variable that tells the program which process has started it.
pub const BY: &str = text(WATCH_BY);

/// A guest is expected to speak at once.
const PATIENCE: Duration = Duration::from_millis(200);

pub struct Meeting {
    listener: UnixListener,
}

/// What the program wants.
pub enum Wish {
    /// It begins; without a userfaultfd where it could not make one.
    Begins(Option<Userfault>),
    /// It ends.
    Ends,
}

/// The program, until it is answered: it waits.
pub struct Guest {
    socket: UnixStream,
}

impl Meeting {
    pub fn open() -> io::Result<Meeting> {
        let address = SocketAddr::from_abstract_name(format!("ntux-watch-{}", std::process::id()))?;
        let listener = UnixListener::bind_addr(&address)?;
        listener.set_nonblocking(true)?;
        Ok(Meeting { listener })
    }

    /// The guest, if it is the process with this number.
    pub fn receive(&self, process: u32) -> Option<(Guest, Wish)> {
        let (socket, _) = self.listener.accept().ok()?;
        if peer(&socket).ok()? != process {
            return None;
        }
        socket.set_nonblocking(false).and_then(|()| socket.set_read_timeout(Some(PATIENCE))).ok()?;
        let wish = match receive(&socket).ok()? {
            (b'b', userfault) => Wish::Begins(userfault.map(Userfault::from)),
            (b'e', _) => Wish::Ends,
            _ => return None,
        };
        Some((Guest { socket }, wish))
    }
}

impl AsFd for Meeting {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}

impl Guest {
    /// It may go on.
    pub fn answer(self) {
        // One that is gone needs no answer.
        let _ = send(&self.socket, 0, None);
    }
}
