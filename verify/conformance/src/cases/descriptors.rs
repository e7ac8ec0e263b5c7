// SPDX-License-Identifier: MIT OR Apache-2.0
//! Descriptors: what they refer to, how long that lives, and their other operations.

use std::fs::File;
use std::io::{Read, Write};
use std::mem::zeroed;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;

use crate::blocked::block;
use crate::case::{Case, case};
use crate::check::{self, ALL, at};
use crate::device::{Device, ioctl, last_errno, number::EVENT_SET, open_device};
use crate::face::{
    Deadline, EBADF, EINVAL, ENODEV, ENOTTY, ENXIO, EPERM, ESPIPE, ETIMEDOUT, Errno, Face, Object, Outcome, all, any,
};
use crate::process::Child;

pub(super) const CASES: &[Case] = &[
    case!(Device, the_device_opens_in_every_access_mode, "S-1101"),
    case!(Device, the_device_opens_through_openat, "S-1101"),
    case!(Device, each_open_is_an_instance_of_its_own, "S-103", "S-504"),
    case!(Device, a_copy_of_the_device_descriptor_is_the_same_instance, "S-103"),
    case!(Device, a_device_descriptor_sent_to_another_process_is_the_same_instance, "S-103", "S-104"),
    case!(Device, objects_outlive_the_device_descriptor, "S-105"),
    case!(Device, copies_of_a_descriptor_are_the_same_object, "S-106"),
    case!(Device, wait_all_sees_through_copies_of_a_descriptor, "S-106", "S-505"),
    case!(Device, an_object_sent_through_a_socket_is_the_same_object, "S-106", "S-505"),
    case!(Device, an_object_in_flight_lives, "S-107"),
    case!(Device, an_object_lives_as_long_as_any_copy, "S-107"),
    case!(Device, an_object_created_elsewhere_is_served_here, "S-104", "S-106"),
    case!(Device, a_new_object_gets_the_lowest_free_descriptor, "S-1102"),
    case!(Device, a_new_object_is_closed_on_exec, "S-1102"),
    case!(Device, a_closed_number_is_recycled_for_another_object, "S-1102", "S-106"),
    case!(Device, an_exhausted_descriptor_table_is_emfile, "S-1103"),
    case!(Device, copying_over_a_descriptor_does_not_change_a_wait_for_it, "S-811"),
    case!(Device, a_wait_goes_on_when_its_device_descriptor_is_closed, "S-811"),
    case!(Device, a_signal_through_another_copy_reaches_a_wait_whose_descriptor_is_closed, "S-811", "S-106"),
    case!(Device, a_descriptor_says_read_write_and_close_on_exec, "S-1104"),
    case!(Device, a_descriptor_calls_itself_ntsync, "S-1104"),
    case!(Device, an_object_cannot_be_opened_again_by_its_name, "S-1104"),
    case!(Device, fstat_of_an_object_shows_no_file, "S-1104"),
    case!(Device, fstat_of_the_device_shows_a_character_device, "S-1104"),
    case!(Device, reading_and_writing_an_object_is_refused, "S-1105"),
    case!(Device, reading_and_writing_the_device_is_refused, "S-1105"),
    case!(Device, seeking_is_refused, "S-1105"),
    case!(Device, mapping_truncating_and_syncing_are_refused, "S-1105"),
    case!(Device, poll_says_ready_whatever_the_state, "S-1106"),
    case!(Device, epoll_refuses_an_object, "S-1106"),
    case!(Device, other_ioctls_are_served_by_the_system, "S-1107"),
];

fn duplicate(fd: i32) -> i32 {
    // SAFETY: takes two numbers.
    let copy = unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 0) };
    assert!(copy >= 0);
    copy
}

fn object(fd: i32) -> Object {
    Object(fd as u64)
}

fn same(object: Object) -> Object {
    self::object(duplicate(object.0 as i32))
}

/// The result of a call that gives -1 and an error number.
fn checked(result: i64) -> Outcome<i64> {
    if result == -1 { Err(last_errno()) } else { Ok(result) }
}

/// Sends a descriptor through a socket.
fn send(socket: &UnixStream, fd: i32) {
    with_control_message(|message| {
        // SAFETY: the control buffer that `message` points to has room for one descriptor.
        unsafe {
            let header = libc::CMSG_FIRSTHDR(message);
            (*header).cmsg_level = libc::SOL_SOCKET;
            (*header).cmsg_type = libc::SCM_RIGHTS;
            (*header).cmsg_len = libc::CMSG_LEN(4) as _;
            libc::CMSG_DATA(header).cast::<i32>().write_unaligned(fd);
            assert_eq!(libc::sendmsg(socket.as_raw_fd(), message, 0), 1, "{:?}", last_errno());
        }
    });
}

/// Receives a descriptor that was sent with [`send`].
fn receive(socket: &UnixStream) -> i32 {
    let mut fd = -1;
    with_control_message(|message| {
        // SAFETY: the buffers that `message` points to live as long as this call.
        unsafe {
            assert_eq!(libc::recvmsg(socket.as_raw_fd(), message, libc::MSG_CMSG_CLOEXEC), 1, "{:?}", last_errno());
            let header = libc::CMSG_FIRSTHDR(message);
            assert!(!header.is_null(), "a descriptor came along");
            fd = libc::CMSG_DATA(header).cast::<i32>().read_unaligned();
        }
    });
    fd
}

/// Runs `transfer` with a message of one byte and room for one descriptor.
fn with_control_message(transfer: impl FnOnce(&mut libc::msghdr)) {
    let mut byte = [b'x'];
    let mut control = [0u64; 8];
    let mut part = libc::iovec { iov_base: byte.as_mut_ptr().cast(), iov_len: 1 };
    // SAFETY: a message header of zeroes is an empty one.
    let mut message: libc::msghdr = unsafe { zeroed() };
    message.msg_iov = &mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    // SAFETY: only computes a size.
    message.msg_controllen = unsafe { libc::CMSG_SPACE(4) } as _;
    transfer(&mut message);
}

fn the_device_opens_in_every_access_mode() {
    for flags in [libc::O_RDONLY, libc::O_WRONLY, libc::O_RDWR, libc::O_RDONLY | libc::O_NONBLOCK] {
        let device = Device::from_fd(open_device(flags | libc::O_CLOEXEC).expect("it opens"));
        let event = device.event_create(0, 1).unwrap();
        assert_eq!(device.wait(&any(&[event])), at(0));
    }
}

fn the_device_opens_through_openat() {
    // SAFETY: the paths are C strings.
    let fds = unsafe {
        let directory = libc::open(c"/dev".as_ptr(), libc::O_DIRECTORY | libc::O_CLOEXEC);
        [
            libc::openat(libc::AT_FDCWD, c"/dev/ntsync".as_ptr(), libc::O_RDWR),
            libc::openat(directory, c"/dev/ntsync".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC),
            libc::openat(directory, c"ntsync".as_ptr(), libc::O_RDONLY),
        ]
    };
    for (fd, flags) in fds.into_iter().zip([0, libc::FD_CLOEXEC, 0]) {
        assert!(fd >= 0, "{fds:?}");
        // SAFETY: takes numbers only.
        assert_eq!(unsafe { libc::fcntl(fd, libc::F_GETFD) }, flags);
        let device = Device::from_fd(device_fd(fd));
        let event = device.event_create(0, 1).unwrap();
        assert_eq!(device.wait(&any(&[event])), at(0));
    }
}

fn each_open_is_an_instance_of_its_own() {
    let [first, second] = [Device::open(), Device::open()];
    let event = first.event_create(1, 1).unwrap();
    assert_eq!(second.wait(&any(&[event])), Err(EINVAL));
    // Operations on the object itself need no instance.
    assert_eq!(second.event_reset(event), Ok(1));
    assert_eq!(first.wait(&any(&[event])), Err(ETIMEDOUT));
}

fn a_copy_of_the_device_descriptor_is_the_same_instance() {
    let device = Device::open();
    let copy = Device::from_fd(device_fd(duplicate(device.fd())));
    let event = device.event_create(0, 1).unwrap();
    assert_eq!(copy.wait(&any(&[event])), at(0));
    let other = copy.event_create(0, 1).unwrap();
    drop(copy);
    assert_eq!(device.wait(&any(&[other])), at(0));
}

fn device_fd(fd: i32) -> OwnedFd {
    // SAFETY: the caller gives its own descriptor.
    unsafe { OwnedFd::from_raw_fd(fd) }
}

fn a_device_descriptor_sent_to_another_process_is_the_same_instance() {
    let (here, there) = UnixStream::pair().unwrap();
    // The child exists before the device: it can only know what it receives.
    let placeholder = Device::open();
    let child = Child::start(&placeholder, |_| {
        let device = Device::from_fd(device_fd(receive(&there)));
        let event = object(receive(&there));
        device.wait(&any(&[event]).forever())
    });
    let device = Device::open();
    let event = device.event_create(0, 0).unwrap();
    send(&here, device.fd());
    send(&here, event.0 as i32);
    child.still_sleeps();
    // It sleeps in the read or in the wait; either way the event reaches it.
    assert_eq!(device.event_set(event), Ok(0));
    assert_eq!(child.result(), at(0));
    check::auto(&device, event, 0);
}

fn objects_outlive_the_device_descriptor() {
    let device = Device::open();
    let semaphore = device.semaphore_create(1, 3).unwrap();
    let mutex = device.mutex_create(1, 1).unwrap();
    drop(device);
    let other = Device::open();
    assert_eq!(other.semaphore_release(semaphore, 1), Ok(1));
    check::semaphore(&other, semaphore, 2, 3);
    assert_eq!(other.mutex_unlock(mutex, 1), Ok(1));
    check::mutex(&other, mutex, 0, 0);
    assert_eq!(other.wait(&any(&[semaphore])), Err(EINVAL));
    check::semaphore(&other, semaphore, 2, 3);
}

fn copies_of_a_descriptor_are_the_same_object() {
    let device = Device::open();
    let semaphore = device.semaphore_create(0, 3).unwrap();
    let copy = same(semaphore);
    assert_eq!(device.semaphore_release(copy, 2), Ok(0));
    check::semaphore(&device, semaphore, 2, 3);
    assert_eq!(device.wait(&any(&[semaphore, copy])), at(0));
    check::semaphore(&device, copy, 1, 3);
    std::thread::scope(|scope| {
        assert_eq!(device.wait(&any(&[copy])), at(0));
        let sleeper = block(scope, &device, any(&[copy]).forever());
        assert_eq!(device.semaphore_release(semaphore, 1), Ok(0));
        check::semaphore(&device, copy, 0, 3);
        assert_eq!(sleeper.result(), at(0));
    });
}

fn wait_all_sees_through_copies_of_a_descriptor() {
    let device = Device::open();
    let semaphore = device.semaphore_create(3, 3).unwrap();
    let event = device.event_create(1, 1).unwrap();
    let copy = same(semaphore);
    assert_ne!(copy, semaphore);
    assert_eq!(device.wait(&all(&[semaphore, copy])), Err(EINVAL));
    assert_eq!(device.wait(&all(&[copy, event, semaphore])), Err(EINVAL));
    assert_eq!(device.wait(&all(&[event, semaphore]).alert(copy)), Err(EINVAL));
    check::semaphore(&device, semaphore, 3, 3);
    assert_eq!(device.wait(&all(&[event, copy])), ALL);
    check::semaphore(&device, semaphore, 2, 3);
    // An index of a duplicate is the lowest one, whatever the descriptor.
    let never = device.event_create(0, 0).unwrap();
    assert_eq!(device.wait(&any(&[never, copy, semaphore])), at(1));
    assert_eq!(device.wait(&any(&[semaphore]).alert(copy)), at(0));
    check::semaphore(&device, semaphore, 0, 3);
}

fn an_object_sent_through_a_socket_is_the_same_object() {
    let (here, there) = UnixStream::pair().unwrap();
    let device = Device::open();
    let mutex = device.mutex_create(0, 0).unwrap();
    send(&here, mutex.0 as i32);
    let received = object(receive(&there));
    assert_ne!(received, mutex);
    assert_eq!(device.wait(&any(&[received]).owner(5)), at(0));
    check::mutex(&device, mutex, 5, 1);
    assert_eq!(device.wait(&all(&[mutex, received]).owner(5)), Err(EINVAL));
    check::mutex(&device, received, 5, 1);
}

fn an_object_in_flight_lives() {
    let (here, there) = UnixStream::pair().unwrap();
    let device = Device::open();
    let semaphore = device.semaphore_create(2, 7).unwrap();
    send(&here, semaphore.0 as i32);
    assert_eq!(device.close(semaphore), Ok(()));
    // What is created meanwhile is something else.
    let others: Vec<Object> = (0..50).map(|_| device.semaphore_create(0, 1).unwrap()).collect();
    let received = object(receive(&there));
    check::semaphore(&device, received, 2, 7);
    assert_eq!(device.semaphore_release(received, 1), Ok(2));
    for other in others {
        check::semaphore(&device, other, 0, 1);
    }
}

fn an_object_lives_as_long_as_any_copy() {
    let device = Device::open();
    let mut last = device.semaphore_create(0, 9).unwrap();
    for count in 0..9 {
        let next = same(last);
        assert_eq!(device.close(last), Ok(()));
        device.event_create(0, 1).unwrap();
        assert_eq!(device.semaphore_release(next, 1), Ok(count));
        last = next;
    }
    // In another process as well.
    let child = Child::start(&device, |device| device.wait(&any(&[last])));
    assert_eq!(device.close(last), Ok(()));
    assert_eq!(child.result(), at(0));
}

fn an_object_created_elsewhere_is_served_here() {
    let (here, there) = UnixStream::pair().unwrap();
    let device = Device::open();
    let child = Child::start(&device, |device| {
        let semaphore = device.semaphore_create(1, 2).unwrap();
        send(&there, semaphore.0 as i32);
        let mut byte = [0];
        (&there).read_exact(&mut byte).unwrap();
        check::semaphore(device, semaphore, 2, 2);
        device.wait(&any(&[semaphore]))
    });
    let received = object(receive(&here));
    check::semaphore(&device, received, 1, 2);
    assert_eq!(device.semaphore_release(received, 1), Ok(1));
    (&here).write_all(b"x").unwrap();
    assert_eq!(child.result(), at(0));
    check::semaphore(&device, received, 1, 2);
    assert_eq!(device.wait(&any(&[received])), at(0));
}

fn a_new_object_gets_the_lowest_free_descriptor() {
    let device = Device::open();
    // Some numbers may be taken by what this process inherited.
    let objects = [(); 5].map(|()| {
        let lowest = File::open("/").unwrap().as_raw_fd();
        let object = device.event_create(0, 0).unwrap();
        assert_eq!(object.0 as RawFd, lowest);
        object
    });
    for freed in [3, 1] {
        assert_eq!(device.close(objects[freed]), Ok(()));
        assert_eq!(device.semaphore_create(0, 0), Ok(objects[freed]));
        check::semaphore(&device, objects[freed], 0, 0);
    }
}

fn a_new_object_is_closed_on_exec() {
    let device = Device::open();
    for created in [device.semaphore_create(0, 0), device.mutex_create(0, 0), device.event_create(0, 0)] {
        // SAFETY: takes two numbers.
        assert_eq!(unsafe { libc::fcntl(created.unwrap().0 as i32, libc::F_GETFD) }, libc::FD_CLOEXEC);
    }
}

fn a_closed_number_is_recycled_for_another_object() {
    let device = Device::open();
    let number = device.semaphore_create(0, 1).unwrap();
    for round in 0..20 {
        assert_eq!(device.close(number), Ok(()));
        assert_eq!(device.event_read(number), Err(EBADF));
        assert_eq!(device.wait(&any(&[number])), Err(EINVAL));
        if round % 2 == 0 {
            assert_eq!(device.event_create(1, 1), Ok(number));
            check::manual(&device, number, 1);
            assert_eq!(device.semaphore_read(number), Err(EINVAL));
            assert_eq!(device.wait(&any(&[number])), at(0));
        } else {
            assert_eq!(device.semaphore_create(round, 99), Ok(number));
            check::semaphore(&device, number, round, 99);
        }
    }
    // Over a number that stays open, another kind of file, and back.
    let event = device.event_create(0, 1).unwrap();
    let (socket, _other) = UnixStream::pair().unwrap();
    // SAFETY: the case owns both numbers.
    unsafe { libc::dup2(socket.as_raw_fd(), number.0 as i32) };
    assert_eq!(device.event_read(number), Err(ENOTTY));
    assert_eq!(device.wait(&any(&[number])), Err(EINVAL));
    // SAFETY: as above.
    unsafe { libc::dup2(event.0 as i32, number.0 as i32) };
    check::auto(&device, number, 1);
    assert_eq!(device.wait(&all(&[number, event])), Err(EINVAL));
}

fn an_exhausted_descriptor_table_is_emfile() {
    let device = Device::open();
    let limit = libc::rlimit { rlim_cur: 64, rlim_max: 64 };
    // SAFETY: the structure is read only.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) }, 0);
    let mut objects = Vec::new();
    let refused = loop {
        match device.event_create(1, 1) {
            Ok(object) => objects.push(object),
            Err(error) => break error,
        }
    };
    assert_eq!(refused, crate::face::EMFILE);
    assert_eq!(objects.last(), Some(&Object(63)), "every number up to the limit was used");
    for object in &objects {
        check::manual(&device, *object, 1);
    }
    let few: Vec<Object> = objects.iter().copied().take(20).collect();
    assert_eq!(device.wait(&all(&few)), ALL);
    assert_eq!(device.close(objects[5]), Ok(()));
    assert_eq!(device.event_create(1, 1), Ok(objects[5]));
}

fn copying_over_a_descriptor_does_not_change_a_wait_for_it() {
    let device = Device::open();
    let waited = device.event_create(0, 0).unwrap();
    let kept = same(waited);
    let other = device.event_create(1, 1).unwrap();
    std::thread::scope(|scope| {
        let sleeper = block(scope, &device, any(&[waited]).forever());
        // SAFETY: the case owns both numbers.
        assert!(unsafe { libc::dup2(other.0 as i32, waited.0 as i32) } >= 0);
        sleeper.still_sleeps();
        check::manual(&device, waited, 1);
        assert_eq!(device.event_set(kept), Ok(0));
        check::auto(&device, kept, 0);
        assert_eq!(sleeper.result(), at(0));
    });
}

fn a_wait_goes_on_when_its_device_descriptor_is_closed() {
    let device = Device::open();
    let copy = Device::from_fd(device_fd(duplicate(device.fd())));
    let event = device.event_create(0, 0).unwrap();
    std::thread::scope(|scope| {
        let sleeper = block(scope, &device, any(&[event]).forever());
        // SAFETY: closes the number under the running wait; only this case uses it, and opens nothing meanwhile.
        assert_eq!(unsafe { libc::close(device.fd()) }, 0);
        sleeper.still_sleeps();
        assert_eq!(copy.event_set(event), Ok(0));
        check::auto(&copy, event, 0);
        assert_eq!(sleeper.result(), at(0));
    });
    // Its number is closed already.
    std::mem::forget(device);
}

fn a_signal_through_another_copy_reaches_a_wait_whose_descriptor_is_closed() {
    let device = Device::open();
    let waited = device.semaphore_create(0, 1).unwrap();
    let kept = same(waited);
    std::thread::scope(|scope| {
        let sleeper = block(scope, &device, any(&[waited]).forever());
        assert_eq!(device.close(waited), Ok(()));
        sleeper.still_sleeps();
        assert_eq!(device.semaphore_release(kept, 1), Ok(0));
        check::semaphore(&device, kept, 0, 1);
        assert_eq!(sleeper.result(), at(0));
    });
    // The last copy closes, then the wait ends at its deadline.
    std::thread::scope(|scope| {
        let deadline = Deadline::in_ms(500);
        let sleeper = block(scope, &device, any(&[kept]).until(deadline));
        assert_eq!(device.close(kept), Ok(()));
        let new = device.semaphore_create(1, 1).unwrap();
        assert_eq!(sleeper.result(), Err(ETIMEDOUT));
        assert!(deadline.passed());
        check::semaphore(&device, new, 1, 1);
    });
}

fn a_descriptor_says_read_write_and_close_on_exec() {
    let device = Device::open();
    let event = device.event_create(0, 0).unwrap().0 as i32;
    // SAFETY: fcntl with these commands takes numbers only.
    unsafe {
        assert_eq!(libc::fcntl(event, libc::F_GETFL) & libc::O_ACCMODE, libc::O_RDWR);
        assert_eq!(libc::fcntl(event, libc::F_GETFD), libc::FD_CLOEXEC);
        assert_eq!(libc::fcntl(device.fd(), libc::F_GETFL) & libc::O_ACCMODE, libc::O_RDONLY);
        assert_eq!(libc::fcntl(device.fd(), libc::F_GETFD), libc::FD_CLOEXEC);
    }
}

fn link_of(fd: i32) -> String {
    std::fs::read_link(format!("/proc/self/fd/{fd}")).unwrap().to_str().unwrap().to_string()
}

fn a_descriptor_calls_itself_ntsync() {
    let device = Device::open();
    assert_eq!(link_of(device.fd()), "/dev/ntsync");
    for created in [device.semaphore_create(0, 0), device.mutex_create(0, 0), device.event_create(0, 0)] {
        assert_eq!(link_of(created.unwrap().0 as i32), "anon_inode:ntsync");
    }
}

fn an_object_cannot_be_opened_again_by_its_name() {
    let device = Device::open();
    let event = device.event_create(0, 0).unwrap();
    let path = std::ffi::CString::new(format!("/proc/self/fd/{}", event.0)).unwrap();
    // SAFETY: the path is a C string.
    assert_eq!(checked(unsafe { libc::open(path.as_ptr(), libc::O_RDWR | libc::O_CLOEXEC) }.into()), Err(ENXIO));
}

fn stat_of(fd: i32) -> libc::stat {
    // SAFETY: a stat of zeroes is a valid place for the answer.
    unsafe {
        let mut stat = zeroed();
        assert_eq!(libc::fstat(fd, &mut stat), 0);
        stat
    }
}

fn fstat_of_an_object_shows_no_file() {
    let device = Device::open();
    let [first, second] =
        [device.event_create(0, 0), device.mutex_create(0, 0)].map(|made| stat_of(made.unwrap().0 as i32));
    assert_eq!(first.st_mode, 0o600);
    assert_eq!(first.st_size, 0);
    assert_eq!((first.st_dev, first.st_ino), (second.st_dev, second.st_ino));
}

fn fstat_of_the_device_shows_a_character_device() {
    let stat = stat_of(Device::open().fd());
    assert_eq!(stat.st_mode, libc::S_IFCHR | 0o666);
    assert_eq!(libc::major(stat.st_rdev), 10);
}

fn transfer_errors(fd: i32) -> [Outcome<i64>; 4] {
    let mut byte = [0u8];
    let place = byte.as_mut_ptr().cast();
    // SAFETY: the place has room for the one byte.
    unsafe {
        [
            checked(libc::read(fd, place, 1) as i64),
            checked(libc::read(fd, place, 0) as i64),
            checked(libc::write(fd, place, 1) as i64),
            checked(libc::write(fd, place, 0) as i64),
        ]
    }
}

fn reading_and_writing_an_object_is_refused() {
    let device = Device::open();
    for created in [device.semaphore_create(1, 1), device.mutex_create(0, 0), device.event_create(1, 1)] {
        assert_eq!(transfer_errors(created.unwrap().0 as i32), [Err(EINVAL); 4]);
    }
}

fn reading_and_writing_the_device_is_refused() {
    let both = open_device(libc::O_RDWR | libc::O_CLOEXEC).unwrap();
    assert_eq!(transfer_errors(both.as_raw_fd()), [Err(EINVAL); 4]);
    let read_only = Device::open();
    assert_eq!(transfer_errors(read_only.fd()), [Err(EINVAL), Err(EINVAL), Err(EBADF), Err(EBADF)]);
}

fn seeking_is_refused() {
    let device = Device::open();
    let event = device.event_create(0, 0).unwrap();
    for fd in [device.fd(), event.0 as i32] {
        for whence in [libc::SEEK_SET, libc::SEEK_CUR, libc::SEEK_END] {
            // SAFETY: takes numbers only.
            assert_eq!(checked(unsafe { libc::lseek(fd, 0, whence) }), Err(ESPIPE), "{fd} {whence}");
        }
    }
    check::auto(&device, event, 0);
}

fn mapping_truncating_and_syncing_are_refused() {
    let device = Device::open();
    let event = device.event_create(0, 0).unwrap().0 as i32;
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping at an address of the system's choice hurts nobody, should it succeed.
    let mapped = unsafe { libc::mmap(std::ptr::null_mut(), 4096, protection, libc::MAP_SHARED, event, 0) };
    assert_eq!((mapped, last_errno()), (libc::MAP_FAILED, ENODEV));
    // SAFETY: both take numbers only.
    unsafe {
        assert_eq!(checked(libc::ftruncate(event, 0).into()), Err(EINVAL));
        assert_eq!(checked(libc::fsync(event).into()), Err(EINVAL));
    }
    check::auto(&device, object(event), 0);
}

fn poll_says_ready_whatever_the_state() {
    let device = Device::open();
    for signaled in [0, 1] {
        let event = device.event_create(0, signaled).unwrap();
        for fd in [device.fd(), event.0 as i32] {
            let mut entry = libc::pollfd { fd, events: libc::POLLIN | libc::POLLOUT, revents: 0 };
            // SAFETY: one entry is given.
            assert_eq!(unsafe { libc::poll(&mut entry, 1, 0) }, 1);
            assert_eq!(entry.revents, libc::POLLIN | libc::POLLOUT);
        }
        check::auto(&device, event, signaled);
    }
}

fn epoll_refuses_an_object() {
    let device = Device::open();
    let event = device.event_create(0, 1).unwrap().0 as i32;
    // SAFETY: the calls take numbers and one structure that is read only.
    unsafe {
        let epoll = libc::epoll_create1(libc::EPOLL_CLOEXEC);
        let mut wanted = libc::epoll_event { events: libc::EPOLLIN as u32, u64: 0 };
        assert_eq!(checked(libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, event, &mut wanted).into()), Err(EPERM));
    }
}

fn other_ioctls_are_served_by_the_system() {
    let device = Device::open();
    let event = device.event_create(0, 0).unwrap().0 as i32;
    let mut number = 1i32;
    let mut run = |fd: i32, request: u64| -> Outcome<i32> { ioctl(fd, request as u32, (&raw mut number).cast()) };
    let flags = |fd: i32| {
        // SAFETY: takes numbers only.
        unsafe { libc::fcntl(fd, libc::F_GETFD) }
    };
    for fd in [device.fd(), event] {
        assert_eq!(run(fd, u64::from(libc::FIONCLEX as u32)), Ok(0));
        assert_eq!(flags(fd), 0);
        assert_eq!(run(fd, u64::from(libc::FIOCLEX as u32)), Ok(0));
        assert_eq!(flags(fd), libc::FD_CLOEXEC);
        assert_eq!(run(fd, u64::from(libc::FIONBIO as u32)), Ok(0));
        for request in [libc::FIONREAD as u32, libc::FIOASYNC as u32, libc::TCGETS as u32] {
            assert_eq!(run(fd, u64::from(request)), Err(ENOTTY) as Result<i32, Errno>, "{request:#x}");
        }
    }
    assert_eq!(ioctl(event, EVENT_SET, (&raw mut number).cast()), Ok(0));
    assert_eq!(number, 0);
}
