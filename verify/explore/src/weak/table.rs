// SPDX-License-Identifier: MIT OR Apache-2.0
//! Weakens one order after the other, and reports which program fails.

use std::fmt::{Display, Formatter};
use std::time::{Duration, Instant};

use super::sites::{Name, Names, Weakening};
use super::survey::{Effort, Survey, Tried, try_program};
use super::{equivalent, needed};
use crate::program::Program;

/// Rounds over the programs; each tries this many times as much as the one before.
const ROUNDS: u32 = 4;
const GROWTH: u64 = 5;
/// Rounds after which only those programs go on in which the weakening has made a difference.
const ROUNDS_FOR_ALL: u32 = 3;

/// What became of one weakening.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// A program failed.
    Caught {
        /// The program.
        program: String,
        /// What went wrong.
        what: String,
    },
    /// No program failed, and the list says why.
    Equivalent(&'static str),
    /// No program failed this time, and the list says what goes wrong nevertheless.
    Needed(&'static str),
    /// No load of any execution could read anything that the named order forbids: other orders forbid it too.
    Implied,
    /// No program failed, and nobody knows why.
    Unexplained,
}

/// One weakened order.
pub struct Row {
    /// Where.
    pub name: Name,
    /// What is lost there.
    pub weakening: Weakening,
    /// What became of it.
    pub verdict: Verdict,
    /// Executions that were made.
    pub executions: u64,
    /// How often the weakening allowed a load what the named order forbids.
    pub gaps: u64,
}

/// All rows.
#[derive(Default)]
pub struct Table {
    /// The general ones, then in the order of the source.
    pub rows: Vec<Row>,
    accesses: usize,
    /// All accesses of the survey were weakened.
    whole: bool,
    time: Duration,
}

/// Weakens each access of the survey, one order at a time; `each` is shown every row. Only those with `only` in what is left of the
/// order and the name, as a row shows them.
pub fn table(programs: &[Program], survey: &Survey, effort: Effort, only: &str, each: impl Fn(&Row)) -> Table {
    let begun = Instant::now();
    let mut names = Names::default();
    let of_sites = survey.sites.keys().flat_map(|site| site.weakenings());
    let mut weakenings: Vec<(Name, Weakening)> =
        Weakening::general().chain(of_sites).map(|weakening| (names.name(weakening), weakening)).collect();
    weakenings.retain(|(name, weakening)| format!("{} {name}", weakening.what()).contains(only));
    weakenings.sort_by_cached_key(|(name, weakening)| {
        (weakening.site().is_some(), name.function.clone(), name.line, weakening.what())
    });
    let mut table = Table { accesses: survey.sites.len(), whole: only.is_empty(), ..Table::default() };
    for (name, weakening) in weakenings {
        let row = weaken(programs, survey, effort, name, weakening);
        each(&row);
        table.rows.push(row);
    }
    table.time = begun.elapsed();
    table
}

fn weaken(programs: &[Program], survey: &Survey, effort: Effort, name: Name, weakening: Weakening) -> Row {
    let mut row = Row { name, weakening, verdict: Verdict::Unexplained, executions: 0, gaps: 0 };
    let named = needed::rarely_by(&row.name, weakening);
    let noticing = named.and_then(|(name, times)| Some((programs.iter().find(|program| program.name == name)?, times)));
    if let Some((program, times)) = noticing
        && row.is_caught(program, Effort { executions: effort.executions * times, ..effort })
    {
        return row;
    }
    let mut programs = touching(programs, survey, weakening);
    for round in 0..ROUNDS {
        let executions = (effort.executions / GROWTH.pow(ROUNDS - 1 - round)).max(1);
        let effort = Effort { executions, seed: effort.seed + u64::from(round) };
        let mut visible = Vec::new();
        for &program in &programs {
            let gaps = row.gaps;
            if row.is_caught(program, effort) {
                return row;
            }
            if row.gaps > gaps {
                visible.push(program);
            }
        }
        if round + 1 >= ROUNDS_FOR_ALL {
            programs = visible;
        }
    }
    row.verdict = match (equivalent::reason(&row.name, weakening), needed::unseen(&row.name, weakening)) {
        (Some(why), _) => Verdict::Equivalent(why),
        (None, Some(why)) => Verdict::Needed(why),
        (None, None) if row.gaps == 0 => Verdict::Implied,
        (None, None) => Verdict::Unexplained,
    };
    row
}

impl Row {
    /// Runs the program with the weakened order, and counts.
    fn is_caught(&mut self, program: &Program, effort: Effort) -> bool {
        let Tried { failure, memory, executions } = try_program(program, Some(self.weakening), effort);
        self.executions += executions;
        self.gaps += memory.gaps();
        let Some((what, _)) = failure else { return false };
        self.verdict = Verdict::Caught { program: program.name.clone(), what };
        true
    }
}

/// The programs that make the access, those that make it often first.
fn touching<'a>(programs: &'a [Program], survey: &Survey, weakening: Weakening) -> Vec<&'a Program> {
    let Some(site) = weakening.site() else { return programs.iter().collect() };
    let mut touching = survey.sites.get(&site).cloned().unwrap_or_default();
    touching.sort_by_key(|&(number, count)| (std::cmp::Reverse(count), number));
    touching.iter().map(|&(number, _)| &programs[number]).collect()
}

impl Table {
    /// An error if a weakening was neither caught nor explained, or if the list of equivalent ones is wrong.
    pub fn verdict(&self) -> Result<(), String> {
        let unexplained = self.count(|verdict| *verdict == Verdict::Unexplained);
        let caught = self.rows.iter().filter(|row| matches!(row.verdict, Verdict::Caught { .. }));
        let harmful = caught.filter(|row| equivalent::reason(&row.name, row.weakening).is_some()).count();
        let unused = match self.whole {
            true => equivalent::unused(self.rows.iter().map(|row| (&row.name, row.weakening))),
            false => Vec::new(),
        };
        if unexplained + harmful + unused.len() == 0 {
            return Ok(());
        }
        Err(format!(
            "{unexplained} weakened orders that no program notices and the list of equivalent ones does not explain; \
             {harmful} that are listed, and a program notices; entries of the list that concern nothing: {unused:?}"
        ))
    }

    fn count(&self, which: impl Fn(&Verdict) -> bool) -> usize {
        self.rows.iter().filter(|row| which(&row.verdict)).count()
    }
}

impl Display for Row {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let Self { name, weakening, verdict, executions, gaps } = self;
        let verdict = match verdict {
            Verdict::Caught { program, what } => format!("caught by {program}: {what}"),
            Verdict::Equivalent(why) => format!("equivalent: {why}"),
            Verdict::Needed(why) => format!("needed, though no program shows it: {why}"),
            Verdict::Implied => "equivalent: other orders forbid the same".to_owned(),
            Verdict::Unexplained => "NOT CAUGHT".to_owned(),
        };
        write!(f, "{:<26} {name}\n    {verdict} ({executions} executions, {gaps} reads)", weakening.what())
    }
}

impl Display for Table {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let caught = self.count(|verdict| matches!(verdict, Verdict::Caught { .. }));
        let listed = self.count(|verdict| matches!(verdict, Verdict::Equivalent(_)));
        let needed = self.count(|verdict| matches!(verdict, Verdict::Needed(_)));
        let implied = self.count(|verdict| *verdict == Verdict::Implied);
        let unexplained = self.count(|verdict| *verdict == Verdict::Unexplained);
        let executions: u64 = self.rows.iter().map(|row| row.executions).sum();
        writeln!(f, "{:>12}  accesses, {} weakened orders, {executions} executions", self.accesses, self.rows.len())?;
        writeln!(f, "{caught:>12}  caught")?;
        writeln!(f, "{listed:>12}  equivalent, for a reason that is listed")?;
        writeln!(f, "{needed:>12}  needed, though no program shows it")?;
        writeln!(f, "{implied:>12}  equivalent: other orders forbid the same")?;
        writeln!(f, "{unexplained:>12}  unexplained")?;
        write!(f, "{:>12.1}  seconds", self.time.as_secs_f64())
    }
}
