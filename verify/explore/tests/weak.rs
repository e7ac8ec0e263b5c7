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

/// Planted bugs of this harness: exchanges that release nothing, and loads of 16 bytes that acquire nothing.
#[test]
fn orders_that_matter_are_missed() {
    let programs = ["a-set-2w", "w-any1"].map(|name| catalogue::find(name).expect(name));
    let effort = Effort { executions: 500, seed: 1 };
    let survey = weak::survey(&programs, effort).unwrap_or_else(|failure| panic!("{failure}"));
    let table = weak::table(&programs, &survey, effort, "atomic: every one", |_| ());
    let verdict = |what: &str| {
        let is_it = |row: &&Row| row.weakening.what() == what;
        table.rows.iter().find(is_it).map(|row| &row.verdict).expect(what)
    };
    for what in ["exchange: acquire", "wide load: relaxed"] {
        assert!(matches!(verdict(what), Verdict::Caught { .. }), "{what}: {:?}", verdict(what));
    }
    let refused = verdict("refused exchange: relaxed");
    assert!(matches!(refused, Verdict::Equivalent(_)), "{refused:?}");
}
