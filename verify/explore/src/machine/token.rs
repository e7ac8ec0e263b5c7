// SPDX-License-Identifier: MIT OR Apache-2.0
//! A token replays an execution: the program, the planted bug if any, and which thread ran for how long.

use std::fmt::{Display, Formatter};
use std::str::FromStr;

use super::Choice;

/// A choice and the number of stops that it passed.
pub type Step = (Choice, u32);

/// A program and its schedule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Token {
    /// Name of the program, with `+bug` if one was planted.
    pub program: String,
    /// What happened, in order.
    pub schedule: Vec<Step>,
}

impl Display for Token {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/", self.program)?;
        let mut steps = self.schedule.iter().copied().peekable();
        let mut separator = "";
        while let Some((choice, mut count)) = steps.next() {
            while let (Choice::Run(_), Some((_, more))) = (choice, steps.next_if(|next| next.0 == choice)) {
                count += more;
            }
            f.write_str(separator)?;
            separator = ".";
            match choice {
                Choice::Run(thread) => write!(f, "{thread}x{count}")?,
                Choice::Deadline(thread) => write!(f, "d{thread}x{count}")?,
                Choice::Interrupt(thread) => write!(f, "i{thread}x{count}")?,
                Choice::Die(thread) => write!(f, "k{thread}x{count}")?,
                Choice::End => f.write_str("e")?,
            }
        }
        Ok(())
    }
}

impl FromStr for Token {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (program, schedule) = text.split_once('/').ok_or("a token is PROGRAM/SCHEDULE")?;
        let steps = schedule.split('.').filter(|step| !step.is_empty());
        let schedule = steps.map(|step| parse(step).ok_or(format!("not a step: {step}"))).collect::<Result<_, _>>()?;
        Ok(Self { program: program.to_owned(), schedule })
    }
}

fn parse(step: &str) -> Option<Step> {
    if step == "e" {
        return Some((Choice::End, 1));
    }
    let kind = step.trim_start_matches(|c: char| c.is_ascii_alphabetic());
    let (thread, count) = kind.split_once('x')?;
    let (thread, count) = (thread.parse().ok()?, count.parse().ok()?);
    let choice = match &step[..step.len() - kind.len()] {
        "" => Choice::Run(thread),
        "d" => Choice::Deadline(thread),
        "i" => Choice::Interrupt(thread),
        "k" => Choice::Die(thread),
        _ => return None,
    };
    Some((choice, count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_survives_being_printed() {
        let schedule =
            [Choice::Run(0), Choice::Deadline(1), Choice::Interrupt(2), Choice::Die(1)].map(|choice| (choice, 3));
        let schedule: Vec<Step> = schedule.into_iter().chain([(Choice::End, 1)]).collect();
        let token = Token { program: "a+bug".into(), schedule };
        assert_eq!(token.to_string(), "a+bug/0x3.d1x3.i2x3.k1x3.e");
        assert_eq!(token.to_string().parse(), Ok(token));
        assert!("a/0y4".parse::<Token>().is_err());
    }

    #[test]
    fn runs_of_one_thread_are_joined() {
        let token = Token { program: "a".into(), schedule: vec![(Choice::Run(0), 4), (Choice::Run(0), 2)] };
        assert_eq!(token.to_string(), "a/0x6");
    }
}
