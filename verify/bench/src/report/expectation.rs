// SPDX-License-Identifier: MIT OR Apache-2.0
//! The promises of ntux, beside the results. A missed promise is a result and does not fail a run.

use serde::Serialize;

use super::{C, DEVICE, EVENTFD, RUST, Ratio, SERVER, WAITV, WAITV_COUNTED};
use crate::record::{Group, Record};
use crate::scenario::{names, uncontended, yardsticks};

/// A mutex pair by API costs at most this many pairs of 128-bit compare-exchanges.
const API_LIMIT: f64 = 1.5;
/// A mutex pair through two ioctls costs less than this part of one empty system call.
const DEVICE_LIMIT: f64 = 0.7;
/// Beyond this our median is behind the baseline's.
const LEVEL: f64 = 1.05;

/// A promise and whether it was kept.
#[derive(Debug, Serialize)]
pub(crate) struct Expectation {
    pub(crate) promise: String,
    pub(crate) found: String,
    pub(crate) kept: bool,
}

/// Every promise for which this run has the numbers.
pub(crate) fn all(records: &[Record], ratios: &[Ratio]) -> Vec<Expectation> {
    let mut expectations = Vec::new();
    for door in [RUST, C] {
        expectations.extend(mutex_pair(records, door, yardsticks::CAS_128, 2.0, API_LIMIT));
    }
    expectations.extend(mutex_pair(records, DEVICE, yardsticks::EMPTY_CALL, 1.0, DEVICE_LIMIT));
    for baseline in [WAITV, WAITV_COUNTED] {
        expectations.extend(level_with(records, ratios, baseline));
    }
    for baseline in [EVENTFD, SERVER] {
        expectations.extend(ahead_of(records, ratios, baseline));
    }
    for door in [RUST, C, DEVICE] {
        expectations.extend(system_calls(records, door));
    }
    expectations
}

fn mutex_pair(records: &[Record], door: &str, yardstick: &str, times: f64, limit: f64) -> Option<Expectation> {
    let pair = median(records, uncontended::MUTEX, door)?;
    let measure = times * median(records, yardstick, yardsticks::MACHINE)?;
    let times = if times > 1.0 { "two times " } else { "" };
    Some(Expectation {
        promise: format!("{door}: mutex lock + unlock within {limit} of {times}{yardstick}"),
        found: format!("{pair:.1} ns / {measure:.1} ns = {:.2}", pair / measure),
        kept: pair <= limit * measure,
    })
}

/// The contended scenarios, by API: nowhere behind the baseline.
fn level_with(records: &[Record], ratios: &[Ratio], baseline: &str) -> Option<Expectation> {
    let worst = worst(records, ratios, baseline)?;
    Some(Expectation {
        promise: format!("{RUST}: level with {baseline} in every contended scenario (within {LEVEL})"),
        found: format!("worst {:.2}: {}", worst.ratio, worst.scenario),
        kept: worst.ratio <= LEVEL,
    })
}

/// The contended scenarios, by API: ahead of the baseline everywhere.
fn ahead_of(records: &[Record], ratios: &[Ratio], baseline: &str) -> Option<Expectation> {
    let worst = worst(records, ratios, baseline)?;
    Some(Expectation {
        promise: format!("{RUST}: ahead of {baseline} in every contended scenario"),
        found: format!("worst {:.2}: {}", worst.ratio, worst.scenario),
        kept: worst.ratio < 1.0,
    })
}

fn worst<'a>(records: &[Record], ratios: &'a [Ratio], baseline: &str) -> Option<&'a Ratio> {
    let contended =
        |scenario: &str| records.iter().any(|record| record.group == Group::Contended && record.scenario == scenario);
    ratios
        .iter()
        .filter(|ratio| ratio.ours == RUST && ratio.peer == baseline && contended(&ratio.scenario))
        .max_by(|one, other| one.ratio.total_cmp(&other.ratio))
}

fn system_calls(records: &[Record], door: &str) -> Option<Expectation> {
    let calls = |name: &str| {
        let record = records
            .iter()
            .find(|record| record.group == Group::SystemCalls && record.scenario == name && record.peer == door);
        record.and_then(Record::sample).map(|sample| sample.median)
    };
    let satisfied: f64 = names::SATISFIED.iter().map(|name| calls(name)).sum::<Option<f64>>()?;
    let blocked = calls(names::BLOCKED_WAIT)?.max(calls(names::BLOCKED_ANY)?);
    let signal = calls(names::SIGNAL)?;
    Some(Expectation {
        promise: format!("{door}: no system call uncontended, 1 to sleep, 1 to wake a sleeper"),
        found: format!("{satisfied} uncontended, {blocked:.2} to sleep, {signal:.2} to wake"),
        kept: satisfied == 0.0 && blocked <= 1.0 && signal <= 1.0,
    })
}

fn median(records: &[Record], scenario: &str, peer: &str) -> Option<f64> {
    let record = records.iter().find(|record| record.scenario == scenario && record.peer == peer)?;
    record.sample().map(|sample| sample.median)
}
