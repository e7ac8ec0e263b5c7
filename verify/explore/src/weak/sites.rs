// SPDX-License-Identifier: MIT OR Apache-2.0
//! Places in the source that access shared memory, and how each can be weakened.

use std::collections::HashMap;
use std::fmt::{Display, Formatter};
use std::panic::Location;

use ntux_platform::atomic::Ordering;
use ntux_platform::explore::{Effect, Part, Touch};

/// Returns whether an order releases.
pub fn releases(order: Ordering) -> bool {
    matches!(order, Ordering::Release | Ordering::AcqRel | Ordering::SeqCst)
}

/// The order of an access that reads, the weakest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Reading {
    /// It acquires nothing, and what follows may overtake it.
    Relaxed,
    /// It acquires, and comes before all that follows.
    Acquire,
    /// It is part of the total order, too.
    Total,
}

impl Reading {
    /// That of this order.
    pub fn of(order: Ordering) -> Self {
        match order {
            Ordering::SeqCst => Self::Total,
            Ordering::Acquire | Ordering::AcqRel => Self::Acquire,
            _ => Self::Relaxed,
        }
    }
}

/// What an access does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// Reads 4 or 8 bytes, the low half of a wide word alone too.
    Load,
    /// Reads 16 bytes, one half after the other.
    WideLoad,
    /// Writes.
    Store,
    /// Exchanges, and succeeds.
    Exchange,
    /// Tries to exchange, in vain.
    Refused,
}

impl Kind {
    const ALL: [Kind; 5] = [Kind::Load, Kind::WideLoad, Kind::Store, Kind::Exchange, Kind::Refused];

    /// What an access of this kind can lose.
    fn losses(self) -> &'static [Loss] {
        match self {
            Kind::Load | Kind::WideLoad => &[Loss::Total, Loss::Acquire],
            Kind::Refused => &[Loss::Acquire],
            Kind::Store => &[Loss::Release],
            Kind::Exchange => &[Loss::Total, Loss::Acquire, Loss::Release],
        }
    }
}

impl Display for Kind {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Kind::Load => "load",
            Kind::WideLoad => "wide load",
            Kind::Store => "store",
            Kind::Exchange => "exchange",
            Kind::Refused => "refused exchange",
        })
    }
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
        let kind = if touch.part == Part::Whole { Kind::Load } else { Kind::WideLoad };
        Self { kind, place: touch.site }
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
    pub fn weakenings(self) -> impl Iterator<Item = Weakening> {
        self.kind.losses().iter().map(move |&loss| Weakening { scope: Scope::One(self), loss })
    }
}

/// What is lost of an order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Loss {
    /// A place in the total order: a load is acquire, an exchange both acquire and release.
    Total,
    /// All that is acquired, and the place in the total order.
    Acquire,
    /// All that is released, and the place in the total order.
    Release,
}

/// Which accesses lose it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Scope {
    /// This one. If it reads a 16-byte word, both halves are still of one version.
    One(Site),
    /// All of this kind: the order that `ntux_platform::atomic` names for it.
    Every(Kind),
    /// This part of every load of a 16-byte word.
    Part(Part),
}

/// One order that is not kept.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Weakening {
    /// Where.
    pub scope: Scope,
    /// What is lost.
    pub loss: Loss,
}

impl Weakening {
    /// Those that concern more than one access.
    pub fn general() -> impl Iterator<Item = Weakening> {
        let every = |kind: Kind| {
            let losses = kind.losses().iter();
            losses.map(move |&loss| Weakening { scope: Scope::Every(kind), loss })
        };
        let parts = [Part::Low, Part::High, Part::LowAgain];
        let of_part = |part| Weakening { scope: Scope::Part(part), loss: Loss::Acquire };
        Kind::ALL.into_iter().flat_map(every).chain(parts.into_iter().map(of_part))
    }

    fn concerns(self, site: &Site, part: Part) -> bool {
        match self.scope {
            Scope::One(one) => one == *site,
            Scope::Every(kind) => kind == site.kind,
            Scope::Part(one) => one == part,
        }
    }

    /// The strongest order that an access may have.
    pub fn reading(self, site: &Site, part: Part) -> Reading {
        match self.loss {
            _ if !self.concerns(site, part) => Reading::Total,
            Loss::Acquire => Reading::Relaxed,
            Loss::Total | Loss::Release => Reading::Acquire,
        }
    }

    /// Returns whether what a weakened access reads of a 16-byte word is of one version nevertheless.
    pub fn keeps_own_word(self, site: &Site, part: Part) -> bool {
        !matches!(self.scope, Scope::Part(_)) && self.concerns(site, part)
    }

    /// Returns whether an access keeps its release order.
    pub fn releases(self, site: &Site) -> bool {
        self.loss != Loss::Release || !self.concerns(site, Part::Whole)
    }

    /// The access that is weakened; none: many.
    pub fn site(self) -> Option<Site> {
        if let Scope::One(site) = self.scope { Some(site) } else { None }
    }

    /// What the access is, and what is left of its order.
    pub fn what(self) -> String {
        let kind = match self.scope {
            Scope::One(Site { kind, .. }) | Scope::Every(kind) => kind,
            Scope::Part(_) => Kind::WideLoad,
        };
        let left = match (kind, self.loss) {
            (Kind::Exchange, Loss::Total) => "acq_rel",
            (Kind::Exchange, Loss::Acquire) => "release",
            (Kind::Exchange, Loss::Release) | (_, Loss::Total) => "acquire",
            _ => "relaxed",
        };
        format!("{kind}: {left}")
    }
}

/// Names of accesses that do not change when lines move: file, function, and the text of the line.
#[derive(Default)]
pub struct Names {
    sources: HashMap<&'static str, Vec<String>>,
}

/// The name of an access, or of several.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Name {
    /// File without directories and ending, and function.
    pub function: String,
    /// The line's number.
    pub line: u32,
    /// Its text.
    pub text: String,
}

impl Display for Name {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.function, self.text)
    }
}

impl Names {
    /// The name of what is weakened.
    pub fn name(&mut self, weakening: Weakening) -> Name {
        let general = |function: &str, text| Name { function: function.to_owned(), line: 0, text };
        match weakening.scope {
            Scope::One(site) => self.of_place(site.place),
            Scope::Every(_) => general("atomic", "every one".to_owned()),
            Scope::Part(part) => general("atomic::Word128", format!("{part:?} of every one")),
        }
    }

    fn of_place(&mut self, place: &'static Location<'static>) -> Name {
        let lines = self.sources.entry(place.file()).or_insert_with(|| source(place.file()));
        let at = (place.line() as usize).clamp(1, lines.len().max(1)) - 1;
        let above = lines.iter().take(at + 1).rev();
        let function = above.filter_map(|line| function(line)).next().unwrap_or("?");
        let stem = place.file().rsplit('/').next().and_then(|name| name.strip_suffix(".rs")).unwrap_or("?");
        let text = lines.get(at).map_or("?", |line| line.trim()).to_owned();
        Name { function: format!("{stem}::{function}"), line: place.line(), text }
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
