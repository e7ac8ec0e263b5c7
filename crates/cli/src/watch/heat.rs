// SPDX-License-Identifier: MIT OR Apache-2.0
//! One interval as a line: how much of each stretch of pages was written.

use std::time::Duration;

/// From nothing written to everything.
const SHADES: [char; 5] = ['·', '░', '▒', '▓', '█'];
/// The same as colours of a terminal with 256 of them.
const COLOURS: [u8; 5] = [236, 52, 124, 208, 226];

/// What was written in one interval.
pub struct Row {
    pub from: Duration,
    pub until: Duration,
    pub written: usize,
    /// Share of each column's pages that was written, 0 to 1.
    pub heat: Vec<f64>,
}

impl Row {
    /// Bytes in written pages, in a second.
    pub fn rate(&self, page: usize) -> f64 {
        let seconds = self.until.saturating_sub(self.from).as_secs_f64();
        if seconds > 0.0 { (self.written * page) as f64 / seconds } else { 0.0 }
    }
}

/// Which of the five shades.
pub fn shade(heat: f64) -> usize {
    if heat <= 0.0 { 0 } else { ((heat * 4.0).ceil() as usize).clamp(1, 4) }
}

/// Room for the time in front of the cells.
pub const TIME_WIDTH: usize = 10;

/// The line for a terminal, or for a file; a stroke stands between parts, which have so many columns each.
pub fn line(row: &Row, parts: &[usize], page: usize, is_colored: bool) -> String {
    let mut rest = row.heat.as_slice();
    let cells: Vec<String> = parts
        .iter()
        .map(|&columns| {
            let (part, others) = rest.split_at(columns.min(rest.len()));
            rest = others;
            cells(part, is_colored)
        })
        .collect();
    let (time, rate) = (row.until.as_secs_f64(), row.rate(page) / 1e6);
    format!("{time:7.3} s {} {:>6} pages {rate:>7.0} MB/s", cells.join("│"), row.written)
}

fn cells(heat: &[f64], is_colored: bool) -> String {
    let cells = heat.iter().map(|&heat| match (is_colored, shade(heat)) {
        (true, shade) => format!("\x1b[38;5;{}m█", COLOURS[shade]),
        (false, shade) => SHADES[shade].to_string(),
    });
    let reset = if is_colored { "\x1b[0m" } else { "" };
    cells.collect::<String>() + reset
}

/// What all rows came to.
#[derive(Default)]
pub struct Totals {
    written: usize,
    most: usize,
    until: Duration,
}

impl Totals {
    pub fn add(&mut self, row: &Row) {
        self.written += row.written;
        self.most = self.most.max(row.written);
        self.until = row.until;
    }

    pub fn sentence(&self, page: usize) -> String {
        let (written, most, seconds) = (self.written, self.most, self.until.as_secs_f64());
        let rate = if seconds > 0.0 { (written * page) as f64 / seconds / 1e6 } else { 0.0 };
        format!("{written} pages in {seconds:.3} s, {rate:.0} MB/s of written pages; at most {most} in one interval")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_nothing_is_the_lightest_shade_and_only_much_the_darkest() {
        assert_eq!([0.0, 0.001, 0.25, 0.26, 0.75, 0.76, 1.0].map(shade), [0, 1, 1, 2, 3, 4, 4]);
    }

    #[test]
    fn a_line_for_a_file_has_no_colours() {
        let row = Row { from: Duration::ZERO, until: Duration::from_millis(500), written: 2, heat: vec![0.0, 1.0] };
        assert_eq!(line(&row, &[2], 1_000_000, false), "  0.500 s ·█      2 pages       4 MB/s");
        assert_eq!(line(&row, &[1, 1], 1_000_000, false), "  0.500 s ·│█      2 pages       4 MB/s");
        assert!(line(&row, &[2], 1, true).contains("\x1b[38;5;226m█\x1b[0m"));
    }
}
