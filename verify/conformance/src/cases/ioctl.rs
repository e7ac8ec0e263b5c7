// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ioctl numbers, kinds of descriptors, and which of several errors is reported.

use std::ffi::CStr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::null_mut;

use crate::case::{Case, case};
use crate::check::{self, at};
use crate::device::number::{
    CREATE_EVENT, CREATE_MUTEX, CREATE_SEM, EVENT_PULSE, EVENT_READ, EVENT_RESET, EVENT_SET, MUTEX_KILL, MUTEX_READ,
    MUTEX_UNLOCK, OF_DEVICE, OF_OBJECT, SEM_READ, SEM_RELEASE, WAIT_ALL, WAIT_ANY, encode,
};
use crate::device::{Arguments as _, Device, POISON, WaitArgs, ioctl, last_errno};
use crate::face::{
    Deadline, EBADF, EFAULT, EINVAL, EMFILE, ENOTTY, EPERM, ETIMEDOUT, Errno, Face, Object, Outcome, Satisfied, Wait,
    all, any,
};

pub(super) const CASES: &[Case] = &[
    case!(Device, the_numbers_are_those_of_the_published_interface, "S-1001"),
    case!(Device, a_number_of_another_size_or_direction_is_unknown, "S-1001"),
    case!(Device, unknown_numbers_are_enotty, "S-1001"),
    case!(Device, object_numbers_on_the_device_are_enotty, "S-1002"),
    case!(Device, device_numbers_on_an_object_are_enotty, "S-1002"),
    case!(Device, numbers_on_foreign_descriptors_are_enotty, "S-1002"),
    case!(Device, numbers_on_no_descriptor_are_ebadf, "S-1003"),
    case!(Device, numbers_on_a_path_descriptor_are_ebadf, "S-1003"),
    case!(Device, the_device_opened_as_a_path_serves_nothing, "S-1003", "S-503"),
    case!(Device, a_wait_refuses_descriptors_that_are_no_objects, "S-503", "S-507"),
    case!(Device, a_wait_refuses_objects_of_another_instance, "S-504", "S-507"),
    case!(Device, a_wait_refuses_unknown_flags, "S-508", "S-507"),
    case!(Device, a_wait_refuses_a_pad_that_is_not_zero, "S-508", "S-507"),
    case!(Device, a_wait_of_absurdly_many_objects_is_refused, "S-502"),
    case!(Device, a_wait_writes_only_the_index, "S-606"),
    case!(Device, an_alert_of_zero_is_no_alert, "S-707"),
    case!(Device, a_wait_of_nothing_needs_no_array, "S-604"),
    case!(Device, the_descriptors_come_first_then_the_type_then_the_pointer, "S-1004"),
    case!(Device, a_bad_pointer_comes_before_the_type_where_arguments_are_read, "S-1004"),
    case!(Device, the_type_comes_before_a_bad_pointer_where_nothing_is_read, "S-1004"),
    case!(Device, owner_zero_comes_before_not_the_owner, "S-1004"),
    case!(Device, a_bad_maximum_comes_before_the_descriptor_limit, "S-1004", "S-1103"),
    case!(Device, in_a_wait_flags_owner_and_count_come_before_the_array, "S-1005"),
    case!(Device, in_a_wait_the_array_comes_before_what_is_in_it, "S-1005"),
    case!(Device, in_a_wait_bad_objects_come_before_success, "S-1005", "S-507"),
];

/// A live object of each kind.
fn one_of_each(device: &Device) -> [Object; 3] {
    [device.semaphore_create(1, 2), device.mutex_create(1, 1), device.event_create(0, 1)].map(Outcome::unwrap)
}

fn pointer<T>(place: &mut T) -> *mut std::ffi::c_void {
    std::ptr::from_mut(place).cast()
}

fn raw_wait(device: &Device, number: u32, wait: &Wait, change: impl Fn(&mut WaitArgs)) -> Outcome<Satisfied> {
    let fds: Vec<i32> = wait.objects.iter().map(|object| object.0 as i32).collect();
    let mut args = WaitArgs::new(wait, &fds);
    change(&mut args);
    args.run(device.fd(), number)
}

fn open(path: &CStr, flags: i32) -> OwnedFd {
    // SAFETY: the path is a C string.
    let fd = unsafe { libc::open(path.as_ptr(), flags) };
    assert!(fd >= 0, "{path:?}: {:?}", last_errno());
    // SAFETY: the descriptor is new and nobody else's.
    unsafe { OwnedFd::from_raw_fd(fd) }
}

fn the_numbers_are_those_of_the_published_interface() {
    assert_eq!(OF_DEVICE, [0x40084e80, 0x40084e84, 0x40084e87, 0xc0284e82, 0xc0284e83]);
    let object = [SEM_RELEASE, MUTEX_UNLOCK, MUTEX_KILL, EVENT_SET, EVENT_RESET, EVENT_PULSE];
    assert_eq!(object, [0xc0044e81, 0xc0084e85, 0x40044e86, 0x80044e88, 0x80044e89, 0x80044e8a]);
    assert_eq!([SEM_READ, MUTEX_READ, EVENT_READ], [0x80084e8b, 0x80084e8c, 0x80084e8d]);
    assert_eq!(size_of::<WaitArgs>(), 40);
    // And they are served.
    let device = Device::open();
    let [semaphore, mutex, event] = one_of_each(&device);
    check::semaphore(&device, semaphore, 1, 2);
    check::mutex(&device, mutex, 1, 1);
    check::auto(&device, event, 1);
}

fn a_number_of_another_size_or_direction_is_unknown() {
    let device = Device::open();
    let [semaphore, mutex, event] = one_of_each(&device);
    let mut room = [1u32; 64];
    for number in OF_DEVICE.into_iter().chain(OF_OBJECT) {
        for other in [number ^ 0x4000_0000, number ^ 0x8000_0000, number ^ (4 << 16), number & !(0x3fff << 16)] {
            for fd in [device.fd(), semaphore.0 as i32, mutex.0 as i32, event.0 as i32] {
                assert_eq!(ioctl(fd, other, pointer(&mut room)), Err(ENOTTY), "{other:#x}");
            }
        }
    }
    assert_eq!(room, [1; 64]);
    check::semaphore(&device, semaphore, 1, 2);
    check::mutex(&device, mutex, 1, 1);
    check::auto(&device, event, 1);
}

fn unknown_numbers_are_enotty() {
    let device = Device::open();
    let objects = one_of_each(&device);
    let mut room = [0u32; 64];
    for number in [0x7f, 0x8e, 0x8f, 0xff, 0] {
        for (direction, size) in [(0, 0), (1, 8), (2, 8), (3, 8), (3, 40)] {
            let number = encode(direction, number, size);
            for fd in objects.map(|object| object.0 as i32).into_iter().chain([device.fd()]) {
                assert_eq!(ioctl(fd, number, pointer(&mut room)), Err(ENOTTY), "{number:#x}");
            }
        }
    }
}

fn object_numbers_on_the_device_are_enotty() {
    let device = Device::open();
    let mut room = [1u32; 64];
    for number in OF_OBJECT {
        assert_eq!(ioctl(device.fd(), number, pointer(&mut room)), Err(ENOTTY), "{number:#x}");
        assert_eq!(ioctl(device.fd(), number, null_mut()), Err(ENOTTY), "{number:#x}");
    }
}

fn device_numbers_on_an_object_are_enotty() {
    let device = Device::open();
    let mut room = [1u32; 64];
    for object in one_of_each(&device) {
        for number in OF_DEVICE {
            assert_eq!(ioctl(object.0 as i32, number, pointer(&mut room)), Err(ENOTTY), "{number:#x}");
            assert_eq!(ioctl(object.0 as i32, number, null_mut()), Err(ENOTTY), "{number:#x}");
        }
    }
}

fn numbers_on_foreign_descriptors_are_enotty() {
    let mut room = [1u32; 64];
    for path in [c"/dev/null", c"/dev/zero", c"/proc/self/exe", c"/"] {
        let file = open(path, libc::O_RDONLY | libc::O_CLOEXEC);
        for number in OF_DEVICE.into_iter().chain(OF_OBJECT) {
            assert_eq!(ioctl(file.as_raw_fd(), number, pointer(&mut room)), Err(ENOTTY), "{path:?} {number:#x}");
        }
    }
    assert_eq!(room, [1; 64]);
}

fn numbers_on_no_descriptor_are_ebadf() {
    let device = Device::open();
    let closed = device.event_create(0, 0).unwrap();
    assert_eq!(device.close(closed), Ok(()));
    let mut room = [1u32; 64];
    for number in OF_DEVICE.into_iter().chain(OF_OBJECT) {
        for fd in [-1, closed.0 as i32, 1 << 20, i32::MAX, i32::MIN] {
            assert_eq!(ioctl(fd, number, pointer(&mut room)), Err(EBADF), "{fd} {number:#x}");
        }
    }
}

fn numbers_on_a_path_descriptor_are_ebadf() {
    no_number_works_on(&open(c"/dev/null", libc::O_PATH | libc::O_CLOEXEC));
}

fn the_device_opened_as_a_path_serves_nothing() {
    let path = open(crate::device::PATH, libc::O_PATH | libc::O_CLOEXEC);
    no_number_works_on(&path);
    let device = Device::open();
    assert_eq!(device.wait(&any(&[Object(path.as_raw_fd() as u64)])), Err(EINVAL));
}

fn no_number_works_on(file: &OwnedFd) {
    let mut room = [1u32; 64];
    for number in OF_DEVICE.into_iter().chain(OF_OBJECT) {
        assert_eq!(ioctl(file.as_raw_fd(), number, pointer(&mut room)), Err(EBADF), "{number:#x}");
    }
    assert_eq!(room, [1; 64]);
}

fn a_wait_refuses_descriptors_that_are_no_objects() {
    let device = Device::open();
    let good = device.semaphore_create(1, 1).unwrap();
    let null = open(c"/dev/null", libc::O_RDONLY | libc::O_CLOEXEC);
    let path = open(c"/dev/null", libc::O_PATH | libc::O_CLOEXEC);
    for fd in [-1, i32::MIN, i32::MAX, 1 << 20, 0, 1, device.fd(), null.as_raw_fd(), path.as_raw_fd()] {
        let bad = Object(u64::from(fd as u32));
        for wait in [any(&[bad]), any(&[good, bad]), all(&[good, bad]), all(&[bad, good])] {
            assert_eq!(device.wait(&wait), Err(EINVAL), "{fd}");
        }
        if fd != 0 {
            assert_eq!(device.wait(&any(&[good]).alert(bad)), Err(EINVAL), "{fd}");
            assert_eq!(device.wait(&all(&[good]).alert(bad)), Err(EINVAL), "{fd}");
            assert_eq!(device.wait(&all(&[]).alert(bad)), Err(EINVAL), "{fd}");
        }
        check::semaphore(&device, good, 1, 1);
    }
}

fn a_wait_refuses_objects_of_another_instance() {
    let device = Device::open();
    let other = Device::open();
    let ours = device.semaphore_create(1, 1).unwrap();
    for theirs in [other.semaphore_create(1, 1), other.mutex_create(0, 0), other.event_create(1, 1)] {
        let theirs = theirs.unwrap();
        for wait in [any(&[theirs]), any(&[ours, theirs]), all(&[ours, theirs]), any(&[ours]).alert(theirs)] {
            assert_eq!(device.wait(&wait), Err(EINVAL), "{wait:?}");
            check::semaphore(&device, ours, 1, 1);
        }
        assert_eq!(other.wait(&any(&[ours])), Err(EINVAL));
        assert_eq!(other.wait(&any(&[theirs])), at(0));
    }
    check::semaphore(&device, ours, 1, 1);
}

fn a_wait_refuses_unknown_flags() {
    let device = Device::open();
    let semaphore = device.semaphore_create(1, 1).unwrap();
    for flags in [2, 3, 4, 0x100, 0x8000_0000, 0xffff_fffe, u32::MAX] {
        for number in [WAIT_ANY, WAIT_ALL] {
            let result = raw_wait(&device, number, &any(&[semaphore]), |args| args.flags = flags);
            assert_eq!(result, Err(EINVAL), "{flags:#x}");
            check::semaphore(&device, semaphore, 1, 1);
        }
    }
}

fn a_wait_refuses_a_pad_that_is_not_zero() {
    let device = Device::open();
    let semaphore = device.semaphore_create(1, 1).unwrap();
    for pad in [1, 0x8000_0000, u32::MAX] {
        for number in [WAIT_ANY, WAIT_ALL] {
            assert_eq!(raw_wait(&device, number, &any(&[semaphore]), |args| args.pad = pad), Err(EINVAL));
            check::semaphore(&device, semaphore, 1, 1);
        }
    }
}

fn a_wait_of_absurdly_many_objects_is_refused() {
    let device = Device::open();
    let semaphore = device.semaphore_create(1, 1).unwrap();
    for count in [65, 0x4000_0001, 0x8000_0000, u32::MAX] {
        for number in [WAIT_ANY, WAIT_ALL] {
            let result = raw_wait(&device, number, &any(&[semaphore]), |args| args.count = count);
            assert_eq!(result, Err(EINVAL), "{count:#x}");
            check::semaphore(&device, semaphore, 1, 1);
        }
    }
}

fn a_wait_writes_only_the_index() {
    let device = Device::open();
    let semaphore = device.semaphore_create(1, 1).unwrap();
    let fds = [semaphore.0 as i32];
    for (number, deadline) in [(WAIT_ANY, Deadline::Monotonic(7)), (WAIT_ALL, Deadline::Realtime(7))] {
        let before = WaitArgs::new(&any(&[semaphore]).until(deadline), &fds);
        let mut args = before;
        assert_eq!(ioctl(device.fd(), number, pointer(&mut args)), Ok(0));
        assert_eq!(args, WaitArgs { index: 0, ..before });
        let mut args = before;
        assert_eq!(ioctl(device.fd(), number, pointer(&mut args)), Err(ETIMEDOUT));
        assert_eq!(args, before);
        assert_eq!(fds, [semaphore.0 as i32]);
        assert_eq!(device.semaphore_release(semaphore, 1), Ok(0));
    }
}

/// An object whose descriptor is number 0 is an object like others, but cannot be an alert.
fn an_alert_of_zero_is_no_alert() {
    let device = Device::open();
    let event = device.event_create(0, 1).unwrap();
    // SAFETY: puts the object in the place of the standard input, which nobody reads here.
    assert_eq!(unsafe { libc::dup2(event.0 as i32, 0) }, 0);
    assert_eq!(device.wait(&any(&[]).alert(Object(0))), Err(ETIMEDOUT));
    check::auto(&device, event, 1);
    assert_eq!(device.wait(&any(&[Object(0)])), at(0));
    check::auto(&device, event, 0);
}

fn a_wait_of_nothing_needs_no_array() {
    let device = Device::open();
    for objs in [0, 1, u64::MAX] {
        assert_eq!(raw_wait(&device, WAIT_ANY, &any(&[]), |args| args.objs = objs), Err(ETIMEDOUT));
        assert_eq!(raw_wait(&device, WAIT_ALL, &all(&[]), |args| args.objs = objs), at(0));
    }
}

fn expect_null(fd: i32, numbers: &[u32], errno: Errno) {
    for number in numbers {
        assert_eq!(ioctl(fd, *number, null_mut()), Err(errno), "{number:#x}");
    }
}

fn the_descriptors_come_first_then_the_type_then_the_pointer() {
    let device = Device::open();
    let event = device.event_create(0, 0).unwrap();
    expect_null(-1, &OF_OBJECT, EBADF);
    expect_null(-1, &OF_DEVICE, EBADF);
    expect_null(device.fd(), &OF_OBJECT, ENOTTY);
    expect_null(event.0 as i32, &OF_DEVICE, ENOTTY);
    expect_null(device.fd(), &OF_DEVICE, EFAULT);
}

fn a_bad_pointer_comes_before_the_type_where_arguments_are_read() {
    let device = Device::open();
    let [semaphore, mutex, event] = one_of_each(&device);
    for object in [semaphore, mutex, event] {
        expect_null(object.0 as i32, &[SEM_RELEASE, MUTEX_UNLOCK, MUTEX_KILL], EFAULT);
    }
    check::semaphore(&device, semaphore, 1, 2);
    check::mutex(&device, mutex, 1, 1);
}

fn the_type_comes_before_a_bad_pointer_where_nothing_is_read() {
    let device = Device::open();
    let [semaphore, mutex, event] = one_of_each(&device).map(|object| object.0 as i32);
    let of_event = [EVENT_SET, EVENT_RESET, EVENT_PULSE, EVENT_READ];
    expect_null(semaphore, &of_event, EINVAL);
    expect_null(mutex, &of_event, EINVAL);
    expect_null(mutex, &[SEM_READ], EINVAL);
    expect_null(event, &[SEM_READ, MUTEX_READ], EINVAL);
    expect_null(semaphore, &[MUTEX_READ], EINVAL);
    expect_null(semaphore, &[SEM_READ], EFAULT);
    expect_null(mutex, &[MUTEX_READ], EFAULT);
    expect_null(event, &[EVENT_READ], EFAULT);
}

fn owner_zero_comes_before_not_the_owner() {
    let device = Device::open();
    let mutex = device.mutex_create(1, 1).unwrap();
    assert_eq!(device.mutex_unlock(mutex, 0), Err(EINVAL));
    assert_eq!(device.mutex_kill(mutex, 0), Err(EINVAL));
    assert_eq!(device.mutex_unlock(mutex, 2), Err(EPERM));
    assert_eq!(device.mutex_kill(mutex, 2), Err(EPERM));
    check::mutex(&device, mutex, 1, 1);
}

fn a_bad_maximum_comes_before_the_descriptor_limit() {
    let device = Device::open();
    let probe = device.event_create(0, 0).unwrap();
    let semaphore = device.semaphore_create(0, 1).unwrap();
    limit_descriptors(semaphore.0);
    assert_eq!(device.semaphore_create(2, 1), Err(EINVAL));
    assert_eq!(device.mutex_create(0, 1), Err(EINVAL));
    expect_null(device.fd(), &[CREATE_SEM, CREATE_MUTEX, CREATE_EVENT], EFAULT);
    assert_eq!(device.semaphore_create(1, 1), Err(EMFILE));
    assert_eq!(device.mutex_create(0, 0), Err(EMFILE));
    assert_eq!(device.event_create(0, 0), Err(EMFILE));
    // What exists works on, and a place that becomes free can be taken.
    assert_eq!(device.semaphore_release(semaphore, 1), Ok(0));
    assert_eq!(device.wait(&any(&[probe, semaphore])), at(1));
    assert_eq!(device.close(probe), Ok(()));
    let event = device.event_create(1, 1).unwrap();
    check::manual(&device, event, 1);
}

/// Allows descriptors up to `highest` only.
fn limit_descriptors(highest: u64) {
    let limit = libc::rlimit { rlim_cur: highest + 1, rlim_max: highest + 1 };
    // SAFETY: the structure is read only.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) }, 0);
}

fn in_a_wait_flags_owner_and_count_come_before_the_array() {
    let device = Device::open();
    let event = device.event_create(1, 1).unwrap();
    let mistakes: [fn(&mut WaitArgs); 4] =
        [|args| args.pad = 1, |args| args.flags = 2, |args| args.owner = 0, |args| args.count = 65];
    for number in [WAIT_ANY, WAIT_ALL] {
        for mistake in mistakes {
            let result = raw_wait(&device, number, &any(&[event]), |args| {
                args.objs = 1;
                mistake(args);
            });
            assert_eq!(result, Err(EINVAL));
        }
        assert_eq!(raw_wait(&device, number, &any(&[event]), |args| args.objs = 1), Err(EFAULT));
        assert_eq!(raw_wait(&device, number, &any(&[event]), |args| args.objs = 0), Err(EFAULT));
    }
}

fn in_a_wait_the_array_comes_before_what_is_in_it() {
    let device = Device::open();
    let event = device.event_create(1, 1).unwrap();
    // The alert is bad, and in a wait-all also a duplicate; but the array cannot be read.
    for number in [WAIT_ANY, WAIT_ALL] {
        for alert in [u32::MAX, event.0 as u32] {
            let result = raw_wait(&device, number, &any(&[event, event]), |args| {
                args.objs = 8;
                args.alert = alert;
            });
            assert_eq!(result, Err(EFAULT));
        }
    }
}

fn in_a_wait_bad_objects_come_before_success() {
    let device = Device::open();
    let semaphore = device.semaphore_create(9, 9).unwrap();
    let bad = Object(u64::from(POISON));
    let mut objects = vec![semaphore; 63];
    objects.push(bad);
    assert_eq!(device.wait(&any(&objects)), Err(EINVAL));
    assert_eq!(device.wait(&all(&objects)), Err(EINVAL));
    assert_eq!(device.wait(&any(&objects[..63]).alert(bad)), Err(EINVAL));
    check::semaphore(&device, semaphore, 9, 9);
}
