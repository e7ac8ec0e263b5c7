// SPDX-License-Identifier: MIT OR Apache-2.0
//! The map as a picture: time downwards, pages to the right.

use super::heat::Row;
use crate::drawing::{Drawing, PLAIN, SMALL, TITLE};

/// Size of a cell, and room around the map.
const WIDTH: f64 = 10.0;
const HEIGHT: f64 = 6.0;
const LEFT: f64 = 60.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = 30.0;

/// A whole document. Each part of the axis begins at a column and has a name; the summary stands below.
pub fn render(title: &str, parts: &[(usize, String)], rows: &[Row], summary: &str) -> String {
    let columns = rows.first().map_or(0, |row| row.heat.len());
    let x = |column: usize| LEFT + column as f64 * WIDTH;
    let bottom = TOP + rows.len() as f64 * HEIGHT;
    let mut drawing = Drawing::new(x(columns) + 20.0, bottom + BOTTOM);
    drawing.words((LEFT, 18.0), TITLE, title);
    for (number, row) in rows.iter().enumerate() {
        let y = TOP + number as f64 * HEIGHT;
        if number % 10 == 0 {
            drawing.words((4.0, y + HEIGHT), PLAIN, format_args!("{:.3} s", row.from.as_secs_f64()));
        }
        for (column, &heat) in row.heat.iter().enumerate().filter(|(_, heat)| **heat > 0.0) {
            drawing.area((x(column), y), (WIDTH, HEIGHT), &colour(heat), None);
        }
    }
    for (column, name) in parts {
        drawing.line((x(*column), TOP - 16.0), (x(*column), bottom), "#888");
        drawing.words((x(*column) + 3.0, TOP - 6.0), SMALL, name);
    }
    drawing.words((LEFT, bottom + BOTTOM - 10.0), PLAIN, summary);
    drawing.finish()
}

/// From light yellow to dark red.
fn colour(heat: f64) -> String {
    let between = |from: f64, to: f64| (from + (to - from) * heat) as u8;
    format!("#{:02x}{:02x}{:02x}", between(255.0, 160.0), between(230.0, 0.0), between(160.0, 30.0))
}
