// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names: two that create an object by one name, names that end with their objects, creators that die.

use ntux_sync::spec::{BY_NAME, Name};

use super::timed;
use crate::program::{
    Call, Program, auto, bury_process, close, create_named, hold, mutex, open, permanent, release, sem, set, temporary,
};

/// Objects that threads get by name.
pub(super) fn names() -> Vec<Program> {
    const A: Name = Name::exactly("a");
    const B: Name = Name::exactly("b");
    const C: Name = Name::exactly("c");
    let event = auto(false);
    let semaphore = sem(0);
    // Each makes it, if it is not there, and uses it.
    let create = |name: Name| create_named(name, &auto(false));
    let get = |name: Name| open(name, &auto(false));
    let make = |name: Name| [create(name), set(BY_NAME)];
    let named = |name: &str, threads: &[&[Call]]| Program { room: 3, ..Program::new(name, &[], threads) };
    let let_go = || release(BY_NAME);
    vec![
        named("name-two", &[&make(A), &make(A)]),
        // Two places for names: the third may find none.
        named("name-three", &[&[create(A)], &[create(A)], &[create(A)]]).with_few_places(),
        named("name-open", &[&make(A), &[get(A), set(BY_NAME)]]),
        named("name-other", &[&make(A), &make(B), &[get(A)]]),
        named("name-case", &[&make(Name::in_any_case("a")), &make(Name::in_any_case("A")), &[get(Name::exactly("A"))]]),
        named("name-kind", &[&[create(A)], &[create_named(A, &semaphore), get(A)]]),
        named("name-wrong", &[&[create_named(A, &sem(4))], &[create(A)]]),
        // The name ends with its object, and can be another one's.
        named("name-release", &[&[create(A), let_go()], &[create(A), set(BY_NAME)]]),
        named("name-release-open", &[&[create(A), let_go()], &[get(A), set(BY_NAME)]]),
        named("name-again", &[&[create(A), let_go(), create(A)], &[get(A), set(BY_NAME)]]),
        named("name-close", &[&[create(A), close(BY_NAME)], &make(A)]),
        named("name-place", &[&[create(A), close(BY_NAME), create(A)], &[create(B), close(BY_NAME), create(B)]]),
        named("name-stale", &[&[create(A), close(BY_NAME)], &[create(B)], &[get(B)]]),
        named("name-reserved", &[&[create(A), close(BY_NAME)], &[create(B)], &[create(C)]]).with_few_places(),
        // A wait keeps it, and an owner does.
        named("name-wait", &[&[create(A), let_go()], &[get(A), timed(&[BY_NAME])], &[get(A), set(BY_NAME)]]),
        named("name-owned", &[&[create_named(A, &mutex(1, 1)), let_go()], &[create_named(A, &mutex(2, 1))]]),
        // Its creator dies: the name is not there, or the object was opened before.
        named("name-dead", &[&make(A), &make(A)]).mortal_process(0),
        named("name-dead-open", &[&[create(A)], &[get(A), set(BY_NAME)]]).mortal_process(0),
        named("name-dead-both", &[&make(A), &make(A)]).mortal_process(0).mortal(1),
        // Two places for names, one of which the dead one may have. (All three at once take hours: `name-three` is that without a death.)
        named("name-dead-beside", &[&[create(A)], &[create(A)], &[create(A)]])
            .mortal_process(0)
            .after(0, 1)
            .after(0, 2)
            .with_few_places(),
        named("name-after", &[&make(A), &[create(A), get(A)]]).mortal_process(0).after(0, 1),
        // There is room for one object beside that of the dead one, and for two names.
        Program { room: 1, ..named("name-room", &[&[create(A)], &[create(B)]]) }
            .mortal_process(0)
            .after(0, 1)
            .with_few_places(),
        named("name-told", &[&[create(A)], &[create(A)], &[bury_process(0), get(A)]]).supervised(0, 2),
        // It lives although nobody holds it.
        named("name-permanent", &[&[create(A), permanent(BY_NAME), let_go()], &[create(A), set(BY_NAME)]])
            .mortal_process(0),
        named("name-temporary", &[&[create(A), permanent(BY_NAME), let_go(), temporary(BY_NAME)], &[create(A)]]),
        named(
            "name-temporary-two",
            &[&[create(A), permanent(BY_NAME), temporary(BY_NAME)], &[get(A), temporary(BY_NAME)]],
        ),
        Program::new(
            "name-kept",
            &[event],
            &[&[permanent(0), release(0)], &[hold(0), release(0), set(0)], &[temporary(0)]],
        )
        .created_by(0, true)
        .mortal_process(0),
    ]
}
