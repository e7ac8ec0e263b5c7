// SPDX-License-Identifier: MIT OR Apache-2.0
//! Holds: pages that system calls are about to write to, or are writing to.

use std::sync::{RwLock, RwLockReadGuard};

use crate::span::Span;

/// Spans; a span is listed once for each hold on it.
#[derive(Default)]
pub(crate) struct Holds {
    spans: RwLock<Vec<Span>>,
}

impl Holds {
    /// All spans. None is added while the guard exists.
    pub fn all(&self) -> RwLockReadGuard<'_, Vec<Span>> {
        self.spans.read().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub fn add(&self, span: Span) {
        self.spans.write().unwrap_or_else(|poisoned| poisoned.into_inner()).push(span);
    }

    pub fn remove(&self, span: Span) {
        let mut spans = self.spans.write().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(index) = spans.iter().position(|held| *held == span) {
            spans.swap_remove(index);
        }
    }
}
