// SPDX-License-Identifier: MIT OR Apache-2.0
//! A page of text: lines of bounded width, with a column of names.

use crate::printable::printable;

/// Width of the column of marks and names, and of the whole page.
const NAME_WIDTH: usize = 24;
const PAGE_WIDTH: usize = 100;

/// Lines of bounded width.
#[derive(Default)]
pub struct Page {
    text: String,
}

impl Page {
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
        let further = " ".repeat(indent);
        let options = textwrap::Options::new(PAGE_WIDTH).initial_indent(start).subsequent_indent(&further);
        self.line(&textwrap::fill(text, options));
    }

    pub fn setting(&mut self, name: &str, value: &str) {
        self.paragraph(&format!("  {name:<NAME_WIDTH$}"), NAME_WIDTH + 2, &printable(value));
    }
}
