// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tables for all reports: names on the left, numbers on the right.

use comfy_table::{Cell, CellAlignment, Table, presets};

/// An empty table with these columns.
pub(crate) fn grid<T: Into<Cell>>(header: impl IntoIterator<Item = T>) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::UTF8_HORIZONTAL_ONLY).set_header(header.into_iter().collect::<Vec<_>>());
    table
}

/// Names to the left, numbers to the right.
pub(crate) fn aligned(mut table: Table) -> Table {
    table.column_iter_mut().skip(1).for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    table
}

/// In the order of their first appearance.
pub(crate) fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = Vec::new();
    for name in names {
        if !seen.contains(&name) {
            seen.push(name);
        }
    }
    seen
}
