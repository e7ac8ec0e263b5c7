//! The device's own interface, raw ioctls: the kernel's driver, or ntux in its place.
//!
//! Written against the kernel's interface alone; it cannot tell who answers.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::Mutex;

use super::{Peer, Reset, descriptors_max};

const PATH: &CStr = c"/dev/ntsync";
const CREATE_SEM: libc::c_ulong = 0x4008_4e80;
const SEM_RELEASE: libc::c_ulong = 0xc004_4e81;
const WAIT_ANY: libc::c_ulong = 0xc028_4e82;
const WAIT_ALL: libc::c_ulong = 0xc028_4e83;
const CREATE_MUTEX: libc::c_ulong = 0x4008_4e84;
const MUTEX_UNLOCK: libc::c_ulong = 0xc008_4e85;
const CREATE_EVENT: libc::c_ulong = 0x4008_4e87;
const EVENT_SET: libc::c_ulong = 0x8004_4e88;
const EVENT_RESET: libc::c_ulong = 0x8004_4e89;

/// `struct ntsync_sem_args`, `ntsync_mutex_args` and `ntsync_event_args`: two words each.
type TwoWords = [u32; 2];

/// `struct ntsync_wait_args`.
#[repr(C)]
struct WaitArguments {
    timeout: u64,
    objects: u64,
    count: u32,
    index: u32,
    flags: u32,
    owner: u32,
    alert: u32,
    pad: u32,
}

/// An instance of the device, and the descriptors of its objects.
pub(crate) struct Device {
    device: OwnedFd,
    objects: Mutex<Vec<OwnedFd>>,
}

impl Device {
    pub(crate) fn open() -> io::Result<Self> {
        // SAFETY: `PATH` is a C string.
        let fd = unsafe { libc::open(PATH.as_ptr(), libc::O_CLOEXEC | libc::O_RDONLY) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: just opened, and nobody else has it.
        let device = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(Self { device, objects: Mutex::new(Vec::new()) })
    }

    fn create(&self, request: libc::c_ulong, arguments: TwoWords) -> io::Result<RawFd> {
        let fd = call(self.device.as_raw_fd(), request, &mut { arguments })?;
        // SAFETY: the device made it for us.
        let object = unsafe { OwnedFd::from_raw_fd(fd) };
        self.objects.lock().expect("no thread panics while it holds the list").push(object);
        Ok(fd)
    }

    /// Closes the object that was created last.
    pub(crate) fn close_last(&self) {
        self.objects.lock().expect("no thread panics while it holds the list").pop();
    }

    #[inline(always)]
    fn wait_for(&self, request: libc::c_ulong, owner: u32, objects: &[RawFd]) -> io::Result<usize> {
        let mut arguments = WaitArguments {
            timeout: u64::MAX,
            objects: objects.as_ptr() as u64,
            count: objects.len() as u32,
            index: 0,
            flags: 0,
            owner,
            alert: 0,
            pad: 0,
        };
        call(self.device.as_raw_fd(), request, &mut arguments)?;
        Ok(arguments.index as usize)
    }
}

impl Peer for Device {
    type Thread = u32;
    type Object = RawFd;

    fn objects_max(&self) -> usize {
        descriptors_max()
    }

    fn join(&self, owner: u32) -> io::Result<u32> {
        Ok(owner)
    }

    fn mutex(&self, _: &mut u32) -> io::Result<RawFd> {
        self.create(CREATE_MUTEX, [0, 0])
    }

    fn semaphore(&self, _: &mut u32, count: u32, max: u32) -> io::Result<RawFd> {
        self.create(CREATE_SEM, [count, max])
    }

    fn event(&self, _: &mut u32, reset: Reset) -> io::Result<RawFd> {
        self.create(CREATE_EVENT, [u32::from(reset == Reset::Manual), 0])
    }

    #[inline(always)]
    fn wait_any(&self, owner: &mut u32, objects: &[RawFd]) -> io::Result<usize> {
        self.wait_for(WAIT_ANY, *owner, objects)
    }

    #[inline(always)]
    fn wait_all(&self, owner: &mut u32, objects: &[RawFd]) -> io::Result<()> {
        self.wait_for(WAIT_ALL, *owner, objects).map(|_| ())
    }

    #[inline(always)]
    fn unlock(&self, owner: &mut u32, mutex: RawFd) -> io::Result<()> {
        call::<TwoWords>(mutex, MUTEX_UNLOCK, &mut [*owner, 0]).map(|_| ())
    }

    #[inline(always)]
    fn release(&self, _: &mut u32, semaphore: RawFd, count: u32) -> io::Result<()> {
        call(semaphore, SEM_RELEASE, &mut { count }).map(|_| ())
    }

    #[inline(always)]
    fn set(&self, _: &mut u32, event: RawFd) -> io::Result<()> {
        call(event, EVENT_SET, &mut 0u32).map(|_| ())
    }

    #[inline(always)]
    fn reset(&self, _: &mut u32, event: RawFd) -> io::Result<()> {
        call(event, EVENT_RESET, &mut 0u32).map(|_| ())
    }
}

#[inline(always)]
fn call<T>(fd: RawFd, request: libc::c_ulong, arguments: &mut T) -> io::Result<RawFd> {
    // SAFETY: every caller passes the structure that `request` names, and the objects it points to outlive the call.
    let result = unsafe { libc::ioctl(fd, request as _, core::ptr::from_mut(arguments)) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}
