//! Waiting for several objects at once: all of them in one step, or none.
//!
//! # Role
//! A wait-all that finds everything available makes one attempt without registering ([`crate::admission`]). If that fails it
//! registers with every object, raises `WA`, tries again and sleeps; signals on its objects go through the admission word
//! then and try it. Its alert is an ordinary wait-any entry, put in after the second attempt: objects come before the alert.
//! Then it tries once more.
//!
//! # Invariants
//! * I-all-1: between raising `WA` on the last object and sleeping there is one attempt. So a signal from before the flag is
//!   seen by the attempt, and one from after it goes through the admission word.
//! * I-all-2: the list stays until the admission word names this waiter no more (I-adm-4), and the objects are at rest.
//! * I-all-3: the last attempt comes after the alert is in its queue. So when it fails there was an instant at which neither
//!   was available: what became available in between can have taken the alert's last unit with it, for somebody else.
//!
//! Transitions, orders and deaths: [`crate::admission`], [`crate::claim`].

use ntux_platform::clock::Deadline;

use crate::arena::Arena;
use crate::arena::format::LIST_MAX;
use crate::bag::Entry;
use crate::planted::{Bug, planted};
use crate::request::Request;
use crate::ticket::State;
use crate::wait_any::{Look, Registered, failure, leave, outcome};
use crate::waiter::{End, Epoch, Waiter};
use crate::word::WA;
use crate::{Error, Object, Result, Satisfied};

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
        waiter.fuel.fill();
        let request = Request::new(objects, alert, owner)?;
        self.check(&request)?;
        if request.has_repeats() {
            return Err(Error::Invalid);
        }
        if objects.is_empty() {
            return Ok(Satisfied { index: 0, abandoned: false });
        }
        while waiter.fuel.round() {
            if let Some(satisfied) = self.wait_all_once(waiter, &request, deadline)? {
                return Ok(satisfied);
            }
        }
        Err(Error::Corrupt)
    }

    /// None: it is to be started again.
    fn wait_all_once(&self, waiter: &Waiter, request: &Request<'_>, deadline: Deadline) -> Result<Option<Satisfied>> {
        let mut available = self.all_available(waiter, request)?;
        if !available && !request.has_alert() && deadline.passed() {
            // What became available before the deadline passed counts, so the answer is a look from afterwards.
            available = self.all_available(waiter, request)?;
            if !available {
                return Err(failure(waiter));
            }
        }
        let epoch = self.begin(waiter, State::Waiting, Some(request))?;
        let mut places = [None; LIST_MAX];
        let prepared = self.prepare(&epoch, request, available, deadline, &mut places);
        let end = self.conclude(&epoch, prepared.is_ok(), deadline);
        let satisfied = self.settle_all(&epoch, request, end);
        leave(&places);
        outcome(waiter, satisfied?, prepared)
    }

    fn all_available(&self, waiter: &Waiter, request: &Request<'_>) -> Result<bool> {
        for &object in request.objects() {
            if matches!(self.look(waiter, object, request.owner)?, Look::Unavailable(_)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Attempts and registers, as far as needed.
    fn prepare<'a>(
        &'a self,
        epoch: &Epoch<'_>,
        request: &Request<'_>,
        available: bool,
        deadline: Deadline,
        places: &mut [Option<Registered<'a>>; LIST_MAX],
    ) -> Result<()> {
        if available {
            self.try_everything(epoch.waiter, epoch.index, epoch.slot, epoch.ticket)?;
            if !epoch.is_open() {
                return Ok(());
            }
            // A failed attempt saw an object unavailable: one from after the deadline is an answer.
            if !request.has_alert() && deadline.passed() {
                return self.try_everything(epoch.waiter, epoch.index, epoch.slot, epoch.ticket);
            }
        }
        if epoch.waiter.is_interrupted() {
            return Ok(());
        }
        self.register_all(epoch, request, places)?;
        self.try_everything(epoch.waiter, epoch.index, epoch.slot, epoch.ticket)?;
        if epoch.is_open() && request.has_alert() {
            self.register_any(epoch, request, request.objects().len()..request.length(), places)?;
            // I-all-3
            if epoch.is_open() && !epoch.waiter.is_interrupted() {
                self.try_everything(epoch.waiter, epoch.index, epoch.slot, epoch.ticket)?;
            }
        }
        Ok(())
    }

    fn register_all<'a>(
        &'a self,
        epoch: &Epoch<'_>,
        request: &Request<'_>,
        places: &mut [Option<Registered<'a>>; LIST_MAX],
    ) -> Result<()> {
        for (position, &object) in request.objects().iter().enumerate() {
            let entry = Entry::new(epoch.index, epoch.ticket, position, true);
            places[position] = Some((self.put(epoch.waiter, object.index(), entry)?, entry));
            self.raise_all(epoch, object)?;
        }
        Ok(())
    }

    /// Raises `WA`. A closed object needs no flag: nobody signals it.
    fn raise_all(&self, epoch: &Epoch<'_>, object: Object) -> Result<()> {
        let slot = self.object_slot(object.index()).ok_or(Error::Invalid)?;
        while epoch.waiter.fuel.round() {
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
    fn settle_all(&self, epoch: &Epoch<'_>, request: &Request<'_>, end: End) -> Result<Option<Satisfied>> {
        if !(planted(Bug::TimeoutLeave) && end == End::Nothing) {
            self.help_admission_of(epoch.waiter, epoch.index)?;
        }
        match end {
            End::Nothing => Ok(None),
            End::Everything { abandoned } => {
                for &object in request.objects() {
                    let slot = self.object_slot(object.index()).ok_or(Error::Corrupt)?;
                    self.help(epoch.waiter, object.index(), slot.load())?;
                }
                Ok(Some(Satisfied { index: 0, abandoned }))
            }
            End::Object { index, abandoned } => {
                let slot = self.object_slot(index).ok_or(Error::Corrupt)?;
                self.help(epoch.waiter, index, slot.load())?;
                Ok(Some(Satisfied { index: request.position(index)?, abandoned }))
            }
        }
    }
}
