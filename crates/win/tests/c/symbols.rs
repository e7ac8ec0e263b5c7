// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the headers declare and what the shared library exports is the same, both ways, and every symbol has a version; each function has a
//! plain name, and a place in the reference.

use std::collections::BTreeSet;
use std::fs;

#[path = "../../../capi/tests/c/dynamic_symbols.rs"]
mod dynamic_symbols;

use crate::header::HEADERS;
use crate::install::{crate_dir, prefix};
use dynamic_symbols::{dynamic_symbols, exported};

type Names = BTreeSet<String>;

fn headers() -> String {
    HEADERS.map(|name| fs::read_to_string(crate_dir().join(format!("include/ntux/win/{name}.h"))).unwrap()).concat()
}

/// The functions that headers declare, without those that they define: each declaration begins a line.
fn declared(headers: &str) -> Names {
    let is_declaration = |line: &&str| !line.starts_with([' ', '#', '/', 'N']);
    headers
        .lines()
        .filter(is_declaration)
        .filter_map(|line| line.split_once("ntw_"))
        .filter_map(|(_, rest)| rest.split_once('('))
        .map(|(name, _)| format!("ntw_{name}"))
        .collect()
}

#[test]
fn the_shared_library_exports_what_the_headers_declare() {
    let table = dynamic_symbols(&prefix().join("lib/libntux-win.so"));
    let exported = exported(&table);
    let declared = declared(&headers());
    assert!(declared.len() > 90, "{declared:?}");
    assert_eq!(exported, declared);
    for name in exported {
        assert!(table.contains(&format!(" {name}@@NTUX_WIN_0.1")), "{name}");
    }
}

#[test]
fn a_planted_disagreement_is_found() {
    let planted = headers() + "\nBOOL ntw_Planted(void);\n";
    assert!(declared(&planted).contains("ntw_Planted"));
}

/// Functions that Windows does not have.
const OWN: [&str; 6] =
    ["UseProcessNames", "UseSessionNames", "HandleFromFd", "FdOfHandle", "TakeByFd", "CloseFdOfHandle"];

#[test]
fn every_function_has_a_plain_name_and_a_place_in_the_reference() {
    let headers = headers();
    let reference = fs::read_to_string(crate_dir().join("../../docs/win/reference.md")).unwrap();
    // A word that ends in A or W stands there once for both.
    let stands = |name: &str| {
        let has = |name: String| headers.contains(&format!(" ntw_{name}("));
        let both = name.strip_suffix(['A', 'W']).filter(|short| has(format!("{short}A")) && has(format!("{short}W")));
        let shown = both.unwrap_or(name);
        reference.contains(&format!("`{shown}`")) || reference.contains(&format!("`ntw_{shown}("))
    };
    for name in declared(&headers) {
        let plain = name.strip_prefix("ntw_").unwrap();
        assert!(OWN.contains(&plain) || headers.contains(&format!("#define {plain} {name}\n")), "{plain}");
        assert!(stands(plain), "docs/win/reference.md does not say what {plain} does");
    }
    assert!(!stands("Planted"));
}
