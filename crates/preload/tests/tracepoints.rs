// SPDX-License-Identifier: MIT OR Apache-2.0
//! The static tracepoints in the library: those that docs/diagnose/tracepoints.md lists, and each where a tracer finds it.

#![cfg(target_os = "linux")]

#[path = "built/library.rs"]
mod library;

use std::collections::BTreeMap;
use std::fs;

use object::{Object, ObjectSection, ObjectSegment};

/// What a tracer replaces: one instruction that does nothing.
const NOTHING: &[u8] = if cfg!(target_arch = "aarch64") { &[0x1f, 0x20, 0x03, 0xd5] } else { &[0x90] };
const DOCUMENT: &str = include_str!("../../../docs/diagnose/tracepoints.md");

/// A note of the library.
#[derive(Debug)]
struct Tracepoint {
    provider: String,
    name: String,
    arguments: usize,
    address: u64,
}

/// The next number of this width, in the order of bytes that every system here has.
fn number(bytes: &mut &[u8], width: usize) -> u64 {
    let (taken, rest) = bytes.split_at(width);
    *bytes = rest;
    taken.iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte))
}

fn tracepoints(mut notes: &[u8], width: usize) -> Vec<Tracepoint> {
    let mut found = Vec::new();
    while !notes.is_empty() {
        let [name, description, _kind] = [(); 3].map(|()| number(&mut notes, 4) as usize);
        let (owner, rest) = notes.split_at(name.next_multiple_of(4));
        assert_eq!(&owner[..name], b"stapsdt\0");
        let (mut what, rest) = rest.split_at(description.next_multiple_of(4));
        notes = rest;
        let [address, _base, _semaphore] = [(); 3].map(|()| number(&mut what, width));
        let mut words = what.split(|&byte| byte == 0).map(|word| String::from_utf8(word.to_vec()).unwrap());
        let mut word = || words.next().unwrap();
        let (provider, name, arguments) = (word(), word(), word());
        found.push(Tracepoint { provider, name, arguments: arguments.split_whitespace().count(), address });
    }
    found
}

/// Names and numbers of arguments, from the table of the document.
fn documented() -> BTreeMap<String, usize> {
    let rows = DOCUMENT.lines().skip_while(|line| !line.starts_with("| tracepoint |")).skip(2);
    let mut all = BTreeMap::new();
    for row in rows.take_while(|line| line.starts_with('|')) {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [names, arguments] = cells[..] else { panic!("{row}") };
        // What follows a colon explains the last one.
        let arguments = arguments.split(':').next().unwrap().split(',').filter(|argument| !argument.is_empty()).count();
        all.extend(names.split(',').map(|name| (name.trim().trim_matches('`').to_owned(), arguments)));
    }
    all
}

#[test]
fn the_tracepoints_are_those_of_the_document_and_each_is_an_instruction_that_does_nothing() {
    let bytes = fs::read(library::plain()).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let notes = file.section_by_name(".note.stapsdt").expect("the library has tracepoints").data().unwrap();
    let width = if file.is_64() { 8 } else { 4 };
    let mut found = BTreeMap::new();
    for point in tracepoints(notes, width).iter().filter(|point| point.provider == "ntux") {
        let known = *found.entry(point.name.clone()).or_insert(point.arguments);
        assert_eq!(known, point.arguments, "{point:x?}: others of this name have {known} arguments");
        let is_within = |from: u64, size: u64| (from..from + size).contains(&point.address);
        let segment = file.segments().find(|segment| is_within(segment.address(), segment.size())).unwrap();
        let code = &segment.data().unwrap()[(point.address - segment.address()) as usize..];
        assert!(code.starts_with(NOTHING), "{point:x?} is {:x?}", &code[..8]);
    }
    assert_eq!(found, documented());
}
