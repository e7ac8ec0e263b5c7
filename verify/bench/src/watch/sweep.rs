// SPDX-License-Identifier: MIT OR Apache-2.0
//! One thread writes a share of the pages, once each, in random order; then they are listed and reset in one step.

use std::io;

use ntux_platform::clock::monotonic_ns;
use serde::Serialize;

use super::subject::{ALL, Subject, UNTRACKED};
use super::{Spread, progress};

/// How one subject did at one size and share.
#[derive(Debug, Serialize)]
pub(crate) struct Swept {
    pub(crate) subject: &'static str,
    pub(crate) pages: usize,
    pub(crate) percent: usize,
    /// Nanoseconds for each first write.
    pub(crate) write_ns: Spread,
    /// Microseconds to list and reset.
    pub(crate) get_us: Spread,
    /// Why there are no numbers.
    pub(crate) impossible: Option<&'static str>,
}

pub(crate) fn run(quick: bool) -> io::Result<Vec<Swept>> {
    let sizes: &[usize] = if quick { &[1080] } else { &[1080, 8192, 262_144] };
    let mut all = Vec::new();
    for &pages in sizes {
        for percent in [1, 10, 100] {
            progress(&format!("sweep, {percent} % of {pages} pages"));
            for subject in ALL {
                all.push(measure(subject, pages, percent, quick)?);
            }
        }
    }
    Ok(all)
}

fn measure(name: &'static str, pages: usize, percent: usize, quick: bool) -> io::Result<Swept> {
    let mut swept = Swept {
        subject: name,
        pages,
        percent,
        write_ns: Spread::default(),
        get_us: Spread::default(),
        impossible: None,
    };
    // Written pages with clean ones between need two mappings each.
    if name == super::subject::TEXTBOOK && pages > 30_000 && percent > 9 {
        swept.impossible = Some("more mappings than a process may have");
        return Ok(swept);
    }
    let rounds = if quick { 3 } else { (400_000 / pages).clamp(5, 60) };
    let mut subject = Subject::open(name, pages)?;
    let mut order: Vec<usize> = (0..pages).collect();
    let mut addresses = vec![0; pages];
    let (mut writes, mut gets) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        shuffle(&mut order, round as u64 + 1);
        let chosen = &order[..pages * percent / 100];
        let start = monotonic_ns();
        chosen.iter().for_each(|&page| subject.write(page));
        let written = monotonic_ns();
        let count = subject.get(&mut addresses, true)?;
        let listed = monotonic_ns();
        let least = if name == UNTRACKED { 0 } else { chosen.len() };
        if count < least {
            return Err(io::Error::other(format!("{name} listed {count} of {least} written pages")));
        }
        writes.push((written - start) as f64 / chosen.len() as f64);
        gets.push((listed - written) as f64 / 1000.0);
    }
    (swept.write_ns, swept.get_us) = (Spread::of(writes), Spread::of(gets));
    Ok(swept)
}

/// The same order for every subject.
fn shuffle(order: &mut [usize], seed: u64) {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    for index in (1..order.len()).rev() {
        order.swap(index, super::writers::xorshift(&mut state) as usize % (index + 1));
    }
}
