// SPDX-License-Identifier: MIT OR Apache-2.0
//! Surveys the accesses of the programs, and checks that nothing fails with the orders in the code.

use std::collections::HashMap;
use std::fmt::{Display, Formatter};
use std::time::{Duration, Instant};

use super::memory::{Choices, Memory};
use super::sites::{Site, Weakening};
use crate::catalogue;
use crate::machine::token::Token;
use crate::program::Program;
use crate::search::{self, Bounds, Failure};

/// How much is tried.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Executions of each program.
    pub executions: u64,
    /// The seed of the random choices.
    pub seed: u64,
}

/// One run of one program.
pub struct Tried {
    /// What went wrong, and how to see it again.
    pub failure: Option<(String, String)>,
    /// The memory, for its counts.
    pub memory: Memory,
    /// Executions made.
    pub executions: u64,
}

/// Runs a program over a weak memory.
pub fn try_program(program: &Program, weakening: Option<Weakening>, effort: Effort) -> Tried {
    let bounds = Bounds { preemptions: None, frozen: 1, executions: effort.executions, time: Duration::from_secs(600) };
    let memory = Memory::random(weakening, effort.seed);
    let (report, memory) = search::random_weak(program, bounds, effort.seed, memory);
    let failure = report.failure.map(|Failure { what, token, reads }| (what, format!("{token}/{}", print(&reads))));
    Tried { failure, memory, executions: report.executions }
}

/// Old reads as part of a token.
fn print(reads: &Choices) -> String {
    reads.iter().map(|(load, back)| format!("{load}-{back}")).collect::<Vec<_>>().join(".")
}

fn parse(reads: &str) -> Option<Choices> {
    let pair =
        |read: &str| read.split_once('-').and_then(|(load, back)| Some((load.parse().ok()?, back.parse().ok()?)));
    reads.split('.').filter(|read| !read.is_empty()).map(pair).collect()
}

/// Repeats an execution with its old reads; what went wrong, and the trace.
pub fn replay(token: &str, reads: &str) -> Result<(Option<String>, String), String> {
    let token: Token = token.parse()?;
    let program = catalogue::find(&token.program).ok_or(format!("no program is called {}", token.program))?;
    let reads = parse(reads).ok_or(format!("not a list of reads: {reads}"))?;
    let (failure, trace) = search::replay_weak(&program, &token.schedule, Some(Memory::replay(None, reads)));
    Ok((failure, format!("{program:?}{trace}")))
}

/// What the programs touch.
#[derive(Default)]
pub struct Survey {
    /// Each access, and the programs that make it, with how often.
    pub sites: HashMap<Site, Vec<(usize, u64)>>,
    executions: u64,
    time: Duration,
}

/// Runs every program with the orders that the code names; the first failure, if there is one.
pub fn survey(programs: &[Program], effort: Effort) -> Result<Survey, String> {
    let begun = Instant::now();
    let mut survey = Survey::default();
    for (number, program) in programs.iter().enumerate() {
        let tried = try_program(program, None, effort);
        if let Some((what, token)) = tried.failure {
            return Err(format!("{}: {what}\n    replay {token}", program.name));
        }
        survey.executions += tried.executions;
        for (&site, &count) in tried.memory.sites() {
            survey.sites.entry(site).or_default().push((number, count));
        }
    }
    survey.time = begun.elapsed();
    Ok(survey)
}

impl Display for Survey {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let (sites, executions, seconds) = (self.sites.len(), self.executions, self.time.as_secs_f64());
        write!(f, "{sites} accesses, {executions} executions with the orders that the code names, {seconds:.1}s: ok")
    }
}
