//! The face of a device: raw ioctls on `/dev/ntsync`, whoever serves it.

use std::ffi::{CStr, c_void};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::face::{Deadline, EOWNERDEAD, Errno, Event, Face, Mutex, Object, Outcome, Satisfied, Semaphore, Wait};

/// Where the device is.
pub const PATH: &CStr = c"/dev/ntsync";

/// What outputs hold before an operation.
pub const POISON: u32 = 0xdead_beef;

/// The flag of a wait whose deadline is on the wall clock.
pub const WAIT_REALTIME: u32 = 1;

/// The deadline that never comes.
pub const NEVER: u64 = u64::MAX;

/// The ioctl numbers, for architectures with the generic encoding.
pub mod number {
    const WRITE: u32 = 1;
    const READ: u32 = 2;

    /// The number of an ioctl of this device: direction bits, number, size of the argument in bytes.
    pub const fn encode(direction: u32, number: u32, size: u32) -> u32 {
        direction << 30 | size << 16 | (b'N' as u32) << 8 | number
    }

    /// Creates a semaphore.
    pub const CREATE_SEM: u32 = encode(WRITE, 0x80, 8);
    /// Adds to a semaphore.
    pub const SEM_RELEASE: u32 = encode(READ | WRITE, 0x81, 4);
    /// Waits for any object.
    pub const WAIT_ANY: u32 = encode(READ | WRITE, 0x82, 40);
    /// Waits for all objects.
    pub const WAIT_ALL: u32 = encode(READ | WRITE, 0x83, 40);
    /// Creates a mutex.
    pub const CREATE_MUTEX: u32 = encode(WRITE, 0x84, 8);
    /// Unlocks a mutex.
    pub const MUTEX_UNLOCK: u32 = encode(READ | WRITE, 0x85, 8);
    /// Declares a mutex's owner dead.
    pub const MUTEX_KILL: u32 = encode(WRITE, 0x86, 4);
    /// Creates an event.
    pub const CREATE_EVENT: u32 = encode(WRITE, 0x87, 8);
    /// Sets an event.
    pub const EVENT_SET: u32 = encode(READ, 0x88, 4);
    /// Resets an event.
    pub const EVENT_RESET: u32 = encode(READ, 0x89, 4);
    /// Pulses an event.
    pub const EVENT_PULSE: u32 = encode(READ, 0x8a, 4);
    /// Reads a semaphore.
    pub const SEM_READ: u32 = encode(READ, 0x8b, 8);
    /// Reads a mutex.
    pub const MUTEX_READ: u32 = encode(READ, 0x8c, 8);
    /// Reads an event.
    pub const EVENT_READ: u32 = encode(READ, 0x8d, 8);

    /// Those that go to the device itself.
    pub const OF_DEVICE: [u32; 5] = [CREATE_SEM, CREATE_MUTEX, CREATE_EVENT, WAIT_ANY, WAIT_ALL];
    /// Those that go to an object.
    pub const OF_OBJECT: [u32; 9] =
        [SEM_RELEASE, MUTEX_UNLOCK, MUTEX_KILL, EVENT_SET, EVENT_RESET, EVENT_PULSE, SEM_READ, MUTEX_READ, EVENT_READ];
}

/// The arguments of a wait, as the device takes them.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WaitArgs {
    /// Deadline in nanoseconds.
    pub timeout: u64,
    /// Address of the descriptors.
    pub objs: u64,
    /// How many there are.
    pub count: u32,
    /// The result.
    pub index: u32,
    /// Bit 0: the deadline is on the wall clock.
    pub flags: u32,
    /// Who acquires mutexes.
    pub owner: u32,
    /// A descriptor, or 0 for none.
    pub alert: u32,
    /// Must be 0.
    pub pad: u32,
}

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
    // SAFETY: the path is a C string.
    match unsafe { libc::open(PATH.as_ptr(), flags) } {
        -1 => Err(last_errno()),
        // SAFETY: the descriptor is new and nobody else's.
        fd => Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
    }
}

impl WaitArgs {
    /// The arguments as they lie in memory.
    pub(crate) fn bytes(&self) -> [u8; size_of::<WaitArgs>()] {
        // SAFETY: plain numbers without padding between them.
        unsafe { std::mem::transmute(*self) }
    }

    /// The arguments for a wait for `fds`, which must outlive the call.
    pub fn new(wait: &Wait, fds: &[i32]) -> WaitArgs {
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

    /// Runs the wait and checks that nothing but the index was written, and that only by a satisfied wait.
    pub fn run(mut self, device: i32, number: u32) -> Outcome<Satisfied> {
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
