// SPDX-License-Identifier: MIT OR Apache-2.0
//! Finding a mutex by its name and letting go of it: in an arena, and one of pthread in shared memory that has a name.

use std::ffi::CString;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, FromRawFd, OwnedFd};

use ntux_platform::memory::Mapping;
use ntux_sync::{Arena, Capacity, Kind, Name, New, Result};
use ntux_testkit::child::Child;

use crate::bench::Bench;
use crate::measure::{Effort, Sample, per_operation};
use crate::record::Group;
use crate::report::{RUST, SHM};

/// This process holds the mutex itself.
const OWN: &str = "named open + close";
/// Another process alone does: is it alive?
const OF_ANOTHER: &str = "named open + close, another process has it";

pub(crate) fn run(bench: &mut Bench) {
    bench.peer(RUST).time(Group::Growth, OWN, of_this_process);
    bench.time(Group::Growth, OF_ANOTHER, of_another_process);
    bench.peer(SHM).time(Group::Growth, OWN, of_pthread);
    // A file does not know who has it.
    bench.time(Group::Growth, OF_ANOTHER, of_pthread);
}

fn of_this_process(effort: Effort) -> io::Result<Sample> {
    let arena = Arena::create(Capacity::default()).map_err(io::Error::other)?;
    create(&arena).map_err(io::Error::other)?;
    opened_and_closed(effort, &arena)
}

fn of_another_process(effort: Effort) -> io::Result<Sample> {
    let arena = Arena::create(Capacity::default()).map_err(io::Error::other)?;
    let (mut created, mut says_so) = io::pipe()?;
    let _other = Child::fork(|| {
        let attached = arena.fd().and_then(|fd| Arena::attach(fd).ok());
        if attached.is_some_and(|arena| create(&arena).is_ok() && says_so.write_all(&[1]).is_ok()) {
            // Until the parent kills it.
            loop {
                std::thread::park();
            }
        }
    })?;
    drop(says_so);
    created.read_exact(&mut [0])?;
    opened_and_closed(effort, &arena)
}

fn name() -> Result<Name<'static>> {
    Name::new("Local\\a mutex")
}

fn create(arena: &Arena) -> Result<()> {
    arena.create_named(&arena.waiter(), name()?, New::Mutex { owner: 0, count: 0 }).map(drop)
}

fn opened_and_closed(effort: Effort, arena: &Arena) -> io::Result<Sample> {
    let once = || arena.release(arena.open_named(name()?, Kind::Mutex)?);
    per_operation(effort, || once().map_err(io::Error::other))
}

/// A process-shared mutex in a file of `shm_open`.
struct NamedFile(CString);

impl NamedFile {
    fn create() -> io::Result<Self> {
        let name = CString::new(format!("/ntux-bench-{}", std::process::id()))?;
        let file = NamedFile(name);
        let fd = file.open(libc::O_RDWR | libc::O_CREAT | libc::O_EXCL)?;
        std::fs::File::from(fd).set_len(LENGTH as u64)?;
        let mapping = file.map()?;
        let mutex: *mut libc::pthread_mutex_t = mapping.base().as_ptr().cast();
        // SAFETY: the mapping is a page, of which nobody else knows; the attributes are initialized before they are used.
        let failed = unsafe {
            let mut attributes = core::mem::zeroed();
            libc::pthread_mutexattr_init(&mut attributes) != 0
                || libc::pthread_mutexattr_setpshared(&mut attributes, libc::PTHREAD_PROCESS_SHARED) != 0
                || libc::pthread_mutex_init(mutex, &attributes) != 0
                || libc::pthread_mutex_lock(mutex) != 0
                || libc::pthread_mutex_unlock(mutex) != 0
        };
        if failed { Err(io::Error::other("no process-shared mutex")) } else { Ok(file) }
    }

    fn open(&self, flags: libc::c_int) -> io::Result<OwnedFd> {
        // SAFETY: the name is a string.
        match unsafe { libc::shm_open(self.0.as_ptr(), flags, 0o600) } {
            -1 => Err(io::Error::last_os_error()),
            // SAFETY: a new descriptor, which is nobody else's.
            fd => Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
        }
    }

    /// The mutex by its name, until the mapping is dropped.
    fn map(&self) -> io::Result<Mapping> {
        Mapping::new(self.open(libc::O_RDWR)?.as_fd(), LENGTH)
    }
}

impl Drop for NamedFile {
    fn drop(&mut self) {
        // SAFETY: the name is a string.
        unsafe { libc::shm_unlink(self.0.as_ptr()) };
    }
}

const LENGTH: usize = 4096;

fn of_pthread(effort: Effort) -> io::Result<Sample> {
    let file = NamedFile::create()?;
    per_operation(effort, || file.map().map(drop))
}
