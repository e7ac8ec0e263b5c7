//! Waiting for several objects at once: all of them in one step, or none.
//!
//! # Role
//! A wait-all that finds everything available makes one attempt without registering ([`crate::admission`]). If that fails it
//! registers with every object, raises `WA`, tries again and sleeps; signals on its objects go through the admission word
//! then and try it. Its alert is an ordinary wait-any entry, put in after the second attempt: objects come before the alert.
//!
//! # Invariants
//! * I-all-1: between raising `WA` on the last object and sleeping there is one attempt. So a signal from before the flag is
//!   seen by the attempt, and one from after it goes through the admission word.
//! * I-all-2: the list stays until the admission word names this waiter no more (I-adm-4), and the objects are at rest.
//!
//! Transitions, orders and deaths: [`crate::admission`], [`crate::claim`].

use ntux_platform::clock::Deadline;

use crate::admission::has_repeats;
use crate::arena::Arena;
use crate::arena::format::LIST_MAX;
use crate::bag::Entry;
use crate::planted::{Bug, planted};
use crate::ticket::State;
use crate::wait_any::{List, Look, Registered, failure, leave};
use crate::waiter::{End, Epoch, Waiter};
use crate::word::WA;
use crate::{Error, Object, RETRIES, Result, Satisfied};

impl Arena {
    /// Waits until all of `objects` are available to `owner` at the same time and acquires them in one step; the index is
    /// then 0. With no objects it succeeds at once. Or until the alert is signaled and acquired: index = number of objects.
    ///
    /// Deadline, owner and errors as for [`Arena::wait_any`]; also `Invalid` when an object occurs twice, or is the alert.
    pub fn wait_all(
        &self,
        waiter: &Waiter,
        objects: &[Object],
        alert: Option<Object>,
        owner: u32,
        deadline: Deadline,
    ) -> Result<Satisfied> {
        let list = List::new(objects, alert)?;
        self.check(&list, owner)?;
        if has_repeats(&list) {
            return Err(Error::Invalid);
        }
        if list.count == 0 {
            return Ok(Satisfied { index: 0, abandoned: false });
        }
        let available = self.all_available(waiter, &list, owner)?;
        if !available && alert.is_none() && deadline.passed() {
            return Err(failure(waiter));
        }
        let epoch = self.begin(waiter, State::Waiting, list.as_slice(), list.count, owner)?;
        let mut places = [None; LIST_MAX];
        let prepared = self.prepare(&epoch, &list, owner, available, deadline, &mut places);
        let end = self.conclude(&epoch, prepared.is_ok(), deadline);
        let satisfied = self.settle_all(&epoch, &list, end);
        leave(&places);
        match (satisfied?, prepared) {
            (Some(satisfied), _) => Ok(satisfied),
            (None, Err(error)) => Err(error),
            (None, Ok(())) => Err(failure(waiter)),
        }
    }

    fn all_available(&self, waiter: &Waiter, list: &List, owner: u32) -> Result<bool> {
        for &object in &list.as_slice()[..list.count] {
            if matches!(self.look(waiter, object, owner)?, Look::Unavailable(_)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Attempts and registers, as far as needed.
    fn prepare<'a>(
        &'a self,
        epoch: &Epoch<'_>,
        list: &List,
        owner: u32,
        available: bool,
        deadline: Deadline,
        places: &mut [Option<Registered<'a>>; LIST_MAX],
    ) -> Result<()> {
        if available {
            self.try_everything(epoch.waiter, epoch.index, epoch.slot, epoch.ticket)?;
            // A failed attempt saw an object unavailable: that instant answers a poll.
            if !epoch.is_open() || (list.length == list.count && deadline.passed()) {
                return Ok(());
            }
        }
        self.register_all(epoch, list, places)?;
        self.try_everything(epoch.waiter, epoch.index, epoch.slot, epoch.ticket)?;
        if epoch.is_open() {
            self.register_any(epoch, list, owner, list.count..list.length, places)?;
        }
        Ok(())
    }

    fn register_all<'a>(
        &'a self,
        epoch: &Epoch<'_>,
        list: &List,
        places: &mut [Option<Registered<'a>>; LIST_MAX],
    ) -> Result<()> {
        for (position, &object) in list.as_slice()[..list.count].iter().enumerate() {
            let slot = self.object_slot(object.index()).ok_or(Error::Invalid)?;
            let entry = Entry::new(epoch.index, epoch.ticket, position, true);
            places[position] = Some((self.put(slot, entry)?, entry));
            self.raise_all(epoch, object)?;
        }
        Ok(())
    }

    /// Raises `WA`. A closed object needs no flag: nobody signals it.
    fn raise_all(&self, epoch: &Epoch<'_>, object: Object) -> Result<()> {
        let slot = self.object_slot(object.index()).ok_or(Error::Invalid)?;
        for _ in 0..RETRIES {
            let seen = slot.load();
            if slot.kind_if_live(object).is_none() {
                return Ok(());
            }
            if seen.is_claimed() {
                self.help(epoch.waiter, object.index(), seen)?;
            } else if slot.exchange(seen, seen.with(WA)) {
                return Ok(());
            }
        }
        Err(Error::Corrupt)
    }

    /// Sees the operation that satisfied the wait over, and every object at rest (C2, I-all-2).
    fn settle_all(&self, epoch: &Epoch<'_>, list: &List, end: End) -> Result<Option<Satisfied>> {
        if !(planted(Bug::TimeoutLeave) && end == End::Nothing) {
            self.help_admission_of(epoch.waiter, epoch.index)?;
        }
        match end {
            End::Nothing => Ok(None),
            End::Everything { abandoned } => {
                for &object in &list.as_slice()[..list.count] {
                    let slot = self.object_slot(object.index()).ok_or(Error::Corrupt)?;
                    self.help(epoch.waiter, object.index(), slot.load())?;
                }
                Ok(Some(Satisfied { index: 0, abandoned }))
            }
            End::Object { index, abandoned } => {
                let slot = self.object_slot(index).ok_or(Error::Corrupt)?;
                self.help(epoch.waiter, index, slot.load())?;
                let position = list.position(index).ok_or(Error::Corrupt)?;
                Ok(Some(Satisfied { index: position as u32, abandoned }))
            }
        }
    }
}
