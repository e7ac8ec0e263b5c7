// SPDX-License-Identifier: MIT OR Apache-2.0
//! The table of all fields: the position and name of each part of each word of an arena's file.
//!
//! The core takes the positions of its parts from here ([`part`]), the fingerprint of the format covers the whole table
//! ([`add_to`]), and programs that inspect an arena find names here ([`tables`]). [`super::layout`] and the file of
//! each word say what the words mean.

use core::mem::offset_of;

use ntux_platform::life::{PAGE, WORD_AT};
use ntux_platform::liveness::{INCARNATION_BITS, START_BITS, THREAD_BITS};

use super::layout::{
    Capacity, Chunk, ChunkPool, Header, Layout, NAME_WORDS, NameGroup, NameText, ObjectSlot, OwnerSlot, PoolWords,
    QueueSlot, WaiterSlot, Woken,
};
use super::limits::{
    LIST_MAX, NAME_GROUPS_MAX, NAMES_GROUP, PACKETS_MAX, PEERS_MAX, PLACES_CHUNK, PLACES_INLINE, QUEUE_GROUPS, RECORDS,
};
use crate::WAIT_MAX;

/// An array of elements of one type.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// The type of an element.
    pub name: &'static str,
    /// Byte offset of the first one in the file.
    pub start: u64,
    /// Bytes from one element to the next.
    pub stride: u64,
    /// The number of elements.
    pub count: u32,
    /// The words of one element.
    pub fields: &'static [Field],
}

/// A word of an element, or an array of equal words.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// As in `format.rs`.
    pub name: &'static str,
    /// Bytes from the start of the element.
    pub offset: usize,
    /// Bytes of one word: 4, 8 or 16.
    pub width: usize,
    /// How many words.
    pub count: usize,
    /// Its parts; none if it is a plain number.
    pub bits: &'static [Bits],
}

/// A part of a word.
#[derive(Clone, Copy, Debug)]
pub struct Bits {
    /// As in the picture of the word.
    pub name: &'static str,
    /// The lowest bit.
    pub first: u32,
    /// How many bits.
    pub width: u32,
}

impl Bits {
    /// The lowest bit, relative to the 64-bit half of the word that contains it.
    pub const fn shift(self) -> u32 {
        self.first % 64
    }

    /// A mask of its width.
    pub const fn mask(self) -> u64 {
        u64::MAX >> (64 - self.width)
    }

    /// The mask of a part of one bit.
    pub const fn flag(self) -> u64 {
        assert!(self.width == 1, "a flag is one bit");
        1 << self.shift()
    }
}

/// The part with this name. For constants: an unknown name does not compile.
pub(crate) const fn part(word: &[Bits], name: &str) -> Bits {
    let mut i = 0;
    while i < word.len() {
        if is_same(word[i].name, name) {
            return word[i];
        }
        i += 1;
    }
    panic!("the word has no part of this name")
}

const fn is_same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    if one.len() != other.len() {
        return false;
    }
    let mut i = 0;
    while i < one.len() {
        if one[i] != other[i] {
            return false;
        }
        i += 1;
    }
    true
}

/// A hash of everything that was added to it, in order.
#[derive(Clone, Copy)]
pub(crate) struct Hash(u64);

impl Hash {
    pub(crate) const fn new() -> Hash {
        Hash(0xcbf2_9ce4_8422_2325)
    }

    pub(crate) const fn add(self, number: u64) -> Hash {
        Hash((self.0 ^ number).wrapping_mul(0x100_0000_01b3))
    }

    const fn add_name(self, name: &str) -> Hash {
        let (bytes, mut hash, mut i) = (name.as_bytes(), self, 0);
        while i < bytes.len() {
            hash = hash.add(bytes[i] as u64);
            i += 1;
        }
        hash.add(bytes.len() as u64)
    }

    const fn add_fields(self, fields: &[Field]) -> Hash {
        let (mut hash, mut i) = (self, 0);
        while i < fields.len() {
            let field = &fields[i];
            hash = hash.add_name(field.name).add(field.offset as u64).add(field.width as u64).add(field.count as u64);
            let mut j = 0;
            while j < field.bits.len() {
                let bits = &field.bits[j];
                hash = hash.add_name(bits.name).add(bits.first as u64).add(bits.width as u64);
                j += 1;
            }
            i += 1;
        }
        hash
    }

    pub(crate) const fn finish(self) -> u32 {
        (self.0 >> 32) as u32 ^ self.0 as u32
    }
}

/// Adds every field of every type of element.
pub(crate) const fn add_to(hash: Hash) -> Hash {
    hash.add_fields(HEADER_FIELDS)
        .add_fields(PEER_FIELDS)
        .add_fields(WAITER_FIELDS)
        .add_fields(OBJECT_FIELDS)
        .add_fields(CHUNK_FIELDS)
        .add_fields(RECORD_FIELDS)
        .add_fields(CLAIMS_FIELDS)
        .add_fields(NAME_GROUP_FIELDS)
        .add_fields(TEXT_FIELDS)
        .add_fields(SCHEDULE_FIELDS)
        .add_fields(QUEUE_FIELDS)
        .add_fields(PACKET_FIELDS)
        .add_fields(OWNER_FIELDS)
        .add_fields(LIFE_FIELDS)
}

const fn bits(name: &'static str, first: u32, width: u32) -> Bits {
    Bits { name, first, width }
}

const fn field(name: &'static str, offset: usize, width: usize, bits: &'static [Bits]) -> Field {
    Field { name, offset, width, count: 1, bits }
}

const fn row(count: usize, field: Field) -> Field {
    Field { count, ..field }
}

pub(crate) const OBJECT_WORD: &[Bits] = &[
    bits("sequence", 0, 37),
    bits("W", 37, 1),
    bits("WA", 38, 1),
    bits("PULSE", 39, 1),
    bits("BROADCAST", 40, 1),
    bits("SPILLED", 41, 1),
    bits("claimant", 42, 17),
    bits("level", 59, 5),
    bits("value", 64, 32),
    bits("tag", 96, 32),
];
/// The tag of an object at rest.
pub(crate) const MARK: &[Bits] = &[bits("thread", 0, 22), bits("peer", 22, 10)];
pub(crate) const WAITER_WORD: &[Bits] = &[
    bits("thread", 0, 30),
    bits("died", 30, 1),
    bits("parked", 31, 1),
    bits("ticket", 32, 40),
    bits("state", 72, 3),
    bits("open", 75, 1),
    bits("abandoned", 76, 1),
    bits("owed", 77, 1),
    bits("code", 78, 8),
    bits("detached", 86, 1),
    bits("argument", 96, 32),
];
pub(crate) const ADMISSION: &[Bits] = &[
    bits("attempt", 0, 32),
    bits("phase", 32, 3),
    bits("requester", 35, 17),
    bits("step", 52, 12),
    bits("ticket", 64, 40),
    bits("candidate", 104, 17),
    bits("step_high", 121, 7),
];
pub(crate) const META: &[Bits] = &[
    bits("generation", 0, 32),
    bits("kind", 32, 4),
    bits("state", 36, 2),
    bits("locked", 38, 1),
    bits("held", 39, 1),
    bits("keeper", 40, 12),
    bits("creator", 52, 12),
];
pub(crate) const PEER: &[Bits] = &[
    bits("pid", 0, 32),
    bits("namespace", 32, 32),
    bits("start", 64, START_BITS),
    bits("incarnation", 64 + START_BITS, INCARNATION_BITS),
    bits("burying", 127, 1),
];
pub(crate) const EXTRA: &[Bits] = &[bits("maximum", 0, 32), bits("spill", 0, 28), bits("version", 28, 36)];
pub(crate) const ENTRY: &[Bits] =
    &[bits("position", 0, 7), bits("all", 7, 1), bits("waiter", 8, 16), bits("ticket", 24, 40)];
/// The ticket of a detached wait stands where the thread is otherwise.
pub(crate) const HOLDER: &[Bits] =
    &[bits("thread", 0, THREAD_BITS), bits("detached", 50, 1), bits("peer", 51, 12), bits("taken", 63, 1)];
pub(crate) const TRACE: &[Bits] = &[
    bits("object", 0, 24),
    bits("thread", 24, 22),
    bits("kind", 46, 4),
    bits("lap", 50, 14),
    bits("time", 64, 42),
    bits("other", 106, 22),
];
pub(crate) const CLAIMS: &[Bits] = &[
    bits("first", 0, 18),
    bits("second", 18, 18),
    bits("third", 36, 18),
    bits("flights", 54, 6),
    bits("landing", 60, 1),
    bits("fourth", 64, 18),
    bits("fifth", 82, 18),
    bits("sequence", 100, 28),
];
/// The claims of an object that is not behind descriptors: its holds. The sequence is that of the claims.
pub(crate) const HOLDS: &[Bits] = &[
    bits("first", 0, 18),
    bits("second", 18, 18),
    bits("third", 36, 18),
    bits("others", 54, 6),
    bits("ended", 60, 1),
    bits("permanent", 61, 1),
    bits("fourth", 64, 18),
    bits("classes", 82, 18),
    bits("sequence", 100, 28),
];
pub(crate) const NAME: &[Bits] = &[
    bits("index", 0, 32),
    bits("generation", 32, 32),
    bits("hash", 64, 32),
    bits("length", 96, 8),
    bits("named", 104, 1),
];
pub(crate) const NAME_HEAD: &[Bits] = &[bits("index", 0, 32), bits("generation", 32, 32), bits("place", 64, 8)];
/// Beside an object that is a timer.
pub(crate) const SCHEDULE: &[Bits] =
    &[bits("number", 0, 21), bits("turn", 21, 2), bits("period", 23, 41), bits("due", 64, 62), bits("clock", 126, 2)];
/// A cell of the packets of a queue.
pub(crate) const PACKET: &[Bits] =
    &[bits("full", 0, 1), bits("serial", 1, 16), bits("round", 17, 47), bits("key", 64, 64)];
/// The queue of a detached wait, and the waiter slot for which that is written there.
pub(crate) const DELIVERED_TO: &[Bits] =
    &[bits("used", 0, 1), bits("queue", 1, 15), bits("serial", 16, 16), bits("waiter", 32, 32)];
/// Where threads sleep for a delivery.
pub(crate) const BELL: &[Bits] =
    &[bits("looked_at", 0, 29), bits("silent", 29, 1), bits("rings", 32, 31), bits("closed", 63, 1)];
/// An owner id of the arena.
pub(crate) const OWNER_ID: &[Bits] = &[bits("index", 0, 15), bits("turn", 15, 16), bits("arenas", 31, 1)];
/// The place of an owner: its holder, and how often somebody had it.
pub(crate) const OWNER: &[Bits] = &[
    bits("thread", 0, THREAD_BITS),
    bits("peer", 51, 12),
    bits("taken", 63, 1),
    bits("turn", 64, 16),
    bits("unswept", 80, 1),
    bits("kernel_marks", 81, 1),
];
/// The life of an owner: a thread that sleeps for what it owns sleeps on this word, too.
pub(crate) const LIFE: &[Bits] = &[bits("turn", 0, 16), bits("ended", 30, 1), bits("sleepers", 31, 1)];
/// The same, of a thread.
const LIFE_OF_THREAD: &[Bits] = &[bits("thread", 0, 30), bits("ended", 30, 1), bits("sleepers", 31, 1)];
const OBJECT: &[Bits] = &[bits("index", 0, 32), bits("generation", 32, 32)];
const REQUEST: &[Bits] = &[bits("argument", 0, 32), bits("signal", 32, 4)];
const STAMP: &[Bits] = &[bits("processor", 0, 10), bits("time", 10, 22)];
/// The halves of an object's word. What is not named may be anything.
const JOINED_AT: &[Bits] = &[bits("version", 0, 37)];
const JOINED_AFTER: &[Bits] = &[bits("thread", 32, 22), bits("peer", 54, 10)];
pub(crate) const FOUND: &[Bits] = &[bits("mark", 0, 32), bits("version", 32, 32)];
pub(crate) const SIGNATURE: &[Bits] = &[bits("mark", 0, 32), bits("tag", 32, 32)];
const WAIT: &[Bits] = &[bits("count", 0, 32), bits("owner", 32, 32)];
pub(crate) const LINK: &[Bits] = &[bits("chunk", 0, 18), bits("version", 18, 14)];
pub(crate) const TRANSFER: &[Bits] =
    &[bits("number", 0, 64), bits("phase", 64, 3), bits("chunk", 67, 18), bits("tail", 96, 32)];
pub(crate) const DEADLINE: &[Bits] = &[bits("time", 0, 63), bits("wall_clock", 63, 1)];
const HINTS: &[Bits] = &[bits("first", 0, 32), bits("changes", 32, 32)];

const POOLS: [usize; 5] = [
    offset_of!(Header, object_pool),
    offset_of!(Header, waiter_pool),
    offset_of!(Header, chunk_pool),
    offset_of!(Header, queue_pool),
    offset_of!(Header, owner_pool),
];

const HEADER_FIELDS: &[Field] = &[
    field("magic", offset_of!(Header, magic), 8, &[]),
    field("version", offset_of!(Header, version), 4, &[]),
    field("fingerprint", offset_of!(Header, fingerprint), 4, &[]),
    field("objects", offset_of!(Header, objects), 4, &[]),
    field("waiters", offset_of!(Header, waiters), 4, &[]),
    field("ticket", offset_of!(Header, ticket), 8, &[]),
    field("admission", offset_of!(Header, admission), 16, ADMISSION),
    field("object_pool.hints", POOLS[0] + offset_of!(PoolWords, hints), 8, HINTS),
    field("object_pool.fresh", POOLS[0] + offset_of!(PoolWords, fresh), 4, &[]),
    field("object_pool.rotor", POOLS[0] + offset_of!(PoolWords, rotor), 4, &[]),
    field("waiter_pool.hints", POOLS[1] + offset_of!(PoolWords, hints), 8, HINTS),
    field("waiter_pool.fresh", POOLS[1] + offset_of!(PoolWords, fresh), 4, &[]),
    field("waiter_pool.rotor", POOLS[1] + offset_of!(PoolWords, rotor), 4, &[]),
    field("chunk_pool.transfer", POOLS[2] + offset_of!(ChunkPool, transfer), 16, TRANSFER),
    field("chunk_pool.fresh", POOLS[2] + offset_of!(ChunkPool, fresh), 4, &[]),
    field("chunk_pool.rotor", POOLS[2] + offset_of!(ChunkPool, rotor), 4, &[]),
    field("queue_pool.hints", POOLS[3] + offset_of!(PoolWords, hints), 8, HINTS),
    field("queue_pool.fresh", POOLS[3] + offset_of!(PoolWords, fresh), 4, &[]),
    field("queue_pool.rotor", POOLS[3] + offset_of!(PoolWords, rotor), 4, &[]),
    field("owner_pool.hints", POOLS[4] + offset_of!(PoolWords, hints), 8, HINTS),
    field("owner_pool.fresh", POOLS[4] + offset_of!(PoolWords, fresh), 4, &[]),
    field("owner_pool.rotor", POOLS[4] + offset_of!(PoolWords, rotor), 4, &[]),
    field("families", offset_of!(Header, families), 4, &[]),
    field("founded", offset_of!(Header, founded), 4, &[]),
    field("trace_until", offset_of!(Header, trace_until), 8, &[]),
    field("trace_head", offset_of!(Header, trace_head), 8, &[]),
    row(NAME_GROUPS_MAX as usize / 64, field("name_groups", offset_of!(Header, name_groups), 8, &[])),
];
const PEER_FIELDS: &[Field] = &[field("process", 0, 16, PEER)];
const WOKEN: usize = offset_of!(WaiterSlot, woken);
const WAITER_FIELDS: &[Field] = &[
    field("word", offset_of!(WaiterSlot, word), 16, WAITER_WORD),
    field("holder", offset_of!(WaiterSlot, holder), 8, HOLDER),
    field("signature", offset_of!(WaiterSlot, signature), 8, SIGNATURE),
    field("wait", offset_of!(WaiterSlot, wait), 8, WAIT),
    field("next_hint", offset_of!(WaiterSlot, next_hint), 4, &[]),
    field("stamp", offset_of!(WaiterSlot, stamp), 4, STAMP),
    row(LIST_MAX, field("list", offset_of!(WaiterSlot, list), 8, OBJECT)),
    field("request", offset_of!(WaiterSlot, request), 8, REQUEST),
    row(2, field("asleep_since", offset_of!(WaiterSlot, asleep_since), 8, &[])),
    field("deadline", offset_of!(WaiterSlot, deadline), 8, DEADLINE),
    field("joined_at", offset_of!(WaiterSlot, joined_at), 8, JOINED_AT),
    field("joined_after", offset_of!(WaiterSlot, joined_after), 8, JOINED_AFTER),
    field("request_object", offset_of!(WaiterSlot, request_object), 8, OBJECT),
    row(WAIT_MAX, field("joined_others", offset_of!(WaiterSlot, joined_others), 8, FOUND)),
    field("queue", offset_of!(WaiterSlot, queue), 8, DELIVERED_TO),
    field("key", offset_of!(WaiterSlot, key), 8, &[]),
    field("woken.at", WOKEN + offset_of!(Woken, at), 8, &[]),
    field("woken.object", WOKEN + offset_of!(Woken, object), 8, OBJECT),
    field("woken.from", WOKEN + offset_of!(Woken, from), 8, &[]),
];
const OBJECT_FIELDS: &[Field] = &[
    field("word", offset_of!(ObjectSlot, word), 16, OBJECT_WORD),
    field("meta", offset_of!(ObjectSlot, meta), 8, META),
    field("extra", offset_of!(ObjectSlot, extra), 8, EXTRA),
    row(PLACES_INLINE, field("wait_set", offset_of!(ObjectSlot, wait_set), 8, ENTRY)),
    field("chunk", offset_of!(ObjectSlot, chunk), 4, LINK),
    field("next_hint", offset_of!(ObjectSlot, next_hint), 4, &[]),
];
const CHUNK_FIELDS: &[Field] = &[
    field("next", offset_of!(Chunk, next), 4, LINK),
    row(PLACES_CHUNK, field("wait_set", offset_of!(Chunk, wait_set), 8, ENTRY)),
];

const RECORD_FIELDS: &[Field] = &[field("event", 0, 16, TRACE)];
const CLAIMS_FIELDS: &[Field] = &[field("claims", 0, 16, CLAIMS)];
const NAME_GROUP_FIELDS: &[Field] = &[
    field("head", offset_of!(NameGroup, head), 16, NAME_HEAD),
    row(NAMES_GROUP, field("name", offset_of!(NameGroup, names), 16, NAME)),
];
const TEXT_FIELDS: &[Field] = &[row(NAME_WORDS, field("text", 0, 8, &[]))];

const SCHEDULE_FIELDS: &[Field] = &[field("schedule", 0, 16, SCHEDULE)];
const PACKET_FIELDS: &[Field] = &[field("packet", 0, 16, PACKET)];
const OWNER_FIELDS: &[Field] = &[
    field("word", offset_of!(OwnerSlot, word), 16, OWNER),
    field("next_hint", offset_of!(OwnerSlot, next_hint), 4, &[]),
    field("life", offset_of!(OwnerSlot, life), 4, LIFE),
];
const LIFE_FIELDS: &[Field] = &[field("life", WORD_AT, 4, LIFE_OF_THREAD)];
const QUEUE_FIELDS: &[Field] = &[
    field("bell", offset_of!(QueueSlot, bell), 8, BELL),
    field("holder", offset_of!(QueueSlot, holder), 8, HOLDER),
    field("next_hint", offset_of!(QueueSlot, next_hint), 4, &[]),
    field("serial", offset_of!(QueueSlot, serial), 4, &[]),
    field("rotor", offset_of!(QueueSlot, rotor), 4, &[]),
    field("turn", offset_of!(QueueSlot, turn), 4, &[]),
    field("timed", offset_of!(QueueSlot, timed), 4, &[]),
    field("head", offset_of!(QueueSlot, head), 8, &[]),
    field("tail", offset_of!(QueueSlot, tail), 8, &[]),
    row(QUEUE_GROUPS, field("posted", offset_of!(QueueSlot, posted), 4, &[])),
    row(QUEUE_GROUPS, field("seen", offset_of!(QueueSlot, seen), 4, &[])),
];

/// Everything in the file of an arena with this capacity: header, peers, waiters, objects, chunks, records, queues,
/// packets, claims, names, texts, schedules, owners, lives. None if the capacity is out of bounds.
pub fn tables(capacity: Capacity) -> Option<[Table; 14]> {
    let layout = Layout::new(capacity)?;
    let table = |name, start, stride: usize, count, fields| Table { name, start, stride: stride as u64, count, fields };
    Some([
        table("header", 0, layout.peers as usize, 1, HEADER_FIELDS),
        table("peers", layout.peers, 16, PEERS_MAX, PEER_FIELDS),
        table("waiters", layout.waiters, size_of::<WaiterSlot>(), capacity.waiters, WAITER_FIELDS),
        table("objects", layout.objects, size_of::<ObjectSlot>(), capacity.objects, OBJECT_FIELDS),
        table("chunks", layout.chunks, size_of::<Chunk>(), layout.chunk_count, CHUNK_FIELDS),
        table("records", layout.records, 16, RECORDS, RECORD_FIELDS),
        table("queues", layout.queues, size_of::<QueueSlot>(), layout.queue_count, QUEUE_FIELDS),
        table("packets", layout.packets, 16, layout.queue_count * PACKETS_MAX, PACKET_FIELDS),
        table("claims", layout.claims, 16, capacity.objects, CLAIMS_FIELDS),
        table("names", layout.names, size_of::<NameGroup>(), layout.name_groups, NAME_GROUP_FIELDS),
        table("texts", layout.texts, size_of::<NameText>(), layout.name_groups * NAMES_GROUP as u32, TEXT_FIELDS),
        table("schedules", layout.schedules, 16, capacity.objects, SCHEDULE_FIELDS),
        table("owners", layout.owners, size_of::<OwnerSlot>(), capacity.owners(), OWNER_FIELDS),
        table("lives", layout.lives(capacity), PAGE, capacity.lives(), LIFE_FIELDS),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::object_word::{Claimant, ObjectWord, SPILLED, W};
    use crate::format::ticket::Ticket;
    use crate::format::waiter_word::{WaiterState, WaiterWord};
    use ntux_platform::atomic::Pair;

    fn value_of(pair: Pair, bits: &[Bits], name: &str) -> u128 {
        let bits = part(bits, name);
        u128::from(pair) >> bits.first & ((1 << bits.width) - 1)
    }

    #[test]
    fn a_hash_sees_every_name_place_and_width() {
        let hash = |fields: &[Field]| Hash::new().add_fields(fields).finish();
        const PARTS: [&[Bits]; 4] = [&[bits("x", 0, 4)], &[bits("y", 0, 4)], &[bits("x", 1, 4)], &[bits("x", 0, 5)]];
        let field = Field { name: "a", offset: 8, width: 8, count: 1, bits: PARTS[0] };
        let others = [
            Field { name: "b", ..field },
            Field { offset: 16, ..field },
            Field { width: 4, ..field },
            Field { count: 2, ..field },
            Field { bits: PARTS[1], ..field },
            Field { bits: PARTS[2], ..field },
            Field { bits: PARTS[3], ..field },
            Field { bits: &[], ..field },
        ];
        assert!(others.iter().all(|other| hash(&[*other]) != hash(&[field])));
        assert_ne!(hash(&[field, field]), hash(&[field]));
    }

    #[test]
    fn parts_of_a_word_do_not_touch_each_other() {
        // The extra word is a maximum or a spill, by the kind of its object.
        for word in [
            OBJECT_WORD,
            MARK,
            WAITER_WORD,
            ADMISSION,
            META,
            PEER,
            ENTRY,
            HOLDER,
            LINK,
            TRANSFER,
            CLAIMS,
            HOLDS,
            DEADLINE,
            FOUND,
            SIGNATURE,
            NAME,
            NAME_HEAD,
            SCHEDULE,
            PACKET,
            DELIVERED_TO,
            BELL,
            OWNER,
            OWNER_ID,
            LIFE,
        ] {
            let end = word.iter().fold(0, |end, bits| {
                assert!(bits.first >= end && bits.width <= 64, "{}", bits.name);
                bits.first + bits.width
            });
            assert!(end <= 128);
        }
    }

    #[test]
    fn tables_follow_each_other_to_the_end_of_the_file() {
        let capacity = Capacity { objects: 5, waiters: 3 };
        let tables = tables(capacity).unwrap();
        for pair in tables.windows(2) {
            let end = pair[0].start + pair[0].stride * u64::from(pair[0].count);
            // Those of pages begin with one.
            let alignment = if pair[1].name == "lives" { PAGE as u64 } else { 1 };
            assert_eq!(end.next_multiple_of(alignment), pair[1].start, "{}", pair[1].name);
        }
        let last = tables.last().unwrap();
        let end = last.start + last.stride * u64::from(last.count);
        assert_eq!(end.next_multiple_of(4096), Layout::new(capacity).unwrap().length(capacity));
        for table in tables {
            let fits = |field: &Field| (field.offset + field.width * field.count) as u64 <= table.stride;
            assert!(table.fields.iter().all(fits), "{}", table.name);
        }
    }

    #[test]
    fn the_parts_of_the_words_are_where_the_core_has_them() {
        let word = ObjectWord::default().with(W | SPILLED).with_level(21).with_value(77);
        let word = word.claimed_for(Claimant::Waiter(4), 99).advanced();
        let object = |name| value_of(word.0, OBJECT_WORD, name);
        assert_eq!((object("sequence"), object("W"), object("WA"), object("SPILLED")), (1, 1, 0, 1));
        assert_eq!((object("claimant"), object("level"), object("value"), object("tag")), (5, 21, 77, 99));
        let word = WaiterWord::new(WaiterState::Waiting, Ticket::new(0xab_cdef_0123), 55).parked();
        let waiting = |name| value_of(word.0, WAITER_WORD, name);
        assert_eq!((waiting("thread"), waiting("parked"), waiting("state")), (55, 1, 1));
        assert_eq!(waiting("ticket"), 0xab_cdef_0123);
        let word = word.satisfied(8, true);
        let satisfied = |name| value_of(word.0, WAITER_WORD, name);
        assert_eq!(
            (satisfied("state"), satisfied("owed"), satisfied("abandoned"), satisfied("argument")),
            (2, 1, 1, 8)
        );
    }
}
