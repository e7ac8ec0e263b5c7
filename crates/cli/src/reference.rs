// SPDX-License-Identifier: MIT OR Apache-2.0
//! The reference pages of the documents, and sections of the manual pages, from the registries that the command itself uses: its
//! subcommands, `ntux_platform::environment` and `status`.

use std::fmt::Write as _;

use clap::Command;
use ntux_platform::environment::{self, Audience};

use crate::status;

const MADE: &str = "`make reference` makes this page from the registry in";

/// Each page's name and text.
pub fn pages(command: &Command) -> [(&'static str, String); 3] {
    [("command.md", commands(command)), ("environment.md", variables()), ("exit-status.md", statuses())]
}

/// The same of environment and exit status for ntux(1), as roff.
pub fn manual() -> String {
    let mut text = String::from(".SH ENVIRONMENT\n");
    for variable in environment::ALL.iter().filter(|variable| variable.audience == Audience::User) {
        let _ = write!(text, ".TP\n\\fB{}\\fR={}\n", environment::text(variable.name), plain(variable.form));
        let _ = writeln!(text, "{}", plain(variable.meaning));
        for (word, meaning) in variable.words {
            let _ = write!(text, ".br\n\\fI{}\\fR: {}\n", plain(word), plain(meaning));
        }
    }
    text.push_str(".SH \"EXIT STATUS\"\nntux help exit-status lists them for each subcommand.\n");
    text
}

/// What roff would take for its own.
fn plain(text: &str) -> String {
    text.replace('\\', "\\\\").replace('-', "\\-").replace('\'', "\\(aq")
}

fn commands(command: &Command) -> String {
    let mut text =
        format!("# The command\n\n{MADE} `crates/cli/src`. Each subcommand has a manual page, and `ntux help`.\n");
    for subcommand in command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set()) {
        let mut alone = subcommand.clone().bin_name(format!("ntux {}", subcommand.get_name()));
        let help = alone.render_long_help().to_string();
        let about = help.lines().next().unwrap_or_default();
        let rest: Vec<_> = help.lines().skip(1).map(str::trim_end).collect();
        let usage = rest.join("\n");
        let _ = write!(
            text,
            "\n## ntux {}\n\n{about}\n\n```text\n{}\n```\n",
            subcommand.get_name(),
            usage.trim_matches('\n')
        );
    }
    text
}

fn variables() -> String {
    let mut text = format!(
        "# Environment variables\n\n{MADE} `crates/platform/src/environment.rs`, which the readers of the variables use, too; \
         `ntux help environment` prints it.\n\nThe options `--device`, `--spin` and `--log` of `ntux run` set `NTUX_DEVICE`, \
         `NTUX_SPIN` and `NTUX_LOG` for the program and for every program that it starts. Without the option, a variable that is \
         already set keeps its value. `ntux run` puts its library in front of the list in `LD_PRELOAD`.\n"
    );
    for (audience, title) in [(Audience::User, "For users"), (Audience::Internal, "Internal")] {
        let _ = write!(text, "\n## {title}\n");
        if audience == Audience::Internal {
            text.push_str("\nOne part of ntux sets these for another. They can change or go with any version.\n");
        }
        for variable in environment::ALL.iter().filter(|variable| variable.audience == audience) {
            let name = environment::text(variable.name);
            let _ = write!(text, "\n### {name}\n\n`{name}={}`\n\n{}\n", variable.form, variable.meaning);
            if !variable.words.is_empty() {
                text.push_str("\n| value | |\n| --- | --- |\n");
            }
            for (word, meaning) in variable.words {
                let _ = writeln!(text, "| `{word}` | {meaning} |");
            }
        }
    }
    text
}

fn statuses() -> String {
    let mut text = format!(
        "# Exit status\n\n{MADE} `crates/cli/src/status.rs`, whose numbers the command returns; `ntux help exit-status` prints it. A \
         situation has the same status in all subcommands.\n\n{}\n\n| ntux | status | when |\n| --- | --- | --- |\n",
        status::ABOUT
    );
    for statuses in status::ALL {
        for (code, when) in statuses.when {
            let _ = writeln!(text, "| `{}` | {code} | {when} |", statuses.command);
        }
    }
    text
}
