// SPDX-License-Identifier: MIT OR Apache-2.0
//! The commands of the device program, besides the list of cases.

use std::fs;
use std::process::{Command as Program, ExitCode};

use clap::Parser;

use crate::count;
use crate::random::program::Program as Steps;
use crate::random::{Kind, isolate, shrink, transcript};

/// How many differing programs are shown in full.
const SHOWN: usize = 5;

/// What the device program does besides running the list of cases.
#[derive(Parser)]
#[command(name = "ntsync-conformance")]
pub enum Command {
    /// Perform random programs and print their transcripts, one line for each
    Random {
        /// Which of them
        #[command(flatten)]
        which: Which,
        /// Only the steps at these places of each program
        #[arg(long, value_delimiter = ',')]
        steps: Option<Vec<usize>>,
    },
    /// Print random programs for a reader
    Show {
        /// Which of them
        #[command(flatten)]
        which: Which,
    },
    /// Compare the transcripts of two files; succeed if they are the same
    Compare {
        /// The file of the one that is right
        right: String,
        /// The file of the one that is judged
        judged: String,
    },
    /// Count the instructions of each operation (in an emulator that counts them)
    Count {
        /// Only the system calls that ntux makes in some of them, without a device
        #[arg(long)]
        floor: bool,
    },
    /// Print the counts of three files as tables
    Table {
        /// What `count` printed on the driver
        driver: String,
        /// What `count` printed on ntux
        ntux: String,
        /// What `count --floor` printed
        floor: String,
        /// As JSON: each operation with its counts
        #[arg(long)]
        json: bool,
    },
    /// Find a small part of each program about which this device and the one of another command differ
    Shrink {
        /// Which of them
        #[command(flatten)]
        which: Which,
        /// The command, with its arguments, that runs this program on the other device
        #[arg(last = true, required = true)]
        against: Vec<String>,
    },
}

/// Which random programs.
#[derive(clap::Args, Clone)]
pub struct Which {
    /// single (one thread) or together (several); both if none is given
    #[arg(long, value_parser = |name: &str| Kind::named(name).ok_or("single or together"))]
    kind: Option<Kind>,
    /// The first seed
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// How many seeds
    #[arg(long, default_value_t = 1)]
    count: u64,
}

impl Which {
    fn programs(&self) -> impl Iterator<Item = (Kind, u64, Steps)> {
        let kinds = self.kind.map_or(vec![Kind::Single, Kind::Together], |kind| vec![kind]);
        let seeds = self.seed..self.seed + self.count;
        kinds.into_iter().flat_map(move |kind| seeds.clone().map(move |seed| (kind, seed, kind.program(seed))))
    }
}

/// The command that the command line asks for; none if it is about the list of cases.
pub fn asked() -> Option<Command> {
    let first = std::env::args().nth(1)?;
    ["random", "show", "compare", "shrink", "count", "table"].contains(&first.as_str()).then(Command::parse)
}

impl Command {
    /// Does it.
    pub fn run(self) -> ExitCode {
        let succeeded = match self {
            Command::Random { which, steps } => random(&which, steps.as_deref()),
            Command::Show { which } => show(&which),
            Command::Compare { right, judged } => compare(&right, &judged),
            Command::Shrink { which, against } => shrink_each(&which, &against),
            Command::Count { floor: true } => count::floor().map(|counts| print_json(&counts)),
            Command::Count { floor: false } => count::all().map(|counts| print_json(&counts)),
            Command::Table { driver, ntux, floor, json } => table([&driver, &ntux, &floor], json),
        };
        match succeeded {
            Ok(true) => ExitCode::SUCCESS,
            Ok(false) => ExitCode::FAILURE,
            Err(message) => {
                eprintln!("ntsync-conformance: {message}");
                ExitCode::from(2)
            }
        }
    }
}

fn read(path: &str) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))
}

fn print_json(value: &(impl serde::Serialize + ?Sized)) -> bool {
    println!("{}", serde_json::to_string(value).expect("numbers and names"));
    true
}

fn table(files: [&str; 3], json: bool) -> Result<bool, String> {
    let counts = |path: &str| -> Result<count::Counts, String> {
        serde_json::from_str(&read(path)?).map_err(|error| format!("{path}: {error}"))
    };
    let [driver, ntux, floor] = files;
    let rows = count::rows(&counts(driver)?, &counts(ntux)?, &counts(floor)?);
    if json {
        return Ok(print_json(&rows));
    }
    print!("{}", count::table(&rows));
    Ok(true)
}

fn random(which: &Which, steps: Option<&[usize]>) -> Result<bool, String> {
    for (kind, seed, mut program) in which.programs() {
        if let Some(steps) = steps {
            program = program.only(steps);
        }
        println!("{}", transcript::line(kind, seed, &program, &isolate::transcript(&program)));
    }
    Ok(true)
}

fn show(which: &Which) -> Result<bool, String> {
    for (kind, seed, program) in which.programs() {
        println!("{} {seed}:\n{program}", kind.name());
    }
    Ok(true)
}

fn compare(right: &str, judged: &str) -> Result<bool, String> {
    let (right, judged) = (transcript::parse(&read(right)?)?, transcript::parse(&read(judged)?)?);
    let report = transcript::compare(&right, &judged)?;
    for (kind, seed, text) in report.different.iter().take(SHOWN) {
        println!("{} {seed} differs:\n{text}", kind.name());
    }
    for (kind, seed, _) in &report.different {
        println!("DIFFERS {} {seed}", kind.name());
    }
    println!("random programs: {} compared, {} differ", report.compared, report.different.len());
    Ok(report.different.is_empty())
}

fn shrink_each(which: &Which, against: &[String]) -> Result<bool, String> {
    let mut same = true;
    for (kind, seed, program) in which.programs() {
        let theirs = |program: &Steps| elsewhere(against, kind, seed, program);
        let differ = |program: &Steps| theirs(program).is_ok_and(|theirs| theirs != isolate::transcript(program));
        if !differ(&program) {
            println!("{} {seed}: no difference", kind.name());
            continue;
        }
        same = false;
        let small = shrink::shrink(&program, differ);
        let sides = [("here", &*isolate::transcript(&small)), ("other", &*theirs(&small)?)];
        let text = transcript::difference(&small, sides).unwrap_or_else(|| "not the same each time\n".to_string());
        println!("{} {seed} differs, {} of {} steps:\n{text}", kind.name(), small.steps.len(), program.steps.len());
    }
    Ok(same)
}

/// The transcript that the other command gives for a part of the program of a seed.
fn elsewhere(command: &[String], kind: Kind, seed: u64, program: &Steps) -> Result<String, String> {
    let places: Vec<String> = program.places().iter().map(usize::to_string).collect();
    let output = Program::new(&command[0])
        .args(&command[1..])
        .args(["random", "--kind", kind.name(), "--seed", &seed.to_string(), "--steps", &places.join(",")])
        .output()
        .map_err(|error| format!("{}: {error}", command[0]))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    match transcript::parse(&text)?.remove(&(kind, seed)) {
        Some((_, transcript)) => Ok(transcript),
        None => Err(format!("{} gave no transcript: {}", command[0], String::from_utf8_lossy(&output.stderr))),
    }
}
