// SPDX-License-Identifier: MIT OR Apache-2.0
//! The adaptive spin: whether a thread that must wait spins for a while before it sleeps. This file only decides; the wait
//! gathers the inputs and carries the decision out.
//!
//! # The rule
//! Going to sleep and being woken takes some time on this machine, the *price*. A thread spins for at most the price, so a
//! spin in vain at most doubles what the sleep costs. A thread spins only if, over its latest waits for the same object,
//! spinning would have saved more than it would have cost.
//!
//! ```text
//!                    decided within the price             decided later
//!  spun              saved: price - what it took          lost: the price; no spin for twice as many waits as last time
//!  slept at once     would have saved the same            would have lost the price
//! ```
//! The lower row needs no trial: whoever decides the wait of a sleeping thread leaves the time ([`super::Stamp`]), so each
//! sleep tells what spinning would have brought. Nothing is spent on trials where waits are long, and a change is noticed
//! at the next wait.
//!
//! A sleep cannot tell whether the decision would have come as soon had the thread kept its processor:
//! * A decision made on the processor that the thread sleeps on would not. The thread sleeps at once until a wait is decided
//!   on another one.
//! * Once all its waits are decided there, the thread does not even read the clock ([`Outlook`]): it looks only at where the
//!   decision came from. So begins a thread of a process that may use one processor only; what its threads may use changes,
//!   and waits are decided by other processes, too.
//! * If all processors are busy, perhaps with the threads that would decide, spins are in vain (also when a quota is used up). Each
//!   spin in vain makes the thread not spin for twice as many waits as the one before; a successful spin halves that.
//!
//! # When it looks
//! Each look at an object that another thread uses takes the cache line away from that thread, and slows it down more than a
//! whole lock and unlock takes. So a thread does not look all the time at an object that others take and give back densely.
//! It leaves it alone for a while, which doubles from wait to wait up to half the price, and then looks a few times in a row.
//! Between two such waits the other thread runs undisturbed, as if the threads ran in turns. A single change, however soon,
//! is what the thread waited for, not traffic: two threads that answer each other look all the time.
//!
//! Three quarters of the price are for the object, the last quarter is for the thread's own word once it is in the queue.
//!
//! # The price
//! Each wake from another processor is a measurement: from the decision until the woken thread runs. A thread keeps a
//! running median, and starts with what the first thread of its process measured. Until there is one, the upper bound
//! counts. The bounds are [`PRICE_NS_LEAST`] and [`PRICE_NS_MOST`]: a processor that was in deep sleep is no reason to keep
//! another one busy.

/// Below the price of a switch between threads on any machine.
pub const PRICE_NS_LEAST: u32 = 1_000;
/// Beyond this, spinning costs in power what it saves in time.
pub const PRICE_NS_MOST: u32 = 25_000;
/// The most that a spin saves or loses: the price.
const WHOLE: i16 = 1 << 10;
/// The weight of the past: a wait moves the mean by one part in this many.
const MEMORY: i16 = 8;
/// Failures in a row that still double the number of waits without a spin.
const FAILURES_MOST: u8 = 9;
/// Others use an object densely if they take it and give it back in less time than this: about what it takes to move its
/// cache line to and fro between two processors.
const DENSE_NS: u64 = 250;
/// How long it is left alone by the first wait that looks rarely.
const ALONE_NS_LEAST: u32 = 128;
/// From one rare look to the next one: others finish one use of the object meanwhile.
const NEXT_LOOK_NS: u64 = 130;

/// The price of a sleep and a wake, as one thread has measured it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WakePrice(u32);

impl WakePrice {
    /// The price that another thread measured; 0 if none did.
    pub fn of_others(ns: u32) -> WakePrice {
        WakePrice(if ns == 0 { 0 } else { ns.clamp(PRICE_NS_LEAST, PRICE_NS_MOST) })
    }

    /// Nanoseconds; the most, until it was measured: else two threads that meet for the first time would sleep, and the
    /// scheduler would bring them together on one processor, where looking is in vain.
    pub fn ns(self) -> u32 {
        if self.is_known() { self.0 } else { PRICE_NS_MOST }
    }

    /// Returns whether it was measured.
    pub fn is_known(self) -> bool {
        self.0 != 0
    }

    /// One more measurement moves the price by a sixteenth, towards the median.
    pub fn measured(self, ns: u64) -> WakePrice {
        let (now, ns) = (self.0, ns.min(u64::from(PRICE_NS_MOST)) as u32);
        let next = match () {
            () if now == 0 => ns,
            () if ns > now => (now + now / 16).min(ns),
            () => (now - now / 16).max(ns),
        };
        WakePrice(next.clamp(PRICE_NS_LEAST, PRICE_NS_MOST))
    }
}

/// What a thread that spun before it slept found.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Looked {
    /// It did not spin.
    #[default]
    No,
    /// The spin saw what the thread waited for.
    Saw,
    /// The spin saw nothing.
    InVain,
}

/// Where a thread expects its next wait to be decided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outlook {
    /// Anywhere: its history says whether it spins.
    Anywhere {
        /// How many waits in a row were decided on the thread's own processor.
        at_home: u8,
    },
    /// On this processor, its own: it sleeps at once.
    Home(u32),
    /// Nobody can tell, because the clock is too slow, or the system does not say on which processor a thread is.
    Never,
}

/// So many waits in a row that are decided at home let a thread expect the next one there.
const AT_HOME: u8 = 16;

impl Default for Outlook {
    fn default() -> Outlook {
        Outlook::Anywhere { at_home: 0 }
    }
}

impl Outlook {
    /// Returns whether the next wait reads the clock, and may spin.
    #[inline(always)]
    pub fn is_open(self) -> bool {
        matches!(self, Outlook::Anywhere { .. })
    }

    /// Returns whether a wait that was decided there tells something new to a thread that expects it at home.
    #[inline(always)]
    pub fn is_surprised(self, decided_on: Option<u32>) -> bool {
        matches!((self, decided_on), (Outlook::Home(home), Some(processor)) if processor != home)
    }

    /// Returns the outlook after one more wait, which was decided on `decided_on` if that is known. `here` is the thread's
    /// processor.
    pub fn learnt(self, decided_on: Option<u32>, here: Option<u32>) -> Outlook {
        match (self, decided_on) {
            (Outlook::Never, _) | (_, None) => self,
            // Also a thread that has moved, and the one that decides its waits with it.
            (Outlook::Home(_), Some(processor)) if here == Some(processor) => Outlook::Home(processor),
            (Outlook::Anywhere { at_home: AT_HOME.. }, Some(processor)) if here == Some(processor) => {
                Outlook::Home(processor)
            }
            (Outlook::Anywhere { at_home }, Some(processor)) if here == Some(processor) => {
                Outlook::Anywhere { at_home: at_home + 1 }
            }
            _ => Outlook::default(),
        }
    }
}

/// What others did to an object while a thread spun on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Traffic {
    /// From the start of the wait to the last look.
    pub ns: u64,
    /// How often the object changed meanwhile.
    pub changes: u64,
}

impl Traffic {
    /// Returns whether the object came free and was taken again before the last look.
    fn is_lively(self) -> bool {
        self.changes > 2
    }

    /// Returns whether two changes, a whole use of the object, take less time than moving its cache line.
    fn is_quick(self) -> bool {
        2 * self.ns < self.changes * DENSE_NS
    }
}

/// When a thread that spins on an object looks at it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Pace {
    alone_ns: u32,
}

impl Pace {
    /// Returns whether looks are rare.
    pub fn is_rare(self) -> bool {
        self.alone_ns > 0
    }

    /// When the thread looks first, after the start of its wait.
    pub fn first_ns(self) -> u64 {
        self.alone_ns.into()
    }

    /// When it looks again after a look at this time.
    pub fn next_ns(self, looked_ns: u64) -> u64 {
        if self.is_rare() { looked_ns + NEXT_LOOK_NS } else { looked_ns }
    }
}

/// How a wait ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// What the thread found if it spun.
    pub looked: Looked,
    /// Time from the start of the wait to its decision; none if it had no decision, or one without a stamp.
    pub decided_after_ns: Option<u64>,
    /// The processor that decided it, if known.
    pub decided_on: Option<u32>,
    /// What others did meanwhile to the object, if the thread spun on it.
    pub traffic: Option<Traffic>,
}

/// How the latest waits of one thread for one object ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct History {
    /// Mean of what spinning saved lately, or would have; negative if it lost.
    saved: i16,
    /// How many more waits do not spin.
    rest: u16,
    failures: u8,
    /// How often the time was doubled for which the object is left alone; 0: it is not.
    doublings: u8,
    /// The processor that decided the last wait, plus one.
    decided_on: u16,
}

impl History {
    /// Returns how many nanoseconds the next wait may spin before it sleeps. `here` is the thread's processor.
    pub fn allowance_ns(&self, price: WakePrice, here: Option<u32>) -> u32 {
        let is_here = here.is_some_and(|here| here + 1 == u32::from(self.decided_on));
        if is_here || self.rest > 0 || self.saved < 0 { 0 } else { price.ns() }
    }

    /// Returns when the next wait looks at the object.
    pub fn pace(&self, price: WakePrice) -> Pace {
        let alone_ns = self.doublings.checked_sub(1).map_or(0, |doublings| ALONE_NS_LEAST << doublings);
        Pace { alone_ns: alone_ns.min(price.ns() / 2) }
    }

    /// Returns the history with one more wait.
    pub fn learnt(mut self, price: WakePrice, outcome: Outcome) -> History {
        self.learn(price, outcome);
        self
    }

    fn learn(&mut self, price: WakePrice, outcome: Outcome) {
        if let Some(processor) = outcome.decided_on {
            self.decided_on = (processor + 1) as u16;
        }
        if let Some(traffic) = outcome.traffic {
            self.keep_pace(price, traffic);
        }
        let saved = saved(price, outcome.decided_after_ns);
        self.saved += (saved - self.saved) / MEMORY;
        match outcome.looked {
            Looked::No => self.rest = self.rest.saturating_sub(1),
            Looked::Saw => self.failures = self.failures.saturating_sub(1),
            Looked::InVain => self.fail(),
        }
    }

    fn keep_pace(&mut self, price: WakePrice, traffic: Traffic) {
        if !traffic.is_quick() {
            self.doublings = self.doublings.saturating_sub(1);
        } else if traffic.is_lively() && self.pace(price).alone_ns < price.ns() / 2 {
            self.doublings += 1;
        }
    }

    fn fail(&mut self) {
        self.failures = (self.failures + 1).min(FAILURES_MOST);
        self.rest = (1 << self.failures) - 1;
    }
}

/// Returns what a spin saves of the price in a wait that is decided after this time.
fn saved(price: WakePrice, decided_after_ns: Option<u64>) -> i16 {
    let price_ns = u64::from(price.ns());
    match decided_after_ns {
        Some(ns) if ns < price_ns => WHOLE - (ns * WHOLE as u64 / price_ns) as i16,
        _ => -WHOLE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRICE: WakePrice = WakePrice(4_000);
    const HERE: Option<u32> = Some(0);

    /// A thread whose waits are decided, from `elsewhere`, after what `after_ns` says of a wait that keeps its processor or
    /// sleeps. Returns how many of the last thousand waits looked, and the time spent with it.
    fn simulated(waits: usize, mut after_ns: impl FnMut(bool, usize) -> Option<u64>, decided_on: u32) -> (usize, u64) {
        let (mut history, mut looks, mut spent) = (History::default(), 0, 0);
        for wait in 0..waits {
            let allowance = u64::from(history.allowance_ns(PRICE, HERE));
            let decided_after_ns = after_ns(allowance > 0, wait);
            let looked = match decided_after_ns {
                _ if allowance == 0 => Looked::No,
                Some(ns) if ns < allowance => Looked::Saw,
                _ => Looked::InVain,
            };
            if wait + 1000 >= waits && allowance > 0 {
                looks += 1;
                spent += decided_after_ns.unwrap_or(u64::MAX).min(allowance);
            }
            history.learn(PRICE, Outcome { looked, decided_after_ns, decided_on: Some(decided_on), traffic: None });
        }
        (looks, spent)
    }

    #[test]
    fn who_is_answered_at_once_looks_at_every_wait() {
        assert_eq!(simulated(2000, |_, _| Some(300), 1), (1000, 300_000));
    }

    #[test]
    fn who_waits_long_never_looks() {
        assert_eq!(simulated(2000, |_, _| Some(1_000_000), 1), (0, 0));
        assert_eq!(simulated(2000, |_, _| None, 1), (0, 0));
    }

    #[test]
    fn who_is_answered_from_its_own_processor_never_looks() {
        assert_eq!(simulated(2000, |_, _| Some(300), 0), (0, 0));
    }

    #[test]
    fn where_only_sleeping_brings_the_answer_looks_cost_one_part_in_a_hundred() {
        let (looks, spent) = simulated(20_000, |looks, _| if looks { None } else { Some(300) }, 1);
        assert!(looks > 0, "it must find out when that changes");
        assert!(spent < 1000 * u64::from(PRICE.ns()) / 100, "{looks} looks");
    }

    #[test]
    fn a_change_is_seen_within_a_few_waits() {
        let (looks, _) = simulated(1100, |_, wait| Some(if wait < 100 { 1_000_000 } else { 300 }), 1);
        assert!(looks > 980, "{looks}");
        let (_, spent) = simulated(1000, |_, wait| Some(if wait < 100 { 300 } else { 1_000_000 }), 1);
        assert!(spent < 100 * 300 + 12 * u64::from(PRICE.ns()), "{spent}");
    }

    #[test]
    fn long_waits_between_short_ones_cost_less_than_the_short_ones_save() {
        for share in 1..=10 {
            let (looks, spent) = simulated(20_000, |_, wait| Some(if wait % 10 < share { 200 } else { 1_000_000 }), 1);
            let saved = looks as u64 * share as u64 / 10 * u64::from(PRICE.ns());
            assert!(spent <= saved + 1000 * u64::from(PRICE.ns()) / 20, "{share} of 10: {looks} looks, {spent} ns");
        }
    }

    fn after(outlook: Outlook, waits: usize, decided_on: Option<u32>) -> Outlook {
        (0..waits).fold(outlook, |outlook, _| outlook.learnt(decided_on, HERE))
    }

    #[test]
    fn who_expects_its_waits_at_home_is_open_after_one_that_is_decided_elsewhere() {
        let home = Outlook::Home(0);
        assert!(!home.is_open() && !home.is_surprised(HERE) && !home.is_surprised(None) && home.is_surprised(Some(1)));
        assert_eq!(after(home, 100, HERE), home);
        assert_eq!(after(home, 100, None), home);
        assert!(after(home, 1, Some(1)).is_open());
    }

    #[test]
    fn who_is_decided_at_home_for_long_reads_no_clock_and_one_decision_elsewhere_starts_anew() {
        let all = usize::from(AT_HOME);
        assert!(after(Outlook::default(), all, HERE).is_open());
        assert_eq!(after(Outlook::default(), all + 1, HERE), Outlook::Home(0));
        let mixed = after(after(Outlook::default(), all, HERE), 1, Some(1));
        assert_eq!(mixed, Outlook::default());
        assert_eq!(after(Outlook::default(), 1000, None), Outlook::default(), "nothing is known");
    }

    #[test]
    fn who_moves_with_the_one_that_decides_stays_at_home_and_who_moves_away_does_not() {
        assert_eq!(Outlook::Home(0).learnt(Some(1), Some(1)), Outlook::Home(1), "both moved");
        assert_eq!(Outlook::Home(0).learnt(Some(0), Some(1)), Outlook::default(), "it moved, the other did not");
        assert_eq!(Outlook::Never.learnt(Some(0), Some(1)), Outlook::Never);
    }

    /// Two threads on processors of their own, which both began by expecting their waits at home.
    #[test]
    fn threads_that_are_confined_apart_spin_from_the_second_wait_on() {
        let outlook = Outlook::Home(0).learnt(Some(1), HERE);
        assert!(outlook.is_open() && History::default().allowance_ns(PRICE, HERE) > 0);
    }

    #[test]
    fn before_a_wake_was_measured_one_look_is_tried() {
        let (unknown, mut history) = (WakePrice::default(), History::default());
        assert_eq!(history.allowance_ns(unknown, HERE), PRICE_NS_MOST);
        history.learn(
            unknown,
            Outcome { looked: Looked::InVain, decided_after_ns: None, decided_on: None, traffic: None },
        );
        assert_eq!(history.allowance_ns(unknown, HERE), 0);
        assert_eq!(History::default().allowance_ns(WakePrice::default().measured(3_000), HERE), 3_000);
        assert_eq!(WakePrice::of_others(0), WakePrice::default());
    }

    #[test]
    fn the_price_is_a_median_within_bounds() {
        let price = (0..1000).fold(WakePrice::default(), |price, i| {
            price.measured(if i % 3 == 0 { 10_000_000 } else { 4_000 + i % 5 * 100 })
        });
        assert!((3_700..4_700).contains(&price.ns()), "{price:?}");
        assert_eq!(WakePrice::default().measured(3).ns(), PRICE_NS_LEAST);
        assert_eq!(WakePrice::of_others(u32::MAX).measured(u64::MAX).ns(), PRICE_NS_MOST);
    }

    /// The history after so many waits with this traffic.
    fn after_traffic(history: History, waits: usize, ns: u64, changes: u64) -> History {
        let traffic = Some(Traffic { ns, changes });
        let outcome = Outcome { looked: Looked::Saw, decided_after_ns: Some(ns), decided_on: None, traffic };
        (0..waits).fold(history, |history, _| history.learnt(PRICE, outcome))
    }

    #[test]
    fn an_object_that_others_use_densely_is_left_alone_for_half_the_price() {
        let dense = after_traffic(History::default(), 20, 1_000, 100);
        assert_eq!(dense.pace(PRICE).first_ns(), 2_000);
        assert_eq!(dense.pace(PRICE).next_ns(2_000), 2_000 + NEXT_LOOK_NS);
        assert!(dense.allowance_ns(PRICE, HERE) > 0);
        let first = after_traffic(History::default(), 1, 100, 3);
        assert_eq!(first.pace(PRICE).first_ns(), u64::from(ALONE_NS_LEAST), "it begins with little");
    }

    #[test]
    fn who_is_answered_looks_all_the_time_however_soon_the_answer_comes() {
        for ns in [20, 100, 1_000, 10_000] {
            let pace = after_traffic(History::default(), 100, ns, 1).pace(PRICE);
            assert_eq!((pace.is_rare(), pace.first_ns(), pace.next_ns(77)), (false, 0, 77));
        }
    }

    #[test]
    fn an_object_that_is_held_longer_is_looked_at_all_the_time_again() {
        let dense = after_traffic(History::default(), 20, 1_000, 100);
        assert!(!after_traffic(dense, 10, 2_000, 1).pace(PRICE).is_rare(), "it is held for long");
        assert!(!after_traffic(dense, 10, 2_000, 10).pace(PRICE).is_rare(), "it is used by turns, 400 ns each");
    }
}
