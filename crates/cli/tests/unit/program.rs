// SPDX-License-Identifier: MIT OR Apache-2.0
//! The unit tests of `src/program.rs`.

use super::*;

#[test]
fn the_first_line_of_a_script_names_its_interpreter() {
    let interpreter = |text: &[u8]| interpreter_of_script(text);
    assert_eq!(interpreter(b"#!/bin/sh\necho"), Some("/bin/sh".into()));
    assert_eq!(interpreter(b"#! \t/bin/sh -e\n"), Some("/bin/sh".into()));
    assert_eq!(interpreter(b"#!/bin/sh"), Some("/bin/sh".into()));
    assert_eq!(interpreter(b"#!\n/bin/sh"), None);
    assert_eq!(interpreter(b"\x7fELF"), None);
}

#[test]
fn a_name_is_looked_up_in_the_path_and_a_path_is_not() {
    let path_list = Some(OsStr::new("/nonexistent:/bin"));
    assert_eq!(resolve(OsStr::new("sh"), path_list), Ok("/bin/sh".into()));
    assert_eq!(resolve(OsStr::new("sh"), Some(OsStr::new("/nonexistent"))), Err(Refusal::NotFound));
    assert_eq!(resolve(OsStr::new("./sh"), path_list), Err(Refusal::NotFound));
    assert_eq!(resolve(OsStr::new("/"), path_list), Err(Refusal::NotExecutable));
}

#[test]
fn this_test_can_be_served() {
    let library = Found { file: "/l.so".into(), entry: "/l.so".into(), serves_musl: false, explains_itself: false };
    let portrait = look(&std::env::current_exe().expect("our own path")).expect("it can be started");
    assert_eq!(portrait.obstacle(&library), None);
    assert!(matches!(portrait.kind, Kind::Elf { bits: 64, loader: Some(_), .. }));
}

#[test]
fn a_program_for_another_processor_cannot_be_served() {
    /// Where an ELF header says which processor is meant.
    const MACHINE_AT: usize = 18;
    let root = tempfile::tempdir().expect("a temporary directory");
    let library = Found { file: "/l.so".into(), entry: "/l.so".into(), serves_musl: false, explains_itself: false };
    let mut program = std::fs::read(std::env::current_exe().expect("our own path")).expect("our own file");
    let path = root.path().join("foreign");
    for (machine, obstacle) in [(elf::EM_MIPS, Obstacle::OtherMachine), (elf::EM_386, Obstacle::Narrow)] {
        if machine == elf::EM_386 && !cfg!(target_arch = "x86_64") {
            continue;
        }
        program[MACHINE_AT..MACHINE_AT + 2].copy_from_slice(&machine.to_le_bytes());
        std::fs::write(&path, &program).expect("our own directory");
        assert_eq!(look(&path).expect("a file").obstacle(&library), Some(obstacle));
    }
    std::fs::write(&path, "neither").expect("our own directory");
    assert_eq!(look(&path).expect("a file").kind, Kind::Other);
}
