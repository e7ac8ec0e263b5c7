// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the contract of a system promises: this system keeps it, and the checks notice one that does not.
#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "a test is no part of the model")]

#[path = "contract/deviation.rs"]
mod deviation;
#[path = "skips/skips.rs"]
mod skips;
#[path = "contract/suite/mod.rs"]
mod suite;

use std::sync::Mutex;
use std::time::Duration;

use deviation::{Deviating, Deviation};
use ntux_platform::Here;
use skips::skip;
use suite::checks;

/// A child of one check would keep the descriptors, and so the locks, of another one.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

#[test]
fn this_system_keeps_the_contract() {
    let _alone = ONE_AT_A_TIME.lock();
    let mut broken = Vec::new();
    for check in checks::<Here>() {
        if let Err(wrong) = check.run(Duration::from_secs(60)) {
            broken.push(format!("{}: {wrong}", check.name));
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

/// One after the other: a deviation holds for the whole process.
#[test]
fn each_deviation_is_noticed_by_its_check() {
    let _alone = ONE_AT_A_TIME.lock();
    let checks = checks::<Deviating>();
    for (deviation, name) in Deviation::ALL {
        let check = checks.iter().find(|check| check.name == *name).expect("there is such a check");
        deviation::choose(None);
        assert_eq!(check.run(Duration::from_secs(60)), Ok(()), "{name}, before {deviation:?}");
        if name.starts_with("ends:") && suite::ends::has_descriptors::<Here>() == Ok(false) {
            skip(
                "process-descriptors",
                format!("this system has no descriptors of processes, so {deviation:?} was not tried"),
            );
            continue;
        }
        deviation::choose(Some(*deviation));
        let outcome = check.run(Duration::from_secs(2));
        deviation::choose(None);
        assert!(outcome.is_err(), "{deviation:?} is not noticed by \"{name}\"");
        println!("{deviation:?}: {}", outcome.unwrap_err());
    }
}
