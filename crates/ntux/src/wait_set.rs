// SPDX-License-Identifier: MIT OR Apache-2.0
//! Wait sets: any number of objects for which one thread waits, again and again.

use std::collections::VecDeque;
use std::collections::hash_map::{Entry, HashMap};

use ntux_platform::liveness::lineage;
use ntux_sync::{Deadline, Registered, Registration, Satisfied};

use crate::{Arena, DetachedWait, Error, Object, Queue, Result};

/// Objects, each with a key, for any of which a thread waits: more than the 64 of [`Arena::wait_any`], and without telling them all again
/// for each wait, so the next one costs the same with ten objects and with ten thousand.
///
/// ```
/// use ntux::{Arena, Capacity, Deadline, Error, Event, Reset, WaitSet};
///
/// let arena = Arena::create(Capacity { objects: 2_000, waiters: 2_000 })?;
/// let events = (0..1_000).map(|_| Event::create(&arena, Reset::Auto, false)).collect::<ntux::Result<Vec<_>>>()?;
/// let mut set = WaitSet::create(&arena)?;
/// for (key, event) in (0..).zip(&events) {
///     set.add(key, event.object(), 1)?;
/// }
/// events[700].set()?; // elsewhere
/// assert_eq!(set.next(Deadline::Never)?.key, 700);
/// assert_eq!(set.next(Deadline::NOW), Err(Error::TimedOut));
/// assert_eq!(set.remove(700), Ok(None));
/// # Ok::<(), Error>(())
/// ```
///
/// Each object has one wait, which stands in the order of those who wait as a thread's does. What it acquires, [`WaitSet::next`] returns; the
/// call after that begins to wait for the object again. So between the two the object is the caller's: a mutex can be unlocked, an event
/// reset, and a semaphore gives this set no second unit while the first one is being used. (A pulse that comes then satisfies nobody here.)
///
/// No object starves the others: [`WaitSet::next`] works in *rounds*. A round begins when all that the last one has found was returned, finds
/// all objects that were acquired meanwhile, and returns each once.
///
/// Nothing is lost as long as the set is there: what was acquired is returned by [`WaitSet::next`], [`WaitSet::remove`] or
/// [`WaitSet::close`], once. A set that is dropped instead loses what it has acquired and not returned: an auto-reset event stays reset, a
/// mutex owned.
///
/// A set needs one of the arena's waiters for each object ([`Capacity::waiters`](crate::Capacity::waiters)). It is for one thread at a time:
/// others signal its objects. Threads that share the work take it from a [`Queue`]. A forked child has no part in it: what the set had
/// acquired is the parent's, and there all its functions fail, but [`WaitSet::len`] and [`WaitSet::is_empty`].
pub struct WaitSet {
    lineage: u64,
    queue: Queue,
    members: HashMap<u64, Member>,
    /// Keys of what was acquired, in the order in which it is returned.
    round: VecDeque<u64>,
    /// The same for the next round: what was acquired when its wait was to begin.
    next_round: VecDeque<u64>,
    /// What was returned last: the next call begins to wait for it again.
    returned: Option<u64>,
}

/// An object of a set.
struct Member {
    object: Object,
    owner: u32,
    state: State,
}

enum State {
    Waits(Registration),
    Acquired(Satisfied),
    Returned,
}

/// What a [`WaitSet`] has acquired.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Acquired {
    /// That of the object.
    pub key: u64,
    /// The object is a mutex, and had been abandoned.
    pub abandoned: bool,
}

impl WaitSet {
    /// Creates an empty set.
    ///
    /// # Errors
    ///
    /// Those of [`Queue::create`].
    ///
    /// Any thread; not in a signal handler.
    pub fn create(arena: &Arena) -> Result<WaitSet> {
        let queue = Queue::create(arena)?;
        let (round, next_round) = (VecDeque::new(), VecDeque::new());
        Ok(WaitSet { lineage: lineage(), queue, members: HashMap::new(), round, next_round, returned: None })
    }

    /// Errors: `Invalid` in a forked child, also for what needs no call of the core.
    fn ours(&self) -> Result<()> {
        if self.lineage == lineage() { Ok(()) } else { Err(Error::Invalid) }
    }

    /// Adds an object, which may have been signaled before. `key` is any number that no other object of the set has; `owner` acquires the
    /// object if it is a mutex: not 0, see [`Wait::by`](crate::Wait::by).
    ///
    /// # Errors
    ///
    /// Nothing was added: [`Error::Invalid`] if an object has the key, for owner 0, and in a forked child; [`Error::NoSuchObject`] for
    /// an object that is closed or of another arena; [`Error::Exhausted`] when the arena has no waiter left.
    ///
    /// Any thread; not in a signal handler.
    pub fn add(&mut self, key: u64, object: Object, owner: u32) -> Result<()> {
        self.ours()?;
        let Entry::Vacant(place) = self.members.entry(key) else { return Err(Error::Invalid) };
        let state = begin(&self.queue, key, object, owner)?;
        if let State::Acquired(_) = state {
            self.next_round.push_back(key);
        }
        place.insert(Member { object, owner, state });
        Ok(())
    }

    /// Removes an object. Returns what [`WaitSet::next`] would have returned for it: none if it was not acquired, and is not any more.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchObject`] if no object of the set has the key; [`Error::Invalid`] in a forked child.
    ///
    /// Any thread; not in a signal handler.
    pub fn remove(&mut self, key: u64) -> Result<Option<Acquired>> {
        self.ours()?;
        let member = self.members.get(&key).ok_or(Error::NoSuchObject)?;
        let satisfied = match member.state {
            State::Waits(registration) => self.queue.cancel(registration)?,
            State::Acquired(satisfied) => Some(satisfied),
            State::Returned => None,
        };
        if let State::Acquired(_) = member.state {
            self.round.retain(|acquired| *acquired != key);
            self.next_round.retain(|acquired| *acquired != key);
        }
        self.members.remove(&key);
        Ok(satisfied.map(|satisfied| acquired(key, satisfied)))
    }

    /// Waits until one of the objects was acquired, and returns its key. First it begins to wait again for what the last call has returned,
    /// unless that was removed.
    ///
    /// # Errors
    ///
    /// [`Error::TimedOut`] when the deadline passed; it may lie in the past. If it cannot wait again for what the last call has returned,
    /// [`WaitSet::add`] says why; that object is removed then, and the set is as good as before. [`Error::Invalid`] in a forked child.
    ///
    /// Any thread; not in a signal handler.
    pub fn next(&mut self, deadline: Deadline) -> Result<Acquired> {
        self.ours()?;
        self.begin_again()?;
        if self.round.is_empty() {
            self.begin_round(deadline)?;
        }
        let key = self.round.pop_front().ok_or(Error::TimedOut)?;
        let member = self.members.get_mut(&key).ok_or(Error::Corrupt)?;
        let State::Acquired(satisfied) = std::mem::replace(&mut member.state, State::Returned) else {
            return Err(Error::Corrupt);
        };
        self.returned = Some(key);
        Ok(acquired(key, satisfied))
    }

    /// Begins to wait again for what was returned last.
    fn begin_again(&mut self) -> Result<()> {
        let Some(key) = self.returned.take() else { return Ok(()) };
        // Removed, and perhaps another object has the key.
        let Some(member @ Member { state: State::Returned, .. }) = self.members.get_mut(&key) else { return Ok(()) };
        match begin(&self.queue, key, member.object, member.owner) {
            Ok(state) => {
                if let State::Acquired(_) = state {
                    self.next_round.push_back(key);
                }
                member.state = state;
                Ok(())
            }
            Err(error) => {
                self.members.remove(&key);
                Err(error)
            }
        }
    }

    /// Finds all that was acquired. If there is nothing, waits until there is.
    fn begin_round(&mut self, deadline: Deadline) -> Result<()> {
        std::mem::swap(&mut self.round, &mut self.next_round);
        let mut until = if self.round.is_empty() { deadline } else { Deadline::NOW };
        loop {
            match self.queue.next(until) {
                Ok(delivered) => self.acquire(delivered.key, delivered.satisfied),
                Err(Error::TimedOut) => return Ok(()),
                // What was found is returned first.
                Err(_) if !self.round.is_empty() => return Ok(()),
                Err(error) => return Err(error),
            }
            until = Deadline::NOW;
        }
    }

    /// A wait for the object with this key was satisfied.
    fn acquire(&mut self, key: u64, satisfied: Satisfied) {
        // No wait outlives its member: this finds it.
        if let Some(member) = self.members.get_mut(&key) {
            member.state = State::Acquired(satisfied);
            self.round.push_back(key);
        }
    }

    /// Ends the set. Returns what it has acquired, and not returned yet; nothing in a forked child.
    ///
    /// ```
    /// use ntux::{Acquired, Arena, Capacity, Event, Reset, WaitSet};
    ///
    /// let arena = Arena::create(Capacity::default())?;
    /// let event = Event::create(&arena, Reset::Auto, true)?;
    /// let mut set = WaitSet::create(&arena)?;
    /// set.add(7, event.object(), 1)?;
    /// assert!(!event.read()?.signaled, "it was acquired");
    /// assert_eq!(set.close(), [Acquired { key: 7, abandoned: false }]);
    /// # Ok::<(), ntux::Error>(())
    /// ```
    ///
    /// Any thread; not in a signal handler.
    pub fn close(mut self) -> Vec<Acquired> {
        let mut keys: Vec<u64> = self.round.iter().chain(&self.next_round).copied().collect();
        keys.extend(
            self.members.iter().filter(|(_, member)| matches!(member.state, State::Waits(_))).map(|(key, _)| key),
        );
        keys.into_iter().filter_map(|key| self.remove(key).ok().flatten()).collect()
    }

    /// The number of its objects.
    ///
    /// Any thread, also in a signal handler.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// It has no objects.
    ///
    /// Any thread, also in a signal handler.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }
}

/// Begins to wait for an object.
fn begin(queue: &Queue, key: u64, object: Object, owner: u32) -> Result<State> {
    Ok(match queue.register_any(&[object], DetachedWait::by(owner).key(key))? {
        Registered::Satisfied(satisfied) => State::Acquired(satisfied),
        Registered::Waits(registration) => State::Waits(registration),
    })
}

fn acquired(key: u64, satisfied: Satisfied) -> Acquired {
    Acquired { key, abandoned: satisfied.abandoned }
}
