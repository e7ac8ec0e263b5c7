// SPDX-License-Identifier: MIT OR Apache-2.0
//! Orders that are needed although few executions show it, or none.

use super::equivalent::matches;
use super::sites::{Name, Weakening};

/// A weakened order ([`matches`]), a program that fails with it, and in how many times as many executions as other programs get.
const RARE: &[(&str, &str, &str, u64)] = &[
    ("object_word::glance", "wide load: relaxed", "o-poll", 20),
    ("chunks::seal: let place", "load: relaxed", "k-three", 400),
    ("chunks::transfers", "load: relaxed", "k-two", 400),
    ("creators::creator_of: let before", "wide load: relaxed", "y-look", 100),
    ("holds::holds_and_meta", "load: relaxed", "hold-killed", 200),
    ("semaphore::max", "load: relaxed", "o-release", 50),
    ("signal::read", "load: relaxed", "o-read", 20),
    ("wait_set::entry", "load: relaxed", "a-set-2w", 300),
    ("packets::post: let place", "load: relaxed", "dead-packet-posts-2t", 40),
    ("packets::post: let (seen", "wide load: acquire", "packet-full-two", 20),
    ("packets::post: let (seen", "wide load: relaxed", "packet-full-two", 20),
    ("packets::take: if cell", "exchange: acq_rel", "packet-full-two", 20),
    ("packets::take: if cell", "exchange: acquire", "packet-full-two", 20),
];

/// A weakened order with which a program fails so rarely that no run can be expected to show it, or none has failed yet; and what
/// goes wrong.
const UNSEEN: &[(&str, &str, &str)] = &[
    (
        "liveness::start_in_proc: && of",
        "load: relaxed",
        "O-start: the start time is read after the file system for which it is kept, or it is none yet",
    ),
    (
        "chunks::transfer",
        "wide load: relaxed",
        "a thread that reads an old transfer again and again begins again as often; g-event has spun so, after 39,000 executions",
    ),
    (
        "queues::announce",
        "exchange: acquire",
        "I-detach-1: the claim is seen by whoever has read the count, also before the bell was rung, or it notes the count as seen",
    ),
    (
        "queues::posted: let posted",
        "load: relaxed",
        "I-detach-1: the slots are looked at after the count was read, or it is noted as seen",
    ),
    (
        "queues::bell",
        "load: acquire",
        "O-closed: that the queue is closed is seen after the wait stands, or nobody ends it",
    ),
    (
        "queues::ring_while",
        "exchange: acq_rel",
        "O-closed: the slots are looked at after the queue was closed, or a wait stands that nobody ends",
    ),
    (
        "queues::ring_while",
        "exchange: release",
        "O-closed: the slots are looked at after the queue was closed, or a wait stands that nobody ends",
    ),
    (
        "packets::post: if cell",
        "exchange: acquire",
        "what a thread has written before it posted is seen by the one that takes the packet; no program writes anything",
    ),
    (
        "packets::take: if cell",
        "exchange: release",
        "what a thread has written before it posted is seen by the one that takes the packet; no program writes anything",
    ),
    (
        "packets::take: let (seen",
        "wide load: relaxed",
        "I-detach-9: that the queue is still the taker's is seen after the packet, or one of the next owner is dropped",
    ),
    (
        "detached::give_away: if slot",
        "exchange: acq_rel",
        "O-free: one of the two gives the slot back, or it is lost; no program counts slots",
    ),
    (
        "detached::give_away: if slot",
        "exchange: acquire",
        "O-free: one of the two gives the slot back, or it is lost; no program counts slots",
    ),
    (
        "detached::give_away: if slot",
        "exchange: release",
        "O-free: one of the two gives the slot back, or it is lost; no program counts slots",
    ),
    (
        "detached::free",
        "exchange: acq_rel",
        "O-free: one of the two gives the slot back, or it is lost; no program counts slots",
    ),
    (
        "atomic",
        "refused exchange: relaxed",
        "who is refused looks on, at nothing that is older than what refused it; k-two has lost a wake otherwise, after 180,000 \
         executions",
    ),
    (
        "waiter_word::load",
        "wide load: relaxed",
        "O-adm: that the operation still ran is seen after the candidate's word, or an attempt that is over is opened again",
    ),
    (
        "admission::origin",
        "load: relaxed",
        "O-adm: that the operation still ran is seen after the request, or the requester's next one is performed in its place",
    ),
    (
        "mutex::load",
        "load: relaxed",
        "that the object's word is unchanged is seen after the part of the count beside it, or that is carried twice",
    ),
    (
        "chunks::cut",
        "load: relaxed",
        "I-chunk-1: that the transfer is the same is seen after the link, or a link of a later transfer is cut",
    ),
    (
        "chunks::give",
        "load: relaxed",
        "I-chunk-1: that the transfer is the same is seen after the link, or a chunk is linked that was given to another tail",
    ),
    (
        "wait_set::put",
        "exchange: acq_rel",
        "I-chunk-3: that no transfer has gone on is seen after the entry was put, or the entry stands in a chunk that has moved",
    ),
    (
        "wait_set::put",
        "exchange: acquire",
        "I-chunk-3: that no transfer has gone on is seen after the entry was put, or the entry stands in a chunk that has moved",
    ),
    (
        "wait_set::put",
        "exchange: release",
        "I-chunk-3: that no transfer has gone on is seen after the entry was put, or the entry stands in a chunk that has moved",
    ),
    (
        "wait_set::empty: let _",
        "exchange: acq_rel",
        "the thread looks at nothing for its next wait before its entry is gone; k-two has lost a wake otherwise, after 90,000 executions",
    ),
    (
        "wait_set::empty: let _",
        "exchange: acquire",
        "the thread looks at nothing for its next wait before its entry is gone; k-two has lost a wake otherwise, after 90,000 executions",
    ),
    (
        "chunks::cut: if",
        "exchange: release",
        "the link is cut before the chunk is another object's; k-two has lost a wake otherwise, after 5,000 executions",
    ),
    (
        "chunks::link: self.link_word",
        "load: acquire",
        "I-chunk-1: the link is read after the transfer; k-two has lost a wake otherwise, after 28,000 executions",
    ),
    (
        "chunks::find_vacant: words",
        "load: relaxed",
        "a place is vacant for good only if the waiter's word is read after it; k-waiter-died has lost a wake otherwise, after \
         7,000 executions",
    ),
    (
        "wait_set::replace_vacant",
        "load: relaxed",
        "the seal and the waiter's word are read after the place (I-chunk-2), or an entry that stands is replaced",
    ),
    (
        "holds::exchange_holds",
        "exchange: acq_rel",
        "O-use: whoever ends an object has seen what those did who held it before, or it does not see their wait",
    ),
    (
        "holds::exchange_holds",
        "exchange: acquire",
        "O-use: whoever ends an object has seen what those did who held it before, or it does not see their wait",
    ),
    (
        "peers::has_place",
        "wide load: acquire",
        "O-for: the place is looked at after the hold was added, or a process that has got it meanwhile keeps the hold",
    ),
    (
        "peers::has_place",
        "wide load: relaxed",
        "O-for: the place is looked at after the hold was added, or a process that has got it meanwhile keeps the hold",
    ),
    (
        "holds::exchange_holds",
        "exchange: release",
        "O-use: whoever ends an object has seen what those did who held it before, or it does not see their wait",
    ),
    (
        "life::end",
        "exchange: acquire",
        "O-end: what an owner has written before it ended is seen by who gets its mutexes after a look at its life; no program writes anything",
    ),
    (
        "holds::holds_and_meta",
        "load: acquire",
        "I-hold-1: the holds are read again after meta, or those of an object that was not shared yet count",
    ),
    (
        "holds::share: let is_unshared",
        "load: acquire",
        "I-hold-2: meta is read after the holds, or the holds of an object that is shared by then are overwritten",
    ),
    (
        "holds::share: let is_unshared",
        "load: relaxed",
        "I-hold-2: meta is read after the holds, or the holds of an object that is shared by then are overwritten",
    ),
    (
        "holds::share: let _",
        "exchange: acq_rel",
        "I-hold-1: whoever reads that the object is shared reads its holds, or what was in the word before counts",
    ),
    (
        "holds::share: let _",
        "exchange: acquire",
        "I-hold-1: whoever reads that the object is shared reads its holds, or what was in the word before counts",
    ),
    (
        "holds::share: let _",
        "exchange: release",
        "I-hold-1: whoever reads that the object is shared reads its holds, or what was in the word before counts",
    ),
    (
        "holds::end_at_once",
        "load: acquire",
        "O-use: meta is read after the object's word, or the word is not that of the object that ends",
    ),
    (
        "holds::end_at_once",
        "load: relaxed",
        "O-use: meta is read after the object's word, or the word is not that of the object that ends",
    ),
    (
        "holds::end_at_once: && slot.meta",
        "exchange: acq_rel",
        "O-use: whoever ends an object has seen what those did who held it before, or it does not see their wait",
    ),
    (
        "holds::end_at_once: && slot.meta",
        "exchange: acquire",
        "O-use: whoever ends an object has seen what those did who held it before, or it does not see their wait",
    ),
    (
        "holds::end_at_once: && slot.meta",
        "exchange: release",
        "O-use: whoever ends an object has seen what those did who held it before, or it does not see their wait",
    ),
    (
        "holds::end_unshared",
        "exchange: acq_rel",
        "O-use: whoever ends an object has seen what those did who held it before, or it does not see their wait",
    ),
    (
        "holds::end_unshared",
        "exchange: acquire",
        "O-use: whoever ends an object has seen what those did who held it before, or it does not see their wait",
    ),
    (
        "holds::end_unshared",
        "exchange: release",
        "O-use: whoever ends an object has seen what those did who held it before, or it does not see their wait",
    ),
    (
        "names::reserve_if: if is_free",
        "exchange: acquire",
        "O-reserved: whoever sees that a place is reserved sees that its object lives, or takes the place of one that does",
    ),
    (
        "objects::change_meta",
        "exchange: acq_rel",
        "O-use: whoever ends an object has seen what those did who held it before, or it does not see their wait",
    ),
    (
        "objects::change_meta",
        "exchange: acquire",
        "O-use: whoever ends an object has seen what those did who held it before, or it does not see their wait",
    ),
    (
        "objects::change_meta",
        "exchange: release",
        "O-use: whoever ends an object has seen what those did who held it before, or it does not see their wait",
    ),
];

/// A program that fails, and in how many times as many executions as others get.
pub fn rarely_by(name: &Name, weakening: Weakening) -> Option<(&'static str, u64)> {
    let what = weakening.what();
    let found = RARE.iter().find(|(access, left, ..)| matches(access, Some(left), name, &what));
    found.map(|&(_, _, program, times)| (program, times))
}

/// Why an order is needed, if no program shows it.
pub fn unseen(name: &Name, weakening: Weakening) -> Option<&'static str> {
    let what = weakening.what();
    UNSEEN.iter().find(|(access, left, _)| matches(access, Some(left), name, &what)).map(|found| found.2)
}

/// The weakened orders of both lists.
pub fn accesses() -> impl Iterator<Item = (&'static str, Option<&'static str>)> {
    let rare = RARE.iter().map(|&(access, left, ..)| (access, Some(left)));
    rare.chain(UNSEEN.iter().map(|&(access, left, _)| (access, Some(left))))
}
