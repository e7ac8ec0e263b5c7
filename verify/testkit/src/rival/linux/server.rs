// SPDX-License-Identifier: MIT OR Apache-2.0
//! Objects in the heap of a server process, requests over a Unix socket (the design of wineserver).
//!
//! The server is single-threaded and handles one request after the other, so everything is atomic. A wait that cannot
//! be satisfied is parked: the client sleeps in `read` until the answer comes.

use std::collections::{HashMap, VecDeque};
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::{Peer, Poll, Reset};
use crate::child::Child;

const WAIT_COUNT_MAX: usize = 64;
/// Operation, owner, argument, number of objects; the objects follow.
const HEADER_WORDS: usize = 4;
const REQUEST_WORDS: usize = HEADER_WORDS + WAIT_COUNT_MAX;
const READY_COUNT_MAX: usize = 64;

/// Names servers apart within this process.
static SERVERS: AtomicU32 = AtomicU32::new(0);

#[repr(u32)]
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operation {
    CreateMutex,
    CreateSemaphore,
    CreateEvent,
    WaitAny,
    WaitAll,
    TryAll,
    IsSignaled,
    Unlock,
    Release,
    Set,
    Reset,
}

impl Operation {
    const ALL: [Self; 11] = [
        Self::CreateMutex,
        Self::CreateSemaphore,
        Self::CreateEvent,
        Self::WaitAny,
        Self::WaitAll,
        Self::TryAll,
        Self::IsSignaled,
        Self::Unlock,
        Self::Release,
        Self::Set,
        Self::Reset,
    ];
}

/// The client's side: the server's address. Each thread has a connection of its own.
pub struct Server {
    address: SocketAddr,
    process: Child,
}

/// A thread's connection.
pub struct Connection {
    stream: UnixStream,
    owner: u32,
}

impl Server {
    /// Starts a server without an object.
    pub fn open() -> io::Result<Self> {
        let name = format!("rival-{}-{}", std::process::id(), SERVERS.fetch_add(1, Relaxed));
        let address = SocketAddr::from_abstract_name(name)?;
        let listener = UnixListener::bind_addr(&address)?;
        let process = Child::fork(|| Service::new(listener).and_then(Service::serve).expect("the server serves"))?;
        Ok(Self { address, process })
    }

    /// The server's process.
    pub fn process(&self) -> &Child {
        &self.process
    }
}

/// The answer to a question that is not answered with yes.
const NO: u32 = 0;
const YES: u32 = 1;

impl Connection {
    fn call(&mut self, operation: Operation, argument: u32, objects: &[u32]) -> io::Result<u32> {
        let mut request = [0u32; REQUEST_WORDS];
        request[..HEADER_WORDS].copy_from_slice(&[operation as u32, self.owner, argument, objects.len() as u32]);
        request[HEADER_WORDS..HEADER_WORDS + objects.len()].copy_from_slice(objects);
        self.stream.write_all(bytes(&request[..HEADER_WORDS + objects.len()]))?;
        let mut answer = [0u8; 4];
        self.stream.read_exact(&mut answer)?;
        Ok(u32::from_ne_bytes(answer))
    }
}

impl Peer for Server {
    type Thread = Connection;
    type Object = u32;

    fn join(&self, owner: u32) -> io::Result<Connection> {
        Ok(Connection { stream: UnixStream::connect_addr(&self.address)?, owner })
    }

    fn mutex(&self, thread: &mut Connection) -> io::Result<u32> {
        thread.call(Operation::CreateMutex, 0, &[])
    }

    fn semaphore(&self, thread: &mut Connection, count: u32, _max: u32) -> io::Result<u32> {
        thread.call(Operation::CreateSemaphore, count, &[])
    }

    fn event(&self, thread: &mut Connection, reset: Reset) -> io::Result<u32> {
        thread.call(Operation::CreateEvent, u32::from(reset == Reset::Manual), &[])
    }

    fn wait_any(&self, thread: &mut Connection, objects: &[u32]) -> io::Result<usize> {
        thread.call(Operation::WaitAny, 0, objects).map(|index| index as usize)
    }

    fn wait_all(&self, thread: &mut Connection, objects: &[u32]) -> io::Result<()> {
        thread.call(Operation::WaitAll, 0, objects).map(|_| ())
    }

    fn unlock(&self, thread: &mut Connection, mutex: u32) -> io::Result<()> {
        thread.call(Operation::Unlock, 0, &[mutex]).map(|_| ())
    }

    fn release(&self, thread: &mut Connection, semaphore: u32, count: u32) -> io::Result<()> {
        thread.call(Operation::Release, count, &[semaphore]).map(|_| ())
    }

    fn set(&self, thread: &mut Connection, event: u32) -> io::Result<()> {
        thread.call(Operation::Set, 0, &[event]).map(|_| ())
    }

    fn reset(&self, thread: &mut Connection, event: u32) -> io::Result<()> {
        thread.call(Operation::Reset, 0, &[event]).map(|_| ())
    }
}

impl Poll for Server {
    fn try_all(&self, thread: &mut Connection, objects: &[u32]) -> io::Result<bool> {
        thread.call(Operation::TryAll, 0, objects).map(|answer| answer == YES)
    }

    fn is_signaled(&self, thread: &mut Connection, event: u32) -> io::Result<bool> {
        thread.call(Operation::IsSignaled, 0, &[event]).map(|answer| answer == YES)
    }
}

/// An object in the server's heap.
struct Object {
    state: State,
    /// The threads that wait for it, in the order of arrival.
    queue: VecDeque<RawFd>,
}

enum State {
    Mutex { owner: u32 },
    Semaphore { count: u32 },
    Event { signaled: bool, manual: bool },
}

impl State {
    fn satisfiable(&self) -> bool {
        match *self {
            State::Mutex { owner } => owner == 0,
            State::Semaphore { count } => count > 0,
            State::Event { signaled, .. } => signaled,
        }
    }

    fn take(&mut self, by: u32) {
        match self {
            State::Mutex { owner } => *owner = by,
            State::Semaphore { count } => *count -= 1,
            State::Event { signaled, manual } => *signaled &= *manual,
        }
    }
}

/// A wait that could not be satisfied at once.
struct Parked {
    owner: u32,
    all: bool,
    objects: Vec<u32>,
}

/// The server process.
struct Service {
    epoll: RawFd,
    listener: UnixListener,
    connections: HashMap<RawFd, UnixStream>,
    parked: HashMap<RawFd, Parked>,
    objects: Vec<Object>,
}

impl Service {
    fn new(listener: UnixListener) -> io::Result<Self> {
        // SAFETY: creates a descriptor; the process keeps it to its end.
        let epoll = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        let service =
            Self { epoll, listener, connections: HashMap::new(), parked: HashMap::new(), objects: Vec::new() };
        service.listen_to(service.listener.as_raw_fd())?;
        Ok(service)
    }

    fn listen_to(&self, fd: RawFd) -> io::Result<()> {
        let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: fd as u64 };
        // SAFETY: the kernel reads `event`.
        match unsafe { libc::epoll_ctl(self.epoll, libc::EPOLL_CTL_ADD, fd, &mut event) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    fn serve(mut self) -> io::Result<()> {
        loop {
            let mut ready = [libc::epoll_event { events: 0, u64: 0 }; READY_COUNT_MAX];
            // SAFETY: the kernel writes at most `READY_COUNT_MAX` entries.
            let count = unsafe { libc::epoll_wait(self.epoll, ready.as_mut_ptr(), READY_COUNT_MAX as i32, -1) };
            for event in &ready[..usize::try_from(count).map_err(|_| io::Error::last_os_error())?] {
                let fd = event.u64 as RawFd;
                if fd == self.listener.as_raw_fd() {
                    self.accept()?;
                } else if self.request(fd).is_err() {
                    self.disconnect(fd);
                }
            }
        }
    }

    fn accept(&mut self) -> io::Result<()> {
        let (stream, _) = self.listener.accept()?;
        self.listen_to(stream.as_raw_fd())?;
        self.connections.insert(stream.as_raw_fd(), stream);
        Ok(())
    }

    fn disconnect(&mut self, fd: RawFd) {
        self.leave_queues(fd);
        self.connections.remove(&fd);
    }

    /// Takes one request and answers it, unless it is a wait that must be parked.
    fn request(&mut self, client: RawFd) -> io::Result<()> {
        let mut buffer = [0u8; REQUEST_WORDS * 4];
        // A client writes a whole request with one call and then waits for the answer, so one read gets all of it.
        let length = self.stream(client)?.read(&mut buffer)?;
        let words: Vec<u32> =
            buffer[..length].chunks_exact(4).map(|word| u32::from_ne_bytes(word.try_into().unwrap())).collect();
        let [operation, owner, argument, _, ref objects @ ..] = words[..] else {
            return Err(io::ErrorKind::UnexpectedEof.into());
        };
        let operation = *Operation::ALL.get(operation as usize).ok_or(io::ErrorKind::InvalidData)?;
        match operation {
            Operation::WaitAny | Operation::WaitAll => {
                let all = operation == Operation::WaitAll;
                self.wait(client, Parked { owner, all, objects: objects.to_vec() })
            }
            Operation::TryAll => {
                let taken = self.try_satisfy(&Parked { owner, all: true, objects: objects.to_vec() });
                self.answer(client, if taken.is_some() { YES } else { NO })
            }
            Operation::IsSignaled => {
                let signaled = self.objects[objects[0] as usize].state.satisfiable();
                self.answer(client, if signaled { YES } else { NO })
            }
            Operation::CreateMutex => self.create(client, State::Mutex { owner: 0 }),
            Operation::CreateSemaphore => self.create(client, State::Semaphore { count: argument }),
            Operation::CreateEvent => self.create(client, State::Event { signaled: false, manual: argument != 0 }),
            _ => self.signal(client, operation, argument, objects[0]),
        }
    }

    fn create(&mut self, client: RawFd, state: State) -> io::Result<()> {
        self.objects.push(Object { state, queue: VecDeque::new() });
        self.answer(client, self.objects.len() as u32 - 1)
    }

    fn signal(&mut self, client: RawFd, operation: Operation, argument: u32, object: u32) -> io::Result<()> {
        match (operation, &mut self.objects[object as usize].state) {
            (Operation::Unlock, State::Mutex { owner }) => *owner = 0,
            (Operation::Release, State::Semaphore { count }) => *count += argument,
            (_, State::Event { signaled, .. }) => *signaled = operation == Operation::Set,
            _ => return Err(io::ErrorKind::InvalidData.into()),
        }
        self.hand_out(object)?;
        self.answer(client, 0)
    }

    fn wait(&mut self, client: RawFd, wait: Parked) -> io::Result<()> {
        if let Some(index) = self.try_satisfy(&wait) {
            return self.answer(client, index);
        }
        for &object in &wait.objects {
            self.objects[object as usize].queue.push_back(client);
        }
        self.parked.insert(client, wait);
        Ok(())
    }

    /// Gives the object to those who wait for it, in their order, as far as it goes.
    fn hand_out(&mut self, object: u32) -> io::Result<()> {
        let mut place = 0;
        while self.objects[object as usize].state.satisfiable() {
            let Some(&client) = self.objects[object as usize].queue.get(place) else { break };
            let wait = self.parked.remove(&client).expect("who is in a queue is parked");
            match self.try_satisfy(&wait) {
                Some(index) => {
                    self.drop_from_queues(client, &wait);
                    self.answer(client, index)?;
                }
                None => {
                    self.parked.insert(client, wait);
                    place += 1;
                }
            }
        }
        Ok(())
    }

    fn try_satisfy(&mut self, wait: &Parked) -> Option<u32> {
        if wait.all {
            let ready = wait.objects.iter().all(|&object| self.objects[object as usize].state.satisfiable());
            ready.then(|| wait.objects.iter().for_each(|&object| self.take(object, wait.owner)))?;
            return Some(0);
        }
        let index = wait.objects.iter().position(|&object| self.objects[object as usize].state.satisfiable())?;
        self.take(wait.objects[index], wait.owner);
        Some(index as u32)
    }

    fn take(&mut self, object: u32, owner: u32) {
        self.objects[object as usize].state.take(owner);
    }

    fn leave_queues(&mut self, client: RawFd) {
        if let Some(wait) = self.parked.remove(&client) {
            self.drop_from_queues(client, &wait);
        }
    }

    fn drop_from_queues(&mut self, client: RawFd, wait: &Parked) {
        for &object in &wait.objects {
            self.objects[object as usize].queue.retain(|&other| other != client);
        }
    }

    fn answer(&mut self, client: RawFd, value: u32) -> io::Result<()> {
        self.stream(client)?.write_all(&value.to_ne_bytes())
    }

    fn stream(&self, client: RawFd) -> io::Result<&UnixStream> {
        self.connections.get(&client).ok_or_else(|| io::ErrorKind::NotConnected.into())
    }
}

fn bytes(words: &[u32]) -> &[u8] {
    // SAFETY: the same memory, seen as bytes; a word has no padding.
    unsafe { core::slice::from_raw_parts(words.as_ptr().cast(), size_of_val(words)) }
}
