// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs over interlocked lists: ghosts 0 to 3 say which entry is in the list.

use super::*;

static LIST: Memory = Memory(UnsafeCell::new([0; 8]));
/// Four, of two words each.
static ENTRIES: Memory = Memory(UnsafeCell::new([0; 8]));
const BYTES: usize = 16;

fn begin_list() {
    // SAFETY: memory for a header, which nobody uses yet.
    unsafe { ntw_InitializeSListHead(LIST.place()) };
}

fn push(number: usize) {
    check(ghost(number) == 0, "it is in no list");
    set_ghost(number, 1);
    // SAFETY: the list, and an entry that is in none.
    unsafe { ntw_InterlockedPushEntrySList(LIST.place(), ENTRIES.place::<Entry>().byte_add(number * BYTES)) };
}

/// The entry was in the list until now.
fn took(entry: *mut Entry) {
    let number = (entry.addr() - ENTRIES.place::<Entry>().addr()) / BYTES;
    check(ghost(number) == 1, "nobody else has taken it");
    set_ghost(number, 0);
}

fn pop() -> bool {
    // SAFETY: the list.
    let popped = unsafe { ntw_InterlockedPopEntrySList(LIST.place()) };
    if !popped.is_null() {
        took(popped);
    }
    !popped.is_null()
}

fn push_and_pop(number: usize) {
    push(number);
    check(pop(), "each thread has pushed one more than it has popped");
}

fn is_empty() {
    // SAFETY: the list.
    check(!pop() && unsafe { ntw_QueryDepthSList(LIST.place()) } == 0, "nothing is left");
}

fn flush() {
    // SAFETY: the list.
    let mut entry = unsafe { ntw_InterlockedFlushSList(LIST.place()) };
    while !entry.is_null() {
        // SAFETY: this thread has taken the entry out of the list, and its successors; an entry begins with its successor.
        let next = unsafe { entry.cast::<*mut Entry>().read() };
        took(entry);
        entry = next;
    }
}

pub fn all() -> Vec<Program> {
    let list = |name, bodies: &[fn()]| program(name, begin_list, bodies, is_empty);
    vec![
        list("list-two", &[|| push_and_pop(0), || push_and_pop(1)]),
        list("list-three", &[|| push_and_pop(0), || push_and_pop(1), || push_and_pop(2)]),
        list(
            "list-again",
            &[
                || {
                    push_and_pop(0);
                    push_and_pop(1);
                },
                || push_and_pop(2),
            ],
        ),
        program(
            "list-flush",
            begin_list,
            &[
                || {
                    push(0);
                    push(1);
                },
                flush,
                || _ = pop(),
            ],
            || {
                flush();
                is_empty();
            },
        ),
    ]
}
