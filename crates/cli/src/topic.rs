// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ntux help`: the subcommands, and topics that concern several of them.

use std::fmt::Write as _;
use std::process::ExitCode;

use ntux_platform::environment::{self, Audience, Variable};

use crate::say;
use crate::status;

const VARIABLES: &str = "The options --device, --spin and --log of `ntux run` set NTUX_DEVICE, NTUX_SPIN and NTUX_LOG for the program and \
                         for every program that it starts. Without the option, a variable that is already set keeps its value.";
const INTERNAL: &str = "Internal: one part of ntux sets these for another. They can change or go with any version.";
const LD_PRELOAD: &str = "LD_PRELOAD    `ntux run` puts its library in front of the existing list.";
const PAGE_WIDTH: usize = 120;
/// How far values stand apart from their meaning.
const VALUES: usize = 20;

/// Prints what `topic` means.
pub fn explain(mut line: clap::Command, topic: Option<&str>) -> ExitCode {
    line.build();
    let page = match topic {
        None => format!("{}\n", line.render_long_help()),
        Some("environment") => variables(),
        Some("exit-status") => statuses(),
        Some(other) => match line.find_subcommand_mut(other) {
            Some(subcommand) => format!("{}\n", subcommand.render_long_help()),
            None => return say::failed(format_args!("there is no help on '{other}'; try: ntux help")),
        },
    };
    say::page(&page, ExitCode::SUCCESS)
}

fn variables() -> String {
    let mut text = format!("Environment variables that ntux reads\n\n{}\n", filled(VARIABLES, "", ""));
    for audience in [Audience::User, Audience::Internal] {
        if audience == Audience::Internal {
            let _ = write!(text, "\n{LD_PRELOAD}\n\n{}\n", filled(INTERNAL, "", ""));
        }
        for variable in environment::ALL.iter().filter(|variable| variable.audience == audience) {
            let _ = write!(text, "\n{}", of(variable));
        }
    }
    text
}

fn of(variable: &Variable) -> String {
    let start = format!("{}={}    ", environment::text(variable.name), variable.form);
    let mut text = filled(variable.meaning, &start, "    ") + "\n";
    for (word, meaning) in variable.words {
        let start = format!("    {word:<VALUES$}");
        let _ = writeln!(text, "{}", filled(meaning, &start, &" ".repeat(VALUES + 4)));
    }
    text
}

fn statuses() -> String {
    let mut text = format!("Exit status\n\n{}\n", filled(status::ABOUT, "", ""));
    for statuses in status::ALL {
        let _ = writeln!(text, "\nntux {}", statuses.command);
        for (code, when) in statuses.when {
            let _ = writeln!(text, "{}", filled(when, &format!("    {code:<10} "), &" ".repeat(15)));
        }
    }
    text
}

fn filled(text: &str, start: &str, further: &str) -> String {
    let options = textwrap::Options::new(PAGE_WIDTH).initial_indent(start).subsequent_indent(further);
    textwrap::fill(text, options.word_splitter(textwrap::WordSplitter::NoHyphenation))
}
