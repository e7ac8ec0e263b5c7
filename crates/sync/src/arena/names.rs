// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names: which object of the arena has a name.
//!
//! # Role
//! A name leads to one object. A thread that creates an object by a name gets the one that has it, or makes one, in one step; so two that
//! do so at the same time get the same object. Nobody removes a name: it counts as long as its object lives, and how long that is, its
//! holds say ([`super::holds`]).
//!
//! # Picture
//! ```text
//! group: head     the place that was announced last, and its object
//!        place 0  reserved: object, hash, length       text 0   up to 255 bytes
//!        place 1  named:    object, hash, length       text 1
//!        place 2  unused                               text 2
//!        ...      (255 places)
//! ```
//! A name belongs to one group, and is looked for in its places one after the other, from one on that its hash says, up to the first one
//! that was never used. Hashes do not distinguish case; texts do, if the caller does.
//!
//! # Transitions
//! | place | to | by |
//! | --- | --- | --- |
//! | unused | reserved for a new object | its creator, which writes the text after that |
//! | reserved or named, of an object that is over | the same | the same |
//! | reserved | named | anyone that finds it announced in the head |
//!
//! | head | to | by |
//! | --- | --- | --- |
//! | any | the place of a new object | its creator: from now on the object has the name |
//!
//! # Invariants
//! * I-name-1: a thread that announces a name, or finds none, has read the head first, has made the place named that it announces, and
//!   has looked at all places of the group after that. The head is still the same when it announces; since each announcement changes
//!   it, no object has got a name meanwhile. So no name has two objects. A thread that announces nothing need not ask again: if the
//!   name has got an object meanwhile, there was an instant before when it had none.
//! * I-name-2: an object is announced once, and in one place. So the head, and the word of a place, never return to an earlier value;
//!   and the head makes named what was announced, never what was reserved in the same place later.
//! * I-name-3: a place is taken only if its object is over. So if an object lives after its text was read, that was its text.
//! * I-name-4: a creator takes the first place that it can. So behind a place that was never used is none.
//!
//! # Ordering
//! * O-name: the text is written before the head is exchanged. A thread that finds a place named, and has read the head
//!   since then, reads the whole text. One that has not may read an earlier text, and then announces nothing.
//! * O-reserved: an object is made before a place is reserved for it. A thread that finds the place reserved sees that the object lives.
//!
//! # Death
//! * Before the announcement: nobody finds the name. The object is that of a dead process; when it is over, the place is free.
//! * After it: the object has the name; if nobody else holds it by then, the next one to look ends it.

use ntux_platform::atomic::Word64;

use super::Arena;
use crate::format::fields::Hash;
use crate::format::layout::{NameGroup, NameText};
use crate::format::limits::{NAME_MAX, NAMES_USED, RETRIES};
use crate::format::name_word::{NameHead, NameWord};
use crate::kind::Kind;
use crate::planted::{Bug, planted};
use crate::{Error, Object, Result};

/// The name of an object: 1 to 255 bytes, none of which is 0. They need not be UTF-8.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Name<'a> {
    text: &'a [u8],
    ignores_case: bool,
}

impl<'a> Name<'a> {
    /// Most bytes.
    pub const MAX: usize = NAME_MAX;

    /// This name, byte by byte.
    ///
    /// Errors: `Invalid` (too short, too long, contains 0).
    pub fn new(text: &'a (impl AsRef<[u8]> + ?Sized)) -> Result<Name<'a>> {
        let text = text.as_ref();
        let is_one = (1..=NAME_MAX).contains(&text.len()) && !text.contains(&0);
        if is_one { Ok(Name { text, ignores_case: false }) } else { Err(Error::Invalid) }
    }

    /// The same; A to Z are looked for as a to z. If several names match, it means one of these.
    pub fn ignoring_case(self) -> Name<'a> {
        Name { ignores_case: true, ..self }
    }

    /// That of the name in any case.
    fn hash(self) -> u32 {
        self.text.iter().fold(Hash::new(), |hash, byte| hash.add(byte.to_ascii_lowercase().into())).finish()
    }

    /// Returns true if it takes the two bytes for the same.
    fn takes(self, byte: u8, other: u8) -> bool {
        byte == other || self.ignores_case && byte.eq_ignore_ascii_case(&other)
    }
}

impl NameText {
    fn is(&self, name: Name<'_>) -> bool {
        let eight = |(word, bytes): (&Word64, &[u8])| {
            bytes.iter().zip(word.load().to_le_bytes()).all(|(byte, other)| name.takes(*byte, other))
        };
        self.words.iter().zip(name.text.chunks(8)).all(eight)
    }

    fn write(&self, name: Name<'_>) {
        for (word, bytes) in self.words.iter().zip(name.text.chunks(8)) {
            let mut all = [0; 8];
            all[..bytes.len()].copy_from_slice(bytes);
            word.store(u64::from_le_bytes(all));
        }
    }
}

/// Where a name is looked for.
#[derive(Clone, Copy)]
pub(crate) struct Search<'a> {
    name: Name<'a>,
    hash: u32,
    group: u32,
}

impl Search<'_> {
    /// The places where the name may be, in order.
    fn places(self, groups: u32) -> impl Iterator<Item = u32> {
        (0..NAMES_USED).map(move |step| (self.hash / groups % NAMES_USED + step) % NAMES_USED)
    }
}

impl Arena {
    /// Where this name is looked for.
    pub(crate) fn search_of<'a>(&self, name: Name<'a>) -> Search<'a> {
        let hash = name.hash();
        Search { name, hash, group: hash % self.name_groups() }
    }

    /// The group of the name, if it has memory. Nobody in it has a name otherwise.
    pub(crate) fn used_group(&self, search: Search<'_>) -> Option<&NameGroup> {
        let (word, bit) = self.bit_of(search.group)?;
        (word.load() & bit != 0).then(|| self.name_group(search.group))?
    }

    /// The group of the name. Gives it memory if it has none.
    ///
    /// Errors: `Exhausted`.
    pub(crate) fn group(&self, search: Search<'_>) -> Result<&NameGroup> {
        let (word, bit) = self.bit_of(search.group).ok_or(Error::Corrupt)?;
        for _ in 0..RETRIES {
            let seen = word.load();
            if seen & bit != 0 {
                return self.name_group(search.group).ok_or(Error::Corrupt);
            }
            if !self.provide_name_group(search.group) {
                return Err(Error::Exhausted);
            }
            let _ = word.compare_exchange(seen, seen | bit);
        }
        Err(Error::Corrupt)
    }

    /// The head of a group, in which every name counts that was announced. (I-name-1)
    pub(crate) fn settled(&self, group: &NameGroup) -> NameHead {
        let head = NameHead(group.head.load());
        let Some(place) = group.names.get(head.place() as usize) else { return head };
        let word = NameWord(place.load());
        // I-name-2
        let is_meant = word.object() == head.object() || planted(Bug::NameTrusted);
        if is_meant && !word.is_unused() && !word.is_named() && !planted(Bug::NameUnsettled) {
            let _ = place.compare_exchange(word.0, word.named().0);
        }
        head
    }

    /// The process with this index holds the object that has the name. None if nobody has it. The group was settled before.
    ///
    /// Errors: `OtherKind`; those of [`Arena::hold_by`] but `NoSuchObject`.
    pub(crate) fn hold_named(
        &self,
        group: &NameGroup,
        search: Search<'_>,
        kind: Kind,
        peer: u32,
    ) -> Result<Option<Object>> {
        for place in search.places(self.name_groups()) {
            let Some(word) = group.names.get(place as usize).map(|word| NameWord(word.load())) else { break };
            // I-name-4
            if word.is_unused() {
                break;
            }
            let may_be_it = word.is_named() && word.hash() == search.hash && word.length() == search.name.text.len();
            let text = self.name_text(search.group, place).filter(|_| may_be_it);
            if !text.is_some_and(|text| text.is(search.name)) {
                continue;
            }
            match self.hold_found(word.object(), kind, peer) {
                // I-name-3: it may have been another text.
                Err(Error::NoSuchObject) => {}
                held => return held.map(|()| Some(word.object())),
            }
        }
        Ok(None)
    }

    /// Errors: `NoSuchObject`, `OtherKind`; those of [`Arena::hold_by`].
    fn hold_found(&self, object: Object, kind: Kind, peer: u32) -> Result<()> {
        if !planted(Bug::NameOfTheDead) && self.end_if_nobodys(object, peer) {
            return Err(Error::NoSuchObject);
        }
        match self.kind_of(object)?.is_like(kind) {
            true if planted(Bug::NameUnheld) => Ok(()),
            true => self.hold_by(object, peer),
            false => Err(Error::OtherKind),
        }
    }

    /// Reserves a place for the name of a new object, which the process with this index has made, and writes the text. Nobody finds it.
    ///
    /// Errors: `Exhausted`.
    pub(crate) fn reserve_name(&self, group: &NameGroup, search: Search<'_>, object: Object, peer: u32) -> Result<u32> {
        self.reserve_if(group, search, object, |other| !self.is_alive(other))
            .or_else(|_| self.reserve_if(group, search, object, |other| self.end_if_nobodys(other, peer)))
    }

    fn reserve_if(
        &self,
        group: &NameGroup,
        search: Search<'_>,
        object: Object,
        is_over: impl Fn(Object) -> bool,
    ) -> Result<u32> {
        let reserved = NameWord::reserved(object, search.hash, search.name.text.len() as u8);
        for place in search.places(self.name_groups()) {
            let Some(word) = group.names.get(place as usize) else { break };
            // O-reserved
            let seen = NameWord(word.load());
            let is_free =
                seen.is_unused() || is_over(seen.object()) || planted(Bug::NameUnreserved) && !seen.is_named();
            // I-name-4: without memory for this place, none behind it.
            if is_free && seen.is_unused() && !self.provide_name_text(search.group, place) {
                break;
            }
            // O-reserved
            if is_free && word.compare_exchange(seen.0, reserved.0).is_ok() {
                self.name_text(search.group, place).ok_or(Error::Corrupt)?.write(search.name);
                return Ok(place);
            }
        }
        Err(Error::Exhausted)
    }

    /// From now on the object in this place has its name, unless another one was announced since the head was read.
    pub(crate) fn announce_name(&self, group: &NameGroup, head: NameHead, object: Object, place: u32) -> bool {
        if planted(Bug::NameUnannounced) {
            let reserved = NameWord(group.names[place as usize].load());
            return group.names[place as usize].compare_exchange(reserved.0, reserved.named().0).is_ok();
        }
        // O-name
        let announced = group.head.compare_exchange(head.0, NameHead::new(object, place).0).is_ok();
        if announced {
            self.settled(group);
        }
        announced
    }

    fn is_alive(&self, object: Object) -> bool {
        self.kind_of(object).is_ok()
    }

    /// The bit that says whether a group has memory.
    fn bit_of(&self, group: u32) -> Option<(&Word64, u64)> {
        let word = self.header().name_groups.0.get(group as usize / 64)?;
        Some((word, 1 << (group % 64)))
    }
}

#[cfg(test)]
mod tests;
