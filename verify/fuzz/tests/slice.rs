// SPDX-License-Identifier: MIT OR Apache-2.0
//! A deterministic slice of `make fuzz-parsers`: the corpus, the seeds and variants of them. A planted fault must show.
#![cfg(target_os = "linux")]

use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

use ntux_fuzz::mutate::variant;
use ntux_fuzz::{TARGETS, Target, planted, seeds};

/// Inputs that found a fault once, for this parser.
fn corpus(target: &Target) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target.name);
    let files = std::fs::read_dir(folder).into_iter().flatten();
    files.map(|file| file.expect("a file").path()).collect()
}

/// The first seed, or variant of one, that makes a parser panic.
fn found(parse: fn(&[u8]), seeds: &[Vec<u8>], variants: u64) -> Option<Vec<u8>> {
    let tried = seeds
        .iter()
        .flat_map(|seed| [seed.clone()].into_iter().chain((0..variants).map(|number| variant(seed, number))));
    tried.into_iter().find(|bytes| catch_unwind(|| parse(bytes)).is_err())
}

#[test]
fn no_parser_is_harmed_by_variants_of_its_files() {
    for target in TARGETS {
        let Some(input) = found(target.parse, &(target.seeds)(), target.variants) else { continue };
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(target.name);
        std::fs::write(&path, input).expect("there is room");
        panic!("{} is harmed by {}; mend it, and put that file into its corpus", target.name, path.display());
    }
}

#[test]
fn what_once_harmed_a_parser_does_so_no_more() {
    let mut inputs = 0;
    for target in TARGETS {
        for path in corpus(target) {
            (target.parse)(&std::fs::read(&path).expect("a file"));
            inputs += 1;
        }
    }
    assert!(inputs > 0, "the corpus is empty");
}

#[test]
fn a_planted_fault_is_found() {
    let target = &TARGETS[0];
    assert!(
        found(planted::program, &seeds::programs(), target.variants).is_some(),
        "the planted overflow is NOT found"
    );
}

/// Seeds are there to lead somewhere.
#[test]
fn the_seeds_are_understood() {
    let dumps = seeds::core_dumps();
    assert_eq!(dumps.iter().map(|dump| ntux_fuzz::arenas_in(dump)).collect::<Vec<_>>(), [1, 1]);
    assert_eq!(
        seeds::programs().iter().map(|program| ntux_fuzz::obstacle_to(program)).collect::<Vec<_>>(),
        [None, Some("Musl".to_owned()), Some("Static".to_owned()), Some("Narrow".to_owned()), None,]
    );
    assert!(ntux_fuzz::last_in(&seeds::logs()[0], 5) && !ntux_fuzz::last_in(&seeds::logs()[0], 9));
    assert!(!ntux_fuzz::needs_more_than_it_gives(&seeds::c_libraries()[0]));
    assert!(ntux_fuzz::needs_more_than_it_gives(&seeds::c_libraries()[1]));
    assert_eq!(seeds::traces().iter().map(|events| ntux_fuzz::waits_of(events)).next(), Some(3));
    assert!(ntux_fuzz::events_of(&[]) > 0);
}
