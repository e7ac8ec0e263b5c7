//! The map as a picture: time downwards, pages to the right.

use std::fmt::Write;

use super::heat::Row;

/// Size of a cell, and room around the map.
const WIDTH: usize = 10;
const HEIGHT: usize = 6;
const LEFT: usize = 60;
const TOP: usize = 44;
const BOTTOM: usize = 30;

/// A whole document. Each part of the axis begins at a column and has a name; the summary stands below.
pub fn render(title: &str, parts: &[(usize, String)], rows: &[Row], summary: &str) -> String {
    let columns = rows.first().map_or(0, |row| row.heat.len());
    let (width, bottom) = (LEFT + columns * WIDTH + 20, TOP + rows.len() * HEIGHT);
    let height = bottom + BOTTOM;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n\
         <text x=\"{LEFT}\" y=\"18\">{}</text>\n",
        escaped(title)
    );
    for (number, row) in rows.iter().enumerate() {
        let y = TOP + number * HEIGHT;
        if number % 10 == 0 {
            let time = row.from.as_secs_f64();
            let _ = writeln!(text, "<text x=\"4\" y=\"{}\">{time:.3} s</text>", y + HEIGHT);
        }
        for (column, &heat) in row.heat.iter().enumerate().filter(|(_, heat)| **heat > 0.0) {
            let x = LEFT + column * WIDTH;
            let fill = colour(heat);
            let _ = writeln!(text, "<rect x=\"{x}\" y=\"{y}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"{fill}\"/>");
        }
    }
    for (column, name) in parts {
        let x = LEFT + column * WIDTH;
        let _ = writeln!(text, "<line x1=\"{x}\" y1=\"{}\" x2=\"{x}\" y2=\"{bottom}\" stroke=\"#888\"/>", TOP - 16);
        let _ = writeln!(text, "<text x=\"{}\" y=\"{}\" font-size=\"10\">{}</text>", x + 3, TOP - 6, escaped(name));
    }
    let _ = writeln!(text, "<text x=\"{LEFT}\" y=\"{}\">{}</text>\n</svg>", height - 10, summary);
    text
}

/// The name of a program may hold anything.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

/// From light yellow to dark red.
fn colour(heat: f64) -> String {
    let between = |from: f64, to: f64| (from + (to - from) * heat) as u8;
    format!("#{:02x}{:02x}{:02x}", between(255.0, 160.0), between(230.0, 0.0), between(160.0, 30.0))
}
