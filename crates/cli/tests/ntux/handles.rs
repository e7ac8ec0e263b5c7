// SPDX-License-Identifier: MIT OR Apache-2.0
//! Objects behind the handles of native programs: what `why`, `inspect` and `trace` say of them with `--memory`, of a real program of
//! `libntux-win`, which this crate does not know. So this is what ties the layout in `src/arenas/handles.rs` to that of the library.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::products::NativeProgram;
use crate::stage::{complained, document, finish, said};
use crate::trace::ntux;
use crate::why::until;

/// What a thread of this name waits for, in what `ntux why` says.
fn awaited(told: &Value, thread: &str) -> Option<Value> {
    let chains = told["chains"].as_array()?;
    Some(chains.iter().find(|chain| chain["name"] == thread)?["waits_for"][0].clone())
}

#[test]
fn why_says_whose_end_a_native_program_waits_for_and_its_own_names() {
    let program = NativeProgram::new("handles", &[]);
    let waiting = ["joins", "too-early", "worker", "counts"];
    until(|| waiting.iter().all(|thread| awaited(&program.told(&[]), thread).is_some()));
    let told = program.told(&[]);
    assert!(waiting.iter().all(|thread| awaited(&told, thread).unwrap()["win32"].is_null()), "not asked for: {told:#}");
    let told = program.told(&["--memory"]);
    let of = |thread: &str| awaited(&told, thread).unwrap()["win32"].clone();
    let pid: u32 = program.pid().parse().unwrap();
    let worker = of("joins")["thread"].clone();
    assert_eq!(of("joins"), json!({"pid": pid, "kind": "thread", "name": null, "thread": worker}));
    assert!(std::path::Path::new(&format!("/proc/{pid}/task/{worker}")).exists(), "{told:#}");
    let unbegun = of("too-early")["thread"].clone();
    assert_eq!(of("too-early"), json!({"pid": pid, "kind": "thread", "name": null, "thread": unbegun}));
    assert!(unbegun.is_u64() && unbegun != worker, "{told:#}");
    assert_eq!(of("worker"), json!({"pid": pid, "kind": "event", "name": "Global\\ü", "thread": null}));
    assert_eq!(of("counts"), json!({"pid": pid, "kind": "semaphore", "name": null, "thread": null}));
    let text = program.text();
    for words in [
        format!("(the end of thread {pid}/{worker} worker)"),
        format!("(the end of thread {pid}/{unbegun}"),
        "Global\\ü".to_owned(),
    ] {
        assert!(text.contains(&words), "no {words:?} in\n{text}");
    }
}

/// By which users who may not open what it has mapped find its arena.
#[test]
fn a_native_program_shows_its_arena_by_a_high_descriptor() {
    let program = NativeProgram::new("handles", &[]);
    let descriptors =
        std::fs::read_dir(format!("/proc/{}/fd", program.pid())).unwrap().map(|entry| entry.unwrap().path());
    let is_arena =
        |path: &PathBuf| std::fs::read_link(path).is_ok_and(|file| file.to_string_lossy().starts_with("/memfd:ntsync"));
    let shown: Vec<u32> =
        descriptors.filter(is_arena).filter_map(|path| path.file_name()?.to_str()?.parse().ok()).collect();
    assert!(matches!(shown[..], [number] if number >= 100), "{shown:?}");
}

#[test]
fn inspect_says_it_too() {
    let program = NativeProgram::new("handles", &[]);
    let output =
        finish(program.stage.ntux(&["inspect", "--memory", "--json", &program.pid()]).args::<[&str; 0], _>([]));
    assert_eq!(complained(&output), "");
    let told = document("inspect", &output);
    let objects = told["arenas"][0]["objects"].as_array().unwrap();
    let named = |name: &str| objects.iter().filter(|object| object["win32"]["name"] == name).count();
    assert_eq!((named("Global\\ü"), named("Local\\tick"), named("Local\\closed")), (1, 1, 0), "{told:#}");
    let text = said(&finish(&mut program.stage.ntux(&["inspect", "--memory", &program.pid()])));
    assert!(["named Local\\tick", "the end of thread", " worker"].iter().all(|words| text.contains(words)), "{text}");
}

#[test]
fn a_trace_names_the_threads_whose_ends_are_waited_for() {
    let program = NativeProgram::new("handles", &[]);
    let arguments = ["trace", "--json", "--memory", "--seconds", "2", &program.pid()];
    let output = finish(&mut ntux(&program.stage, &arguments));
    let told: Value = serde_json::from_str(complained(&output).lines().last().expect("a line")).expect("JSON");
    let names: Vec<&str> =
        told["objects"].as_array().unwrap().iter().filter_map(|object| object["name"].as_str()).collect();
    for part in [" Local\\tick", " end of thread "] {
        assert!(names.iter().any(|name| name.contains(part)), "no {part:?} in {told:#}");
    }
}
