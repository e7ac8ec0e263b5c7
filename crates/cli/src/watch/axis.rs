// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where on the axis an address is drawn, though nearly all of an address space is empty.
//!
//! The axis has a part for each kind of memory, in which those blocks that were ever written follow each other by address.
//! It grows while a program runs; the columns of a line stay where they were until a part has twice as many blocks.

use ntux_platform::watching::mappings::Mapped;
use ntux_watch::Run;

/// Pages that are drawn as one: 64 KiB.
pub const BLOCK: usize = 16;

/// Kinds of memory, in the order in which they are drawn.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Part {
    /// Data of the program and of its libraries.
    Data,
    /// What `brk` gives.
    Heap,
    /// What `mmap` gives: large blocks, heaps and stacks of threads.
    Mapped,
    /// The first thread's stack.
    Stack,
}

const PARTS: [Part; 4] = [Part::Data, Part::Heap, Part::Mapped, Part::Stack];

impl Part {
    fn name(self) -> &'static str {
        match self {
            Part::Data => "data",
            Part::Heap => "heap",
            Part::Mapped => "mapped",
            Part::Stack => "stack",
        }
    }
}

/// Which kind of memory lies where, ascending.
#[derive(Default)]
pub struct Kinds {
    spans: Vec<(usize, usize, Part)>,
}

impl Kinds {
    /// Takes the next mapping in.
    pub fn add(&mut self, mapped: &Mapped, name: &[u8]) {
        let before = self.spans.last().filter(|span| span.1 == mapped.start);
        let part = match name {
            b"[heap]" => Part::Heap,
            b"[stack]" => Part::Stack,
            // What follows the data of a file immediately is data that begins as zeros.
            b"" if before.is_some_and(|span| span.2 == Part::Data) => Part::Data,
            [b'/', ..] => Part::Data,
            _ => Part::Mapped,
        };
        self.spans.push((mapped.start, mapped.end, part));
    }

    fn of(&self, address: usize) -> Part {
        let next = self.spans.partition_point(|span| span.0 <= address);
        let span = next.checked_sub(1).map(|last| self.spans[last]).filter(|span| address < span.1);
        span.map_or(Part::Mapped, |span| span.2)
    }
}

/// What was written in one interval: how many pages of each block.
#[derive(Clone, Default)]
pub struct Written {
    blocks: Vec<(Part, usize, u32)>,
    /// Pages.
    pub pages: usize,
}

impl Written {
    /// Takes the next run in; they ascend.
    pub fn add(&mut self, run: Run, kinds: &Kinds, page: usize) {
        let (mut first, end) = (run.start / page, (run.start + run.length) / page);
        self.pages += end - first;
        while first < end {
            let block = first / BLOCK;
            let next = end.min((block + 1) * BLOCK);
            let (part, count) = (kinds.of(first * page), (next - first) as u32);
            match self.blocks.last_mut() {
                Some(last) if (last.0, last.1) == (part, block) => last.2 += count,
                _ => self.blocks.push((part, block, count)),
            }
            first = next;
        }
    }

    /// Both intervals as one.
    pub fn join(&mut self, other: &Written) {
        self.pages += other.pages;
        self.blocks.extend_from_slice(&other.blocks);
        self.blocks.sort_unstable();
        self.blocks.dedup_by(|later, earlier| {
            let is_same = (later.0, later.1) == (earlier.0, earlier.1);
            earlier.2 = if is_same { (earlier.2 + later.2).min(BLOCK as u32) } else { earlier.2 };
            is_same
        });
    }
}

/// The blocks that were ever written.
#[derive(Default)]
pub struct Axis {
    /// For each part, ascending.
    blocks: [Vec<usize>; PARTS.len()],
}

/// How many columns each part has, and for how many blocks.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Layout {
    pub columns: [usize; PARTS.len()],
    blocks: [usize; PARTS.len()],
}

impl Axis {
    /// Makes room for what was written.
    pub fn add(&mut self, written: &Written) {
        for &(part, block, _) in &written.blocks {
            let blocks = &mut self.blocks[part as usize];
            if let Err(place) = blocks.binary_search(&block) {
                blocks.insert(place, block);
            }
        }
    }

    /// A layout that fits now. One with `spare` room fits until a part has twice as many blocks.
    pub fn layout(&self, columns: usize, spare: bool) -> Layout {
        let blocks = self.blocks.each_ref().map(|blocks| match (blocks.len(), spare) {
            (0, _) => 0,
            (count, true) => count.next_power_of_two(),
            (count, false) => count,
        });
        Layout { columns: share(columns, blocks), blocks }
    }

    /// The share of each column's pages that was written.
    pub fn heat(&self, layout: &Layout, written: &Written) -> Vec<f64> {
        let mut heat = Vec::new();
        for part in PARTS {
            let (columns, capacity) = (layout.columns[part as usize], layout.blocks[part as usize]);
            let mut counts = vec![0; capacity];
            for &(_, block, count) in written.blocks.iter().filter(|found| found.0 == part) {
                if let Ok(place) = self.blocks[part as usize].binary_search(&block) {
                    counts[place] = count;
                }
            }
            heat.extend((0..columns).map(|column| {
                let first = column * capacity / columns;
                let stretch = &counts[first..((column + 1) * capacity / columns).max(first + 1)];
                f64::from(stretch.iter().sum::<u32>()) / (stretch.len() * BLOCK) as f64
            }));
        }
        heat
    }

    /// The name and the size of each part, and the column at which it begins.
    pub fn names(&self, layout: &Layout, page: usize) -> Vec<(usize, String)> {
        let mut begin = 0;
        let mut names = Vec::new();
        for part in PARTS.into_iter().filter(|&part| layout.columns[part as usize] > 0) {
            let bytes = self.blocks[part as usize].len() * BLOCK * page;
            names.push((begin, format!("{} {}", part.name(), size(bytes))));
            begin += layout.columns[part as usize];
        }
        names
    }
}

/// Columns by the number of blocks, but enough for a name where there are any.
fn share(columns: usize, blocks: [usize; PARTS.len()]) -> [usize; PARTS.len()] {
    let parts = blocks.iter().filter(|&&count| count > 0).count().max(1);
    let least = (columns / parts).min(NAME_WIDTH);
    let (rest, all) = (columns - least * parts, blocks.iter().sum::<usize>().max(1));
    let mut shares = blocks.map(|count| if count > 0 { least + rest * count / all } else { 0 });
    let unused = columns - shares.iter().sum::<usize>();
    if let Some(largest) = (0..shares.len()).filter(|&part| blocks[part] > 0).max_by_key(|&part| blocks[part]) {
        shares[largest] += unused;
    }
    shares
}

/// Columns in which a name such as `mapped 128 kB` fits.
const NAME_WIDTH: usize = 13;

fn size(bytes: usize) -> String {
    const UNITS: [(usize, &str); 3] = [(1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "kB")];
    let (unit, name) = UNITS.into_iter().find(|unit| bytes >= unit.0).unwrap_or(UNITS[2]);
    let count = bytes as f64 / unit as f64;
    if count < 10.0 { format!("{count:.1} {name}") } else { format!("{count:.0} {name}") }
}

#[cfg(test)]
#[path = "../../tests/unit/watch/axis.rs"]
mod tests;
