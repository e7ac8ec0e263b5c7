//! The words of an arena's file by name and bits, for programs that look at it from outside (`crates/adversary`).
//!
//! Nothing in the core reads this. What the words mean stands in [`crate::arena::format`], [`crate::word`],
//! [`crate::ticket`], [`crate::admission`] and [`crate::arena::objects`].

use core::mem::offset_of;

use super::Capacity;
use super::format::{
    BAG_CHUNK, BAG_INLINE, Chunk, Header, LIST_MAX, Layout, ObjectSlot, PEERS_MAX, PoolWords, WaiterSlot,
};

/// Elements of one sort, one after the other.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// What an element is.
    pub name: &'static str,
    /// Byte offset of the first one in the file.
    pub start: u64,
    /// Bytes from one to the next.
    pub stride: u64,
    /// How many.
    pub count: u32,
    /// The words of one element.
    pub fields: &'static [Field],
}

/// A word of an element, or several equal ones in a row.
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
    /// Its parts; none for a plain number.
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

const fn bits(name: &'static str, first: u32, width: u32) -> Bits {
    Bits { name, first, width }
}

const fn field(name: &'static str, offset: usize, width: usize, bits: &'static [Bits]) -> Field {
    Field { name, offset, width, count: 1, bits }
}

const fn row(count: usize, field: Field) -> Field {
    Field { count, ..field }
}

const OBJECT_WORD: &[Bits] = &[
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
const WAITER_WORD: &[Bits] = &[
    bits("thread", 0, 30),
    bits("died", 30, 1),
    bits("parked", 31, 1),
    bits("ticket", 32, 40),
    bits("state", 72, 3),
    bits("open", 75, 1),
    bits("abandoned", 76, 1),
    bits("owed", 77, 1),
    bits("code", 78, 8),
    bits("argument", 96, 32),
];
const ADMISSION: &[Bits] = &[
    bits("attempt", 0, 32),
    bits("phase", 32, 3),
    bits("requester", 35, 17),
    bits("step", 52, 12),
    bits("ticket", 64, 40),
    bits("candidate", 104, 17),
];
const META: &[Bits] = &[
    bits("generation", 0, 32),
    bits("kind", 32, 4),
    bits("state", 36, 3),
    bits("held", 39, 1),
    bits("peer", 40, 12),
    bits("locked", 52, 1),
];
const PEER: &[Bits] = &[bits("pid", 0, 32), bits("namespace", 32, 32), bits("start", 64, 64)];
const EXTRA: &[Bits] = &[bits("maximum", 0, 32), bits("spill", 0, 28), bits("version", 28, 36)];
const ENTRY: &[Bits] = &[bits("position", 0, 7), bits("all", 7, 1), bits("waiter", 8, 16), bits("ticket", 24, 40)];
const HOLDER: &[Bits] = &[bits("thread", 0, 32), bits("peer", 32, 12), bits("taken", 63, 1)];
const OBJECT: &[Bits] = &[bits("index", 0, 32), bits("generation", 32, 32)];
const REQUEST: &[Bits] = &[bits("argument", 0, 32), bits("signal", 32, 4)];
const WAIT: &[Bits] = &[bits("count", 0, 32), bits("owner", 32, 32)];
const PROMISE: &[Bits] = &[bits("end", 0, 31), bits("chunk", 31, 1)];
const HINTS: &[Bits] = &[bits("first", 0, 32), bits("changes", 32, 32)];

const POOLS: [usize; 3] =
    [offset_of!(Header, object_pool), offset_of!(Header, waiter_pool), offset_of!(Header, chunk_pool)];

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
    field("chunk_pool.fresh", POOLS[2] + offset_of!(PoolWords, fresh), 4, &[]),
    field("families", offset_of!(Header, families), 4, &[]),
];
const PEER_FIELDS: &[Field] = &[field("process", 0, 16, PEER)];
const WAITER_FIELDS: &[Field] = &[
    field("word", offset_of!(WaiterSlot, word), 16, WAITER_WORD),
    field("holder", offset_of!(WaiterSlot, holder), 8, HOLDER),
    field("request", offset_of!(WaiterSlot, request), 8, REQUEST),
    field("request_object", offset_of!(WaiterSlot, request_object), 8, OBJECT),
    field("wait", offset_of!(WaiterSlot, wait), 8, WAIT),
    field("next_hint", offset_of!(WaiterSlot, next_hint), 4, &[]),
    row(LIST_MAX, field("list", offset_of!(WaiterSlot, list), 8, OBJECT)),
];
const OBJECT_FIELDS: &[Field] = &[
    field("word", offset_of!(ObjectSlot, word), 16, OBJECT_WORD),
    field("meta", offset_of!(ObjectSlot, meta), 8, META),
    field("extra", offset_of!(ObjectSlot, extra), 8, EXTRA),
    row(BAG_INLINE, field("bag", offset_of!(ObjectSlot, bag), 8, ENTRY)),
    field("chunk", offset_of!(ObjectSlot, chunk), 4, &[]),
    field("next_hint", offset_of!(ObjectSlot, next_hint), 4, &[]),
];
const CHUNK_FIELDS: &[Field] = &[
    field("next", offset_of!(Chunk, next), 4, &[]),
    field("promise", offset_of!(Chunk, promise), 4, PROMISE),
    row(BAG_CHUNK, field("bag", offset_of!(Chunk, bag), 8, ENTRY)),
];

/// Everything in the file of an arena with this capacity: header, peers, waiters, objects, chunks. None if the capacity
/// is out of bounds.
pub fn tables(capacity: Capacity) -> Option<[Table; 5]> {
    let layout = Layout::new(capacity)?;
    let table = |name, start, stride: usize, count, fields| Table { name, start, stride: stride as u64, count, fields };
    Some([
        table("header", 0, layout.peers as usize, 1, HEADER_FIELDS),
        table("peers", layout.peers, 16, PEERS_MAX, PEER_FIELDS),
        table("waiters", layout.waiters, size_of::<WaiterSlot>(), capacity.waiters, WAITER_FIELDS),
        table("objects", layout.objects, size_of::<ObjectSlot>(), capacity.objects, OBJECT_FIELDS),
        table("chunks", layout.chunks, size_of::<Chunk>(), layout.chunk_count, CHUNK_FIELDS),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ticket::{State, Ticket, WaiterWord};
    use crate::word::{Claimant, ObjectWord, SPILLED, W};
    use ntux_platform::atomic::Pair;

    fn part(pair: Pair, bits: &[Bits], name: &str) -> u128 {
        let bits = bits.iter().find(|bits| bits.name == name).expect("a part of the word");
        (u128::from(pair.high) << 64 | u128::from(pair.low)) >> bits.first & ((1 << bits.width) - 1)
    }

    #[test]
    fn tables_follow_each_other_to_the_end_of_the_file() {
        let capacity = Capacity { objects: 5, waiters: 3 };
        let tables = tables(capacity).unwrap();
        for pair in tables.windows(2) {
            assert_eq!(pair[0].start + pair[0].stride * u64::from(pair[0].count), pair[1].start, "{}", pair[1].name);
        }
        let end = tables[4].start + tables[4].stride * u64::from(tables[4].count);
        assert_eq!(end.next_multiple_of(4096), Layout::new(capacity).unwrap().length);
        for table in tables {
            let fits = |field: &Field| (field.offset + field.width * field.count) as u64 <= table.stride;
            assert!(table.fields.iter().all(fits), "{}", table.name);
        }
    }

    #[test]
    fn the_parts_of_the_words_are_where_the_core_has_them() {
        let word = ObjectWord::default().with(W | SPILLED).with_level(21).with_value(77);
        let word = word.claimed_for(Claimant::Waiter(4), 99).advanced();
        let object = |name| part(word.0, OBJECT_WORD, name);
        assert_eq!((object("sequence"), object("W"), object("WA"), object("SPILLED")), (1, 1, 0, 1));
        assert_eq!((object("claimant"), object("level"), object("value"), object("tag")), (5, 21, 77, 99));
        let word = WaiterWord::new(State::Waiting, Ticket::new(0xab_cdef_0123), 55).parked();
        let waiting = |name| part(word.0, WAITER_WORD, name);
        assert_eq!((waiting("thread"), waiting("parked"), waiting("state")), (55, 1, 1));
        assert_eq!(waiting("ticket"), 0xab_cdef_0123);
        let word = word.satisfied(8, true);
        let satisfied = |name| part(word.0, WAITER_WORD, name);
        assert_eq!(
            (satisfied("state"), satisfied("owed"), satisfied("abandoned"), satisfied("argument")),
            (2, 1, 1, 8)
        );
    }
}
