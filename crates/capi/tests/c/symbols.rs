// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the header declares and what the libraries export is the same, both ways, and every symbol has a version.
#![cfg(target_os = "linux")]

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

#[path = "dynamic_symbols.rs"]
mod dynamic_symbols;

use crate::commands::output;
use crate::install::prefix;
use dynamic_symbols::{dynamic_symbols, exported};

type Names = BTreeSet<String>;

#[test]
fn the_shared_library_exports_what_the_header_declares() {
    assert_eq!(disagreement(&declared(&header()), &exported(&table())), Names::new());
}

#[test]
fn the_static_library_defines_what_the_header_declares() {
    assert_eq!(disagreement(&declared(&header()), &static_symbols()), Names::new());
}

#[test]
fn every_exported_symbol_has_a_version() {
    for symbol in exported(&table()) {
        assert!(table().contains(&format!(" {symbol}@@NTUX_0.1")), "{symbol}");
    }
}

#[test]
fn a_planted_disagreement_is_found_both_ways() {
    let symbols = exported(&table());
    let more = declared(&(header() + "\nint ntux_planted(void);\n"));
    assert_eq!(disagreement(&more, &symbols), Names::from(["ntux_planted".to_owned()]));
    let fewer = declared(&header().replace("ntux_mutex_kill(", "(ntux_mutex_kill)("));
    assert_eq!(disagreement(&fewer, &symbols), Names::from(["ntux_mutex_kill".to_owned()]));
    let unversioned = "  1: 0 9 FUNC GLOBAL DEFAULT 13 planted";
    assert_eq!(exported(unversioned), Names::from(["planted".to_owned()]));
}

/// Names in one of the two only.
fn disagreement(one: &Names, other: &Names) -> Names {
    one.symmetric_difference(other).cloned().collect()
}

fn header() -> String {
    fs::read_to_string(prefix().join("include/ntux.h")).unwrap()
}

/// The functions that a header declares: each declaration begins a line with `int ntux_`.
fn declared(header: &str) -> Names {
    header
        .lines()
        .filter_map(|line| line.strip_prefix("int "))
        .filter_map(|rest| rest.split_once('('))
        .map(|(name, _)| name.to_owned())
        .filter(|name| !name.is_empty())
        .collect()
}

fn table() -> String {
    dynamic_symbols(&prefix().join("lib/libntux.so"))
}

/// The symbols of ours that the static library defines. (It also defines those of Rust's own library.)
fn static_symbols() -> Names {
    output(Command::new("nm").args(["--defined-only", "--extern-only", "-P"]).arg(prefix().join("lib/libntux.a")))
        .lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(name, _)| name.to_owned())
        .filter(|name| name.starts_with("ntux_"))
        .collect()
}
