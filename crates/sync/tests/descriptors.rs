// SPDX-License-Identifier: MIT OR Apache-2.0
//! How long objects behind descriptors live: as long as the last copy, whoever has it and however its process ends.
#![cfg(target_os = "linux")]

use std::io::{Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};

use ntux_platform::protection::page_size;
use ntux_sync::inspect::View;
use ntux_sync::{Arena, Capacity, Error, Gone, New, Object};

const EVENT: New = New::Event { manual: false, signaled: false };
/// More objects than an arena could have locked one by one without being slow.
const MANY: usize = 600;

/// A child of `fork` holds copies of all descriptors until it ends, so these tests take turns.
fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn arena_file(objects: usize) -> OwnedFd {
    Arena::create_file(Capacity { objects: objects as u32, waiters: 4 }).unwrap()
}

fn create(arena: &Arena, via: &OwnedFd) -> ntux_sync::Result<OwnedFd> {
    arena.descriptor_create(&arena.waiter(), via.as_fd(), EVENT).map(|(fd, _)| fd)
}

fn object(fd: BorrowedFd<'_>) -> Object {
    Arena::identify(fd).unwrap().object.unwrap()
}

/// A child process that did its part and lives until it is killed.
struct Child {
    pid: libc::pid_t,
}

impl Child {
    /// Runs `part` in a child, and returns when it has ended.
    fn after(part: impl FnOnce()) -> Child {
        let (mut done, mut tell) = std::io::pipe().unwrap();
        // SAFETY: the child uses the arena, which is made for that, and ends by a signal.
        let pid = unsafe { libc::fork() };
        assert!(pid >= 0);
        if pid == 0 {
            let part = std::panic::AssertUnwindSafe(part);
            if std::panic::catch_unwind(part).is_err() {
                // SAFETY: ends the child without running what the parent registered for its own exit.
                unsafe { libc::_exit(1) };
            }
            tell.write_all(b"!").unwrap();
            drop(tell);
            loop {
                // SAFETY: sleeps until a signal comes.
                unsafe { libc::pause() };
            }
        }
        drop(tell);
        let mut answer = [0];
        assert_eq!(done.read(&mut answer).unwrap(), 1, "the child's part failed");
        Child { pid }
    }

    fn kill(self) {
        let mut status = 0;
        // SAFETY: our own child, and a valid place for the status.
        unsafe {
            assert_eq!(libc::kill(self.pid, libc::SIGKILL), 0);
            assert_eq!(libc::waitpid(self.pid, &mut status, 0), self.pid);
        }
        assert!(libc::WIFSIGNALED(status));
    }
}

/// Its numbers mean other files, or none, in the table that `/proc/self/fd` shows.
#[test]
fn a_thread_that_has_its_own_descriptors_makes_objects_through_them() {
    let _alone = alone();
    let thread = std::thread::spawn(|| {
        // SAFETY: this thread's own table.
        assert_eq!(unsafe { libc::unshare(libc::CLONE_FILES) }, 0);
        let fd = arena_file(16);
        let arena = Arena::map_for_descriptors(fd.as_fd()).unwrap();
        arena.can_make_descriptors(fd.as_fd()).unwrap();
        let waiter = arena.waiter();
        for _ in 0..3 {
            let (own, object) = arena.descriptor_create(&waiter, fd.as_fd(), EVENT).unwrap();
            let identity = Arena::identify(own.as_fd()).unwrap();
            assert_eq!((identity.file, identity.object), (arena.file(), Some(object)));
            arena.event_set(&waiter, object).unwrap();
        }
        assert_eq!(View::open(fd.as_fd()).unwrap().file(), arena.file());
    });
    thread.join().unwrap();
}

/// As if the program had closed the descriptor, and its number meant another file.
#[test]
fn through_a_descriptor_of_another_file_no_object_is_made() {
    let _alone = alone();
    let fd = arena_file(16);
    let arena = Arena::map_for_descriptors(fd.as_fd()).unwrap();
    let waiter = arena.waiter();
    let (null, other) = (std::fs::File::options().read(true).write(true).open("/dev/null").unwrap(), arena_file(16));
    // The first object of a thread is opened in another way than the later ones of a first thread.
    for _ in 0..2 {
        for via in [null.as_fd(), other.as_fd()] {
            let refused = arena.descriptor_create(&waiter, via, EVENT).map(drop);
            assert_eq!(refused, Err(Error::Os(libc::EBADF)));
        }
        arena.descriptor_create(&waiter, fd.as_fd(), EVENT).unwrap();
    }
    assert_eq!(Arena::identify(other.as_fd()).unwrap().object, None, "its offset is where it was");
}

#[test]
fn an_object_lives_as_long_as_its_last_copy() {
    let _alone = alone();
    let fd = arena_file(2);
    // Without a family: the kernel counts from the start.
    let arena = Arena::map(fd.as_fd()).unwrap();
    let (first, second) = (create(&arena, &fd).unwrap(), create(&arena, &fd).unwrap());
    let number = object(first.as_fd());
    assert_eq!(Arena::identify(second.as_fd()).unwrap().file, arena.file());
    assert_eq!(Arena::identify(fd.as_fd()).unwrap().object, None);
    let copy = first.try_clone().unwrap();
    drop(first);
    assert_eq!(create(&arena, &fd).err(), Some(Error::Exhausted));
    assert_eq!(arena.event_set(&arena.waiter(), number), Ok(false));
    assert_eq!(object(copy.as_fd()), number);
    drop(copy);
    let third = create(&arena, &fd).unwrap();
    assert_ne!(object(third.as_fd()), number);
    assert_eq!(arena.event_set(&arena.waiter(), number), Err(Error::NoSuchObject));
}

#[test]
fn closing_makes_the_kernel_count() {
    let _alone = alone();
    let fd = arena_file(MANY);
    let arena = Arena::map_for_descriptors(fd.as_fd()).unwrap();
    let mut all: Vec<_> = (0..MANY).map(|_| create(&arena, &fd).unwrap()).collect();
    assert_eq!(create(&arena, &fd).err(), Some(Error::Exhausted));
    let last = all.pop().unwrap();
    let (copy, number) = (last.try_clone().unwrap(), object(last.as_fd()));
    arena.closing(last.as_fd(), number);
    drop(last);
    assert_eq!(create(&arena, &fd).err(), Some(Error::Exhausted), "a copy is left");
    assert_eq!(arena.event_set(&arena.waiter(), number), Ok(false));
    drop(copy);
    all.push(create(&arena, &fd).unwrap());
    assert_ne!(object(all[MANY - 1].as_fd()), number);
    for fd in all {
        arena.closing(fd.as_fd(), object(fd.as_fd()));
    }
    assert!(!arena.answers_for_objects());
    let again: Vec<_> = (0..MANY).map(|_| create(&arena, &fd).unwrap()).collect();
    assert_eq!(again.len(), MANY);
    assert!(arena.answers_for_objects());
}

#[test]
fn a_killed_creator_leaves_nothing() {
    let _alone = alone();
    let fd = arena_file(MANY);
    let arena = Arena::map_for_descriptors(fd.as_fd()).unwrap();
    for _ in 0..3 {
        let creator = Child::after(|| {
            let own = Arena::map_for_descriptors(fd.as_fd()).unwrap();
            (0..MANY).for_each(|_| std::mem::forget(create(&own, &fd).unwrap()));
            std::mem::forget(own);
        });
        assert_eq!(create(&arena, &fd).err(), Some(Error::Exhausted), "its creator lives");
        creator.kill();
        // A killed child that had the parent's mapping leaves what it made, too.
        let heir = Child::after(|| (0..MANY).for_each(|_| std::mem::forget(create(&arena, &fd).unwrap())));
        assert_eq!(create(&arena, &fd).err(), Some(Error::Exhausted), "its creator lives");
        heir.kill();
    }
    let all: Vec<_> = (0..MANY).map(|_| create(&arena, &fd).unwrap()).collect();
    all.into_iter().for_each(|fd| arena.closing(fd.as_fd(), object(fd.as_fd())));
}

#[test]
fn who_created_an_object_is_known_until_its_place_is_another_s() {
    let _alone = alone();
    let fd = arena_file(4);
    let arena = Arena::map_for_descriptors(fd.as_fd()).unwrap();
    let (here, there) = std::os::unix::net::UnixStream::pair().unwrap();
    // One as its own family, with a lock as soon as it leaves; one without a family, with a lock from the start.
    let creator = Child::after(|| {
        let own = Arena::map_for_descriptors(fd.as_fd()).unwrap();
        for arena in [&own, &arena] {
            let made = create(arena, &fd).unwrap();
            Arena::leaving(made.as_fd());
            passing::send(&there, made.as_fd());
            std::mem::forget(made);
        }
        std::mem::forget(own);
    });
    let copies = [passing::receive(&here), passing::receive(&here)];
    copies.iter().for_each(|copy| assert!(arena.taken(copy.as_fd(), object(copy.as_fd()))));
    let mine = create(&arena, &fd).unwrap();
    let view = View::open(fd.as_fd()).unwrap();
    let creator_of = |fd: &OwnedFd| {
        let snapshot = view.snapshot().unwrap();
        let seen = snapshot.objects.iter().find(|seen| seen.object == object(fd.as_fd())).unwrap();
        seen.creator.map(|creator| snapshot.peer(creator).unwrap().process.pid as libc::pid_t)
    };
    let me = std::process::id() as libc::pid_t;
    let pid = creator.pid;
    assert_eq!(copies.each_ref().map(creator_of), [Some(pid); 2]);
    assert_eq!(creator_of(&mine), Some(me));
    creator.kill();
    assert_eq!(copies.each_ref().map(creator_of), [Some(pid); 2], "its place is still its own");
    arena.bury_process(pid as u32).unwrap();
    assert_eq!(copies.each_ref().map(creator_of), [None; 2], "its place may be another's");
    assert_eq!(creator_of(&mine), Some(me));
}

#[test]
fn copies_in_forked_children_keep_the_objects_of_a_killed_creator() {
    let _alone = alone();
    let fd = arena_file(1);
    let arena = Arena::map_for_descriptors(fd.as_fd()).unwrap();
    let (mut told, mut tell) = std::io::pipe().unwrap();
    let creator = Child::after(|| {
        let own = Arena::map_for_descriptors(fd.as_fd()).unwrap();
        std::mem::forget(create(&own, &fd).unwrap());
        let heir = Child::after(|| {});
        tell.write_all(&heir.pid.to_ne_bytes()).unwrap();
        std::mem::forget(own);
    });
    let mut pid = [0; 4];
    told.read_exact(&mut pid).unwrap();
    creator.kill();
    assert_eq!(create(&arena, &fd).err(), Some(Error::Exhausted), "the creator's child has a copy");
    // SAFETY: the grandchild, whose number nobody else can have yet: it was alive a moment ago.
    unsafe { libc::kill(i32::from_ne_bytes(pid), libc::SIGKILL) };
    // It is not our child, so its end cannot be waited for.
    let found = (0..10_000).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(1));
        create(&arena, &fd).is_ok()
    });
    assert!(found, "the last copy is gone");
}

#[test]
fn a_copy_that_left_keeps_the_object_of_a_killed_creator() {
    let _alone = alone();
    for counts in [true, false] {
        let fd = arena_file(1);
        let arena = Arena::map_for_descriptors(fd.as_fd()).unwrap();
        let (here, there) = std::os::unix::net::UnixStream::pair().unwrap();
        let creator = Child::after(|| {
            let own = Arena::map_for_descriptors(fd.as_fd()).unwrap();
            let made = create(&own, &fd).unwrap();
            if counts {
                Arena::leaving(made.as_fd());
            }
            passing::send(&there, made.as_fd());
            std::mem::forget((own, made));
        });
        if counts {
            creator.kill();
            assert_eq!(create(&arena, &fd).err(), Some(Error::Exhausted), "in flight");
        } else {
            // It came by a way that its creator did not see; the receiver counts it.
            let copy = passing::receive(&here);
            arena.received(copy.as_fd(), object(copy.as_fd()));
            creator.kill();
            assert_eq!(create(&arena, &fd).err(), Some(Error::Exhausted), "received");
            passing::send(&there, copy.as_fd());
        }
        let copy = passing::receive(&here);
        assert_eq!(arena.event_set(&arena.waiter(), object(copy.as_fd())), Ok(false));
        arena.closing(copy.as_fd(), object(copy.as_fd()));
        drop(copy);
        assert!(create(&arena, &fd).is_ok());
    }
}

#[test]
fn a_child_without_a_family_leaves_the_counting_to_the_founder() {
    let _alone = alone();
    let fd = arena_file(1);
    let arena = Arena::map_for_descriptors(fd.as_fd()).unwrap();
    let made = create(&arena, &fd).unwrap();
    let child = Child::after(|| arena.closing(made.as_fd(), object(made.as_fd())));
    assert!(arena.answers_for_objects(), "not counted");
    child.kill();
    arena.closing(made.as_fd(), object(made.as_fd()));
    assert!(!arena.answers_for_objects());
    drop(made);
    assert!(create(&arena, &fd).is_ok());
}

#[test]
fn a_family_number_is_used_again_only_when_nothing_is_left_of_it() {
    let _alone = alone();
    const ROUNDS: usize = 2 * 4096;
    let fd = arena_file(2);
    let lasting = Arena::map_for_descriptors(fd.as_fd()).unwrap();
    let kept = create(&lasting, &fd).unwrap();
    for _ in 0..ROUNDS {
        let arena = Arena::map_for_descriptors(fd.as_fd()).unwrap();
        drop(create(&arena, &fd).unwrap());
    }
    assert_eq!(lasting.event_set(&lasting.waiter(), object(kept.as_fd())), Ok(false));
    assert!(create(&lasting, &fd).is_ok());
}

/// Returns whether some description holds one of the two bytes that stand for an object. `via` holds none.
fn is_counted(via: &OwnedFd, object: Object) -> bool {
    // SAFETY: flock is made of integers, for which zero is a value.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = libc::F_WRLCK as _;
    lock.l_start = (1 << 62) + 2 * (object.0 as u32 as i64);
    lock.l_len = 2;
    // SAFETY: a valid request, and a place for the answer.
    assert_eq!(unsafe { libc::fcntl(via.as_raw_fd(), libc::F_OFD_GETLK, &mut lock) }, 0);
    i32::from(lock.l_type) != libc::F_UNLCK
}

/// An arena that another process would map: a family of its own. Its end is like that process's.
fn family(fd: &OwnedFd) -> Arena {
    Arena::map_for_descriptors(fd.as_fd()).unwrap()
}

/// Sends and receives; the receiver takes note of it.
fn hand_over(from: &Arena, fd: BorrowedFd<'_>, to: &Arena) -> OwnedFd {
    let (here, there) = std::os::unix::net::UnixStream::pair().unwrap();
    from.sending(fd, object(fd));
    passing::send(&there, fd);
    let copy = passing::receive(&here);
    to.arrived(copy.as_fd(), object(copy.as_fd()));
    copy
}

fn close(arena: &Arena, fd: OwnedFd) {
    arena.closing(fd.as_fd(), object(fd.as_fd()));
}

#[test]
fn only_a_message_on_its_way_is_counted() {
    let _alone = alone();
    let fd = arena_file(1);
    let (sender, receiver) = (family(&fd), family(&fd));
    let made = create(&sender, &fd).unwrap();
    let number = object(made.as_fd());
    assert!(!is_counted(&fd, number));
    let (here, there) = std::os::unix::net::UnixStream::pair().unwrap();
    sender.sending(made.as_fd(), number);
    passing::send(&there, made.as_fd());
    assert!(is_counted(&fd, number));
    let copy = passing::receive(&here);
    assert!(is_counted(&fd, number));
    receiver.arrived(copy.as_fd(), number);
    assert!(!is_counted(&fd, number));
    // First use.
    receiver.received(copy.as_fd(), number);
    assert!(!is_counted(&fd, number));
    assert!(sender.answers_for_objects() && receiver.answers_for_objects());
    drop((sender, made));
    assert_eq!(create(&receiver, &fd).err(), Some(Error::Exhausted), "the receiver has it");
    assert_eq!(receiver.event_set(&receiver.waiter(), number), Ok(false));
    close(&receiver, copy);
    assert!(create(&receiver, &fd).is_ok());
}

#[test]
fn every_order_of_ends() {
    let _alone = alone();
    for sender_first in [true, false] {
        for killed in [true, false] {
            let fd = arena_file(1);
            let (sender, receiver, third) = (family(&fd), family(&fd), family(&fd));
            let made = create(&sender, &fd).unwrap();
            let copy = hand_over(&sender, made.as_fd(), &receiver);
            let pairs = [(sender, made), (receiver, copy)];
            let [first, second] = if sender_first {
                pairs
            } else {
                let [a, b] = pairs;
                [b, a]
            };
            for (last, (arena, copy)) in [(false, first), (true, second)] {
                if !killed {
                    arena.closing(copy.as_fd(), object(copy.as_fd()));
                }
                drop((arena, copy));
                let again = create(&third, &fd);
                assert_eq!(again.is_ok(), last, "the sender first: {sender_first}, killed: {killed}");
            }
        }
    }
}

#[test]
fn messages_that_nobody_receives_end_with_their_socket() {
    let _alone = alone();
    let fd = arena_file(1);
    let (sender, other) = (family(&fd), family(&fd));
    let (here, there) = std::os::unix::net::UnixStream::pair().unwrap();
    let made = create(&sender, &fd).unwrap();
    for _ in 0..3 {
        sender.sending(made.as_fd(), object(made.as_fd()));
        passing::send(&there, made.as_fd());
    }
    drop((made, sender));
    assert_eq!(create(&other, &fd).err(), Some(Error::Exhausted), "in flight");
    let copy = passing::receive(&here);
    let number = object(copy.as_fd());
    assert!(other.arrived(copy.as_fd(), number));
    drop(copy);
    other.released(number);
    drop(passing::receive(&here));
    assert_eq!(create(&other, &fd).err(), Some(Error::Exhausted), "one is in flight");
    drop(here);
    drop(there);
    assert!(create(&other, &fd).is_ok());
}

#[test]
fn the_last_of_several_messages_lets_go_of_the_byte() {
    let _alone = alone();
    let fd = arena_file(1);
    let (sender, receiver, third) = (family(&fd), family(&fd), family(&fd));
    let made = create(&sender, &fd).unwrap();
    let number = object(made.as_fd());
    let (here, there) = std::os::unix::net::UnixStream::pair().unwrap();
    for _ in 0..3 {
        assert!(sender.sending(made.as_fd(), number));
        passing::send(&there, made.as_fd());
    }
    let receive = || {
        let copy = passing::receive(&here);
        assert!(receiver.arrived(copy.as_fd(), number));
        copy
    };
    let copies = [receive(), receive()];
    assert!(is_counted(&fd, number), "one is on its way");
    for copy in copies.into_iter().chain([receive()]) {
        assert_eq!(receiver.event_set(&receiver.waiter(), number), Ok(false));
        assert!(receiver.event_reset(&receiver.waiter(), number).unwrap() && receiver.may_release(number));
        drop(copy);
        receiver.released(number);
    }
    assert!(!is_counted(&fd, number));
    // One that is refused, and one of which nobody hears again.
    assert!(sender.sending(made.as_fd(), number));
    sender.unsent(made.as_fd(), number);
    assert!(!is_counted(&fd, number));
    assert!(sender.sending(made.as_fd(), number));
    passing::send(&there, made.as_fd());
    drop((sender, made));
    assert_eq!(create(&third, &fd).err(), Some(Error::Exhausted), "in flight");
    drop((here, there));
    assert!(create(&third, &fd).is_ok());
}

#[test]
fn copies_are_counted_and_the_last_one_ends_the_object() {
    let _alone = alone();
    let fd = arena_file(1);
    let arena = family(&fd);
    let made = create(&arena, &fd).unwrap();
    let number = object(made.as_fd());
    let mut copies = vec![made];
    for _ in 0..61 {
        assert!(arena.copying(number));
        copies.push(copies[0].try_clone().unwrap());
    }
    // One that could not be made.
    assert!(arena.may_release(number) && arena.copying(number) && !arena.may_release(number), "too many to count");
    let last = copies.pop().unwrap();
    close_all(&arena, copies);
    assert!(is_counted(&fd, number));
    assert_eq!(create(&arena, &fd).err(), Some(Error::Exhausted));
    drop(last);
    let made = create(&arena, &fd).unwrap();
    let number = object(made.as_fd());
    assert!(arena.copying(number));
    let copy = made.try_clone().unwrap();
    drop(made);
    arena.released(number);
    assert!(!is_counted(&fd, number) && arena.event_set(&arena.waiter(), number) == Ok(false));
    drop(copy);
    arena.released(number);
    assert_eq!(arena.event_set(&arena.waiter(), number), Err(Error::NoSuchObject));
}

fn close_all(arena: &Arena, copies: Vec<OwnedFd>) {
    copies.into_iter().for_each(|copy| close(arena, copy));
}

#[test]
fn a_child_s_family_keeps_what_it_has_inherited() {
    let _alone = alone();
    for killed in [true, false] {
        let fd = arena_file(1);
        let (arena, third) = (family(&fd), family(&fd));
        let made = create(&arena, &fd).unwrap();
        let number = object(made.as_fd());
        let page = arena.found_for_child(fd.as_fd()).unwrap();
        let gone = Gone::default();
        arena.inherit(made.as_fd(), number, page.family(), true, &gone);
        let (family, address) = page.into_parts();
        let child = Child::after(|| {
            // SAFETY: one thread uses the arena; the page was founded for this child.
            unsafe { arena.take_family(family, address) };
            assert!(arena.may_release(number) && arena.event_set(&arena.waiter(), number) == Ok(false));
            if !killed {
                // SAFETY: its own copy.
                unsafe { libc::close(made.as_raw_fd()) };
                arena.released(number);
            }
        });
        // SAFETY: what a process does that has forked: the page is the child's.
        unsafe { libc::munmap(address as *mut libc::c_void, page_size()) };
        assert!(arena.may_release(number), "the parent has one");
        if killed {
            child.kill();
            arena.bury_claims(made.as_fd(), number, &gone);
            drop(made);
            arena.released(number);
        } else {
            drop(made);
            arena.released(number);
            child.kill();
        }
        assert_eq!(arena.event_set(&arena.waiter(), number), Err(Error::NoSuchObject), "killed: {killed}");
        assert!(create(&third, &fd).is_ok());
    }
}

#[test]
fn who_gets_it_when_there_is_no_place_for_a_claim_leaves_it_counted() {
    let _alone = alone();
    let fd = arena_file(1);
    let families: Vec<_> = (0..6).map(|_| family(&fd)).collect();
    let made = create(&families[0], &fd).unwrap();
    let number = object(made.as_fd());
    let mut copies: Vec<_> = families[1..5].iter().map(|to| hand_over(&families[0], made.as_fd(), to)).collect();
    assert!(!is_counted(&fd, number));
    // Back to who has it already: no further claim.
    copies.push(hand_over(&families[2], copies[1].as_fd(), &families[1]));
    copies.push(hand_over(&families[2], copies[1].as_fd(), &families[0]));
    assert!(!is_counted(&fd, number));
    copies.push(hand_over(&families[1], copies[0].as_fd(), &families[5]));
    assert!(is_counted(&fd, number));
    let last = copies.pop().unwrap();
    drop((families, made, copies));
    let other = family(&fd);
    assert_eq!(create(&other, &fd).err(), Some(Error::Exhausted));
    drop(last);
    assert!(create(&other, &fd).is_ok());
}

#[test]
fn a_sender_that_has_no_claim_counts() {
    let _alone = alone();
    let fd = arena_file(1);
    let (sender, stranger, receiver) = (family(&fd), family(&fd), family(&fd));
    let made = create(&sender, &fd).unwrap();
    let number = object(made.as_fd());
    // It came by a way that nobody saw.
    let stolen = made.try_clone().unwrap();
    let copy = hand_over(&stranger, stolen.as_fd(), &receiver);
    assert!(is_counted(&fd, number));
    drop((sender, made, receiver, copy));
    assert_eq!(create(&stranger, &fd).err(), Some(Error::Exhausted));
    drop(stolen);
    assert!(create(&stranger, &fd).is_ok());
}

#[test]
fn claims_go_to_the_next_object_and_the_next_family_of_a_number_by_no_way() {
    let _alone = alone();
    const ROUNDS: usize = 2 * 4096;
    let fd = arena_file(3);
    let (sender, receiver, lasting) = (family(&fd), family(&fd), family(&fd));
    let given = create(&sender, &fd).unwrap();
    let kept = hand_over(&sender, given.as_fd(), &receiver);
    // Only the receiver of this one ends.
    let own = create(&lasting, &fd).unwrap();
    let passed = hand_over(&lasting, own.as_fd(), &sender);
    drop((passed, given, sender));
    for _ in 0..ROUNDS {
        drop(family(&fd));
    }
    // All numbers were used again meanwhile.
    assert_eq!(receiver.event_set(&receiver.waiter(), object(kept.as_fd())), Ok(false));
    assert!(receiver.answers_for_objects() && lasting.answers_for_objects());
    let third = create(&lasting, &fd).unwrap();
    assert_eq!(create(&lasting, &fd).err(), Some(Error::Exhausted));
    drop((receiver, kept));
    let successor = create(&lasting, &fd).unwrap();
    let newcomers: Vec<_> = (0..8).map(|_| family(&fd)).collect();
    assert!(newcomers.iter().all(|newcomer| !newcomer.answers_for_objects()));
    close(&lasting, successor);
    close(&lasting, own);
    close(&lasting, third);
    assert!((0..3).map(|_| create(&newcomers[0], &fd)).collect::<Result<Vec<_>, _>>().is_ok());
}

/// Descriptors in messages.
mod passing {
    use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
    use std::os::unix::net::UnixStream;

    #[repr(C, align(8))]
    struct Control([u8; 24]);

    fn with_message<R>(control: &mut Control, work: impl FnOnce(*mut libc::msghdr) -> R) -> R {
        let mut byte = [b'!'];
        let mut vector = libc::iovec { iov_base: byte.as_mut_ptr().cast(), iov_len: 1 };
        // SAFETY: msghdr is made of integers and pointers, for which zero is a value.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        message.msg_iov = &mut vector;
        message.msg_iovlen = 1;
        message.msg_control = control.0.as_mut_ptr().cast();
        message.msg_controllen = control.0.len();
        work(&mut message)
    }

    pub fn send(socket: &UnixStream, fd: BorrowedFd<'_>) {
        let mut control = Control([0; 24]);
        control.0[..8].copy_from_slice(&20u64.to_ne_bytes());
        control.0[8..12].copy_from_slice(&libc::SOL_SOCKET.to_ne_bytes());
        control.0[12..16].copy_from_slice(&libc::SCM_RIGHTS.to_ne_bytes());
        control.0[16..20].copy_from_slice(&fd.as_raw_fd().to_ne_bytes());
        // SAFETY: a whole message with one descriptor, alive during the call.
        let sent = with_message(&mut control, |message| unsafe { libc::sendmsg(socket.as_raw_fd(), message, 0) });
        assert_eq!(sent, 1);
    }

    pub fn receive(socket: &UnixStream) -> OwnedFd {
        let mut control = Control([0; 24]);
        let flags = libc::MSG_CMSG_CLOEXEC;
        // SAFETY: a whole message with room for one descriptor, alive during the call.
        let got = with_message(&mut control, |message| unsafe { libc::recvmsg(socket.as_raw_fd(), message, flags) });
        assert_eq!(got, 1);
        let fd = RawFd::from_ne_bytes(control.0[16..20].try_into().unwrap());
        // SAFETY: the kernel has just given this descriptor to us.
        unsafe { OwnedFd::from_raw_fd(fd) }
    }
}
