// SPDX-License-Identifier: MIT OR Apache-2.0
//! The trace as a picture: a line for each thread, a bar for each wait, a line from the signal that ended it. The pointer
//! over a bar shows what it was.

use super::names::verb;
use super::summary::time;
use super::waits::{End, Signal, Wait};
use crate::drawing::{Drawing, PLAIN, TITLE};

const WIDTH: f64 = 1200.0;
const LEFT: f64 = 190.0;
/// Room for the last number of the axis behind it.
const RIGHT: f64 = WIDTH - 60.0;
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
        (from, spans().map(|(_, to)| to).max().unwrap_or(0).max(from.saturating_add(1)))
    }

    /// The picture as SVG.
    pub fn svg(&self, title: &str, object: impl Fn(usize, u32) -> String, thread: impl Fn(u32) -> String) -> String {
        let (threads, (from, to)) = (self.threads(), self.span());
        let height = TOP + threads.len() as f64 * LANE + 40.0;
        let span = (to - from).max(1);
        let x = |ns: u64| LEFT + (ns.saturating_sub(from)) as f64 / span as f64 * (RIGHT - LEFT);
        let lane = |number: u32| Some(TOP + threads.iter().position(|&other| other == number)? as f64 * LANE);
        let mut drawing = Drawing::new(WIDTH, height);
        drawing.words((10.0, 20.0), TITLE, title);
        axis(&mut drawing, span, height - 30.0);
        for &number in &threads {
            let y = lane(number).unwrap_or_default();
            drawing.words((10.0, y + BAR - 2.0), PLAIN, thread(number));
            drawing.line((LEFT, y + LANE - 4.0), (RIGHT, y + LANE - 4.0), "#eee");
        }
        for (arena, wait) in &self.waits {
            let Some(y) = lane(wait.thread) else { continue };
            let slot = if let End::Object(given) = wait.end { given } else { wait.object };
            let (left, right) = (x(wait.from_ns), x(wait.to_ns));
            let tip = format!(
                "waits for {}: {}{}",
                object(*arena, slot),
                time(wait.to_ns.saturating_sub(wait.from_ns)),
                ending(wait.end)
            );
            bar(&mut drawing, left, right, y, COLOURS[(slot as usize + arena * 3) % COLOURS.len()], &tip);
            let granter = wait.by.and_then(|grant| Some((x(grant.at_ns), lane(grant.thread)?)));
            if let Some((start, from_y)) = granter.filter(|&(_, from_y)| from_y != y) {
                drawing.line((start, from_y + BAR / 2.0), (right, y + BAR / 2.0), "#888");
            }
        }
        for (arena, signal) in &self.signals {
            let Some(y) = lane(signal.thread) else { continue };
            let tip =
                format!("{} {}: satisfies {}", verb(signal.operation), object(*arena, signal.object), signal.granted);
            bar(&mut drawing, x(signal.from_ns), x(signal.to_ns), y, "#000", &tip);
        }
        let note = match self.left_out {
            0 => String::new(),
            count => format!("; {count} later waits and signals are not drawn"),
        };
        let legend = "a bar is a wait that slept, its colour the object; black is who signals; a line leads from there to whom it woke";
        drawing.words((10.0, height - 10.0), PLAIN, format_args!("{legend}{note}"));
        drawing.finish()
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

fn bar(drawing: &mut Drawing, left: f64, right: f64, y: f64, colour: &str, tip: &str) {
    drawing.area((left, y), ((right - left).max(0.6), BAR), colour, Some(tip));
}

fn axis(drawing: &mut Drawing, span_ns: u64, bottom: f64) {
    for tick in 0..=5 {
        let share = f64::from(tick) / 5.0;
        let at = LEFT + share * (RIGHT - LEFT);
        drawing.words((at + 2.0, 40.0), PLAIN, time((span_ns as f64 * share) as u64));
        drawing.line((at, 30.0), (at, bottom), "#ddd");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(thread: u32, from_ns: u64, to_ns: u64) -> Wait {
        Wait { thread, object: 5, count: 1, from_ns, to_ns, end: End::Object(5), by: None, stirs: 0 }
    }

    fn svg(timeline: &Timeline) -> String {
        timeline.svg("title", |_, slot| format!("mutex {slot}"), |thread| format!("thread {thread}"))
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
