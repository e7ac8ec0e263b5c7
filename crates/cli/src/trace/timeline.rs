//! The trace as a picture: a line for each thread, a bar for each wait, an arrow from who ended it. One file that needs no
//! other; the pointer over a bar shows what it was.

use std::fmt::Write;

use super::names::verb;
use super::summary::time;
use super::waits::{End, Signal, Wait};

const WIDTH: f64 = 1200.0;
const LEFT: f64 = 190.0;
const TOP: f64 = 50.0;
const LANE: f64 = 22.0;
const BAR: f64 = 14.0;
/// Bars and arrows that are drawn at most; a longer trace is cut at its end.
pub const DRAWN_MAX: usize = 20_000;
/// Lanes that are drawn at most.
const LANES_MAX: usize = 128;
/// Distinguishable with colour blindness, too.
const COLOURS: [&str; 8] = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b8a900", "#777777"];

/// What is drawn.
#[derive(Default)]
pub struct Timeline {
    waits: Vec<(usize, Wait)>,
    signals: Vec<(usize, Signal)>,
    left_out: usize,
}

impl Timeline {
    pub fn add_wait(&mut self, arena: usize, wait: &Wait) {
        if self.is_full() { self.left_out += 1 } else { self.waits.push((arena, wait.clone())) }
    }

    pub fn add_signal(&mut self, arena: usize, signal: &Signal) {
        if self.is_full() { self.left_out += 1 } else { self.signals.push((arena, signal.clone())) }
    }

    fn is_full(&self) -> bool {
        self.waits.len() + self.signals.len() >= DRAWN_MAX
    }

    fn threads(&self) -> Vec<u32> {
        let waiting = self.waits.iter().map(|(_, wait)| wait.thread);
        let mut threads: Vec<_> = waiting.chain(self.signals.iter().map(|(_, signal)| signal.thread)).collect();
        threads.sort_unstable();
        threads.dedup();
        threads.truncate(LANES_MAX);
        threads
    }

    fn span(&self) -> (u64, u64) {
        let waits = self.waits.iter().map(|(_, wait)| (wait.from_ns, wait.to_ns));
        let spans = || waits.clone().chain(self.signals.iter().map(|(_, signal)| (signal.from_ns, signal.to_ns)));
        let from = spans().map(|(from, _)| from).min().unwrap_or(0);
        (from, spans().map(|(_, to)| to).max().unwrap_or(0).max(from + 1))
    }

    /// The picture as SVG.
    pub fn svg(&self, title: &str, object: impl Fn(usize, u32) -> String, thread: impl Fn(u32) -> String) -> String {
        let (threads, (from, to)) = (self.threads(), self.span());
        let height = TOP + threads.len() as f64 * LANE + 40.0;
        let x = |ns: u64| LEFT + (ns.saturating_sub(from)) as f64 / (to - from) as f64 * (WIDTH - LEFT - 20.0);
        let lane = |number: u32| Some(TOP + threads.iter().position(|&other| other == number)? as f64 * LANE);
        let mut text = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" font-size=\"11\">\n\
             <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#fff\"/>\n\
             <text x=\"10\" y=\"20\" font-size=\"14\">{}</text>\n",
            escaped(title)
        );
        axis(&mut text, to - from, height);
        for &number in &threads {
            let y = lane(number).unwrap_or_default();
            let name = escaped(&thread(number));
            let _ = writeln!(text, "<text x=\"10\" y=\"{:.0}\">{name}</text>", y + BAR - 2.0);
            let _ = writeln!(
                text,
                "<line x1=\"{LEFT}\" y1=\"{0:.0}\" x2=\"{1:.0}\" y2=\"{0:.0}\" stroke=\"#eee\"/>",
                y + LANE - 4.0,
                WIDTH - 20.0
            );
        }
        for (arena, wait) in &self.waits {
            let Some(y) = lane(wait.thread) else { continue };
            let slot = if let End::Object(given) = wait.end { given } else { wait.object };
            let (left, right) = (x(wait.from_ns), x(wait.to_ns));
            let tip =
                format!("waits for {}: {}{}", object(*arena, slot), time(wait.to_ns - wait.from_ns), ending(wait.end));
            bar(&mut text, left, right, y, COLOURS[(slot as usize + arena * 3) % COLOURS.len()], &tip);
            let granter = wait.by.and_then(|grant| Some((x(grant.at_ns), lane(grant.thread)?)));
            if let Some((start, from_y)) = granter.filter(|&(_, from_y)| from_y != y) {
                let (from_y, to_y) = (from_y + BAR / 2.0, y + BAR / 2.0);
                let _ = writeln!(
                    text,
                    "<line x1=\"{start:.1}\" y1=\"{from_y:.1}\" x2=\"{right:.1}\" y2=\"{to_y:.1}\" stroke=\"#000\" stroke-width=\"0.5\" stroke-opacity=\"0.5\"/>"
                );
            }
        }
        for (arena, signal) in &self.signals {
            let Some(y) = lane(signal.thread) else { continue };
            let tip =
                format!("{} {}: satisfies {}", verb(signal.operation), object(*arena, signal.object), signal.granted);
            bar(&mut text, x(signal.from_ns), x(signal.to_ns), y, "#000", &tip);
        }
        let note = match self.left_out {
            0 => String::new(),
            count => format!("; {count} later waits and signals are not drawn"),
        };
        let _ = writeln!(
            text,
            "<text x=\"10\" y=\"{:.0}\">a bar is a wait that slept, its colour the object; black is who signals; a line leads from there to whom it woke{note}</text>\n</svg>",
            height - 10.0
        );
        text
    }

    /// The picture and the summary as a page.
    pub fn html(&self, title: &str, svg: &str, summary: &str) -> String {
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>{0}</title>\n\
             <style>body{{font-family:sans-serif;margin:1em}}pre{{font-size:12px}}</style>\n{svg}\n<pre>{1}</pre>\n</html>\n",
            escaped(title),
            escaped(summary)
        )
    }
}

fn ending(end: End) -> &'static str {
    match end {
        End::Object(_) | End::Everything => "",
        End::Nothing => ", in vain",
        End::Open => ", not ended",
        End::Unknown => " or longer: its end was lost",
    }
}

fn bar(text: &mut String, left: f64, right: f64, y: f64, colour: &str, tip: &str) {
    let width = (right - left).max(0.6);
    let _ = writeln!(
        text,
        "<rect x=\"{left:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{BAR}\" fill=\"{colour}\"><title>{}</title></rect>",
        escaped(tip)
    );
}

fn axis(text: &mut String, span_ns: u64, height: f64) {
    for tick in 0..=5 {
        let at = LEFT + f64::from(tick) / 5.0 * (WIDTH - LEFT - 20.0);
        let name = time((span_ns as f64 * f64::from(tick) / 5.0) as u64);
        let _ = writeln!(text, "<text x=\"{at:.0}\" y=\"40\" text-anchor=\"middle\">{name}</text>");
        let _ = writeln!(
            text,
            "<line x1=\"{at:.0}\" y1=\"44\" x2=\"{at:.0}\" y2=\"{:.0}\" stroke=\"#ddd\"/>",
            height - 30.0
        );
    }
}

/// The name of a thread may hold anything.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(thread: u32, from_ns: u64, to_ns: u64) -> Wait {
        Wait { thread, object: 5, count: 1, from_ns, to_ns, end: End::Object(5), by: None, stirs: 0 }
    }

    fn svg(timeline: &Timeline) -> String {
        timeline.svg("<title>", |_, slot| format!("mutex {slot}"), |thread| format!("\"<{thread}>\""))
    }

    #[test]
    fn names_cannot_break_the_picture() {
        let mut timeline = Timeline::default();
        timeline.add_wait(0, &wait(1, 10, 20));
        let svg = svg(&timeline);
        assert!(svg.contains("&quot;&lt;1>") && svg.contains("&lt;title>") && svg.contains("mutex 5"), "{svg}");
    }

    #[test]
    fn no_more_is_drawn_than_a_browser_can_take_and_the_picture_says_so() {
        let mut timeline = Timeline::default();
        for number in 0..DRAWN_MAX as u64 + 7 {
            timeline.add_wait(0, &wait(1, number, number + 1));
        }
        assert!(svg(&timeline).contains("; 7 later waits"));
        assert_eq!(svg(&timeline).matches("<rect x=").count(), DRAWN_MAX);
    }

    #[test]
    fn an_empty_trace_is_a_picture_as_well() {
        assert!(svg(&Timeline::default()).ends_with("</svg>\n"));
    }
}
