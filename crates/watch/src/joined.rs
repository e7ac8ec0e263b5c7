// SPDX-License-Identifier: MIT OR Apache-2.0
//! Joins neighbouring runs of pages, so that one call handles all of them.

use std::io;

use crate::span::Span;

/// The last run, with whether its pages may be executed.
#[derive(Default)]
pub(crate) struct Joined {
    last: Option<(Span, bool)>,
}

impl Joined {
    pub fn add(&mut self, span: Span, executable: bool, act: &impl Fn(Span, bool) -> io::Result<()>) -> io::Result<()> {
        match &mut self.last {
            Some((last, same)) if last.end == span.start && *same == executable => {
                last.end = span.end;
                Ok(())
            }
            _ => self.last.replace((span, executable)).map_or(Ok(()), |(span, executable)| act(span, executable)),
        }
    }

    pub fn finish(self, act: &impl Fn(Span, bool) -> io::Result<()>) -> io::Result<()> {
        self.last.map_or(Ok(()), |(span, executable)| act(span, executable))
    }
}
