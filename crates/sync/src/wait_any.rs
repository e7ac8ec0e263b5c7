//! Waiting for one of several objects.
//!
//! # Role
//! A wait that finds its first object available takes it with one exchange. Otherwise the thread either takes a later object
//! while proving that the earlier ones stayed as they were (a *probe*), or registers with every object and sleeps.
//!
//! # Transitions
//! ```text
//!  look ----------------> taken                     first object: one exchange
//!   |  \---- probe -----> taken | register          a later one: claim, look again at the earlier ones, decide, settle
//!   |  \----------------> timed out                 nothing available, deadline passed, nothing changed between two looks
//!  register -> sleep ---> satisfied | withdrawn -> leave
//! ```
//! # Invariants
//! * I-any-1: of the objects that are available at one instant the first in the list is taken. A look at several words is one
//!   instant if none of them changed until the last was seen; every change moves the sequence.
//! * I-any-2: a registered waiter for whom an object is available has a claim on its way, or claims for itself (C1).
//! * I-any-3: the epoch ends after the object that satisfied it was seen at rest (C2) and after every entry was emptied.
//! * I-probe: while the waiter is `Probing`, whoever meets its claim withdraws it. So if the decision succeeds, nobody has seen
//!   the object since the claim; and the earlier objects were unavailable at the claim, because they were the same before
//!   and after it. A probe that fails is not repeated: the thread registers, which cannot be failed by others for ever.
//!
//! # Order
//! O-bag and O-self as in [`crate::claim`].
//!
//! # Death
//! Before the first entry: nothing happened. Registered: the entries are of an epoch that ends when the slot is inherited; until
//! then the dead waiter can be given objects like a living one, and what it was given goes with it. In a probe: whoever meets
//! the claim takes it away.

use ntux_platform::clock::Deadline;

use crate::arena::Arena;
use crate::arena::format::{LIST_MAX, ObjectSlot};
use crate::arena::objects::Kind;
use crate::bag::{Entry, Place};
use crate::claim::consumed;
use crate::planted::{Bug, planted};
use crate::ticket::State;
use crate::waiter::{End, Epoch, Waiter};
use crate::word::{ABANDONED, Claimant, ObjectWord, W};
use crate::{Error, Object, RETRIES, Result, Satisfied, mutex};

/// Most objects of one wait, without the alert.
pub const WAIT_MAX: usize = 64;

/// The objects of a wait, the alert last.
pub(crate) struct List {
    objects: [Object; LIST_MAX],
    /// Without the alert.
    pub count: usize,
    pub length: usize,
}

impl List {
    pub(crate) fn new(objects: &[Object], alert: Option<Object>) -> Result<List> {
        if objects.len() > WAIT_MAX {
            return Err(Error::Invalid);
        }
        let mut list = List { objects: [Object(0); LIST_MAX], count: objects.len(), length: objects.len() };
        list.objects[..objects.len()].copy_from_slice(objects);
        if let Some(alert) = alert {
            list.objects[list.length] = alert;
            list.length += 1;
        }
        Ok(list)
    }

    pub(crate) fn as_slice(&self) -> &[Object] {
        &self.objects[..self.length]
    }

    /// Where the object in slot `index` stands first.
    pub(crate) fn position(&self, index: u32) -> Option<usize> {
        self.as_slice().iter().position(|object| object.index() == index)
    }

    /// Whether the object at this position also stands before it.
    pub(crate) fn is_repeated(&self, position: usize) -> bool {
        self.objects[..position].contains(&self.objects[position])
    }
}

/// What a wait finds when it looks at an object.
pub(crate) enum Look {
    /// Not available; closed objects never are.
    Unavailable(ObjectWord),
    /// Available: the word, and what acquiring makes of it. Equal for a manual-reset event.
    Available { seen: ObjectWord, next: ObjectWord },
}

/// A place in a bag, and the entry that was put there.
pub(crate) type Registered<'a> = (Place<'a>, Entry);

impl Arena {
    /// Waits until one of `objects` is available to `owner` and acquires it: of several that are available at the start the
    /// first, later the first that is signaled. Then the alert, if it is signaled and none of the objects is.
    ///
    /// A `deadline` in the past makes one attempt. `owner` is the id that acquires mutexes, not 0.
    ///
    /// Errors: `Invalid` (more than 64 objects, owner 0, an object that is closed or unknown), `TimedOut`, `Interrupted` (see
    /// [`Waiter::interrupt`]), `Exhausted` (no place for another waiting thread); nothing was acquired then.
    #[inline]
    pub fn wait_any(
        &self,
        waiter: &Waiter,
        objects: &[Object],
        alert: Option<Object>,
        owner: u32,
        deadline: Deadline,
    ) -> Result<Satisfied> {
        if let (&[object], None, false) = (objects, alert, owner == 0) {
            if let Some(satisfied) = self.take_at_once(object, owner) {
                return Ok(satisfied);
            }
        }
        self.wait_any_slowly(waiter, objects, alert, owner, deadline)
    }

    /// One look and one exchange at a single object.
    #[inline(always)]
    fn take_at_once(&self, object: Object, owner: u32) -> Option<Satisfied> {
        let slot = self.object_slot(object.index())?;
        let seen = slot.load();
        let kind = slot.kind_if_live(object)?;
        if seen.is_claimed() {
            return None;
        }
        let next = acquired(slot, kind, seen, owner)?;
        let abandoned = kind == Kind::Mutex && seen.has(ABANDONED);
        let taken = kind == Kind::ManualEvent || slot.exchange(seen, next);
        taken.then_some(Satisfied { index: 0, abandoned })
    }

    #[cold]
    fn wait_any_slowly(
        &self,
        waiter: &Waiter,
        objects: &[Object],
        alert: Option<Object>,
        owner: u32,
        deadline: Deadline,
    ) -> Result<Satisfied> {
        let list = List::new(objects, alert)?;
        self.check(&list, owner)?;
        for _ in 0..RETRIES {
            let mut words = [ObjectWord::default(); LIST_MAX];
            match self.look_at_all(waiter, &list, owner, &mut words)? {
                Some((0, seen, next)) => {
                    if let Some(satisfied) = self.take_first(&list, seen, next) {
                        return Ok(satisfied);
                    }
                }
                Some((position, seen, next)) => {
                    let probed = self.probe(waiter, &list, owner, &words, position, seen, next)?;
                    return match probed {
                        Some(satisfied) => Ok(satisfied),
                        None => self.wait_registered(waiter, &list, owner, deadline),
                    };
                }
                None if !deadline.passed() => {
                    return self.wait_registered(waiter, &list, owner, deadline);
                }
                None if waiter.is_interrupted() => return Err(Error::Interrupted),
                None if self.unchanged(&list, &words, list.length) => return Err(Error::TimedOut),
                None => {}
            }
        }
        Err(Error::Corrupt)
    }

    /// The checks that come before everything else.
    pub(crate) fn check(&self, list: &List, owner: u32) -> Result<()> {
        let known = |&object: &Object| self.kind(object).is_ok();
        if owner == 0 || !list.as_slice().iter().all(known) {
            return Err(Error::Invalid);
        }
        Ok(())
    }

    /// Looks at one object, after helping it to rest.
    pub(crate) fn look(&self, waiter: &Waiter, object: Object, owner: u32) -> Result<Look> {
        let slot = self.object_slot(object.index()).ok_or(Error::Invalid)?;
        for _ in 0..RETRIES {
            let seen = slot.load();
            let Some(kind) = slot.kind_if_live(object) else {
                return Ok(Look::Unavailable(seen));
            };
            if seen.is_claimed() {
                self.help(waiter, object.index(), seen)?;
                continue;
            }
            if kind == Kind::Mutex && matches!(mutex::entry(seen, &slot.extra, owner), mutex::Entry::Carry) {
                slot.exchange(seen, seen.claimed_for(Claimant::CarryUp, 0));
                continue;
            }
            return Ok(match acquired(slot, kind, seen, owner) {
                Some(next) => Look::Available { seen, next },
                None => Look::Unavailable(seen),
            });
        }
        Err(Error::Corrupt)
    }

    /// The first available object; the words of those before it.
    fn look_at_all(
        &self,
        waiter: &Waiter,
        list: &List,
        owner: u32,
        words: &mut [ObjectWord; LIST_MAX],
    ) -> Result<Option<(usize, ObjectWord, ObjectWord)>> {
        for (position, &object) in list.as_slice().iter().enumerate() {
            match self.look(waiter, object, owner)? {
                Look::Available { seen, next } => return Ok(Some((position, seen, next))),
                Look::Unavailable(seen) => words[position] = seen,
            }
        }
        Ok(None)
    }

    /// Whether the first `count` objects still have these words.
    fn unchanged(&self, list: &List, words: &[ObjectWord; LIST_MAX], count: usize) -> bool {
        let same = |(&object, &word): (&Object, &ObjectWord)| {
            self.object_slot(object.index()).is_some_and(|slot| slot.load() == word)
        };
        list.as_slice().iter().zip(words).take(count).all(same)
    }

    fn take_first(&self, list: &List, seen: ObjectWord, next: ObjectWord) -> Option<Satisfied> {
        let slot = self.object_slot(list.as_slice()[0].index())?;
        let taken = next == seen || slot.exchange(seen, next);
        taken.then(|| Satisfied { index: 0, abandoned: is_abandoned(slot, seen) })
    }

    /// Takes the object at `position` if the ones before it stay as they were.
    #[allow(clippy::too_many_arguments, reason = "what one look has found")]
    fn probe(
        &self,
        waiter: &Waiter,
        list: &List,
        owner: u32,
        words: &[ObjectWord; LIST_MAX],
        position: usize,
        seen: ObjectWord,
        next: ObjectWord,
    ) -> Result<Option<Satisfied>> {
        let index = list.as_slice()[position].index();
        let slot = self.object_slot(index).ok_or(Error::Corrupt)?;
        let abandoned = is_abandoned(slot, seen);
        let satisfied = Satisfied { index: position as u32, abandoned };
        if next == seen {
            // A manual-reset event is not consumed: that the earlier objects did not change is enough.
            return Ok(self.unchanged(list, words, position).then_some(satisfied));
        }
        let epoch = self.begin(waiter, State::Probing, &[], 0, owner)?;
        let claim = seen.claimed_for(Claimant::Waiter(epoch.index), epoch.ticket.tag());
        if !slot.exchange(seen, claim) {
            epoch.withdraw();
            return Ok(None);
        }
        let probing = epoch.load();
        let undisturbed = self.unchanged(list, words, position);
        let decided = undisturbed
            && probing.state() == State::Probing
            && epoch.slot.exchange(probing, probing.satisfied(index, abandoned));
        if !decided {
            epoch.withdraw();
        }
        self.help(waiter, index, claim.advanced())?;
        Ok(decided.then_some(satisfied))
    }

    fn wait_registered(&self, waiter: &Waiter, list: &List, owner: u32, deadline: Deadline) -> Result<Satisfied> {
        let epoch = self.begin(waiter, State::Waiting, list.as_slice(), list.count, owner)?;
        let mut places = [None; LIST_MAX];
        let registered = self.register_any(&epoch, list, owner, 0..list.length, &mut places);
        let end = self.conclude(&epoch, registered.is_ok(), deadline);
        let satisfied = self.settle(&epoch, list, end);
        leave(&places);
        match (satisfied?, registered) {
            (Some(satisfied), _) => Ok(satisfied),
            (None, Err(error)) => Err(error),
            (None, Ok(())) => Err(failure(waiter)),
        }
    }

    /// Sleeps if there is anything to sleep for; withdraws otherwise.
    pub(crate) fn conclude(&self, epoch: &Epoch<'_>, registered: bool, deadline: Deadline) -> End {
        if !registered || (epoch.is_open() && deadline.passed()) {
            epoch.withdraw();
        }
        epoch.sleep(deadline)
    }

    /// Sees the object that satisfied the wait at rest (C2), and says which it was.
    fn settle(&self, epoch: &Epoch<'_>, list: &List, end: End) -> Result<Option<Satisfied>> {
        let End::Object { index, abandoned } = end else {
            return Ok(None);
        };
        let slot = self.object_slot(index).ok_or(Error::Corrupt)?;
        if !planted(Bug::OwnSettle) {
            self.help(epoch.waiter, index, slot.load())?;
        } else if slot.load().claimant() == Claimant::Waiter(epoch.index) {
            self.help_claim(epoch.waiter, index, slot.load())?;
        }
        let position = list.position(index).ok_or(Error::Corrupt)?;
        Ok(Some(Satisfied { index: position as u32, abandoned }))
    }

    /// Puts an entry into the bag of each object, unless one of them can be taken on the way.
    pub(crate) fn register_any<'a>(
        &'a self,
        epoch: &Epoch<'_>,
        list: &List,
        owner: u32,
        positions: core::ops::Range<usize>,
        places: &mut [Option<Registered<'a>>; LIST_MAX],
    ) -> Result<()> {
        for position in positions {
            if list.is_repeated(position) {
                continue;
            }
            let object = list.as_slice()[position];
            let slot = self.object_slot(object.index()).ok_or(Error::Invalid)?;
            let entry = Entry::new(epoch.index, epoch.ticket, position, false);
            if !planted(Bug::FlagFirst) {
                places[position] = Some((self.put(slot, entry)?, entry));
            }
            self.raise_or_claim(epoch, slot, object, owner)?;
            if planted(Bug::FlagFirst) {
                places[position] = Some((self.put(slot, entry)?, entry));
            }
            if !epoch.is_open() {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Raises `W`, or claims the object for the waiter itself if it is available.
    fn raise_or_claim(&self, epoch: &Epoch<'_>, slot: &ObjectSlot, object: Object, owner: u32) -> Result<()> {
        for _ in 0..RETRIES {
            match self.look(epoch.waiter, object, owner)? {
                Look::Unavailable(_) if slot.kind_if_live(object).is_none() => return Ok(()),
                Look::Unavailable(seen) => {
                    let raised = planted(Bug::NoRegisterBump) && seen.has(W) || slot.exchange(seen, seen.with(W));
                    if raised {
                        return Ok(());
                    }
                }
                Look::Available { seen, next } => {
                    if self.claim_for_self(epoch, slot, object, seen, next)? {
                        return Ok(());
                    }
                }
            }
            if !epoch.is_open() {
                return Ok(());
            }
        }
        Err(Error::Corrupt)
    }

    /// Claims an available object in the waiter's own name; true when the wait is decided.
    fn claim_for_self(
        &self,
        epoch: &Epoch<'_>,
        slot: &ObjectSlot,
        object: Object,
        seen: ObjectWord,
        next: ObjectWord,
    ) -> Result<bool> {
        let own = epoch.load();
        // C1: the own word after the copy of the object's.
        if own.state() != State::Waiting && !planted(Bug::SelfNoCheck) {
            return Ok(true);
        }
        if next == seen {
            epoch.slot.exchange(own, own.satisfied(object.index(), false));
        } else if slot.exchange(seen, seen.claimed_for(Claimant::Waiter(epoch.index), epoch.ticket.tag())) {
            self.help(epoch.waiter, object.index(), slot.load())?;
        }
        Ok(!epoch.is_open())
    }
}

/// Why a withdrawn wait failed.
pub(crate) fn failure(waiter: &Waiter) -> Error {
    if waiter.is_interrupted() { Error::Interrupted } else { Error::TimedOut }
}

/// Empties the places of a wait.
pub(crate) fn leave(places: &[Option<Registered<'_>>; LIST_MAX]) {
    for (place, entry) in places.iter().flatten() {
        place.empty(*entry);
    }
}

/// The word after `owner` has acquired the object, if it may; the same word for a manual-reset event.
#[inline(always)]
pub(crate) fn acquired(slot: &ObjectSlot, kind: Kind, seen: ObjectWord, owner: u32) -> Option<ObjectWord> {
    let available = match kind {
        Kind::Mutex => matches!(mutex::entry(seen, &slot.extra, owner), mutex::Entry::Open),
        _ => seen.value() != 0,
    };
    available.then(|| consumed(kind, seen, owner))
}

fn is_abandoned(slot: &ObjectSlot, seen: ObjectWord) -> bool {
    slot.kind() == Kind::Mutex && seen.has(ABANDONED)
}
