// SPDX-License-Identifier: MIT OR Apache-2.0
//! Text for people: lines of bounded width, and pages with a column of names.

use textwrap::Options;

use crate::printable::printable;

/// Width of a column of names on Linux.
pub const NAME_WIDTH: usize = 24;
/// Width of a [`Page`].
const PAGE_WIDTH: usize = 100;

/// A paragraph of lines of this width, the first of which begins with `start`, the others with `further`. No line ends with blanks.
pub fn paragraph(width: usize, start: &str, further: &str, text: &str) -> String {
    let rows = match text.is_empty() {
        true => vec![start.into()],
        false => textwrap::wrap(text, Options::new(width).initial_indent(start).subsequent_indent(further)),
    };
    rows.iter().map(|row| format!("{}\n", row.trim_end())).collect()
}

/// A page with a column of names.
pub struct Page {
    text: String,
    name_width: usize,
}

impl Page {
    pub fn with_names_of(name_width: usize) -> Page {
        Page { text: String::new(), name_width }
    }

    pub fn into_text(self) -> String {
        self.text
    }

    pub fn line(&mut self, text: &str) {
        self.text.push_str(text);
        self.text.push('\n');
    }

    pub fn title(&mut self, title: &str) {
        self.line(&format!("\n{title}"));
    }

    /// A paragraph that begins with `start`; later lines are indented by `indent`.
    pub fn paragraph(&mut self, start: &str, indent: usize, text: &str) {
        self.text.push_str(&paragraph(PAGE_WIDTH, start, &" ".repeat(indent), text));
    }

    pub fn setting(&mut self, name: &str, value: &str) {
        let width = self.name_width;
        self.paragraph(&format!("  {name:<width$}"), width + 2, &printable(value));
    }

    /// A line that begins with yes or no.
    pub fn fact(&mut self, good: bool, name: &str, meaning: &str) {
        let mark = if good { "yes" } else { "no" };
        self.setting(&format!("{mark:<5}{name}"), meaning);
    }
}
