// SPDX-License-Identifier: MIT OR Apache-2.0
//! The face of a device: raw ioctls on `/dev/ntsync`, whoever serves it.

use std::ffi::c_void;
use std::os::fd::{AsRawFd, OwnedFd};

use ntux_testkit::device;
pub use ntux_testkit::device::{NEVER, PATH, WAIT_REALTIME, WaitArgs, number};

pub use crate::face::POISON;
use crate::face::{Deadline, EOWNERDEAD, Errno, Event, Face, Mutex, Object, Outcome, Satisfied, Semaphore, Wait};

/// One ioctl with whatever argument. The argument may be a bad pointer: the device must refuse it.
///
/// Only the cases call it. A good pointer that they pass leads to a place of the size that the number says, or larger.
pub(crate) fn ioctl(fd: i32, number: u32, argument: *mut c_void) -> Outcome<i32> {
    // SAFETY: the kernel, or who stands in for it, checks the pointer; callers pass a place of the right size or a bad
    // pointer on purpose.
    match unsafe { libc::ioctl(fd, number as _, argument) } {
        -1 => Err(last_errno()),
        result => Ok(result),
    }
}

/// Why the last call failed.
pub fn last_errno() -> Errno {
    Errno(std::io::Error::last_os_error().raw_os_error().expect("a number"))
}

/// An open device: one instance.
pub struct Device {
    fd: OwnedFd,
}

impl Device {
    /// Opens a new instance.
    pub fn open() -> Device {
        Device { fd: open_device(libc::O_RDONLY | libc::O_CLOEXEC).expect("/dev/ntsync opens") }
    }

    /// The descriptor of the instance.
    pub fn fd(&self) -> i32 {
        self.fd.as_raw_fd()
    }

    /// The same instance through another descriptor.
    pub fn from_fd(fd: OwnedFd) -> Device {
        Device { fd }
    }

    fn create(&self, number: u32, first: u32, second: u32) -> Outcome<Object> {
        let mut args = [first, second];
        let result = ioctl(self.fd(), number, args.as_mut_ptr().cast());
        assert_eq!(args, [first, second], "creation writes nothing");
        result.map(|fd| Object(fd as u64))
    }

    fn read_pair(object: Object, number: u32) -> (Outcome<i32>, [u32; 2]) {
        let mut pair = [POISON; 2];
        let result = ioctl(object.0 as i32, number, pair.as_mut_ptr().cast());
        if result.is_err_and(|error| error != EOWNERDEAD) {
            assert_eq!(pair, [POISON; 2], "a refused read writes nothing");
        }
        (result, pair)
    }

    fn event(object: Object, number: u32) -> Outcome<u32> {
        let mut previous = POISON;
        match ioctl(object.0 as i32, number, (&raw mut previous).cast()) {
            Ok(_) => Ok(previous),
            Err(error) => {
                assert_eq!(previous, POISON, "a refused operation writes nothing");
                Err(error)
            }
        }
    }
}

/// Opens the device with these flags.
pub fn open_device(flags: i32) -> Outcome<OwnedFd> {
    device::open(flags).map_err(|_| last_errno())
}

/// What a case does with the arguments of a wait.
pub(crate) trait Arguments {
    /// The arguments for a wait for `fds`, which must outlive the call.
    fn new(wait: &Wait, fds: &[i32]) -> Self;
    /// The arguments as they lie in memory.
    fn bytes(&self) -> [u8; size_of::<WaitArgs>()];
    /// Runs the wait and checks that nothing but the index was written, and that only by a satisfied wait.
    fn run(self, device: i32, number: u32) -> Outcome<Satisfied>;
}

impl Arguments for WaitArgs {
    fn bytes(&self) -> [u8; size_of::<WaitArgs>()] {
        // SAFETY: plain numbers without padding between them.
        unsafe { std::mem::transmute(*self) }
    }

    fn new(wait: &Wait, fds: &[i32]) -> WaitArgs {
        let (timeout, flags) = match wait.deadline {
            Deadline::Never => (NEVER, 0),
            Deadline::Monotonic(ns) => (ns, 0),
            Deadline::Realtime(ns) => (ns, WAIT_REALTIME),
        };
        WaitArgs {
            timeout,
            objs: fds.as_ptr() as u64,
            count: fds.len() as u32,
            index: POISON,
            flags,
            owner: wait.owner,
            alert: wait.alert.map_or(0, |alert| alert.0 as u32),
            pad: 0,
        }
    }

    fn run(mut self, device: i32, number: u32) -> Outcome<Satisfied> {
        let before = self;
        let result = ioctl(device, number, (&raw mut self).cast());
        let satisfied = Satisfied { index: self.index, abandoned: result == Err(EOWNERDEAD) };
        match result {
            Ok(0) | Err(EOWNERDEAD) => {
                assert_eq!(WaitArgs { index: POISON, ..self }, before, "a wait writes only the index");
                Ok(satisfied)
            }
            Ok(other) => panic!("a wait gave {other}"),
            Err(error) => {
                assert_eq!(self, before, "a refused or timed-out wait writes nothing");
                Err(error)
            }
        }
    }
}

impl Face for Device {
    fn semaphore_create(&self, count: u32, max: u32) -> Outcome<Object> {
        self.create(number::CREATE_SEM, count, max)
    }

    fn semaphore_release(&self, semaphore: Object, add: u32) -> Outcome<u32> {
        let mut count = add;
        match ioctl(semaphore.0 as i32, number::SEM_RELEASE, (&raw mut count).cast()) {
            Ok(_) => Ok(count),
            Err(error) => {
                assert_eq!(count, add, "a refused release writes nothing");
                Err(error)
            }
        }
    }

    fn semaphore_read(&self, semaphore: Object) -> Outcome<Semaphore> {
        let (result, [count, max]) = Device::read_pair(semaphore, number::SEM_READ);
        result.map(|_| Semaphore { count, max })
    }

    fn mutex_create(&self, owner: u32, count: u32) -> Outcome<Object> {
        self.create(number::CREATE_MUTEX, owner, count)
    }

    fn mutex_unlock(&self, mutex: Object, owner: u32) -> Outcome<u32> {
        let mut args = [owner, POISON];
        let result = ioctl(mutex.0 as i32, number::MUTEX_UNLOCK, args.as_mut_ptr().cast());
        assert_eq!(args[0], owner, "an unlock does not write the owner");
        match result {
            Ok(_) => Ok(args[1]),
            Err(error) => {
                assert_eq!(args[1], POISON, "a refused unlock writes nothing");
                Err(error)
            }
        }
    }

    fn mutex_kill(&self, mutex: Object, owner: u32) -> Outcome<()> {
        let mut argument = owner;
        let result = ioctl(mutex.0 as i32, number::MUTEX_KILL, (&raw mut argument).cast());
        assert_eq!(argument, owner, "a kill writes nothing");
        result.map(|_| ())
    }

    fn mutex_read(&self, mutex: Object) -> Outcome<Mutex> {
        let (result, [owner, count]) = Device::read_pair(mutex, number::MUTEX_READ);
        match result {
            Ok(_) => Ok(Mutex { owner, count, abandoned: false }),
            Err(EOWNERDEAD) => Ok(Mutex { owner, count, abandoned: true }),
            Err(error) => Err(error),
        }
    }

    fn event_create(&self, manual: u32, signaled: u32) -> Outcome<Object> {
        self.create(number::CREATE_EVENT, manual, signaled)
    }

    fn event_set(&self, event: Object) -> Outcome<u32> {
        Device::event(event, number::EVENT_SET)
    }

    fn event_reset(&self, event: Object) -> Outcome<u32> {
        Device::event(event, number::EVENT_RESET)
    }

    fn event_pulse(&self, event: Object) -> Outcome<u32> {
        Device::event(event, number::EVENT_PULSE)
    }

    fn event_read(&self, event: Object) -> Outcome<Event> {
        let (result, [manual, signaled]) = Device::read_pair(event, number::EVENT_READ);
        result.map(|_| Event { manual, signaled })
    }

    fn close(&self, object: Object) -> Outcome<()> {
        // SAFETY: the case gives its own descriptor up.
        match unsafe { libc::close(object.0 as i32) } {
            0 => Ok(()),
            _ => Err(last_errno()),
        }
    }

    fn wait(&self, wait: &Wait) -> Outcome<Satisfied> {
        let fds: Vec<i32> = wait.objects.iter().map(|object| object.0 as i32).collect();
        let number = if wait.all { number::WAIT_ALL } else { number::WAIT_ANY };
        WaitArgs::new(wait, &fds).run(self.fd(), number)
    }

    fn in_child(&self) -> Box<dyn Face> {
        Box::new(Device::from_fd(self.fd.try_clone().expect("a free descriptor")))
    }
}
