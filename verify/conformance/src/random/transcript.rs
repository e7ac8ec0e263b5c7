// SPDX-License-Identifier: MIT OR Apache-2.0
//! Transcript files: one line for each program, and the comparison of two files.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::random::Kind;
use crate::random::perform::BETWEEN_ENTRIES;
use crate::random::program::Program;

/// A line of a file: which program, the number by which it is known again, and what happened.
pub fn line(kind: Kind, seed: u64, program: &Program, transcript: &str) -> String {
    format!("{} {seed} {:08x} {transcript}", kind.name(), program.fingerprint())
}

/// The transcripts of a file, by kind and seed: fingerprint and transcript.
pub type Transcripts = BTreeMap<(Kind, u64), (u32, String)>;

/// Reads a file; lines that start with `#` are remarks.
pub fn parse(text: &str) -> Result<Transcripts, String> {
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty());
    lines.map(|line| parse_line(line).ok_or_else(|| format!("not a line of a transcript: {line:?}"))).collect()
}

fn parse_line(line: &str) -> Option<((Kind, u64), (u32, String))> {
    let mut words = line.splitn(4, ' ');
    let kind = Kind::named(words.next()?)?;
    let seed = words.next()?.parse().ok()?;
    let fingerprint = u32::from_str_radix(words.next()?, 16).ok()?;
    Some(((kind, seed), (fingerprint, words.next()?.to_string())))
}

/// How the transcripts of two sides differ, in words for a reader, or None if they are the same.
pub fn difference(program: &Program, sides: [(&str, &str); 2]) -> Option<String> {
    let [(_, ours), (_, theirs)] = sides;
    if ours == theirs {
        return None;
    }
    let [ours, theirs] = sides.map(|(_, transcript)| transcript.split(BETWEEN_ENTRIES).collect::<Vec<_>>());
    let mut text = String::new();
    for (at, step) in program.steps.iter().enumerate() {
        let [ours, theirs] = [&ours, &theirs].map(|entries| entries.get(at).copied().unwrap_or("nothing"));
        let _ = writeln!(text, "  {}", program.line(step));
        if ours == theirs {
            let _ = writeln!(text, "        {ours}");
            continue;
        }
        for (name, entry) in [(sides[0].0, ours), (sides[1].0, theirs)] {
            let _ = writeln!(text, "    !   {name}: {entry}");
        }
    }
    Some(text)
}

/// The place of the first step whose entries differ.
pub fn first_difference(program: &Program, ours: &str, theirs: &str) -> Option<usize> {
    let [mut ours, mut theirs] = [ours, theirs].map(|transcript| transcript.split(BETWEEN_ENTRIES));
    program.steps.iter().find(|_| ours.next() != theirs.next()).map(|step| step.place)
}

/// What comparing two files gave.
pub struct Report {
    /// How many programs were compared.
    pub compared: usize,
    /// The programs that differ, with the difference in words.
    pub different: Vec<(Kind, u64, String)>,
}

/// Compares each program of the right file with the judged file, which must have it.
pub fn compare(right: &Transcripts, judged: &Transcripts) -> Result<Report, String> {
    let mut different = Vec::new();
    for ((kind, seed), (fingerprint, expected)) in right {
        let name = kind.name();
        let program = kind.program(*seed);
        if program.fingerprint() != *fingerprint {
            return Err(format!("{name} {seed} was recorded for another program: record the transcripts again"));
        }
        let (_, actual) = judged.get(&(*kind, *seed)).ok_or_else(|| format!("{name} {seed} was not performed"))?;
        if let Some(text) = difference(&program, [("right", expected), ("judged", actual)]) {
            different.push((*kind, *seed, text));
        }
    }
    Ok(Report { compared: right.len(), different })
}
