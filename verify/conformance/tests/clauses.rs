// SPDX-License-Identifier: MIT OR Apache-2.0
//! `docs/reference/semantics.md` and the list of cases name each other: no clause without a case, no case without a clause.

use std::collections::{BTreeMap, BTreeSet};

use ntux_conformance::case;

const SEMANTICS: &str = include_str!("../../../docs/reference/semantics.md");

/// For each clause the cases that stand below it.
fn clauses() -> BTreeMap<&'static str, BTreeSet<&'static str>> {
    let paragraphs = SEMANTICS.split("\n\n").filter_map(|text| text.trim_start().strip_prefix("**S-").map(|_| text));
    let mut clauses = BTreeMap::new();
    for paragraph in paragraphs {
        let number = paragraph.trim_start().split("**").nth(1).expect("a number between stars");
        let (_, cases) = paragraph.split_once("Cases: ").unwrap_or_else(|| panic!("{number} names no case"));
        let cases: BTreeSet<_> = cases.split('`').skip(1).step_by(2).collect();
        assert!(!cases.is_empty(), "{number} names no case");
        assert!(clauses.insert(number, cases).is_none(), "{number} stands there twice");
    }
    clauses
}

#[test]
fn every_clause_names_its_cases_and_every_case_its_clauses() {
    let mut of_cases: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for case in case::all() {
        assert!(!case.clauses.is_empty(), "{} names no clause", case.name);
        for clause in case.clauses {
            of_cases.entry(clause).or_default().insert(case.name);
        }
    }
    let of_document = clauses();
    for (clause, cases) in &of_document {
        assert_eq!(
            Some(cases),
            of_cases.get(clause),
            "left: {clause} in docs/reference/semantics.md, right: the list of cases"
        );
    }
    for (clause, cases) in &of_cases {
        assert!(of_document.contains_key(clause), "{cases:?}: no clause {clause} in docs/reference/semantics.md");
    }
}

#[test]
fn no_two_cases_have_the_same_name() {
    let mut names = BTreeSet::new();
    for case in case::all() {
        assert!(names.insert(case.name), "{}", case.name);
    }
}
