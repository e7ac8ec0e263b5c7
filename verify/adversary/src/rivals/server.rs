//! One process has the objects and does everything, one request after the other.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;

use super::Design;
use ntux_testkit::child::{Child, shared};

pub const NAME: &str = "a server";

const SET: u8 = b's';
const WAIT: u8 = b'w';
const READ: u8 = b'r';
const TAKE_BOTH: u8 = b'b';
const TAKE: u8 = b'0';
/// Processes of one trial: each has a connection of its own.
const CLIENTS: usize = 8;

struct Client {
    server: Option<Child>,
    connections: Vec<UnixStream>,
    /// How many connections were handed out, in memory that the processes share.
    used: &'static ntux_platform::atomic::Word32,
    mine: usize,
}

pub fn open() -> io::Result<Box<dyn Design>> {
    open_with_id().map(|(design, _)| design)
}

/// As [`open`], with the server's process number.
pub fn open_with_id() -> io::Result<(Box<dyn Design>, u32)> {
    let mut connections = Vec::new();
    let mut ends = Vec::new();
    for _ in 0..CLIENTS {
        let (ours, theirs) = UnixStream::pair()?;
        connections.push(ours);
        ends.push(theirs);
    }
    let server = Child::fork(|| serve(ends))?;
    let id = server.id();
    // SAFETY: zero is a value of an atomic integer.
    let used = unsafe { shared()? };
    Ok((Box::new(Client { server: Some(server), connections, used, mine: 0 }), id))
}

/// The event, the semaphores, and who waits for the event.
#[derive(Default)]
struct Objects {
    signaled: bool,
    units: [bool; 2],
    waiting: Vec<usize>,
}

impl Objects {
    /// The answer to a request; none while it waits.
    fn handle(&mut self, request: u8, client: usize) -> Option<bool> {
        match request {
            SET => self.signaled = true,
            WAIT => {
                self.waiting.push(client);
                return None;
            }
            READ => return Some(self.signaled),
            TAKE_BOTH => {
                let both = self.units == [true; 2];
                self.units = if both { [false; 2] } else { self.units };
                return Some(both);
            }
            _ => return Some(std::mem::take(&mut self.units[usize::from(request - TAKE) % 2])),
        }
        Some(true)
    }
}

fn serve(mut clients: Vec<UnixStream>) {
    let mut objects = Objects { units: [true; 2], ..Objects::default() };
    loop {
        let entry = |client: &UnixStream| libc::pollfd {
            fd: std::os::fd::AsRawFd::as_raw_fd(client),
            events: libc::POLLIN,
            revents: 0,
        };
        let mut entries: Vec<_> = clients.iter().map(entry).collect();
        // SAFETY: entries that are alive.
        unsafe { libc::poll(entries.as_mut_ptr(), entries.len() as libc::nfds_t, -1) };
        for (number, entry) in entries.iter().enumerate() {
            let mut request = [0];
            if entry.revents & libc::POLLIN == 0 || !matches!(clients[number].read(&mut request), Ok(1)) {
                continue;
            }
            if let Some(answer) = objects.handle(request[0], number) {
                let _ = clients[number].write_all(&[u8::from(answer)]);
            }
        }
        while objects.signaled && !objects.waiting.is_empty() {
            objects.signaled = false;
            let first = objects.waiting.remove(0);
            let _ = clients[first].write_all(&[1]);
        }
    }
}

impl Client {
    fn ask(&self, request: u8) -> bool {
        let mut connection = &self.connections[self.mine];
        let mut answer = [0];
        connection.write_all(&[request]).is_ok() && connection.read_exact(&mut answer).is_ok() && answer[0] != 0
    }
}

impl Design for Client {
    fn join(&mut self) {
        self.mine = self.used.fetch_add(1) as usize % CLIENTS;
        // The server is the opener's to end.
        std::mem::forget(self.server.take());
    }

    fn set(&self) {
        self.ask(SET);
    }

    fn wait(&self) {
        self.ask(WAIT);
    }

    fn is_signaled(&self) -> bool {
        self.ask(READ)
    }

    fn take_both(&self) -> bool {
        self.ask(TAKE_BOTH)
    }

    fn take(&self, which: usize) -> bool {
        self.ask(TAKE + which as u8)
    }
}
