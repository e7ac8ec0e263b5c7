// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a viewer makes of a trace, by the rules of ui.perfetto.dev for this format (read from its importer in 2026).
//!
//! Events are taken in the order of time; those of one time in the order of the file. The slices of a thread are a stack: a slice
//! that begins takes those off that have ended, and is left out if it lasts longer than the one in which it begins. Either end of an
//! arrow binds to the top of its thread's stack, even if that slice has ended, and is left out if there is none. The arrow leads
//! from the slice that began earlier to the other one.

use std::collections::HashMap;

use serde_json::Value;

/// What the viewer shows.
#[derive(Default)]
pub struct Seen {
    pub slices: Vec<Slice>,
    /// From one slice to another, by their indices.
    pub arrows: Vec<(usize, usize)>,
    /// Events that it leaves out.
    pub left_out: Vec<Value>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Slice {
    pub category: String,
    pub name: String,
    pub thread: (u64, u64),
    pub from_ns: i64,
    pub to_ns: i64,
}

impl Seen {
    pub fn of(events: &[Value]) -> Seen {
        let mut in_order: Vec<&Value> = events.iter().filter(|event| event["ph"] != "M").collect();
        in_order.sort_by_key(|event| ns(&event["ts"]));
        let (mut seen, mut open, mut leaving) = (Seen::default(), HashMap::new(), HashMap::new());
        for event in in_order {
            let thread = (event["pid"].as_u64().unwrap(), event["tid"].as_u64().unwrap());
            let stack: &mut Vec<usize> = open.entry(thread).or_default();
            let is_kept = match event["ph"].as_str().unwrap() {
                "X" => seen.begin(stack, thread, event),
                "s" => stack.last().is_some_and(|&top| leaving.insert(event["id"].to_string(), top).is_none()),
                "f" => seen.arrive(stack.last().copied(), leaving.get(&event["id"].to_string()).copied()),
                other => panic!("no rule for {other}"),
            };
            if !is_kept {
                seen.left_out.push(event.clone());
            }
        }
        seen
    }

    fn begin(&mut self, stack: &mut Vec<usize>, thread: (u64, u64), event: &Value) -> bool {
        let (from_ns, took) = (ns(&event["ts"]), ns(&event["dur"]));
        let to_ns = from_ns + took;
        while let Some(&top) = stack.last() {
            let above = &self.slices[top];
            let is_instant = above.from_ns == above.to_ns && took == 0;
            if above.to_ns > from_ns || above.to_ns == from_ns && is_instant {
                break;
            }
            stack.pop();
        }
        let overlaps = |&slice: &usize| from_ns < self.slices[slice].to_ns && to_ns > self.slices[slice].to_ns;
        if stack.iter().any(overlaps) {
            return false;
        }
        let text = |key: &str| event[key].as_str().unwrap().to_owned();
        stack.push(self.slices.len());
        self.slices.push(Slice { category: text("cat"), name: text("name"), thread, from_ns, to_ns });
        true
    }

    fn arrive(&mut self, top: Option<usize>, from: Option<usize>) -> bool {
        let (Some(top), Some(from)) = (top, from) else { return false };
        let is_backward = self.slices[from].from_ns > self.slices[top].from_ns;
        self.arrows.push(if is_backward { (top, from) } else { (from, top) });
        true
    }
}

fn ns(micros: &Value) -> i64 {
    (micros.as_f64().unwrap() * 1000.0).round() as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn slice(thread: u64, from: u64, took: u64) -> Value {
        json!({"ph": "X", "cat": "c", "name": "n", "pid": 1, "tid": thread, "ts": from, "dur": took})
    }

    fn end(ph: &str, thread: u64, at: u64) -> Value {
        json!({"ph": ph, "bp": "e", "cat": "c", "name": "n", "id": 1, "pid": 1, "tid": thread, "ts": at})
    }

    #[test]
    fn slices_that_overlap_and_arrows_without_a_slice_are_left_out() {
        let seen = Seen::of(&[slice(1, 0, 10), slice(1, 5, 10), slice(1, 10, 2), end("s", 2, 3), end("f", 1, 10)]);
        assert_eq!((seen.slices.len(), seen.arrows.len(), seen.left_out.len()), (2, 0, 3));
    }

    #[test]
    fn an_arrow_into_a_slice_that_began_earlier_is_turned_round() {
        let backward = Seen::of(&[slice(1, 0, 10), slice(2, 5, 1), end("s", 2, 5), end("f", 1, 9)]);
        assert_eq!(backward.arrows, [(0, 1)]);
        let late = Seen::of(&[slice(1, 0, 10), end("s", 2, 5), slice(2, 5, 1), end("f", 1, 9)]);
        assert_eq!((late.arrows.len(), late.left_out.len()), (0, 2));
    }
}
