// SPDX-License-Identifier: MIT OR Apache-2.0
//! The report for people.

use super::facts::{Call, Facts, Role};
use super::report::Report;
use super::watch::Watch;
use crate::page::{NAME_WIDTH, Page};

/// The whole report.
pub fn render(report: &Report) -> String {
    let mut page = Page::with_names_of(NAME_WIDTH);
    if let Some(program) = &report.program {
        program.render(&mut page);
        return page.into_text();
    }
    let facts = &report.facts;
    page.line(&format!("ntux {} on Linux {} ({})", facts.ntux, facts.kernel.release, facts.kernel.architecture));
    page.title("The kernel's driver");
    page.fact(facts.device.state == "usable", facts.device.path, &facts.device.meaning);
    page.title("What ntux's own device needs");
    page.calls(facts, Role::Required);
    page.fact(facts.processor.wide_compare_exchange, "16-byte exchange", "an object changes in one step");
    page.title("What makes it better");
    page.calls(facts, Role::Improves);
    page.title("What it does not use");
    page.calls(facts, Role::Unused);
    page.title("Futexes of the crate ntux-futex and of ntux.h (in a domain all but memory nodes are exact)");
    page.futexes(report);
    page.title("Descriptors of queues and objects");
    page.setting("sleeps by", &format!("{}: {}", report.wake_descriptors.by, report.wake_descriptors.why));
    page.title("Mutexes whose owner dies");
    page.setting("told by", &format!("{}: {}", report.owner_deaths.by, report.owner_deaths.why));
    page.title("This process");
    page.setting("processor cores", &facts.processor.cores.to_string());
    page.setting("descriptors", &descriptors(facts));
    page.setting("seccomp", &seccomp(facts));
    page.setting("vm.memfd_noexec", &facts.memfd_noexec.map_or("not there".to_owned(), |value| value.to_string()));
    let library = facts.library.as_ref().map_or("not found".to_owned(), |path| path.display().to_string());
    page.setting("library", &library);
    page.watch(&report.watch);
    page.choice(report);
    page.into_text()
}

fn descriptors(facts: &Facts) -> String {
    format!("{} now, {} at most; every object takes one", facts.limits.descriptors_soft, facts.limits.descriptors_hard)
}

fn seccomp(facts: &Facts) -> String {
    let filters = match (facts.seccomp.mode, facts.seccomp.filters) {
        ("off", _) => return "no filter".to_owned(),
        ("filter", Some(count)) => format!("{count} filter(s) decide about each call"),
        ("filter", None) => "a filter decides about each call".to_owned(),
        ("strict", _) => "nearly every call is forbidden".to_owned(),
        _ => "unknown: /proc does not say".to_owned(),
    };
    match facts.seccomp.refused.is_empty() {
        true => format!("{filters}; none of the calls above is refused"),
        false => format!("{filters}; these calls were refused, or are missing: {}", facts.seccomp.refused.join(", ")),
    }
}

impl Page {
    fn calls(&mut self, facts: &Facts, role: Role) {
        for call in facts.calls.iter().filter(|call| call.role == role) {
            self.fact(call.works(), call.name, &meaning(call));
        }
    }

    fn watch(&mut self, watch: &Watch) {
        self.title("Write watches: which pages a program has written");
        for mechanism in &watch.mechanisms {
            self.fact(mechanism.works, mechanism.name, &mechanism.meaning);
        }
        let soft_dirty = &watch.soft_dirty;
        self.fact(soft_dirty.by_kernel || soft_dirty.by_ntux, "soft-dirty bits", soft_dirty.meaning);
        let Some(chosen) = watch.chosen else {
            return self.line("  none of them works");
        };
        self.setting("chosen", &format!("{chosen}, {}", watch.why));
        let chosen = watch.mechanisms.iter().find(|mechanism| mechanism.name == chosen);
        for capability in chosen.iter().flat_map(|mechanism| &mechanism.capabilities) {
            self.fact(capability.has, capability.name, capability.meaning);
        }
    }

    fn futexes(&mut self, report: &Report) {
        if report.futexes.is_empty() {
            self.paragraph("  ", 4, "not tested: futex_waitv would kill this process");
        }
        for row in &report.futexes {
            let answer = row.how.map_or(row.answer.to_owned(), |how| format!("{}: {how}", row.answer));
            self.paragraph(&format!("  {:<34}", row.operation), 36, &answer);
        }
    }

    fn choice(&mut self, report: &Report) {
        let choice = &report.choice;
        let device = match choice.device {
            Some("kernel") => "the kernel's driver",
            Some(_) => "ntux's own device, in shared memory",
            None => "none",
        };
        self.title("What a program gets under `ntux run`");
        self.paragraph("  ", 4, &format!("{device}: {}", choice.why));
        for other in choice.others.iter().filter(|other| matches!(other.mechanism, "kernel" | "user")) {
            let name = if other.mechanism == "kernel" { "the kernel's driver" } else { "ntux's own device" };
            self.paragraph("  ", 4, &format!("not {name}: {}", other.why_not));
        }
        let multiple = &report.wait_multiple;
        let answer = if multiple.by == "kernel" { "the kernel answers" } else { "becomes futex_waitv" };
        self.paragraph("  ", 4, &format!("FUTEX_WAIT_MULTIPLE, operation 31 of futex: {answer}: {}", multiple.why));
        for warning in &choice.warnings {
            self.paragraph("  ", 4, &format!("note: {warning}"));
        }
        let verdict = if choice.can_serve { "Programs can be served." } else { "Programs cannot be served." };
        self.title(verdict);
    }
}

fn meaning(call: &Call) -> String {
    if call.works() { call.purpose.to_owned() } else { format!("{}; for: {}", call.meaning(), call.purpose) }
}
