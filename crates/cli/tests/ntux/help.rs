//! `ntux help`: every topic is there, and the environment is complete.

use crate::stage::{Stage, complained, finish, said};

#[test]
fn the_environment_topic_explains_every_variable() {
    let output = finish(&mut Stage::new().ntux(&["help", "environment"]));
    assert!(output.status.success());
    for variable in [
        "NTUX_DEVICE=auto|user|kernel",
        "NTUX_SPIN=N",
        "NTUX_LOG=[LEVEL:]PATH",
        "NTUX_PRELOAD=PATH",
        "NTUX_PRELOAD_WATCH=PATH",
        "NTUX_SOFT_DIRTY=1",
        "LD_PRELOAD",
    ] {
        assert!(said(&output).contains(variable), "{variable}");
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
    assert!(text("man/man1/ntux.1").contains("run"));
    for shell in ["bash-completion/completions/ntux", "zsh/site-functions/_ntux", "fish/vendor_completions.d/ntux.fish"]
    {
        let completions = text(shell);
        assert!(completions.contains("soft-dirty") && completions.contains("doctor"), "{shell}");
        assert!(!completions.contains("manual pages"), "{shell} offers what users are not shown");
    }
}
