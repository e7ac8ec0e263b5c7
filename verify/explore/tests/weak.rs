// SPDX-License-Identifier: MIT OR Apache-2.0
//! The core over a weak memory: a slice of `make test-orders`.

use ntux_explore::catalogue;
use ntux_explore::weak::{self, Effort, Row, Verdict};

/// Unoptimized code explores less.
const EXECUTIONS: u64 = if cfg!(debug_assertions) { 25 } else { 250 };

#[test]
fn every_program_is_linearizable_with_the_orders_that_the_code_names() {
    let survey = weak::survey(&catalogue::all_programs(), Effort { executions: EXECUTIONS, seed: 1 });
    let accesses = survey.map(|survey| survey.sites.len()).unwrap_or_else(|failure| panic!("{failure}"));
    assert!(accesses > 50, "{accesses}");
}

fn verdicts(programs: &[&str], executions: u64, only: &str) -> Vec<(String, Verdict)> {
    let programs: Vec<_> = programs.iter().map(|name| catalogue::find(name).expect(name)).collect();
    let effort = Effort { executions, seed: 1 };
    let survey = weak::survey(&programs, effort).unwrap_or_else(|failure| panic!("{failure}"));
    let table = weak::table(&programs, &survey, effort, only, |_| ());
    table
        .rows
        .into_iter()
        .map(|Row { name, weakening, verdict, .. }| (format!("{} {name}", weakening.what()), verdict))
        .collect()
}

/// Planted bugs of this harness: exchanges that release nothing, and loads of 16 bytes that acquire nothing.
#[test]
fn orders_that_matter_are_missed() {
    let verdicts = verdicts(&["a-set-2w", "w-any1"], 500, "atomic: every one");
    let verdict = |what: &str| {
        let is_it = |(name, _): &&(String, Verdict)| name.starts_with(what);
        verdicts.iter().find(is_it).map(|(_, verdict)| verdict).expect(what)
    };
    for what in ["exchange: acquire", "wide load: relaxed"] {
        assert!(matches!(verdict(what), Verdict::Caught { .. }), "{what}: {:?}", verdict(what));
    }
    let store = verdict("store: relaxed");
    assert!(matches!(store, Verdict::Equivalent(_)), "{store:?}");
}

/// Each of these is noticed only because a sequentially consistent load may overtake a relaxed one.
#[test]
fn loads_that_must_not_be_overtaken_are_missed() {
    for (program, access) in [
        ("l1-query", "Low of every one"),
        ("l1-query", "High of every one"),
        ("o-poll", "wide load: relaxed object_word::glance"),
        ("o-read", "load: relaxed signal::read"),
    ] {
        let verdicts = verdicts(&[program], 3_000, access);
        assert_eq!(verdicts.len(), 1, "{access}: {verdicts:?}");
        assert!(matches!(verdicts[0].1, Verdict::Caught { .. }), "{verdicts:?}");
    }
}
