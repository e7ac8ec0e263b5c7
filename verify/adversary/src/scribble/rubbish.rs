// SPDX-License-Identifier: MIT OR Apache-2.0
//! The rubbish: from single bits to complete states that look as if the core had written them.

use std::collections::VecDeque;

use fastrand::Rng;
use ntux_sync::Object;

use super::file::{ArenaFile, Word};

/// The kinds of scribbles.
pub const KINDS: [&str; 15] = [
    "bit",
    "part",
    "word",
    "stale",
    "page",
    "ring",
    "waiter",
    "claim",
    "admission",
    "hole",
    "resize",
    "header",
    "rewind",
    "peers",
    "delivery",
];

/// How often each comes, in the same order.
const OFTEN: [usize; KINDS.len()] = [6, 12, 4, 6, 2, 4, 6, 6, 6, 2, 2, 2, 6, 1, 6];

/// Where most scribbles go: what a small number of threads and objects uses.
const NEAR: u32 = 8;
/// Old values that are remembered, to be written back later.
const REMEMBERED: usize = 64;
const PAGE: usize = 4096;
/// Reserved claimants of an object, see `object_word.rs`: from a rubbish one to that of wait-all.
const CLAIMANTS: std::ops::RangeInclusive<u32> = 0x1_fff8..=0x1_ffff;
const WAITING: u128 = 1;
const REQUESTING: u128 = 4;

/// Writes rubbish into one arena.
pub struct Scribbler {
    pub file: ArenaFile,
    old: VecDeque<(Word, u128)>,
    /// The whole file as it was at some time.
    whole: Vec<u8>,
    /// Process and thread that it means by "this one".
    me: (u32, u32),
}

impl Scribbler {
    pub fn new(file: ArenaFile) -> Scribbler {
        #[cfg(ntux_explore)]
        let me = (super::inside::PROCESS, super::inside::THREAD);
        #[cfg(not(ntux_explore))]
        let me = (std::process::id(), ntux_platform::liveness::thread_id() as u32);
        Scribbler { file, old: VecDeque::new(), whole: vec![], me }
    }

    /// Remembers the whole file as it is now.
    pub fn take_picture(&mut self) {
        self.whole = self.file.bytes();
    }

    /// One scribble; its place in [`KINDS`]. `known`: objects that are probably alive.
    pub fn scribble(&mut self, rng: &mut Rng, known: &[Object]) -> usize {
        let often = OFTEN.iter().enumerate().flat_map(|(kind, &often)| std::iter::repeat_n(kind, often));
        let kind = often.clone().nth(rng.usize(0..often.count())).expect("one of them");
        match kind {
            0 => self.flip(rng),
            1 => self.part(rng, known),
            2 => self.overwrite(rng),
            3 => self.restore(rng),
            4 => self.page(rng),
            5 => self.ring(rng, known),
            6 => drop(self.pretend_waiter(rng, known)),
            7 => self.pretend_claim(rng, known),
            8 => self.pretend_admission(rng, known),
            9 => self.hole(rng),
            10 => self.file.resize(*rng.choice(&[0, 1, PAGE, self.file.length() * 2, usize::MAX >> 2]).unwrap_or(&0)),
            11 => self.header(rng),
            12 => self.rewind(),
            13 => self.peers(rng),
            _ => self.pretend_delivery(rng, known),
        }
        kind
    }

    /// The whole file becomes what it was when the picture was taken.
    pub fn rewind(&self) {
        self.file.write_back(&self.whole);
    }

    /// Writes to one word again and again, as fast as it can.
    pub fn hammer(&mut self, rng: &mut Rng, known: &[Object], times: u32) {
        let word = self.any_word(rng);
        let values = [self.file.load(word), self.edge(rng, known, 1, 64), rng.u128(..), 0];
        for time in 0..times {
            self.file.store(word, values[time as usize % values.len()]);
        }
    }

    /// Any word, mostly one that is in use.
    fn any_word(&self, rng: &mut Rng) -> Word {
        const OFTEN: [&str; 14] = [
            "header",
            "header",
            "peers",
            "waiters",
            "waiters",
            "waiters",
            "objects",
            "objects",
            "objects",
            "chunks",
            "schedules",
            "queues",
            "queues",
            "packets",
        ];
        let name = OFTEN[rng.usize(0..OFTEN.len())];
        let table = self.file.tables().iter().find(|table| table.name == name).expect("a table");
        let near = if rng.u32(0..16) == 0 { table.count } else { table.count.min(NEAR) };
        let field = &table.fields[rng.usize(0..table.fields.len())];
        let place = if rng.bool() { 0 } else { rng.usize(0..field.count) };
        self.file.word_of(table, rng.u32(0..near), field, place)
    }

    /// Writes a word, and remembers what stood there.
    fn write(&mut self, word: Word, value: u128) {
        self.remember(word);
        self.file.store(word, value);
    }

    fn remember(&mut self, word: Word) {
        if self.old.len() == REMEMBERED {
            self.old.pop_front();
        }
        self.old.push_back((word, self.file.load(word)));
    }

    fn set(&mut self, word: Word, parts: &[(&str, u128)]) {
        self.remember(word);
        self.file.set(word, parts);
    }

    fn flip(&mut self, rng: &mut Rng) {
        let word = self.any_word(rng);
        let bit = rng.usize(0..word.field.width * 8);
        self.write(word, self.file.load(word) ^ 1 << bit);
    }

    /// One part of a word, to a value at the edge of something.
    fn part(&mut self, rng: &mut Rng, known: &[Object]) {
        let word = self.any_word(rng);
        let before = self.file.load(word);
        let (name, first, width) = match rng.choice(word.field.bits) {
            Some(bits) => (bits.name, bits.first, bits.width),
            None => (word.field.name, 0, word.field.width as u32 * 8),
        };
        let mask = u128::MAX >> (128 - width);
        let part = match (name, rng.u32(0..4)) {
            // Nowhere else: it may be another number each time, and a failure is to come again.
            ("thread", 0) => self.me.1.into(),
            ("pid", 0) => self.me.0.into(),
            _ => self.edge(rng, known, before >> first & mask, width),
        };
        let part = part & mask;
        self.write(word, before & !(mask << first) | part << first);
    }

    fn edge(&self, rng: &mut Rng, known: &[Object], before: u128, width: u32) -> u128 {
        let capacity = self.file.capacity;
        let counts = [capacity.objects, capacity.waiters, capacity.waiters * 2];
        let near = |rng: &mut Rng, number: u128| number.wrapping_add(rng.u128(0..3)).wrapping_sub(1);
        match rng.u32(0..10) {
            0 => 0,
            1 => 1,
            2 => near(rng, u128::MAX >> (128 - width)),
            3 => {
                let count = counts[rng.usize(0..3)];
                near(rng, count.into())
            }
            4 => near(rng, before),
            5 => u128::from(rng.u32(0..NEAR)),
            6 => [1, u32::MAX.into(), 0x8000_0000][rng.usize(0..3)],
            7 => rng.choice(known).map_or(1, |object| u128::from(object.0)),
            8 => self.file.load(self.file.word("header", 0, "ticket", 0)),
            _ => rng.u128(..),
        }
    }

    fn overwrite(&mut self, rng: &mut Rng) {
        let word = self.any_word(rng);
        let value = *rng.choice(&[0, u128::MAX, 1]).unwrap_or(&0);
        let value = if rng.bool() { rng.u128(..) } else { value };
        self.write(word, value);
    }

    /// A word becomes what it was, or what another one of its sort was.
    fn restore(&mut self, rng: &mut Rng) {
        if self.old.is_empty() {
            return;
        }
        let (word, value) = self.old[rng.usize(0..self.old.len())];
        let other = self.old[rng.usize(0..self.old.len())].0;
        let same_sort = other.field.name == word.field.name && other.field.width == word.field.width;
        self.file.store(if same_sort { other } else { word }, value);
    }

    fn page(&mut self, rng: &mut Rng) {
        let page = self.any_word(rng).offset / PAGE * PAGE;
        let (offset, length) = (page + rng.usize(0..PAGE), rng.usize(0..PAGE));
        let (offset, length) = if rng.bool() { (page, PAGE) } else { (offset, length) };
        let byte = *rng.choice(&[0x00, 0xff, 0x01, 0x80]).unwrap_or(&0);
        match rng.bool() {
            true => self.file.fill(offset, (0..length).map(|_| byte)),
            false => self.file.fill(offset, std::iter::repeat_with(|| rng.u8(..)).take(length)),
        }
    }

    fn hole(&mut self, rng: &mut Rng) {
        let page = self.any_word(rng).offset / PAGE * PAGE;
        match rng.u32(0..4) {
            0 => self.file.punch(0, self.file.length()),
            1 => self.file.remove(page, PAGE),
            _ => self.file.punch(page, PAGE),
        }
    }

    fn header(&mut self, rng: &mut Rng) {
        let table = self.file.tables()[0];
        let word = self.file.word_of(&table, 0, &table.fields[rng.usize(0..table.fields.len())], 0);
        let value = match rng.u32(0..3) {
            0 => u128::from(rng.u32(0..4)),
            1 => u128::MAX,
            _ => rng.u128(..),
        };
        self.write(word, value);
    }

    /// A table full of processes that are dead, never were, are everybody, or are this one.
    fn peers(&mut self, rng: &mut Rng) {
        use std::os::unix::fs::MetadataExt;
        let namespace = std::fs::metadata("/proc/self/ns/pid").map_or(0, |status| status.ino());
        let table = self.file.tables()[1];
        let pids = [0, 1, self.me.0, 0x3fff_ffff, 0x7fff_ffff, 0x8000_0000, 0xffff_fffe, u32::MAX];
        let one = pids[rng.usize(0..pids.len())];
        for index in 0..table.count {
            let pid = if rng.u32(0..64) == 0 { pids[rng.usize(0..pids.len())] } else { one };
            let parts = [("pid", pid.into()), ("namespace", namespace.into()), ("start", rng.u128(0..2))];
            self.file.set(self.file.word_of(&table, index, &table.fields[0], 0), &parts);
        }
    }

    /// A wait set whose chunks lead to themselves, to each other, or past the end.
    fn ring(&mut self, rng: &mut Rng, known: &[Object]) {
        let (index, chunks) = (self.object(rng, known).0 as u32, self.file.capacity.waiters * 2);
        let length = rng.usize(1..5);
        let ring: Vec<u32> = (0..length).map(|_| rng.u32(0..chunks.min(NEAR))).collect();
        if rng.bool() {
            self.write(self.file.word("header", 0, "chunk_pool.fresh", 0), chunks.into());
        }
        for (place, &chunk) in ring.iter().enumerate() {
            let next = if rng.u32(0..8) == 0 { chunks } else { ring[(place + 1) % length] };
            self.write(self.file.word("chunks", chunk, "next", 0), u128::from(next) + 1);
            if rng.bool() {
                (0..31).for_each(|place| self.entry(rng, self.file.word("chunks", chunk, "wait_set", place)));
            }
        }
        self.write(self.file.word("objects", index, "chunk", 0), u128::from(ring[0]) + 1);
    }

    /// An entry of some waiter's present epoch, or nearly.
    fn entry(&mut self, rng: &mut Rng, place: Word) {
        let waiter = rng.u32(0..self.file.capacity.waiters.min(NEAR));
        let ticket = self.file.part(self.file.word("waiters", waiter, "word", 0), "ticket");
        let parts = [
            ("waiter", u128::from(waiter)),
            ("ticket", ticket + u128::from(rng.u32(0..8) == 0)),
            ("position", u128::from(rng.u32(0..3))),
            ("all", u128::from(rng.bool())),
        ];
        self.set(place, &parts);
    }

    /// The index and the number of an object that is probably alive.
    fn object(&self, rng: &mut Rng, known: &[Object]) -> (usize, u64) {
        let count = self.file.capacity.objects;
        match rng.choice(known).filter(|object| (object.0 as u32) < count) {
            Some(object) => (object.0 as u32 as usize, object.0),
            None => (0, 1 << 32),
        }
    }

    /// A waiter that seems to wait for some objects, and stands in their wait sets; its index and ticket.
    fn pretend_waiter(&mut self, rng: &mut Rng, known: &[Object]) -> (u32, u128) {
        let waiter = rng.u32(0..self.file.capacity.waiters.min(NEAR));
        let ticket = self.file.load(self.file.word("header", 0, "ticket", 0)) + rng.u128(0..3);
        let all = u128::from(rng.bool());
        let count = rng.usize(1..4);
        self.set(self.file.word("waiters", waiter, "wait", 0), &[("count", count as u128), ("owner", rng.u128(0..3))]);
        for position in 0..count {
            let (index, number) = self.object(rng, known);
            self.write(self.file.word("waiters", waiter, "list", position), number.into());
            let entry = self.file.word("objects", index as u32, "wait_set", rng.usize(0..3));
            let parts = [("waiter", waiter.into()), ("ticket", ticket), ("position", position as u128), ("all", all)];
            self.set(entry, &parts);
            self.set(self.file.word("objects", index as u32, "word", 0), &[("W", 1), ("WA", all)]);
        }
        let parts = [
            ("thread", if rng.bool() { 1 } else { self.me.1.into() }),
            ("died", u128::from(rng.u32(0..8) == 0)),
            ("parked", rng.u128(0..2)),
            ("ticket", ticket),
            ("state", if rng.u32(0..4) == 0 { rng.u128(0..8) } else { WAITING }),
            ("open", 0),
            ("owed", rng.u128(0..2)),
            ("code", rng.u128(0..3)),
        ];
        self.set(self.file.word("waiters", waiter, "word", 0), &parts);
        (waiter, ticket)
    }

    /// An object that is claimed for a waiter, in or out of its epoch, or by one of the reserved claimants.
    fn pretend_claim(&mut self, rng: &mut Rng, known: &[Object]) {
        let (waiter, ticket) = self.pretend_waiter(rng, known);
        let index = self.object(rng, known).0 as u32;
        let claimant = if rng.bool() { waiter + 1 } else { rng.u32(CLAIMANTS) };
        let parts = [
            ("claimant", claimant.into()),
            ("tag", ticket + u128::from(rng.u32(0..4) == 0)),
            ("value", u128::from(*rng.choice(&[0, 1, 2, u32::MAX]).unwrap_or(&1))),
            ("level", rng.u128(0..32)),
            ("SPILLED", rng.u128(0..2)),
            ("BROADCAST", rng.u128(0..2)),
            ("PULSE", rng.u128(0..2)),
        ];
        self.set(self.file.word("objects", index, "word", 0), &parts);
    }

    /// A wait-all operation in full swing: its requester, its candidate, and claims of its attempt.
    fn pretend_admission(&mut self, rng: &mut Rng, known: &[Object]) {
        let (candidate, ticket) = self.pretend_waiter(rng, known);
        let requester = rng.u32(0..self.file.capacity.waiters.min(NEAR));
        let attempt = rng.u128(0..4);
        self.set(
            self.file.word("waiters", requester, "request", 0),
            &[("signal", rng.u128(0..8)), ("argument", rng.u128(0..3))],
        );
        let (_, number) = self.object(rng, known);
        self.write(self.file.word("waiters", requester, "request_object", 0), number.into());
        if requester != candidate {
            self.set(self.file.word("waiters", requester, "word", 0), &[("state", REQUESTING), ("thread", 0)]);
        }
        let open = [("open", rng.u128(0..2)), ("code", 1), ("argument", attempt)];
        self.set(self.file.word("waiters", candidate, "word", 0), &open);
        for _ in 0..rng.usize(0..3) {
            let index = self.object(rng, known).0 as u32;
            let claim = [("claimant", rng.u32(CLAIMANTS).into()), ("tag", attempt), ("value", rng.u128(0..3))];
            self.set(self.file.word("objects", index, "word", 0), &claim);
        }
        let parts = [
            ("phase", rng.u128(0..7)),
            ("attempt", attempt),
            ("step", if rng.bool() { 0 } else { rng.u128(0..4096) }),
            ("requester", requester.into()),
            ("candidate", candidate.into()),
            ("ticket", ticket),
        ];
        self.set(self.file.word("header", 0, "admission", 0), &parts);
    }

    /// A queue of this process, or somebody's, with a result that was announced, or is said to be; and packets in any order.
    fn pretend_delivery(&mut self, rng: &mut Rng, known: &[Object]) {
        let (waiter, ticket) = self.pretend_waiter(rng, known);
        // An arena has as many queues as waits.
        let (queue, serial) = (rng.u32(0..self.file.capacity.waiters.min(4)), rng.u128(0..4));
        let parts = [("used", 1), ("queue", queue.into()), ("serial", serial), ("waiter", waiter.into())];
        self.set(self.file.word("waiters", waiter, "queue", 0), &parts);
        let word = self.file.word("waiters", waiter, "word", 0);
        self.set(word, &[("detached", 1), ("thread", 0x3fff_ffff), ("parked", 1), ("owed", rng.u128(0..2))]);
        let holder = self.file.word("waiters", waiter, "holder", 0);
        let is_its = rng.u128(0..2);
        self.set(holder, &[("thread", ticket * is_its), ("detached", is_its), ("peer", rng.u128(0..2)), ("taken", 1)]);
        if rng.bool() {
            self.set(
                self.file.word("queues", queue, "holder", 0),
                &[("thread", serial), ("detached", 0), ("peer", rng.u128(0..2)), ("taken", 1)],
            );
            self.write(self.file.word("queues", queue, "serial", 0), serial);
        }
        let group = waiter as usize % self.file.word("queues", queue, "posted", 0).field.count;
        for name in ["posted", "seen"] {
            let count = self.edge(rng, known, 0, 32);
            self.write(self.file.word("queues", queue, name, group), count);
        }
        for name in ["rotor", "timed", "head", "tail"] {
            if rng.bool() {
                let word = self.file.word("queues", queue, name, 0);
                let value = self.edge(rng, known, self.file.load(word), word.field.width as u32 * 8);
                self.write(word, value);
            }
        }
        let silent = [("silent", rng.u128(0..2)), ("rings", rng.u128(..))];
        self.set(self.file.word("queues", queue, "bell", 0), &silent);
        for _ in 0..rng.u32(0..4) {
            let parts = [("full", rng.u128(0..2)), ("serial", serial), ("round", rng.u128(0..3))];
            let packet = rng.u32(0..self.file.count("packets").min(NEAR));
            self.set(self.file.word("packets", packet, "packet", 0), &parts);
        }
    }
}
