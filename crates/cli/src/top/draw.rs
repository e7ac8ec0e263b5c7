// SPDX-License-Identifier: MIT OR Apache-2.0
//! The picture.

use std::fmt::Write;

use ntux_sync::Object;
use ntux_sync::inspect::Value;
use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Cell, Paragraph, Row as TableRow, Table};

use super::rows::{Key, Row, rows};
use super::sample::{Watch, Watched};
use super::screen::{Page, Screen};
use crate::arenas::scene::times;
use crate::arenas::state::State;
use crate::counted::counted;
use crate::why;

/// A column of a list.
struct Column {
    head: &'static str,
    width: u16,
    /// Numbers end at the right.
    is_number: bool,
    /// Where the terminal is narrow, columns are left out in this order; 0: never.
    leaves: u8,
    /// The last column that grows has the rest of the line, at least so much.
    least: Option<u16>,
}

const fn words(head: &'static str, width: u16, leaves: u8) -> Column {
    Column { head, width, is_number: false, leaves, least: None }
}

const fn number(head: &'static str, width: u16, leaves: u8) -> Column {
    Column { is_number: true, ..words(head, width, leaves) }
}

const fn growing(head: &'static str, width: u16, leaves: u8, least: u16) -> Column {
    Column { least: Some(least), ..words(head, width, leaves) }
}

const OBJECTS: [Column; 7] = [
    number("#", 8, 5),
    words("KIND", 9, 4),
    growing("STATE", 16, 0, 12),
    number("CHANGES/S", 9, 2),
    number("QUEUE", 5, 0),
    number("AVER.", 6, 3),
    growing("PID:FD, or who waits", 20, 1, 10),
];
const THREADS: [Column; 5] = [
    words("PID/TID", 15, 0),
    words("NAME", 15, 1),
    number("WAITING", 7, 3),
    number("FOR", 6, 2),
    growing("WAITS FOR", 20, 4, 9),
];
/// What the keys do, those first that nobody can do without.
const KEYS: [&str; 7] = ["q quit", "Tab page", "s order", "r reverse", "/ filter", "Space freeze", "Enter show"];
const KEYS_WITHIN: [&str; 4] = ["q quit", "Esc back", "Up Down scroll", "Space freeze"];
const KEYS_TYPING: [&str; 2] = ["Enter done", "Esc no filter"];
/// Where there is no room for all of them.
const MORE_KEYS: &str = "? keys";
const ALL_KEYS: &str = "\
q       quit
Tab     objects or threads
s       the next order
r       reversed
/       filter
Space   freeze
Enter   show one
Esc     back, or no filter
arrows  move, scroll
?       these keys
";

/// Draws everything.
pub fn draw(frame: &mut Frame<'_>, screen: &mut Screen, watch: &Watch) {
    let keys = Constraint::Length(u16::from(screen.live));
    let [title, status, body, help] =
        Layout::vertical([Constraint::Length(1), Constraint::Length(1), Constraint::Fill(1), keys]).areas(frame.area());
    let text = whole_words(summary(watch), title.width.into());
    frame.render_widget(Paragraph::new(text).style(strong(screen)), title);
    draw_status(frame, screen, watch, status);
    match screen.entered {
        Some(Page::Of(key)) => draw_one(frame, screen, watch, key, body),
        Some(Page::Keys) => frame.render_widget(Paragraph::new(ALL_KEYS).scroll((screen.scrolled, 0)), body),
        None => draw_list(frame, screen, watch, body),
    }
    let keys = match screen.entered {
        _ if screen.typing => &KEYS_TYPING[..],
        Some(_) => &KEYS_WITHIN,
        None => &KEYS,
    };
    frame.render_widget(Paragraph::new(keys_line(keys, help.width)).style(faint(screen)), help);
}

/// Names the keys that fit, each whole, and the key that shows all.
fn keys_line(keys: &[&str], width: u16) -> String {
    const GAP: &str = "  ";
    let fits = |line: &String| line.chars().count() <= usize::from(width);
    let all = keys.join(GAP);
    let fewer = (1..keys.len()).rev().map(|count| {
        let (first, others) = keys[..count].split_first().expect("one at least");
        [&[first, MORE_KEYS][..], others].concat().join(GAP)
    });
    std::iter::once(all).chain(fewer).find(fits).unwrap_or_else(|| keys[0].to_owned())
}

fn strong(_: &Screen) -> Style {
    Style::new().add_modifier(Modifier::BOLD)
}

fn faint(screen: &Screen) -> Style {
    if screen.colours { Style::new().fg(Color::Cyan) } else { Style::new().add_modifier(Modifier::DIM) }
}

fn alarming(screen: &Screen) -> Style {
    let style = Style::new().add_modifier(Modifier::BOLD);
    if screen.colours { style.fg(Color::Red) } else { style.add_modifier(Modifier::REVERSED) }
}

fn summary(watch: &Watch) -> String {
    let scenes = || watch.arenas.iter().filter_map(|arena| arena.scene.as_ref());
    let objects: usize = scenes().map(|scene| scene.snapshot.objects.len()).sum();
    let waiters = scenes().flat_map(|scene| &scene.snapshot.waiters);
    let threads = waiters.filter(|waiter| waiter.thread.is_some()).count();
    let waiting: usize = scenes().map(|scene| scene.snapshot.waiting().count()).sum();
    let arenas = watch.arenas.len();
    let hidden = match watch.hidden {
        0 => String::new(),
        hidden => format!("; {} hidden", counted(hidden as u64, "process", "processes")),
    };
    let arenas = counted(arenas as u64, "arena", "arenas");
    let objects = counted(objects as u64, "object", "objects");
    let threads = counted(threads as u64, "thread", "threads");
    format!("ntux top: {arenas}, {objects}, {waiting} of {threads} waiting{hidden}")
}

fn draw_status(frame: &mut Frame<'_>, screen: &Screen, watch: &Watch, area: Rect) {
    let list = if screen.threads { "threads" } else { "objects" };
    let mut text = format!("{list} by {}", screen.order().name(screen.threads));
    if screen.reverse {
        text.push_str(", reversed");
    }
    if screen.typing || !screen.filter.is_empty() {
        let cursor = if screen.typing { "_" } else { "" };
        let _ = write!(text, "; with \"{}{cursor}\"", screen.filter);
    }
    if screen.is_frozen() {
        text.push_str("; frozen");
    }
    let deadlocks = watch.arenas.iter().filter(|arena| arena.is_deadlocked).count();
    if deadlocks > 0 {
        let mut line = Line::from("DEADLOCK: see ntux why").style(alarming(screen));
        line.push_span(ratatui::text::Span::styled(format!("; {text}"), Style::reset()));
        return frame.render_widget(Paragraph::new(line), area);
    }
    frame.render_widget(Paragraph::new(text), area);
}

fn draw_list(frame: &mut Frame<'_>, screen: &mut Screen, watch: &Watch, area: Rect) {
    let rows = rows(watch, screen.threads, screen.order(), screen.reverse, &screen.filter);
    if screen.live {
        let keys: Vec<Key> = rows.iter().map(Row::key).collect();
        screen.settle(&keys);
    }
    screen.page = usize::from(area.height).saturating_sub(1).max(1);
    // A table builds all of its rows, and there may be a million.
    let first = scrolled_to(screen, rows.len());
    let columns = if screen.threads { &THREADS[..] } else { &OBJECTS[..] };
    let kept = fitting(columns, area.width);
    let growing = kept.iter().rposition(|(_, column)| column.least.is_some());
    let fixed =
        kept.iter().enumerate().filter(|(place, _)| growing != Some(*place)).map(|(_, (_, column))| column.width);
    let rest = area.width.saturating_sub(fixed.sum::<u16>() + kept.len() as u16 - 1);
    let room = growing.map(|place| (place, usize::from(rest)));
    let visible = rows.iter().skip(first).take(screen.page).map(|row| line_of(row, &kept, room, screen));
    let width = |(place, (_, column)): (usize, &(usize, &Column))| match growing == Some(place) {
        true => Constraint::Fill(1),
        false => Constraint::Length(column.width),
    };
    let widths: Vec<Constraint> = kept.iter().enumerate().map(width).collect();
    let head = kept.iter().map(|(_, column)| cell(column.head.to_owned(), column));
    let chosen = if screen.colours { Style::new().bg(Color::DarkGray) } else { Style::new() };
    let table = Table::new(visible, widths)
        .header(TableRow::new(head).style(strong(screen)))
        .row_highlight_style(chosen.add_modifier(Modifier::REVERSED));
    let mut state = ratatui::widgets::TableState::default();
    state.select(screen.table.selected().map(|selected| selected - first));
    frame.render_stateful_widget(table, area, &mut state);
}

/// The first line that is shown, so that the chosen one is.
fn scrolled_to(screen: &mut Screen, count: usize) -> usize {
    let chosen = screen.table.selected().unwrap_or(0);
    let last_start = count.saturating_sub(screen.page);
    let first = screen.table.offset().clamp((chosen + 1).saturating_sub(screen.page), chosen).min(last_start);
    *screen.table.offset_mut() = first;
    first
}

/// The columns for which there is room, with their places among all.
fn fitting(columns: &[Column], width: u16) -> Vec<(usize, &Column)> {
    let mut kept: Vec<(usize, &Column)> = columns.iter().enumerate().collect();
    loop {
        let gaps = kept.len() as u16 - 1;
        let needed = gaps + kept.iter().map(|(_, column)| column.least.unwrap_or(column.width)).sum::<u16>();
        let next = kept.iter().filter(|(_, column)| column.leaves > 0).min_by_key(|(_, column)| column.leaves);
        match next.map(|(place, _)| *place) {
            Some(leaves) if needed > width => kept.retain(|(place, _)| *place != leaves),
            _ => return kept,
        }
    }
}

fn cell(text: String, column: &Column) -> Cell<'static> {
    let line = Line::from(text);
    Cell::new(if column.is_number { line.right_aligned() } else { line })
}

/// What fits: a number that is cut off would be another one.
fn whole_words(text: String, width: usize) -> String {
    const MORE: &str = " ...";
    let end = text.char_indices().nth(width.saturating_sub(MORE.len() - 1)).map(|(end, _)| end);
    match end.and_then(|end| text[..end].rfind(' ')) {
        Some(end) if text.chars().count() > width => text[..end].to_owned() + MORE,
        _ => text,
    }
}

/// `room`: which of these columns has the rest of the line, and how much that is.
fn line_of(
    row: &Row<'_>,
    kept: &[(usize, &Column)],
    room: Option<(usize, usize)>,
    screen: &Screen,
) -> TableRow<'static> {
    let is_waited_for = row.measure.queue > 0;
    let mut texts = row.cells();
    let cells = kept.iter().enumerate().map(|(at, (place, column))| {
        let text = std::mem::take(&mut texts[*place]);
        let text = match room {
            Some((growing, width)) if growing == at => whole_words(text, width),
            _ => text,
        };
        cell(text, column)
    });
    let style = if is_waited_for && screen.colours { Style::new().fg(Color::Yellow) } else { Style::new() };
    TableRow::new(cells.collect::<Vec<_>>()).style(style)
}

fn draw_one(frame: &mut Frame<'_>, screen: &Screen, watch: &Watch, key: Key, area: Rect) {
    let arena = |inode| {
        let is_it = |arena: &&Watched| arena.scene.as_ref().is_some_and(|scene| scene.file.inode == inode);
        watch.arenas.iter().find(is_it)
    };
    let text = match key {
        Key::Object { arena: inode, object } => arena(inode).and_then(|arena| object_page(arena, object)),
        Key::Thread { arena: inode, waiter } => arena(inode).and_then(|arena| thread_page(arena, waiter)),
    };
    let text = text.unwrap_or_else(|| "It is not there any more.".to_owned());
    frame.render_widget(Paragraph::new(text).scroll((screen.scrolled, 0)), area);
}

fn object_page(arena: &Watched, object: Object) -> Option<String> {
    let scene = arena.scene.as_ref()?;
    let seen = scene.snapshot.object(object.index()).filter(|seen| seen.object == object)?;
    let now = State::of(&seen.value);
    let mut page = format!("{} #{}: {}\n", now.kind(), object.index(), now.text(scene.owners()));
    let descriptors = scene.names.descriptors(object).iter();
    let names: Vec<String> = descriptors.map(|one| format!("{}:{}", one.pid, one.fd)).collect();
    if !names.is_empty() {
        let _ = writeln!(page, "descriptors (PID:FD): {}", names.join(" "));
    }
    if let (Value::Mutex(mutex), Some(case)) = (&seen.value, arena.case())
        && mutex.owner != 0
    {
        let owners: Vec<String> = case.places(mutex.owner).iter().map(|&place| scene.person(place).text()).collect();
        let taker = || scene.doer(object).map(|doer| doer.to_string());
        let owners = match owners.is_empty() {
            true => taker().unwrap_or_else(|| "a thread that has never waited".to_owned()),
            false => owners.join(", "),
        };
        let _ = writeln!(page, "{}, {}: {owners}", scene.owners().text(mutex.owner), times(mutex.count));
    }
    let _ = writeln!(page, "\nwaiting, in the order of arrival: {}", seen.waiting().count());
    for entry in seen.waiting() {
        let all = if entry.all { ", for all of its objects" } else { "" };
        let _ = writeln!(page, "  {}{all}", scene.person(entry.waiter).text());
    }
    Some(page)
}

fn thread_page(arena: &Watched, waiter: u32) -> Option<String> {
    let (scene, case) = (arena.scene.as_ref()?, arena.case()?);
    scene.snapshot.waiter(waiter)?;
    Some(why::chain_text(scene, &case, waiter))
}

/// Returns a picture as lines of text, with the terminal's escape sequences if it has colours.
pub fn as_text(buffer: &Buffer, colours: bool) -> String {
    let mut page = String::new();
    for row in buffer.area.rows() {
        let mut line = String::new();
        let mut style = Style::reset();
        for position in row.positions() {
            let cell = &buffer[position];
            if colours && cell.style() != style {
                style = cell.style();
                line.push_str(&escape(style));
            }
            line.push_str(cell.symbol());
        }
        page.push_str(line.trim_end());
        page.push_str(if colours { "\x1b[0m\n" } else { "\n" });
    }
    page
}

fn escape(style: Style) -> String {
    let mut codes = "\x1b[0".to_owned();
    for (modifier, code) in [(Modifier::BOLD, 1), (Modifier::DIM, 2), (Modifier::REVERSED, 7)] {
        if style.add_modifier.contains(modifier) {
            let _ = write!(codes, ";{code}");
        }
    }
    match style.fg {
        Some(Color::Red) => codes.push_str(";31"),
        Some(Color::Yellow) => codes.push_str(";33"),
        Some(Color::Cyan) => codes.push_str(";36"),
        _ => {}
    }
    codes.push('m');
    codes
}

#[cfg(test)]
#[path = "../../tests/unit/top/draw.rs"]
mod tests;
