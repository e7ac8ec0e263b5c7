// SPDX-License-Identifier: MIT OR Apache-2.0
//! The device's own interface, raw ioctls: the kernel's driver, or ntux in its place.
//!
//! It uses only the kernel's interface, and cannot tell which of them answers.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::Mutex;

use ntux_testkit::device::{self, NEVER, WaitArgs, number};

use super::{Peer, Reset, descriptors_max};

/// `struct ntsync_sem_args`, `ntsync_mutex_args` and `ntsync_event_args`: two words each.
type TwoWords = [u32; 2];

/// An instance of the device, and the descriptors of its objects.
pub(crate) struct Device {
    device: OwnedFd,
    objects: Mutex<Vec<OwnedFd>>,
}

impl Device {
    pub(crate) fn open() -> io::Result<Self> {
        let device = device::open(libc::O_CLOEXEC | libc::O_RDONLY)?;
        Ok(Self { device, objects: Mutex::new(Vec::new()) })
    }

    fn create(&self, request: u32, arguments: TwoWords) -> io::Result<RawFd> {
        let fd = call(self.device.as_raw_fd(), request, &mut { arguments })?;
        // SAFETY: the device made it for us.
        let object = unsafe { OwnedFd::from_raw_fd(fd) };
        self.objects.lock().expect("no thread panics while it holds the list").push(object);
        Ok(fd)
    }

    /// A new event, which is the caller's.
    pub(crate) fn new_event(&self) -> io::Result<OwnedFd> {
        let fd = call::<TwoWords>(self.device.as_raw_fd(), number::CREATE_EVENT, &mut [0, 0])?;
        // SAFETY: the device made it for us.
        Ok(unsafe { OwnedFd::from_raw_fd(fd) })
    }

    /// Closes the object that was created last.
    pub(crate) fn close_last(&self) {
        self.objects.lock().expect("no thread panics while it holds the list").pop();
    }

    #[inline(always)]
    fn wait_for(&self, request: u32, owner: u32, objects: &[RawFd]) -> io::Result<usize> {
        let mut arguments = WaitArgs {
            timeout: NEVER,
            objs: objects.as_ptr() as u64,
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
        self.create(number::CREATE_MUTEX, [0, 0])
    }

    fn semaphore(&self, _: &mut u32, count: u32, max: u32) -> io::Result<RawFd> {
        self.create(number::CREATE_SEM, [count, max])
    }

    fn event(&self, _: &mut u32, reset: Reset) -> io::Result<RawFd> {
        self.create(number::CREATE_EVENT, [u32::from(reset == Reset::Manual), 0])
    }

    #[inline(always)]
    fn wait_any(&self, owner: &mut u32, objects: &[RawFd]) -> io::Result<usize> {
        self.wait_for(number::WAIT_ANY, *owner, objects)
    }

    #[inline(always)]
    fn wait_all(&self, owner: &mut u32, objects: &[RawFd]) -> io::Result<()> {
        self.wait_for(number::WAIT_ALL, *owner, objects).map(|_| ())
    }

    #[inline(always)]
    fn unlock(&self, owner: &mut u32, mutex: RawFd) -> io::Result<()> {
        call::<TwoWords>(mutex, number::MUTEX_UNLOCK, &mut [*owner, 0]).map(|_| ())
    }

    #[inline(always)]
    fn release(&self, _: &mut u32, semaphore: RawFd, count: u32) -> io::Result<()> {
        call(semaphore, number::SEM_RELEASE, &mut { count }).map(|_| ())
    }

    #[inline(always)]
    fn set(&self, _: &mut u32, event: RawFd) -> io::Result<()> {
        call(event, number::EVENT_SET, &mut 0u32).map(|_| ())
    }

    #[inline(always)]
    fn reset(&self, _: &mut u32, event: RawFd) -> io::Result<()> {
        call(event, number::EVENT_RESET, &mut 0u32).map(|_| ())
    }
}

#[inline(always)]
fn call<T>(fd: RawFd, request: u32, arguments: &mut T) -> io::Result<RawFd> {
    // SAFETY: every caller passes the structure that `request` names, and the objects it points to outlive the call.
    let result = unsafe { libc::ioctl(fd, request as _, core::ptr::from_mut(arguments)) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}
