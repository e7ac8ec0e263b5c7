// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which device a program would get, and why not the other.

use serde::Serialize;

use super::facts::{Facts, Role};
use crate::run::Device as Wish;

/// What ntux would do on this machine.
#[derive(Serialize)]
pub struct Choice {
    /// True if a program started by `ntux run` finds a working device.
    pub can_serve: bool,
    /// `kernel`, `user`, or nothing.
    pub device: Option<&'static str>,
    /// Why this one.
    pub why: String,
    /// What was not chosen.
    pub others: Vec<Other>,
    /// What works less well than it could.
    pub warnings: Vec<String>,
}

/// A mechanism that was not chosen.
#[derive(Serialize)]
pub struct Other {
    pub mechanism: &'static str,
    pub why_not: String,
}

impl Choice {
    /// Decides as the device itself does when a program opens it.
    pub fn make(wish: Wish, facts: &Facts) -> Choice {
        let no_kernel = kernel_obstacle(facts);
        let no_user = user_obstacles(facts);
        let device = match wish {
            _ if facts.library.is_none() => None,
            Wish::Auto if no_kernel.is_none() => Some("kernel"),
            Wish::Auto | Wish::User if no_user.is_none() => Some("user"),
            Wish::Kernel if no_kernel.is_none() => Some("kernel"),
            _ => None,
        };
        Choice {
            can_serve: device.is_some(),
            device,
            why: why(device, wish, facts),
            others: others(device, wish, no_kernel, no_user, facts),
            warnings: if device == Some("user") { warnings(facts) } else { Vec::new() },
        }
    }
}

fn kernel_obstacle(facts: &Facts) -> Option<String> {
    (facts.device.state != "usable").then(|| format!("{}: {}", facts.device.path, facts.device.meaning))
}

/// Everything that ntux's own device lacks here, in one sentence.
fn user_obstacles(facts: &Facts) -> Option<String> {
    let mut missing: Vec<String> = facts
        .calls
        .iter()
        .filter(|call| call.role == Role::Required && !call.works())
        .map(|call| format!("{}: {}", call.name, call.meaning()))
        .collect();
    if !facts.processor.wide_compare_exchange {
        missing.push("this processor has no compare-exchange of 16 bytes".to_owned());
    }
    (!missing.is_empty()).then(|| missing.join("; "))
}

fn why(device: Option<&str>, wish: Wish, facts: &Facts) -> String {
    match (device, wish) {
        _ if facts.library.is_none() => {
            let reason = facts.no_library.as_deref().unwrap_or_default();
            format!("ntux run cannot find libntux_preload.so, which it loads into programs: {reason}")
        }
        (Some("kernel"), Wish::Auto) => "the kernel's driver exists and answers".to_owned(),
        (Some("user"), Wish::Auto) => {
            "the kernel's driver cannot be used, and everything that ntux's own device needs works".to_owned()
        }
        (Some(_), _) => "you asked for it, and everything that it needs works".to_owned(),
        (None, _) => "something that it needs is missing, see below".to_owned(),
    }
}

fn others(
    device: Option<&str>,
    wish: Wish,
    no_kernel: Option<String>,
    no_user: Option<String>,
    facts: &Facts,
) -> Vec<Other> {
    let mut others = Vec::new();
    let would_work = || match (device, wish) {
        (None, _) => "the machine could, if the library were installed".to_owned(),
        (_, Wish::Auto) => {
            "it would work, but the kernel's driver is preferred; choose it with --device user".to_owned()
        }
        _ => format!("it would work, but you asked for '{}'", wish.name()),
    };
    if device != Some("kernel") {
        others.push(Other { mechanism: "kernel", why_not: no_kernel.unwrap_or_else(would_work) });
    }
    if device != Some("user") {
        others.push(Other { mechanism: "user", why_not: no_user.unwrap_or_else(would_work) });
    }
    let unused = facts.calls.iter().filter(|call| call.role == Role::Unused);
    others.extend(unused.map(|call| Other {
        mechanism: call.name,
        why_not: if call.works() {
            call.purpose.to_owned()
        } else {
            format!("{}; also, {}", call.purpose, call.meaning())
        },
    }));
    others
}

fn warnings(facts: &Facts) -> Vec<String> {
    /// Large games have needed at least this many descriptors.
    const DESCRIPTORS_ENOUGH: u64 = 4096;
    let mut warnings: Vec<String> = facts
        .calls
        .iter()
        .filter(|call| call.role == Role::Improves && !call.works())
        .map(|call| {
            format!("{}: {}. ntux works without it, but loses this: {}", call.name, call.meaning(), call.purpose)
        })
        .collect();
    if facts.limits.descriptors_hard < DESCRIPTORS_ENOUGH {
        warnings.push(format!(
            "a process may open only {} descriptors, and every object takes one (ulimit -n)",
            facts.limits.descriptors_hard
        ));
    }
    warnings
}

#[cfg(test)]
#[path = "../../tests/unit/doctor/choice.rs"]
mod tests;
