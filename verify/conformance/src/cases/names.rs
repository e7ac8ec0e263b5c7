// SPDX-License-Identifier: MIT OR Apache-2.0
//! Objects by name.

use crate::case::{Case, case};
use crate::check::{self, at};
use crate::face::{EBADF, EINVAL, ENOENT, EPROTOTYPE, Errno, Face, Name, New, Object, Outcome, any};
use crate::process::Child;

pub(super) const CASES: &[Case] = &[
    case!(Holds, whoever_comes_second_opens_what_the_first_has_created, "S-112"),
    case!(Holds, processes_find_each_others_objects, "S-112"),
    case!(Holds, of_many_that_create_one_name_one_does, "S-112"),
    case!(Holds, a_name_ends_with_its_object, "S-113"),
    case!(Holds, the_names_of_the_dead_end_with_them, "S-113"),
    case!(Holds, case_matters_unless_it_is_ignored, "S-114"),
    case!(Holds, a_name_is_1_to_255_bytes, "S-114"),
    case!(Holds, a_name_leads_to_one_kind, "S-114"),
    case!(Holds, a_permanent_object_needs_no_holder, "S-115"),
    case!(Holds, a_permanent_object_survives_its_creator, "S-115"),
];

const AUTO: New = New::Event { manual: false, signaled: false };

fn exactly(text: &str) -> Name<'_> {
    Name { text: text.as_bytes(), ignores_case: false }
}

fn in_any_case(text: &str) -> Name<'_> {
    Name { ignores_case: true, ..exactly(text) }
}

#[track_caller]
fn created(outcome: Outcome<(Object, bool)>) -> Object {
    let (object, existed) = outcome.expect("it is created");
    assert!(!existed, "it existed");
    object
}

#[track_caller]
fn opened(outcome: Outcome<(Object, bool)>) -> Object {
    let (object, existed) = outcome.expect("it is opened");
    assert!(existed, "it was created");
    object
}

fn whoever_comes_second_opens_what_the_first_has_created(face: &dyn Face) {
    let semaphore = created(face.create_named(exactly("s"), New::Semaphore { count: 1, max: 2 }));
    let mutex = created(face.create_named(exactly("m"), New::Mutex { owner: 7, count: 1 }));
    let event = created(face.create_named(exactly("e"), New::Event { manual: true, signaled: true }));
    assert!(semaphore != mutex && mutex != event && event != semaphore);
    // What the second one asks for is of no account.
    assert!(opened(face.create_named(exactly("s"), New::Semaphore { count: 5, max: 5 })) == semaphore);
    assert!(opened(face.create_named(exactly("m"), New::Mutex { owner: 8, count: 2 })) == mutex);
    assert!(opened(face.create_named(exactly("e"), AUTO)) == event);
    check::semaphore(face, semaphore, 1, 2);
    check::mutex(face, mutex, 7, 1);
    check::manual(face, event, 1);
    assert!(face.open_named(exactly("m"), New::Mutex { owner: 0, count: 0 }) == Ok(mutex));
}

fn processes_find_each_others_objects(face: &dyn Face) {
    let (here, there) = (exactly("here"), exactly("there"));
    let event = created(face.create_named(here, AUTO));
    let child = Child::start(face, |face| {
        let event = face.open_named(here, AUTO)?;
        let other = created(face.create_named(there, AUTO));
        assert_eq!(face.event_set(event), Ok(0));
        face.wait(&any(&[other]).forever())
    });
    assert_eq!(face.wait(&any(&[event]).forever()), at(0));
    child.still_sleeps();
    let other = face.open_named(there, AUTO).expect("the child has created it");
    assert_eq!(face.event_set(other), Ok(0));
    assert_eq!(child.result(), at(0));
}

fn of_many_that_create_one_name_one_does(face: &dyn Face) {
    const CHILDREN: u32 = 8;
    let (go, done) = (face.event_create(1, 0).unwrap(), face.semaphore_create(0, CHILDREN).unwrap());
    let children: Vec<Child> = (0..CHILDREN)
        .map(|_| {
            Child::start(face, |face| {
                assert_eq!(face.wait(&any(&[go]).forever()), at(0));
                let (semaphore, existed) = face.create_named(exactly("all"), New::Semaphore { count: 0, max: 100 })?;
                assert!(face.semaphore_release(semaphore, 1).is_ok());
                if !existed {
                    assert!(face.semaphore_release(done, 1).is_ok());
                }
                // It lives as long as one of them.
                face.wait(&any(&[face.open_named(exactly("end"), AUTO)?]).forever())
            })
        })
        .collect();
    let end = created(face.create_named(exactly("end"), New::Event { manual: true, signaled: false }));
    assert_eq!(face.event_set(go), Ok(0));
    children.iter().for_each(Child::still_sleeps);
    check::semaphore(face, done, 1, CHILDREN);
    let all = face.open_named(exactly("all"), New::Semaphore { count: 0, max: 0 }).expect("they hold it");
    check::semaphore(face, all, CHILDREN, 100);
    assert_eq!(face.event_set(end), Ok(0));
    children.into_iter().for_each(|child| assert_eq!(child.result(), at(0)));
}

fn a_name_ends_with_its_object(face: &dyn Face) {
    let name = exactly("name");
    assert!(face.open_named(name, AUTO) == Err(ENOENT));
    type End = fn(&dyn Face, Object) -> Outcome<()>;
    let let_go: End = |face, event| face.let_go(event);
    let close: End = |face, event| face.close(event);
    for ends in [let_go, close] {
        let event = created(face.create_named(name, New::Event { manual: false, signaled: true }));
        assert_eq!(ends(face, event), Ok(()));
        assert!(face.open_named(name, AUTO) == Err(ENOENT));
        assert_eq!(face.event_read(event), Err(EBADF));
        let successor = created(face.create_named(name, AUTO));
        check::auto(face, successor, 0);
        // Each time that it is opened, it is held once more.
        assert!(opened(face.create_named(name, AUTO)) == successor && face.open_named(name, AUTO) == Ok(successor));
        for _ in 0..3 {
            check::auto(face, successor, 0);
            assert_eq!(face.let_go(successor), Ok(()));
        }
        assert!(face.open_named(name, AUTO) == Err(ENOENT));
    }
}

fn the_names_of_the_dead_end_with_them(face: &dyn Face) {
    let (ready, never) = (face.semaphore_create(0, 1).unwrap(), face.event_create(0, 0).unwrap());
    let name = exactly("name");
    for shared in [false, true] {
        let child = Child::start(face, |face| {
            let event = created(face.create_named(name, New::Event { manual: true, signaled: true }));
            if shared {
                assert_eq!(face.hold(event), Ok(()));
            }
            assert!(face.semaphore_release(ready, 1).is_ok());
            face.wait(&any(&[never]).forever())
        });
        assert_eq!(face.wait(&any(&[ready]).forever()), at(0));
        child.kill(face);
        assert!(face.open_named(name, AUTO) == Err(ENOENT));
        let event = created(face.create_named(name, AUTO));
        check::auto(face, event, 0);
        assert_eq!(face.let_go(event), Ok(()));
    }
}

fn case_matters_unless_it_is_ignored(face: &dyn Face) {
    let lower = created(face.create_named(exactly("local\\one"), AUTO));
    assert!(face.open_named(exactly("Local\\One"), AUTO) == Err(ENOENT));
    assert!(face.open_named(in_any_case("LOCAL\\ONE"), AUTO) == Ok(lower));
    assert!(opened(face.create_named(in_any_case("Local\\One"), AUTO)) == lower);
    let upper = created(face.create_named(exactly("Local\\One"), AUTO));
    assert!(upper != lower && face.open_named(exactly("local\\one"), AUTO) == Ok(lower));
    assert!([upper, lower].map(Ok).contains(&face.open_named(in_any_case("lOCAL\\oNE"), AUTO)));
    // Letters beyond ASCII are bytes.
    created(face.create_named(exactly("\u{c4}"), AUTO));
    assert!(face.open_named(in_any_case("\u{e4}"), AUTO) == Err(ENOENT));
}

fn a_name_is_1_to_255_bytes(face: &dyn Face) {
    let long = [b'x'; 256];
    for refused in [&long[..0], &long] {
        let name = Name { text: refused, ignores_case: false };
        assert!(face.create_named(name, AUTO).map(drop) == Err(EINVAL));
        assert!(face.open_named(name, AUTO) == Err(EINVAL));
    }
    for length in [1, 7, 8, 9, 254, 255] {
        let name = Name { text: &long[..length], ignores_case: false };
        let event = created(face.create_named(name, AUTO));
        assert!(face.open_named(name, AUTO) == Ok(event));
    }
    let rubbish = Name { text: &[0xff, 1, 0x80, b'\n'], ignores_case: false };
    let event = created(face.create_named(rubbish, AUTO));
    assert!(face.open_named(rubbish, AUTO) == Ok(event));
}

fn a_name_leads_to_one_kind(face: &dyn Face) {
    const NEW: [New; 3] = [New::Semaphore { count: 0, max: 1 }, New::Mutex { owner: 0, count: 0 }, AUTO];
    for (name, new) in ["one", "two", "three"].into_iter().zip(NEW) {
        let object = created(face.create_named(exactly(name), new));
        for other in NEW {
            let is_it = std::mem::discriminant(&other) == std::mem::discriminant(&new);
            let refused: Result<(), Errno> = if is_it { Ok(()) } else { Err(EPROTOTYPE) };
            assert!(face.create_named(exactly(name), other).map(drop) == refused);
            assert!(face.open_named(exactly(name), other).map(drop) == refused);
        }
        // Two of these have held it.
        (0..3).for_each(|_| assert_eq!(face.let_go(object), Ok(())));
        assert!(face.open_named(exactly(name), new) == Err(ENOENT));
    }
    for impossible in [New::Semaphore { count: 2, max: 1 }, New::Mutex { owner: 0, count: 1 }] {
        assert!(face.create_named(exactly("four"), impossible).map(drop) == Err(EINVAL));
    }
}

fn a_permanent_object_needs_no_holder(face: &dyn Face) {
    let name = exactly("name");
    let event = created(face.create_named(name, AUTO));
    assert_eq!(face.set_permanent(event, true), Ok(()));
    assert_eq!(face.set_permanent(event, true), Ok(()));
    assert_eq!(face.let_go(event), Ok(()));
    assert_eq!(face.event_set(event), Ok(0));
    assert!(face.open_named(name, AUTO) == Ok(event));
    assert_eq!(face.set_permanent(event, false), Ok(()));
    check::auto(face, event, 1);
    assert_eq!(face.let_go(event), Ok(()));
    assert!(face.open_named(name, AUTO) == Err(ENOENT));
    // It ends at once if nobody holds it by then, and by a close in any case.
    for ends in [|face: &dyn Face, event| face.set_permanent(event, false), |face: &dyn Face, event| face.close(event)]
    {
        let event = created(face.create_named(name, AUTO));
        assert_eq!(face.set_permanent(event, true), Ok(()));
        assert_eq!(face.let_go(event), Ok(()));
        assert_eq!(ends(face, event), Ok(()));
        assert_eq!(face.event_read(event), Err(EBADF));
        assert!(face.open_named(name, AUTO) == Err(ENOENT));
    }
    for permanent in [true, false] {
        assert_eq!(face.set_permanent(event, permanent), Err(EBADF));
    }
}

fn a_permanent_object_survives_its_creator(face: &dyn Face) {
    let (ready, never) = (face.semaphore_create(0, 1).unwrap(), face.event_create(0, 0).unwrap());
    let name = exactly("name");
    let child = Child::start(face, |face| {
        let event = created(face.create_named(name, New::Event { manual: false, signaled: true }));
        assert_eq!(face.set_permanent(event, true), Ok(()));
        assert!(face.semaphore_release(ready, 1).is_ok());
        face.wait(&any(&[never]).forever())
    });
    assert_eq!(face.wait(&any(&[ready]).forever()), at(0));
    child.kill(face);
    let event = opened(face.create_named(name, AUTO));
    check::auto(face, event, 1);
}
