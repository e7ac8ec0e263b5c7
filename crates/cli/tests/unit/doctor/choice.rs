// SPDX-License-Identifier: MIT OR Apache-2.0
//! The unit tests of `src/doctor/choice.rs`.

use super::super::facts::{Call, Device, Kernel, Limits, Processor, Seccomp};
use super::*;

fn machine(driver: &'static str, futex: &'static str) -> Facts {
    let errno = (futex != "works").then_some(1);
    let call = Call { name: "futex", role: Role::Required, answer: futex, errno, signal: None, purpose: "sleep" };
    Facts {
        ntux: "0",
        kernel: Kernel { release: "6.0".to_owned(), architecture: "x86_64" },
        device: Device { path: "/dev/ntsync", state: driver, errno: None, meaning: "so".to_owned() },
        calls: vec![call],
        processor: Processor { wide_compare_exchange: true, cores: 1 },
        seccomp: Seccomp { mode: "off", filters: None, refused: Vec::new() },
        limits: Limits { descriptors_soft: 1 << 20, descriptors_hard: 1 << 20 },
        memfd_noexec: None,
        library: Some("/lib/libntux_preload.so".into()),
        no_library: None,
    }
}

#[test]
fn the_choice_follows_the_wish_and_the_machine() {
    let cases = [
        (Wish::Auto, "usable", "works", Some("kernel")),
        (Wish::Auto, "absent", "works", Some("user")),
        (Wish::Auto, "absent", "forbidden", None),
        (Wish::Auto, "usable", "forbidden", Some("kernel")),
        (Wish::User, "usable", "works", Some("user")),
        (Wish::User, "usable", "forbidden", None),
        (Wish::Kernel, "usable", "works", Some("kernel")),
        (Wish::Kernel, "absent", "works", None),
    ];
    for (wish, driver, futex, expected) in cases {
        let choice = Choice::make(wish, &machine(driver, futex));
        assert_eq!(choice.device, expected, "{} on {driver}, {futex}", wish.name());
        assert_eq!(choice.can_serve, expected.is_some());
        for mechanism in ["kernel", "user"] {
            let rejected = choice.others.iter().any(|other| other.mechanism == mechanism);
            assert_eq!(rejected, expected != Some(mechanism), "{mechanism} is chosen or explained, not both");
        }
    }
}

#[test]
fn without_the_library_nothing_can_be_served() {
    let mut facts = machine("usable", "works");
    facts.library = None;
    facts.no_library = Some("is /proc mounted?".to_owned());
    let choice = Choice::make(Wish::Auto, &facts);
    assert!(!choice.can_serve);
    assert!(choice.why.contains("libntux_preload.so") && choice.why.contains("/proc"));
}

#[test]
fn a_processor_without_the_wide_exchange_cannot_serve() {
    let mut facts = machine("absent", "works");
    facts.processor.wide_compare_exchange = false;
    assert_eq!(Choice::make(Wish::Auto, &facts).device, None);
}
