// SPDX-License-Identifier: MIT OR Apache-2.0
//! The unit tests of `src/device/path.rs`.

use super::*;
use std::os::fd::AsRawFd;

/// In the kernel's own directory of devices, where this process need not be able to create anything.
#[test]
fn paths_that_mean_the_device() {
    let means = |path: &str| is_name(path.as_bytes()) && means_device(libc::AT_FDCWD, path.as_bytes(), true);
    for path in ["/dev/ntsync", "//dev/ntsync", "/dev//ntsync", "/./dev/./ntsync", "/dev/../dev/ntsync"] {
        assert!(means(path), "{path}");
    }
    for path in ["/proc/self/root/dev/ntsync", "/proc/self/../../dev/./ntsync"] {
        assert!(means(path), "{path}");
    }
    for path in ["ntsync", "/ntsync", "/dev/ntsync/", "/dev/xntsync", "/dev/a/ntsync", "/dev/ntsync/ntsync"] {
        assert!(!means(path), "{path}");
    }
    let in_directory = |directory: &str, path: &str| {
        let directory = std::fs::File::open(directory).unwrap();
        means_device(directory.as_raw_fd(), path.as_bytes(), true)
    };
    assert!(in_directory("/dev", "ntsync") && in_directory("/dev", "./ntsync") && in_directory("/dev", "/dev/ntsync"));
    assert!(in_directory("/", "dev/ntsync") && in_directory("/proc", "../dev/ntsync"));
    assert!(!in_directory("/proc", "ntsync") && !in_directory("/dev", "dev/ntsync"));
}

#[test]
fn links_are_followed_where_that_is_wanted() {
    let room = std::env::temp_dir().join(format!("ntux-links-{}", std::process::id()));
    std::fs::create_dir(&room).unwrap();
    let link = |target: &str, name: &str| std::os::unix::fs::symlink(target, room.join(name)).unwrap();
    link("/dev", "dev");
    link("/dev/ntsync", "ntsync");
    link("ntsync", "my-ntsync");
    link("dev/../dev/ntsync", "other-ntsync");
    link("round-ntsync", "round-ntsync");
    link("/dev/ntsync/", "slash-ntsync");
    link("/dev/null", "null-ntsync");
    let means = |name: &str, follow| means_device(libc::AT_FDCWD, room.join(name).to_str().unwrap().as_bytes(), follow);
    for name in ["dev/ntsync", "ntsync", "my-ntsync", "other-ntsync"] {
        assert!(means(name, true), "{name}");
        assert_eq!(means(name, false), name == "dev/ntsync", "{name}");
    }
    for name in ["round-ntsync", "slash-ntsync", "null-ntsync", "no-ntsync", "dev/x-ntsync"] {
        assert!(!means(name, true), "{name}");
    }
    std::fs::remove_dir_all(&room).unwrap();
}
