// SPDX-License-Identifier: MIT OR Apache-2.0
//! Figures that stand in prose. Each must stand in a result, too: one that the page quotes, or that the section of the figure
//! has a link to, directly or as a page that quotes it.
//!
//! A figure is a number with a unit: a time, how many times, percent, or instructions. Code and what is rendered is no prose.
//! `benchmarks/no-result` lists those that need none, such as a limit, one a line as `PAGE: FIGURE: REASON`, and `all` for a page.
//! A page of `docs/decisions` is not rewritten when a figure changes; it says once of which machine and day its figures are.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use super::{BEGIN, END};

const UNITS: [&str; 10] = ["ns", "us", "ms", "s", "times", "%", "instructions", "seconds", "minutes", "hours"];
/// How a decision says what its figures are of, where no table does.
const DATED: &str = "*Figures of this page, where no table says otherwise: ";
/// What `make reference` writes.
const WRITTEN_BY_THE_COMMAND: [&str; 2] = ["docs/reference/command.md", "docs/reference/environment.md"];

/// A result, as far as prose can quote it.
#[derive(Default)]
pub struct Source {
    /// The heading under which its folder's page shows it.
    pub title: String,
    /// Everything that it says.
    pub text: String,
}

/// What pages can quote.
pub struct Sources {
    /// Each result by its path from the project's root.
    pub results: BTreeMap<String, Source>,
    /// The path of the newest result of each name.
    pub newest: BTreeMap<String, String>,
}

/// The figures of prose that no result has, and the lines of `exceptions` that no page needs; one complaint each.
pub fn complaints(pages: &BTreeMap<String, String>, sources: &Sources, exceptions: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    let mut unused: BTreeSet<&str> = BTreeSet::new();
    let mut excused = BTreeMap::new();
    for line in exceptions.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let mut parts = line.splitn(3, ": ");
        match (parts.next(), parts.next(), parts.next()) {
            (Some(page), Some(figure), Some(_)) => {
                unused.insert(line);
                excused.insert((page, figure.to_owned()), line);
            }
            _ => complaints.push(format!("benchmarks/no-result: not PAGE: FIGURE: REASON: {line}")),
        }
    }
    for (page, text) in pages {
        if WRITTEN_BY_THE_COMMAND.contains(&page.as_str()) || page.starts_with("docs/decisions/") && is_dated(text) {
            continue;
        }
        let quoted = quoted(text);
        for section in sections(text) {
            let mut named: BTreeSet<String> = of_names(&quoted, sources);
            links(&section).iter().for_each(|link| named.extend(led_to(page, link, pages, sources)));
            let results: Vec<_> = named.iter().filter_map(|path| sources.results.get(path)).collect();
            for figure in figures(&prose(&section)) {
                if results.iter().any(|result| has(&result.text, &figure)) {
                    continue;
                }
                let lines = [figure.clone(), "all".to_owned()].map(|figure| excused.get(&(page.as_str(), figure)));
                match lines.into_iter().flatten().next() {
                    Some(line) => drop(unused.remove(line)),
                    None => complaints.push(format!("{page}: {figure}: in no result that is quoted or linked there")),
                }
            }
        }
    }
    complaints.extend(unused.iter().map(|line| format!("benchmarks/no-result: not needed: {line}")));
    complaints
}

/// True if a decision says what its figures are of: a day and a machine.
fn is_dated(text: &str) -> bool {
    text.split_once(DATED).is_some_and(|(_, behind)| behind.starts_with("20") && behind.contains(", "))
}

fn of_names(names: &BTreeSet<String>, sources: &Sources) -> BTreeSet<String> {
    names.iter().filter_map(|name| sources.newest.get(name).cloned()).collect()
}

/// The names of the results that a page quotes.
fn quoted(text: &str) -> BTreeSet<String> {
    text.split(BEGIN).skip(1).filter_map(|behind| Some(behind.split_once(" -->")?.0.to_owned())).collect()
}

/// The results that a link of a page leads to.
fn led_to(page: &str, link: &str, pages: &BTreeMap<String, String>, sources: &Sources) -> BTreeSet<String> {
    let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
    let path = normal(&Path::new(page).parent().unwrap_or(Path::new("")).join(path));
    if sources.results.contains_key(&path) {
        return BTreeSet::from([path]);
    }
    if let (true, Some(folder)) = (path.starts_with("benchmarks/"), path.strip_suffix("README.md")) {
        let shown = sources.results.iter().filter(|(result, _)| result.starts_with(folder));
        let meant = shown.filter(|(_, source)| anchor.is_empty() || slug(&source.title) == anchor);
        return meant.map(|(result, _)| result.clone()).collect();
    }
    pages.get(&path).map_or_else(BTreeSet::new, |text| of_names(&quoted(text), sources))
}

/// The path without `..`.
fn normal(path: &Path) -> String {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(normal.pop()),
            part => normal.push(part),
        }
    }
    normal.to_string_lossy().into_owned()
}

/// The anchor of a heading.
fn slug(title: &str) -> String {
    let kept = title.to_lowercase().replace(' ', "-");
    kept.chars().filter(|c| c.is_ascii_alphanumeric() || "-_".contains(*c)).collect()
}

/// The page's sections, each without what is code or rendered.
fn sections(text: &str) -> Vec<String> {
    let mut sections = vec![String::new()];
    let mut rest = text;
    let mut shown = String::new();
    while let Some((before, behind)) = rest.split_once(BEGIN) {
        shown += before;
        rest = behind.split_once(END).map_or("", |(_, behind)| behind);
    }
    shown += rest;
    let (mut fenced, mut code, mut blank) = (false, false, true);
    for line in shown.lines() {
        let fence = line.trim_start().starts_with("```");
        // Indented behind an empty line, and behind nothing that it could continue.
        code = line.starts_with("    ") && (code || blank && !sections.last().is_some_and(|text| in_list(text)));
        if !fence && !fenced && !code {
            if line.starts_with('#') {
                sections.push(String::new());
            }
            let section = sections.last_mut().expect("there is a first one");
            *section += line;
            section.push('\n');
        }
        fenced ^= fence;
        blank = line.is_empty();
    }
    sections
}

/// True if the last paragraph belongs to a list.
fn in_list(text: &str) -> bool {
    let last = text.trim_end().rsplit("\n\n").next().unwrap_or_default();
    last.starts_with("* ") || last.starts_with("  ") || last.starts_with("1. ")
}

/// Where the links of a text lead.
fn links(text: &str) -> Vec<String> {
    text.split("](").skip(1).filter_map(|behind| Some(behind.split_once(')')?.0.to_owned())).collect()
}

/// The text without code and without where links lead.
fn prose(text: &str) -> String {
    let mut prose = String::new();
    for (part, piece) in text.split('`').enumerate() {
        prose += if part % 2 == 0 { piece } else { "code" };
    }
    let mut shown = String::new();
    for (part, piece) in prose.split("](").enumerate() {
        shown += if part == 0 { piece } else { piece.split_once(')').map_or("", |(_, behind)| behind) };
        shown.push(' ');
    }
    shown
}

/// The figures, each a number and its unit with a space between.
fn figures(prose: &str) -> Vec<String> {
    let words: Vec<&str> = prose.split_whitespace().collect();
    let unit_at = |place: usize| {
        let word: &str = words.get(place)?.trim_end_matches(|c: char| !c.is_alphanumeric() && c != '%');
        UNITS.contains(&word).then_some(word)
    };
    let mut found = Vec::new();
    for (place, word) in words.iter().enumerate() {
        let Some(number) = number(word) else { continue };
        let spans = words.get(place + 1).is_some_and(|word| ["to", "and", "or"].contains(word));
        let and_another = spans && words.get(place + 2).is_some_and(|word| number_of(word));
        let unit = unit_at(place + 1).or_else(|| if and_another { unit_at(place + 3) } else { None });
        found.extend(unit.map(|unit| format!("{number} {unit}")));
    }
    found
}

fn number_of(word: &str) -> bool {
    number(word).is_some()
}

fn number(word: &str) -> Option<&str> {
    let number = word.trim_start_matches(['(', '*', '~', '|']);
    let sound = number.starts_with(|c: char| c.is_ascii_digit())
        && number.ends_with(|c: char| c.is_ascii_digit())
        && number.chars().all(|c| c.is_ascii_digit() || c == '.' || c == ',');
    sound.then_some(number)
}

/// True if a result has this number, and speaks of this unit.
fn has(result: &str, figure: &str) -> bool {
    let (number, unit) = figure.split_once(' ').expect("a figure has a unit");
    let mut numbers = result.split(|c: char| !c.is_ascii_digit() && c != '.' && c != ',');
    let names: &[&str] = match unit {
        "ns" => &["ns", "nanoseconds"],
        "us" => &["us", "microseconds"],
        "ms" => &["ms", "milliseconds"],
        "s" | "seconds" => &["s", "seconds"],
        "times" => &["times", "ratio", "ratios"],
        unit => &[unit],
    };
    let mut words = result.split(|c: char| !c.is_alphabetic() && c != '%');
    numbers.any(|found| found.trim_end_matches(['.', ',']) == number) && words.any(|word| names.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RESULT: &str = "benchmarks/2026-01-02-new/t.json";

    fn complaints_of(page: &str, text: &str, exceptions: &str) -> Vec<String> {
        let source = Source { title: "A title: it".to_owned(), text: "lock, 34 ns, 1,200 instructions".to_owned() };
        let sources = Sources {
            results: BTreeMap::from([(RESULT.to_owned(), source)]),
            newest: BTreeMap::from([("t".to_owned(), RESULT.to_owned())]),
        };
        let quoting = ("docs/c/quoting.md".to_owned(), "<!-- figures: t -->\n<!-- end of figures -->\n".to_owned());
        complaints(&BTreeMap::from([(page.to_owned(), text.to_owned()), quoting]), &sources, exceptions)
    }

    #[test]
    fn a_figure_of_a_result_that_is_quoted_or_linked_is_fine() {
        for text in [
            "It takes 34 ns, 1,200 instructions.\n\n<!-- figures: t -->\n| 5 us |\n<!-- end of figures -->\n",
            "It takes (34 ns) ([result](../../benchmarks/2026-01-02-new/t.json)).\n",
            "It takes 34\nns, as [they](../../benchmarks/2026-01-02-new/README.md#a-title-it) say.\n",
            "It takes *34 ns*, as [there](../c/quoting.md#place).\n",
            "`5 us`\n\n```\n5 us\n```\n\n    5 us\n    6 us\n\n5 objects\n",
        ] {
            assert_eq!(complaints_of("docs/a/page.md", text, ""), [""; 0], "{text}");
        }
    }

    #[test]
    fn a_figure_of_no_result_is_found() {
        for (text, figure) in [
            ("It takes 34 ns.\n", "34 ns"),
            ("It takes 14 ns.\n\n<!-- figures: t -->\n<!-- end of figures -->\n", "14 ns"),
            ("It takes 34 us ([result](../../benchmarks/2026-01-02-new/t.json)).\n", "34 us"),
            ("[Result](../../benchmarks/2026-01-02-new/t.json)\n\n# Another section\n\n* 34 ns\n", "34 ns"),
            ("It takes 30 to 34 ns, as [there](../c/quoting.md).\n", "30 ns"),
            ("It takes 34 ns, as [they](../../benchmarks/2026-01-02-new/README.md#another) say.\n", "34 ns"),
        ] {
            let found = complaints_of("docs/a/page.md", text, "");
            assert!(found.len() == 1 && found[0].contains(figure), "{text}: {found:?}");
        }
    }

    #[test]
    fn what_nobody_measured_is_listed_and_the_list_is_no_longer_than_it_must_be() {
        let list = "# What\ndocs/a/page.md: 5 ms: how often it looks\n";
        assert_eq!(complaints_of("docs/a/page.md", "It looks every 5 ms.\n", list), [""; 0]);
        assert_eq!(complaints_of("docs/a/page.md", "It looks.\n", list).len(), 1);
        assert_eq!(complaints_of("docs/b/page.md", "It looks every 5 ms.\n", list).len(), 2);
        assert_eq!(complaints_of("docs/a/page.md", "It looks.\n", "docs/a/page.md: 5 ms\n").len(), 1);
    }

    #[test]
    fn a_decision_says_of_which_day_its_figures_are() {
        let dated = format!("{DATED}2026-01-02, a machine.*\n\nIt took 5 us.\n");
        assert_eq!(complaints_of("docs/decisions/0001.md", &dated, ""), [""; 0]);
        assert_eq!(complaints_of("docs/decisions/0001.md", "It took 5 us.\n", "").len(), 1);
        assert_eq!(complaints_of("docs/a/page.md", &dated, "").len(), 1);
    }
}
