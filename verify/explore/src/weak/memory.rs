//! Messages and views: see [`super`].

use std::collections::HashMap;
use std::rc::Rc;

use ntux_platform::explore::{Effect, Part, Touch};
use ntux_sync::spec::ThreadId;

use super::sites::{Acquires, Site, Weakening, acquires, is_total, releases};
use crate::monitor::Event;
use crate::random::Random;

/// Old values that one execution may read where the code's orders allow it.
const STALE_LIMITS: [u32; 4] = [0, 1, 2, 4];
/// Old values that one execution may read because of the weakened order.
const GAP_LIMIT: u32 = 4;

/// For each location, by number, a message.
#[derive(Clone, Default, Debug, PartialEq, Eq)]
struct View(Vec<u32>);

impl View {
    fn at(&self, location: usize) -> u32 {
        self.0.get(location).copied().unwrap_or(0)
    }

    fn advance(&mut self, location: usize, message: u32) {
        if self.0.len() <= location {
            self.0.resize(location + 1, 0);
        }
        self.0[location] = self.0[location].max(message);
    }

    fn join(&mut self, other: &View) {
        for (location, &message) in other.0.iter().enumerate() {
            self.advance(location, message);
        }
    }
}

/// What is kept twice: with the orders that are in force, and with those that the code names.
#[derive(Clone, Default, Debug)]
struct Views {
    weak: View,
    named: View,
}

impl Views {
    fn advance(&mut self, location: usize, message: u32) {
        self.weak.advance(location, message);
        self.named.advance(location, message);
    }

    fn join(&mut self, other: &Views) {
        self.weak.join(&other.weak);
        self.named.join(&other.named);
    }
}

struct Message {
    value: u64,
    views: Rc<Views>,
}

/// Which loads read an old message: the number of the load, and how many messages before the last.
pub type Choices = Vec<(u32, u32)>;

/// Who chooses what is read.
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
    /// The last message of each location that a sequentially consistent access made.
    total: Views,
    threads: Vec<Views>,
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
            total: Views::default(),
            threads: Vec::new(),
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
        self.total = Views::default();
        self.threads = vec![Views::default(); threads];
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

    /// What an onlooker sees. Who begins something has seen all that an onlooker could have told it.
    pub fn event(&mut self, event: Event) {
        match event {
            Event::Invoke { thread, .. } | Event::Interrupt { thread } => self.threads[thread].join(&self.published),
            Event::Asleep { thread }
            | Event::Interrupted { thread }
            | Event::Return { thread, .. }
            | Event::Die { thread, .. } => {
                self.published.join(&self.threads[thread]);
            }
            Event::Deadline { .. } | Event::Resume { .. } => {}
        }
    }

    /// A waker enters the kernel.
    pub fn wake(&mut self, thread: ThreadId, address: usize) {
        self.queues.entry(address).or_default().join(&self.threads[thread]);
    }

    /// A thread that wants to sleep enters the kernel: the value of the location at `address` that is compared.
    pub fn sleep(&mut self, thread: ThreadId, address: usize, content: u64) -> u64 {
        let queue = self.queues.entry(address).or_default().clone();
        self.threads[thread].join(&queue);
        let location = self.location(address, content);
        let message = self.choose(thread, location, false, false);
        self.threads[thread].advance(location, message);
        self.locations[location][message as usize].value
    }

    /// A thread asks the kernel who is dead or what time it is, and has seen what an onlooker could have told it then.
    pub fn asked_kernel(&mut self, thread: ThreadId) {
        self.threads[thread].join(&self.published);
    }

    /// The kernel exchanges a word on behalf of a thread that dies.
    pub fn updated_by_kernel(&mut self, thread: ThreadId, address: usize, before: u64, after: u64) {
        let location = self.location(address, before);
        let last = Rc::clone(&self.locations[location].last().expect("every location has a message").views);
        let views = &mut self.threads[thread];
        views.join(&last);
        views.advance(location, self.locations[location].len() as u32);
        let views = Rc::new(views.clone());
        self.locations[location].push(Message { value: after, views });
    }

    /// What a load returns; `content` is what the memory holds.
    pub fn read(&mut self, thread: ThreadId, touch: &Touch, content: u64) -> u64 {
        let location = self.location(touch.address, content);
        let site = self.met(Site::of_load(touch));
        let named = is_total(touch.order);
        let kept = named && self.keeps_total(&site, touch);
        let message = self.choose(thread, location, named, kept);
        self.threads[thread].advance(location, message);
        self.acquire(thread, touch, &[location], message, self.acquires(&site, touch));
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
            self.acquire(thread, touch, &locations, last, self.acquires(&site, touch));
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
        for (&location, &(_, _, value)) in locations.iter().zip(halves) {
            let message = self.locations[location].len() as u32;
            if is_total(touch.order) {
                self.total.named.advance(location, message);
            }
            if is_total(touch.order) && self.keeps_total(&site, touch) {
                self.total.weak.advance(location, message);
            }
            self.locations[location].push(Message { value, views: Rc::clone(&views) });
        }
    }

    /// The thread has read a message of these locations (two: both halves of a 16-byte word).
    fn acquire(&mut self, thread: ThreadId, touch: &Touch, locations: &[usize], message: u32, acquires: Acquires) {
        let views = Rc::clone(&self.locations[locations[0]][message as usize].views);
        if super::sites::acquires(touch.order) {
            self.threads[thread].named.join(&views.named);
        }
        match acquires {
            Acquires::All => self.threads[thread].weak.join(&views.weak),
            Acquires::OwnWord if touch.part != Part::Whole => {
                if let Some(&other) = self.numbers.get(&(touch.address ^ 8)) {
                    self.threads[thread].weak.advance(other, views.weak.at(other));
                }
            }
            Acquires::OwnWord | Acquires::Nothing => {}
        }
    }

    fn met(&mut self, site: Site) -> Site {
        *self.sites.entry(site).or_insert(0) += 1;
        site
    }

    fn keeps_total(&self, site: &Site, touch: &Touch) -> bool {
        self.weakening.is_none_or(|weakening| weakening.is_total(site, touch.part))
    }

    fn acquires(&self, site: &Site, touch: &Touch) -> Acquires {
        match self.weakening {
            _ if !acquires(touch.order) => Acquires::Nothing,
            Some(weakening) => weakening.acquires(site, touch.part),
            None => Acquires::All,
        }
    }

    fn location(&mut self, address: usize, content: u64) -> usize {
        let next = self.locations.len();
        let number = *self.numbers.entry(address).or_insert(next);
        if number == next {
            self.locations.push(vec![Message { value: content, views: Rc::default() }]);
        }
        number
    }

    /// The message that a load reads: mostly the last; now and then an old one; more often one that only the weakened
    /// order allows.
    fn choose(&mut self, thread: ThreadId, location: usize, named_total: bool, total: bool) -> u32 {
        let last = self.locations[location].len() as u32 - 1;
        let at_least = |view: &View, total: bool| if total { view.at(location) } else { 0 };
        let Views { weak, named } = &self.threads[thread];
        let oldest = weak.at(location).max(at_least(&self.total.weak, total));
        let named = named.at(location).max(at_least(&self.total.named, named_total));
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
                    oldest + random.below((named - oldest) as usize) as u32
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
