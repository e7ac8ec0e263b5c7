//! Places in the source that access shared memory, and how each can be weakened.

use std::collections::HashMap;
use std::fmt::{Display, Formatter};
use std::panic::Location;

use ntux_platform::atomic::Ordering;
use ntux_platform::explore::{Effect, Part, Touch};

/// Whether an order acquires.
pub fn acquires(order: Ordering) -> bool {
    matches!(order, Ordering::Acquire | Ordering::AcqRel | Ordering::SeqCst)
}

/// Whether an order releases.
pub fn releases(order: Ordering) -> bool {
    matches!(order, Ordering::Release | Ordering::AcqRel | Ordering::SeqCst)
}

/// Whether an order is part of the total one.
pub fn is_total(order: Ordering) -> bool {
    order == Ordering::SeqCst
}

/// What an access does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// Reads.
    Load,
    /// Writes.
    Store,
    /// Exchanges, and succeeds.
    Exchange,
    /// Tries to exchange, in vain.
    Refused,
}

/// One access in the source.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Site {
    kind: Kind,
    place: &'static Location<'static>,
}

impl Site {
    /// Where a load is made.
    pub fn of_load(touch: &Touch) -> Self {
        Self { kind: Kind::Load, place: touch.site }
    }

    /// Where an update is made.
    pub fn of_update(touch: &Touch, effect: Effect) -> Self {
        let kind = match effect {
            Effect::Stored => Kind::Store,
            Effect::Exchanged => Kind::Exchange,
            Effect::Refused => Kind::Refused,
        };
        Self { kind, place: touch.site }
    }

    /// How this access alone can be weakened.
    pub fn weakenings(self) -> Vec<Weakening> {
        let all: &[fn(Site) -> Weakening] = match self.kind {
            Kind::Load => &[Weakening::NotTotal, Weakening::NoAcquire],
            Kind::Refused => &[Weakening::NoAcquire],
            Kind::Store => &[Weakening::NoRelease],
            Kind::Exchange => &[Weakening::NoAcquire, Weakening::NoRelease],
        };
        all.iter().map(|weakening| weakening(self)).collect()
    }

    fn is_same(self, other: &Site) -> bool {
        self == *other
    }
}

/// One order that is not kept.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Weakening {
    /// A load that should be sequentially consistent is acquire.
    NotTotal(Site),
    /// An access that should acquire is relaxed. If it reads a 16-byte word, both halves are still of one version.
    NoAcquire(Site),
    /// An access that should release is relaxed.
    NoRelease(Site),
    /// This part of every load of a 16-byte word is relaxed.
    Part(Part),
}

impl Weakening {
    /// Those of the parts of 16-byte loads.
    pub const PARTS: [Weakening; 3] =
        [Weakening::Part(Part::Low), Weakening::Part(Part::High), Weakening::Part(Part::LowAgain)];

    /// How much of its acquire order an access keeps.
    pub fn acquires(self, site: &Site, part: Part) -> Acquires {
        match self {
            Weakening::NoAcquire(weakened) if weakened.is_same(site) => Acquires::OwnWord,
            Weakening::Part(weakened) if weakened == part && part != Part::Whole => Acquires::Nothing,
            _ => Acquires::All,
        }
    }

    /// Whether a load keeps its place in the total order.
    pub fn is_total(self, site: &Site, part: Part) -> bool {
        match self {
            Weakening::NotTotal(weakened) | Weakening::NoAcquire(weakened) => !weakened.is_same(site),
            Weakening::Part(weakened) => weakened != part,
            Weakening::NoRelease(_) => true,
        }
    }

    /// Whether an access keeps its release order.
    pub fn releases(self, site: &Site) -> bool {
        !matches!(self, Weakening::NoRelease(weakened) if weakened.is_same(site))
    }

    /// The access that is weakened; none: a part of many.
    pub fn site(self) -> Option<Site> {
        match self {
            Weakening::NotTotal(site) | Weakening::NoAcquire(site) | Weakening::NoRelease(site) => Some(site),
            Weakening::Part(_) => None,
        }
    }

    /// What the access is, and what is left of its order.
    pub fn what(self) -> &'static str {
        match (self, self.site().map(|site| site.kind)) {
            (Weakening::NotTotal(_), _) => "load: acquire",
            (_, Some(Kind::Load)) => "load: relaxed",
            (_, Some(Kind::Store)) => "store: relaxed",
            (_, Some(Kind::Refused)) => "refused exchange: relaxed",
            (Weakening::NoAcquire(_), _) => "exchange: release",
            (Weakening::NoRelease(_), _) => "exchange: acquire",
            (Weakening::Part(_), _) => "every wide load: relaxed",
        }
    }
}

/// How much of its acquire order an access keeps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Acquires {
    /// All of it.
    All,
    /// What was read of a 16-byte word is of one version; nothing else.
    OwnWord,
    /// None of it.
    Nothing,
}

/// Names of accesses that do not change when lines move: file, function, and the text of the line.
#[derive(Default)]
pub struct Names {
    sources: HashMap<&'static str, Vec<String>>,
}

/// The name of an access.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Name {
    /// File without directories and ending, and function.
    pub function: String,
    /// The line's text.
    pub text: String,
    /// Its number.
    pub line: u32,
}

impl Display for Name {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.function, self.text)
    }
}

impl Names {
    /// The name of what is weakened.
    pub fn name(&mut self, weakening: Weakening) -> Name {
        match (weakening.site(), weakening) {
            (Some(site), _) => self.of_place(site.place),
            (None, part) => Name { function: "atomic::Word128".into(), text: format!("{part:?}"), line: 0 },
        }
    }

    fn of_place(&mut self, place: &'static Location<'static>) -> Name {
        let lines = self.sources.entry(place.file()).or_insert_with(|| source(place.file()));
        let at = (place.line() as usize).clamp(1, lines.len().max(1)) - 1;
        let above = lines.iter().take(at + 1).rev();
        let function = above.filter_map(|line| function(line)).next().unwrap_or("?");
        let stem = place.file().rsplit('/').next().and_then(|name| name.strip_suffix(".rs")).unwrap_or("?");
        let text = lines.get(at).map_or("?", |line| line.trim()).to_owned();
        Name { function: format!("{stem}::{function}"), text, line: place.line() }
    }
}

/// The lines of a file of this workspace; Cargo names it from the workspace's root.
fn source(file: &str) -> Vec<String> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let text = std::fs::read_to_string(format!("{root}/{file}")).or_else(|_| std::fs::read_to_string(file));
    text.unwrap_or_default().lines().map(str::to_owned).collect()
}

/// The function that a line begins.
fn function(line: &str) -> Option<&str> {
    let line = line.trim_start();
    if line.starts_with("//") {
        return None;
    }
    let (before, after) = line.split_once("fn ")?;
    let begins = before.is_empty() || before.ends_with(' ');
    let name = after.split(|c: char| !c.is_alphanumeric() && c != '_').next()?;
    (begins && !name.is_empty()).then_some(name)
}
