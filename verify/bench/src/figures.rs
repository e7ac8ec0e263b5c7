// SPDX-License-Identifier: MIT OR Apache-2.0
//! The figures of the documents, rendered from stored results.
//!
//! `benchmarks/` has a folder for each day and machine, named `DATE-MACHINE`, with a JSON file for each result: what
//! `ntux bench sync --json` prints, or a table that was made by other means. A page quotes a result between two lines:
//!
//! ```text
//! <!-- figures: NAME -->
//! <!-- end of figures -->
//! ```
//!
//! What stands between them is the table of the newest folder that has `NAME.json`. `README.md` of each folder has all of
//! its tables, and `docs/pictures/sync.svg` is the picture of the newest `sync.json`. A figure in prose must stand in a
//! result that the page quotes or links to ([`prose`]).

mod prose;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::Deserialize;

use crate::grid::distinct;
use crate::record::{Group, Record};
use crate::report::{self, Report, Stored};
use crate::scenario::{contended, uncontended};

const BEGIN: &str = "<!-- figures: ";
const END: &str = "<!-- end of figures -->\n";
const PICTURE: &str = "docs/pictures/sync.svg";

/// A result that is a table already.
#[derive(Debug, Deserialize)]
struct Table {
    title: String,
    machine: String,
    kernel: String,
    date: String,
    /// ntux's commit, if it was noted.
    commit: Option<String>,
    conditions: String,
    columns: Vec<String>,
    /// How many of the first columns are words.
    words: usize,
    rows: Vec<Vec<String>>,
}

/// One result file.
struct Figures {
    /// From the project's root.
    path: String,
    title: String,
    table: String,
    caption: String,
    picture: Option<String>,
    /// What it says beyond the table.
    more: String,
}

/// Renders everything anew. With `check` nothing is written, and what is not current is an error.
///
/// # Errors
/// A result that cannot be read, a page that quotes a result that is not there; with `check`, the names of stale files.
pub fn run(root: &Path, check: bool) -> io::Result<()> {
    let mut stale = Vec::new();
    for (file, text) in rendered(root)? {
        if fs::read_to_string(&file).is_ok_and(|current| current == text) {
            continue;
        }
        stale.push(file.display().to_string());
        if !check {
            fs::write(&file, text)?;
        }
    }
    if check && !stale.is_empty() {
        return Err(wrong(format!("not current: {}; make figures renders them anew", stale.join(", "))));
    }
    match complaints(root)? {
        complaints if complaints.is_empty() => Ok(()),
        complaints => Err(wrong(complaints.join("\nfigures: "))),
    }
}

/// What is wrong with the figures that stand in prose.
fn complaints(root: &Path) -> io::Result<Vec<String>> {
    let mut sources = prose::Sources { results: BTreeMap::new(), newest: BTreeMap::new() };
    for (name, figures) in folders(root)?.into_values().flatten() {
        let Figures { path, title, table, caption, more, .. } = figures;
        sources.newest.insert(name, path.clone());
        sources.results.insert(path, prose::Source { text: [&*title, &table, &caption, &more].join("\n"), title });
    }
    let mut pages = BTreeMap::new();
    for page in pages_of(root)? {
        let name = page.strip_prefix(root).unwrap_or(&page).to_string_lossy().into_owned();
        pages.insert(name, fs::read_to_string(page)?);
    }
    let exceptions = fs::read_to_string(root.join("benchmarks/no-result")).unwrap_or_default();
    Ok(prose::complaints(&pages, &sources, &exceptions))
}

/// The pages that may quote results.
fn pages_of(root: &Path) -> io::Result<Vec<PathBuf>> {
    let mut pages = vec![root.join("README.md")];
    pages_below(&root.join("docs"), &mut pages)?;
    Ok(pages)
}

/// Every file that has figures, as it should be.
fn rendered(root: &Path) -> io::Result<BTreeMap<PathBuf, String>> {
    let folders = folders(root)?;
    let mut files = BTreeMap::new();
    let mut newest = BTreeMap::new();
    for (folder, results) in folders {
        files.insert(root.join("benchmarks").join(&folder).join("README.md"), all_of(&folder, &results));
        for (name, figures) in results {
            newest.insert(name, figures);
        }
    }
    if let Some(picture) = newest.get("sync").and_then(|figures| figures.picture.clone()) {
        files.insert(root.join(PICTURE), picture);
    }
    for page in pages_of(root)? {
        let text = fs::read_to_string(&page)?;
        if text.contains(BEGIN) {
            let depth = page.strip_prefix(root).map_or(0, |path| path.components().count() - 1);
            let current = with_figures(&text, &newest, &"../".repeat(depth));
            files.insert(page.clone(), current.map_err(|error| wrong(format!("{}: {error}", page.display())))?);
        }
    }
    Ok(files)
}

/// The folders, the oldest first, each with its results by name.
fn folders(root: &Path) -> io::Result<BTreeMap<String, BTreeMap<String, Figures>>> {
    let mut folders = BTreeMap::new();
    for entry in fs::read_dir(root.join("benchmarks"))? {
        let entry = entry?;
        let folder = entry.file_name().to_string_lossy().into_owned();
        if !entry.file_type()?.is_dir() {
            continue;
        }
        let mut results = BTreeMap::new();
        for file in fs::read_dir(entry.path())? {
            let file = file?.path();
            if file.extension().is_some_and(|extension| extension == "json") {
                let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                let path = format!("benchmarks/{folder}/{name}.json");
                let figures = read(&file, path, &folder);
                results.insert(name, figures.map_err(|error| wrong(format!("{}: {error}", file.display())))?);
            }
        }
        folders.insert(folder, results);
    }
    Ok(folders)
}

fn read(file: &Path, path: String, folder: &str) -> io::Result<Figures> {
    let value: serde_json::Value = serde_json::from_str(&fs::read_to_string(file)?)?;
    if value.get("records").is_some() {
        return of_run(serde_json::from_value(value)?, path, folder);
    }
    let table: Table = serde_json::from_value(value)?;
    let columns = table.columns.len();
    if let Some(row) = table.rows.iter().find(|row| row.len() != columns) {
        return Err(wrong(format!("{columns} columns, but not in {row:?}")));
    }
    let commit = of_ntux(table.commit.as_deref());
    let caption = format!("{}, {}, {}, {commit}. {}", table.machine, table.kernel, table.date, table.conditions);
    let text = markdown(&table.columns, table.words, &table.rows);
    Ok(Figures { path, title: table.title, table: text, caption, picture: None, more: String::new() })
}

/// The rows of a run that the first page shows, and what they are called there.
fn front() -> [(String, &'static str); 14] {
    [
        (uncontended::MUTEX.into(), "mutex lock + unlock"),
        (contended::MUTEX.into(), "the same, two threads"),
        (contended::SEMAPHORE.into(), "semaphore wait + release, two threads"),
        (contended::EVENT.into(), "auto-reset event, wait + set, two threads"),
        (contended::ZIGZAG.into(), "zigzag of two threads, there and back"),
        (contended::PING_PONG.into(), "ping-pong of two processes, there and back"),
        ("wait-any of 64".into(), "wait-any of 64, the last one is signaled"),
        ("wait-all of 8".into(), "wait-all of 8"),
        ("blocked wait-any of 64, 32nd signaled".into(), "asleep in wait-any of 64, the 32nd is signaled"),
        ("auto-reset set, 1000 waiters: one ran".into(), "set of an auto-reset event, 1000 wait: one ran"),
        ("manual-reset set, 8 waiters: all ran".into(), "set of a manual-reset event, 8 wait: all ran"),
        ("manual-reset set, 64 waiters: all ran".into(), "the same, 64 wait"),
        ("manual-reset set, 512 waiters: all ran".into(), "the same, 512 wait"),
        ("create among 10000 objects".into(), "create an event among 10,000"),
    ]
}

fn of_run(stored: Stored, path: String, folder: &str) -> io::Result<Figures> {
    let conditions = stored.conditions.clone().unwrap_or_default();
    let report = Report::from(stored);
    let columns = [report::RUST, report::C, report::DEVICE, report::WAITV, report::EVENTFD, report::SERVER];
    let others = [report::FUTEX, report::ADAPTIVE, report::PARKING, report::WAITV_COUNTED];
    let rows = front().into_iter().filter_map(|(scenario, called)| {
        let time = |peer: &str| median(&report.records, &scenario, peer);
        let mut row = vec![called.to_owned()];
        row.extend(columns.iter().map(|peer| time(peer).map_or_else(String::new, brief)));
        let fastest = others.iter().filter_map(|peer| Some((time(peer)?, peer))).min_by(|a, b| a.0.total_cmp(&b.0));
        row.push(fastest.map_or_else(String::new, |(ns, peer)| format!("{peer} {}", brief(ns))));
        row[1..].iter().any(|cell| !cell.is_empty()).then_some(row)
    });
    let rows: Vec<_> = rows.collect();
    let mut heads = vec![String::new()];
    heads.extend(columns.map(str::to_owned));
    heads.push("fastest other".to_owned());
    let machine = &report.machine;
    let date = folder.get(..10).unwrap_or(folder);
    let commit = of_ntux(Some(machine.commit.as_str()).filter(|commit| *commit != "unknown"));
    let caption = format!(
        "{}, {} processors, {}, {date}, {commit}, `ntux bench {}`. {conditions}",
        machine.processor, machine.processors, machine.kernel, machine.command
    );
    let title = "Objects, beside other designs".to_owned();
    let picture = Some(report.svg()?);
    let measured = report.records.iter().filter_map(|record| Some((record, record.sample()?.median)));
    let more = measured.map(|(record, ns)| format!("{}, {}: {}\n", record.scenario, record.peer, brief(ns))).collect();
    let table = markdown(&heads, 1, &rows);
    Ok(Figures { path, title, table, caption: caption.trim_end().to_owned(), picture, more })
}

/// Which ntux was measured.
fn of_ntux(commit: Option<&str>) -> String {
    commit.map_or_else(|| "ntux's commit was not noted".to_owned(), |commit| format!("ntux {commit}"))
}

fn median(records: &[Record], scenario: &str, peer: &str) -> Option<f64> {
    let timed = |record: &&Record| {
        record.scenario == scenario
            && record.peer == peer
            && !matches!(record.group, Group::Memory | Group::SystemCalls)
    };
    Some(records.iter().find(timed)?.sample()?.median)
}

/// Two digits at least, with a unit that suits it.
fn brief(ns: f64) -> String {
    let (value, unit) = match ns {
        ns if ns < 1e3 => (ns, "ns"),
        ns if ns < 1e6 => (ns / 1e3, "us"),
        _ => (ns / 1e6, "ms"),
    };
    if value < 10.0 { format!("{value:.1} {unit}") } else { format!("{value:.0} {unit}") }
}

fn markdown(columns: &[String], words: usize, rows: &[Vec<String>]) -> String {
    let mut text = format!("| {} |\n|", columns.join(" | "));
    for column in 0..columns.len() {
        text.push_str(if column < words { " --- |" } else { " ---: |" });
    }
    text.push('\n');
    for row in rows {
        let _ = writeln!(text, "| {} |", row.join(" | "));
    }
    text
}

/// A folder's page.
fn all_of(folder: &str, results: &BTreeMap<String, Figures>) -> String {
    let mut text = format!("# Results: {folder}\n\n`make figures` renders this page from the files beside it.\n");
    let titles = distinct(results.values().map(|figures| figures.title.as_str()));
    debug_assert_eq!(titles.len(), results.len(), "two results of one title");
    for (name, figures) in results {
        let _ = write!(
            text,
            "\n## {}\n\n{}\n*{}* ([{name}.json]({name}.json))\n",
            figures.title, figures.table, figures.caption
        );
    }
    text
}

/// The page with its figures; `up` leads from the page to the project's root.
fn with_figures(text: &str, newest: &BTreeMap<String, Figures>, up: &str) -> Result<String, String> {
    let mut result = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once(BEGIN) {
        let (name, behind) = behind.split_once(" -->\n").ok_or("figures without a name")?;
        let (_, behind) = behind.split_once(END).ok_or_else(|| format!("the figures {name} have no end"))?;
        let figures = newest.get(name).ok_or_else(|| format!("no folder of benchmarks/ has {name}.json"))?;
        let (table, caption, path) = (&figures.table, &figures.caption, &figures.path);
        let _ = write!(result, "{before}{BEGIN}{name} -->\n{table}\n*{caption}* ([result]({up}{path}))\n{END}");
        rest = behind;
    }
    Ok(result + rest)
}

fn pages_below(directory: &Path, pages: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            pages_below(&path, pages)?;
        } else if path.extension().is_some_and(|extension| extension == "md") {
            pages.push(path);
        }
    }
    Ok(())
}

fn wrong(what: String) -> io::Error {
    io::Error::other(what)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = r#"{"title": "T", "machine": "M", "kernel": "K", "date": "2026-01-02", "commit": null, "conditions": "C.",
        "columns": ["", "a"], "words": 1, "rows": [["x", "NUMBER"]]}"#;

    /// A project with one page that quotes what two folders have.
    fn project(name: &str) -> PathBuf {
        let root = std::env::temp_dir().join(format!("ntux-figures-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        for (folder, number) in [("2026-01-01-old", "1 us"), ("2026-01-02-new", "2 us")] {
            fs::create_dir_all(root.join("benchmarks").join(folder)).unwrap();
            fs::write(root.join("benchmarks").join(folder).join("t.json"), TABLE.replace("NUMBER", number)).unwrap();
        }
        fs::create_dir_all(root.join("docs/c")).unwrap();
        fs::write(root.join("README.md"), "nothing here\n").unwrap();
        fs::write(root.join("docs/c/page.md"), "before\n\n<!-- figures: t -->\n<!-- end of figures -->\n\nafter\n")
            .unwrap();
        root
    }

    #[test]
    fn a_page_quotes_the_newest_result_and_says_where_it_is_from() {
        let root = project("newest");
        run(&root, false).unwrap();
        let page = fs::read_to_string(root.join("docs/c/page.md")).unwrap();
        assert!(page.contains("| x | 2 us |") && !page.contains("1 us"), "{page}");
        assert!(page.contains(
            "*M, K, 2026-01-02, ntux's commit was not noted. C.* ([result](../../benchmarks/2026-01-02-new/t.json))"
        ));
        assert!(page.starts_with("before\n\n<!--") && page.ends_with("-->\n\nafter\n"));
        assert!(fs::read_to_string(root.join("benchmarks/2026-01-01-old/README.md")).unwrap().contains("| x | 1 us |"));
        run(&root, true).unwrap();
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn what_is_not_current_is_found_and_nothing_is_written() {
        let root = project("stale");
        run(&root, false).unwrap();
        let page = root.join("docs/c/page.md");
        let planted = fs::read_to_string(&page).unwrap().replace("2 us", "3 us");
        fs::write(&page, &planted).unwrap();
        assert!(run(&root, true).unwrap_err().to_string().contains("page.md"));
        assert_eq!(fs::read_to_string(&page).unwrap(), planted);
        fs::create_dir_all(root.join("benchmarks/2026-01-03-newer")).unwrap();
        run(&root, false).unwrap();
        fs::write(root.join("benchmarks/2026-01-03-newer/t.json"), TABLE.replace("NUMBER", "4 us")).unwrap();
        assert!(run(&root, true).is_err(), "a newer result");
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn a_page_that_quotes_what_is_not_there_is_an_error() {
        let root = project("missing");
        for (text, wrong) in
            [("<!-- figures: u -->\n<!-- end of figures -->\n", "u.json"), ("<!-- figures: t -->\n", "no end")]
        {
            fs::write(root.join("docs/c/page.md"), text).unwrap();
            assert!(run(&root, false).unwrap_err().to_string().contains(wrong));
        }
        fs::write(root.join("benchmarks/2026-01-01-old/t.json"), TABLE.replace(r#"["x", "#, "[")).unwrap();
        assert!(run(&root, false).unwrap_err().to_string().contains("2 columns"));
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn times_are_brief() {
        assert_eq!(
            [0.31, 34.0, 730.0, 1_600.0, 57_600.0, 2.4e6].map(brief),
            ["0.3 ns", "34 ns", "730 ns", "1.6 us", "58 us", "2.4 ms"]
        );
    }
}
