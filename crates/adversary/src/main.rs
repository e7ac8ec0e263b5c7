//! `ntux-adversary`: what can be done to processes that use ntux, and whether they survive it.

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("ntux-adversary is about Linux processes");
}

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    use clap::{Parser, Subcommand};
    use ntux_adversary::scribble;

    /// What can be done to processes that use ntux, and whether they survive it.
    #[derive(Parser)]
    struct Cli {
        #[command(subcommand)]
        command: Command,
    }

    #[derive(Subcommand)]
    enum Command {
        /// Write rubbish into an arena while victims use it
        Scribble(scribble::Arguments),
        /// The victim of `scribble --mode device`
        #[command(hide = true)]
        UseDevice(scribble::device::Program),
    }

    match Cli::parse().command {
        Command::Scribble(arguments) => scribble::run(&arguments),
        Command::UseDevice(program) => {
            program.run();
            std::process::ExitCode::SUCCESS
        }
    }
}
