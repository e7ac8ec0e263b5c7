// SPDX-License-Identifier: MIT OR Apache-2.0
//! What native programs that use ntux's Win32 face (`libntux-win`) have behind their handles: of which thread an object is the end, and names
//! that one process has for itself. Both are in the memory of the program alone ([`super::memory`]).
//!
//! | where | layout |
//! | --- | --- |
//! | among the data of the program or of a library, at a multiple of 8 | 0: `ntux-win records`; 16: numbers of 4 bytes: the size of a record, and where in it are its state, its object, what it owns, its kind, the length and the place of its name; where in a thread its number is; 48: the place of the first record, 56: how many records were ever used |
//! | the state of a record | bits 0 to 32: waits and handles that use it; 0: it is free. Above: the generation |
//! | the length of a name | bits 0 to 30: units of UTF-16; bit 31: it is one of all sessions |
//!
//! A record tells something only if its generation and object are the same before and after it is read. `tests/ntux/handles.rs` ties the layout to
//! that of the library, with real programs.

use ntux_sync::Object;
use serde::Serialize;

use super::memory::{Memory, half_in, is_data_of_file, word_in};

const MAGIC: &[u8; 16] = b"ntux-win records";
const HEADER: usize = 64;
/// Data that is searched at most, records, bytes of a record, and units of a name.
const SEARCHED: u64 = 64 << 20;
const RECORDS: u32 = 1 << 20;
const RECORD: usize = 256;
const UNITS: u32 = 1 << 15;
const USES: u64 = (1 << 33) - 1;
const GLOBAL: u32 = 1 << 31;
/// Records that are read at a time.
const AT_A_TIME: u32 = 4096;

/// An object, as a program has it behind its handles.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Win32Object {
    pub pid: u32,
    /// Such as `thread`: its object is signaled when that ends.
    pub kind: &'static str,
    /// None: it has none that is of this process alone.
    pub name: Option<String>,
    /// The thread that it is. None: it is no thread, or one that is only about to be started.
    pub thread: Option<u32>,
    /// That thread as people know it, where the scene does.
    #[serde(skip)]
    pub thread_text: Option<String>,
}

impl Win32Object {
    /// What it is, if that says more than the kind of the object: such as `the end of thread 4711/4713 worker`.
    pub fn text(&self) -> Option<String> {
        match (self.kind, &self.thread_text) {
            ("event" | "mutex" | "semaphore" | "timer", _) => None,
            (THREAD, Some(thread)) => Some(format!("the end of thread {thread}")),
            (THREAD, None) => Some(format!("the end of a thread of process {}", self.pid)),
            ("process", _) => Some("the end of a process".to_owned()),
            (kind, _) => Some(kind.to_owned()),
        }
    }
}

/// Kinds, by their numbers in records.
const KINDS: [&str; 9] =
    ["event", "mutex", "semaphore", "thread", "process", "timer", "completion port", "descriptor", "keyed event"];
const THREAD: &str = "thread";

/// Where a program has its records, and how they are laid out.
struct Records {
    size: usize,
    state: usize,
    object: usize,
    payload: usize,
    kind: usize,
    name_length: usize,
    name: usize,
    number: u64,
    first: u64,
    used: u32,
}

/// The objects behind the handles of a process; none if it has no records.
pub fn objects(memory: &Memory, pid: u32) -> Vec<(Object, Win32Object)> {
    let Some(records) = Records::find(memory) else { return Vec::new() };
    let mut objects = Vec::new();
    for start in (0..records.used).step_by(AT_A_TIME as usize) {
        let count = AT_A_TIME.min(records.used - start) as usize;
        let Some(at) = records.first.checked_add(u64::from(start) * records.size as u64) else { break };
        let bytes = memory.what_is_there(at, count * records.size);
        let each = (at..).step_by(records.size).zip(bytes.chunks_exact(records.size));
        objects.extend(each.filter_map(|(at, record)| records.object(memory, pid, at, record)));
    }
    objects
}

impl Records {
    fn find(memory: &Memory) -> Option<Records> {
        let mut left = SEARCHED;
        let mut found = None;
        for mapped in memory.maps().iter().filter(|mapped| is_data_of_file(mapped)) {
            let end = mapped.end.min(mapped.start.saturating_add(left));
            left -= end - mapped.start;
            memory.each_chunk(mapped.start, end, |_, bytes| {
                let places = bytes.windows(HEADER).step_by(8).filter(|header| header.starts_with(MAGIC));
                found = places.filter_map(Records::parse).next();
                found.is_some()
            });
            if found.is_some() {
                break;
            }
        }
        found
    }

    fn parse(header: &[u8]) -> Option<Records> {
        let layout = |number: usize| Some(half_in(header, 16 + 4 * number)? as usize);
        let size = layout(0).filter(|&size| (HEADER / 2..=RECORD).contains(&size) && size.is_multiple_of(8))?;
        let place = |number: usize| layout(number).filter(|&place| place + 8 <= size);
        Some(Records {
            size,
            state: place(1)?,
            object: place(2)?,
            payload: place(3)?,
            kind: place(4)?,
            name_length: place(5)?,
            name: place(6)?,
            number: layout(7)? as u64,
            first: word_in(header, 48).filter(|&first| first != 0)?,
            used: half_in(header, 56)?.min(RECORDS),
        })
    }

    fn object(&self, memory: &Memory, pid: u32, at: u64, record: &[u8]) -> Option<(Object, Win32Object)> {
        let state = word_in(record, self.state).filter(|state| state & USES != 0)?;
        let object = word_in(record, self.object)?;
        let kind = KINDS.get((half_in(record, self.kind)? as usize).checked_sub(1)?)?;
        let name = self.name(memory, record);
        let payload = word_in(record, self.payload).filter(|&payload| *kind == THREAD && payload != 0);
        let number = payload.and_then(|payload| memory.half(payload.checked_add(self.number)?));
        let told = Win32Object { pid, kind, name, thread: number.filter(|&number| number != 0), thread_text: None };
        // Its uses change all the time; it is another one if the generation is.
        let again = memory.word(at + self.state as u64)?;
        let is_same = again & !USES == state & !USES && memory.word(at + self.object as u64)? == object;
        is_same.then_some((Object(object), told))
    }

    fn name(&self, memory: &Memory, record: &[u8]) -> Option<String> {
        let at = word_in(record, self.name).filter(|&at| at != 0)?;
        let length = half_in(record, self.name_length)?;
        let units = Some(length & !GLOBAL).filter(|&units| units <= UNITS)?;
        let bytes = memory.block(at, 2 * units as usize)?;
        let units: Vec<u16> = bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
        let prefix = if length & GLOBAL != 0 { r"Global\" } else { r"Local\" };
        Some(format!("{prefix}{}", String::from_utf16_lossy(&units)))
    }
}
