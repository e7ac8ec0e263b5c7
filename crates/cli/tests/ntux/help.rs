//! `ntux help`: every topic is there, and the environment is complete.

use crate::stage::{Stage, complained, finish, said};

#[test]
fn the_environment_topic_explains_every_variable() {
    let output = finish(&mut Stage::new().ntux(&["help", "environment"]));
    assert!(output.status.success());
    for variable in [
        "NTUX_DEVICE=auto|user|kernel",
        "NTUX_SPIN=N",
        "NTUX_LOG=PATH",
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
    for (topic, word) in
        [("run", "PROGRAM"), ("doctor", "--json"), ("bench", "sync"), ("exit-status", "126"), ("help", "topic")]
    {
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
