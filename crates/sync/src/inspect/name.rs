// SPDX-License-Identifier: MIT OR Apache-2.0
//! The names of objects.

use std::collections::HashMap;

use super::view::Look;
use super::{Reading, reading};
use crate::Object;
use crate::format::layout::NameText;
use crate::format::limits::NAMES_GROUP;
use crate::format::name_word::NameWord;

/// The names that count, or are about to, by their objects; also those of objects that are over.
pub(super) fn all(look: &Look<'_>) -> HashMap<Object, String> {
    let places = (0..look.name_groups()).filter(|group| look.name_group(*group).is_some());
    places.flat_map(|group| (0..NAMES_GROUP as u32).filter_map(move |place| name_in(look, group, place))).collect()
}

fn name_in(look: &Look<'_>, group: u32, place: u32) -> Option<(Object, String)> {
    let word = look.name_group(group)?.names.get(place as usize)?;
    let announced = NameWord(look.name_group(group)?.head.glance()).object();
    let text = look.name_text(group, place)?;
    let read = |seen| (NameWord(seen), shown(text, NameWord(seen).length()));
    let Reading { what: (word, text), stable } = reading(word, read);
    let counts = word.is_named() || word.object() == announced;
    (stable && counts && !word.is_unused()).then(|| (word.object(), text))
}

fn shown(text: &NameText, length: usize) -> String {
    let bytes: Vec<u8> = text.words.iter().flat_map(|word| word.load().to_le_bytes()).take(length).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}
