// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a thread that waits for a mutex learns that its owner died, as the core decides it for programs with this C library.

use ntux_platform::life::PAGE;
use ntux_platform::protection::page_size;
use ntux_platform::robust::Head;
use ntux_platform::without::Feature;
use serde::Serialize;

use super::facts::Facts;
use super::multiple::why_no_futex_waitv;

#[derive(Serialize)]
pub struct OwnerDeaths {
    /// `kernel`, or `looks` if who waits has to ask.
    pub by: &'static str,
    pub why: String,
}

impl OwnerDeaths {
    pub fn gather(facts: &Facts) -> OwnerDeaths {
        match why_not_the_kernel(facts) {
            None => {
                let why =
                    "it marks the owner's life by the robust list, and wakes who sleeps there (futex_waitv)".to_owned();
                OwnerDeaths { by: "kernel", why }
            }
            Some(why_not) => {
                OwnerDeaths { by: "looks", why: format!("at first after 1 ms, at last every 256 ms; {why_not}") }
            }
        }
    }
}

fn why_not_the_kernel(facts: &Facts) -> Option<&'static str> {
    why_no_futex_waitv(facts).or_else(|| match () {
        () if Feature::RobustList.is_left_out() => Some("NTUX_WITHOUT disables robust lists"),
        () if !Head::of_this_thread().is_present() => Some("this thread has no robust list"),
        () if !cfg!(target_env = "gnu") => Some("the robust list of this C library is not that of the GNU C library"),
        () if page_size() != PAGE => Some("pages are larger than 4 KiB"),
        () => None,
    })
}
