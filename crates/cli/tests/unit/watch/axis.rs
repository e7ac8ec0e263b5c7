// SPDX-License-Identifier: MIT OR Apache-2.0
//! The unit tests of `src/watch/axis.rs`.

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
