// SPDX-License-Identifier: MIT OR Apache-2.0
//! The report as a picture: a dot for each time, a line for each scenario; and as a page that holds the picture and the tables.

use std::fmt::Write as _;
use std::io;

use plotters::prelude::*;

use super::table::duration;
use super::{OURS, PEERS, Report};
use crate::grid::distinct;
use crate::record::{Group, Record, Unit};

const WIDTH: u32 = 1100;
const ROW: u32 = 22;
/// Above and below the rows of one drawing.
const AROUND: u32 = 110;
const NAMES: u32 = 330;
/// Where the names of the peers begin, from above.
const LEGEND: i32 = 45;

/// The groups that consist of times of ours and theirs.
const DRAWN: [Group; 3] = [Group::Contended, Group::Uncontended, Group::Growth];

/// The picture.
pub(super) fn svg(report: &Report) -> io::Result<String> {
    let groups: Vec<_> = DRAWN
        .into_iter()
        .map(|group| (group, timed(report, group)))
        .filter(|(_, records)| !records.is_empty())
        .collect();
    let heights: Vec<_> = groups.iter().map(|(_, records)| AROUND + ROW * scenarios(records).len() as u32).collect();
    let mut text = String::new();
    {
        let height = heights.iter().sum::<u32>().max(AROUND);
        let mut rest = SVGBackend::with_string(&mut text, (WIDTH, height)).into_drawing_area();
        rest.fill(&WHITE).map_err(io::Error::other)?;
        for ((group, records), height) in groups.iter().zip(heights) {
            let (area, below) = rest.split_vertically(height);
            draw(&area, group.title(), records).map_err(|error| io::Error::other(error.to_string()))?;
            rest = below;
        }
        rest.present().map_err(io::Error::other)?;
    }
    Ok(text)
}

fn timed(report: &Report, group: Group) -> Vec<&Record> {
    let is_drawn = |record: &&Record| {
        record.group == group
            && record.unit == Unit::Nanoseconds
            && record.sample().is_some_and(|sample| sample.median > 0.0)
    };
    report.records.iter().filter(is_drawn).collect()
}

fn scenarios<'a>(records: &[&'a Record]) -> Vec<&'a str> {
    distinct(records.iter().map(|record| record.scenario.as_str()))
}

fn median(record: &Record) -> f64 {
    record.sample().map_or(1.0, |sample| sample.median)
}

fn draw<'a>(
    area: &DrawingArea<SVGBackend<'a>, plotters::coord::Shift>,
    title: &str,
    records: &[&Record],
) -> Result<(), Box<dyn std::error::Error + 'a>> {
    let names = scenarios(records);
    let least = records.iter().map(|record| median(record)).fold(f64::MAX, f64::min) / 2.0;
    let most = records.iter().map(|record| median(record)).fold(0.0, f64::max) * 2.0;
    let last = names.len() as i32 - 1;
    let mut chart = ChartBuilder::on(area)
        .caption(title, ("sans-serif", 18))
        .margin(10)
        .margin_right(190)
        .x_label_area_size(35)
        .y_label_area_size(NAMES)
        .build_cartesian_2d((least..most).log_scale(), (0..last).into_segmented())?;
    let name = |place: &SegmentValue<i32>| match place {
        // The first scenario is drawn on top.
        SegmentValue::CenterOf(row) => {
            names.get((last - row) as usize).map_or_else(String::new, |name| (*name).to_owned())
        }
        _ => String::new(),
    };
    chart
        .configure_mesh()
        .x_label_formatter(&|ns| duration(*ns))
        .y_label_formatter(&name)
        .y_labels(names.len())
        .disable_x_mesh()
        .draw()?;
    let peers = OURS.into_iter().chain(PEERS);
    let mut named = 0;
    for (number, peer) in peers.enumerate() {
        let style = Palette99::pick(number).filled();
        let size = if OURS.contains(&peer) { 6 } else { 4 };
        let of_peer: Vec<_> = records.iter().filter(|record| record.peer == peer).collect();
        if of_peer.is_empty() {
            continue;
        }
        let dots = of_peer.into_iter().map(|record| {
            let row = names.iter().position(|name| *name == record.scenario).unwrap_or_default() as i32;
            Circle::new((median(record), SegmentValue::CenterOf(last - row)), size, style)
        });
        chart.draw_series(dots)?;
        // By hand: without fonts, plotters does not know how wide its own would be, and draws it over itself.
        let y = LEGEND + 15 * named;
        area.draw(&Circle::new((WIDTH as i32 - 175, y), size, style))?;
        area.draw(&Text::new(peer, (WIDTH as i32 - 163, y - 5), ("sans-serif", 12)))?;
        named += 1;
    }
    Ok(())
}

/// The page.
pub(super) fn html(report: &Report) -> io::Result<String> {
    let mut page = String::from("<!DOCTYPE html><meta charset=\"utf-8\"><title>ntux bench sync</title>\n");
    page.push_str("<style>body{font-family:sans-serif}td,th{padding:1px 10px;text-align:right}");
    page.push_str("td:first-child{text-align:left}</style>\n");
    let mut head = Vec::new();
    report.machine.print("sync", &mut head)?;
    let _ = write!(page, "<pre>{}</pre>\n{}\n", escaped(&String::from_utf8_lossy(&head)), svg(report)?);
    for group in Group::ALL {
        let records: Vec<_> = report.records.iter().filter(|record| record.group == group).collect();
        if !records.is_empty() {
            let _ = write!(page, "<h3>{}</h3>\n{}", escaped(group.title()), rows(&records));
        }
    }
    Ok(page)
}

fn rows(records: &[&Record]) -> String {
    let peers = distinct(records.iter().map(|record| record.peer.as_str()));
    let heads: String = peers.iter().map(|peer| format!("<th>{}</th>", escaped(peer))).collect();
    let mut text = format!("<table><tr><th></th>{heads}</tr>\n");
    for scenario in scenarios(records) {
        let cells = peers.iter().map(|peer| {
            let record = records.iter().find(|record| record.scenario == scenario && record.peer == *peer);
            format!("<td>{}</td>", record.and_then(|record| record.sample().map(|_| cell(record))).unwrap_or_default())
        });
        let _ = writeln!(text, "<tr><td>{}</td>{}</tr>", escaped(scenario), cells.collect::<String>());
    }
    text + "</table>\n"
}

fn cell(record: &Record) -> String {
    match record.unit {
        Unit::Nanoseconds => duration(median(record)),
        unit => format!("{} {unit}", median(record)),
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::super::tests::record;
    use super::super::{RUST, WAITV};
    use super::*;
    use crate::machine::Machine;

    fn report() -> Report {
        let records = vec![
            record(Group::Contended, "one < two", RUST, [10.0; 3]),
            record(Group::Contended, "one < two", WAITV, [10_000.0; 3]),
            record(Group::Contended, "three", RUST, [20.0; 3]),
        ];
        Report::new(Machine::describe(), records, vec![])
    }

    #[test]
    fn a_picture_has_a_dot_for_each_time() {
        let text = svg(&report()).unwrap();
        // Two peers have a dot in the legend, too.
        assert_eq!(text.matches("<circle").count(), 3 + 2, "{text}");
        assert!(text.contains("three") && text.contains("one &lt; two") && text.trim_end().ends_with("</svg>"));
        assert!(svg(&Report::new(Machine::describe(), vec![], vec![])).is_ok(), "nothing to draw");
    }

    #[test]
    fn a_page_has_the_picture_and_a_row_for_each_scenario() {
        let text = html(&report()).unwrap();
        assert!(text.contains("<svg"));
        assert!(text.contains("<tr><td>one &lt; two</td><td>10.0 ns</td><td>10.0 us</td></tr>"), "{text}");
    }
}
