// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ntux help`: every topic is there, and the environment is complete.

use std::path::{Path, PathBuf};

use ntux_platform::environment::{self, Audience};

use crate::stage::{Stage, complained, finish, said};

/// Files below a directory with this ending, without those of tests.
fn sources(directory: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        match path.is_dir() {
            true if !["tests", "target"].contains(&name) => sources(&path, ending, found),
            false if name.ends_with(ending) && name != "tests.rs" => found.push(path),
            _ => (),
        }
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The names of variables in a text, each with what stands before it.
fn names(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.match_indices("NTUX_").map(|(at, _)| {
        let length = text[at..].find(|sign: char| !sign.is_ascii_uppercase() && sign != '_').unwrap_or(text.len() - at);
        (&text[..at], &text[at..at + length])
    })
}

#[test]
fn the_environment_topic_explains_every_variable() {
    let output = finish(&mut Stage::new().ntux(&["help", "environment"]));
    assert!(output.status.success());
    let text = said(&output);
    for variable in environment::ALL {
        let start = format!("{}={}", environment::text(variable.name), variable.form);
        assert!(text.contains(&start), "{start}");
        assert!(variable.words.iter().all(|(word, _)| text.contains(word)), "{start}");
    }
    let (_, internal) = text.split_once("Internal: ").unwrap();
    for variable in environment::ALL {
        let is_internal = internal.contains(&format!("\n{}=", environment::text(variable.name)));
        assert_eq!(is_internal, variable.audience == Audience::Internal, "{variable:?}");
    }
    assert!(text.contains("LD_PRELOAD"));
    assert!(text.lines().all(|line| line.len() <= 120), "{text}");
}

/// Nobody reads a variable that the registry lacks, or by a name of its own.
#[test]
fn every_variable_that_the_sources_name_is_in_the_registry() {
    let registry = root().join("crates/platform/src/environment.rs");
    let known: Vec<_> = environment::ALL.iter().map(|variable| environment::text(variable.name)).collect();
    let wrong = |text: &str, may_name: bool| -> Option<String> {
        let wrong = names(text).find(|(before, name)| {
            let is_read = before.ends_with('"') && text[before.len() + name.len()..].starts_with(['"', '=']);
            is_read && name.len() > "NTUX_".len() && (!known.contains(name) || !may_name)
        });
        wrong.map(|(_, name)| name.to_owned())
    };
    assert_eq!(wrong(r#"value(c"NTUX_PLANTED")"#, true).as_deref(), Some("NTUX_PLANTED"));
    assert_eq!(wrong(r#"value(c"NTUX_SPIN")"#, false).as_deref(), Some("NTUX_SPIN"));
    let mut files = Vec::new();
    for part in ["platform", "sync", "watch", "futex", "ntux", "preload", "preload-watch", "cli"] {
        sources(&root().join("crates").join(part), ".rs", &mut files);
    }
    assert!(files.len() > 100);
    for file in files.iter().filter(|file| file.canonicalize().unwrap() != registry.canonicalize().unwrap()) {
        let text = std::fs::read_to_string(file).unwrap();
        assert_eq!(wrong(&text, false), None, "{} in {}", "not in crates/platform/src/environment.rs", file.display());
    }
    // C has no part in the registry, but its names are of it.
    let companion = std::fs::read_to_string(root().join("crates/preload/companion/device.c")).unwrap();
    assert_eq!(wrong(&companion, true), None);
}

/// `make reference` makes the pages anew.
#[test]
fn the_reference_pages_are_what_the_registries_say() {
    let stage = Stage::new();
    let there = stage.path("reference");
    let output = finish(&mut stage.ntux(&["pages", "--reference", there.to_str().unwrap()]));
    assert!(output.status.success(), "{}", complained(&output));
    for page in ["command.md", "environment.md", "exit-status.md"] {
        let [made, stored] = [there.join(page), root().join("docs/reference").join(page)]
            .map(|path| std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())));
        assert!(made == stored, "docs/reference/{page} is not current: make reference\n{made}");
    }
}

#[test]
fn a_process_without_objects_has_one_status_in_all_commands() {
    let stage = Stage::new();
    let mut sleep = std::process::Command::new("sleep").arg("60").spawn().unwrap();
    let pid = sleep.id().to_string();
    let statuses =
        [&["inspect", &pid][..], &["why", &pid], &["top", "--once", &pid], &["trace", &pid, "--seconds", "1"]]
            .map(|words| (words.to_vec().join(" "), finish(&mut stage.ntux(words)).status.code()));
    sleep.kill().unwrap();
    sleep.wait().unwrap();
    for (words, status) in statuses {
        assert_eq!(status, Some(2), "ntux {words}");
    }
}

#[test]
fn every_topic_and_subcommand_has_help() {
    let stage = Stage::new();
    for (topic, word) in [
        ("run", "PROGRAM"),
        ("doctor", "--json"),
        ("ps", "--json"),
        ("inspect", "--json"),
        ("why", "deadlock"),
        ("top", "Escape"),
        ("bench", "sync"),
        ("exit-status", "126"),
        ("help", "topic"),
    ] {
        let output = finish(&mut stage.ntux(&["help", topic]));
        assert!(output.status.success(), "{topic}");
        assert!(said(&output).contains(word), "{topic}");
    }
    let output = finish(&mut stage.ntux(&["help"]));
    assert!(said(&output).contains("ntux help environment"));
}

#[test]
fn an_unknown_topic_is_an_error() {
    let output = finish(&mut Stage::new().ntux(&["help", "nonsense"]));
    assert_eq!(output.status.code(), Some(125));
    assert!(complained(&output).contains("nonsense"));
}

#[test]
fn pages_and_completions_are_made_for_what_users_are_shown() {
    let stage = Stage::new();
    let share = stage.path("share");
    let output = finish(&mut stage.ntux(&["pages", share.to_str().unwrap()]));
    assert!(output.status.success(), "{}", complained(&output));
    let text = |path: &str| std::fs::read_to_string(share.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    for page in [
        "ntux.1",
        "ntux-run.1",
        "ntux-doctor.1",
        "ntux-ps.1",
        "ntux-inspect.1",
        "ntux-why.1",
        "ntux-top.1",
        "ntux-bench.1",
    ] {
        assert!(text(&format!("man/man1/{page}")).contains(".SH SYNOPSIS"), "{page}");
    }
    assert!(text("man/man1/ntux.1").contains("run") && text("man/man1/ntux.1").contains("NTUX_FUTEX_PRIVATE"));
    assert!(text("man/man1/ntux-why.1").contains("Exit status"));
    for shell in ["bash-completion/completions/ntux", "zsh/site-functions/_ntux", "fish/vendor_completions.d/ntux.fish"]
    {
        let completions = text(shell);
        assert!(completions.contains("soft-dirty") && completions.contains("doctor"), "{shell}");
        assert!(!completions.contains("manual pages"), "{shell} offers what users are not shown");
    }
}
