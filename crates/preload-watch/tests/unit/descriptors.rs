// SPDX-License-Identifier: MIT OR Apache-2.0
//! The unit tests of `src/descriptors.rs`.

use super::*;
use std::os::fd::AsRawFd;

#[test]
fn paths_say_what_a_descriptor_is() {
    let is_own = |number: &[u8]| number == b"12";
    for path in ["/proc/12/pagemap", "/proc/7/pagemap", "/proc/7/task/12/pagemap", "/mnt/proc/12/pagemap"] {
        assert_eq!(kind_of(path.as_bytes(), is_own), Kind::Pagemap, "{path}");
    }
    for path in ["/proc/12/clear_refs", "/proc/12/task/13/clear_refs"] {
        assert_eq!(kind_of(path.as_bytes(), is_own), Kind::OwnClearRefs, "{path}");
    }
    for path in ["/proc/13/clear_refs", "/proc/13/task/12/clear_refs", "clear_refs", "/proc/12/maps", ""] {
        assert_eq!(kind_of(path.as_bytes(), is_own), Kind::Ordinary, "{path}");
    }
}

#[test]
fn descriptors_are_asked_and_ordinary_ones_remembered() {
    let file = std::fs::File::open("/proc/thread-self/pagemap").unwrap();
    assert_eq!(kind(file.as_raw_fd()), Kind::Pagemap);
    assert!(!is_ordinary(file.as_raw_fd()));
    let file = std::fs::OpenOptions::new().write(true).open("/proc/self/clear_refs").unwrap();
    assert_eq!(kind(file.as_raw_fd()), Kind::OwnClearRefs);
    std::thread::spawn(|| {
        // Beside what /proc lists.
        let by_thread = format!("/proc/{}/clear_refs", ntux_platform::liveness::thread_id());
        let file = std::fs::OpenOptions::new().write(true).open(by_thread).unwrap();
        assert_eq!(kind(file.as_raw_fd()), Kind::OwnClearRefs);
    })
    .join()
    .unwrap();
    let file = std::fs::File::open("/proc/self/maps").unwrap();
    assert_eq!(kind(file.as_raw_fd()), Kind::Ordinary);
    assert!(is_ordinary(file.as_raw_fd()));
    forget(file.as_raw_fd());
    assert!(!is_ordinary(file.as_raw_fd()));
    for fd in [-1, c_int::MAX, REMEMBERED as c_int] {
        assert_eq!(kind(fd), Kind::Ordinary);
        assert!(!is_ordinary(fd), "out of range");
    }
}
