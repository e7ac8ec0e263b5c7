//! `ntux watch` of built-in workloads: the map has the lines and columns that were asked for, on the terminal and as a picture.

use crate::stage::{Stage, complained, finish, said};

const SHADES: [char; 5] = ['·', '░', '▒', '▓', '█'];

#[test]
fn a_line_for_each_interval_and_a_column_for_each_stretch() {
    let stage = Stage::new();
    let picture = std::env::temp_dir().join(format!("ntux-watch-{}.svg", std::process::id()));
    let picture_path = picture.to_str().expect("a plain path");
    for workload in ["sort", "sieve", "collector", "random"] {
        let options = ["--workload", workload, "--pages", "256", "--columns", "20", "--lines", "5", "--interval", "20"];
        let mut arguments = vec!["watch", "--svg", picture_path];
        arguments.extend(options);
        // On a busy machine the workload may not run at all for five lines.
        assert!((0..100).any(|_| draws_something(&stage, &arguments)), "{workload} writes nothing");
        let svg = std::fs::read_to_string(&picture).expect("the picture");
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n") && svg.contains("fill=\"#"), "{svg}");
    }
    std::fs::remove_file(&picture).expect("the picture was there");
}

fn draws_something(stage: &Stage, arguments: &[&str]) -> bool {
    let output = finish(&mut stage.ntux(arguments));
    assert!(output.status.success(), "{}", complained(&output));
    let text = said(&output);
    let cells = |line: &str| line.chars().filter(|letter| SHADES.contains(letter)).count();
    let map: Vec<&str> = text.lines().filter(|line| cells(line) > 0).collect();
    assert_eq!(map.iter().map(|line| cells(line)).collect::<Vec<_>>(), [20; 5], "{text}");
    assert!(!text.contains('\u{1b}'), "no colours in a file");
    map.iter().any(|line| line.contains('█'))
}

#[test]
fn the_mechanism_can_be_named_and_a_wrong_one_is_refused() {
    let stage = Stage::new();
    let watch = |mechanism| {
        finish(&mut stage.ntux(&[
            "watch",
            "--mechanism",
            mechanism,
            "--lines",
            "2",
            "--interval",
            "1",
            "--pages",
            "16",
        ]))
    };
    let output = watch("mprotect");
    assert!(output.status.success() && said(&output).contains("mprotect notices"), "{}", complained(&output));
    let output = watch("nonsense");
    assert_eq!(output.status.code(), Some(125));
    assert!(complained(&output).contains("async, sync, mprotect or cow"));
}
