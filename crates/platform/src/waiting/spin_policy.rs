//! The adaptive spin: whether a thread that must wait looks for a while before it sleeps. Decisions only: whoever waits
//! gathers what they are made from, and carries them out.
//!
//! # The rule
//! To sleep and be woken takes some time on this machine, the *price*. A thread looks for as long as that at most, so it never
//! loses more than sleeping costs anyway. It looks only if, of its latest waits at the same object, looking would have saved more
//! than it would have cost.
//!
//! ```text
//!                    decided within the price             decided later
//!  looked            saved: price - what it took          lost: the price; rest for twice as many waits as the last time
//!  slept at once     would have saved the same            would have lost the price
//! ```
//! The lower row needs no try: whoever decides a wait of a sleeping thread leaves the time ([`super::Stamp`]), so each sleep
//! says what looking would have brought. So nothing is spent on trying where waits are long, and a change is seen at the
//! next wait.
//!
//! What a sleep cannot say is whether the decision would have come as soon had the thread kept its processor:
//! * It was decided from the processor that the thread sleeps on: no. The thread sleeps at once, until a wait is decided
//!   from elsewhere. This also covers a process that is confined to one processor.
//! * All processors are busy, perhaps with those that would decide: this shows as looks in vain, and as gaps in the clock
//!   between two looks (also if a quota is used up). Each makes the thread rest for twice as many waits as the one before;
//!   a look that was worth it, for half as many.
//!
//! # The price
//! Each wake from another processor is a measurement: from the decision until the woken thread runs. A thread keeps a running
//! median, and begins with what the first thread of its process measured. Until there is one, the upper bound stands for it. The bounds
//! are [`PRICE_NS_LEAST`] and [`PRICE_NS_MOST`]: a processor that was deeply asleep is no reason to keep another one busy.

/// Below the price of a switch between threads on any machine.
pub const PRICE_NS_LEAST: u32 = 1_000;
/// Beyond that, what looking saves in time it costs in power.
pub const PRICE_NS_MOST: u32 = 25_000;
/// What looking saves at most, or loses: the price.
const WHOLE: i16 = 1 << 10;
/// A wait counts for as much as all from this number on before it.
const MEMORY: i16 = 8;
/// Looks in vain, in a row, that still double the rest.
const FAILURES_MOST: u8 = 9;

/// What a sleep and a wake cost, as one thread has measured it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WakePrice(u32);

impl WakePrice {
    /// As another thread measured it; 0 if none did.
    pub fn of_others(ns: u32) -> WakePrice {
        WakePrice(if ns == 0 { 0 } else { ns.clamp(PRICE_NS_LEAST, PRICE_NS_MOST) })
    }

    /// Nanoseconds; the most, until it was measured: else two threads that meet for the first time would sleep, and the
    /// scheduler would bring them together on one processor, where looking is in vain.
    pub fn ns(self) -> u32 {
        if self.is_known() { self.0 } else { PRICE_NS_MOST }
    }

    /// Whether it was measured.
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

/// Whether a thread looked before it slept, and what came of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Looked {
    /// It did not.
    #[default]
    No,
    /// It saw what it waited for.
    Saw,
    /// It saw nothing.
    InVain,
    /// Somebody else had its processor meanwhile.
    Interrupted,
}

/// What a wait has come to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// Whether the thread looked.
    pub looked: Looked,
    /// How long after its beginning the wait was decided; none if nobody decided it, or nobody said when.
    pub decided_after_ns: Option<u64>,
    /// From which processor, if that is known.
    pub decided_on: Option<u32>,
}

/// What the waits of one thread at one object have come to lately.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct History {
    /// What looking saved lately in the mean, or would have; negative: lost.
    saved: i16,
    /// For how many waits more there is no looking.
    rest: u16,
    failures: u8,
    /// The processor that the last wait was decided on, plus one.
    decided_on: u16,
}

impl History {
    /// For how many nanoseconds the next wait is to look before it sleeps. `here`: the processor that the thread is on.
    pub fn allowance_ns(&self, price: WakePrice, here: Option<u32>) -> u32 {
        let is_here = here.is_some_and(|here| here + 1 == u32::from(self.decided_on));
        if is_here || self.rest > 0 || self.saved < 0 { 0 } else { price.ns() }
    }

    /// With what a wait that is over has taught.
    pub fn learnt(mut self, price: WakePrice, outcome: Outcome) -> History {
        self.learn(price, outcome);
        self
    }

    fn learn(&mut self, price: WakePrice, outcome: Outcome) {
        if let Some(processor) = outcome.decided_on {
            self.decided_on = (processor + 1) as u16;
        }
        let saved = saved(price, outcome.decided_after_ns);
        self.saved += (saved - self.saved) / MEMORY;
        match outcome.looked {
            Looked::No => self.rest = self.rest.saturating_sub(1),
            Looked::Saw => self.failures = self.failures.saturating_sub(1),
            Looked::InVain => self.fail(1),
            Looked::Interrupted => self.fail(2),
        }
    }

    fn fail(&mut self, times: u8) {
        self.failures = (self.failures + times).min(FAILURES_MOST);
        self.rest = (1 << self.failures) - 1;
    }
}

/// What a look saves of the price in a wait that is decided after so long.
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
            history.learn(PRICE, Outcome { looked, decided_after_ns, decided_on: Some(decided_on) });
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

    #[test]
    fn before_a_wake_was_measured_one_look_is_tried() {
        let (unknown, mut history) = (WakePrice::default(), History::default());
        assert_eq!(history.allowance_ns(unknown, HERE), PRICE_NS_MOST);
        history.learn(unknown, Outcome { looked: Looked::InVain, decided_after_ns: None, decided_on: None });
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

    #[test]
    fn an_interrupted_look_counts_for_two() {
        let rest = |looked| {
            let mut history = History::default();
            history.learn(PRICE, Outcome { looked, decided_after_ns: Some(100), decided_on: None });
            history.rest
        };
        assert_eq!((rest(Looked::InVain), rest(Looked::Interrupted), rest(Looked::Saw)), (1, 3, 0));
    }
}
