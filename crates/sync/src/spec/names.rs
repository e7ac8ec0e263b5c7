// SPDX-License-Identifier: MIT OR Apache-2.0
//! The names of objects.

use super::{Answer, Id, Operation, State, ThreadId, Value};
use crate::{Error, Result};

/// Stands in an operation for the object that its thread got by name last.
pub const BY_NAME: Id = Id::MAX;
/// No object has this number.
pub const NO_OBJECT: Id = BY_NAME - 1;

/// A name, as somebody looks for it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Name {
    /// The name.
    pub text: &'static str,
    /// Letters match in any case, if they are ASCII.
    pub ignores_case: bool,
}

impl Name {
    /// This name, in this case.
    pub const fn exactly(text: &'static str) -> Name {
        Name { text, ignores_case: false }
    }

    /// This name, in any case.
    pub const fn in_any_case(text: &'static str) -> Name {
        Name { text, ignores_case: true }
    }

    fn means(self, text: &str) -> bool {
        self.text == text || self.ignores_case && self.text.eq_ignore_ascii_case(text)
    }
}

impl State {
    pub(super) fn create_named(&mut self, thread: ThreadId, name: Name, value: Value) -> Result<Answer> {
        if let Some(object) = self.named(name) {
            return self.open(thread, object, &value, true);
        }
        let object = self.add(value);
        self.keep(object, thread);
        self.objects[object].name = Some(name.text);
        self.got_by_name[thread] = object;
        Ok(Answer::Named { existed: false })
    }

    pub(super) fn open_named(&mut self, thread: ThreadId, name: Name, like: &Value) -> Result<Answer> {
        let object = self.named(name).ok_or(Error::NoSuchName)?;
        self.open(thread, object, like, false)
    }

    fn open(&mut self, thread: ThreadId, object: Id, like: &Value, creates: bool) -> Result<Answer> {
        if std::mem::discriminant(&self.objects[object].value) != std::mem::discriminant(like) {
            return Err(Error::OtherKind);
        }
        self.hold(thread, object);
        self.got_by_name[thread] = object;
        Ok(if creates { Answer::Named { existed: true } } else { Answer::Done })
    }

    /// The object with this name. What may end has ended when somebody looks for its name.
    fn named(&mut self, name: Name) -> Option<Id> {
        let has_it =
            |object: &Id| self.is_open(*object) && self.objects[*object].name.is_some_and(|text| name.means(text));
        let named: Vec<Id> = (0..self.objects.len()).filter(has_it).collect();
        named.into_iter().find(|object| {
            self.objects[*object].closed = self.may_end(*object);
            !self.objects[*object].closed
        })
    }

    /// The operation, of the object that its thread got by name, if it says so.
    pub(super) fn of_named(&self, thread: ThreadId, mut operation: Operation) -> Operation {
        operation
            .objects_mut()
            .filter(|object| **object == BY_NAME)
            .for_each(|object| *object = self.got_by_name[thread]);
        operation
    }
}
