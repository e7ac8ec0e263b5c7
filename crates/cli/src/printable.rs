// SPDX-License-Identifier: MIT OR Apache-2.0
//! What others chose, made harmless to print: names of programs and threads, paths, lines of a log.
//!
//! A terminal obeys control characters. Others turn the text around (U+202E: `gpj.exe` reads `exe.jpg`), or cannot be
//! seen. A program names itself and its threads, and none may pass for another one, or for a line of ntux.
//!
//! There are two measures. A name passes through [`printable`], which leaves a line one line. And all
//! output of the command passes a [`Filter`]: in text, what steers becomes `?`; in JSON it is escaped, so that a reader
//! gets the name as it is.

use std::io::{self, Write};

/// Characters that steer what prints them, or that cannot be seen: Unicode's control and format characters (Cc, Cf), its line and
/// paragraph separators (Zl, Zp), and what it lets a font leave out (`Default_Ignorable_Code_Point`). Among them is all of
/// `Bidi_Control`. In order.
const STEERING: [(char, char); 27] = [
    ('\u{0}', '\u{1f}'),
    ('\u{7f}', '\u{9f}'),
    ('\u{ad}', '\u{ad}'),
    ('\u{34f}', '\u{34f}'),
    ('\u{600}', '\u{605}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{6dd}', '\u{6dd}'),
    ('\u{70f}', '\u{70f}'),
    ('\u{890}', '\u{891}'),
    ('\u{8e2}', '\u{8e2}'),
    ('\u{115f}', '\u{1160}'),
    ('\u{17b4}', '\u{17b5}'),
    ('\u{180b}', '\u{180f}'),
    ('\u{200b}', '\u{200f}'),
    ('\u{2028}', '\u{202e}'),
    ('\u{2060}', '\u{206f}'),
    ('\u{3164}', '\u{3164}'),
    ('\u{fe00}', '\u{fe0f}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{ffa0}', '\u{ffa0}'),
    ('\u{fff0}', '\u{fffb}'),
    ('\u{110bd}', '\u{110bd}'),
    ('\u{110cd}', '\u{110cd}'),
    ('\u{13430}', '\u{1343f}'),
    ('\u{1bca0}', '\u{1bca3}'),
    ('\u{1d173}', '\u{1d17a}'),
    ('\u{e0000}', '\u{e0fff}'),
];

fn steers(letter: char) -> bool {
    let place = STEERING.partition_point(|&(_, last)| last < letter);
    STEERING.get(place).is_some_and(|&(first, _)| first <= letter)
}

/// A name, for a line of text.
pub fn printable(name: &str) -> String {
    name.chars().map(|letter| if steers(letter) { '?' } else { letter }).collect()
}

/// Lines of text, of which each stays one.
pub fn printable_lines(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    // A vector takes everything.
    let _ = Filter::new(&mut bytes, Form::Text).write_all(text.as_bytes());
    String::from_utf8_lossy(&bytes).into_owned()
}

/// What is printed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Lines, with tabs.
    Text,
    /// JSON, of which only the strings hold what is not ASCII.
    Json,
}

/// Passes on what is harmless.
pub struct Filter<W: Write> {
    out: W,
    form: Form,
}

impl<W: Write> Filter<W> {
    pub fn new(out: W, form: Form) -> Filter<W> {
        Filter { out, form }
    }

    fn text(&mut self, text: &str) -> io::Result<()> {
        let steers_here = |letter: char| steers(letter) && !matches!(letter, '\n' | '\t');
        let mut rest = text;
        while let Some(at) = rest.find(steers_here) {
            let (before, after) = rest.split_at(at);
            self.out.write_all(before.as_bytes())?;
            let letter = after.chars().next().unwrap_or_default();
            self.instead_of(letter)?;
            rest = &after[letter.len_utf8()..];
        }
        self.out.write_all(rest.as_bytes())
    }

    fn instead_of(&mut self, letter: char) -> io::Result<()> {
        match self.form {
            Form::Text => self.out.write_all(b"?"),
            Form::Json => {
                letter.encode_utf16(&mut [0; 2]).iter().try_for_each(|unit| write!(self.out, "\\u{unit:04x}"))
            }
        }
    }
}

impl<W: Write> Write for Filter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Nearly all that is ever written.
        if bytes.iter().all(|byte| matches!(byte, b' '..=b'~' | b'\n')) {
            return self.out.write(bytes);
        }
        let (text, invalid) = match std::str::from_utf8(bytes) {
            Ok(text) => (text, 0),
            Err(error) => {
                let (valid, rest) = bytes.split_at(error.valid_up_to());
                // The first bytes are valid, as the error says.
                (std::str::from_utf8(valid).unwrap_or_default(), error.error_len().unwrap_or(rest.len()))
            }
        };
        self.text(text)?;
        if invalid > 0 {
            self.text("\u{fffd}")?;
        }
        Ok(text.len() + invalid)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
#[path = "../tests/unit/printable.rs"]
mod tests;
