// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pictures as SVG, which need no other file. Words may be anything: nothing in them is taken for markup.

use std::fmt::{Display, Write};

/// Sizes of letters.
pub const TITLE: u32 = 14;
pub const PLAIN: u32 = 11;
pub const SMALL: u32 = 10;

/// A picture that is being drawn.
pub struct Drawing {
    svg: String,
}

impl Drawing {
    /// An empty one, on white.
    pub fn new(width: f64, height: f64) -> Drawing {
        let svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\">\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n"
        );
        Drawing { svg }
    }

    /// Words that begin at a place.
    pub fn words(&mut self, (x, y): (f64, f64), size: u32, words: impl Display) {
        let words = escaped(&words.to_string());
        let _ = writeln!(self.svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{size}\">{words}</text>");
    }

    /// A box; the pointer over it shows the tip.
    pub fn area(&mut self, (x, y): (f64, f64), (width, height): (f64, f64), colour: &str, tip: Option<&str>) {
        let _ = write!(
            self.svg,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"{colour}\""
        );
        let _ = match tip {
            Some(tip) => writeln!(self.svg, "><title>{}</title></rect>", escaped(tip)),
            None => writeln!(self.svg, "/>"),
        };
    }

    /// A thin line.
    pub fn line(&mut self, (x1, y1): (f64, f64), (x2, y2): (f64, f64), colour: &str) {
        let _ = writeln!(
            self.svg,
            "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"{colour}\" stroke-width=\"0.7\"/>"
        );
    }

    /// The whole document.
    pub fn finish(self) -> String {
        self.svg + "</svg>\n"
    }
}

/// A page with a picture and a text below it.
pub fn page(title: &str, svg: &str, text: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>{}</title>\n\
         <style>body{{font-family:sans-serif;margin:1em}}pre{{font-size:12px}}</style>\n{svg}\n<pre>{}</pre>\n</html>\n",
        escaped(title),
        escaped(text)
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_cannot_break_a_picture_or_a_page() {
        const WORDS: &str = "</text><script>\"&";
        const HARMLESS: &str = "&lt;/text>&lt;script>&quot;&amp;";
        let mut drawing = Drawing::new(10.0, 10.0);
        drawing.words((0.0, 0.0), PLAIN, WORDS);
        drawing.area((0.0, 0.0), (1.0, 1.0), "#000", Some(WORDS));
        let svg = drawing.finish();
        assert_eq!(svg.matches(HARMLESS).count(), 2, "{svg}");
        assert_eq!(page(WORDS, &svg, WORDS).matches(HARMLESS).count(), 4);
        assert!(!page(WORDS, &svg, WORDS).contains("<script>"));
    }
}
