// SPDX-License-Identifier: MIT OR Apache-2.0
//! Orders that can be weakened without harm, and why. `docs/internals/memory-orders.md` has the whole argument.

use super::needed;
use super::sites::{Name, Weakening};

/// Why the orders of some accesses can be weaker.
struct Equivalent {
    /// Functions, as [`Name`] has them, and what is left of the order ([`Weakening::what`]); none: whatever is left.
    accesses: &'static [(&'static str, Option<&'static str>)],
    why: &'static str,
}

const EQUIVALENT: &[Equivalent] = &[
    Equivalent {
        accesses: &[("owners::exchange_owner", None), ("owners::fate_of", None), ("owners::owner_and_life", None)],
        why: "whoever knows an id has acquired the mutex that names it, and with it what the arena had said of the id; an older word says that its \
              owner goes on: the kernel compares the life before a thread sleeps, and who polls asks the system",
    },
    Equivalent {
        accesses: &[("end::awaited", None)],
        why: "an end has its owner before its meta says that it lives, which whoever asks has acquired; if the slot has another object by then, the \
              word is another one, too, and nothing is done by what was read",
    },
    Equivalent {
        accesses: &[("life::end", Some("exchange: acq_rel")), ("life::end", Some("exchange: release"))],
        why: "whoever ends a life reads nothing after that by which it decides; those who sleep there are woken by a call of the system, which \
              comes after the exchange, and one that is about to sleep is refused by it",
    },
    Equivalent {
        accesses: &[("waiter_word::exchange", Some("refused exchange: relaxed"))],
        why: "whoever is refused loads the word again before it acts on what it says",
    },
    Equivalent {
        accesses: &[("explore::now", None), ("explore::pass", None)],
        why: "the clock that programs move is the checker's; no processor passes it on with what it stores",
    },
    Equivalent {
        accesses: &[
            ("object_word::glance", None),
            ("objects::free", None),
            ("objects::build", None),
            ("pool::fresh", None),
            ("epoch::begin_in", None),
            ("burial::bury_thread", None),
        ],
        why: "an exchange of the same word follows, and refuses an old value; it reads the last one; a glance without one \
              takes nothing, and whoever glanced looks again",
    },
    Equivalent {
        accesses: &[
            ("wait_set::entry", None),
            ("wait_set::put", None),
            ("wait_set::empty", None),
            ("wait_set::take", None),
            ("wait_set::replace_vacant", None),
            ("chunks::next_chunk", None),
        ],
        why: "who registers puts its entry and exchanges the object's word then; who scans has claimed this word \
              and so acquired the entry; an entry that is over names an old ticket, which the waiter's word \
              refuses",
    },
    Equivalent {
        accesses: &[("wait_set::only_entry", None)],
        why: "who registers puts its entry, in a chunk that it has linked, and exchanges the object's word then; who \
              signals has loaded this word before, and so acquired the entries, and claims the object by an exchange \
              that expects the same word: nobody has registered since. An entry that is over names an old ticket",
    },
    Equivalent {
        accesses: &[
            ("chunks::grow", None),
            ("chunks::find_chunk", None),
            ("chunks::find_vacant", None),
            ("chunks::give", None),
            ("chunks::seal", None),
            ("chunks::cut", None),
            ("chunks::link", None),
        ],
        why: "a chunk is sealed, cut and given by exchanges, which refuse what was decided from old values; \
              it is used only after the object's word was exchanged",
    },
    Equivalent {
        accesses: &[("chunks::transfer", None)],
        why: "the transfer is advanced by an exchange, which refuses whoever has seen an old one. Who asks whether it is \
              still the same has loaded a link before (I-chunk-1), or a place, and so acquired the phase in which \
              this was changed; if it was not changed, an exchange of it follows that expects what was there",
    },
    Equivalent {
        accesses: &[("chunks::transfers", None)],
        why: "a chunk moves when all its places are sealed, and links change after that: who puts an entry into a place \
              that has moved, or loads a link that has changed, acquires the numbers up to then, so that the second \
              number differs from the first; and a link that is loaded after a number is not older than this",
    },
    Equivalent {
        accesses: &[("mutex::load", None), ("mutex::carried", None), ("signal::read", None)],
        why: "the object's word is loaded again after the extra word, and compared or exchanged then: its version tells",
    },
    Equivalent {
        accesses: &[
            ("objects::kind", None),
            ("objects::kind_if_live", None),
            ("objects::kind_if_live_untimed", None),
            ("objects::resident", None),
            ("create::furnish", None),
        ],
        why: "a creator advances the object's word before it publishes the meta word, so that an exchange \
              refuses whoever read the meta word of the object before (I-object-1); a call that reads that a \
              closed object lives runs beside the close, or its caller would know",
    },
    Equivalent {
        accesses: &[("objects::bury_object", None), ("objects::hand_once", None), ("objects::hand_slowly", None)],
        why: "meta is exchanged, which refuses an old value. Only a process itself becomes the keeper or creator of an \
              object, before its death, of which the burial was told: if an old meta names another one, so does each \
              later one. That an object is held was so from its creation, and that it is closed stays so. The exchange \
              passes on what the replaced meta had released, and the burial is released by that of the peer's word",
    },
    Equivalent {
        accesses: &[("objects::reclaim", None)],
        why: "meta is exchanged, which refuses an old value, and which sharing or adopting the object changes. Only waits of \
              others keep it then: whoever was told of the keeper's death has acquired those that the keeper could know of. Who takes the \
              slot exchanges meta and the object's word again",
    },
    Equivalent {
        accesses: &[("holds::end_if_unheld", None)],
        why: "the holds were exchanged before, and say that the object has ended: whoever holds, releases or ends it exchanges or \
              reads them, and who takes the slot exchanges meta, the object's word and the holds again",
    },
    Equivalent {
        accesses: &[("holds::holds_word", Some("wide load: acquire"))],
        why: "the holds are exchanged, which refuses an old value; what is said without an exchange was so until then, or \
              somebody has told the caller what came after, who has acquired it with that",
    },
    Equivalent {
        accesses: &[("peers::places_of_peers", None)],
        why: "whoever was told that a process takes part has acquired its place with that, and reads this word or a later one; a place that \
              is another process's by then is looked at again after the hold was added (O-for). A thread looks for its own process's places \
              for what it was told to be there, with which it has acquired them",
    },
    Equivalent {
        accesses: &[("creators::creator_of", None)],
        why: "meta is read again after the peer's word, and decides: a later process gets this word by an exchange \
              after a burial has made meta forget the one before; who reads that process reads that meta, too",
    },
    Equivalent {
        accesses: &[
            ("peers::register", None),
            ("peers::replace", None),
            ("peers::bury_dead", None),
            ("peers::process", None),
            ("peers::is_peer_dead", None),
            ("peers::is_owner_dead", None),
            ("peers::succeed", None),
        ],
        why: "a peer's word is exchanged, which refuses an old value; who is told of a death has acquired what the dead \
              process did, its registration too; who reads the index of an owner has acquired the owner's registration \
              with it (I-peer-2); and a burial exchanges each word that it changes, and can be repeated; the kernel is asked after it",
    },
    Equivalent {
        accesses: &[
            ("waiter::take_slot", None),
            ("waiter::inherit_slot", None),
            ("waiter::take_from_dead", None),
            ("waiter::bury_waiters", Some("exchange: release")),
            ("waiter::bury_waiters: let holder", None),
        ],
        why: "the holder is exchanged, which refuses an old value; who was told of a death has acquired what the dead \
              wrote; who reads it asks for the peer after it, by a load of a word that only exchanges change, and then the kernel; the new holder begins with the waiter's word, and \
              so acquires what the last epoch left",
    },
    Equivalent {
        accesses: &[("pool::hint", None), ("pool::pop", None)],
        why: "hints may be stale, lost or rubbish: the slot itself says whether it is free, and is taken by an exchange",
    },
    Equivalent {
        accesses: &[("pool::used", None)],
        why: "a slot is counted before it is taken: who knows of its holder's death, or that it was given back, has \
              acquired the count with that; a slot that is counted during the call counts as one that comes later",
    },
    Equivalent {
        accesses: &[("wait_one::look_and_queue", None)],
        why: "a deadline that was over when the call began was over at the look before, too; one that passes later is \
              learnt from the clock, and with the time what had happened by then: a later signal comes after the wait",
    },
    Equivalent {
        accesses: &[("epoch::draw", None), ("epoch::is_last_ticket", None)],
        why: "who could be overtaken drew a later ticket, and queued before a signal that this wait missed; if anybody \
              can know that, the signal has acquired the ticket, and the exchange that raised this wait's flag after \
              the signal has acquired both",
    },
    Equivalent {
        accesses: &[
            ("admission::current", Some("wide load: acquire")),
            ("admission::replace", Some("exchange: acq_rel")),
            ("admission::replace", Some("exchange: release")),
        ],
        why: "an old admission is changed by an exchange, which refuses it, after a load that acquired what the \
              exchange reads; claims of an attempt that is over are taken away by whoever meets them",
    },
    Equivalent {
        accesses: &[("admission::announce", None), ("admission::origin", None), ("atomic", Some("store: relaxed"))],
        why: "the exchange of the admission word that names the requester releases its request, and the load of \
              this word acquires it",
    },
    Equivalent {
        accesses: &[
            ("admission::replace", Some("refused exchange: relaxed")),
            ("object_word::exchange", Some("refused exchange: relaxed")),
            ("schedules::exchange", Some("refused exchange: relaxed")),
            ("holds::exchange_holds", Some("refused exchange: relaxed")),
            ("holds::share", Some("refused exchange: relaxed")),
            ("holds::end_unshared", Some("refused exchange: relaxed")),
            ("holds::end_at_once", Some("refused exchange: relaxed")),
        ],
        why: "nobody uses what a refused exchange has read: its caller loads again, at worst what it had seen before, and \
              another exchange refuses that",
    },
    Equivalent {
        accesses: &[
            ("attempt::collect", None),
            ("attempt::conclude_attempt", None),
            ("waiter_word::count", None),
            ("waiter_word::lists", None),
            ("waiter_word::owner", None),
        ],
        why: "what a wait is for does not change while the admission word names it (I-adm-4), nor before its claims are \
              settled: who reads that of a later wait is refused by the word that it exchanges then, or makes an orphan \
              (I-adm-3)",
    },
    Equivalent {
        accesses: &[("scan::is_of_another", None)],
        why: "nothing is loaded after it; an exchange of the place follows, or an entry of a wait that is over stays",
    },
    Equivalent {
        accesses: &[("objects::meta", None)],
        why: "who ends an object by its name has acquired its number from the place, and so the meta with which it was made; what has \
              become of it since, an exchange of meta decides, which refuses an old one",
    },
    Equivalent {
        accesses: &[("names::group", None), ("names::used_group", None)],
        why: "the bit says that a page has memory, which the system gives at once; who does not see it makes sure again, or looks for \
              no name of which it was told, since with that it would have acquired the bit",
    },
    Equivalent {
        accesses: &[
            ("names::settled: let head", Some("wide load: acquire")),
            ("names::settled: let word", None),
            ("names::settled: let _", None),
            ("names::announce_name", Some("exchange: acq_rel")),
            ("names::announce_name", Some("exchange: release")),
            ("names::announce_name", Some("refused exchange: relaxed")),
        ],
        why: "the head is exchanged, which refuses an old one, and each exchange passes on what all before it had released. Whoever has \
              acquired a head sees no older words of places than those who announced up to then; and one who was told of a name \
              has acquired the head that announced it",
    },
    Equivalent {
        accesses: &[
            ("names::reserve_if: let seen", Some("wide load: acquire")),
            ("names::reserve_if: if is_free", None),
            ("names::hold_named", None),
            ("names::is", None),
        ],
        why: "a place is exchanged, which refuses an old word, and only if its object is over; the object that is found is held by an \
              exchange, which is refused if it is over. So an old word, or a text that is not the word's, is passed by, and then the \
              head is another one (I-name-1, I-name-3)",
    },
    Equivalent {
        accesses: &[
            ("queues::announce", None),
            ("queues::posted: let posted", Some("load: acquire")),
            ("queues::silence", None),
            ("queues::ring_while", Some("refused exchange: relaxed")),
        ],
        why: "a thread that announces rings after it has counted, and one that looks for results has acquired the bell before it reads the \
              counts; it silences the bell by an exchange, which refuses an old one, and nothing is passed on with that",
    },
    Equivalent {
        accesses: &[
            ("queues::posted: let first", None),
            ("queues::posted: (self.seen", None),
            ("queues::turns", None),
            ("queues::is_turn_of_results", None),
            ("queues::took", None),
        ],
        why: "where a thread begins to look is right whatever it is; and whoever has noted a count has looked at all that was announced \
              by then, which others need not see",
    },
    Equivalent {
        accesses: &[
            ("queues::queue_of", None),
            ("queues::owner_of", None),
            ("queues::free_queue", None),
            ("queues::take_slot", None),
            ("queues::take_queue", None),
        ],
        why: "each process that gets a queue has a holder of its own there: a thread knows its queue from one that has seen this holder; that \
              it is closed, or another's by now, what was read before says (I-detach-9), which was acquired; who opens a queue changes its \
              words by exchanges, and looks in vain at old counts",
    },
    Equivalent {
        accesses: &[
            ("detached::has", None),
            ("detached::queue_of", None),
            ("detached::listed", None),
            ("detached::of_any", None),
            ("detached::of_detached", None),
            ("detached::take_result", None),
            ("detached::free", None),
        ],
        why: "who reads of which wait a slot is has loaded the waiter's word before, which was exchanged after all that was written, or was \
              told the number of the wait; what it does then is an exchange of that word, which refuses another wait, or comes after one",
    },
    Equivalent {
        accesses: &[("detached::earliest_due", None)],
        why: "a thread that registers a wait for a timer rings after it has marked the queue; one that is about to sleep has acquired the bell \
              before, or does not sleep",
    },
    Equivalent {
        accesses: &[
            ("packets::has_some", None),
            ("packets::head_passes", None),
            ("packets::tail_passes", None),
            ("packets::post: let place", Some("load: acquire")),
            ("packets::post: if self", None),
            ("packets::post: if cell", Some("refused exchange: relaxed")),
            ("packets::post: if cell", Some("exchange: acq_rel")),
            ("packets::post: if cell", Some("exchange: release")),
            ("packets::take: let place", None),
            ("packets::take: let (seen", Some("wide load: acquire")),
            ("packets::take: if cell", Some("refused exchange: relaxed")),
        ],
        why: "a cell says in which round it is: who has read an old counter, or an old cell, is refused by an exchange, or finds nothing that was \
              rung for before it has read the bell",
    },
    Equivalent {
        accesses: &[
            ("liveness::lineage", None),
            ("liveness::start_in_proc: return start", None),
            ("protection::page_size", None),
            ("mod::spins", None),
            ("peers::peer", None),
            ("peers::known_peer", None),
        ],
        why: "a process's own lineage, index or setting, or a constant of the system: who reads it asks for nothing that came with it",
    },
];

/// Why a weakening does no harm, if that is known. An order that is needed is none of these, even if an entry names all of its function.
pub fn reason(name: &Name, weakening: Weakening) -> Option<&'static str> {
    if needed::accesses().any(|(access, left)| matches(access, left, name, &weakening.what())) {
        return None;
    }
    EQUIVALENT.iter().find(|equivalent| equivalent.concerns(name, &weakening.what())).map(|found| found.why)
}

/// Entries of the lists that concern none of these weakenings.
pub fn unused<'a>(all: impl Iterator<Item = (&'a Name, Weakening)> + Clone) -> Vec<String> {
    let concerned = |function: &str, left: Option<&str>| {
        all.clone().any(|(name, weakening)| matches(function, left, name, &weakening.what()))
    };
    let accesses = EQUIVALENT.iter().flat_map(|equivalent| equivalent.accesses).copied().chain(needed::accesses());
    let unused = accesses.filter(|(function, left)| !concerned(function, *left));
    unused.map(|(function, left)| format!("{function} {}", left.unwrap_or_default())).collect()
}

impl Equivalent {
    fn concerns(&self, name: &Name, what: &str) -> bool {
        self.accesses.iter().any(|(function, left)| matches(function, *left, name, what))
    }
}

/// Returns whether an entry of a list concerns this weakened order: it names the function, or the line as far as it is needed, and what is
/// left of the order, if not everything is meant.
pub fn matches(function: &str, left: Option<&str>, name: &Name, what: &str) -> bool {
    let is_line = || function.contains(": ") && name.to_string().starts_with(function);
    (function == name.function || is_line()) && left.is_none_or(|left| left == what)
}
