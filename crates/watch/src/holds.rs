//! Pages that system calls are about to write to, or are writing to.

use std::sync::{RwLock, RwLockReadGuard};

use crate::span::Span;

/// Spans, each as often as it is held.
#[derive(Default)]
pub(crate) struct Holds {
    spans: RwLock<Vec<Span>>,
}

impl Holds {
    /// All of them; none is added as long as the answer lives.
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
