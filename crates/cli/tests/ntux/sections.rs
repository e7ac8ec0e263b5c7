// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ntux why --memory` of native programs whose threads wait for critical sections: real ones of `libntux-win`, which this crate does not know.
//! So this is what ties the layout in `src/why/native.rs` to that of the library.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::products::NativeProgram;
use crate::why::{kinds, until};

/// How many threads of a program sleep on a word.
fn sleepers(program: &NativeProgram) -> usize {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", program.pid())).expect("it runs");
    let call =
        |task: std::io::Result<std::fs::DirEntry>| std::fs::read_to_string(task.ok()?.path().join("syscall")).ok();
    let futex = format!("{} ", libc::SYS_futex);
    tasks.filter_map(call).filter(|call| call.starts_with(&futex)).count()
}

/// Those who are said to wait for critical sections.
fn waiting(told: &Value) -> Vec<&Value> {
    let waits: Vec<&Value> = told["address_waits"].as_array().unwrap().iter().collect();
    assert!(waits.iter().all(|wait| wait["for"] == "critical-section" && wait["windows_thread"].is_null()), "{told:#}");
    waits
}

fn names<'a>(waits: &[&'a Value]) -> BTreeSet<&'a str> {
    waits.iter().map(|wait| wait["name"].as_str().unwrap()).collect()
}

#[test]
fn a_native_deadlock_over_a_critical_section_and_a_mutex_is_one_cycle() {
    let program = NativeProgram::new("sections", &["deadlock"]);
    until(|| kinds(&program.told(&["--memory"])) == ["deadlock"]);
    let seen = program.told(&[]);
    assert!(kinds(&seen).is_empty() && waiting(&seen).is_empty(), "its memory was not asked for: {seen:#}");
    let seen = program.told(&["--memory"]);
    let wait = waiting(&seen)[0];
    assert_eq!(
        (&wait["name"], &wait["recursion"], &wait["owner"]["name"]),
        (&"right".into(), &2.into(), &"left".into())
    );
    assert_eq!(wait["module"], "sections", "it lies in the program's own data");
    let (pid, right, left) = (program.pid(), &wait["thread"], &wait["owner"]["thread"]);
    let text = program.text();
    for words in [
        "DEADLOCK of 2 threads, over critical sections and mutexes:".to_owned(),
        format!("{pid}/{right} right waits for critical section"),
        format!("{pid}/{left} left has, 2 times"),
        format!("{pid}/{left} left (owner {left}) waits for mutex #"),
        format!("of owner {right}"),
    ] {
        assert!(text.contains(&words), "no {words:?} in\n{text}");
    }
}

#[test]
fn who_waits_for_a_native_critical_section_is_told_its_owner_also_after_long() {
    let program = NativeProgram::new("sections", &["chain"]);
    until(|| waiting(&program.told(&["--memory"])).len() == 2);
    let seen = program.told(&["--memory"]);
    assert!(kinds(&seen).is_empty(), "{seen:#}");
    let waits = waiting(&seen);
    assert_eq!(names(&waits), BTreeSet::from(["first", "second"]));
    assert!(waits.iter().all(|wait| wait["owner"]["name"] == "keeper" && wait["recursion"] == 1), "{waits:#?}");
    assert_eq!(waits[0]["address"], waits[1]["address"], "of which one sleeps on the next word");
    let (pid, thread, owner) = (program.pid(), &waits[1]["thread"], &waits[1]["owner"]["thread"]);
    let (who, has) =
        (format!("{pid}/{thread} second waits for critical section"), format!("which {pid}/{owner} keeper has"));
    let text = program.text();
    assert!(["Nothing is wrong.", &who, &has].iter().all(|words| text.contains(words)), "{text}");
}

#[test]
fn what_is_no_critical_section_is_not_called_one() {
    let program = NativeProgram::new("sections", &["rubbish"]);
    until(|| sleepers(&program) == 10);
    let seen = program.told(&["--memory"]);
    assert!(kinds(&seen).is_empty(), "{seen:#}");
    // That nothing is found of the others is not for another reason.
    assert_eq!(names(&waiting(&seen)), BTreeSet::from(["alike"]));
}
