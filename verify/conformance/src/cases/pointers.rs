// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bad pointers: what is refused in advance, and what takes effect although the result cannot be written.

use std::ffi::c_void;
use std::ptr::null_mut;

use crate::case::{Case, case};
use crate::check;
use crate::device::number::{
    CREATE_EVENT, CREATE_MUTEX, CREATE_SEM, EVENT_PULSE, EVENT_READ, EVENT_RESET, EVENT_SET, MUTEX_KILL, MUTEX_READ,
    MUTEX_UNLOCK, SEM_READ, SEM_RELEASE, WAIT_ALL, WAIT_ANY,
};
use crate::device::{Arguments as _, Device, WaitArgs, ioctl};
use crate::face::{EFAULT, Face, OWNER, any};

pub(super) const CASES: &[Case] = &[
    case!(Device, a_bad_pointer_is_efault_and_never_a_crash, "S-1006"),
    case!(Device, a_bad_pointer_to_arguments_changes_nothing, "S-1006"),
    case!(Device, arguments_may_end_where_the_memory_ends, "S-1006"),
    case!(Device, arguments_that_reach_beyond_the_memory_are_efault, "S-1006"),
    case!(Device, a_result_that_cannot_be_written_leaves_the_effect, "S-1007"),
    case!(Device, an_event_is_set_even_if_nobody_can_be_told, "S-1007"),
    case!(Device, a_read_writes_what_there_is_room_for, "S-1007"),
    case!(Device, efault_comes_before_eownerdead_in_a_read, "S-1007", "S-309"),
    case!(Device, an_acquisition_that_cannot_be_reported_stands, "S-1007"),
    case!(Device, creation_writes_nothing, "S-1008"),
    case!(Device, a_refused_wait_needs_no_writable_arguments, "S-1007"),
    case!(Device, a_bad_array_of_descriptors_is_efault, "S-1006"),
];

fn page_size() -> usize {
    // SAFETY: asks for a number.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) as usize }
}

/// One readable and writable page, followed by one that nobody may touch.
struct Pages {
    start: *mut u8,
}

impl Pages {
    fn new() -> Pages {
        // SAFETY: asks for new memory, at an address of the system's choice.
        let start = unsafe {
            libc::mmap(
                null_mut(),
                2 * page_size(),
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        assert_ne!(start, libc::MAP_FAILED);
        let pages = Pages { start: start.cast() };
        pages.protect(1, libc::PROT_NONE);
        pages
    }

    fn protect(&self, page: usize, protection: i32) {
        // SAFETY: the page is ours and nobody holds a reference into it.
        let result = unsafe { libc::mprotect(self.start.add(page * page_size()).cast(), page_size(), protection) };
        assert_eq!(result, 0);
    }

    /// A place for `bytes` bytes that end where the memory ends.
    fn last(&self, bytes: usize) -> *mut c_void {
        // SAFETY: stays inside the first page.
        unsafe { self.start.add(page_size() - bytes).cast() }
    }

    /// The last `bytes` bytes, holding `value`'s first ones.
    fn last_holding<T>(&self, bytes: usize, value: &T) -> *mut c_void {
        let place = self.last(bytes);
        // SAFETY: both places have that many bytes.
        unsafe { std::ptr::copy_nonoverlapping(std::ptr::from_ref(value).cast::<u8>(), place.cast(), bytes) };
        place
    }

    fn make_read_only(&self) {
        self.protect(0, libc::PROT_READ);
    }
}

/// Pointers at which there is nothing.
fn bad_pointers(pages: &Pages) -> [*mut c_void; 6] {
    let never = pages.start.wrapping_add(page_size()).cast();
    let kernel = [0x8000_0000_0000_0000_usize, 0xffff_ffff_8000_0000, usize::MAX - 3].map(|at| at as *mut c_void);
    [null_mut(), std::ptr::dangling_mut::<u32>().cast(), never, kernel[0], kernel[1], kernel[2]]
}

fn a_bad_pointer_is_efault_and_never_a_crash() {
    let device = Device::open();
    let pages = Pages::new();
    let semaphore = device.semaphore_create(1, 2).unwrap().0 as i32;
    let mutex = device.mutex_create(1, 1).unwrap().0 as i32;
    let event = device.event_create(0, 0).unwrap().0 as i32;
    let numbers = [
        (device.fd(), &[CREATE_SEM, CREATE_MUTEX, CREATE_EVENT, WAIT_ANY, WAIT_ALL][..]),
        (semaphore, &[SEM_RELEASE, SEM_READ]),
        (mutex, &[MUTEX_UNLOCK, MUTEX_KILL, MUTEX_READ]),
        (event, &[EVENT_SET, EVENT_RESET, EVENT_PULSE, EVENT_READ]),
    ];
    for pointer in bad_pointers(&pages) {
        for (fd, numbers) in numbers {
            for number in numbers {
                assert_eq!(ioctl(fd, *number, pointer), Err(EFAULT), "{number:#x} at {pointer:?}");
            }
        }
    }
}

fn a_bad_pointer_to_arguments_changes_nothing() {
    let device = Device::open();
    let pages = Pages::new();
    let semaphore = device.semaphore_create(1, 2).unwrap();
    let mutex = device.mutex_create(1, 1).unwrap();
    for pointer in bad_pointers(&pages) {
        assert_eq!(ioctl(semaphore.0 as i32, SEM_RELEASE, pointer), Err(EFAULT));
        check::semaphore(&device, semaphore, 1, 2);
        assert_eq!(ioctl(mutex.0 as i32, MUTEX_UNLOCK, pointer), Err(EFAULT));
        check::mutex(&device, mutex, 1, 1);
        assert_eq!(ioctl(mutex.0 as i32, MUTEX_KILL, pointer), Err(EFAULT));
        check::mutex(&device, mutex, 1, 1);
    }
}

fn arguments_may_end_where_the_memory_ends() {
    let device = Device::open();
    let pages = Pages::new();
    let semaphore = ioctl(device.fd(), CREATE_SEM, pages.last_holding(8, &[1u32, 3])).unwrap();
    assert_eq!(ioctl(semaphore, SEM_RELEASE, pages.last_holding(4, &2u32)), Ok(0));
    assert_eq!(ioctl(semaphore, SEM_READ, pages.last(8)), Ok(0));
    let mutex = ioctl(device.fd(), CREATE_MUTEX, pages.last_holding(8, &[5u32, 1])).unwrap();
    assert_eq!(ioctl(mutex, MUTEX_KILL, pages.last_holding(4, &5u32)), Ok(0));
    let event = ioctl(device.fd(), CREATE_EVENT, pages.last_holding(8, &[0u32, 0])).unwrap();
    assert_eq!(ioctl(event, EVENT_SET, pages.last(4)), Ok(0));
    let fds = [event];
    let args = WaitArgs::new(&any(&[]), &fds);
    assert_eq!(ioctl(device.fd(), WAIT_ANY, pages.last_holding(40, &WaitArgs { count: 1, ..args })), Ok(0));
}

fn arguments_that_reach_beyond_the_memory_are_efault() {
    let device = Device::open();
    let pages = Pages::new();
    let semaphore = device.semaphore_create(1, 3).unwrap();
    let mutex = device.mutex_create(OWNER, 2).unwrap();
    for bytes in [1, 2, 3] {
        assert_eq!(ioctl(semaphore.0 as i32, SEM_RELEASE, pages.last_holding(bytes, &1u32)), Err(EFAULT));
        assert_eq!(ioctl(mutex.0 as i32, MUTEX_KILL, pages.last_holding(bytes, &OWNER)), Err(EFAULT));
    }
    for bytes in [1, 4, 7] {
        assert_eq!(ioctl(device.fd(), CREATE_SEM, pages.last_holding(bytes, &[0u32, 1])), Err(EFAULT));
        // All eight bytes are read, though only the owner is used.
        assert_eq!(ioctl(mutex.0 as i32, MUTEX_UNLOCK, pages.last_holding(bytes, &[OWNER, 0])), Err(EFAULT));
        // Nor does owner 0 come first.
        assert_eq!(ioctl(mutex.0 as i32, MUTEX_UNLOCK, pages.last_holding(bytes, &[0u32, 0])), Err(EFAULT));
        assert_eq!(ioctl(semaphore.0 as i32, SEM_READ, pages.last(bytes)), Err(EFAULT));
    }
    let fds = [semaphore.0 as i32];
    let args = WaitArgs::new(&any(&[semaphore]), &fds);
    for bytes in [8, 36, 39] {
        assert_eq!(ioctl(device.fd(), WAIT_ANY, pages.last_holding(bytes, &args)), Err(EFAULT));
        // Even with a flag that would be refused.
        let flagged = WaitArgs { flags: 2, ..args };
        assert_eq!(ioctl(device.fd(), WAIT_ANY, pages.last_holding(bytes, &flagged)), Err(EFAULT));
    }
    check::semaphore(&device, semaphore, 1, 3);
    check::mutex(&device, mutex, OWNER, 2);
}

fn a_result_that_cannot_be_written_leaves_the_effect() {
    let device = Device::open();
    let semaphore = device.semaphore_create(1, 5).unwrap();
    let mutex = device.mutex_create(OWNER, 2).unwrap();
    let pages = Pages::new();
    let add = pages.last_holding(4, &2u32);
    pages.make_read_only();
    assert_eq!(ioctl(semaphore.0 as i32, SEM_RELEASE, add), Err(EFAULT));
    check::semaphore(&device, semaphore, 3, 5);

    let pages = Pages::new();
    let owner = pages.last_holding(8, &[OWNER, 0]);
    pages.make_read_only();
    assert_eq!(ioctl(mutex.0 as i32, MUTEX_UNLOCK, owner), Err(EFAULT));
    check::mutex(&device, mutex, OWNER, 1);
    assert_eq!(ioctl(mutex.0 as i32, MUTEX_UNLOCK, owner), Err(EFAULT));
    check::mutex(&device, mutex, 0, 0);
}

fn an_event_is_set_even_if_nobody_can_be_told() {
    let device = Device::open();
    let pages = Pages::new();
    let event = device.event_create(1, 0).unwrap();
    for pointer in bad_pointers(&pages) {
        assert_eq!(ioctl(event.0 as i32, EVENT_SET, pointer), Err(EFAULT));
        check::manual(&device, event, 1);
        assert_eq!(ioctl(event.0 as i32, EVENT_RESET, pointer), Err(EFAULT));
        check::manual(&device, event, 0);
        assert_eq!(device.event_set(event), Ok(0));
        assert_eq!(ioctl(event.0 as i32, EVENT_PULSE, pointer), Err(EFAULT));
        check::manual(&device, event, 0);
    }
}

fn a_read_writes_what_there_is_room_for() {
    const ROOM: usize = 6;
    let device = Device::open();
    let semaphore = device.semaphore_create(0x0403_0201, 0x0807_0605).unwrap().0 as i32;
    let mutex = device.mutex_create(0x0403_0201, 0x0807_0605).unwrap().0 as i32;
    let event = device.event_create(1, 1).unwrap().0 as i32;
    let cases = [
        (semaphore, SEM_READ, [1, 2, 3, 4, 5, 6]),
        (mutex, MUTEX_READ, [1, 2, 3, 4, 5, 6]),
        (event, EVENT_READ, [1, 0, 0, 0, 1, 0]),
    ];
    // The kernel's copy on aarch64 gives up after one byte.
    let written = if cfg!(target_arch = "aarch64") { 1 } else { ROOM };
    for (fd, number, mut expected) in cases {
        expected[written..].fill(0xff);
        let place = Pages::new().last_holding(ROOM, &[0xffu8; ROOM]);
        assert_eq!(ioctl(fd, number, place), Err(EFAULT));
        // SAFETY: the bytes lie in memory of ours, and nobody writes them now.
        assert_eq!(unsafe { place.cast::<[u8; ROOM]>().read() }, expected, "{number:#x}");
    }
}

fn efault_comes_before_eownerdead_in_a_read() {
    let device = Device::open();
    let mutex = device.mutex_create(OWNER, 1).unwrap();
    assert_eq!(device.mutex_kill(mutex, OWNER), Ok(()));
    assert_eq!(ioctl(mutex.0 as i32, MUTEX_READ, null_mut()), Err(EFAULT));
    check::abandoned(&device, mutex);
}

fn an_acquisition_that_cannot_be_reported_stands() {
    let device = Device::open();
    let semaphore = device.semaphore_create(2, 2).unwrap();
    let mutex = device.mutex_create(1, 1).unwrap();
    assert_eq!(device.mutex_kill(mutex, 1), Ok(()));
    for (object, number) in [(semaphore, WAIT_ANY), (semaphore, WAIT_ALL), (mutex, WAIT_ANY)] {
        let pages = Pages::new();
        let fds = [object.0 as i32];
        let args = pages.last_holding(40, &WaitArgs::new(&any(&[object]), &fds));
        pages.make_read_only();
        assert_eq!(ioctl(device.fd(), number, args), Err(EFAULT));
    }
    check::semaphore(&device, semaphore, 0, 2);
    check::mutex(&device, mutex, OWNER, 1);
}

fn creation_writes_nothing() {
    let device = Device::open();
    for (number, args) in [(CREATE_SEM, [1u32, 2]), (CREATE_MUTEX, [1, 2]), (CREATE_EVENT, [7, 7])] {
        let pages = Pages::new();
        let place = pages.last_holding(8, &args);
        pages.make_read_only();
        assert!(ioctl(device.fd(), number, place).is_ok(), "{number:#x}");
    }
    // Nor does a kill.
    let mutex = device.mutex_create(OWNER, 1).unwrap();
    let pages = Pages::new();
    let owner = pages.last_holding(4, &OWNER);
    pages.make_read_only();
    assert_eq!(ioctl(mutex.0 as i32, MUTEX_KILL, owner), Ok(0));
    check::abandoned(&device, mutex);
}

fn a_refused_wait_needs_no_writable_arguments() {
    let device = Device::open();
    let event = device.event_create(0, 0).unwrap();
    let fds = [event.0 as i32];
    let pages = Pages::new();
    let args = pages.last_holding(40, &WaitArgs::new(&any(&[event]), &fds));
    pages.make_read_only();
    assert_eq!(ioctl(device.fd(), WAIT_ANY, args), Err(crate::face::ETIMEDOUT));
    assert_eq!(ioctl(device.fd(), WAIT_ALL, args), Err(crate::face::ETIMEDOUT));
    check::auto(&device, event, 0);
}

fn a_bad_array_of_descriptors_is_efault() {
    let device = Device::open();
    let semaphore = device.semaphore_create(2, 2).unwrap();
    let pages = Pages::new();
    let args = WaitArgs::new(&any(&[]), &[]);
    let at_the_end = pages.last_holding(4, &(semaphore.0 as i32)) as u64;
    for number in [WAIT_ANY, WAIT_ALL] {
        for pointer in bad_pointers(&pages) {
            let args = WaitArgs { objs: pointer as u64, count: 1, ..args };
            assert_eq!(args.run(device.fd(), number), Err(EFAULT));
        }
        // The first descriptor can be read, the second cannot.
        assert_eq!(WaitArgs { objs: at_the_end, count: 2, ..args }.run(device.fd(), number), Err(EFAULT));
        check::semaphore(&device, semaphore, 2, 2);
    }
    assert_eq!(WaitArgs { objs: at_the_end, count: 1, ..args }.run(device.fd(), WAIT_ANY), check::at(0));
    check::semaphore(&device, semaphore, 1, 2);
}
