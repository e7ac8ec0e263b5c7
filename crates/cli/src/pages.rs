// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ntux pages`: writes the manual pages and shell completions, for `make build`. Not shown to users.

use std::fs;
use std::io;
use std::path::PathBuf;

use clap::{Args, Command};
use clap_complete::Shell;

use crate::output;
use crate::reference;

/// Write the manual pages and completions below a directory, laid out as below PREFIX/share.
#[derive(Args)]
pub struct Arguments {
    directory: PathBuf,
    /// Write the reference pages of the documents there, and nothing else.
    #[arg(long)]
    reference: bool,
}

/// Where each shell looks below `share`.
const COMPLETIONS: [(Shell, &str, &str); 3] = [
    (Shell::Bash, "bash-completion/completions", "ntux"),
    (Shell::Zsh, "zsh/site-functions", "_ntux"),
    (Shell::Fish, "fish/vendor_completions.d", "ntux.fish"),
];

/// Writes the pages and completions of `command`.
pub fn write(arguments: &Arguments, command: &Command) -> io::Result<()> {
    let command = shown(command);
    if arguments.reference {
        fs::create_dir_all(&arguments.directory)?;
        let write = |(name, text): (&str, String)| output::write(&arguments.directory.join(name), text.as_bytes());
        return reference::pages(&command).into_iter().try_for_each(write);
    }
    for (shell, place, name) in COMPLETIONS {
        let mut text = Vec::new();
        clap_complete::generate(shell, &mut command.clone(), "ntux", &mut text);
        let directory = arguments.directory.join(place);
        fs::create_dir_all(&directory)?;
        output::write(&directory.join(name), &text)?;
    }
    let manual = arguments.directory.join("man/man1");
    fs::create_dir_all(&manual)?;
    // It writes them itself.
    let beside = manual.with_extension("part");
    let _ = fs::remove_dir_all(&beside);
    fs::create_dir(&beside)?;
    clap_mangen::generate_to(command, &beside)?;
    let first = beside.join("ntux.1");
    let text = fs::read_to_string(&first)? + &reference::manual();
    fs::write(&first, text)?;
    for page in fs::read_dir(&beside)? {
        let page = page?;
        fs::rename(page.path(), manual.join(page.file_name()))?;
    }
    fs::remove_dir(&beside)
}

/// The command without its hidden subcommands, which completions would offer.
fn shown(command: &Command) -> Command {
    Command::new("ntux")
        .version(env!("CARGO_PKG_VERSION"))
        .about(command.get_about().cloned().unwrap_or_default())
        .after_help(command.get_after_help().cloned().unwrap_or_default())
        .disable_help_subcommand(true)
        .subcommands(command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set()).cloned())
}
