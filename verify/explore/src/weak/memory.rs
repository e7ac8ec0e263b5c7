// SPDX-License-Identifier: MIT OR Apache-2.0
//! Messages and views: see [`super`].

use std::collections::HashMap;
use std::rc::Rc;

use ntux_platform::explore::{Effect, Part, Touch};
use ntux_sync::spec::ThreadId;

use super::sites::{Reading, Site, Weakening, releases};
use super::views::{Both, Reach, Views};
use crate::monitor::Event;
use crate::random::Random;

/// Old values that one execution may read where the code's orders allow it.
const STALE_LIMITS: [u32; 4] = [0, 1, 2, 4];
/// Old values that one execution may read because of the weakened order.
const GAP_LIMIT: u32 = 4;

struct Message {
    value: u64,
    views: Rc<Views>,
    made: u64,
    /// True if a sequentially consistent access made it.
    total: Both<bool>,
}

/// Which loads read an old message: the number of the load, and how many messages before the last.
pub type Choices = Vec<(u32, u32)>;

/// What chooses the value that is read.
enum Chooser {
    Random(Random),
    Replay(Choices),
}

/// The memory of one execution, and what is counted over all of them.
pub struct Memory {
    weakening: Option<Weakening>,
    chooser: Chooser,
    numbers: HashMap<usize, usize>,
    locations: Vec<Vec<Message>>,
    threads: Vec<Views>,
    reaches: Vec<Both<Reach>>,
    /// Messages made so far: the instant that it is.
    now: u64,
    queues: HashMap<usize, Views>,
    published: Views,
    loads: u32,
    stale_left: u32,
    gaps_left: u32,
    chosen: Choices,
    /// Everybody reads the last message.
    settled: bool,
    sites: HashMap<Site, u64>,
    gaps: u64,
}

impl Memory {
    /// A memory that reads old messages at random.
    pub fn random(weakening: Option<Weakening>, seed: u64) -> Self {
        Self::new(weakening, Chooser::Random(Random::new(seed)))
    }

    /// A memory that reads these old messages.
    pub fn replay(weakening: Option<Weakening>, choices: Choices) -> Self {
        Self::new(weakening, Chooser::Replay(choices))
    }

    fn new(weakening: Option<Weakening>, chooser: Chooser) -> Self {
        Self {
            weakening,
            chooser,
            numbers: HashMap::new(),
            locations: Vec::new(),
            threads: Vec::new(),
            reaches: Vec::new(),
            now: 0,
            queues: HashMap::new(),
            published: Views::default(),
            loads: 0,
            stale_left: 0,
            gaps_left: 0,
            chosen: Choices::new(),
            settled: false,
            sites: HashMap::new(),
            gaps: 0,
        }
    }

    /// Begins an execution: every location holds one message, which everybody has seen.
    pub fn begin(&mut self, threads: usize) {
        self.numbers.clear();
        self.locations.clear();
        self.threads = vec![Views::default(); threads];
        self.reaches = vec![Both::default(); threads];
        self.now = 0;
        self.queues.clear();
        self.published = Views::default();
        self.chosen.clear();
        self.settled = false;
        (self.loads, self.gaps_left) = (0, GAP_LIMIT);
        if let Chooser::Random(random) = &mut self.chooser {
            self.stale_left = *random.pick(&STALE_LIMITS);
        }
    }

    /// From now on everybody reads the last message: what happens when all has come to rest.
    pub fn settle(&mut self) {
        self.settled = true;
    }

    /// The old messages that this execution has read.
    pub fn chosen(&self) -> &Choices {
        &self.chosen
    }

    /// The accesses that were made so far, and how often.
    pub fn sites(&self) -> &HashMap<Site, u64> {
        &self.sites
    }

    /// How often the weakened order let a thread read what the named orders forbid.
    pub fn gaps(&self) -> u64 {
        self.gaps
    }

    /// What an onlooker sees. A thread that begins an operation has seen all that an onlooker could have told it.
    pub fn event(&mut self, event: Event) {
        match event {
            Event::Invoke { thread, .. } | Event::Interrupt { thread } => self.has_seen_published(thread),
            Event::Asleep { thread }
            | Event::Interrupted { thread }
            | Event::Return { thread, .. }
            | Event::Die { thread, .. } => {
                self.published.join(&self.threads[thread]);
            }
            Event::StepsAside { .. } | Event::Deadline { .. } | Event::Resume { .. } => {}
        }
    }

    /// A waker enters the kernel.
    pub fn wake(&mut self, thread: ThreadId, address: usize) {
        self.queues.entry(address).or_default().join(&self.threads[thread]);
        self.barrier(thread);
    }

    /// A thread that wants to sleep enters the kernel: the value of the location at `address` that is compared.
    pub fn sleep(&mut self, thread: ThreadId, address: usize, content: u64) -> u64 {
        let queue = self.queues.entry(address).or_default().clone();
        self.threads[thread].join(&queue);
        self.barrier(thread);
        let location = self.location(address, content);
        let message = self.choose(thread, location, Both { weak: Reading::Relaxed, named: Reading::Relaxed });
        self.threads[thread].advance(location, message);
        self.locations[location][message as usize].value
    }

    /// A thread asks the kernel who is dead or what time it is, and has seen what an onlooker could have told it then.
    pub fn asked_kernel(&mut self, thread: ThreadId) {
        self.has_seen_published(thread);
    }

    /// The kernel exchanges a word on behalf of a thread that dies.
    pub fn updated_by_kernel(&mut self, thread: ThreadId, address: usize, before: u64, after: u64) {
        let location = self.location(address, before);
        let last = Rc::clone(&self.locations[location].last().expect("every location has a message").views);
        let views = &mut self.threads[thread];
        views.join(&last);
        views.advance(location, self.locations[location].len() as u32);
        let views = Rc::new(views.clone());
        self.now += 1;
        self.locations[location].push(Message { value: after, views, made: self.now, total: Both::default() });
    }

    /// What a load returns; `content` is what the memory holds.
    pub fn read(&mut self, thread: ThreadId, touch: &Touch, content: u64) -> u64 {
        let location = self.location(touch.address, content);
        let site = self.met(Site::of_load(touch));
        let message = self.choose(thread, location, self.reading(&site, touch));
        self.threads[thread].advance(location, message);
        self.has_read(thread, &site, touch, &[location], message);
        self.locations[location][message as usize].value
    }

    /// An update was made of a chunk that held `before` and holds `after`.
    pub fn updated(&mut self, thread: ThreadId, touch: &Touch, effect: Effect, before: [u64; 2], after: [u64; 2]) {
        let halves: &[(usize, u64, u64)] = match touch.bytes {
            16 => &[(touch.address, before[0], after[0]), (touch.address + 8, before[1], after[1])],
            _ => &[(touch.address, part(before, touch), part(after, touch))],
        };
        let site = self.met(Site::of_update(touch, effect));
        let locations: Vec<usize> = halves.iter().map(|&(address, before, _)| self.location(address, before)).collect();
        if effect != Effect::Stored {
            let last = self.locations[locations[0]].len() as u32 - 1;
            locations.iter().for_each(|&location| self.threads[thread].advance(location, last));
            self.has_read(thread, &site, touch, &locations, last);
        }
        if effect == Effect::Refused {
            return;
        }
        let mut views = Views::default();
        for &location in &locations {
            let new = self.locations[location].len() as u32;
            self.threads[thread].advance(location, new);
            views.advance(location, new);
            if effect == Effect::Exchanged {
                views.join(&self.locations[location][new as usize - 1].views);
            }
        }
        if releases(touch.order) {
            views.named.join(&self.threads[thread].named);
        }
        if self.weakening.is_none_or(|weakening| weakening.releases(&site)) && releases(touch.order) {
            views.weak.join(&self.threads[thread].weak);
        }
        let views = Rc::new(views);
        self.now += 1;
        let (now, reading) = (self.now, self.reading(&site, touch));
        let total = Both { weak: reading.weak == Reading::Total, named: reading.named == Reading::Total };
        if effect == Effect::Exchanged {
            self.reaches[thread].weak.exchange(reading.weak, now);
            self.reaches[thread].named.exchange(reading.named, now);
        }
        for (&location, &(_, _, value)) in locations.iter().zip(halves) {
            self.locations[location].push(Message { value, views: Rc::clone(&views), made: now, total });
        }
    }

    /// The thread has read a message of these locations (two: both halves of a 16-byte word).
    fn has_read(&mut self, thread: ThreadId, site: &Site, touch: &Touch, locations: &[usize], message: u32) {
        let Message { made, ref views, .. } = self.locations[locations[0]][message as usize];
        let views = Rc::clone(views);
        let reading = self.reading(site, touch);
        if reading.named != Reading::Relaxed {
            self.threads[thread].named.join(&views.named);
        }
        if reading.weak != Reading::Relaxed {
            self.threads[thread].weak.join(&views.weak);
        } else if touch.part != Part::Whole
            && self.keeps_own_word(site, touch)
            && let Some(&other) = self.numbers.get(&(touch.address ^ 8))
        {
            self.threads[thread].weak.advance(other, views.weak.at(other));
        }
        let Both { weak, named } = &mut self.reaches[thread];
        weak.read(reading.weak, self.now, made);
        named.read(reading.named, self.now, made);
    }

    fn met(&mut self, site: Site) -> Site {
        *self.sites.entry(site).or_insert(0) += 1;
        site
    }

    fn reading(&self, site: &Site, touch: &Touch) -> Both<Reading> {
        let named = Reading::of(touch.order);
        let left = self.weakening.map_or(named, |weakening| weakening.reading(site, touch.part));
        Both { weak: named.min(left), named }
    }

    fn keeps_own_word(&self, site: &Site, touch: &Touch) -> bool {
        self.weakening.is_some_and(|weakening| weakening.keeps_own_word(site, touch.part))
    }

    fn location(&mut self, address: usize, content: u64) -> usize {
        let next = self.locations.len();
        let number = *self.numbers.entry(address).or_insert(next);
        if number == next {
            let (views, total) = (Rc::default(), Both::default());
            self.locations.push(vec![Message { value: content, views, made: 0, total }]);
        }
        number
    }

    fn barrier(&mut self, thread: ThreadId) {
        let now = self.now;
        self.reaches[thread].each(|reach| reach.barrier(now));
    }

    fn has_seen_published(&mut self, thread: ThreadId) {
        self.threads[thread].join(&self.published);
        self.barrier(thread);
    }

    /// The oldest message of a location that the thread may read, with the orders in force and with the named ones.
    fn oldest(&self, thread: ThreadId, location: usize, reading: Both<Reading>) -> Both<u32> {
        let messages = &self.locations[location];
        let last_total = |reading: Reading, reach: Reach, is_total: fn(&Message) -> bool| {
            let instant = reach.instant(self.now);
            let is_it = |message: &Message| is_total(message) && message.made <= instant;
            let found = messages.iter().rposition(is_it).filter(|_| reading == Reading::Total);
            found.unwrap_or(0) as u32
        };
        let (views, reaches) = (&self.threads[thread], self.reaches[thread]);
        Both {
            weak: last_total(reading.weak, reaches.weak, |message| message.total.weak).max(views.weak.at(location)),
            named: last_total(reading.named, reaches.named, |message| message.total.named)
                .max(views.named.at(location)),
        }
    }

    /// The message that a load reads: mostly the last; now and then an old one; more often one that only the weakened
    /// order allows.
    fn choose(&mut self, thread: ThreadId, location: usize, reading: Both<Reading>) -> u32 {
        let last = self.locations[location].len() as u32 - 1;
        let Both { weak: oldest, named } = self.oldest(thread, location, reading);
        let load = self.loads;
        self.loads += 1;
        self.gaps += u64::from(oldest < named);
        let chosen = match &mut self.chooser {
            _ if self.settled => last,
            Chooser::Replay(choices) => {
                choices.iter().find(|choice| choice.0 == load).map_or(last, |choice| last.saturating_sub(choice.1))
            }
            Chooser::Random(random) => {
                let spend = |left: &mut u32, yes: bool| {
                    let spent = yes && *left > 0;
                    *left -= u32::from(spent);
                    spent
                };
                if oldest < named && spend(&mut self.gaps_left, random.one_in(2)) {
                    // Half of them the oldest: what a load reads that overtakes is often what the thread has seen before.
                    oldest + if random.one_in(2) { 0 } else { random.below((named - oldest) as usize) as u32 }
                } else if oldest < last && spend(&mut self.stale_left, random.one_in(4)) {
                    oldest + random.below((last - oldest) as usize) as u32
                } else {
                    last
                }
            }
        };
        if chosen < last {
            self.chosen.push((load, last - chosen));
        }
        chosen
    }
}

/// The 4 or 8 bytes of a chunk that an access touches.
pub fn part(content: [u64; 2], touch: &Touch) -> u64 {
    let word = content[touch.address / 8 % 2] >> (touch.address % 8 * 8);
    if touch.bytes == 4 { word & 0xffff_ffff } else { word }
}
