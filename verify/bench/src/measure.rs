// SPDX-License-Identifier: MIT OR Apache-2.0
//! Measures one number: warm-up, calibration, several rounds, and their median, minimum and maximum.

use std::io;
use std::time::Duration;

use ntux_platform::clock::monotonic_ns;
use serde::{Deserialize, Serialize};

/// How much work goes into each number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// Rounds that count.
    pub(crate) rounds: usize,
    /// How long one round lasts, roughly.
    pub(crate) round: Duration,
    /// Steps of a round where each step is long (waking hundreds of threads).
    pub(crate) long_steps: usize,
}

impl Effort {
    pub(crate) const FULL: Self = Self { rounds: 7, round: Duration::from_millis(50), long_steps: 20 };
    /// For a smoke test: the numbers mean little.
    pub(crate) const QUICK: Self = Self { rounds: 3, round: Duration::from_millis(2), long_steps: 2 };

    pub(crate) fn round_ns(&self) -> u64 {
        self.round.as_nanos() as u64
    }
}

/// The rounds of one measurement, each divided by its iterations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Sample {
    pub(crate) median: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
    pub(crate) rounds: usize,
    /// Iterations of each round.
    pub(crate) iterations: u64,
}

impl Sample {
    /// From the result of each round.
    pub(crate) fn of_rounds(mut results: Vec<f64>, iterations: u64) -> Self {
        results.sort_by(f64::total_cmp);
        let rounds = results.len();
        Self { median: results[rounds / 2], min: results[0], max: results[rounds - 1], rounds, iterations }
    }

    /// A number that was counted, not timed.
    pub(crate) fn exact(value: f64, iterations: u64) -> Self {
        Self::of_rounds(vec![value], iterations)
    }
}

/// Times `operation`: nanoseconds for each call of it.
pub(crate) fn per_operation(effort: Effort, mut operation: impl FnMut() -> io::Result<()>) -> io::Result<Sample> {
    per_iteration(effort, |iterations| {
        let start = monotonic_ns();
        for _ in 0..iterations {
            operation()?;
        }
        Ok(monotonic_ns() - start)
    })
}

/// Times `run`, which does as many iterations as it is told and says how many nanoseconds they took.
pub(crate) fn per_iteration(effort: Effort, mut run: impl FnMut(u64) -> io::Result<u64>) -> io::Result<Sample> {
    let iterations = calibrate(effort, &mut run)?;
    let mut results = Vec::with_capacity(effort.rounds);
    for _ in 0..effort.rounds {
        results.push(run(iterations)? as f64 / iterations as f64);
    }
    Ok(Sample::of_rounds(results, iterations))
}

/// Does as many iterations as it is told and says how many nanoseconds they took.
pub(crate) type Timed<'a> = Box<dyn FnMut(u64) -> u64 + 'a>;

/// Times `operation`, later.
pub(crate) fn timed<'a, T>(mut operation: impl FnMut() -> T + 'a) -> Timed<'a> {
    Box::new(move |iterations| {
        let start = monotonic_ns();
        for _ in 0..iterations {
            std::hint::black_box(operation());
        }
        monotonic_ns() - start
    })
}

/// Times all of them in turns, a round of each after the other: what disturbs one disturbs its rivals, too.
pub(crate) fn in_turns(effort: Effort, subjects: &mut [Timed<'_>]) -> io::Result<Vec<Sample>> {
    let mut iterations = Vec::with_capacity(subjects.len());
    for run in subjects.iter_mut() {
        iterations.push(calibrate(effort, &mut |count| Ok(run(count)))?);
    }
    let mut results = vec![Vec::new(); subjects.len()];
    for _ in 0..effort.rounds {
        for ((run, &count), results) in subjects.iter_mut().zip(&iterations).zip(&mut results) {
            results.push(run(count) as f64 / count as f64);
        }
    }
    Ok(results.into_iter().zip(iterations).map(|(rounds, count)| Sample::of_rounds(rounds, count)).collect())
}

/// Doubles the iterations until a run is long enough to extrapolate from; that is the warm-up as well.
fn calibrate(effort: Effort, run: &mut impl FnMut(u64) -> io::Result<u64>) -> io::Result<u64> {
    let mut iterations = 1;
    loop {
        let elapsed = run(iterations)?.max(1);
        if elapsed >= effort.round_ns() / 4 {
            return Ok((iterations as f64 * effort.round_ns() as f64 / elapsed as f64).ceil() as u64);
        }
        iterations *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_the_middle_and_both_ends_of_its_rounds() {
        let sample = Sample::of_rounds(vec![3.0, 1.0, 9.0, 2.0, 4.0], 10);
        assert_eq!((sample.min, sample.median, sample.max, sample.rounds), (1.0, 3.0, 9.0, 5));
    }

    #[test]
    fn calibration_reaches_the_length_of_a_round() {
        let effort = Effort { rounds: 3, round: Duration::from_nanos(1000), long_steps: 1 };
        let sample = per_iteration(effort, |iterations| Ok(iterations * 7)).unwrap();
        assert_eq!((sample.median, sample.iterations), (7.0, 143));
    }

    #[test]
    fn an_operation_that_fails_gives_no_number() {
        assert!(per_operation(Effort::QUICK, || Err(io::ErrorKind::Other.into())).is_err());
    }
}
