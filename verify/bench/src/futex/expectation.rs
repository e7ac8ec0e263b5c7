// SPDX-License-Identifier: MIT OR Apache-2.0
//! The promises, their results, and the rows in which the library was slower.

use super::contender::{ALL, Contender, KERNEL, KERNEL_SHARED, NATIVE, SHARED, Side, TABLE};
use super::tokens::{EVENTFD, Load, SYNC, Tokens};
use super::{Row, seed, single};
use crate::expectation::Expectation;

/// So many threads and more make the rows that the promise about eventfds is for.
const MANY_CONSUMERS: usize = 16;

pub(crate) fn find<'a>(rows: &'a [Row], scenario: &str, contender: &str) -> Option<&'a Row> {
    rows.iter().find(|row| row.scenario == scenario && row.contender == contender)
}

/// How many times as fast as its rival a contender was, by the medians.
fn factor(rows: &[Row], scenario: &str, ours: Contender, rival: Contender) -> Option<f64> {
    Some(find(rows, scenario, rival.name)?.sample.median / find(rows, scenario, ours.name)?.sample.median)
}

/// Every promise for which this run has the numbers.
pub(crate) fn all(rows: &[Row], tokens: &[Tokens]) -> Vec<Expectation> {
    let mut wanted = vec![(single::WAKE_NOBODY.to_owned(), TABLE, KERNEL, 10.0)];
    wanted.extend([1, 8, 64, 128].map(|count| (single::leave_name(count), TABLE, KERNEL, 3.0)));
    wanted.push((seed::wake_name(800), TABLE, KERNEL, 1.0));
    wanted.push((seed::requeue_name(800), TABLE, KERNEL, 1.0));
    for (ours, rival) in [(NATIVE, KERNEL), (SHARED, KERNEL_SHARED)] {
        wanted.push((single::WAKE_NOBODY.to_owned(), ours, rival, 0.95));
        wanted.push((single::DIFFERS.to_owned(), ours, rival, 0.95));
    }
    let expectation = |(scenario, ours, rival, least): (String, Contender, Contender, f64)| {
        let found = factor(rows, &scenario, ours, rival)?;
        let promise = format!("{scenario}: {} at least {least} times as fast as {}", ours.name, rival.name);
        Some(Expectation { promise, found, is_kept: found >= least })
    };
    let mut all: Vec<_> = wanted.into_iter().filter_map(expectation).collect();
    all.extend(many_consumers(tokens));
    all
}

/// Eventfds beside the table, with many consumers.
fn many_consumers(tokens: &[Tokens]) -> impl Iterator<Item = Expectation> {
    let ours = tokens.iter().filter(|ours| ours.contender == TABLE.name);
    ours.filter(|ours| ours.load.consumers >= MANY_CONSUMERS && !ours.load.paced).filter_map(|ours| {
        let theirs = tokens.iter().find(|theirs| theirs.contender == EVENTFD && theirs.load == ours.load)?;
        let (found, load) = (ours.rate / theirs.rate, ours.load);
        let promise = format!(
            "{} producers, {} consumers, {} objects: {} at least 10 times the tokens of {EVENTFD}",
            load.producers, load.consumers, load.objects, TABLE.name
        );
        Some(Expectation { promise, found, is_kept: found >= 10.0 })
    })
}

/// Scenarios in which all our rounds were slower than all of the kernel's, where it has the size.
pub(crate) fn losses(rows: &[Row]) -> Vec<String> {
    let ours = |name: &str| ALL.into_iter().find(|one| one.name == name && one.side != Side::Kernel);
    let loss = |row: &Row| {
        let rival = find(rows, &row.scenario, ours(row.contender)?.rival().name)?;
        let times = row.sample.median / rival.sample.median;
        (row.sample.min > rival.sample.max)
            .then(|| format!("{}: {}, {times:.2} times the time of {}", row.scenario, row.contender, rival.contender))
    };
    rows.iter().filter_map(loss).collect()
}

/// Loads in which another design passed more tokens on than the table.
pub(crate) fn overtaken(tokens: &[Tokens]) -> Vec<String> {
    let ours = |theirs: &Tokens| tokens.iter().find(|ours| ours.contender == TABLE.name && ours.load == theirs.load);
    let is_rival = |theirs: &&Tokens| theirs.contender != SYNC && ALL.iter().all(|one| one.name != theirs.contender);
    let lost = |theirs: &Tokens| {
        let times = theirs.rate / ours(theirs)?.rate;
        let load = theirs.load;
        (times > 1.05 && !load.paced).then(|| {
            let Load { producers, consumers, objects, .. } = load;
            format!(
                "{producers} producers, {consumers} consumers, {objects} objects: {} passes {times:.2} times as many",
                theirs.contender
            )
        })
    };
    tokens.iter().filter(is_rival).filter_map(lost).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::futex::contender::DOMAIN;
    use crate::measure::Sample;

    fn row(contender: Contender, rounds: [f64; 3]) -> Row {
        let scenario = single::WAKE_NOBODY.to_owned();
        Row { scenario, contender: contender.name, sample: Sample::of_rounds(rounds.to_vec(), 1) }
    }

    #[test]
    fn a_promise_that_is_not_kept_and_a_loss_are_said() {
        let rows =
            [row(KERNEL, [100.0; 3]), row(TABLE, [10.1; 3]), row(KERNEL_SHARED, [5.0; 3]), row(DOMAIN, [6.0; 3])];
        let kept: Vec<bool> = all(&rows, &[]).iter().map(|expectation| expectation.is_kept).collect();
        assert_eq!(kept, [false]);
        assert_eq!(losses(&rows).len(), 1);
        let rows = [row(KERNEL, [100.0; 3]), row(TABLE, [10.0; 3])];
        assert!(all(&rows, &[])[0].is_kept);
        assert!(losses(&rows).is_empty());
    }
}
