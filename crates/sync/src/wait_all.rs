//! Waiting for several objects at once: all of them in one step, or none.
//!
//! # Role
//! A wait-all that finds everything available makes one attempt without registering ([`crate::admission`]). If something is
//! missing it joins the queues ([`crate::queueing`]) and sleeps; signals on its objects go through the admission word then and
//! try it. Its alert is an ordinary wait-any entry, put in after the others: objects come before the alert.
//!
//! # Invariants
//! * I-all-1: when the wait stands in its queues, something was missing since it raised `WA` there. So it needs no attempt of its
//!   own: whatever changes that goes through the admission word. (A wait that was disturbed too often does not know: it makes
//!   an attempt after the last `WA`, and another one behind its alert.)
//! * I-all-2: the list stays until the admission word names this waiter no more (I-adm-4), and the objects are at rest.
//! * I-all-3: the alert is taken, or its queue joined, while something is missing.
//!
//! Transitions, orders and deaths: [`crate::admission`], [`crate::claim`].

use ntux_platform::clock::Deadline;

use crate::arena::Arena;
use crate::arena::format::LIST_MAX;
use crate::planted::{Bug, planted};
use crate::queueing::Queueing;
use crate::request::Request;
use crate::wait_any::{failure, leave, outcome};
use crate::waiter::{Decision, Epoch, Waiter};
use crate::waiter_word::WaiterState;
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
        waiter.budget.renew();
        let request = Request::new(objects, alert, owner)?;
        self.check(&request)?;
        if request.has_repeats() {
            return Err(Error::Invalid);
        }
        if objects.is_empty() {
            return Ok(Satisfied { index: 0, abandoned: false });
        }
        let mut queueing = Queueing::new();
        while waiter.budget.round() {
            if let Some(satisfied) = self.wait_all_once(waiter, &request, &mut queueing, deadline)? {
                return Ok(satisfied);
            }
        }
        Err(Error::Corrupt)
    }

    /// None: it is to be started again.
    fn wait_all_once(
        &self,
        waiter: &Waiter,
        request: &Request<'_>,
        queueing: &mut Queueing,
        deadline: Deadline,
    ) -> Result<Option<Satisfied>> {
        // What became available before the deadline passed counts, so the answer is a look from afterwards.
        let late = deadline.passed() && !request.has_alert();
        match self.all_available(waiter, request, queueing)? {
            false if late => Err(failure(waiter)),
            true if !queueing.is_hopeless() => self.attempt_at_once(waiter, request, queueing, late),
            _ => self.wait_all_queued(waiter, request, queueing, deadline),
        }
    }

    fn all_available(&self, waiter: &Waiter, request: &Request<'_>, queueing: &mut Queueing) -> Result<bool> {
        queueing.look_anew();
        let mut missing = false;
        for (position, object) in request.iter().enumerate() {
            let look = self.look_for_all(waiter, object, request.owner)?;
            queueing.saw(look.seen());
            missing |= look.is_unavailable() && position < request.objects().len();
        }
        Ok(!missing)
    }

    /// One attempt, in no queue. `late`: that it failed is the answer.
    fn attempt_at_once(
        &self,
        waiter: &Waiter,
        request: &Request<'_>,
        queueing: &mut Queueing,
        late: bool,
    ) -> Result<Option<Satisfied>> {
        let epoch = self.begin(waiter, WaiterState::Waiting, Some(request))?;
        let tried = self.try_everything(waiter, epoch.index, epoch.slot, epoch.ticket);
        // Still undecided: an object was seen unavailable.
        let failed = epoch.withdraw();
        let decision = epoch.decision().unwrap_or(Decision::Nothing);
        let satisfied = self.see_all_at_rest(&epoch, request, decision)?;
        waiter.starts_again();
        queueing.disturb();
        match satisfied {
            None if failed && late => tried.and(Err(failure(waiter))),
            None => tried.and(Ok(None)),
            satisfied => Ok(satisfied),
        }
    }

    fn wait_all_queued(
        &self,
        waiter: &Waiter,
        request: &Request<'_>,
        queueing: &mut Queueing,
        deadline: Deadline,
    ) -> Result<Option<Satisfied>> {
        let epoch = self.begin(waiter, queueing.state(), Some(request))?;
        let mut places = [None; LIST_MAX];
        let queued = self.queue_all(&epoch, request, queueing, &mut places);
        let decision = self.conclude(&epoch, queued == Ok(true), deadline);
        let satisfied = self.see_all_at_rest(&epoch, request, decision);
        leave(&places);
        outcome(waiter, satisfied?, queued)
    }

    /// Sees the operation that satisfied the wait over, and every object at rest (C2, I-all-2).
    fn see_all_at_rest(
        &self,
        epoch: &Epoch<'_>,
        request: &Request<'_>,
        decision: Decision,
    ) -> Result<Option<Satisfied>> {
        if !(planted(Bug::TimeoutLeave) && decision == Decision::Nothing) {
            self.help_admission_of(epoch.waiter, epoch.index)?;
        }
        match decision {
            Decision::Everything { abandoned } => {
                for &object in request.objects() {
                    let slot = self.object_slot(object.index()).ok_or(Error::Corrupt)?;
                    self.help(epoch.waiter, object.index(), slot.load())?;
                }
                Ok(Some(Satisfied { index: 0, abandoned }))
            }
            decision => self.see_at_rest(epoch, request, decision),
        }
    }
}
