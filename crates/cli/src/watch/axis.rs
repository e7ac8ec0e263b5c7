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
mod tests {
    use super::*;
    use ntux_platform::protection::Protection;

    const PAGE: usize = 4096;
    const BYTES: usize = BLOCK * PAGE;

    fn kinds() -> Kinds {
        let mut kinds = Kinds::default();
        let names: [&[u8]; 6] = [b"/bin/x", b"", b"[heap]", b"", b"/lib/y.so", b"[stack]"];
        for (place, name) in names.into_iter().enumerate() {
            // The first two follow each other, the others do not.
            let start = if place < 2 { place * BYTES } else { place * 4 * BYTES };
            let mapped = Mapped { start, end: start + BYTES, protection: Protection::READ_WRITE, is_private: true };
            kinds.add(&mapped, name);
        }
        kinds
    }

    fn written(runs: &[(usize, usize)]) -> Written {
        let mut written = Written::default();
        let kinds = kinds();
        runs.iter().for_each(|&(start, length)| written.add(Run { start, length }, &kinds, PAGE));
        written
    }

    #[test]
    fn memory_has_its_kind() {
        let kinds = kinds();
        let found = [0, BYTES, 8 * BYTES, 12 * BYTES, 16 * BYTES, 20 * BYTES, 30 * BYTES].map(|at| kinds.of(at));
        let expected = [Part::Data, Part::Data, Part::Heap, Part::Mapped, Part::Data, Part::Stack, Part::Mapped];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_run_is_counted_in_every_block_that_it_touches() {
        let written = written(&[(8 * PAGE, BYTES), (8 * BYTES, PAGE), (8 * BYTES + 2 * PAGE, PAGE)]);
        assert_eq!(written.pages, BLOCK + 2);
        assert_eq!(written.blocks, [(Part::Data, 0, 8), (Part::Data, 1, 8), (Part::Heap, 8, 2)]);
    }

    #[test]
    fn joined_intervals_count_a_page_once_or_twice_but_never_more_than_there_are() {
        let mut first = written(&[(0, BYTES), (8 * BYTES, PAGE)]);
        first.join(&written(&[(0, PAGE), (12 * BYTES, PAGE)]));
        assert_eq!(first.blocks, [(Part::Data, 0, 16), (Part::Heap, 8, 1), (Part::Mapped, 12, 1)]);
        assert_eq!(first.pages, BLOCK + 3);
    }

    #[test]
    fn the_axis_has_what_was_ever_written_and_no_more() {
        let mut axis = Axis::default();
        let now = written(&[(0, BYTES / 2), (8 * BYTES, BYTES)]);
        axis.add(&now);
        let layout = axis.layout(40, false);
        assert_eq!((layout.columns, layout.blocks), ([20, 20, 0, 0], [1, 1, 0, 0]));
        let heat = axis.heat(&layout, &now);
        assert_eq!(heat, [[0.5; 20], [1.0; 20]].concat());
        assert_eq!(axis.names(&layout, PAGE), [(0, "data 64 kB".to_owned()), (20, "heap 64 kB".to_owned())]);
        assert_eq!(axis.heat(&layout, &Written::default()), [0.0; 40]);
    }

    #[test]
    fn columns_stay_until_a_part_has_doubled() {
        let mut axis = Axis::default();
        (1..4).for_each(|place| axis.add(&written(&[(place * 100 * BYTES, PAGE)])));
        let before = axis.layout(64, true);
        axis.add(&written(&[(1000 * BYTES, PAGE)]));
        assert_eq!(axis.layout(64, true), before);
        axis.add(&written(&[(1001 * BYTES, PAGE), (1002 * BYTES, PAGE)]));
        assert_ne!(axis.layout(64, true), before);
    }

    #[test]
    fn every_column_is_given_to_a_part() {
        for blocks in [[1, 0, 0, 0], [5, 1, 1000, 1], [1, 1, 1, 1], [0, 7, 3, 0]] {
            for columns in [8, 64, 511] {
                let shares = share(columns, blocks);
                assert_eq!(shares.iter().sum::<usize>(), columns, "{blocks:?}");
                assert!(shares.iter().zip(blocks).all(|(&share, count)| (share > 0) == (count > 0)), "{shares:?}");
            }
        }
        assert_eq!(share(64, [0; 4]), [0; 4]);
    }
}
